#include "os/new_root.hpp"

#include <fmt/format.h>
#include <sys/mount.h>

#include <string_view>

#include "os/mount.hpp"

namespace underway::os {
namespace {

constexpr std::string_view kCommonDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};
/// Parts of /proc that root could change the machine through.
constexpr std::string_view kReadOnlyProc[] = {"sys", "sysrq-trigger", "irq", "bus", "fs"};

/// What is the same in every /dev, behind its devices.
void finish_devices(LaunchPlan& plan, const std::string& dev) {
  for (const auto* name : {"/pts", "/shm", "/mqueue"}) plan.make_directory(dev + name, 0755);
  // gid 5 is Debian's tty, to whom terminals belong.
  plan.mount("devpts", dev + "/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=666,mode=620,gid=5");
  mount_memory(plan, dev + "/shm", "mode=1777");
  plan.optionally().mount("mqueue", dev + "/mqueue", "mqueue", kDataOnly);  // a kernel may have none
  plan.make_symlink("pts/ptmx", dev + "/ptmx").make_symlink("/proc/self/fd", dev + "/fd");
  plan.make_symlink("/proc/self/fd/0", dev + "/stdin").make_symlink("/proc/self/fd/1", dev + "/stdout");
  plan.make_symlink("/proc/self/fd/2", dev + "/stderr");
}

}  // namespace

void mount_proc(LaunchPlan& plan, const std::string& target) { plan.mount("proc", target, "proc", kDataOnly); }

void guard_proc(LaunchPlan& plan, const std::string& target) {
  for (const auto& name : kReadOnlyProc) {
    const auto path = fmt::format("{}/{}", target, name);
    plan.optionally().bind(path, path).optionally().set_mount_attributes(path, MOUNT_ATTR_RDONLY, false);
  }
}

void mount_sysfs(LaunchPlan& plan, const std::string& target, bool read_only) {
  plan.mount("sysfs", target, "sysfs", read_only ? kDataOnly | MS_RDONLY : kDataOnly);
}

void mount_cgroup_directory(LaunchPlan& plan, const std::string& target) {
  plan.mount("tmpfs", target, "tmpfs", kDataOnly, "mode=755,size=64k");
}

void mount_devices(LaunchPlan& plan, const std::string& dev, const std::string& size) {
  plan.mount("tmpfs", dev, "tmpfs", MS_NOSUID | MS_NOEXEC, fmt::format("mode=755,size={}", size));
  for (const auto& name : kCommonDevices) {
    const auto device = fmt::format("/{}", name);
    plan.touch(dev + device, 0666).bind("/dev" + device, dev + device);
  }
  finish_devices(plan, dev);
}

void mount_machine_devices(LaunchPlan& plan, const std::string& dev, const std::vector<DeviceNode>& nodes) {
  // Without noexec, as programs may map their /dev/zero to run what they write there.
  plan.mount("tmpfs", dev, "tmpfs", MS_NOSUID, "mode=755,size=1m");
  for (const auto& node : nodes) {
    if (const auto slash = node.path.rfind('/'); slash != std::string::npos)
      plan.make_directory(fmt::format("{}/{}", dev, node.path.substr(0, slash)), 0755);
    plan.make_node(fmt::format("{}/{}", dev, node.path), node.type_and_mode, node.device);
  }
  finish_devices(plan, dev);
}

void mount_memory(LaunchPlan& plan, const std::string& target, const std::string& options) {
  plan.mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

void mount_run_and_tmp(LaunchPlan& plan, const std::string& root) {
  mount_memory(plan, root + "/run", "mode=755");
  mount_memory(plan, root + "/tmp", "mode=1777");
}

void cover_directory(LaunchPlan& plan, const std::string& target) {
  plan.mount("tmpfs", target, "tmpfs", kDataOnly | MS_RDONLY, "mode=755,size=4k");
}

}  // namespace underway::os
