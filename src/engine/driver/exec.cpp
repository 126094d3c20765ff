#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "detail/volumes.hpp"
#include "driver/confine.hpp"
#include "driver/local_task.hpp"
#include "driver/settings.hpp"
#include "os/file.hpp"
#include "os/new_root.hpp"

namespace underway::driver {
namespace {

using namespace detail;
using namespace settings;
using namespace local;

const std::vector<Key>& exec_keys() {
  static const std::vector<Key> kKeys = {
      {"command", Kind::text, true},   {"args", Kind::texts},    {"work_dir", Kind::text},
      {"oom_score_adj", Kind::number}, {"cap_add", Kind::texts}, {"cap_drop", Kind::texts},
      {"pid_mode", Kind::text},        {"ipc_mode", Kind::text}, {"kill_mode", Kind::text},
      {"ulimits", Kind::map},          {"devices", Kind::texts}, {"read_only_paths", Kind::texts},
      {"masked_paths", Kind::texts},   {"seccomp", Kind::text}};
  return kKeys;
}

/// Names that the task's root makes for itself, whatever the machine has there.
constexpr std::string_view kOwn[] = {"proc", "dev", "tmp", "alloc", "local", "secrets"};
constexpr const char* kLowPorts = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// Devices that the task was given, under the machine's names.
void add_devices(os::LaunchPlan& plan, const TaskSpec& spec, const std::string& root) {
  std::set<std::string> directories;
  for (const auto& path : spec.devices) {
    if (!path.starts_with("/dev/") || path.find("/../") != std::string::npos) continue;  // not a device of ours to give
    for (auto slash = path.find('/', 5); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string directory = root + path.substr(0, slash);
      if (directories.insert(directory).second) plan.make_directory(directory, 0755);
    }
    plan.touch(root + path, 0666).bind(path, root + path);
  }
}

/// The machine's own top-level entries, each bound with what is mounted below, and our own names as empty directories.
void add_machine(os::LaunchPlan& plan, const std::string& root) {
  for (const auto& entry : os::list_directory("/")) {
    if (std::find(std::begin(kOwn), std::end(kOwn), entry.name) != std::end(kOwn)) continue;
    const std::string target = root + "/" + entry.name;
    if (entry.type == DT_LNK) {
      std::array<char, 4096> link{};
      const ssize_t n = ::readlink(("/" + entry.name).c_str(), link.data(), link.size() - 1);
      if (n > 0) plan.make_symlink(link.data(), target);
    } else if (entry.type == DT_DIR) {
      plan.make_directory(target, 0755).bind("/" + entry.name, target, true);
    }
  }
  for (const auto& name : kOwn) plan.make_directory(fmt::format("{}/{}", root, name), 0755);
}

/// The group's own /etc/hosts and /etc/resolv.conf over the machine's, which may be links: followed here, because an
/// absolute one would lead out of the new root.
void add_names(os::LaunchPlan& plan, const TaskSpec& spec, const std::string& root) {
  const std::pair<const char*, const std::string*> kFiles[] = {{"/etc/hosts", &spec.network.hosts_file},
                                                               {"/etc/resolv.conf", &spec.network.resolver_file}};
  for (const auto& [name, ours] : kFiles) {
    if (ours->empty()) continue;
    std::error_code missing;
    const auto target = std::filesystem::canonical(name, missing);
    if (missing) continue;  // there is nothing to put it over
    plan.bind(*ours, root + target.string());
    plan.set_mount_attributes(root + target.string(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, false);
  }
}

/// Root needs the machine's own numbers, and so does who binds its low ports (TaskSpec::low_ports).
bool own_users(const TaskSpec& spec, const os::User& user) { return user.uid != 0 && !spec.low_ports; }

/// Root's group is no company for who is not root.
os::User without_roots_group(os::User user) {
  if (user.uid != 0) std::erase(user.groups, 0);
  return user;
}

/// The kernel reads one page of lines, each of at most 24 bytes (user_namespaces(7)).
constexpr std::size_t kMostGroups = 4095 / 24;

/// Its groups as themselves, and no others: root's least of all. Who has too many for that keeps them among all others.
os::IdMap groups_inside(const os::User& user) {
  std::set<gid_t> groups(user.groups.begin(), user.groups.end());
  groups.insert(user.gid);
  if (groups.size() > kMostGroups) return {{1, 1, 0xfffffffe}};
  os::IdMap map;
  for (const auto group : groups) map.push_back({group, group, 1});
  return map;
}

class Exec final : public Driver {
 public:
  explicit Exec(Options options) : options_(std::move(options)) {}

  std::string name() const override { return "exec"; }
  bool mounts() const override { return true; }
  bool joins_networks() const override { return true; }

  Fingerprint fingerprint() const override {
    Fingerprint found;
    found.detected = true;
    if (::geteuid() != 0) {
      found.description = "needs root: the agent runs as another user";
    } else if (options_.cgroups.mode() == "none") {
      found.description = "needs cgroups: none are mounted";
    } else {
      found.healthy = true;
      found.attributes = {{"driver.exec", "1"}};
    }
    return found;
  }

  std::vector<std::string> validate(const boost::json::value& config) const override {
    auto found = problems(config, exec_keys());
    if (!found.empty()) return found;
    found = kill_mode_problems(config);
    if (kill_mode(config) == keeper::KillMode::process && text(config, "pid_mode") != "host") {
      found.push_back(
          "config.kill_mode: 'process' needs pid_mode = 'host': with process numbers of its own, all of a task ends "
          "with the first process of those numbers");
    }
    for (auto& problem : confinement_problems(config)) found.push_back(std::move(problem));
    for (const auto* list : {"cap_add", "cap_drop"}) {
      for (const auto& name : texts(config, list)) {
        const auto bits = os::find_capability(name);
        if (!bits) {
          const auto near = nearest(lower(name), os::all_capability_names());
          found.push_back(fmt::format("config.{}: there is no capability '{}'{}", list, name,
                                      near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near)));
        } else if (std::string_view(list) == "cap_add" && lower(name) != "all" &&
                   (*bits & ~options_.allowed_capabilities) != 0) {
          found.push_back(fmt::format("config.cap_add: '{}' is not among those that this node allows ({})", name,
                                      join(os::capability_names(options_.allowed_capabilities), ", ")));
        }
      }
    }
    for (const auto* mode : {"pid_mode", "ipc_mode"}) {
      const auto value = text(config, mode);
      if (!value.empty() && value != "private" && value != "host") {
        found.push_back(fmt::format("config.{}: must be 'private' or 'host'", mode));
      }
    }
    const auto directory = text(config, "work_dir");
    if (!directory.empty() && directory[0] != '/' && !directory.starts_with("${")) {
      found.push_back("config.work_dir: must be an absolute path");
    }
    return found;
  }

  std::vector<std::string> shortfalls(const boost::json::value& config) const override {
    return lowered_limits(config);
  }

  std::unique_ptr<TaskHandle> start(const TaskSpec& spec) override {
    require_none(validate(spec.config));
    if (::geteuid() != 0) {
      throw Error(Code::denied, fmt::format("cannot start task {}", describe(spec)))
          .because(
              fmt::format("the exec driver needs root, and the agent on node '{}' does not run as root", spec.node))
          .advise("use raw_exec, or run the agent as root");
    }
    const auto user = user_of_task(spec);
    refuse_root(spec, user);
    prepare_directories(spec, user);
    prepare_mounts(spec);
    const std::string root = spec.keeper_dir + "/root";
    os::make_directories(root, 0700);
    const auto network = network_of(spec);
    LocalLaunch launch;
    launch.network = network ? &*network : nullptr;
    launch.limits = limits(spec);
    launch.own_process_numbers = own_process_numbers(spec);
    launch.kill_mode = kill_mode(spec.config);
    launch.namespaces = namespaces(spec);
    launch.plan = [&](const os::Cgroup& group) { return plan(spec, user, root, group); };
    return LocalTask::start(options_, spec, launch, command(spec), entered(spec));
  }

  std::unique_ptr<TaskHandle> recover(const TaskSpec& spec) override {
    return LocalTask::recover(options_, spec, command(spec), entered(spec));
  }

  bool reap_leftovers(bool end_them) override { return local::reap_leftovers(options_, end_them); }

 private:
  static bool own_process_numbers(const TaskSpec& spec) { return text(spec.config, "pid_mode") != "host"; }
  static int namespaces(const TaskSpec& spec) {
    return CLONE_NEWNS | (text(spec.config, "ipc_mode") != "host" ? CLONE_NEWIPC : 0) |
           (spec.network.hostname.empty() ? 0 : CLONE_NEWUTS);
  }
  static int entered(const TaskSpec& spec) {
    return namespaces(spec) | entered_network(spec) | CLONE_NEWCGROUP | CLONE_NEWUSER |
           (own_process_numbers(spec) ? CLONE_NEWPID : 0);
  }
  static os::User user_of_task(const TaskSpec& spec) {
    return without_roots_group(user_of(spec, spec.user.empty() ? "nobody" : spec.user));
  }

  /// By its number: a site may have given it to other names, and group 0 reads what is root's group's.
  static void refuse_root(const TaskSpec& spec, const os::User& user) {
    if ((user.uid != 0 && user.gid != 0) || spec.may_be_root) return;
    throw Error(Code::denied, fmt::format("cannot start task {} as user '{}'", describe(spec), user.name))
        .because(
            fmt::format("on node '{}' that is user {} in group {}, and its namespace does not give the right 'root'",
                        spec.node, user.uid, user.gid))
        .advise("run it as another user, or see `underway namespace apply -allow-right`");
  }

  static std::string work_dir(const TaskSpec& spec) {
    const auto directory = text(spec.config, "work_dir");
    return directory.empty() ? "/" : directory;
  }

  static os::Capabilities named(const TaskSpec& spec, std::string_view key) {
    os::Capabilities set = 0;
    for (const auto& name : texts(spec.config, key)) set |= os::find_capability(name).value_or(0);
    return set;
  }
  os::Capabilities bounding(const TaskSpec& spec) const {
    return (default_capabilities() & ~named(spec, "cap_drop")) |
           (named(spec, "cap_add") & options_.allowed_capabilities);
  }
  /// `keep`: what it may ever hold.
  static os::Capabilities ambient(const TaskSpec& spec, const os::User& user, os::Capabilities keep) {
    auto set = keep & (named(spec, "cap_add") | os::find_capability("net_bind_service").value_or(0));
    // Among all groups it could take any.
    if (user.groups.size() >= kMostGroups) set &= ~os::find_capability("setgid").value_or(0);
    // The machine's own numbers would make it anybody: all that it is here for are its ports.
    if (spec.low_ports && user.uid != 0) set &= os::find_capability("net_bind_service").value_or(0);
    return set;
  }

  os::CgroupLimits limits(const TaskSpec& spec) const {
    auto limits = common_limits(options_, spec);
    const auto hard = std::max(spec.memory_mb, spec.memory_max_mb);
    if (hard != 0) limits.memory_max = hard << 20;
    if (spec.memory_max_mb > spec.memory_mb) limits.memory_soft = spec.memory_mb << 20;
    return limits;
  }

  void add_root(os::LaunchPlan& plan, const TaskSpec& spec, const std::string& root, const os::Cgroup& group) const {
    leave_mounts(plan, spec);
    plan.mount("tmpfs", root, "tmpfs", MS_NOSUID, "mode=755,size=1m");
    // Binding the directory that `root` lies in shall not bind `root` into itself.
    plan.mount("", root, "", MS_UNBINDABLE);
    add_machine(plan, root);
    add_mount_points(plan, spec, root);
    // Of the cgroup trees the task sees its own group, which its cgroup namespace calls the root.
    for (const auto& file : group.join_files()) {
      const std::string directory = file.substr(0, file.rfind('/'));
      const std::string mount = directory.substr(0, directory.size() - group.path().size() - 1);
      plan.optionally().bind(directory, root + mount);
    }
    for (const auto& path : options_.hidden) {
      os::cover_directory(plan.optionally(), root + path);
    }
    plan.set_mount_attributes(root, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, true);

    os::mount_proc(plan, root + "/proc");
    os::guard_proc(plan, root + "/proc");
    os::mount_devices(plan, root + "/dev", "64k");
    add_devices(plan, spec, root);
    // What it makes there is worth nothing to anybody: no program gains a user by it, no device is opened.
    constexpr auto kPlain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    const auto own = [&](const std::string& from, const std::string& name, std::uint64_t attributes) {
      plan.bind(from, root + name).set_mount_attributes(root + name, attributes, false);
    };
    own(spec.task_dir + "/local", "/local", kPlain);
    own(spec.task_dir + "/secrets", "/secrets", kPlain | MOUNT_ATTR_NOEXEC);
    own(spec.task_dir + "/tmp", "/tmp", kPlain);
    own(spec.alloc_dir, "/alloc", kPlain);
    plan.optionally().bind(root + "/tmp", root + "/var/tmp");
    add_names(plan, spec, root);
    attach_mounts(plan, spec, root);
    confine_paths(plan, spec.config, root);
    plan.pivot_root(root);
  }

  os::LaunchPlan plan(const TaskSpec& spec, const os::User& user, const std::string& root,
                      const os::Cgroup& group) const {
    const auto env = environment_of(spec);
    os::LaunchPlan plan;
    confine_devices(plan, spec.config, group);
    for (const auto& file : group.join_files()) plan.write_file(file, "0");
    // The keeper is spared by the kernel's out-of-memory killer; the task shall not inherit that.
    plan.optionally().write_file("/proc/self/oom_score_adj",
                                 std::to_string(number(spec.config, "oom_score_adj").value_or(0)));
    plan.new_session().unshare(CLONE_NEWCGROUP);
    // Its user namespace holds nothing over the network of its group, so that one lets everybody bind low ports.
    if (entered_network(spec) != 0) plan.optionally().write_file(kLowPorts, "0");
    if (!spec.network.hostname.empty()) plan.set_hostname(spec.network.hostname);
    add_root(plan, spec, root, group);
    for (const auto& limit : limits_of(spec.config)) plan.limit(limit.resource, limit.soft, limit.hard);
    plan.change_directory(work_dir(spec));
    if (own_users(spec, user)) plan.user_namespace({{user.uid, user.uid, 1}}, groups_inside(user));
    plan.bound_capabilities(bounding(spec)).become(user, ambient(spec, user, bounding(spec))).no_new_privileges();
    if (!own_process_numbers(spec)) plan.parent_death_signal(SIGKILL);
    for (const auto& filter : filters_of(spec.config, bounding(spec))) plan.seccomp(filter);
    std::vector<std::string> argv = {text(spec.config, "command")};
    for (auto& argument : texts(spec.config, "args")) argv.push_back(std::move(argument));
    return plan.exec(candidates_of(argv[0], {"/local", "/"}, env), argv, os::environment(env));
  }

  CommandTemplate command(const TaskSpec& spec) const {
    return [spec, keep = bounding(spec)] {
      os::SpawnSpec command;
      command.env = os::environment(environment_of(spec));
      command.cwd = work_dir(spec);
      command.user = user_of_task(spec);
      command.bounding = keep;
      command.ambient = ambient(spec, *command.user, keep);
      command.no_new_privileges = true;
      command.limits = limits_of(spec.config);
      for (const auto& filter : filters_of(spec.config, keep)) command.setup.seccomp(filter);
      return command;
    };
  }

  Options options_;
};

}  // namespace

os::Capabilities default_capabilities() {
  os::Capabilities set = 0;
  for (const auto* name : {"audit_write", "chown", "dac_override", "fowner", "fsetid", "kill", "mknod",
                           "net_bind_service", "setfcap", "setgid", "setpcap", "setuid", "sys_chroot"}) {
    set |= os::find_capability(name).value_or(0);
  }
  return set;
}

std::unique_ptr<Driver> make_exec(Options options) { return std::make_unique<Exec>(std::move(options)); }

std::vector<std::string> exec_problems(const boost::json::value& config) {
  return Exec({.cgroups = {}, .allowed_capabilities = os::find_capability("all").value_or(0)}).validate(config);
}

}  // namespace underway::driver
