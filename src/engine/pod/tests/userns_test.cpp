// Containers with a user namespace of their own, by the real crun and the real runc.
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>

#include "base/text.hpp"
#include "os/fd.hpp"
#include "os/process/id_map.hpp"
#include "pod/ids.hpp"
#include "pod/tests/container_fixture.hpp"

namespace underway::pod {
namespace {

using driver::TaskStatus;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class UserNamespaces : public Pods {
 protected:
  void SetUp() override {
    Pods::SetUp();
    if (!path_.empty()) ::chmod(path_.c_str(), 0700);  // as an agent's directory may be
  }

  void start(const std::string& text, boost::json::object keys = {}, const std::string& mode = "auto") {
    keys["userns"] = mode;
    script(text + "; echo up; sleep 600", std::move(keys));
    task_ = driver_->start(spec_);
    ASSERT_TRUE(says("up\n")) << out() << err();
  }
  /// As the host numbers them.
  static os::IdMap map_of(const driver::TaskHandle& task, const char* file = "uid_map") {
    return os::parse_id_map(os::read_file(fmt::format("/proc/{}/{}", task.status().process.pid, file)));
  }
  static std::string owner(const std::string& path) {
    struct stat st{};
    if (::stat(path.c_str(), &st) != 0) return "missing";
    return fmt::format("{}:{}", st.st_uid, st.st_gid);
  }
  std::string owner_of_process() const { return owner(fmt::format("/proc/{}", task_->status().process.pid)); }
};

TEST_P(UserNamespaces, MakeTheContainersRootNobodyOnTheHost) {
  // As the agent has it: secrets are in memory.
  os::make_directories(spec_.task_dir + "/secrets", 0700);
  os::Mount secrets = os::Mount::tmpfs(spec_.task_dir + "/secrets", "size=64k,mode=0700");
  os::write_file(spec_.task_dir + "/secrets/key", "secret\n", 0600);
  start(
      "id -u; cat /srv/note /secrets/key; stat -c %u:%g / /bin/busybox /alloc /local /secrets/key /etc/hosts /proc/1; "
      "echo x > /alloc/shared; echo x > /local/file; echo x > /root-file; echo again > /dev/stdout; echo x > "
      "/dev/null; "
      "mkdir /bin/new && stat -c %u:%g /bin /bin/new /root-file; hostname");
  EXPECT_EQ(out(), "0\nfrom above\nsecret\n0:0\n0:0\n0:0\n0:0\n0:0\n0:0\n0:0\nagain\n0:0\n0:0\n0:0\nweb-7f3a9c12\nup\n")
      << err();
  const auto uids = map_of(*task_), gids = map_of(*task_, "gid_map");
  ASSERT_EQ(uids.size(), 1U);
  EXPECT_EQ(uids[0].count, 65536U);
  EXPECT_GT(uids[0].outside, 65536U);
  EXPECT_EQ(owner_of_process(), fmt::format("{}:{}", uids[0].outside, gids[0].outside));
  EXPECT_EQ(owner(spec_.alloc_dir + "/shared"), "0:0");
  EXPECT_EQ(owner(spec_.task_dir + "/local/file"), "0:0");
  EXPECT_EQ(
      run({"/bin/sh", "-c", "id -u; id -g; cat /srv/note; echo $NAME; cat /proc/self/uid_map; echo x > /alloc/b"}),
      fmt::format("0\n0\nfrom above\nvalue\n{:>10} {:>10} {:>10}\n", 0, uids[0].outside, 65536));
  EXPECT_EQ(owner(spec_.alloc_dir + "/b"), "0:0");
  EXPECT_GT(task_->usage().pids, 0U);
  end();
  secrets.unmount();
}

TEST_P(UserNamespaces, RunAsAUserOfTheImage) {
  spec_.user = "web";
  start(
      "id -u; id -G; touch /secrets/mine /alloc/mine && echo mine; touch /srv/x || echo not mine; echo e > /dev/stderr",
      {{"group_add", {"audio"}}}, "auto:size=1000");
  EXPECT_EQ(out(), "33\n34 29\nmine\nnot mine\nup\n");
  EXPECT_THAT(err(), HasSubstr("e\n"));
  EXPECT_EQ(owner(spec_.alloc_dir + "/mine"), "33:34");
  EXPECT_EQ(owner(spec_.task_dir + "/secrets/mine"), "33:34");
  EXPECT_EQ(owner_of_process(),
            fmt::format("{}:{}", map_of(*task_)[0].outside + 33, map_of(*task_, "gid_map")[0].outside + 34));
  EXPECT_EQ(run({"/bin/sh", "-c", "id -u; touch /alloc/too; grep CapEff /proc/self/status"}),
            "33\nCapEff:\t0000000000000000\n");
  EXPECT_EQ(owner(spec_.alloc_dir + "/too"), "33:34");
  auto session = task_->exec(
      {.argv = {"/bin/sh", "-c", "stat -L -c %u /proc/self/fd/0; echo x > /proc/self/fd/1"}, .terminal = true});
  session.child.wait();
  // A terminal hands out what was written to it piece by piece.
  std::string text;
  while (std::ranges::count(text, '\n') < 2 && os::wait_for(session.terminal.get(), POLLIN, 5000)) {
    char piece[64];
    const ssize_t size = ::read(session.terminal.get(), piece, sizeof piece);
    if (size <= 0) break;
    text.append(piece, static_cast<std::size_t>(size));
  }
  EXPECT_EQ(text, "33\r\nx\r\n");
  end();
}

TEST_P(UserNamespaces, HoldTheSameCapabilitiesFilterAndLimits) {
  start(
      "grep -E 'CapBnd|Seccomp:' /proc/self/status; grep 'open files' /proc/self/limits; mount -t tmpfs x /tmp || echo "
      "no mount",
      {{"ulimit", {{"nofile", "64:128"}}}, {"oom_score_adj", 5}, {"security_opt", {"no-new-privileges"}}});
  EXPECT_THAT(out(), HasSubstr("CapBnd:\t00000000800405fb\nSeccomp:\t2\n"));
  EXPECT_THAT(out(), HasSubstr("64                   128"));
  EXPECT_THAT(out(), HasSubstr("no mount\n"));
  EXPECT_THAT(run({"/bin/grep", "-E", "CapBnd|Seccomp:", "/proc/self/status"}),
              HasSubstr("CapBnd:\t00000000800405fb\nSeccomp:\t2\n"));
  end();
}

TEST_P(UserNamespaces, ShowVolumesAndDevicesWithTheOwnersThatTheJobSays) {
  os::make_directories(path_ + "/data", 0755);
  os::write_file(path_ + "/data/of-web", "lent\n", 0600, os::Owner{33, 34});
  os::write_file(path_ + "/file", "one file\n", 0644);
  os::make_directories(path_ + "/group", 0777);
  ::chmod((path_ + "/group").c_str(), 0777);
  spec_.mounts = {{.source = path_ + "/group", .destination = "/group"}};
  start(
      "stat -c %u:%g /mapped/of-web /plain/of-web /own; cat /file; touch /mapped/new || echo read-only; touch "
      "/group/new /own/new; stat -c %t:%T /dev/other; echo x > /dev/other && echo wrote; ls /t",
      {{"volumes", {path_ + "/data:/mapped:idmap,ro", path_ + "/data:/plain", path_ + "/file:/file", "local/v:/own"}},
       {"tmpfs", {"/t"}},
       {"devices", {"/dev/null:/dev/other:rw"}},
       {"readonly_rootfs", true}});
  EXPECT_EQ(out(), "33:34\n65534:65534\n0:0\none file\nread-only\n1:3\nwrote\nup\n") << err();
  EXPECT_EQ(owner(path_ + "/group/new"), "0:0");
  EXPECT_EQ(owner(spec_.task_dir + "/local/v/new"), "0:0");
  end();
}

TEST_P(UserNamespaces, GoWithANetworkOfTheirOwn) {
  start("grep -c : /proc/net/dev; ls /sys/class/net; cat /proc/sys/net/ipv4/ip_forward",
        {{"network_mode", "none"}, {"sysctl", {{"net.ipv4.ip_forward", "1"}}}});
  EXPECT_EQ(out(), "1\nlo\n1\nup\n") << err();
  end();
}

TEST_P(UserNamespaces, GoWithTheNetworkOfTheirGroup) {
  const auto network = os::Namespace::create(CLONE_NEWNET);
  spec_.network.namespace_path = path_ + "/network";
  network.pin(spec_.network.namespace_path);
  start("ls /sys/class/net");
  EXPECT_EQ(out(), "lo\nup\n") << err();
  EXPECT_EQ(run({"/bin/grep", "-c", ":", "/proc/net/dev"}), "1\n");
  end();
  os::Namespace::unpin(spec_.network.namespace_path);
}

TEST_P(UserNamespaces, GoWithNamespacesOfTheHost) {
  boost::json::object keys = {{"pid_mode", "host"}, {"uts_mode", "host"}};
  if (os::exists("/dev/mqueue")) keys["ipc_mode"] = "host";
  start("ls -d /proc/1 /sys/class/net/lo; cat /proc/sys/kernel/hostname", std::move(keys));
  EXPECT_EQ(out(), "/proc/1\n/sys/class/net/lo\n" + os::read_file("/proc/sys/kernel/hostname") + "up\n") << err();
  EXPECT_EQ(run({"/bin/sh", "-c", "id -u"}), "0\n");
  end();
}

TEST_P(UserNamespaces, GoWithPrivileges) {
  start("mount -t tmpfs x /tmp && echo mounted; grep CapBnd /proc/self/status", {{"privileged", true}});
  EXPECT_THAT(out(), HasSubstr("mounted\n")) << err();
  EXPECT_NE(map_of(*task_)[0].outside, 0U);
  end();
}

TEST_P(UserNamespaces, OfTwoContainersHaveNoNumberInCommonAndGiveThemBack) {
  start("true");
  const auto first = map_of(*task_), first_groups = map_of(*task_, "gid_map");
  auto second_spec = task_spec("second");
  second_spec.config = spec_.config;
  {
    const auto second = driver_->start(second_spec);
    const auto map = map_of(*second);
    ASSERT_EQ(map.size(), 1U);
    EXPECT_GE(map[0].outside, first[0].outside + first[0].count);
    EXPECT_GE(map_of(*second, "gid_map")[0].outside, first_groups[0].outside + first_groups[0].count);
    end();
    spec_.keeper_dir = path_ + "/keepers/web-2";
    start("true");
    EXPECT_EQ(map_of(*task_), first) << "what the first gave back";
    end();
    second->stop(SIGKILL, {});
    ASSERT_TRUE(second->wait(seconds{20}));
    second->destroy();
  }
  EXPECT_TRUE(ledger_->unsettled().empty());
}

TEST_P(UserNamespaces, AreFoundAgainByTheNextAgentWithTheirNumbers) {
  start("true");
  const auto map = map_of(*task_);
  const auto process = task_->status().process;
  task_.reset();
  driver_.reset();
  ledger_.reset();  // as by a kill
  ledger_.emplace(path_ + "/ledger");
  options_.driver.ledger = &*ledger_;
  driver_ = make_pod(options_);
  task_ = driver_->recover(spec_);
  EXPECT_EQ(task_->status().phase, TaskStatus::Phase::running);
  EXPECT_EQ(task_->status().process, process);
  EXPECT_EQ(run({"/bin/sh", "-c", "id -u; echo $NAME; cat /srv/note"}), "0\nvalue\nfrom above\n");
  // It holds them still.
  auto second_spec = task_spec("second");
  second_spec.config = spec_.config;
  auto second = driver_->start(second_spec);
  EXPECT_NE(map_of(*second), map);
  second->stop(SIGKILL, {});
  ASSERT_TRUE(second->wait(seconds{20}));
  second->destroy();
  end();
  EXPECT_TRUE(ledger_->unsettled().empty());
}

TEST_P(UserNamespaces, ThatAKilledAgentDidNotComeToStartHoldNothing) {
  start("true");
  end();
  const auto owner = fmt::format("pod/{}/{}", spec_.alloc_id, spec_.task);
  os::make_directories(spec_.keeper_dir + ".pod");
  take_ids({.mode = UserNamespace::Mode::automatic}, *ledger_, owner, spec_.keeper_dir + ".pod");
  task_ = driver_->recover(spec_);
  EXPECT_EQ(task_->status().phase, TaskStatus::Phase::lost);
  EXPECT_FALSE(ledger_->unsettled().empty());
  task_->destroy();
  EXPECT_TRUE(ledger_->unsettled().empty());
}

TEST_P(UserNamespaces, KeepEveryNumberWhenTold) {
  start("id -u; id -g; stat -c %u:%g /srv/note; touch /alloc/new", {}, "keep-id:uid=200,gid=210");
  EXPECT_EQ(out(), "200\n210\n0:0\nup\n") << err();
  EXPECT_TRUE(os::is_identity(map_of(*task_)));
  EXPECT_EQ(owner_of_process(), "200:210");
  EXPECT_EQ(owner(spec_.alloc_dir + "/new"), "200:210");
  struct stat own{}, its{};
  ASSERT_EQ(::stat("/proc/self/ns/user", &own), 0);
  ASSERT_EQ(::stat(fmt::format("/proc/{}/ns/user", task_->status().process.pid).c_str(), &its), 0);
  EXPECT_NE(own.st_ino, its.st_ino);
  EXPECT_EQ(run({"/bin/id", "-u"}), "200\n");
  end();
}

TEST_P(UserNamespaces, HaveTheNumbersThatTheJobNames) {
  start("cat /proc/self/uid_map", {}, "auto:size=1024,uidmapping=100:1000:1");
  const auto map = map_of(*task_);
  EXPECT_EQ(os::find_outside(map, 100), 1000U);
  EXPECT_EQ(os::find_outside(map, 1023), map[0].outside + 1022);
  EXPECT_EQ(os::find_outside(map, 1024), std::nullopt);
  end();
}

TEST_P(UserNamespaces, SayWhatTheyCannotHave) {
  spec_.user = "70000";
  config({{"command", "sh"}, {"userns", "auto"}});
  EXPECT_THAT(failure(), HasSubstr("the container runs as user 70000, and its user namespace has none"));
  spec_.user.clear();
  spec_.mounts = {{.source = "/sys/kernel", .destination = "/x"}};
  EXPECT_THAT(failure(), testing::AllOf(HasSubstr("cannot map the owners of '/sys/kernel'"),
                                        HasSubstr("sysfs, or what is mounted below it, cannot show owners mapped"),
                                        HasSubstr("userns = \"host\"")));
}

INSTANTIATE_TEST_SUITE_P(By, UserNamespaces, testing::Values("crun", "runc"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace underway::pod
