// What runs in namespaces and on a root of its own is a target too: the paper's sealed services were.
#include <sched.h>
#include <sys/mount.h>

#include "base/error.hpp"
#include "files/targets/round.hpp"
#include "os/file.hpp"
#include "tests/target_tree_test.hpp"

namespace underway::files {
namespace {

using ::testing::HasSubstr;

class CapsuleTest : public TargetTreeTest {
 protected:
  void SetUp() override {
    TargetTreeTest::SetUp();
    if (IsSkipped()) return;
    os::write_file(base_ + "/bound", "bound\n");
    const std::string layer = base_ + "/layer", merged = base_ + "/merged";
    std::filesystem::create_directories(layer);
    std::filesystem::create_directories(merged);
    os::SpawnSpec spec;
    spec.argv = {"/bin/sleep", "1000"};
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.unshare = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET;
    spec.setup.make_mounts_private()
        .mount("tmpfs", layer, "tmpfs")
        .make_directory(layer + "/upper", 0755)
        .make_directory(layer + "/work", 0755)
        .mount("overlay", merged, "overlay", 0, fmt::format("lowerdir=/,upperdir={0}/upper,workdir={0}/work", layer))
        .touch(merged + "/etc/single", 0644)
        .bind(base_ + "/bound", merged + "/etc/single")
        .mount("proc", merged + "/proc", "proc")
        .pivot_root(merged)
        .set_hostname("slurm-services");
    capsule_.emplace(os::spawn(spec));
    target_.emplace("slurm-services", *os::process_identity(capsule_->pid()));
  }
  std::string inside(const std::string& path) const {
    return os::find_file(fmt::format("/proc/{}/root{}", capsule_->pid(), path)).value_or("not there");
  }
  void follow(std::vector<ManifestEntry> entries, const std::map<std::string, std::string>& contents) {
    Manifest manifest;
    manifest.node_id = "n1";
    manifest.capsule = "slurm-services";
    manifest.entries = std::move(entries);
    Rounds rounds(base_ + "/state");
    const auto round = make_round("r", manifest, rounds.plan(*target_, manifest), rounds.state());
    if (round.empty()) return;
    rounds.begin(round, contents);
    rounds.finish(round, *target_, rounds.carry_out(round, *target_, TimePoint{}), TimePoint{});
    said_.clear();
    for (const auto& problem : rounds.state().problems) said_ += problem.path + ": " + problem.reason + "\n";
  }

  std::optional<os::Child> capsule_;
  std::optional<ProcessTarget> target_;
  std::string said_;
};

TEST_F(CapsuleTest, GetsFilesBeneathItsOwnRootAndRunsItsOwnCommands) {
  auto passwd = entry("/etc/underway-test/passwd", "root:x:0:0:::\n");
  passwd.after = model::FileHook{
      {"/bin/sh", "-c", "cat /proc/sys/kernel/hostname >> /etc/underway-hooked; echo $$ >> /etc/underway-hooked"},
      std::chrono::seconds(20)};
  follow({passwd}, {{passwd.digest, "root:x:0:0:::\n"}});
  EXPECT_EQ(said_, "");
  EXPECT_EQ(inside("/etc/underway-test/passwd"), "root:x:0:0:::\n");
  EXPECT_THAT(inside("/etc/underway-hooked"), HasSubstr("slurm-services\n")) << "the command ran inside";
  EXPECT_FALSE(os::exists("/etc/underway-test")) << "and nothing of it is outside";
  EXPECT_FALSE(os::exists("/etc/underway-hooked"));
  follow({passwd}, {{passwd.digest, "root:x:0:0:::\n"}});
  const std::string hooked = inside("/etc/underway-hooked");
  EXPECT_EQ(std::count(hooked.begin(), hooked.end(), '\n'), 2) << "once";
}

TEST_F(CapsuleTest, AFileBoundIntoItAloneIsRefusedAlthoughWeCouldReplaceIt) {
  const auto single = entry("/etc/single", "new\n");
  follow({single}, {{single.digest, "new\n"}});
  EXPECT_THAT(said_, HasSubstr("/etc/single: '/etc/single' is not written: it is a mount point itself"));
  EXPECT_EQ(inside("/etc/single"), "bound\n") << "from our own mount namespace the rename would have taken it away";
}

TEST_F(CapsuleTest, ThatDoesNotRunIsNoTarget) {
  capsule_->kill();
  try {
    target_->root();
    FAIL() << "there is no root";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unavailable);
    EXPECT_THAT(error.one_line(), HasSubstr("capsule 'slurm-services' does not run here"));
  }
}

}  // namespace
}  // namespace underway::files
