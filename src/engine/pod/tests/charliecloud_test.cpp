// User environments by the real ch-run.
#include "pod/charliecloud.hpp"

#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "oci/tests/maker.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::pod {
namespace {

using driver::TaskStatus;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Charliecloud : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/usr/bin/ch-run", X_OK) != 0) GTEST_SKIP() << "needs charliecloud-runtime";
    const auto busybox = os::find_file("/bin/busybox");
    if (!busybox) GTEST_SKIP() << "needs busybox-static";
    char name[] = "/var/lib/underway-ch-XXXXXX";
    path_ = ::mkdtemp(name);  // 0700: as an agent's directory may be
    make_directory_image(*busybox);
    make_layout(*busybox);
    ledger_.emplace(path_ + "/ledger");
    options_.driver.keeper_program = UNDERWAY_BINARY_DIR "/bin/underway-keeper";
    options_.driver.ledger = &*ledger_;
    options_.store = std::make_shared<oci::Store>(path_ + "/store", UNDERWAY_BINARY_DIR "/bin/underway-pull");
    parent_ = fmt::format("underway-test-{}", ::getpid());
    spec_.alloc_id = "7f3a9c12-0000-4000-8000-000000000000";
    spec_.task = "solver";
    spec_.node = "c1";
    spec_.task_dir = path_ + "/alloc/solver";
    spec_.alloc_dir = path_ + "/alloc/alloc";
    spec_.keeper_dir = path_ + "/keepers/solver-1";
    spec_.cgroup = parent_ + "/7f3a9c12/solver";
    spec_.run_cgroup = parent_ + "/7f3a9c12.runs/solver/1";
    spec_.env = {{"NAME", "value"}};
    os::make_directories(path_ + "/keepers");
    driver_ = make_charliecloud(options_);
  }
  void TearDown() override {
    if (path_.empty()) return;
    task_.reset();
    EXPECT_TRUE(ledger_->unsettled().empty());
    EXPECT_FALSE(os::exists(spec_.keeper_dir)) << "a keeper is left";
    EXPECT_FALSE(os::exists(spec_.keeper_dir + ".pod")) << "a directory is left";
    EXPECT_TRUE(options_.store->leases().empty());
    for (const auto& mount : os::list_mounts()) EXPECT_THAT(mount.target, Not(HasSubstr("underway-task")));
    if (auto left = os::Cgroup::find(options_.driver.cgroups, parent_)) {
      EXPECT_TRUE(left->processes().empty());
      left->remove();
    }
    os::remove_tree(path_);
    os::remove_tree(image_);
  }

  static std::vector<std::string> directories() {
    return {"bin", "dev", "etc", "proc", "sys", "tmp", "home", "usr", "var", "mnt"};
  }
  void make_directory_image(const std::string& busybox) {
    char name[] = "/var/tmp/underway-ch-image-XXXXXX";
    image_ = ::mkdtemp(name);
    ::chmod(image_.c_str(), 0755);
    for (const auto& each : directories()) os::make_directories(image_ + "/" + each, 0755);
    for (const auto* file : {"passwd", "group", "hosts", "resolv.conf"})
      os::write_file(image_ + "/etc/" + file, "", 0644);
    os::write_file(image_ + "/bin/busybox", busybox, 0755);
    os::write_file(image_ + "/etc/release", "of the directory\n", 0644);
    ASSERT_EQ(::symlink("busybox", (image_ + "/bin/sh").c_str()), 0);
  }
  void make_layout(const std::string& busybox) {
    std::vector<oci::Entry> files;
    for (const auto& each : directories()) files.push_back({each + "/", AE_IFDIR, "", 0755});
    for (const auto* file : {"passwd", "group", "hosts", "resolv.conf"})
      files.push_back({std::string("etc/") + file, AE_IFREG, ""});
    files.push_back({"bin/busybox", AE_IFREG, busybox, 0755});
    files.push_back({.path = "bin/sh", .type = AE_IFLNK, .text = "busybox", .mode = 0777});
    const auto second = oci::tar_of({{"etc/release", AE_IFREG, "of the layers\n"}});
    oci::write_layout(
        path_ + "/layout",
        oci::make_image({oci::tar_of(files), second},
                        R"({"Cmd":["/bin/sh","-c","busybox cat /etc/release; echo $FROM"],"Env":["FROM=image"]})"));
  }

  void script(const std::string& text, boost::json::object keys = {}) {
    if (!keys.contains("image")) keys["image"] = image_;
    keys["command"] = "/bin/sh";
    keys["args"] = {"-c", text};
    spec_.config = std::move(keys);
  }
  TaskStatus finish() {
    task_ = driver_->start(spec_);
    EXPECT_TRUE(task_->wait(seconds{60}));
    const auto status = task_->status();
    task_->destroy();
    task_.reset();
    return status;
  }
  std::string failure() {
    try {
      task_ = driver_->start(spec_);
    } catch (const Error& e) {
      return e.text();
    }
    end();
    return "it started";
  }
  void end() {
    task_->stop(SIGKILL, {});
    ASSERT_TRUE(task_->wait(seconds{20}));
    task_->destroy();
  }
  std::string file(const std::string& stream) const {
    return os::find_file(fmt::format("{}/logs/solver.{}.0", spec_.alloc_dir, stream)).value_or("");
  }
  std::string out() const { return file("stdout"); }
  std::string err() const { return file("stderr"); }
  bool says(const std::string& text) const {
    for (int i = 0; i < 4000 && out().find(text) == std::string::npos; ++i) ::usleep(5000);
    return out().find(text) != std::string::npos;
  }

  std::string path_, image_, parent_;
  CharliecloudOptions options_;
  std::optional<os::Ledger> ledger_;
  driver::TaskSpec spec_;
  std::unique_ptr<driver::Driver> driver_;
  std::unique_ptr<driver::TaskHandle> task_;
};

