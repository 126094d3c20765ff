#include "driver/seccomp.hpp"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"
#include "detail/default_seccomp.hpp"
#include "os/fd.hpp"
#include "os/file.hpp"

namespace underway::driver {
namespace {

constexpr const char* kAllow = "SCMP_ACT_ALLOW";
constexpr const char* kErrno = "SCMP_ACT_ERRNO";

#if defined(__x86_64__)
constexpr const char* kGoArchitecture = "amd64";
constexpr std::string_view kArchitectures[] = {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"};
#elif defined(__aarch64__)
constexpr const char* kGoArchitecture = "arm64";
constexpr std::string_view kArchitectures[] = {"SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"};
#else
constexpr const char* kGoArchitecture = "";
constexpr std::string_view kArchitectures[] = {"SCMP_ARCH_NATIVE"};
#endif

template <class Names>
boost::json::array names_of(const Names& names) {
  boost::json::array out;
  for (const auto& name : names) out.emplace_back(std::string_view(name));
  return out;
}

boost::json::object rule(boost::json::array names, const char* action) {
  boost::json::object out{{"names", std::move(names)}, {"action", action}};
  if (action == kErrno) out["errnoRet"] = EPERM;
  return out;
}

boost::json::object compare(unsigned index, std::uint64_t value, const char* operation) {
  return {{"index", index}, {"value", value}, {"op", operation}};
}

/// socket(AF_NETLINK, …, NETLINK_AUDIT) is for those who may write to the audit log.
void add_socket_rules(boost::json::array& rules, bool audit) {
  constexpr std::uint64_t kNetlink = 16, kAudit = 9;
  if (audit) {
    rules.push_back(rule({"socket"}, kAllow));
    return;
  }
  auto refuse = rule({"socket"}, kErrno);
  refuse["errnoRet"] = EINVAL;
  refuse["args"] = {compare(0, kNetlink, "SCMP_CMP_EQ"), compare(2, kAudit, "SCMP_CMP_EQ")};
  rules.push_back(std::move(refuse));
  for (const auto& argument : {compare(2, kAudit, "SCMP_CMP_NE"), compare(0, kNetlink, "SCMP_CMP_NE")}) {
    auto allow = rule({"socket"}, kAllow);
    allow["args"] = boost::json::array{argument};
    rules.push_back(std::move(allow));
  }
}

bool names_any(const boost::json::value* list, const std::function<bool(std::string_view)>& wanted) {
  if (list == nullptr || !list->is_array()) return false;
  const auto& all = list->get_array();
  return std::any_of(all.begin(), all.end(),
                     [&](const boost::json::value& each) { return each.is_string() && wanted(each.get_string()); });
}

/// Whether a rule of a profile counts for this machine and these capabilities.
bool applies(const boost::json::object& rule, os::Capabilities held) {
  const auto has = [held](std::string_view name) { return (os::find_capability(name).value_or(0) & held) != 0; };
  const auto here = [](std::string_view name) { return name == kGoArchitecture; };
  if (const auto* includes = rule.if_contains("includes"); includes != nullptr && includes->is_object()) {
    const auto* caps = includes->get_object().if_contains("caps");
    const auto* arches = includes->get_object().if_contains("arches");
    const auto lacks = [&](std::string_view name) { return !has(name); };
    if (names_any(caps, lacks)) return false;
    if (arches != nullptr && arches->is_array() && !arches->get_array().empty() && !names_any(arches, here))
      return false;
  }
  if (const auto* excludes = rule.if_contains("excludes"); excludes != nullptr && excludes->is_object()) {
    if (names_any(excludes->get_object().if_contains("caps"), has)) return false;
    if (names_any(excludes->get_object().if_contains("arches"), here)) return false;
  }
  return true;
}

Error no_profile(const std::string& name, const std::string& why) {
  return Error(Code::invalid, fmt::format("'{}' is no seccomp profile", name)).because(why);
}

std::uint32_t action_of(std::string_view name, const boost::json::object& of) {
  std::uint32_t number = EPERM;
  for (const auto* key : {"errnoRet", "defaultErrnoRet"}) {
    const auto* found = of.if_contains(key);
    if (found != nullptr && found->is_number()) number = static_cast<std::uint32_t>(found->to_number<std::int64_t>());
  }
  if (name == "SCMP_ACT_ALLOW") return SCMP_ACT_ALLOW;
  if (name == "SCMP_ACT_ERRNO") return SCMP_ACT_ERRNO(number & 0xffff);
  if (name == "SCMP_ACT_KILL" || name == "SCMP_ACT_KILL_THREAD") return SCMP_ACT_KILL_THREAD;
  if (name == "SCMP_ACT_KILL_PROCESS") return SCMP_ACT_KILL_PROCESS;
  if (name == "SCMP_ACT_LOG") return SCMP_ACT_LOG;
  if (name == "SCMP_ACT_TRAP") return SCMP_ACT_TRAP;
  throw Error(Code::invalid, "cannot make a seccomp filter").because(fmt::format("action '{}' is not known", name));
}

std::optional<scmp_compare> operation_of(std::string_view name) {
  constexpr std::pair<std::string_view, scmp_compare> kAll[] = {{"SCMP_CMP_EQ", SCMP_CMP_EQ},
                                                                {"SCMP_CMP_NE", SCMP_CMP_NE},
                                                                {"SCMP_CMP_LT", SCMP_CMP_LT},
                                                                {"SCMP_CMP_LE", SCMP_CMP_LE},
                                                                {"SCMP_CMP_GE", SCMP_CMP_GE},
                                                                {"SCMP_CMP_GT", SCMP_CMP_GT},
                                                                {"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ}};
  for (const auto& [word, operation] : kAll) {
    if (word == name) return operation;
  }
  return std::nullopt;
}

std::uint64_t number_of(const boost::json::object& object, const char* key) {
  const auto* found = object.if_contains(key);
  return found != nullptr && found->is_number() ? found->to_number<std::uint64_t>() : 0;
}

std::vector<scmp_arg_cmp> arguments_of(const boost::json::object& rule) {
  std::vector<scmp_arg_cmp> out;
  const auto* list = rule.if_contains("args");
  if (list == nullptr || !list->is_array()) return out;
  for (const auto& each : list->get_array()) {
    const auto* operation = each.is_object() ? each.get_object().if_contains("op") : nullptr;
    const auto known =
        operation != nullptr && operation->is_string() ? operation_of(operation->get_string()) : std::nullopt;
    const auto index = known ? number_of(each.get_object(), "index") : 6;
    if (index > 5)
      throw Error(Code::invalid, "cannot make a seccomp filter").because("a comparison of arguments is damaged");
    out.push_back({static_cast<unsigned>(index), *known, number_of(each.get_object(), "value"),
                   number_of(each.get_object(), "valueTwo")});
  }
  return out;
}

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

void add_rule(const Filter& filter, const boost::json::object& rule, std::uint32_t otherwise) {
  const auto action = action_of(std::string_view(rule.at("action").as_string()), rule);
  if (action == otherwise) return;  // libseccomp refuses rules that change nothing
  const auto arguments = arguments_of(rule);
  for (const auto& name : rule.at("names").as_array()) {
    const int number = seccomp_syscall_resolve_name(name.as_string().c_str());
    if (number == __NR_SCMP_ERROR) continue;
    const int failed =
        seccomp_rule_add_array(filter.get(), action, number, static_cast<unsigned>(arguments.size()), arguments.data());
    // An architecture without the call, or one where its arguments cannot be compared.
    if (failed != 0 && failed != -EDOM && failed != -EINVAL && failed != -EEXIST)
      throw errno_error(-failed, fmt::format("cannot filter system call '{}'", std::string_view(name.as_string())));
  }
}

}  // namespace

boost::json::object default_seccomp(os::Capabilities held) {
  boost::json::array rules;
  rules.push_back(rule(names_of(detail::denied_calls()), kErrno));
  rules.push_back(rule(names_of(detail::allowed_calls()), kAllow));
  // Flags of personality(2) that change nothing for others: none, UNAME26, ADDR_NO_RANDOMIZE…, and the question.
  for (const std::uint64_t persona : {0x0ULL, 0x8ULL, 0x20000ULL, 0x20008ULL, 0xffffffffULL}) {
    auto allow = rule({"personality"}, kAllow);
    allow["args"] = boost::json::array{compare(0, persona, "SCMP_CMP_EQ")};
    rules.push_back(std::move(allow));
  }
#if defined(__x86_64__)
  rules.push_back(rule({"arch_prctl", "modify_ldt"}, kAllow));
#elif defined(__aarch64__)
  rules.push_back(rule(
      {"arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls", "sync_file_range2"}, kAllow));
#endif
  for (const auto& each : detail::calls_of_capabilities()) {
    const bool has = (os::find_capability(each.capability).value_or(0) & held) != 0;
    rules.push_back(rule(names_of(split(each.calls, ' ')), has ? kAllow : kErrno));
  }
  add_socket_rules(rules, (os::find_capability("audit_write").value_or(0) & held) != 0);
  return {{"defaultAction", kErrno},
          {"defaultErrnoRet", ENOSYS},
          {"architectures", names_of(kArchitectures)},
          {"syscalls", std::move(rules)}};
}

boost::json::object terminal_seccomp() {
  // The kernel looks at 32 bits of the request, so the filter may not be misled by the others.
  constexpr std::uint64_t kRequest = 0xffffffff;
  boost::json::array rules;
  for (const std::uint64_t request : {std::uint64_t{TIOCSTI}, std::uint64_t{TIOCLINUX}}) {
    auto refuse = rule({"ioctl"}, kErrno);
    auto same = compare(1, kRequest, "SCMP_CMP_MASKED_EQ");
    same["valueTwo"] = request;
    refuse["args"] = boost::json::array{std::move(same)};
    rules.push_back(std::move(refuse));
  }
  return {{"defaultAction", kAllow}, {"architectures", names_of(kArchitectures)}, {"syscalls", std::move(rules)}};
}

boost::json::object parse_seccomp(std::string_view text, os::Capabilities held, const std::string& name) {
  boost::system::error_code failed;
  const auto value = boost::json::parse(text, failed);
  if (failed || !value.is_object()) throw no_profile(name, failed ? failed.message() : "it is no object");
  const auto& given = value.get_object();
  const auto* action = given.if_contains("defaultAction");
  if (action == nullptr || !action->is_string()) throw no_profile(name, "it has no defaultAction");
  boost::json::object out{{"defaultAction", *action}, {"architectures", names_of(kArchitectures)}};
  if (const auto* number = given.if_contains("defaultErrnoRet"); number != nullptr && number->is_number())
    out["defaultErrnoRet"] = *number;
  boost::json::array rules;
  const auto* calls = given.if_contains("syscalls");
  if (calls != nullptr && !calls->is_array()) throw no_profile(name, "its syscalls are no list");
  for (const auto& each : calls != nullptr ? calls->get_array() : boost::json::array()) {
    const auto* names = each.is_object() ? each.get_object().if_contains("names") : nullptr;
    const auto* what = each.is_object() ? each.get_object().if_contains("action") : nullptr;
    if (names == nullptr || !names->is_array() || what == nullptr || !what->is_string())
      throw no_profile(name, "a rule has no names, or no action");
    if (!applies(each.get_object(), held)) continue;
    boost::json::object rule{{"names", *names}, {"action", *what}};
    for (const auto* key : {"errnoRet", "args"}) {
      const auto* found = each.get_object().if_contains(key);
      if (found != nullptr && !found->is_null()) rule[key] = *found;
    }
    rules.push_back(std::move(rule));
  }
  out["syscalls"] = std::move(rules);
  static_cast<void>(compile_seccomp(out));  // says what is wrong with it before anything is started
  return out;
}

boost::json::object read_seccomp(const std::string& path, os::Capabilities held) {
  return parse_seccomp(os::read_file(path, 1U << 20), held, path);
}

std::string compile_seccomp(const boost::json::object& profile) try {
  const auto otherwise = action_of(std::string_view(profile.at("defaultAction").as_string()), profile);
  const Filter filter(seccomp_init(otherwise), &seccomp_release);
  if (!filter) throw Error(Code::invalid, "cannot make a seccomp filter").because("its default action cannot be used");
  for (const auto& name : kArchitectures) {
    const auto architecture = seccomp_arch_resolve_name(lower(name.substr(10)).c_str());
    if (architecture != 0) seccomp_arch_add(filter.get(), architecture);  // the native one is there already
  }
  for (const auto& each : profile.at("syscalls").as_array()) add_rule(filter, each.as_object(), otherwise);
  const os::Fd memory(::memfd_create("seccomp", MFD_CLOEXEC));
  if (!memory) throw errno_error(errno, "cannot make a memory file");
  if (const int failed = seccomp_export_bpf(filter.get(), memory.get()); failed != 0)
    throw errno_error(-failed, "cannot compile a seccomp filter");
  ::lseek(memory.get(), 0, SEEK_SET);
  return os::read_all(memory, 1U << 20, "seccomp filter");
} catch (const boost::system::system_error& e) {
  throw Error(Code::invalid, "cannot make a seccomp filter").because(e.code().message());
}

}  // namespace underway::driver
