#include "os/process/cgroup.hpp"

#include "base/error.hpp"
#include "os/mount.hpp"
#include "temporary.hpp"

namespace underway::os {
namespace {

/// A directory that imitates a machine's /proc and /sys; files the kernel would make are made up front.
struct FakeMachine {
  Temporary root;
  void put(const std::string& path, const std::string& text = "") const {
    make_directories((root / path).substr(0, (root / path).rfind('/')));
    write_file(root / path, text, 0644, {}, Durability::cached);
  }
  std::string get(const std::string& path) const { return read_file(root / path); }
};

struct UnifiedMachine : FakeMachine {
  UnifiedMachine() {
    put("proc/self/mountinfo", "25 20 0:23 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
    for (const auto* level : {"", "u/", "u/web/"}) {
      const std::string at = std::string("sys/fs/cgroup/") + level;
      put(at + "cgroup.controllers", "cpu memory pids\n");
      for (const auto* file : {"cgroup.subtree_control", "memory.max", "memory.low", "memory.swap.max", "cpu.weight",
                               "cpu.max", "pids.max", "cgroup.procs", "cgroup.kill"}) {
        put(at + file);
      }
    }
  }
};

TEST(CgroupV2, SetsEveryLimitInTheUnifiedFiles) {
  const UnifiedMachine machine;
  const auto system = CgroupSystem::probe(machine.root.path());
  EXPECT_EQ(system.mode(), "v2");
  EXPECT_TRUE(system.has("memory") && system.has("freezer") && !system.has("cpuset"));
  auto group = Cgroup::create(system, "u/web",
                              {.memory_max = 64 << 20,
                               .memory_soft = 1 << 20,
                               .cpu_shares = 1024,
                               .cpu_quota_millicores = 250,
                               .pids_max = 99});
  EXPECT_EQ(machine.get("sys/fs/cgroup/u/web/memory.max"), "67108864");
  EXPECT_EQ(machine.get("sys/fs/cgroup/u/web/memory.low"), "1048576");
  EXPECT_EQ(machine.get("sys/fs/cgroup/u/web/memory.swap.max"), "0");
  EXPECT_EQ(machine.get("sys/fs/cgroup/u/web/cpu.weight"), "39");
  EXPECT_EQ(machine.get("sys/fs/cgroup/u/web/cpu.max"), "25000 100000");
  EXPECT_EQ(machine.get("sys/fs/cgroup/u/web/pids.max"), "99");
  EXPECT_EQ(group.join_files(), std::vector{machine.root / "sys/fs/cgroup/u/web/cgroup.procs"});
  EXPECT_EQ(group.files().oom_events, machine.root / "sys/fs/cgroup/u/web/memory.events");
  group.release();
}

TEST(CgroupV2, PassesControllersDownToEveryParentButNotTheGroupItself) {
  const UnifiedMachine machine;
  auto group = Cgroup::create(CgroupSystem::probe(machine.root.path()), "u/web");
  EXPECT_THAT(machine.get("sys/fs/cgroup/cgroup.subtree_control"), testing::HasSubstr("+"));
  EXPECT_THAT(machine.get("sys/fs/cgroup/u/cgroup.subtree_control"), testing::HasSubstr("+"));
  EXPECT_EQ(machine.get("sys/fs/cgroup/u/web/cgroup.subtree_control"), "");
  group.release();
}

TEST(CgroupV2, LeavesOutALimitWhoseControllerItsParentsCouldNotPassOn) {
  const UnifiedMachine machine;
  machine.put("sys/fs/cgroup/u/web/cgroup.controllers", "pids\n");
  auto group =
      Cgroup::create(CgroupSystem::probe(machine.root.path()), "u/web", {.memory_max = 1 << 20, .pids_max = 5});
  EXPECT_EQ(machine.get("sys/fs/cgroup/u/web/memory.max"), "");
  EXPECT_EQ(machine.get("sys/fs/cgroup/u/web/pids.max"), "5");
  group.release();
}

TEST(CgroupV2, ReadsItsStatistics) {
  const UnifiedMachine machine;
  machine.put("sys/fs/cgroup/u/web/memory.current", "4096\n");
  machine.put("sys/fs/cgroup/u/web/memory.events", "low 0\noom 1\noom_kill 2\noom_group_kill 0\n");
  machine.put("sys/fs/cgroup/u/web/cpu.stat",
              "usage_usec 1500\nuser_usec 900\nsystem_usec 600\nnr_throttled 4\nthrottled_usec 7\n");
  machine.put("sys/fs/cgroup/u/web/memory.stat", "anon 1000\nfile 2000\nkernel 300\nanon_thp 5\n");
  machine.put("sys/fs/cgroup/u/web/memory.swap.current", "64\n");
  machine.put("sys/fs/cgroup/u/web/pids.current", "3\n");
  auto group = Cgroup::find(CgroupSystem::probe(machine.root.path()), "u/web");
  ASSERT_TRUE(group);
  const auto stats = group->stats();
  EXPECT_EQ(stats.memory_bytes, 4096U);
  EXPECT_EQ(stats.oom_kills, 2U);
  EXPECT_EQ(stats.memory_anonymous_bytes, 1000U);
  EXPECT_EQ(stats.memory_file_bytes, 2000U);
  EXPECT_EQ(stats.memory_kernel_bytes, 300U);
  EXPECT_EQ(stats.memory_swap_bytes, 64U);
  EXPECT_EQ(stats.cpu_time, std::chrono::microseconds{1500});
  EXPECT_EQ(stats.cpu_user, std::chrono::microseconds{900});
  EXPECT_EQ(stats.cpu_system, std::chrono::microseconds{600});
  EXPECT_EQ(stats.cpu_throttled_periods, 4U);
  EXPECT_EQ(stats.pids, 3U);
  group->release();
}

TEST(CgroupSystem, KnowsHybridMachinesAndThoseWithNothing) {
  FakeMachine machine;
  machine.put("proc/self/mountinfo",
              "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
              "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
              "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  machine.put("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
  const auto system = CgroupSystem::probe(machine.root.path());
  EXPECT_EQ(system.mode(), "hybrid");
  EXPECT_TRUE(system.has("cpu") && system.has("cpuacct") && !system.has("memory"));
  const Temporary empty;
  EXPECT_EQ(CgroupSystem::probe(empty.path()).mode(), "none");
  EXPECT_NO_THROW(Cgroup::create(CgroupSystem::probe(empty.path()), "u/x", {.memory_max = 1}));
}

TEST(Cgroup, RefusesPathsThatLeaveItsTree) {
  for (const auto* path : {"", "/a", "a/../b", "a//b", "."}) {
    EXPECT_THROW(Cgroup::create(CgroupSystem(), path), Error) << path;
  }
}

TEST(Mountinfo, IsParsedWithOptionalFieldsAndEscapes) {
  const auto mounts = parse_mountinfo(
      "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:3 - ext3 /dev/root rw,errors=x\nnonsense\n");
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].target, "/mnt 2");
  EXPECT_EQ(mounts[0].type, "ext3");
  EXPECT_EQ(mounts[0].root, "/mnt1");
  EXPECT_EQ(mounts[0].super_options, "rw,errors=x");
}

}  // namespace
}  // namespace underway::os
