#include "slurm/installed.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "slurm/version.hpp"

namespace underway::slurm {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
namespace fs = std::filesystem;

/// The files of a machine that InstalledSlurmd looks at.
class Imitation {
 public:
  Imitation() : root_(fs::path(testing::TempDir()) / ("slurmd-" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_ / "usr/sbin");
    process("self", "test", "mnt:[1]");
  }
  ~Imitation() { fs::remove_all(root_); }

  void install(const std::string& path, const std::string& says) const {
    std::ofstream(root_ / path) << "#!/bin/sh\necho '" << says << "'\n";
    fs::permissions(root_ / path, fs::perms(0755));
  }
  void process(const std::string& pid, const std::string& name, const std::string& mounts,
               const std::string& program = {}) const {
    const fs::path directory = root_ / "proc" / pid;
    fs::create_directories(directory / "ns");
    std::ofstream(directory / "comm") << name << "\n";
    fs::create_symlink(mounts, directory / "ns/mnt");
    if (!program.empty()) fs::create_symlink(root_ / program, directory / "exe");
  }
  std::string root() const { return root_; }

 private:
  fs::path root_;
};

TEST(InstalledSlurmd, TellsItsVersionAndThatOfAnOtherOneThatRuns) {
  const Imitation machine;
  InstalledSlurmd slurmd(machine.root());
  EXPECT_THAT(slurmd.attributes(), IsEmpty());
  machine.install("usr/sbin/slurmd", "slurm-wlm 22.05.8");
  machine.process("17", "slurmd", "mnt:[1]", "usr/sbin/slurmd");
  EXPECT_THAT(slurmd.attributes(), UnorderedElementsAre(Pair("slurm.version", "22.05.8")));

  // The package is upgraded, and the old one goes on.
  fs::rename(machine.root() + "/usr/sbin/slurmd", machine.root() + "/usr/sbin/deleted");
  fs::remove_all(machine.root() + "/proc/17");
  machine.process("17", "slurmd", "mnt:[1]", "usr/sbin/deleted");
  machine.install("usr/sbin/slurmd", "slurm-wlm 23.02.7");
  EXPECT_THAT(slurmd.attributes(),
              UnorderedElementsAre(Pair("slurm.version", "23.02.7"), Pair("slurm.version.running", "22.05.8")));
}

TEST(InstalledSlurmd, KnowsOneThatWasExecutedAnewByTheNameOfItsFile) {
  const Imitation machine;
  machine.install("usr/sbin/slurmd", "slurm-wlm 25.05.1");
  machine.install("usr/sbin/slurmd-wlm", "slurm-wlm 24.11.5");
  machine.install("usr/sbin/slurmdbd", "slurm-wlm 23.11.1");
  machine.process("16", "slurmdbd", "mnt:[1]", "usr/sbin/slurmdbd");
  machine.process("17", "slurmd-wlm", "mnt:[1]", "usr/sbin/slurmd-wlm");
  EXPECT_THAT(InstalledSlurmd(machine.root()).attributes(),
              UnorderedElementsAre(Pair("slurm.version", "25.05.1"), Pair("slurm.version.running", "24.11.5")));
}

TEST(InstalledSlurmd, LeavesContainersOthersAndWhatSaysNothingOut) {
  const Imitation machine;
  machine.install("usr/sbin/slurmd", "what?");
  machine.install("usr/sbin/other", "slurm-wlm 23.02.7");
  machine.process("18", "slurmd", "mnt:[2]", "usr/sbin/other");
  machine.process("19", "slurmstepd", "mnt:[1]", "usr/sbin/other");
  EXPECT_THAT(InstalledSlurmd(machine.root()).attributes(), IsEmpty());
}

TEST(InstalledSlurmd, TellsEachReleaseThatLiesBesideOthers) {
  const Imitation machine;
  machine.install("usr/sbin/slurmd", "slurm-wlm 22.05.8");
  for (const auto* release : {"20.11", "bad"})
    fs::create_directories(machine.root() + "/opt/slurm/" + release + "/sbin");
  machine.install("opt/slurm/20.11/sbin/slurmd", "slurm-wlm 20.11.4");
  machine.install("opt/slurm/bad/sbin/slurmd", "this release does not start");
  model::Node node;
  node.attributes = InstalledSlurmd(machine.root()).attributes();
  EXPECT_THAT(
      node.attributes,
      UnorderedElementsAre(Pair("slurm.version", "22.05.8"),
                           Pair("slurm.versions", "/opt/slurm/20.11/sbin/slurmd 20.11.4, /usr/sbin/slurmd 22.05.8")));
  EXPECT_EQ(version_at(node, "/opt/slurm/20.11/sbin/slurmd"), (Version{20, 11, 4}));
  EXPECT_EQ(version_at(node, "/usr/sbin/slurmd"), (Version{22, 5, 8}));
  EXPECT_FALSE(version_at(node, "/opt/slurm/bad/sbin/slurmd"));
}

TEST(InstalledSlurmd, IsReadBackFromANode) {
  model::Node node;
  node.name = "c1";
  node.attributes = {{"slurm.version", "22.05.8"}};
  EXPECT_EQ(versions_of(node).installed.value_or(Version{}).text(), "22.05.8");
  EXPECT_FALSE(versions_of(node).running);
  EXPECT_EQ(version_at(node, "/usr/sbin/slurmd"), (Version{22, 5, 8}));
  EXPECT_FALSE(version_at(node, "/opt/slurm/22.05/sbin/slurmd"));
}

}  // namespace
}  // namespace underway::slurm
