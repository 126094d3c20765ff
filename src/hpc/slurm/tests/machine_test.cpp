#include "slurm/machine.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace underway::slurm {
namespace {

class MachineOfATest : public testing::Test {
 protected:
  MachineOfATest() {
    std::string name = (std::filesystem::temp_directory_path() / "slurm-machine-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    put("/proc/meminfo", "MemTotal:       24684032 kB\nMemFree: 1 kB\n");
  }
  ~MachineOfATest() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void processor(int number, int socket, int core) const {
    const std::string place = "/sys/devices/system/cpu/cpu" + std::to_string(number);
    put(place + "/topology/physical_package_id", std::to_string(socket) + "\n");
    put(place + "/topology/core_id", std::to_string(core) + "\n");
  }
  void mounts(const std::vector<std::string>& controllers, const std::string& v2) const {
    std::string text = "1 0 0:1 / / rw - ext4 /dev/vda rw\n";
    int number = 2;
    for (const auto& name : controllers)
      text += std::to_string(++number) + " 1 0:2 / /sys/fs/cgroup/" + name + " rw - cgroup cgroup rw," + name + "\n";
    if (!v2.empty()) text += "90 1 0:9 / " + v2 + " rw - cgroup2 cgroup2 rw\n";
    put("/proc/self/mountinfo", text);
  }
  std::string root_;
};

TEST_F(MachineOfATest, IsWhatSlurmdFinds) {
  for (int n = 0; n < 8; ++n) processor(n, n / 2 % 2, n / 4);  // two sockets, two cores each, two threads each
  put("/sys/devices/system/cpu/cpufreq/boost", "1\n");
  mounts({}, "");
  const auto machine = read_machine(root_);
  EXPECT_EQ(machine.sockets, 2);
  EXPECT_EQ(machine.cores_per_socket, 2);
  EXPECT_EQ(machine.threads_per_core, 2);
  EXPECT_EQ(machine.cpus(), 8);
  EXPECT_EQ(machine.memory_mb, 24100);
}

TEST_F(MachineOfATest, LeavesOutProcessorsThatAreSwitchedOff) {
  for (int n = 0; n < 4; ++n) processor(n, 0, n);
  put("/sys/devices/system/cpu/cpu3/online", "0\n");
  put("/sys/devices/system/cpu/cpu2/online", "1\n");
  mounts({}, "");
  EXPECT_EQ(read_machine(root_).cpus(), 3);
}

TEST_F(MachineOfATest, CountsCoresOfUnequalKindsAsSingleThreads) {
  processor(0, 0, 0);
  processor(1, 0, 0);
  processor(2, 0, 1);
  mounts({}, "");
  const auto machine = read_machine(root_);
  EXPECT_EQ(machine.sockets, 1);
  EXPECT_EQ(machine.cores_per_socket, 3);
  EXPECT_EQ(machine.threads_per_core, 1);
}

TEST_F(MachineOfATest, SaysByWhichCgroupsSlurmCanHoldItsJobs) {
  const std::vector<std::string> all = {"cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"};
  mounts(all, "/sys/fs/cgroup/unified");
  put("/sys/fs/cgroup/unified/cgroup.controllers", "\n");
  EXPECT_EQ(read_machine(root_).cgroup, "v1");

  put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
  mounts({}, "/sys/fs/cgroup");
  EXPECT_EQ(read_machine(root_).cgroup, "v2");

  put("/sys/fs/cgroup/cgroup.controllers", "cpu pids\n");
  EXPECT_EQ(read_machine(root_).cgroup, "none") << "it has no memory controller";
  mounts({"cpu", "memory"}, "");
  EXPECT_EQ(read_machine(root_).cgroup, "none") << "it has no freezer";
  mounts({}, "");
  EXPECT_EQ(read_machine(root_).cgroup, "none");
}

}  // namespace
}  // namespace underway::slurm