TEST_F(Charliecloud, RunsADirectoryAsTheTasksUserWithoutAnyPrivilege) {
  script(
      "busybox id -u; busybox cat /etc/release; echo $NAME $USER; busybox grep CapEff /proc/self/status; "
      "echo kept > /local/file && echo mine > /alloc/shared; busybox touch /etc/x 2>/dev/null || echo read-only; exit "
      "7");
  ::mkdir(spec_.alloc_dir.c_str(), 0755);
  os::make_directories(spec_.alloc_dir, 0777);
  ::chmod(spec_.alloc_dir.c_str(), 0777);
  const auto status = finish();
  EXPECT_EQ(status.exit, os::ExitStatus{.code = 7}) << err();
  EXPECT_THAT(out(), HasSubstr("65534\nof the directory\nvalue nobody\nCapEff:\t0000000000000000\nread-only\n"))
      << err();
  EXPECT_EQ(os::read_file(spec_.task_dir + "/local/file"), "kept\n");
  EXPECT_EQ(os::read_file(spec_.alloc_dir + "/shared"), "mine\n");
  EXPECT_FALSE(os::exists(image_ + "/alloc")) << "the image itself was changed";
}

TEST_F(Charliecloud, RunsWhatAnImageOfLayersSays) {
  spec_.config = boost::json::object{{"image", "oci:" + path_ + "/layout:v1"}};
  EXPECT_TRUE(finish().exit.success()) << err();
  EXPECT_EQ(out(), "of the layers\nimage\n");
}

TEST_F(Charliecloud, GivesVolumesAndPathsOfTheNode) {
  os::make_directories(path_ + "/data", 0755);
  os::write_file(path_ + "/data/f", "lent\n", 0644);
  spec_.mounts = {{.source = path_ + "/data", .destination = "/data", .read_only = true}};
  script("busybox cat /data/f; echo x > /data/g || echo read-only; busybox cat /mnt/release",
         {{"bind", {image_ + "/etc:/mnt"}}});
  EXPECT_TRUE(finish().exit.success()) << err();
  EXPECT_EQ(out(), "lent\nread-only\nof the directory\n") << err();
}

TEST_F(Charliecloud, RunsCommandsBesideATaskAndStopsIt) {
  script("trap 'echo asked; exit 0' INT; echo up; while :; do busybox sleep 0.1; done");
  task_ = driver_->start(spec_);
  ASSERT_TRUE(says("up")) << err();
  auto session = task_->exec({.argv = {"/bin/busybox", "sh", "-c", "id -u; cat /etc/release; ls -d /local"}});
  EXPECT_EQ(os::read_all(session.out, 1 << 16, "output"), "65534\nof the directory\n/local\n")
      << os::read_all(session.err, 1 << 16, "output");
  session.child.wait();
  task_->stop(SIGINT, seconds{20});
  ASSERT_TRUE(task_->wait(seconds{30}));
  EXPECT_TRUE(task_->status().exit.success());
  EXPECT_THAT(out(), HasSubstr("asked"));
  task_->destroy();
}

TEST_F(Charliecloud, IsFoundAgainByTheNextAgent) {
  script("echo up; exec busybox sleep 600");
  task_ = driver_->start(spec_);
  ASSERT_TRUE(says("up")) << err();
  const auto process = task_->status().process;
  task_ = nullptr;
  task_ = driver_->recover(spec_);
  EXPECT_EQ(task_->status().phase, TaskStatus::Phase::running);
  EXPECT_EQ(task_->status().process.pid, process.pid);
  end();
}

TEST_F(Charliecloud, HoldsTheTaskToItsMemory) {
  spec_.memory_mb = 32;
  script("busybox dd if=/dev/zero of=/dev/null bs=200M count=1");
  EXPECT_TRUE(finish().oom_killed) << out() << err();
}

TEST_F(Charliecloud, SaysWhatIsWrong) {
  EXPECT_THAT(
      driver_->validate(boost::json::object{{"image", "/sw/app"}, {"bind", {"/a:b"}}, {"uid", -1}}),
      ElementsAre("config.command: is required: a directory names no program",
                  "config.bind: '/a:b' must be /path or /path:/path", "config.uid: must be from 0 to 4294967294"));
  script("true", {{"image", "/nowhere"}});
  EXPECT_THAT(failure(), HasSubstr("cannot use image '/nowhere'"));
  script("true", {{"image", "/etc/hostname"}});
  EXPECT_THAT(failure(), HasSubstr("ch-convert"));
  spec_.user = "nobody-here";
  EXPECT_THAT(failure(), HasSubstr("nobody-here"));
}

TEST_F(Charliecloud, TellsTheNodeWhatItHas) {
  const auto found = driver_->fingerprint();
  EXPECT_TRUE(found.healthy) << found.description;
  EXPECT_FALSE(found.attributes.at("driver.charliecloud.version").empty());
  options_.program = "/nowhere/ch-run";
  EXPECT_THAT(make_charliecloud(options_)->fingerprint().description, HasSubstr("charliecloud-runtime"));
}

}  // namespace
}  // namespace underway::pod
