#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "fixture.hpp"

namespace underway::pool {
namespace {

class Crashes : public Pools {
 protected:
  Crashes() {
    os::make_directories(at("tree"));
    os::write_file(at("copied"), std::string(1'200'000, 'c'));
    keep_ = pool().add_bytes("kept").digest;
  }

  /// All that changes a pool.
  void work(const Pool& p) const {
    p.add_bytes("bytes");
    p.add_file(at("copied"));
    const std::string text(300'000, 'r');
    auto incoming = p.receive({.digest = digest_of(text), .size = text.size()});
    incoming.append(0, std::string_view(text).substr(0, 100'000));
    incoming.append(100'000, std::string_view(text).substr(100'000));
    incoming.finish();
    p.hold(keep_);
    p.link_into(keep_, at("tree"), "a/b/kept");
    p.add_bytes("garbage");
    p.collect(std::vector{keep_}, {}, os::file_clock_now() + kHour);
  }

  /// What holds at any moment, and that all can go on from there.
  void check(const Pool& p) const {
    expect_sound(p);
    EXPECT_EQ(text_of(p.open(keep_)), "kept");
    for (const auto& entry : os::list_directory(at("pool/incoming")))
      EXPECT_TRUE(entry.name.starts_with("add-") || entry.name.size() > 65) << entry.name;
    work(p);
    p.collect(std::vector{keep_}, {}, os::file_clock_now() + kHour);
    EXPECT_EQ(parts(), 0U) << "what was left is collected";
    EXPECT_EQ(text_of(p.open(keep_)), "kept");
  }

  Digest keep_{};
};

bool changes_something(const __ptrace_syscall_info& call) {
  static const std::set<std::uint64_t> kCalls = {SYS_write,    SYS_pwrite64, SYS_ftruncate, SYS_fsync,   SYS_fchmod,
                                                 SYS_fchmodat, SYS_linkat,   SYS_unlinkat,  SYS_mkdirat, SYS_ioctl,
                                                 SYS_flock,    SYS_renameat, SYS_renameat2};
  return kCalls.contains(call.entry.nr) || (call.entry.nr == SYS_openat && (call.entry.args[2] & O_CREAT) != 0);
}

/// Kills the child before the call number `last` that changes something. False: it ended before.
bool kill_at(pid_t child, int last) {
  int status = 0;
  ::waitpid(child, &status, 0);  // stopped by itself
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  for (int count = 0;;) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
      EXPECT_EQ(status, 0);
      return false;
    }
    __ptrace_syscall_info call{};
    if (WSTOPSIG(status) != (SIGTRAP | 0x80) || ::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof call, &call) <= 0 ||
        call.op != PTRACE_SYSCALL_INFO_ENTRY)
      continue;
    if (!changes_something(call) || ++count < last) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return true;
  }
}

TEST_F(Crashes, LeaveWholeFilesAtEachStep) {
  int steps = 0;
  for (const auto p = pool();; ++steps) {
    SCOPED_TRACE(steps);
    const pid_t child = in_child([&] {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(3);
      ::raise(SIGSTOP);
      work(p);
    });
    const bool killed = kill_at(child, steps + 1);
    check(p);
    os::remove_tree(at("tree"));
    os::make_directories(at("tree"));
    if (!killed || HasFailure()) break;
  }
  EXPECT_GT(steps, 40) << "there are as many calls that change something";
}

TEST_F(Crashes, LeaveWholeFilesAtAnyMoment) {
  const auto p = pool();
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    pid_t children[2];
    for (auto& child : children)
      child = in_child([&] {
        for (;;) {
          try {
            work(p);
          } catch (const Error& error) {
            // Both receive the same file, or one links into the tree that it has already.
            if (error.code() != Code::conflict && error.code() != Code::not_found) throw;
          }
        }
      });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 15'000));
    for (const pid_t child : children) ::kill(child, SIGKILL);
    for (const pid_t child : children) EXPECT_TRUE(WIFSIGNALED(status_of(child)));
    expect_sound(p);
    EXPECT_EQ(text_of(p.open(keep_)), "kept");
  }
  check(p);
}

}  // namespace
}  // namespace underway::pool
