#include "pod/bundle.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::pod {
namespace {

namespace json = boost::json;

// As podman has them (containers/podman, pkg/specgen/generate/config_linux.go).
constexpr std::string_view kMasked[] = {"/proc/acpi",        "/proc/kcore",   "/proc/keys",       "/proc/latency_stats",
                                        "/proc/sched_debug", "/proc/scsi",    "/proc/timer_list", "/proc/timer_stats",
                                        "/sys/dev/block",    "/sys/firmware", "/sys/fs/selinux"};
constexpr std::string_view kReadOnly[] = {"/proc/asound", "/proc/bus", "/proc/fs",
                                          "/proc/irq",    "/proc/sys", "/proc/sysrq-trigger"};

template <class List>
json::array list_of(const List& list) {
  json::array out;
  for (const auto& each : list) out.emplace_back(std::string_view(each));
  return out;
}

json::object mount(std::string_view target, std::string_view type, std::string_view source,
                   std::initializer_list<std::string_view> options) {
  return {{"destination", target}, {"type", type}, {"source", source}, {"options", list_of(options)}};
}
json::object show(const std::string& source, const std::string& target, bool read_only,
                  const std::vector<std::string>& more = {}) {
  json::array options = list_of(more);
  options.emplace_back("rbind");
  if (std::none_of(more.begin(), more.end(), [](const auto& o) {
        return o.ends_with("private") || o.ends_with("shared") || o.ends_with("slave");
      }))
    options.emplace_back("rprivate");
  options.emplace_back(read_only ? "ro" : "rw");
  return {{"destination", target}, {"type", "bind"}, {"source", source}, {"options", std::move(options)}};
}

/// Whether the container has that number of a user or a group.
bool is_there(const os::IdMap& map, std::uint32_t id) { return map.empty() || os::find_outside(map, id).has_value(); }

json::array mounts(const BundleInput& in) {
  const Config& c = in.config;
  json::array out;
  if (in.proc.empty())
    out.push_back(mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}));
  else
    out.push_back(show(in.proc, "/proc", false, {"nosuid", "noexec", "nodev"}));
  out.push_back(mount("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}));
  if (!in.sys.empty())
    out.push_back(show(in.sys, "/sys", !c.privileged, {"nosuid", "noexec", "nodev"}));
  else if (c.privileged)
    out.push_back(mount("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "rw"}));
  else
    out.push_back(mount("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "ro"}));
  json::object terminals =
      mount("/dev/pts", "devpts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"});
  if (is_there(in.gids, 5)) terminals["options"].as_array().emplace_back("gid=5");
  out.push_back(std::move(terminals));
  if (c.own_ipc) {
    out.push_back(mount("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}));
    out.push_back(mount("/dev/shm", "tmpfs", "shm",
                        {"nosuid", "noexec", "nodev", "mode=1777", fmt::format("size={}", c.shm_bytes)}));
  } else {
    out.push_back(show("/dev/mqueue", "/dev/mqueue", false));
    out.push_back(show("/dev/shm", "/dev/shm", false));
  }
  // Of the trees of cgroups its own group, which its namespace calls the root.
  const bool many = in.cgroups.size() > 1;
  if (many)
    out.push_back(mount("/sys/fs/cgroup", "tmpfs", "tmpfs", {"nosuid", "noexec", "nodev", "mode=755", "size=64k"}));
  for (const auto& [directory, place] : in.cgroups) {
    out.push_back(show(directory, place, !c.privileged, {"nosuid", "noexec", "nodev"}));
  }
  for (const auto* name : {"hosts", "hostname", "resolv.conf"})
    out.push_back(show(fmt::format("{}/{}", in.etc, name), fmt::format("/etc/{}", name), false));
  out.push_back(show(in.alloc_dir, "/alloc", false));
  out.push_back(show(in.task_dir + "/local", "/local", false));
  out.push_back(show(in.task_dir + "/secrets", "/secrets", false));
  for (const auto& volume : c.volumes) {
    if (volume.source.empty()) {
      json::array options = list_of(volume.options);
      for (const auto* always : {"nosuid", "nodev"}) options.emplace_back(always);
      if (volume.options.empty()) options.emplace_back("mode=1777");
      if (volume.read_only) options.emplace_back("ro");
      out.push_back(
          {{"destination", volume.target}, {"type", "tmpfs"}, {"source", "tmpfs"}, {"options", std::move(options)}});
      continue;
    }
    const auto source =
        volume.source.starts_with('/') ? volume.source : fmt::format("{}/{}", in.task_dir, volume.source);
    out.push_back(show(source, volume.target, volume.read_only, volume.options));
  }
  if (c.init) out.push_back(show(in.init, "/run/init", true));
  // Nobody can make a device file in a user namespace: it gets those of the host (mknod(2), EPERM).
  if (!in.uids.empty()) {
    for (const auto& node : in.devices) out.push_back(show(node.source, node.target, false));
  }
  return out;
}

json::array environment(const BundleInput& in) {
  std::map<std::string, std::string> all = {
      {"PATH", std::string("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")}};
  all["HOME"] = in.user.home.empty() ? "/" : in.user.home;
  all["HOSTNAME"] = hostname_of(in.config, in.task, in.alloc_id);
  for (const auto& variable : in.image.env) {
    const auto at = variable.find('=');
    if (at != std::string::npos) all[variable.substr(0, at)] = variable.substr(at + 1);
  }
  for (const auto& [name, value] : in.env) all[name] = value;
  json::array out;
  for (const auto& [name, value] : all) out.emplace_back(fmt::format("{}={}", name, value));
  return out;
}

json::object capabilities(const BundleInput& in) {
  const auto names = [](os::Capabilities set) {
    json::array out;
    for (const auto& name : os::capability_names(set)) {
      std::string upper = "CAP_";
      for (const char c : name) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      out.emplace_back(upper);
    }
    return out;
  };
  const auto all = capabilities_of(in.config);
  if (in.user.uid == 0) return {{"bounding", names(all)}, {"effective", names(all)}, {"permitted", names(all)}};
  // Who is not root holds what was asked for by name, and keeps it over exec.
  os::Capabilities asked = 0;
  for (const auto& name : in.config.cap_add) asked |= os::find_capability(name).value_or(0);
  asked &= all;
  return {{"bounding", names(all)},
          {"effective", names(asked)},
          {"permitted", names(asked)},
          {"inheritable", names(asked)},
          {"ambient", names(asked)}};
}

json::object process(const BundleInput& in) {
  json::object user{{"uid", in.user.uid}, {"gid", in.user.gid}};
  json::array groups;
  for (const auto group : in.user.groups) groups.emplace_back(group);
  if (!groups.empty()) user["additionalGids"] = std::move(groups);
  auto argv = argv_of(in.config, in.image);
  if (in.config.init) argv.insert(argv.begin(), {"/run/init", "--"});
  std::string cwd = in.config.working_dir.empty() ? in.image.working_dir : in.config.working_dir;
  if (cwd.empty()) cwd = "/";
  json::object out{{"terminal", false},
                   {"user", std::move(user)},
                   {"args", list_of(argv)},
                   {"env", environment(in)},
                   {"cwd", cwd},
                   {"capabilities", capabilities(in)},
                   {"noNewPrivileges", in.config.no_new_privileges},
                   {"oomScoreAdj", in.config.oom_score_adj.value_or(0)}};
  json::array limits;
  for (const auto& [name, limit] : in.config.ulimits)
    limits.push_back({{"type", limit.name}, {"soft", limit.soft}, {"hard", limit.hard}});
  if (!limits.empty()) out["rlimits"] = std::move(limits);
  if (!in.config.apparmor.empty() && in.config.apparmor != "unconfined") out["apparmorProfile"] = in.config.apparmor;
  return out;
}

json::array namespaces(const BundleInput& in) {
  const Config& c = in.config;
  json::array out = {{{"type", "mount"}}, {{"type", "cgroup"}}};
  if (!in.uids.empty()) out.push_back({{"type", "user"}});
  if (c.own_pids) out.push_back({{"type", "pid"}});
  if (c.own_ipc) out.push_back({{"type", "ipc"}});
  if (c.own_uts) out.push_back({{"type", "uts"}});
  if (c.own_network) out.push_back({{"type", "network"}});
  return out;
}

json::array mappings(const os::IdMap& map) {
  json::array out;
  for (const auto& range : map)
    out.push_back({{"containerID", range.inside}, {"hostID", range.outside}, {"size", range.count}});
  return out;
}

json::object linux_part(const BundleInput& in) {
  json::object out{{"namespaces", namespaces(in)}, {"cgroupsPath", in.cgroup}, {"rootfsPropagation", "rprivate"}};
  if (!in.uids.empty()) {
    out["uidMappings"] = mappings(in.uids);
    out["gidMappings"] = mappings(in.gids);
  }
  json::array devices, rules;
  for (const auto& node : in.devices) {
    devices.push_back({{"path", node.target},
                       {"type", std::string(1, node.type)},
                       {"major", node.major},
                       {"minor", node.minor},
                       {"fileMode", node.mode},
                       {"uid", node.uid},
                       {"gid", node.gid}});
    rules.push_back({{"allow", true},
                     {"type", std::string(1, node.type)},
                     {"major", node.major},
                     {"minor", node.minor},
                     {"access", node.access}});
  }
  rules.insert(rules.begin(), json::value(json::object{{"allow", in.config.privileged}, {"access", "rwm"}}));
  if (!devices.empty() && in.uids.empty()) out["devices"] = std::move(devices);
  out["resources"] = {{"devices", std::move(rules)}};
  if (!in.config.sysctl.empty()) {
    json::object settings;
    for (const auto& [key, value] : in.config.sysctl) settings[key] = value;
    out["sysctl"] = std::move(settings);
  }
  if (in.config.privileged) return out;
  out["maskedPaths"] = list_of(kMasked);
  out["readonlyPaths"] = list_of(kReadOnly);
  if (!in.seccomp.empty()) out["seccomp"] = in.seccomp;
  return out;
}

}  // namespace

json::object make_bundle(const BundleInput& in) {
  json::object out{{"ociVersion", "1.0.2"},
                   {"root", {{"path", in.rootfs}, {"readonly", in.config.read_only}}},
                   {"process", process(in)},
                   {"mounts", mounts(in)},
                   {"linux", linux_part(in)}};
  if (in.config.own_uts) out["hostname"] = hostname_of(in.config, in.task, in.alloc_id);
  json::object labels;
  for (const auto& [name, value] : in.config.labels) labels[name] = value;
  if (!labels.empty()) out["annotations"] = std::move(labels);
  return out;
}

std::vector<std::string> argv_of(const Config& config, const oci::ImageConfig& image) {
  std::vector<std::string> argv = config.entrypoint.value_or(image.entrypoint);
  if (!config.command.empty()) argv.push_back(config.command);
  argv.insert(argv.end(), config.args.begin(), config.args.end());
  // The image's own arguments belong to its own entry point.
  if (config.command.empty() && config.args.empty() && !config.entrypoint)
    argv.insert(argv.end(), image.cmd.begin(), image.cmd.end());
  return argv;
}

std::string hostname_of(const Config& config, const std::string& task, const std::string& alloc_id) {
  if (!config.hostname.empty()) return config.hostname;
  std::string name = fmt::format("{}-{}", task, alloc_id.substr(0, 8));
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  return name.substr(name.size() > 63 ? name.size() - 63 : 0);
}

std::vector<DeviceRule> device_rules(const Config& config, const std::vector<DeviceNode>& devices) {
  if (config.privileged) return {};
  std::vector<DeviceRule> rules = {{false, "a"}};
  // What every container has (OCI runtime specification, config-linux.md, default devices), its terminals, and making
  // device files, which opens none.
  for (const auto* rule : {"c *:* m", "b *:* m", "c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm",
                           "c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm"}) {
    rules.push_back({true, rule});
  }
  for (const auto& node : devices)
    rules.push_back({true, fmt::format("{} {}:{} {}", node.type, node.major, node.minor, node.access)});
  return rules;
}

std::string hosts_file(const Config& config, const std::string& hostname, const std::string& of_host) {
  std::string text = config.own_network ? "127.0.0.1 localhost\n::1 localhost ip6-localhost\n" : of_host;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += fmt::format("127.0.1.1 {}\n", hostname);
  for (const auto& host : config.extra_hosts) {
    const auto at = host.find(':');
    text += fmt::format("{} {}\n", host.substr(at + 1), host.substr(0, at));
  }
  return text;
}

std::string resolv_conf(const Config& config, const std::string& of_host) {
  if (config.dns.empty() && config.dns_search.empty() && config.dns_options.empty()) return of_host;
  std::string text;
  for (const auto& line : split(of_host, '\n')) {
    const auto word = split(trim(line), ' ').front();
    const bool ours = (word == "nameserver" && !config.dns.empty()) ||
                      (word == "options" && !config.dns_options.empty()) ||
                      ((word == "search" || word == "domain") && !config.dns_search.empty());
    if (!ours && !trim(line).empty()) text += line + "\n";
  }
  for (const auto& server : config.dns) text += fmt::format("nameserver {}\n", server);
  if (!config.dns_search.empty()) text += fmt::format("search {}\n", join(config.dns_search, " "));
  if (!config.dns_options.empty()) text += fmt::format("options {}\n", join(config.dns_options, " "));
  return text;
}

}  // namespace underway::pod
