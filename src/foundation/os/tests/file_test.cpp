#include "os/file.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "temporary.hpp"

namespace underway::os {
namespace {

TEST(File, ReplacesAFileWholeAndLeavesNoTemporaryBehind) {
  const Temporary dir;
  write_file(dir / "a", "one", 0640);
  write_file(dir / "a", "two", 0600, Owner{::geteuid(), ::getegid()});
  EXPECT_EQ(read_file(dir / "a"), "two");
  struct stat st{};
  ASSERT_EQ(::stat((dir / "a").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600U);
  EXPECT_EQ(list_directory(dir.path()).size(), 1U);
}

TEST(File, RefusesToReadMoreThanTheLimitAndNamesWhatIsMissing) {
  const Temporary dir;
  write_file(dir / "big", std::string(1000, 'x'));
  EXPECT_THROW(read_file(dir / "big", 999), Error);
  EXPECT_EQ(read_file(dir / "big", 1000).size(), 1000U);
  EXPECT_EQ(find_file(dir / "none"), std::nullopt);
  try {
    read_file(dir / "none");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::not_found);
    EXPECT_THAT(e.one_line(), testing::HasSubstr(dir / "none"));
  }
}

TEST(File, OfAProcessThatHasEndedIsNotThere) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(find_file("/proc/" + std::to_string(child) + "/environ"), std::nullopt);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(File, GivesTheModeOnlyToDirectoriesItMakes) {
  const Temporary dir;
  make_directories(dir / "a/b/c", 0711);
  make_directories(dir / "a/b/c", 0700);
  struct stat st{};
  ASSERT_EQ(::stat((dir / "a/b/c").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0711U);
  write_file(dir / "file", "");
  EXPECT_THROW(make_directories(dir / "file/x"), Error);
}

TEST(File, RemovesATreeWithoutFollowingLinksOutOfIt) {
  const Temporary dir;
  make_directories(dir / "keep");
  write_file(dir / "keep/precious", "x");
  make_directories(dir / "gone/deep/er");
  write_file(dir / "gone/deep/file", "y");
  ASSERT_EQ(::symlink((dir / "keep").c_str(), (dir / "gone/deep/link").c_str()), 0);
  remove_tree(dir / "gone");
  EXPECT_FALSE(exists(dir / "gone"));
  EXPECT_TRUE(exists(dir / "keep/precious"));
  ASSERT_EQ(::symlink((dir / "keep").c_str(), (dir / "toplink").c_str()), 0);
  remove_tree(dir / "toplink");
  EXPECT_TRUE(exists(dir / "keep/precious"));
  EXPECT_NO_THROW(remove_tree(dir / "gone"));
}

TEST(FileLock, SaysWhoHoldsItAndIsFreeAfterwards) {
  const Temporary dir;
  {
    const auto lock = FileLock::acquire(dir / "lock", "underway up examples/slurm");
    EXPECT_EQ(FileLock::try_acquire(dir / "lock", "me"), std::nullopt);
    try {
      FileLock::acquire(dir / "lock", "me");
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::conflict);
      EXPECT_THAT(e.one_line(),
                  testing::HasSubstr(fmt::format("held by pid {} (underway up examples/slurm)", ::getpid())));
    }
  }
  EXPECT_EQ(FileLock::holder_of(dir / "lock"), "");
  EXPECT_TRUE(FileLock::try_acquire(dir / "lock", "me"));
}

TEST(FileLock, IsReleasedAlthoughAChildHasACopy) {
  const Temporary dir;
  auto lock = std::make_optional(FileLock::acquire(dir / "lock", "parent"));
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  lock.reset();
  EXPECT_TRUE(FileLock::try_acquire(dir / "lock", "the next"));
  ::kill(pid, SIGKILL);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
}

TEST(FileLock, IsReleasedWhenItsHolderDies) {
  const Temporary dir;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto lock = FileLock::acquire(dir / "lock", "child");
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_NO_THROW(FileLock::acquire(dir / "lock", "parent"));
}

}  // namespace
}  // namespace underway::os
