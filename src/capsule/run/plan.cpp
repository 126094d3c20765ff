#include "run/plan.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

#include "os/new_root.hpp"
#include "run/init/spec.hpp"

namespace underway::run {
namespace {

class PlanBuilder {
 public:
  explicit PlanBuilder(const PlanInput& input) : in_(input), root_(input.directory + "/root") {}

  os::LaunchPlan plan() {
    enter();
    mount_root();
    mount_kernel();
    os::mount_devices(plan_, root_ + "/dev", "1m");
    mount_private();
    mount_given();
    plan_.pivot_root(root_);
    plan_.set_hostname(in_.hostname).set_umask(022);
    plan_.bound_capabilities(in_.bounding).parent_death_signal(SIGKILL);
    plan_.exec({init::kProgram}, {"underway-capsule-init"}, in_.environment);
    return std::move(plan_);
  }

 private:
  void enter() {
    plan_.set_umask(0);
    for (const auto& file : in_.join_cgroup) plan_.write_file(file, "0");
    // The keeper is spared by the kernel's out-of-memory killer; the capsule shall not inherit that.
    plan_.optionally().write_file("/proc/self/oom_score_adj", "0");
    plan_.new_session().unshare(CLONE_NEWCGROUP);
    plan_.make_mounts_private();
  }

  void mount_root() {
    // Relative paths: a ',' or ':' in a directory's name would end an option. Upper and work have to lie on one mount.
    plan_.bind(in_.overlay, in_.directory + "/overlay").change_directory(in_.directory);
    plan_.mount("overlay", "root", "overlay", MS_NODEV,
                "lowerdir=layer:image,upperdir=overlay/upper,workdir=overlay/work");
  }

  void mount_kernel() {
    os::mount_proc(plan_, root_ + "/proc");
    os::guard_proc(plan_, root_ + "/proc");
    os::mount_sysfs(plan_, root_ + "/sys", true);
    os::mount_cgroup_directory(plan_.optionally(), root_ + "/sys/fs/cgroup");
    for (const auto& [group, mount] : in_.cgroups) {
      if (!mount.starts_with("/sys/fs/cgroup")) continue;
      if (mount != "/sys/fs/cgroup") plan_.optionally().make_directory(root_ + mount, 0755);
      plan_.optionally().bind(group, root_ + mount);
      plan_.optionally().set_mount_attributes(root_ + mount, MOUNT_ATTR_RDONLY, false);
    }
  }

  void mount_private() {
    os::mount_run_and_tmp(plan_, root_);
    plan_.make_directory(root_ + "/run/lock", 01777);
    for (const auto& directory : in_.run_directories) {
      for (auto slash = directory.path.find('/', 5); slash != std::string::npos;
           slash = directory.path.find('/', slash + 1)) {
        plan_.make_directory(root_ + directory.path.substr(0, slash), 0755);
      }
      const auto path = root_ + directory.path;
      plan_.make_directory(path, 0755).change_owner(path, directory.uid, directory.gid);
      plan_.change_mode(path, directory.mode);  // after the owner: chown clears set-id bits
    }
    const auto control = root_ + init::kDirectory;
    plan_.make_directory(control, 0700).bind(in_.directory + "/control", control);
    plan_.bind(in_.init_program, root_ + init::kProgram);
    plan_.set_mount_attributes(root_ + init::kProgram, MOUNT_ATTR_RDONLY, false);
  }

  void mount_given() {
    for (const auto* name : {"/local", "/secrets"}) plan_.bind(in_.task_dir + name, root_ + name);
    plan_.bind(in_.alloc_dir, root_ + "/alloc");
    for (const auto& bind : in_.binds) {
      make_point(bind);
      plan_.bind(bind.source, root_ + bind.target, true);
      if (bind.read_only) plan_.set_mount_attributes(root_ + bind.target, MOUNT_ATTR_RDONLY, true);
    }
  }

  /// The capsule's own layer has the mount points, but not below what is mounted over it.
  void make_point(const PlanBind& bind) {
    const bool covered =
        bind.target.starts_with("/run/") || bind.target.starts_with("/tmp/") || bind.target.starts_with("/dev/");
    if (!covered) return;
    for (auto slash = bind.target.find('/', 5); slash != std::string::npos; slash = bind.target.find('/', slash + 1)) {
      plan_.make_directory(root_ + bind.target.substr(0, slash), 0755);
    }
    if (bind.directory)
      plan_.make_directory(root_ + bind.target, 0755);
    else
      plan_.touch(root_ + bind.target, 0644);
  }

  const PlanInput& in_;
  std::string root_;
  os::LaunchPlan plan_;
};

}  // namespace

os::LaunchPlan plan_capsule(const PlanInput& input) { return PlanBuilder(input).plan(); }

std::vector<MountPoint> own_mount_points() {
  return {{"/proc"}, {"/sys"}, {"/dev"}, {"/run"}, {"/tmp"}, {"/local"}, {"/secrets"}, {"/alloc"}};
}

}  // namespace underway::run
