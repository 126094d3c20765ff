// User environments by the real ch-run.
#include "pod/charliecloud.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include "oci/tests/maker.hpp"
#include "pod/tests/pod_fixture.hpp"

namespace underway::pod {
namespace {

using driver::TaskStatus;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class Charliecloud : public testing::Test, protected PodFixture {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/usr/bin/ch-run", X_OK) != 0) GTEST_SKIP() << "needs charliecloud-runtime";
    const auto busybox = os::find_file("/bin/busybox");
    if (!busybox) GTEST_SKIP() << "needs busybox-static";
    make_place("solver", options_);
    make_directory_image(*busybox);
    make_layout(*busybox);
    driver_ = make_charliecloud(options_);
  }
  void TearDown() override {
    remove_place();
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

  std::string image_;
  CharliecloudOptions options_;
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
  EXPECT_EQ(run({"/bin/busybox", "sh", "-c", "id -u; cat /etc/release; ls -d /local"}),
            "65534\nof the directory\n/local\n");
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
