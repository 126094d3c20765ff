#include "node/allocation/allocation_directory.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.hpp"
#include "os/process/user.hpp"

namespace underway::node {
namespace {

class AllocationDirectoryTest : public testing::Test {
 protected:
  AllocationDirectoryTest() {
    place_ = ::mkdtemp(name_);
    os::make_directories(victim(), 0700);
    build();
  }
  ~AllocationDirectoryTest() override { os::remove_tree(place_); }

  std::string victim() const { return place_ + "/victim"; }
  void build() const {
    directory().build();
    directory().build_task("web", os::current_user(), {});
  }
  AllocationDirectory directory() const { return {place_, "7f3a"}; }
  static mode_t mode_of(const std::string& path) {
    struct stat st{};
    EXPECT_EQ(::lstat(path.c_str(), &st), 0) << path;
    return st.st_mode;
  }
  /// As a task may do to what is its own.
  void put_link(const std::string& path) const {
    os::remove_tree(path);
    ASSERT_EQ(::symlink(victim().c_str(), path.c_str()), 0);
  }

  char name_[32] = "/tmp/underway-test-XXXXXX";
  std::string place_;
};

TEST_F(AllocationDirectoryTest, IsClosedToOthersAndTakesNothingFromItsTasks) {
  EXPECT_EQ(mode_of(directory().root()) & 07777, 0700u);
  EXPECT_EQ(mode_of(directory().shared()) & 07777, 01777u) << "nobody renames what is another's";
  EXPECT_EQ(mode_of(directory().task("web")) & 07777, ::geteuid() == 0 ? 01770u : 0700u);
  EXPECT_EQ(mode_of(directory().task("web") + "/private") & 07777, 0700u);
  EXPECT_EQ(mode_of(directory().task("web") + "/secrets") & 07777, 0700u);
}

TEST_F(AllocationDirectoryTest, ALinkOfATasksMakingIsRemovedAndNotFollowed) {
  const std::string own = directory().task("web");
  const std::vector<std::string> all = {directory().logs(),
                                        directory().shared() + "/data",
                                        directory().shared() + "/tmp",
                                        own + "/local",
                                        own + "/tmp",
                                        own + "/secrets",
                                        own + "/private"};
  for (const auto& path : all) put_link(path);
  build();
  for (const auto& path : all) EXPECT_TRUE(S_ISDIR(mode_of(path))) << path;
  EXPECT_EQ(mode_of(victim()) & 07777, 0700u) << "its mode was changed through a link";
  EXPECT_TRUE(os::list_directory(victim()).empty());
}

TEST_F(AllocationDirectoryTest, WhoComesByPathIsLetPassAndNobodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto daemon = os::get_user("daemon"), nobody = os::get_user("nobody");
  directory().build_task("web", daemon, {.by_path = true});
  directory().build_task("web", daemon, {.by_path = true});
  const auto reaches = [&](const os::User& user) {
    const std::string command = "setpriv --reuid " + user.name + " --clear-groups --regid " + std::to_string(user.gid) +
                                " ls " + directory().shared() + " >/dev/null 2>&1";
    return std::system(command.c_str()) == 0;
  };
  ASSERT_EQ(::chmod(place_.c_str(), 0711), 0);
  EXPECT_TRUE(reaches(daemon));
  EXPECT_FALSE(reaches(nobody));
  directory().build();
  EXPECT_TRUE(reaches(daemon)) << "the next start takes it away";
  directory().build_task("ctld", os::get_user("root"), {.by_path = true});
  EXPECT_TRUE(reaches(nobody)) << "a daemon of root's that has become nobody";
  EXPECT_TRUE(reaches(daemon));
}

}  // namespace
}  // namespace underway::node
