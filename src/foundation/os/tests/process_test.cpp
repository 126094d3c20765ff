#include "os/process/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.hpp"
#include "os/process/descriptor_limit.hpp"
#include "temporary.hpp"

namespace underway::os {
namespace {

using std::chrono::seconds;

Output sh(const std::string& script) { return run_program({.argv = {"sh", "-c", script}}, seconds{20}); }

TEST(Spawn, RunsAProgramWithExactlyItsEnvironmentAndDirectory) {
  const auto output = run_program(
      {.argv = {"sh", "-c", "pwd; echo $A; env | wc -l; echo oops >&2; exit 3"}, .env = {"A=b c"}, .cwd = "/usr"},
      seconds{20});
  EXPECT_EQ(output.status, ExitStatus{.code = 3});
  EXPECT_THAT(output.out, testing::StartsWith("/usr\nb c\n"));
  EXPECT_EQ(output.err, "oops\n");
}

TEST(Spawn, NamesEveryPlaceWhereAMissingCommandWasLookedFor) {
  try {
    spawn({.argv = {"no-such-command"}, .env = {"PATH=/bin:/opt"}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::not_found);
    EXPECT_THAT(e.one_line(), testing::HasSubstr("/bin/no-such-command, /opt/no-such-command"));
    EXPECT_THAT(e.one_line(), testing::HasSubstr("ENOENT"));
  }
}

TEST(Spawn, NothingIsFoundAlongAnEmptyPath) {
  try {
    spawn({.argv = {"ls"}, .env = {"PATH="}});
    ADD_FAILURE() << "it was found";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::not_found);
    EXPECT_EQ(e.one_line(), "cannot run 'ls': its PATH names no directory");
  }
}

TEST(Spawn, SaysWhichStepFailedAndOnWhat) {
  SpawnSpec spec{.argv = {"true"}};
  spec.setup.write_file("/no/such/file", "0");
  try {
    spawn(spec);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.one_line(), testing::HasSubstr("cannot write '0' into '/no/such/file'"));
  }
  SpawnSpec lenient{.argv = {"true"}};
  lenient.setup.optionally().write_file("/no/such/file", "0");
  EXPECT_TRUE(spawn(lenient).wait().success());
}

TEST(Spawn, HandsOverTheNamedDescriptorsAndNoOthers) {
  const Pipe pipe = open_pipe();
  const int leak = ::open("/dev/null", O_RDONLY);  // deliberately not close-on-exec
  SpawnSpec spec{.argv = {"sh", "-c", "echo hello >&7; ls /proc/self/fd | tr '\\n' ' ' >&7"}};
  spec.fds = {{pipe.write.get(), 7}};
  EXPECT_TRUE(spawn(spec).wait().success());
  ::close(leak);
  std::array<char, 256> buffer{};
  const auto n = ::read(pipe.read.get(), buffer.data(), buffer.size());
  ASSERT_GT(n, 0);
  // 3 is the directory that ls itself opened.
  EXPECT_EQ(std::string(buffer.data(), static_cast<std::size_t>(n)), "hello\n0 1 2 3 7 ");
}

TEST(Spawn, StartsWithDefaultSignalsWhateverTheCallerBlocks) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  Child child = spawn({.argv = {"sleep", "60"}});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_TRUE(child.signal(SIGTERM));
  EXPECT_EQ(child.wait(), ExitStatus{.signal = SIGTERM});
  EXPECT_FALSE(child.signal(SIGTERM));
}

TEST(Spawn, DetachedProcessIsNobodysChildOfOurs) {
  const auto identity = spawn_detached({.argv = {"sleep", "60"}, .new_session = true});
  ASSERT_TRUE(is_running(identity));
  const auto pidfd = Pidfd::find(identity);
  ASSERT_TRUE(pidfd);
  EXPECT_NE(::getpgid(identity.pid), ::getpgrp());
  EXPECT_TRUE(pidfd->signal(SIGKILL));
  EXPECT_TRUE(pidfd->wait_gone(seconds{5}));
  EXPECT_THROW(spawn_detached({.argv = {"/nowhere"}}), Error);
}

TEST(Child, IsKilledAndReapedWhenItsOwnerGoes) {
  ProcessIdentity identity;
  {
    Child child = spawn({.argv = {"sleep", "60"}});
    identity = process_identity(child.pid()).value();
    EXPECT_EQ(child.wait(std::chrono::milliseconds{1}), std::nullopt);
  }
  EXPECT_EQ(process_identity(identity.pid), std::nullopt);
}

