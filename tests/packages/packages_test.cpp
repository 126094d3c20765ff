// The packages of a checkout that is used. What its owner built and made there, and above all the key that signs his
// capsules, is no part of them.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "harness/command.hpp"
#include "harness/places.hpp"
#include "packages/repository.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::ElementsAreArray;

/// Lies over a directory of the checkout, in this test's own mounts: what is written there, nobody else sees.
void write_over(const std::string& directory, const std::string& scratch) {
  const auto mounted =
      shell("mkdir -p " + scratch + "/upper " + scratch + "/work && mount -t overlay overlay -o lowerdir=" + directory +
            ",upperdir=" + scratch + "/upper,workdir=" + scratch + "/work " + directory);
  ASSERT_EQ(mounted.exit_code, 0) << mounted.err;
}

class Packages : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "leftovers are laid over the checkout with a mount: needs root";
    if (!find_repository_files()) GTEST_SKIP() << "this is no git checkout";
    // overlayfs takes no directory of another overlay that is as deep as /tmp may be in a container: memory is none.
    ASSERT_EQ(shell("mount -t tmpfs tmpfs " + scratch_.path()).exit_code, 0);
    for (const char* directory : {"docs", "examples"})
      write_over(source_dir() + "/" + std::string(directory), scratch_.path() + "/" + directory);
    for (const char* file :
         {"/examples/decoupled/images/capsules.key", "/examples/decoupled/images/capsules.pub",
          "/examples/decoupled/images/chrony.capsule", "/examples/decoupled/images/chrony.capsule.new",
          "/examples/slurm/site.key", "/examples/slurm/underway.vars.hcl", "/docs/how-to/.tutorial.md.swp"})
      write_text(source_dir() + std::string(file), "of this machine");
  }
  void TearDown() override {
    shell("umount -l " + source_dir() + "/docs " + source_dir() + "/examples " + scratch_.path());
  }

  /// "100644 examples/…" for each file of the package below `directory`, by path.
  static std::vector<std::string> packed(const std::string& package, const std::string& directory,
                                         const std::string& was) {
    const auto said = shell("dpkg-deb --fsys-tarfile " + package + " | tar --list --verbose");
    EXPECT_EQ(said.exit_code, 0) << said.err;
    std::vector<std::string> files;
    std::istringstream lines(said.out);
    for (std::string line; std::getline(lines, line);) {
      const auto at = line.find(" ./" + directory);
      if (at == std::string::npos || line.front() != '-') continue;
      files.push_back((line[3] == 'x' ? "100755 " : "100644 ") + was + line.substr(at + 3 + directory.size()));
    }
    std::ranges::sort(files, {}, [](const std::string& file) { return file.substr(7); });
    return files;
  }
  static std::vector<std::string> of_repository(const std::string& directory) {
    std::vector<std::string> files;
    const auto all = find_repository_files();
    for (const auto& file : *all) {
      if (file.substr(7).starts_with(directory + "/")) files.push_back(file);
    }
    return files;
  }

  TemporaryDirectory scratch_;
};

TEST_F(Packages, OfAUsedCheckoutHaveTheRepositorysFilesAndNoOthers) {
  const std::string out = scratch_.path() + "/packages";
  const auto made = shell(
      "cd " + binary_dir() +
          " && cpack -G DEB -D CPACK_COMPONENTS_ALL='cli;node;control' -D "
          "CPACK_STRIP_FILES=OFF -D CPACK_DEBIAN_COMPRESSION_TYPE=none -D CPACK_DEBIAN_PACKAGE_SHLIBDEPS=OFF -B " +
          out,
      seconds(120));
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  const std::string control = out + "/underway-control*.deb", cli = out + "/underway-cli*.deb";
  EXPECT_THAT(packed(control, "usr/share/doc/underway-control/examples", "examples"),
              ElementsAreArray(of_repository("examples")));
  EXPECT_THAT(packed(cli, "usr/share/doc/underway-cli/docs", "docs"), ElementsAreArray(of_repository("docs")));
  for (const std::string package : {"underway-cli", "underway-node", "underway-control"}) {
    const std::string copyright = "usr/share/doc/" + package + "/copyright";
    EXPECT_THAT(packed(out + "/" + package + "*.deb", copyright, copyright), ElementsAre("100644 " + copyright));
  }
}

}  // namespace
}  // namespace underway::harness
