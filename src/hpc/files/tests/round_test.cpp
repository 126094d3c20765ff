#include "files/targets/round.hpp"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <thread>

#include "base/error.hpp"
#include "os/file.hpp"
#include "tests/target_tree_test.hpp"

namespace underway::files {
namespace {

using ::testing::HasSubstr;

constexpr TimePoint kNow{std::chrono::seconds(1'700'000'000)};

class RoundTest : public TargetTreeTest {
 protected:
  std::string state() const { return base_ + "/state"; }
  std::string log() const {
    const auto text = os::find_file(base_ + "/log");
    return text ? *text : std::string();
  }
  model::FileHook say(const std::string& what) const {
    return {{"/bin/sh", "-c", fmt::format("echo {} >> {}/log", what, base_)}, std::chrono::seconds(20)};
  }
  static model::FileHook fail() { return {{"/bin/sh", "-c", "echo so bad; exit 7"}, std::chrono::seconds(20)}; }

  /// What a node does with a manifest; nothing when it is as wanted.
  static void follow(const std::string& directory, const FileTarget& target, const Manifest& manifest,
                     const std::map<std::string, std::string>& contents) {
    Rounds rounds(directory);
    if (const auto left = rounds.unfinished())
      rounds.finish(*left, target, rounds.carry_out(*left, target, kNow), kNow);
    auto plan = rounds.plan(target, manifest);
    const auto round = make_round("r", manifest, std::move(plan), rounds.state());
    if (round.empty()) {
      rounds.settle(TargetTree(target), manifest, round.problems, kNow);
      return;
    }
    rounds.begin(round, contents);
    rounds.finish(round, target, rounds.carry_out(round, target, kNow), kNow);
  }
  void follow(const Manifest& manifest) {
    const NodeTarget target(root_);
    follow(state(), target, manifest, contents_);
  }
  ManifestEntry with(const std::string& path, const std::string& bytes) {
    auto out = entry(path, bytes);
    contents_[out.digest] = bytes;
    return out;
  }
  std::vector<std::string> problems() const {
    std::vector<std::string> out;
    const Rounds rounds(state());
    for (const auto& problem : rounds.state().problems)
      out.push_back(fmt::format("{} {}: {}", describe::spell(problem.state), problem.path, problem.reason));
    return out;
  }

  std::map<std::string, std::string> contents_;
};

Manifest manifest_of(std::vector<ManifestEntry> entries, model::Revision revision = 1) {
  Manifest out;
  out.node_id = "n1";
  out.revision = revision;
  out.entries = std::move(entries);
  return out;
}

TEST_F(RoundTest, HooksOfSeveralFilesRunOnceForAllAndOnlyWhenSomethingChanges) {
  auto a = with("/etc/slurm/gres.conf", "a"), b = with("/etc/slurm/slurm.conf", "b");
  a.before = b.before = say("before");
  a.after = b.after = say("reconfigure");
  const auto first = manifest_of({a, b});
  follow(first);
  EXPECT_EQ(log(), "before\nreconfigure\n");
  follow(first);
  EXPECT_EQ(log(), "before\nreconfigure\n");
  auto c = with("/etc/slurm/slurm.conf", "c");
  c.after = b.after;
  follow(manifest_of({a, c}, 2));
  EXPECT_EQ(log(), "before\nreconfigure\nreconfigure\n");
  EXPECT_EQ(read("/etc/slurm/slurm.conf"), "c");
  EXPECT_FALSE(os::exists(state() + "/round")) << "no bytes are kept";
}

TEST_F(RoundTest, AFileWhoseCommandBeforeFailsStaysAndTheOthersDoNot) {
  auto a = with("/etc/a", "new"), b = with("/etc/b", "new");
  a.before = fail();
  a.after = say("never");
  write("/etc/a", "old");
  follow(manifest_of({a, b}));
  EXPECT_EQ(read("/etc/a"), "old");
  EXPECT_EQ(read("/etc/b"), "new");
  EXPECT_EQ(log(), "");
  EXPECT_THAT(join(problems(), "\n"), HasSubstr("failed /etc/a: it stays as it is: `/bin/sh -c echo so bad; exit 7` "
                                                "before it failed: exit code 7: so bad"));
}

TEST_F(RoundTest, ACommandAfterThatFailsIsTriedAgainUntilItWorks) {
  auto a = with("/etc/a", "new");
  const std::string flag = base_ + "/works";
  a.after = model::FileHook{{"/bin/sh", "-c", fmt::format("test -e {} && echo done >> {}/log", flag, base_)},
                            std::chrono::seconds(20)};
  follow(manifest_of({a}));
  EXPECT_EQ(read("/etc/a"), "new");
  EXPECT_THAT(join(problems(), "\n"), HasSubstr("is tried again: exit code 1"));
  os::write_file(flag, "");
  follow(manifest_of({a}));
  EXPECT_EQ(log(), "done\n");
  EXPECT_EQ(join(problems(), "\n"), "");
  follow(manifest_of({a}));
  EXPECT_EQ(log(), "done\n");
}

TEST_F(RoundTest, AnEditIsSeenHoweverCloseToALookItIs) {
  const auto manifest = manifest_of({with("/etc/a", "master")});
  follow(manifest);
  for (int i = 0; i < 1000; ++i) {
    std::thread editor([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(i % 100 * 10));
      write("/etc/a", "edited");
    });
    follow(manifest);
    editor.join();
    follow(manifest);
    ASSERT_EQ(read("/etc/a"), "master") << i;
  }
}

TEST_F(RoundTest, AnEditIsCorrectedAndToldOrOnlyTold) {
  auto correct = with("/etc/a", "master"), report = with("/etc/b", "master");
  correct.after = say("after");
  report.drift = model::DriftPolicy::report;
  const auto wanted = manifest_of({correct, report});
  follow(wanted);
  write("/etc/a", "edited");
  write("/etc/b", "edited");
  follow(wanted);
  EXPECT_EQ(read("/etc/a"), "master");
  EXPECT_EQ(read("/etc/b"), "edited");
  EXPECT_EQ(log(), "after\nafter\n");
  EXPECT_EQ(join(problems(), "\n"), "drifted /etc/b: content");
  std::string events;
  const Rounds rounds(state());
  for (const auto& event : rounds.state().events) events += event.what + " " + event.path + "\n";
  EXPECT_THAT(events, HasSubstr("corrected /etc/a\n"));
  EXPECT_THAT(events, HasSubstr("drifted /etc/b\n"));
}

TEST_F(RoundTest, AnEditThatIsOnlyToldIsToldForAsLongAsItIsThere) {
  auto report = with("/etc/b", "master");
  report.drift = model::DriftPolicy::report;
  const auto wanted = manifest_of({report});
  follow(wanted);
  write("/etc/b", "edited");
  // Older than a tick of the kernel's clock: such a file may be known again by its times.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (int i = 0; i < 3; ++i) {
    follow(wanted);
    EXPECT_EQ(join(problems(), "\n"), "drifted /etc/b: content") << i;
  }
}

TEST_F(RoundTest, WhatIsNotDeclaredAnyMoreGoesIfItSaidSo) {
  auto gone = with("/etc/gone", "x");
  gone.when_removed = model::RemovedPolicy::remove;
  gone.after = say("after");
  follow(manifest_of({with("/etc/kept", "x"), gone}));
  follow(manifest_of({}, 2));
  EXPECT_FALSE(exists("/etc/gone"));
  EXPECT_TRUE(exists("/etc/kept"));
  EXPECT_EQ(log(), "after\nafter\n");
}

TEST_F(RoundTest, OwnersComeFromThePasswdOfTheSameRound) {
  auto passwd = with("/etc/passwd", "root:x:0:0:::\nann:x:4711:4711:::\n");
  auto file = with("/etc/ann", "x");
  file.owner = "ann";
  follow(manifest_of({file, passwd}));
  EXPECT_EQ(mode("/etc/ann"), "0644 4711:0");
  EXPECT_EQ(join(problems(), "\n"), "");
}

TEST_F(RoundTest, ACommandThatRunsTooLongIsEnded) {
  auto a = with("/etc/a", "x");
  a.after = model::FileHook{{"/bin/sh", "-c", "sleep 1000"}, std::chrono::milliseconds(200)};
  follow(manifest_of({a}));
  EXPECT_THAT(join(problems(), "\n"), HasSubstr("it ran longer than 200ms"));
}

TEST_F(RoundTest, ACommandThatAnEarlierAgentStartedIsWaitedForAndNotStartedAgain) {
  const NodeTarget target(root_);
  os::make_directories(base_ + "/hooks", 0700);
  const std::string file = base_ + "/hooks/after-0", gate = base_ + "/gate";
  const model::FileHook hook{
      {"/bin/sh", "-c", fmt::format("echo begun >> {0}/log; until test -e {1}; do sleep 0.02; done", base_, gate)},
      std::chrono::seconds(20)};
  const pid_t agent = ::fork();
  if (agent == 0) {
    run_hook(target, hook, file);
    ::_exit(0);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (log().empty() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  HookResult result;
  std::thread later([&] { result = run_hook(target, hook, file); });
  os::write_file(gate, "");
  later.join();
  EXPECT_TRUE(result.success) << result.detail;
  EXPECT_EQ(log(), "begun\n");
  EXPECT_TRUE(run_hook(target, hook, file).success) << "the result stays";
  EXPECT_EQ(log(), "begun\n");
}

/// Runs `body` in a child and kills it before its `n`th system call; false when it ended before that.
bool killed_at(int n, const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    try {
      body();
    } catch (...) {
      ::_exit(9);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  int stops = 0, signal = 0;
  while (true) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, signal);
    signal = 0;
    if (::waitpid(child, &status, 0) < 0 || WIFEXITED(status) || WIFSIGNALED(status)) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "at " << n;
      return false;
    }
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      signal = WSTOPSIG(status);
      continue;
    }
    // Each call stops twice: on the way in, and on the way out.
    const bool enters = stops % 2 == 0;
    ++stops;
    if (enters && stops / 2 == n) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return true;
    }
  }
}

