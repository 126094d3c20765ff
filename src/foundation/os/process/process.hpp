#pragma once
/// @file
/// Processes as owned values: an identity that survives the reuse of numbers, a pidfd, a child, and how to start one.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "os/fd.hpp"
#include "os/process/cgroup.hpp"
#include "os/process/launch_plan.hpp"
#include "os/process/namespaces.hpp"

namespace underway::os {

/// A process for good: the kernel reuses the number, never number and start time together.
struct ProcessIdentity {
  pid_t pid = 0;
  /// Clock ticks since boot (field 22 of /proc/<pid>/stat).
  std::uint64_t start_time = 0;
  bool operator==(const ProcessIdentity&) const = default;
};
/// Nothing when there is no such process; a zombie is still one.
std::optional<ProcessIdentity> process_identity(pid_t pid);
/// Whether this very process exists and is no zombie.
bool is_running(const ProcessIdentity& identity);

struct ExitStatus {
  int code = 0;    ///< of exit(3), when `signal` is 0
  int signal = 0;  ///< that killed it
  bool success() const { return code == 0 && signal == 0; }
  bool operator==(const ExitStatus&) const = default;
};
/// "exit code 3", "signal 9 (KILL)".
std::string to_string(const ExitStatus& status);
/// "SIGTERM", "TERM", "15" or "SIGRTMIN+3"; nothing when it is no signal.
std::optional<int> find_signal(std::string_view name);
/// "SIGTERM".
std::string signal_name(int signal);

class Pidfd {
 public:
  /// Throws not_found when there is no such process.
  static Pidfd open(pid_t pid);
  /// The process only if it is still this one; nothing when it has gone.
  static std::optional<Pidfd> find(const ProcessIdentity& identity);
  Pidfd(pid_t pid, Fd fd) : fd_(std::move(fd)), pid_(pid) {}

  const Fd& fd() const { return fd_; }
  pid_t pid() const { return pid_; }
  /// False when the process has gone.
  bool signal(int number) const;
  /// Waits for the end of any process; false when `within` passed first. Gives no status: that is the parent's.
  bool wait_gone(Duration within) const;
  Fd release() { return std::move(fd_); }

 private:
  Fd fd_;
  pid_t pid_;
};

/// How to start a program. Namespaces are entered before new ones are made; `setup` runs inside both, as root.
struct SpawnSpec {
  std::vector<std::string> argv;
  /// Looked for along PATH of `env` when it holds no slash; empty: argv[0].
  std::string program;
  /// "NAME=value"; the caller's environment is never inherited by itself.
  std::vector<std::string> env;
  std::string cwd = "/";
  /// Descriptors for 0, 1, 2; -1 is /dev/null.
  int in = -1, out = -1, err = -1;
  /// More descriptors: ours to the number in the program (above 2).
  std::vector<std::pair<int, int>> fds;
  /// The program's terminal is `in`; implies a session.
  bool terminal = false;
  bool new_session = false;

  std::optional<User> user;
  /// Absent: as they are.
  std::optional<Capabilities> bounding;
  Capabilities ambient = 0;
  bool no_new_privileges = false;
  struct Limit {
    int resource;
    std::uint64_t soft, hard;
  };
  std::vector<Limit> limits;
  /// Lowering it without CAP_SYS_RESOURCE fails silently.
  std::optional<int> oom_score_adj;
  std::optional<mode_t> umask;
  std::optional<int> parent_death_signal;

  /// Cgroup::join_files of the group to start in.
  std::vector<std::string> join_cgroup;
  std::vector<const Namespace*> join;
  NamespaceKinds unshare = 0;
  /// Between namespaces and credentials: mounts, pivot_root, hostname.
  LaunchPlan setup;
  std::string description;  ///< for errors; default: the program
};

/// A child of this process, killed and reaped by the destructor unless released.
class Child {
 public:
  Child(Child&&) noexcept = default;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pidfd_.pid(); }
  const Pidfd& pidfd() const { return pidfd_; }
  bool signal(int number) const { return pidfd_.signal(number); }
  /// Reaps; nothing when `within` passed first. The pidfd is readable once the child has ended.
  std::optional<ExitStatus> wait(Duration within);
  ExitStatus wait();
  /// SIGKILL, then reaps.
  ExitStatus kill();
  /// Somebody else will reap it (or nobody).
  Pidfd release();

 private:
  friend Child spawn(const SpawnSpec& spec);
  explicit Child(Pidfd pidfd) : pidfd_(std::move(pidfd)) {}
  Pidfd pidfd_;
  std::optional<ExitStatus> ended_;
};

/// Starts a program and returns once it runs (exec done).
/// Errors: not_found with the paths tried; whatever step failed, by name. Thread: any.
Child spawn(const SpawnSpec& spec);

/// As spawn, but the process is not our child: it is adopted by init (or the nearest subreaper).
ProcessIdentity spawn_detached(const SpawnSpec& spec);

struct Output {
  ExitStatus status;
  std::string out, err;
};
/// Runs a program to its end with empty input. Kills it and throws timeout after `within`; too_large beyond `limit`
/// bytes of output. Blocks: yes.
Output run_program(SpawnSpec spec, Duration within, std::size_t limit = 16U << 20);

struct Terminal {
  Fd master;
  Fd slave;
};
/// A pseudo terminal pair (pty(7)).
Terminal open_terminal();
void resize_terminal(const Fd& master, unsigned short rows, unsigned short columns);

/// "NAME=value" strings of a map.
std::vector<std::string> environment(const std::map<std::string, std::string>& variables);
/// What a process was started with (proc_pid_environ(5)); nothing when it is gone. A process may have written over it:
/// what does not look like a variable is left out.
std::map<std::string, std::string> initial_environment(const ProcessIdentity& process);

}  // namespace underway::os
