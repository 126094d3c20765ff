#pragma once
/// @file
/// What agent and keeper agree on. Plain data and libc only: the keeper is a static program without the C++ library.
///
/// One keeper holds one run of one task. The agent starts it as an orphan (so it outlives the agent), with these
/// descriptors and no environment; nothing secret is in its arguments:
///
///   3  the spec: a sealed memory file, closed once the task runs
///   4  a listening unix socket (SOCK_SEQPACKET), bound as `socket` in the control directory, mode 0600
///   5  the file `lock` of the control directory, locked with flock(2): while anybody holds the lock, the keeper lives
///   6  the control directory (0700)
///   7  the log directory
///
/// The spec is text, and a launch plan (os/process/launch.hpp) behind it:
///
///     keeper-spec 1
///     log_name <task>            log_stdout <n>      log_stderr <n>      the newest files that are there
///     log_files <n>              log_bytes <n>                           LogLimits
///     clone <flags>              of clone(2): the namespaces that the keeper makes
///     kill_mode control-group|process
///     adopts 0|1                 the plan's program starts the task, and writes its number to the file `pid`
///     cgroup_kill <path>         cgroup_procs <path>                     oom_events <path>
///                                (one key a line; an empty value: there is none)
///     (an empty line)
///     the bytes of the plan
///
/// The state, as it is in the file `state` and on the socket; times in ns since the epoch, a start time in clock ticks
/// since the boot (field 22 of proc_pid_stat(5)):
///
///     underway-keeper 1
///     phase starting|running|exited|failed|lost
///     kill_mode control-group|process
///     keeper <pid> <start time>
///     task <pid> <start time>
///     started <time>             finished <time>                         0: not yet
///     code <n>                   signal <n>          oom_killed 0|1
///     step <n>                   error <errno>                           of the step of the plan that failed
///     dropped <bytes>
///                                (one key a line)
///     end                        without it the text was cut, and is no state
///
/// The keeper writes the file `state`, starts the task, rotates its output into "<task>.stdout.<n>" and
/// "<task>.stderr.<n>" as Nomad lays them out, reaps whatever the task leaves behind, and when the task's process ends
/// it kills the rest, drains the pipes, and writes the result to `state` (temporary file, fsync, rename) before it
/// tells anybody. With kill mode `process` it kills nothing then and waits for nobody: what the task's process left
/// behind lives on.
///
/// On the socket every message is one packet of text. The keeper sends the state (the text of `state`) on connection
/// and whenever it changes. It understands:
///
///   signal <number>               to the task's process
///   stop <number> <milliseconds>  that signal; when time is up, SIGKILL to all that the kill mode names
///   collect                       the result is safe elsewhere: end, if the task has ended; else ignored
///
/// When the task has ended and the control directory is removed, nobody can come for the result: the keeper ends too.
/// It stays, without lock, socket and directories, only where it would take a reader away from what kill mode
/// `process` left running: it empties the pipes, writing nothing down, until nobody holds their other ends.
///
/// Unknown messages and keys are ignored, so that either side may be the newer one. Only root and the keeper's own
/// user may connect.
///
/// If the keeper itself is killed, the task does not outlive it: with own process numbers the keeper is their init and
/// the kernel kills all; otherwise the task's process gets SIGKILL by its parent death signal, and what is left is
/// killed through the cgroup (or the session) by the agent that finds the lock free. Only then is the task `lost`.
/// With kill mode `process` the task's process alone dies with its keeper.

#include <cstddef>
#include <cstdint>

namespace underway::keeper {

inline constexpr int kSpecFd = 3, kSocketFd = 4, kLockFd = 5, kDirectoryFd = 6, kLogFd = 7;
inline constexpr const char* kStateFile = "state";
inline constexpr const char* kSocketFile = "socket";
inline constexpr const char* kLockFile = "lock";
/// Of a task that another program starts ("adopts 1" in the spec): its number, in digits.
inline constexpr const char* kPidFile = "pid";
inline constexpr std::size_t kMaxPacket = 1024;
inline constexpr std::int32_t kAdoptionStep = -2;

enum class Phase : std::uint8_t {
  starting,  ///< the keeper lives, the task's program does not run yet
  running,
  exited,  ///< result known, all that ends with it dead, its logs complete
  failed,  ///< the program could not be started: `step` and `error`
  lost,    ///< the keeper was killed; never sent by it
};

/// What ends with the task. The words are those of systemd.kill(5), KillMode=.
enum class KillMode : std::uint8_t {
  control_group,  ///< everything that it started
  process,        ///< its own process alone; what that started lives on
};

/// As on the wire: "running", "control-group".
const char* to_text(Phase phase);
const char* to_text(KillMode mode);

struct State {
  Phase phase = Phase::starting;
  KillMode kill_mode = KillMode::control_group;
  std::int32_t keeper_pid = 0;
  std::uint64_t keeper_start = 0;
  /// 0 until the task was forked.
  std::int32_t task_pid = 0;
  std::uint64_t task_start = 0;
  /// Nanoseconds since the Unix epoch; 0 while it has not happened.
  std::int64_t started = 0;
  std::int64_t finished = 0;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  /// The kernel killed in the task's cgroup for lack of memory, and the task did not succeed.
  bool oom_killed = false;
  /// Of the launch plan; -1: the plan itself; kAdoptionStep: `error` is the exit code of the program that was to start
  /// the task, 0 if it started none, 128 and more if a signal ended it.
  std::int32_t step = 0;
  std::int32_t error = 0;
  /// Bytes of output that could not be written (disk full).
  std::uint64_t dropped = 0;
};

/// Writes the text form into `out`, NUL-terminated; returns its length. `size` is at least kMaxPacket.
std::size_t format_state(const State& state, char* out, std::size_t size);
/// False when it is no state; unknown keys are passed over.
bool parse_state(const char* text, std::size_t size, State& state);

/// "key value" lines one by one; a view into `text`.
struct Field {
  const char* key;
  std::size_t key_size;
  const char* value;
  std::size_t value_size;
  bool is(const char* name) const;
  bool says(const char* word) const;
  std::int64_t number() const;
};
/// Takes the next line off `text`; false at an empty line (taken off too) or at the end.
bool next_field(const char*& text, std::size_t& size, Field& field);

}  // namespace underway::keeper
