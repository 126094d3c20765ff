#include "model/validate/task_rights.hpp"

#include <algorithm>

#include <boost/json/serialize.hpp>

#include "base/json/enumerators.hpp"
#include "base/text.hpp"

namespace underway::model {
namespace {

namespace json = boost::json;

/// Docker's: what a task may be given by `cap_add` and still be held.
constexpr std::string_view kHarmless[] = {"audit_write", "chown",  "dac_override",     "fowner",  "fsetid",
                                          "kill",        "mknod",  "net_bind_service", "setfcap", "setgid",
                                          "setpcap",     "setuid", "sys_chroot"};
constexpr std::string_view kHarmlessInContainer[] = {"chown",   "dac_override",     "fowner",    "fsetid",
                                                     "kill",    "net_bind_service", "setfcap",   "setgid",
                                                     "setpcap", "setuid",           "sys_chroot"};

bool is_root(const std::string& user) {
  return user == "root" || (!user.empty() && user.find_first_not_of('0') == std::string::npos);
}

/// One task against the table. Values arrive as HCL and JSON write them: a list may be one block, a flag a word.
class Reading {
 public:
  explicit Reading(const TaskOnHost& task) : task_(task), user_(user_or_default(task.driver, task.user)) {}

  std::vector<RightNeeded> run() {
    if (task_.driver == "raw_exec")
      raw_exec();
    else if (task_.driver == "exec")
      exec();
    else if (task_.driver == "podman" || task_.driver == "docker")
      container();
    else if (task_.driver == "charliecloud")
      charliecloud();
    else if (task_.driver == "capsule")  // it may show itself any directory of its host, and names its capabilities
      need(HostRight::node, "is a capsule, which may do as root on its host");
    else if (task_.driver ==
             "qemu")  // its QEMU is root's, its arguments are the job's, and any file of the host a disk
      need(HostRight::node, "is a virtual machine, whose disks may be any file of its host");
    else
      need(HostRight::node, fmt::format("uses driver '{}', of which nobody knows what it may do", task_.driver));
    spares_itself();
    return std::move(out_);
  }

 private:
  /// What the kernel spares, others of the machine die for.
  void spares_itself() {
    if (word("oom_score_adj").starts_with('-'))
      need(HostRight::node,
           fmt::format("is spared when memory runs out (config.oom_score_adj {})", word("oom_score_adj")));
  }

  void raw_exec() {
    if (is_root(user_)) need(HostRight::node, "runs as root by raw_exec");
    // The root of a container can leave a program in /alloc that makes whoever runs it root of the machine.
    if (task_.beside_container) need(HostRight::node, "runs by raw_exec beside a container");
    if (is_computed(user_)) need(HostRight::node, fmt::format("may run as root by raw_exec (user '{}')", user_));
  }

  void exec() {
    // One whom the node fills in is looked at there: jobs that are dispatched as their users' live by it.
    if (is_root(user_)) need(HostRight::root, "runs as root");
    joins({"pid_mode", "ipc_mode"});
    if (some("devices")) need(HostRight::devices, "names devices of its host (config.devices)");
    if (const auto filter = word("seccomp"); !filter.empty() && filter != "default")
      need(HostRight::node, fmt::format("chooses its filter of system calls (config.seccomp '{}')", filter));
    adds(kHarmless);
    if (task_.low_ports) need(HostRight::low_ports, "is in a group that asks for a port below 1024 of its host");
  }

  void container() {
    if (const auto* value = find("privileged");
        value != nullptr && *value != json::value(false) && text(*value) != "false")
      need(HostRight::node, "is privileged (config.privileged)");
    joins({"pid_mode", "ipc_mode", "uts_mode"});
    if (some("devices")) need(HostRight::devices, "names devices of its host (config.devices)");
    const auto image = word("image");
    for (const auto* local : {"oci:", "oci-archive:", "docker-archive:"}) {
      if (image.starts_with(local))
        need(HostRight::host_paths, fmt::format("takes its image from its host ('{}')", image));
    }
    if (const auto init = word("init_path"); !init.empty())
      need(HostRight::host_paths, fmt::format("shows itself '{}' of its host", init));
    shows_paths();
    // They are fetched by whoever is root. What a variable names is looked at on the node.
    for (const auto& source : task_.artifacts) {
      if (!source.starts_with("http://") && !source.starts_with("https://") && !source.starts_with("${"))
        need(HostRight::host_paths, fmt::format("takes '{}' from its host", source));
    }
    adds(kHarmlessInContainer);
    for (const auto& option : words("security_opt")) {
      if (!option.starts_with("no-new-privileges"))
        need(HostRight::node, fmt::format("chooses what confines it (config.security_opt '{}')", option));
    }
    if (word("apparmor_profile") == "unconfined")
      need(HostRight::node, "chooses what confines it (config.apparmor_profile 'unconfined')");
    for (const auto* key : {"userns", "userns_mode"}) numbers(word(key));
  }

  /// "auto" gives it numbers that nobody else has. All other modes give it the host's, or those that it names.
  void numbers(const std::string& mode) {
    const bool own = mode.empty() || mode.starts_with("auto") || mode.starts_with("private");
    if (!own || mode.find("mapping") != std::string::npos)
      need(HostRight::root, fmt::format("may be root of its host (config.userns '{}')", mode));
  }

