// What cannot be taken back is asked about, with a terminal and without, and can be had back for a while all the same.
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

class StateThatIsPurged : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(state_ + "/server");
    write_text(state_ + "/server/state.db", "accounting");
  }
  Finished underway(std::vector<std::string> words) const {
    words.insert(words.begin(), binary_dir() + "/bin/underway");
    return run({.argv = std::move(words), .env = {{"UNDERWAY_STATE", state_}}});
  }
  /// At a terminal, where somebody types.
  Finished at_terminal(const std::string& line, const std::string& typed) const {
    return run({.argv = {"script", "-qec", binary_dir() + "/bin/underway " + line, "/dev/null"},
                .env = {{"UNDERWAY_STATE", state_}},
                .input = typed + "\n"});
  }
  bool is_there() const { return std::filesystem::exists(state_ + "/server/state.db"); }
  /// The name of the only entry of the trash.
  std::string discarded() const {
    const std::string listed = underway({"trash", "list"}).out;
    const auto at = listed.find('\n') + 1;
    return listed.substr(at, listed.find(' ', at) - at);
  }

  TemporaryDirectory directory_;
  std::string state_ = directory_.path() + "/state";
};

TEST_F(StateThatIsPurged, IsAskedAboutAtATerminalAndRefusedWithoutOne) {
  const auto refused = underway({"down", "-all", "-purge"});
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("the server's state"), std::string::npos) << refused.err;
  EXPECT_TRUE(is_there());
  const auto other = at_terminal("down -all -purge", "yes");
  EXPECT_EQ(other.exit_code, 1) << other.out;
  EXPECT_NE(other.out.find("Type purge to go on:"), std::string::npos) << other.out;
  EXPECT_TRUE(is_there());
  const auto agreed = at_terminal("down -all -purge", "purge");
  EXPECT_EQ(agreed.exit_code, 0) << agreed.out;
  EXPECT_FALSE(is_there());
}

TEST_F(StateThatIsPurged, ComesBackFromTheTrash) {
  ASSERT_EQ(underway({"down", "-all", "-purge", "-yes"}).exit_code, 0);
  EXPECT_FALSE(is_there());
  if (!std::filesystem::exists(state_)) GTEST_SKIP() << "less than a tenth of this disk is free: there is no trash";
  const auto name = discarded();
  ASSERT_NE(name.find("-state"), std::string::npos) << name;
  const auto back = underway({"trash", "restore", name});
  EXPECT_EQ(back.exit_code, 0) << back.err;
  EXPECT_EQ(read_text(state_ + "/server/state.db"), "accounting");
  EXPECT_EQ(underway({"trash", "list"}).out, "");

  // Another one began in its place: neither is written over.
  ASSERT_EQ(underway({"down", "-all", "-purge", "-yes"}).exit_code, 0);
  std::filesystem::create_directories(state_ + "/server");
  EXPECT_EQ(underway({"trash", "restore", discarded()}).exit_code, 1);
  EXPECT_FALSE(is_there());
  EXPECT_EQ(underway({"trash", "empty"}).exit_code, 2);
  EXPECT_EQ(underway({"trash", "empty", "-yes"}).exit_code, 0);
  EXPECT_EQ(underway({"trash", "list"}).out, "");
}

TEST_F(StateThatIsPurged, MayBeAFileSystemOfItsOwn) {
  const auto mounted = shell("mount --bind " + state_ + " " + state_);
  if (mounted.exit_code != 0) GTEST_SKIP() << "needs root: " << mounted.err;
  const auto purged = underway({"down", "-all", "-purge", "-no-trash", "-yes"});
  EXPECT_EQ(purged.exit_code, 0) << purged.err;
  EXPECT_TRUE(std::filesystem::is_empty(state_));
  EXPECT_EQ(shell("umount " + state_).exit_code, 0);
}

TEST_F(StateThatIsPurged, LeavesNothingWithoutATrash) {
  EXPECT_EQ(underway({"down", "-all", "-purge", "-no-trash", "-yes"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(state_));
}

}  // namespace
}  // namespace underway::harness
