// Containers by the real crun and the real runc.
#include "pod/tests/container_fixture.hpp"

namespace underway::pod {
namespace {

using driver::TaskStatus;
using std::chrono::seconds;
using testing::HasSubstr;

TEST_P(Pods, RunWhatTheImageSays) {
  config({});
  const auto status = finish();
  EXPECT_EQ(status.phase, TaskStatus::Phase::exited);
  EXPECT_TRUE(status.exit.success()) << err();
  EXPECT_EQ(out(), "by the image\n");
}

TEST_P(Pods, HaveTheirOwnRootNumbersNamesAndTheTasksDirectories) {
  script(
      R"(echo pid $$; id -u; echo $NAME $FROM; hostname; cat /srv/note; echo kept > /local/file; echo gone > /root-file;
            touch /alloc/shared; cat /proc/self/cgroup | head -1; grep -c . /etc/hosts > /dev/null && echo hosts; echo oops >&2; exit 7)");
  const auto status = finish();
  EXPECT_EQ(status.exit, os::ExitStatus{.code = 7}) << err();
  EXPECT_THAT(out(), HasSubstr("pid 1\n0\nvalue image\nweb-7f3a9c12\nfrom above\n"));
  EXPECT_THAT(out(), HasSubstr("hosts\n"));
  EXPECT_EQ(err(), "oops\n");
  EXPECT_EQ(os::read_file(spec_.task_dir + "/local/file"), "kept\n");
  EXPECT_TRUE(os::exists(spec_.alloc_dir + "/shared"));
}

TEST_P(Pods, KeepTheirRootReadOnlyWhenTold) {
  script("touch /x && echo wrote; touch /local/y && echo local; touch /t/z && echo tmpfs; touch /vol/a || echo volume",
         {{"readonly_rootfs", true}, {"tmpfs", {"/t"}}, {"volumes", {"local/v:/vol:ro"}}});
  finish();
  EXPECT_EQ(out(), "local\ntmpfs\nvolume\n") << err();
}

TEST_P(Pods, RunAsAUserOfTheImage) {
  spec_.user = "web";
  script("id -u; id -g; touch /secrets/mine && echo mine; touch /srv/x || echo not mine; echo again > /dev/stdout",
         {{"group_add", {"audio"}}});
  EXPECT_TRUE(finish().exit.success()) << err();
  EXPECT_THAT(out(), HasSubstr("33\n34\nmine\nnot mine\nagain\n"));
  spec_.user = "nobody-here";
  EXPECT_THAT(failure(), HasSubstr("nobody-here"));
}

TEST_P(Pods, HoldTheCapabilitiesOfPodmanAndFilterSystemCalls) {
  script(
      "grep CapBnd /proc/self/status; mount -t tmpfs x /tmp || echo no mount; mknod /dev/x c 1 5 || echo no mknod; "
      "grep Seccomp: /proc/self/status");
  finish();
  EXPECT_THAT(out(), HasSubstr("CapBnd:\t00000000800405fb")) << "as podman 4.3: " << out();
  EXPECT_THAT(out(), HasSubstr("no mount\nno mknod\nSeccomp:\t2"));
}

TEST_P(Pods, RefuseACallThatAProfileOfTheSiteForbids) {
  os::write_file(
      path_ + "/profile.json",
      R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]})");
  script("mkdir /tmp/a || echo refused; touch /tmp/b && echo allowed; sleep 600",
         {{"security_opt", {"seccomp=" + path_ + "/profile.json"}}});
  task_ = driver_->start(spec_);
  ASSERT_TRUE(says("refused\nallowed\n")) << out() << err();
  EXPECT_THAT(run({"/bin/mkdir", "/tmp/c"}), HasSubstr("not permitted")) << "a command beside it is held to the same";
  end();
}

TEST_P(Pods, HaveLimits) {
  spec_.memory_mb = 32;
  script("cat /proc/self/limits | grep 'open files'; dd if=/dev/zero of=/dev/null bs=200M count=1",
         {{"ulimit", {{"nofile", "64:128"}}}, {"pids_limit", 20}});
  const auto status = finish();
  EXPECT_TRUE(status.oom_killed) << os::to_string(status.exit) << out() << err();
  EXPECT_THAT(out(), HasSubstr("64                   128"));
}

TEST_P(Pods, HaveNoNetworkWhenTold) {
  script("cat /proc/net/dev | grep -c :", {{"network_mode", "none"}, {"sysctl", {{"net.ipv4.ip_forward", "1"}}}});
  EXPECT_TRUE(finish().exit.success()) << err();
  EXPECT_EQ(out(), "1\n");
}