TEST_F(RoundTest, KilledBeforeAnySystemCallItIsGoneOnWithAndHooksRunOnce) {
  const NodeTarget target(root_);
  auto a = with("/etc/a", "new a"), b = with("/srv/b", "new b"), gone = with("/etc/gone", "x");
  gone.when_removed = model::RemovedPolicy::remove;
  const auto old_state = manifest_of({gone, with("/etc/zzz", "same")});
  a.before = say("before");
  a.after = b.after = say("after");
  const auto wanted = manifest_of({a, with("/etc/zzz", "same"), b}, 2);
  int n = 0;
  for (bool killed = true; killed; ++n) {
    std::filesystem::remove_all(state());
    std::filesystem::remove_all(root_ + "/srv");
    write("/etc/a", "old a");
    follow(old_state);
    std::filesystem::remove(base_ + "/log");
    killed = killed_at(n, [&] { follow(state(), target, wanted, contents_); });
    const auto seen = read("/etc/a");
    ASSERT_TRUE(seen == "old a" || seen == "new a") << "at " << n << ": " << seen;
    follow(wanted);
    ASSERT_EQ(log(), "before\nafter\n") << "killed before system call " << n;
    ASSERT_EQ(read("/etc/a") + read("/srv/b") + read("/etc/zzz"), "new anew bsame") << "at " << n;
    ASSERT_FALSE(exists("/etc/gone")) << "at " << n;
    ASSERT_EQ(names("/etc"), "a group passwd zzz") << "at " << n;
    ASSERT_EQ(names("/srv"), "b") << "at " << n;
    ASSERT_EQ(join(problems(), "\n"), "") << "at " << n;
  }
  RecordProperty("system_calls", n);
  EXPECT_GT(n, 100);
}

}  // namespace
}  // namespace underway::files
