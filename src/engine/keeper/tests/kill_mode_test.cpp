// What ends with a task of kill mode "process", and what lives on.
#include <fcntl.h>
#include <sys/stat.h>

#include "keeper_fixture.hpp"

namespace underway::keeper {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A process that lives on after its task and writes its number into `file`; its output is as `redirected`.
std::string leftover(const std::string& file, const std::string& command, const std::string& redirected) {
  return "setsid bash -c 'echo $$ > " + file + "; " + command + "' " + redirected + " & ";
}

class KillModeProcess : public Keeper {
 protected:
  LaunchSpec process_spec(const std::string& script) {
    use_cgroup();
    LaunchSpec what = spec(script);
    what.kill_mode = KillMode::process;
    return what;
  }
  static void end(const os::ProcessIdentity& process) {
    const auto pidfd = os::Pidfd::find(process);
    ASSERT_TRUE(pidfd);
    static_cast<void>(pidfd->signal(SIGKILL));
    EXPECT_TRUE(pidfd->wait_gone(seconds{5}));
  }
};

TEST_F(KillModeProcess, EndsTheTasksProcessAloneAndTellsAtOnce) {
  Client client = launch(process_spec(leftover(path_ + "/a", "exec sleep 1000", "> /dev/null 2>&1") +
                                      "sleep 1000 > /dev/null 2>&1 & echo $! > " + path_ +
                                      "/b; trap '' TERM; while :; do sleep 1000 > /dev/null 2>&1; done"));
  const auto a = written("a"), b = written("b");
  client.stop(SIGTERM, milliseconds{50});
  ASSERT_TRUE(client.wait(seconds{5})) << "it waits for what does not end";
  EXPECT_EQ(client.state().phase, Phase::exited);
  EXPECT_EQ(client.state().signal, SIGKILL);
  EXPECT_TRUE(os::is_running(a));
  EXPECT_TRUE(os::is_running(b)) << "of the task's own session";
  client.collect();
  EXPECT_TRUE(eventually([&] { return !os::is_running(keepers_[0]); })) << "nobody holds an end of its pipes";
  EXPECT_TRUE(os::is_running(a));
  EXPECT_TRUE(os::is_running(b));
}

TEST_F(KillModeProcess, WhatIsLeftCanWriteOnAndKeepsNothingButAReader) {
  ASSERT_EQ(::mkfifo((path_ + "/go").c_str(), 0600), 0);
  // More than a pipe holds, and more than once: without a reader it would die, with a sleeping one it would hang.
  const std::string talk =
      "read < " + path_ + "/go; head -c 1000000 /dev/zero && echo lives > " + path_ + "/b; " + "exec sleep 1000";
  Client client = launch(process_spec(leftover(path_ + "/a", talk, "") + "while [ ! -s " + path_ +
                                      "/a ]; do sleep 0.01; "
                                      "done; echo over"));
  const auto a = written("a");
  ASSERT_TRUE(client.wait(seconds{20}));
  EXPECT_EQ(client.state().code, 0);
  client.collect();
  EXPECT_TRUE(os::is_running(keepers_[0])) << "it is the reader";
  EXPECT_FALSE(os::exists(path_ + "/keeper"));
  EXPECT_EQ(log("stdout"), "over\n");

  // The next run has the same directories, and a log of its own writing.
  Client next = launch(process_spec("echo again"));
  ASSERT_TRUE(next.wait(seconds{20}));
  next.collect();
  const os::Fd go(::open((path_ + "/go").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::write(go.get(), "\n", 1), 1);
  EXPECT_TRUE(eventually([&] { return os::exists(path_ + "/b"); })) << "it does not get rid of its output";
  EXPECT_TRUE(os::is_running(a));
  EXPECT_EQ(log("stdout"), "over\nagain\n");
  end(a);
  EXPECT_TRUE(eventually([&] { return !os::is_running(keepers_[0]); }));
}

TEST_F(KillModeProcess, AFloodFromWhatIsLeftDoesNotHoldTheResultUp) {
  auto what = process_spec(leftover(path_ + "/a", "exec yes", "") + "while [ ! -s " + path_ +
                           "/a ]; do sleep 0.01; done; exit 7");
  what.logs.max_files = 2;
  what.logs.max_bytes = 100'000;
  Client client = launch(what);
  const auto a = written("a");
  ASSERT_TRUE(client.wait(seconds{20}));
  EXPECT_EQ(client.state().code, 7);
  EXPECT_TRUE(os::is_running(a));
  client.collect();
  end(a);
}

TEST_F(KillModeProcess, AKilledKeeperTakesTheTasksProcessAlone) {
  Client client = launch(process_spec(leftover(path_ + "/a", "exec sleep 1000", "> /dev/null 2>&1") +
                                      "sleep 1000 > /dev/null 2>&1 & echo $! > " + path_ + "/b; wait"));
  const auto a = written("a"), b = written("b");
  const auto task = client.task();
  ASSERT_EQ(::kill(client.keeper().pid, SIGKILL), 0);
  ASSERT_TRUE(client.wait(seconds{20}));
  EXPECT_EQ(client.state().phase, Phase::lost);
  EXPECT_FALSE(os::is_running(task));
  EXPECT_EQ(attach().state().phase, Phase::lost);
  EXPECT_TRUE(os::is_running(a));
  EXPECT_TRUE(os::is_running(b));
  client.collect();
}

TEST_F(KillModeProcess, IsKnownToAnAgentThatComesLater) {
  {
    const Client client = launch(
        process_spec(leftover(path_ + "/a", "exec sleep 1000", "> /dev/null 2>&1") + "while :; do sleep 0.01; done"));
  }
  const auto a = written("a");
  Client client = attach();
  EXPECT_EQ(client.state().kill_mode, KillMode::process);
  client.stop(SIGTERM, seconds{5});
  ASSERT_TRUE(client.wait(seconds{20}));
  client.collect();
  EXPECT_TRUE(os::is_running(a));
}

}  // namespace
}  // namespace underway::keeper
