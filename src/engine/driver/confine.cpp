#include "driver/confine.hpp"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "driver/seccomp.hpp"
#include "driver/settings.hpp"
#include "os/file.hpp"
#include "os/new_root.hpp"
#include "os/process/capability.hpp"

namespace underway::driver {
namespace {

using settings::text;
using settings::texts;

struct Device {
  std::string path;
  std::string access = "rwm";
};

bool is_open_text(std::string_view value) { return value.find("${") != std::string_view::npos; }

/// "/dev/nvidia0" or "/dev/nvidia0:rw".
std::optional<Device> parse_device(const std::string& value) {
  const auto parts = split(value, ':');
  Device device{.path = parts[0]};
  if (parts.size() > 1) device.access = parts[1];
  const bool known = !device.access.empty() && device.access.find_first_not_of("rwm") == std::string::npos;
  if (parts.size() > 2 || !known || !device.path.starts_with("/dev/") || device.path.find("..") != std::string::npos)
    return std::nullopt;
  return device;
}

std::optional<int> find_resource(std::string_view name) {
  constexpr std::pair<std::string_view, int> kAll[] = {
      {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
      {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"locks", RLIMIT_LOCKS},
      {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
      {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
      {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},     {"sigpending", RLIMIT_SIGPENDING},
      {"stack", RLIMIT_STACK}};
  for (const auto& [word, resource] : kAll) {
    if (word == lower(name)) return resource;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_value(std::string_view value) {
  if (value == "unlimited" || value == "-1") return RLIM_INFINITY;
  return parse_number<std::uint64_t>(value);
}

/// "soft:hard", or one for both.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_limit(std::string_view value) {
  const auto at = value.find(':');
  const auto soft = parse_value(value.substr(0, at));
  const auto hard = at == std::string_view::npos ? soft : parse_value(value.substr(at + 1));
  if (!soft || !hard || *soft > *hard) return std::nullopt;
  return std::pair(*soft, *hard);
}

std::string in_words(std::uint64_t limit) {
  return limit == RLIM_INFINITY ? std::string("unlimited") : std::to_string(limit);
}

bool may_raise_limits() {
  for (const auto& line : split(os::find_file("/proc/self/status").value_or(""), '\n')) {
    if (!line.starts_with("CapEff:")) continue;
    const auto held = parse_number<std::uint64_t>(trim(std::string_view(line).substr(7)), 16).value_or(0);
    return (held & os::find_capability("sys_resource").value_or(0)) != 0;
  }
  return false;
}

/// How far this process may raise a hard limit of its children.
std::uint64_t ceiling_of(int resource) {
  rlimit own{};
  if (!may_raise_limits() && ::getrlimit(static_cast<__rlimit_resource>(resource), &own) == 0) return own.rlim_max;
  if (resource != RLIMIT_NOFILE) return RLIM_INFINITY;
  const auto most = parse_value(trim(os::find_file("/proc/sys/fs/nr_open").value_or("")));
  return most.value_or(RLIM_INFINITY);
}

}  // namespace

std::vector<std::string> confinement_problems(const boost::json::value& config) {
  std::vector<std::string> found;
  for (const auto& [name, value] : settings::map(config, "ulimits")) {
    if (!find_resource(name))
      found.push_back(fmt::format("config.ulimits.{}: is no limit that getrlimit(2) knows", name));
    else if (!is_open_text(value) && !parse_limit(value))
      found.push_back(fmt::format("config.ulimits.{}: '{}' must be \"soft:hard\" or one number for both", name, value));
  }
  for (const auto& device : texts(config, "devices")) {
    if (!is_open_text(device) && !parse_device(device))
      found.push_back(fmt::format("config.devices: '{}' must be /dev/name or /dev/name:rwm", device));
  }
  for (const auto* key : {"read_only_paths", "masked_paths"}) {
    for (const auto& path : texts(config, key)) {
      if (!is_open_text(path) && (!path.starts_with('/') || path == "/" || path.find("/..") != std::string::npos))
        found.push_back(fmt::format("config.{}: '{}' must be an absolute path, and not the root", key, path));
    }
  }
  const auto filter = text(config, "seccomp");
  if (!filter.empty() && filter != "default" && filter != "unconfined" && filter[0] != '/' && !is_open_text(filter))
    found.emplace_back("config.seccomp: must be 'default', 'unconfined' or the absolute path of a profile");
  return found;
}

std::vector<os::SpawnSpec::Limit> limits_of(const boost::json::value& config) {
  std::vector<os::SpawnSpec::Limit> limits;
  for (const auto& [name, value] : settings::map(config, "ulimits")) {
    const auto resource = find_resource(name);
    const auto limit = parse_limit(value);
    if (!resource || !limit) continue;
    const auto ceiling = ceiling_of(*resource);
    limits.push_back({*resource, std::min(limit->first, ceiling), std::min(limit->second, ceiling)});
  }
  return limits;
}

std::vector<std::string> lowered_limits(const boost::json::value& config) {
  std::vector<std::string> lowered;
  for (const auto& [name, value] : settings::map(config, "ulimits")) {
    const auto resource = find_resource(name);
    const auto limit = parse_limit(value);
    if (!resource || !limit) continue;
    const auto ceiling = ceiling_of(*resource);
    if (ceiling < limit->second)
      lowered.push_back(fmt::format("{} is {} in place of {}", name, in_words(ceiling), in_words(limit->second)));
  }
  return lowered;
}

void confine_devices(os::LaunchPlan& plan, const boost::json::value& config, const os::Cgroup& group) {
  const auto list = texts(config, "devices");
  if (list.empty()) return;
  std::string directory;
  for (const auto& join : group.join_files()) {
    const auto place = join.substr(0, join.rfind('/'));
    if (os::exists(place + "/devices.deny")) directory = place;
  }
  if (directory.empty()) return;
  plan.write_file(directory + "/devices.deny", "a");
  // null, zero, full, random, urandom, tty, ptmx and terminals: what the task's /dev has anyhow.
  for (const auto* rule :
       {"c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm", "c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm"})
    plan.write_file(directory + "/devices.allow", rule);
  for (const auto& each : list) {
    const auto device = parse_device(each);
    struct stat st{};
    if (!device || ::stat(device->path.c_str(), &st) != 0) continue;  // binding it will say so
    plan.write_file(directory + "/devices.allow", fmt::format("{} {}:{} {}", S_ISBLK(st.st_mode) ? 'b' : 'c',
                                                              major(st.st_rdev), minor(st.st_rdev), device->access));
  }
}

void confine_paths(os::LaunchPlan& plan, const boost::json::value& config, const std::string& root) {
  for (const auto& each : texts(config, "devices")) {
    const auto device = parse_device(each);
    if (!device) continue;
    const auto target = root + device->path;
    for (auto at = target.find('/', root.size() + 5); at != std::string::npos; at = target.find('/', at + 1))
      plan.make_directory(target.substr(0, at), 0755);
    plan.touch(target, 0600).bind(device->path, target);
  }
  for (const auto& path : texts(config, "read_only_paths")) {
    plan.optionally().bind(root + path, root + path, true);
    plan.optionally().set_mount_attributes(root + path, MOUNT_ATTR_RDONLY, true);
  }
  for (const auto& path : texts(config, "masked_paths")) {
    struct stat st{};
    // What the machine has there: the task's own directories are directories.
    const bool file = ::stat(path.c_str(), &st) == 0 && !S_ISDIR(st.st_mode);
    if (file)
      plan.optionally().bind("/dev/null", root + path);
    else
      os::cover_directory(plan.optionally(), root + path);
  }
}

std::vector<std::string> filters_of(const boost::json::value& config, os::Capabilities held) {
  const auto filter = text(config, "seccomp");
  if (filter == "unconfined") return {};
  const bool usual = filter.empty() || filter == "default";
  return {compile_seccomp(usual ? default_seccomp(held) : read_seccomp(filter, held)),
          compile_seccomp(terminal_seccomp())};
}

}  // namespace underway::driver
