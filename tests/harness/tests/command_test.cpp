#include "harness/command.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace underway::harness {
namespace {

TEST(Command, IsReadWhileItIsFed) {
  // More than pipes hold, both ways.
  const std::string much(4 << 20, 'x');
  const auto done = run({.argv = {"cat"}, .input = much});
  EXPECT_FALSE(done.timed_out);
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_EQ(done.out, much);
}

TEST(Command, MayLeaveItsInputUnread) {
  const auto done =
      run({.argv = {"/bin/sh", "-c", "exec <&-; echo out; echo err >&2; exit 3"}, .input = std::string(4 << 20, 'x')});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_EQ(done.out, "out\n");
  EXPECT_EQ(done.err, "err\n");
}

TEST(Command, DiesOfAClosedPipeAsElsewhere) {
  const auto done = run({.argv = {"/bin/bash", "-c", "yes | head -n 1; echo ${PIPESTATUS[0]}"}});
  EXPECT_EQ(done.out, "y\n141\n") << "128 and SIGPIPE";
}

TEST(Background, KeepsWhatItTold) {
  Background both({.argv = {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}});
  EXPECT_EQ(both.wait(std::chrono::seconds(10)), 3);
  EXPECT_EQ(both.told(), "out\nerr\n");
}

TEST(Background, ThatEndsWithUsIsNotLeftByATestThatIsKilled) {
  const TemporaryDirectory directory;
  const std::string said = directory.path() + "/pid";
  const pid_t test = ::fork();
  if (test == 0) {
    const Background machine(
        {.argv = {"/bin/sh", "-c", "echo $$ > " + said + ".new; mv " + said + ".new " + said + "; exec sleep 600"},
         .ends_with_us = true});
    for (;;) ::pause();
  }
  ASSERT_TRUE(eventually(std::chrono::seconds(10), [&] { return !read_text(said).empty(); }));
  const auto line = "/proc/" + std::to_string(std::stoi(read_text(said))) + "/cmdline";
  EXPECT_FALSE(read_text(line).empty());
  ::kill(test, SIGKILL);
  ::waitpid(test, nullptr, 0);
  EXPECT_TRUE(eventually(std::chrono::seconds(10), [&] { return read_text(line).empty(); }));
}

TEST(WriteText, ReplacesALinkAndLeavesWhatItNames) {
  const TemporaryDirectory directory;
  const std::string machines = directory.path() + "/underway", hosts = directory.path() + "/link";
  write_text(machines, "the program that was built");
  std::filesystem::create_symlink(machines, hosts);
  write_text(hosts, "of the host");
  EXPECT_EQ(read_text(machines), "the program that was built");
  EXPECT_EQ(read_text(hosts), "of the host");
}

}  // namespace
}  // namespace underway::harness