TEST_P(Pods, RunCommandsBesideThem) {
  spec_.user = "web";
  script("echo up; sleep 600");
  task_ = driver_->start(spec_);
  ASSERT_TRUE(says("up")) << err();
  EXPECT_EQ(run({"/bin/sh", "-c", "id -u; hostname; echo $NAME; cat /srv/note"}),
            "33\nweb-7f3a9c12\nvalue\nfrom above\n");
  EXPECT_GT(task_->usage().pids, 0U);
  end();
}

TEST_P(Pods, GetTheImagesStopSignalAndThenSigkill) {
  script("trap 'echo asked; exit 3' USR1; echo up; while :; do sleep 0.1; done");
  task_ = driver_->start(spec_);
  ASSERT_TRUE(says("up")) << err();
  task_->stop(SIGINT, seconds{30});
  ASSERT_TRUE(task_->wait(seconds{30}));
  EXPECT_EQ(task_->status().exit, os::ExitStatus{.code = 3});
  EXPECT_THAT(out(), HasSubstr("asked"));
  task_->destroy();

  spec_.keeper_dir = path_ + "/keepers/web-2";
  script("echo deaf; while :; do sleep 0.1; done");
  task_ = driver_->start(spec_);
  ASSERT_TRUE(says("deaf"));
  task_->stop(SIGTERM, std::chrono::milliseconds{50});
  ASSERT_TRUE(task_->wait(seconds{30}));
  EXPECT_EQ(task_->status().exit.signal, SIGKILL);
  task_->destroy();
}

TEST_P(Pods, AreFoundAgainByTheNextAgent) {
  script("echo up; while ! [ -e /local/go ]; do sleep 0.05; done; exit 5");
  task_ = driver_->start(spec_);
  ASSERT_TRUE(says("up")) << err();
  const auto process = task_->status().process;
  task_.reset();
  driver_.reset();
  driver_ = make_pod(options_);
  task_ = driver_->recover(spec_);
  EXPECT_EQ(task_->status().phase, TaskStatus::Phase::running);
  EXPECT_EQ(task_->status().process, process);
  EXPECT_EQ(run({"/bin/sh", "-c", "echo $NAME"}), "value\n");
  os::write_file(spec_.task_dir + "/local/go", "");
  ASSERT_TRUE(task_->wait(seconds{30}));
  EXPECT_EQ(task_->status().exit.code, 5);
  task_->destroy();
}

TEST_P(Pods, DieWithAKeeperThatIsKilledAndLeaveNothing) {
  script("echo up; sleep 600 & sleep 600");
  task_ = driver_->start(spec_);
  ASSERT_TRUE(says("up")) << err();
  const auto process = task_->status().process;
  const auto state = os::read_file(spec_.keeper_dir + "/state");
  const auto at = state.find("\nkeeper ");
  ASSERT_NE(at, std::string::npos) << state;
  ::kill(std::atoi(state.c_str() + at + 8), SIGKILL);
  ASSERT_TRUE(task_->wait(seconds{30}));
  EXPECT_EQ(task_->status().phase, TaskStatus::Phase::lost);
  EXPECT_FALSE(os::is_running(process));
  task_->destroy();
}

TEST_P(Pods, SayWhatIsMissing) {
  config({{"command", "/no/such"}});
  EXPECT_THAT(failure(), HasSubstr("/no/such"));
  config({{"command", "sh"}, {"volumes", {"/no/such/place:/x"}}});
  EXPECT_THAT(failure(), HasSubstr("this host has no '/no/such/place'"));
  config({{"command", "sh"}, {"ports", {"http"}}});
  EXPECT_THAT(failure(), HasSubstr("the group's network has no port 'http'"));
  config({{"command", "sh"}, {"apparmor_profile", "x"}});
  if (!os::exists("/sys/module/apparmor")) EXPECT_THAT(failure(), HasSubstr("no AppArmor"));
}

INSTANTIATE_TEST_SUITE_P(By, Pods, testing::Values("crun", "runc"),
                         [](const auto& info) { return std::string(info.param); });

TEST(PodRuntime, IsToldOfInTheFingerprint) {
  Options options;
  options.store = std::make_shared<oci::Store>("/tmp/underway-pod-store", "/none");
  options.runtime = "/no/such/crun";
  const auto missing = make_pod(options)->fingerprint();
  EXPECT_FALSE(missing.detected);
  EXPECT_THAT(missing.description, HasSubstr("install the package crun, or runc"));
  options.runtime.clear();
  options.name = "docker";
  const auto found = make_pod(options)->fingerprint();
  if (found.healthy) EXPECT_EQ(found.attributes.at("driver.docker"), "1");
  os::remove_tree("/tmp/underway-pod-store");
}

}  // namespace
}  // namespace underway::pod
