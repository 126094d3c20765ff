// What needs the real kernel and root: namespaces, mounts, cgroups.
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.hpp"
#include "os/ledger.hpp"
#include "os/mount.hpp"
#include "os/process/cgroup.hpp"
#include "os/process/namespaces.hpp"
#include "os/process/process.hpp"
#include "temporary.hpp"

namespace underway::os {
namespace {

using std::chrono::seconds;

class Root : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
  /// A cgroup path that no other test run uses.
  std::string group() const {
    return fmt::format("underway-test-{}/{}", ::getpid(),
                       testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void TearDown() override {
    if (::geteuid() != 0) return;
    if (auto left = Cgroup::find(CgroupSystem::probe(), fmt::format("underway-test-{}", ::getpid()))) left->remove();
  }
};

TEST_F(Root, NamespaceWithoutAProcessIsEnteredPinnedAndUnpinned) {
  const Temporary dir;
  const auto space = Namespace::create(CLONE_NEWNET);
  EXPECT_EQ(call_inside(space, [] { return ::if_nametoindex("lo"); }), 1U);
  space.pin(dir / "net");
  EXPECT_TRUE(is_mount_point(dir / "net"));
  const auto again = Namespace::open(dir / "net", CLONE_NEWNET);
  const auto inode = [] {
    std::array<char, 64> text{};
    EXPECT_GT(::readlink("/proc/thread-self/ns/net", text.data(), text.size() - 1), 0);
    return std::string(text.data());
  };
  EXPECT_EQ(call_inside(space, inode), call_inside(again, inode));
  EXPECT_NE(call_inside(space, inode), inode());
  EXPECT_THROW(call_inside(space, [] { throw Error(Code::conflict, "from inside"); }), Error);
  Namespace::unpin(dir / "net");
  EXPECT_FALSE(exists(dir / "net"));
  EXPECT_NO_THROW(Namespace::unpin(dir / "net"));
}

TEST_F(Root, MountIsUndoneByItsOwnerAndByTheLedgerTwice) {
  const Temporary dir;
  make_directories(dir / "m");
  {
    const Mount mount = Mount::tmpfs(dir / "m", "size=64k");
    write_file(dir / "m/inside", "x");
    EXPECT_TRUE(is_mount_point(dir / "m"));
  }
  EXPECT_FALSE(exists(dir / "m/inside"));
  Ledger ledger(dir / "ledger");
  ledger.record(LedgerItem{"mount", dir / "m", "", "t"});
  Mount first = Mount::tmpfs(dir / "m"), second = Mount::bind(dir.path(), dir / "m", MS_RDONLY);
  EXPECT_THROW(write_file(dir / "m/x", ""), Error);
  static_cast<void>(first.release());
  static_cast<void>(second.release());
  EXPECT_TRUE(ledger.undo_all().empty());
  EXPECT_FALSE(is_mount_point(dir / "m"));
  EXPECT_TRUE(ledger.unsettled().empty());
}

TEST_F(Root, RemoveTreeStopsAtAMountBelow) {
  const Temporary dir;
  make_directories(dir / "t/m");
  Mount mount = Mount::tmpfs(dir / "t/m");
  write_file(dir / "t/m/precious", "x");
  EXPECT_THROW(remove_tree(dir / "t"), Error);
  EXPECT_TRUE(exists(dir / "t/m/precious"));
  mount.unmount();
}

TEST_F(Root, ProgramInNewNamespacesHasItsOwnRootHostnameAndProcessNumbers) {
  const Temporary dir;
  make_directories(dir / "root");
  SpawnSpec spec{.argv = {"/usr/bin/sh", "-c", "echo $$; hostname; ls /; cat /sys/class/net/lo/flags"}};
  spec.unshare = kHostNamespaces;
  spec.setup.make_mounts_private().mount("tmpfs", dir / "root", "tmpfs");
  for (const auto* name : {"usr", "proc", "sys", "old"}) spec.setup.make_directory((dir / "root/") + name, 0755);
  for (const auto* name : {"bin", "lib", "lib64"})
    spec.setup.make_symlink("usr/" + std::string(name), (dir / "root/") + name);
  spec.setup.bind("/usr", dir / "root/usr", true)
      .set_mount_attributes(dir / "root/usr", MOUNT_ATTR_RDONLY, true)
      .mount("proc", dir / "root/proc", "proc")
      .mount("sysfs", dir / "root/sys", "sysfs")
      .set_hostname("n7")
      .loopback_up()
      .pivot_root(dir / "root");
  const auto output = run_program(spec, seconds{20});
  EXPECT_EQ(output.out, "1\nn7\nbin\nlib\nlib64\nold\nproc\nsys\nusr\n0x9\n") << output.err;
}

TEST_F(Root, AMountWithMappedOwnersShowsAndKeepsThemBothWays) {
  const Temporary dir;
  make_directories(dir / "on-disk");
  make_directories(dir / "seen");
  write_file(dir / "on-disk/file", "");
  SpawnSpec spec{.argv = {"sh", "-c", "stat -c %u:%g file && touch new && chown 500007:600007 new"}};
  spec.cwd = dir / "seen";
  spec.unshare = CLONE_NEWNS;
  spec.setup.make_mounts_private().map_mount(dir / "on-disk", dir / "seen", {{0, 500000, 10}}, {{0, 600000, 10}});
  // Root itself is nobody's number there.
  spec.user = User{.name = "", .uid = 500000, .gid = 600000, .home = "", .shell = "", .groups = {}};
  spec.ambient = *find_capability("chown");
  const auto output = run_program(spec, seconds{20});
  EXPECT_EQ(output.out, "500000:600000\n") << output.err;
  struct stat st{};
  ASSERT_EQ(::stat((dir / "on-disk/new").c_str(), &st), 0) << output.err;
  EXPECT_EQ(st.st_uid, 7U);
  EXPECT_EQ(st.st_gid, 7U);

  spec.setup = LaunchPlan();
  spec.setup.make_mounts_private().map_mount("/proc", dir / "seen", {{0, 500000, 10}}, {{0, 600000, 10}});
  try {
    run_program(spec, seconds{20});
    FAIL() << "proc cannot be mapped";
  } catch (const Error& e) {
    EXPECT_THAT(e.one_line(), testing::HasSubstr("cannot map the owners of '/proc'"));
  }
}

TEST_F(Root, JoiningAllNamespacesOfAProcessGivesAChildOfOursInside) {
  SpawnSpec host{.argv = {"sleep", "60"}};
  host.unshare = kHostNamespaces;
  host.setup.make_mounts_private().mount("proc", "/proc", "proc").set_hostname("n8");
  Child init = spawn(host);
  const auto space = Namespace::of_pidfd(Pidfd::open(init.pid()).release(), kHostNamespaces);
  SpawnSpec inside{.argv = {"sh", "-c", "hostname; cat /proc/1/comm; exit 5"}};
  inside.join = {&space};
  const auto output = run_program(inside, seconds{20});
  EXPECT_EQ(output.out, "n8\nsleep\n");
  EXPECT_EQ(output.status, ExitStatus{.code = 5});
  EXPECT_THROW(spawn({.argv = {"/not/there"}, .join = {&space}}), Error);
  init.kill();
}

TEST_F(Root, UserBoundingAmbientAndNoNewPrivilegesTakeEffect) {
  SpawnSpec spec{.argv = {"sh", "-c", "id -u; id -g; grep -E 'Cap(Bnd|Eff|Amb)|NoNewPrivs' /proc/self/status"}};
  spec.user = get_user("nobody");
  spec.bounding = *find_capability("net_bind_service") | *find_capability("chown");
  spec.ambient = *find_capability("net_bind_service");
  spec.no_new_privileges = true;
  spec.limits = {{RLIMIT_NOFILE, 100, 100}};
  const auto output = run_program(spec, seconds{20});
  EXPECT_EQ(output.out,
            "65534\n65534\nCapEff:\t0000000000000400\nCapBnd:\t0000000000000401\nCapAmb:\t0000000000000400\n"
            "NoNewPrivs:\t1\n")
      << output.err;
}

TEST_F(Root, CgroupHoldsItsProcessesFreezesCountsAndKillsThem) {
  const auto system = CgroupSystem::probe();
  if (system.mode() == "none") GTEST_SKIP() << "no cgroups mounted";
  auto cgroup = Cgroup::create(system, group(), {.cpu_shares = 512, .pids_max = 50});
  SpawnSpec spec{.argv = {"sh", "-c", "sleep 60 & sleep 60 & wait"}};
  spec.join_cgroup = cgroup.join_files();
  Child child = spawn(spec);
  for (int i = 0; i < 500 && cgroup.processes().size() < 3; ++i) ::usleep(2000);
  EXPECT_EQ(cgroup.processes().size(), 3U);
  EXPECT_EQ(cgroup.stats().pids, 3U);
  cgroup.freeze(true);
  cgroup.freeze(false);
  EXPECT_FALSE(cgroup.remove_if_empty());
  EXPECT_EQ(cgroup.processes().size(), 3U);
  cgroup.kill_all();
  EXPECT_EQ(child.wait(), ExitStatus{.signal = SIGKILL});
  EXPECT_TRUE(cgroup.remove_if_empty());
  EXPECT_FALSE(Cgroup::find(system, group()));
}

TEST_F(Root, ForkBombIsHeldByThePidsLimitAndKilledWhole) {
  const auto system = CgroupSystem::probe();
  if (!system.has("pids")) GTEST_SKIP() << "no pids controller";
  auto cgroup = Cgroup::create(system, group(), {.pids_max = 40});
  SpawnSpec spec{.argv = {"bash", "-c", "f() { f & f & wait; }; f"}};
  spec.join_cgroup = cgroup.join_files();
  Child child = spawn(spec);
  for (int i = 0; i < 1000 && cgroup.stats().pids < 35; ++i) ::usleep(2000);
  EXPECT_LE(cgroup.stats().pids, 40U);
  cgroup.remove(seconds{10});
  child.wait();
  EXPECT_FALSE(Cgroup::find(system, group()));
}

TEST_F(Root, MemoryBeyondTheLimitIsKilledAndCounted) {
  const auto system = CgroupSystem::probe();
  if (!system.has("memory")) GTEST_SKIP() << "no memory controller";
  auto cgroup = Cgroup::create(system, group(), {.memory_max = 16 << 20});
  SpawnSpec spec{.argv = {"sh", "-c", "exec tail /dev/zero"}};
  spec.join_cgroup = cgroup.join_files();
  Child child = spawn(spec);
  const auto status = child.wait(seconds{60});
  ASSERT_TRUE(status);
  EXPECT_EQ(status->signal, SIGKILL);
  EXPECT_GE(cgroup.stats().oom_kills, 1U);
  cgroup.remove();
}

}  // namespace
}  // namespace underway::os