TEST(RunProgram, KillsWhatDoesNotEndInTime) {
  EXPECT_THROW(run_program({.argv = {"sleep", "60"}}, std::chrono::milliseconds{20}), Error);
  EXPECT_THROW(run_program({.argv = {"cat", "/dev/zero"}}, seconds{20}, 100'000), Error);
}

TEST(Terminal, GivesTheProgramAControllingTerminal) {
  const Terminal terminal = open_terminal();
  resize_terminal(terminal.master, 33, 77);
  SpawnSpec spec{.argv = {"sh", "-c", "stty size; tty >/dev/null && echo tty"}};
  spec.in = spec.out = spec.err = terminal.slave.get();
  spec.terminal = true;
  EXPECT_TRUE(spawn(spec).wait().success());
  std::array<char, 256> buffer{};
  // A terminal hands out what was written piece by piece.
  const std::string expected = "33 77\r\ntty\r\n";
  std::string text;
  while (text.size() < expected.size()) {
    const auto n = ::read(terminal.master.get(), buffer.data(), buffer.size());
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  EXPECT_EQ(text, expected);
}

TEST(Signals, AreFoundByNameAndNumber) {
  EXPECT_EQ(find_signal("SIGTERM"), SIGTERM);
  EXPECT_EQ(find_signal("int"), SIGINT);
  EXPECT_EQ(find_signal("9"), SIGKILL);
  EXPECT_EQ(find_signal("SIGRTMIN+3"), SIGRTMIN + 3);
  EXPECT_EQ(find_signal("SIGNOT"), std::nullopt);
  EXPECT_EQ(find_signal("0"), std::nullopt);
  EXPECT_EQ(signal_name(SIGHUP), "SIGHUP");
  EXPECT_EQ(to_string(ExitStatus{.signal = SIGKILL}), "signal 9 (KILL)");
}

TEST(LaunchPlan, KeepsItsMeaningThroughItsBytes) {
  LaunchPlan plan;
  plan.optionally()
      .write_file("/f", "0")
      .mount("tmpfs", "/x", "tmpfs", 7, "size=1m")
      .exec({"/bin/a", "/bin/b"}, {"a", ""}, {"X=1"});
  const auto again = LaunchPlan::decode(plan.encode());
  EXPECT_EQ(again.encode(), plan.encode());
  EXPECT_EQ(again.describe(1), "mount tmpfs on '/x'");
  EXPECT_EQ(again.describe(2), "run 'a' (looked for /bin/a, /bin/b)");
}

TEST(LaunchPlan, RefusesDamagedBytesWithoutReadingBeyondThem) {
  LaunchPlan plan;
  plan.write_file("/f", "0").exec({"/bin/a"}, {"a"}, {"X=1"});
  const std::string bytes = plan.encode();
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const std::string part(bytes, 0, cut);  // exactly sized, so that a sanitizer sees any overrun
    EXPECT_FALSE(launch::well_formed(part.data(), part.size())) << cut;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 0x80);
    if (launch::well_formed(bad.data(), bad.size())) EXPECT_NO_THROW(LaunchPlan::decode(bad));
  }
  EXPECT_THROW(LaunchPlan().exec({"/bin/a"}, {std::string("a\0b", 3)}, {}), Error);
}

TEST(SealedMemory, HoldsItsBytesForGood) {
  const Fd fd = sealed_memory("spec", "secret");
  EXPECT_EQ(read_all(fd, 100, "spec"), "secret");
  EXPECT_LT(::write(fd.get(), "x", 1), 0);
}

TEST(User, IsFoundByNameAndNumberOrIsAbsent) {
  const auto root = find_user("root");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->uid, 0U);
  EXPECT_EQ(find_user("0")->name, "root");
  EXPECT_EQ(find_user("no-such-user-here"), std::nullopt);
  EXPECT_THROW(get_user("no-such-user-here"), Error);
  EXPECT_EQ(current_user().uid, ::geteuid());
}

TEST(Capability, NamesAndBitsAgreeWithTheKernel) {
  EXPECT_EQ(find_capability("chown"), 1U);
  EXPECT_EQ(find_capability("CAP_SYS_ADMIN"), 1U << 21);
  EXPECT_EQ(find_capability("checkpoint_restore"), Capabilities{1} << 40);
  EXPECT_EQ(find_capability("flying"), std::nullopt);
  EXPECT_EQ(capability_names(*find_capability("net_raw") | 1), (std::vector<std::string>{"chown", "net_raw"}));
}

TEST(Process, IdentityTellsAReusedNumberApart) {
  const auto self = process_identity(::getpid());
  ASSERT_TRUE(self);
  EXPECT_TRUE(is_running(*self));
  EXPECT_FALSE(is_running({self->pid, self->start_time + 1}));
  EXPECT_EQ(Pidfd::find({self->pid, self->start_time + 1}), std::nullopt);
  const auto awkward = sh("cp /bin/sleep '/tmp/a) Z 1'$$; '/tmp/a) Z 1'$$ 0; rm '/tmp/a) Z 1'$$");
  EXPECT_TRUE(awkward.status.success());
}

TEST(DescriptorLimit, IsRaisedForThisProcessAndNotForWhatItSpawns) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{256, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_descriptor_limit(), before.rlim_max);
  rlimit raised{};
  ::getrlimit(RLIMIT_NOFILE, &raised);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  EXPECT_EQ(run_program({.argv = {"sh", "-c", "ulimit -Sn"}}, std::chrono::seconds(20)).out, "256\n");
  SpawnSpec wants{.argv = {"sh", "-c", "ulimit -Sn"}};
  wants.limits = {{RLIMIT_NOFILE, 100, 100}};
  EXPECT_EQ(run_program(wants, std::chrono::seconds(20)).out, "100\n");
}

}  // namespace
}  // namespace underway::os
