#include "harness/examples.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "harness/command.hpp"

namespace underway::harness {
namespace {

TEST(CopyExamples, LeavesImagesAndKeysThatLieBesideThem) {
  const TemporaryDirectory directory;
  const std::string used = directory.path() + "/used", copied = directory.path() + "/copied";
  std::filesystem::create_directories(used + "/decoupled/images/files");
  for (const char* file : {"decoupled/cluster.hcl", "decoupled/images/chrony.hcl", "decoupled/images/build",
                           "decoupled/images/files/hold"})
    write_text(used + "/" + file, file);
  for (const char* file : {"chrony.capsule", "mail.capsule.new", "capsules.key", "capsules.pub"})
    write_text(used + "/decoupled/images/" + file, "of this machine");
  copy_examples(copied, used);
  EXPECT_EQ(shell("cd " + copied + " && find . -type f | sort").out,
            "./decoupled/cluster.hcl\n./decoupled/images/build\n./decoupled/images/chrony.hcl\n"
            "./decoupled/images/files/hold\n");
  EXPECT_EQ(read_text(copied + "/decoupled/images/build"), "decoupled/images/build");
}

}  // namespace
}  // namespace underway::harness
