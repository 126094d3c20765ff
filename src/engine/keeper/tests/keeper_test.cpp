#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <random>

#include "base/error.hpp"
#include "harness/places.hpp"
#include "keeper_fixture.hpp"
#include "os/mount.hpp"

namespace underway::keeper {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(Keeper, CapturesBothStreamsAndTellsTheExitCode) {
  Client client = launch(spec("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(client.wait(seconds{20}));
  EXPECT_EQ(client.state().phase, Phase::exited);
  EXPECT_EQ(client.state().code, 3);
  EXPECT_GE(client.state().finished, client.state().started);
  EXPECT_EQ(log("stdout"), "out\n");
  EXPECT_EQ(log("stderr"), "err\n");
  client.collect();
  EXPECT_FALSE(os::exists(path_ + "/keeper"));
}

TEST_F(Keeper, HasBothLogsOfATaskThatIsSilent) {
  Client client = launch(spec("exec sleep 86391"));
  EXPECT_EQ(client.state().phase, Phase::running);
  EXPECT_EQ(os::read_file(path_ + "/logs/web.stdout.0"), "");
  EXPECT_EQ(os::read_file(path_ + "/logs/web.stderr.0"), "");
  client.stop(SIGKILL, seconds{0});
  ASSERT_TRUE(client.wait(seconds{20}));
  client.collect();
}

TEST_F(Keeper, DiscardsOutputWhenNoLogFilesAreWanted) {
  auto silent = spec("readlink /proc/$$/fd/1 /proc/$$/fd/2 > '" + path_ + "/where'; head -c 300000 /dev/zero; exit 3");
  silent.logs.max_files = 0;
  Client client = launch(silent);
  ASSERT_TRUE(client.wait(seconds{20}));
  EXPECT_EQ(client.state().code, 3);
  EXPECT_EQ(os::read_file(path_ + "/where"), "/dev/null\n/dev/null\n");
  EXPECT_TRUE(os::list_directory(path_ + "/logs").empty());
  client.collect();
}

TEST_F(Keeper, SaysWhichCommandIsMissingAndLeavesNothing) {
  auto broken = spec("");
  broken.plan = os::LaunchPlan().exec({"/no/such/program"}, {"x"}, {});
  try {
    launch(broken);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::not_found);
    EXPECT_THAT(e.one_line(), testing::HasSubstr("/no/such/program"));
  }
  EXPECT_FALSE(os::exists(path_ + "/keeper"));
}

TEST_F(Keeper, TaskAndLogsGoOnWithoutAGapWhenItsLauncherIsKilled) {
  const auto what = spec("for ((i = 1; ; ++i)); do echo $i; done");
  auto chatty = what;
  chatty.logs.max_bytes = 200'000;
  chatty.logs.max_files = 100'000;
  const os::Pipe pipe = os::open_pipe();
  const pid_t agent = ::fork();
  if (agent == 0) {
    const Client client = Client::launch(chatty, system_);
    const State state = client.state();
    if (::write(pipe.write.get(), &state, sizeof state) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  State before;
  ASSERT_EQ(::read(pipe.read.get(), &before, sizeof before), static_cast<ssize_t>(sizeof before));
  ASSERT_EQ(::kill(agent, SIGKILL), 0);
  ASSERT_EQ(::waitpid(agent, nullptr, 0), agent);
  const auto size = [&] { return log("stdout").size(); };
  const auto then = size();
  EXPECT_TRUE(eventually([&] { return size() > then + 300'000; }));
  Client client = attach();
  keepers_.push_back(client.keeper());
  EXPECT_EQ(client.state().phase, Phase::running);
  EXPECT_EQ(client.task(), (os::ProcessIdentity{before.task_pid, before.task_start}));
  EXPECT_TRUE(os::is_running(client.task()));
  client.stop(SIGTERM, seconds{5});
  ASSERT_TRUE(client.wait(seconds{20}));
  EXPECT_EQ(client.state().signal, SIGTERM);
  int expected = 1;
  const std::string all = log("stdout");
  for (const auto& line : split(std::string_view(all).substr(0, all.rfind('\n')), '\n')) {
    ASSERT_EQ(line, std::to_string(expected));
    ++expected;
  }
  EXPECT_GT(expected, 50'000);
  client.collect();
}

TEST_F(Keeper, KeepsTheResultUntilAnAgentComesForIt) {
  {
    const Client client = launch(spec("exit 7"));
  }
  ASSERT_TRUE(eventually(
      [&] { return os::find_file(path_ + "/keeper/state").value_or("").find("exited") != std::string::npos; }));
  EXPECT_TRUE(os::is_running(keepers_[0]));
  Client client = attach();
  EXPECT_EQ(client.state().phase, Phase::exited);
  EXPECT_EQ(client.state().code, 7);
  client.collect();
}

TEST_F(Keeper, GoesWithItsDirectoryOnceTheTaskHasEnded) {
  ASSERT_EQ(::mkfifo((path_ + "/go").c_str(), 0600), 0);
  const Client client = launch(spec("echo up > " + path_ + "/up; read < " + path_ + "/go; exit 7"));
  ASSERT_TRUE(eventually([&] { return os::find_file(path_ + "/up").has_value(); }));
  os::remove_tree(path_ + "/keeper");
  EXPECT_TRUE(os::is_running(keepers_[0])) << "it holds a task";
  const os::Fd go(::open((path_ + "/go").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::write(go.get(), "\n", 1), 1);
  EXPECT_TRUE(eventually([&] { return !os::is_running(keepers_[0]); }));

  const Client second = launch(spec("exit 7"));
  ASSERT_TRUE(eventually(
      [&] { return os::find_file(path_ + "/keeper/state").value_or("").find("exited") != std::string::npos; }));
  EXPECT_TRUE(os::is_running(keepers_[1])) << "somebody may come for the result";
  os::remove_tree(path_ + "/keeper");
  EXPECT_TRUE(eventually([&] { return !os::is_running(keepers_[1]); }));
}

bool tell_kernel(const std::string& path, std::string_view text) {
  const os::Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// `what` in a user namespace in which the kernel gives no inotify: if it was taken from the machine, tests beside this
/// one would have none either. Its failures are ours.
void without_inotify(const std::function<void()>& what) {
  int ready[2], mapped[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(mapped, O_CLOEXEC), 0);
  char byte = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool apart =
        ::unshare(CLONE_NEWUSER) == 0 && ::write(ready[1], "x", 1) == 1 && ::read(mapped[0], &byte, 1) == 1;
    EXPECT_TRUE(apart) << ::strerror(errno);
    EXPECT_TRUE(tell_kernel("/proc/sys/user/max_inotify_instances", "0\n"));
    EXPECT_FALSE(os::Fd(::inotify_init1(IN_CLOEXEC)));
    if (apart) what();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  ::close(ready[1]);
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  for (const auto* map : {"uid_map", "gid_map"})
    EXPECT_TRUE(tell_kernel(fmt::format("/proc/{}/{}", child, map), "0 0 65536\n"));
  EXPECT_EQ(::write(mapped[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const int fd : {ready[0], mapped[0], mapped[1]}) ::close(fd);
}

TEST_F(Keeper, GoesWithItsDirectoryAlsoWhenTheKernelGivesNoInotify) {
  without_inotify([&] {
    const Client client = launch(spec("exit 7"));
    ASSERT_TRUE(eventually(
        [&] { return os::find_file(path_ + "/keeper/state").value_or("").find("exited") != std::string::npos; }));
    EXPECT_TRUE(os::is_running(keepers_[0])) << "somebody may come for the result";
    os::remove_tree(path_ + "/keeper");
    EXPECT_TRUE(eventually([&] { return !os::is_running(keepers_[0]); }));
  });
}

TEST_F(Keeper, ForksAndDaemonsOfTheTaskDieWithIt) {
  const auto daemons = "setsid bash -c 'setsid sleep 1000 & echo $! > " + path_ + "/a; setsid sleep 1000 & echo $! > " +
                       path_ + "/b' & ";
  for (const bool grouped : {false, true}) {
    SCOPED_TRACE(grouped);
    if (grouped) use_cgroup();
    Client client = launch(spec(daemons + "trap '' TERM; while :; do sleep 1000; done"));
    const auto a = written("a"), b = written("b");
    EXPECT_TRUE(os::is_running(a));
    client.stop(SIGTERM, milliseconds{50});
    ASSERT_TRUE(client.wait(seconds{20}));
    EXPECT_EQ(client.state().signal, SIGKILL);
    EXPECT_FALSE(os::is_running(a));
    EXPECT_FALSE(os::is_running(b));
    client.collect();
    os::remove_tree(path_ + "/a");
    os::remove_tree(path_ + "/b");
  }
}

TEST_F(Keeper, DiesLastSoThatALostTaskIsDeadWholeAndStaysLost) {
  for (const bool grouped : {false, true}) {
    SCOPED_TRACE(grouped);
    if (grouped) use_cgroup();
    // The daemon writes its number itself: only then has it surely left the session.
    Client client = launch(spec("setsid bash -c 'echo $$ > " + path_ +
                                "/a; exec sleep 1000' & sleep 1001 & echo $! > " + path_ + "/b; wait"));
    const auto a = written("a"), b = written("b");
    const auto task = client.task();
    ASSERT_EQ(::kill(client.keeper().pid, SIGKILL), 0);
    ASSERT_TRUE(client.wait(seconds{20}));
    EXPECT_EQ(client.state().phase, Phase::lost);
    EXPECT_EQ(client.fd(), -1);
    EXPECT_FALSE(os::is_running(task));
    EXPECT_TRUE(eventually([&] { return !os::is_running(b); }));
    // A daemon that left the session can be found only by its cgroup.
    EXPECT_EQ(os::is_running(a), !grouped);
    if (!grouped) os::Pidfd::find(a)->signal(SIGKILL);
    EXPECT_EQ(attach().state().phase, Phase::lost);
    client.collect();
    os::remove_tree(path_ + "/a");
    os::remove_tree(path_ + "/b");
  }
}

TEST_F(Keeper, WithOwnProcessNumbersTakesEverythingAlong) {
  auto what = spec("");
  what.own_process_numbers = true;
  what.plan = os::LaunchPlan().new_session().exec(
      {"/bin/bash"}, {"bash", "-c", "echo $$; setsid sleep 1234567 & exec sleep 1234567"}, {"PATH=/usr/bin:/bin"});
  Client client = launch(what);
  ASSERT_TRUE(eventually([&] { return !log("stdout").empty(); }));
  EXPECT_EQ(log("stdout"), "2\n");
  EXPECT_TRUE(os::is_running(client.task()));
  EXPECT_GT(client.task().pid, 2);
  const auto sleepers = [] {
    int count = 0;
    for (const auto& entry : os::list_directory("/proc")) {
      const auto line = os::find_file("/proc/" + entry.name + "/cmdline");
      if (line && line->starts_with(std::string("sleep\0001234567", 13))) ++count;
    }
    return count;
  };
  ASSERT_TRUE(eventually([&] { return sleepers() == 2; }));
  ASSERT_EQ(::kill(client.keeper().pid, SIGKILL), 0);
  ASSERT_TRUE(client.wait(seconds{20}));
  EXPECT_EQ(client.state().phase, Phase::lost);
  EXPECT_TRUE(eventually([&] { return sleepers() == 0; }));
  client.collect();
}

TEST_F(Keeper, IsSmallAndSleepsWhileTheTaskDoes) {
  Client client = launch(spec("echo hello; exec sleep 1000"));
  ASSERT_TRUE(eventually([&] { return !log("stdout").empty(); }));
  const auto field = [&](std::string_view key) {
    for (const auto& line : split(os::read_file(fmt::format("/proc/{}/status", client.keeper().pid)), '\n')) {
      if (line.starts_with(key)) return std::stol(line.substr(key.size()));
    }
    return -1L;
  };
  EXPECT_LE(field("VmRSS:"), 1024) << "KiB";
  EXPECT_GT(field("VmRSS:"), 0);
  RecordProperty("rss_kib", static_cast<int>(field("VmRSS:")));
  ::usleep(50'000);
  const auto before = field("voluntary_ctxt_switches:");
  ::usleep(300'000);
  EXPECT_EQ(field("voluntary_ctxt_switches:"), before);
  client.stop(SIGTERM, seconds{5});
  ASSERT_TRUE(client.wait(seconds{20}));
  client.collect();
}

TEST_F(Keeper, ReportsMemoryBeyondTheLimitAsSuch) {
  if (!system_.has("memory")) GTEST_SKIP() << "no memory controller";
  use_cgroup();
  limits_.memory_max = 24 << 20;
  Client client = launch(spec("exec tail /dev/zero"));
  ASSERT_TRUE(client.wait(seconds{60}));
  EXPECT_TRUE(client.state().oom_killed);
  EXPECT_EQ(client.state().signal, SIGKILL);
  client.collect();
}

TEST_F(Keeper, RefusesASecondTaskInItsDirectory) {
  Client client = launch(spec("exec sleep 1000"));
  EXPECT_THROW(Client::launch(spec("true"), system_), Error);
  EXPECT_THROW(client.collect(), Error);
  client.stop(SIGKILL, seconds{0});
  ASSERT_TRUE(client.wait(seconds{20}));
  client.collect();
}

TEST_F(Keeper, RotatesAFloodIntoTheFilesAllowed) {
  auto what = spec("seq 1 200000");
  what.logs.max_files = 3;
  what.logs.max_bytes = 100'000;
  Client client = launch(what);
  ASSERT_TRUE(client.wait(seconds{60}));
  EXPECT_LE(os::list_directory(path_ + "/logs").size(), 4U);
  const auto lines = split(trim(log("stdout")), '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(std::stoul(lines[i]), 200'000 - lines.size() + 1 + i);
  EXPECT_EQ(client.state().dropped, 0U);
  client.collect();
}

TEST_F(Keeper, PassesSignalsToTheTaskOnly) {
  Client client = launch(spec("trap 'echo got' USR1; echo ready; while :; do sleep 0.01; done"));
  ASSERT_TRUE(eventually([&] { return log("stdout") == "ready\n"; }));
  client.signal(SIGUSR1);
  EXPECT_TRUE(eventually([&] { return log("stdout") == "ready\ngot\n"; }));
  client.stop(SIGTERM, seconds{5});
  ASSERT_TRUE(client.wait(seconds{20}));
  EXPECT_EQ(client.state().signal, SIGTERM);
  client.collect();
}

TEST_F(Keeper, LauncherKilledAtAnyMomentLeavesOneTaskOrNone) {
  use_cgroup();
  std::minstd_rand random(testing::UnitTest::GetInstance()->random_seed() + 1U);
  int found = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const auto what = spec("echo run >> " + path_ + "/runs; exec sleep 1000");
    const pid_t agent = ::fork();
    if (agent == 0) {
      const Client client = Client::launch(what, system_);
      for (;;) ::pause();
    }
    ::usleep(static_cast<useconds_t>(random() % 15'000));
    ASSERT_EQ(::kill(agent, SIGKILL), 0);
    ASSERT_EQ(::waitpid(agent, nullptr, 0), agent);
    Client client = attach();
    if (client.keeper().pid != 0) keepers_.push_back(client.keeper());
    if (!client.ended()) {
      ++found;
      client.stop(SIGKILL, {});
      ASSERT_TRUE(client.wait(seconds{20}));
    }
    auto group = os::Cgroup::find(system_, *group_);
    ASSERT_TRUE(group);
    EXPECT_TRUE(group->processes().empty());
    client.collect();
    EXPECT_THAT(os::find_file(path_ + "/runs").value_or(""), testing::AnyOf("", "run\n"));
    os::remove_tree(path_ + "/runs");
  }
  EXPECT_GT(found, 0);
}

TEST_F(Keeper, FullDiskCostsOutputButNeitherTaskNorResult) {
  os::make_directories(path_ + "/small");
  os::Mount small = os::Mount::tmpfs(path_ + "/small", "size=128k");
  auto what = spec("seq 1 100000; exit 5");
  what.directory = path_ + "/small/keeper";
  what.logs.directory = path_ + "/small/logs";
  Client client = launch(what);
  ASSERT_TRUE(client.wait(seconds{20}));
  EXPECT_EQ(client.state().code, 5);
  EXPECT_GT(client.state().dropped, 100'000U);
  client = Client::attach(what.directory, group_, system_);
  EXPECT_EQ(client.state().code, 5);
  EXPECT_THAT(os::read_file(what.directory + "/state"), testing::HasSubstr("phase exited"));
  client.collect();
  // A keeper that was told to go holds its directory until it has gone.
  for (const auto& process : keepers_) EXPECT_TRUE(eventually([&] { return !os::is_running(process); }));
  small.unmount();
}

TEST_F(Keeper, TypedByHandSaysWhatItIsAndEnds) {
  const auto output = os::run_program({.argv = {binary_dir() + "/bin/underway-keeper"}}, seconds{20});
  EXPECT_EQ(output.status.code, 2);
  EXPECT_THAT(output.err, testing::HasSubstr("is started by underway"));
}

TEST_F(Keeper, ADirectoryWhereNoneBeganIsLostAndNeverStarted) {
  EXPECT_EQ(attach().state().phase, Phase::lost);
  os::make_directories(path_ + "/keeper", 0700);
  const Client client = attach();
  EXPECT_EQ(client.state().phase, Phase::lost);
  EXPECT_EQ(client.state().task_pid, 0);
}

}  // namespace
}  // namespace underway::keeper