  void shows_paths() {
    for (const auto& volume : words("volumes")) {
      if (volume.starts_with('/')) need(HostRight::host_paths, fmt::format("shows itself '{}' of its host", volume));
    }
    for (const auto* key : {"mount", "mounts"}) {
      for (const auto& block : blocks(key)) {
        const auto* source = block.if_contains("source");
        if (source != nullptr && text(*source).starts_with('/'))
          need(HostRight::host_paths, fmt::format("shows itself '{}' of its host", text(*source)));
      }
    }
  }

  /// ch-run does all else with the rights of the user.
  void charliecloud() {
    if (is_root(user_)) need(HostRight::root, "runs as root");
    const auto image = word("image");
    for (const auto* local : {"oci:", "oci-archive:", "docker-archive:"}) {
      if (image.starts_with(local))
        need(HostRight::host_paths, fmt::format("takes its image from its host ('{}')", image));
    }
  }

  void joins(std::initializer_list<const char*> modes) {
    for (const auto* key : modes) {
      if (const auto mode = word(key); !mode.empty() && mode != "private")
        need(HostRight::host_namespaces, fmt::format("sees more of its host than its own (config.{} '{}')", key, mode));
    }
  }

  template <std::size_t N>
  void adds(const std::string_view (&harmless)[N]) {
    for (const auto& capability : words("cap_add")) {
      if (std::find(std::begin(harmless), std::end(harmless), plain(capability)) == std::end(harmless))
        need(HostRight::node, fmt::format("adds the capability '{}'", capability));
    }
  }
  static std::string plain(const std::string& capability) {
    std::string name = lower(capability);
    if (name.starts_with("cap_")) name.erase(0, 4);
    return name;
  }

  void need(HostRight right, std::string what) { out_.push_back({right, std::move(what)}); }

  const json::value* find(std::string_view key) const {
    const auto* object = task_.config.if_object();
    const auto* value = object != nullptr ? object->if_contains(key) : nullptr;
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  bool some(std::string_view key) const {
    const auto* value = find(key);
    return value != nullptr && !(value->is_array() && value->get_array().empty());
  }
  /// What is no text is the text that says it: it is compared with the harmless ones.
  static std::string text(const json::value& value) {
    return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
  }
  std::string word(std::string_view key) const {
    const auto* value = find(key);
    return value == nullptr ? std::string() : text(*value);
  }
  std::vector<std::string> words(std::string_view key) const {
    std::vector<std::string> out;
    const auto* value = find(key);
    if (value == nullptr) return out;
    if (!value->is_array()) return {text(*value)};
    for (const auto& each : value->get_array()) out.push_back(text(each));
    return out;
  }
  std::vector<json::object> blocks(std::string_view key) const {
    std::vector<json::object> out;
    const auto* value = find(key);
    if (value == nullptr) return out;
    const auto take = [&out](const json::value& each) {
      if (each.is_object()) out.push_back(each.get_object());
    };
    if (!value->is_array()) take(*value);
    if (value->is_array()) std::for_each(value->get_array().begin(), value->get_array().end(), take);
    return out;
  }

  const TaskOnHost& task_;
  std::string user_;
  std::vector<RightNeeded> out_;
};

}  // namespace

std::string_view to_string(HostRight right) { return name_of(right); }

const std::vector<HostRight>& listed_rights() {
  static const std::vector<HostRight> kListed = {HostRight::root, HostRight::host_namespaces, HostRight::host_paths,
                                                 HostRight::devices, HostRight::low_ports};
  return kListed;
}

HostRights parse_rights(const std::vector<std::string>& words) {
  HostRights rights;
  for (std::size_t i = 0; i < kEnumerators<HostRight>; ++i) {
    if (std::find(words.begin(), words.end(), kNamesOf<HostRight>[i]) != words.end())
      rights.insert(static_cast<HostRight>(i));
  }
  return rights;
}

std::vector<std::string> to_words(const HostRights& rights) {
  std::vector<std::string> words;
  for (const auto right : rights) words.emplace_back(to_string(right));
  return words;
}

bool holds(const HostRights& given, HostRight right) {
  return given.contains(right) || given.contains(HostRight::node);
}

bool asks_low_ports(const TaskGroup& group) {
  return std::any_of(group.networks.begin(), group.networks.end(), [](const NetworkResource& network) {
    const bool of_host = network.mode.empty() || network.mode == "host";
    return of_host && std::any_of(network.reserved_ports.begin(), network.reserved_ports.end(),
                                  [](const Port& port) { return port.value > 0 && port.value < 1024; });
  });
}

TaskOnHost on_host(const TaskGroup& group, const Task& task) {
  TaskOnHost out{task.driver, task.user, task.config, asks_low_ports(group), has_container(group), {}};
  for (const auto& artifact : task.artifacts) out.artifacts.push_back(artifact.source);
  return out;
}

bool has_container(const TaskGroup& group) {
  return std::any_of(group.tasks.begin(), group.tasks.end(),
                     [](const Task& task) { return task.driver == "podman" || task.driver == "docker"; });
}

std::vector<RightNeeded> rights_needed(const TaskOnHost& task) { return Reading(task).run(); }

bool is_computed(const std::string& user) { return user.find("${") != std::string::npos; }

std::string user_or_default(const std::string& driver, const std::string& user) {
  if (!user.empty()) return user;
  return driver == "raw_exec" || driver == "capsule" ? "root" : "nobody";
}

}  // namespace underway::model
