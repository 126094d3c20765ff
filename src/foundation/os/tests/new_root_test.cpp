#include "os/new_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace underway::os {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

std::vector<std::string> steps_of(const LaunchPlan& plan) {
  std::vector<std::string> steps;
  for (std::size_t n = 0; n < plan.size(); ++n) steps.push_back(plan.describe(n));
  return steps;
}

/// What every /dev has behind its devices.
const std::vector<std::string> kBehindDevices = {
    "make the directory '/r/dev/pts'", "make the directory '/r/dev/shm'", "make the directory '/r/dev/mqueue'",
    "mount devpts on '/r/dev/pts'",    "mount tmpfs on '/r/dev/shm'",     "mount mqueue on '/r/dev/mqueue'",
    "make the link '/r/dev/ptmx'",     "make the link '/r/dev/fd'",       "make the link '/r/dev/stdin'",
    "make the link '/r/dev/stdout'",   "make the link '/r/dev/stderr'"};

TEST(NewRoot, ShowsTheMachinesCommonDevicesInADevOfItsOwn) {
  LaunchPlan plan;
  mount_devices(plan, "/r/dev", "64k");
  std::vector<std::string> expected = {"mount tmpfs on '/r/dev'"};
  for (const std::string name : {"null", "zero", "full", "random", "urandom", "tty"}) {
    expected.push_back("make the file '/r/dev/" + name + "'");
    expected.push_back("bind '/dev/" + name + "' on '/r/dev/" + name + "'");
  }
  expected.insert(expected.end(), kBehindDevices.begin(), kBehindDevices.end());
  EXPECT_THAT(steps_of(plan), ElementsAreArray(expected));
}

TEST(NewRoot, MakesTheDeviceFilesOfAMachineWithTheirDirectories) {
  LaunchPlan plan;
  mount_machine_devices(plan, "/r/dev", {{"null", S_IFCHR | 0666, 259}, {"net/tun", S_IFCHR | 0666, 2760}});
  std::vector<std::string> expected = {"mount tmpfs on '/r/dev'", "make the device '/r/dev/null'",
                                       "make the directory '/r/dev/net'", "make the device '/r/dev/net/tun'"};
  expected.insert(expected.end(), kBehindDevices.begin(), kBehindDevices.end());
  EXPECT_THAT(steps_of(plan), ElementsAreArray(expected));
}

TEST(NewRoot, GuardsThePartsOfProcThatChangeTheMachine) {
  LaunchPlan plan;
  mount_proc(plan, "/r/proc");
  guard_proc(plan, "/r/proc");
  std::vector<std::string> expected = {"mount proc on '/r/proc'"};
  for (const std::string part : {"/r/proc/sys", "/r/proc/sysrq-trigger", "/r/proc/irq", "/r/proc/bus", "/r/proc/fs"}) {
    expected.push_back("bind '" + part + "' on '" + part + "'");
    expected.push_back("change the attributes of the mount '" + part + "'");
  }
  EXPECT_THAT(steps_of(plan), ElementsAreArray(expected));
}

TEST(NewRoot, MountsTheRestWhereItIsTold) {
  LaunchPlan plan;
  mount_sysfs(plan, "/r/sys", true);
  mount_cgroup_directory(plan.optionally(), "/r/sys/fs/cgroup");
  mount_run_and_tmp(plan, "/r");
  cover_directory(plan, "/r/state");
  EXPECT_THAT(steps_of(plan),
              ElementsAre("mount sysfs on '/r/sys'", "mount tmpfs on '/r/sys/fs/cgroup'", "mount tmpfs on '/r/run'",
                          "mount tmpfs on '/r/tmp'", "mount tmpfs on '/r/state'"));
}

}  // namespace
}  // namespace underway::os
