#include "host/boot_plan.hpp"

#include <sched.h>
#include <sys/mount.h>

#include "os/mount.hpp"

namespace underway::host {
namespace {

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "" : path.substr(0, slash);
}

class Boot {
 public:
  explicit Boot(const BootInput& input) : in_(input), root_(input.directory + "/root") {}

  os::LaunchPlan plan() {
    enter();
    mount_root();
    mount_kernel();
    os::mount_machine_devices(plan_, root_ + "/dev", in_.devices);  // else hosts would share /dev/log and /dev/shm
    mount_private();
    for (const auto& bind : in_.binds) add_bind(bind);
    plan_.pivot_root(root_);
    for (const auto& directory : in_.directories) add_directory(directory);
    plan_.set_umask(022);
    std::vector<std::string> argv = {"underway-init", "supervise"};
    argv.insert(argv.end(), in_.agent_argv.begin(), in_.agent_argv.end());
    // The program that runs this plan, wherever its file is: the host need not see it.
    plan_.exec({"/proc/self/exe"}, argv, in_.agent_env);
    return std::move(plan_);
  }

 private:
  void enter() {
    plan_.set_umask(0);
    for (const auto& file : in_.join_cgroup) plan_.write_file(file, "0");
    plan_.unshare(CLONE_NEWCGROUP);  // now, so that the host's groups are the root of what it sees
    if (!in_.cgroup_leaf.empty()) plan_.write_file(in_.cgroup_leaf, "0");
    plan_.make_mounts_private();
    plan_.set_hostname(in_.hostname);
    plan_.loopback_up();
  }

  void mount_root() {
    // Relative paths: a ',' or ':' in the state directory's name would end an option.
    plan_.change_directory(in_.directory);
    plan_.mount("overlay", "root", "overlay", 0, "lowerdir=/,upperdir=upper,workdir=work");
    for (std::size_t n = 0; n < in_.layers.size(); ++n) {
      const auto& layer = in_.layers[n];
      plan_.mount("overlay", root_ + layer, "overlay", 0,
                  fmt::format("lowerdir={},upperdir=layers/{}/upper,workdir=layers/{}/work", layer, n, n));
    }
  }

  void mount_kernel() {
    os::mount_proc(plan_, root_ + "/proc");
    os::mount_sysfs(plan_, root_ + "/sys");
    const auto groups = root_ + "/sys/fs/cgroup";
    if (!in_.cgroup_v1.empty()) {
      os::mount_cgroup_directory(plan_, groups);
      for (const auto& [source, name] : in_.cgroup_v1) {
        plan_.make_directory(groups + "/" + name, 0755);
        plan_.bind(source, groups + "/" + name);
      }
    }
    if (in_.cgroup_v2) {
      const auto target = in_.cgroup_v2->empty() ? groups : groups + "/" + *in_.cgroup_v2;
      if (!in_.cgroup_v2->empty()) plan_.make_directory(target, 0755);
      plan_.mount("cgroup2", target, "cgroup2", os::kDataOnly);
    }
  }

  void mount_private() {
    os::mount_run_and_tmp(plan_, root_);
    // Below /run and /tmp nothing of the machine is seen anyhow.
    if (in_.hidden.empty() || in_.hidden.starts_with("/run/") || in_.hidden.starts_with("/tmp/")) return;
    add_path(root_, in_.hidden);
    os::mount_memory(plan_, root_ + in_.hidden, "mode=755,size=1m");
  }

  void add_bind(const BootBind& bind) {
    const auto target = root_ + bind.target;
    if (bind.directory) {
      add_path(root_, bind.target);
    } else {
      add_path(root_, parent_of(bind.target));
      plan_.touch(target, 0644);
    }
    plan_.bind(bind.source, target);
    if (bind.read_only) plan_.set_mount_attributes(target, MOUNT_ATTR_RDONLY, false);
  }

  void add_directory(const BootDirectory& directory) {
    add_path("", directory.path);
    plan_.change_owner(directory.path, directory.uid, directory.gid);
    plan_.change_mode(directory.path, directory.mode);  // after the owner: chown clears set-id bits
  }

  void add_path(const std::string& below, const std::string& path) {
    for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      plan_.make_directory(below + path.substr(0, slash), 0755);
    }
    if (!path.empty()) plan_.make_directory(below + path, 0755);
  }

  const BootInput& in_;
  std::string root_;
  os::LaunchPlan plan_;
};

}  // namespace

os::LaunchPlan plan_boot(const BootInput& input) { return Boot(input).plan(); }

}  // namespace underway::host
