#pragma once
/// @file
/// The interpreter of launch plans: what a new process does between fork and exec, read from flat bytes.
///
/// It allocates nothing, throws nothing and calls only async-signal-safe functions, so that a child of a threaded
/// process may run it; and it needs nothing but libc, so that the keeper links it. Others use LaunchPlan and spawn().
///
/// A plan; numbers are in the machine's byte order, since it never leaves the machine:
///
///     offset  size  field                 then each step:  offset  size  field
///     0       4     magic: "UWLP"                          0       2     Op
///     4       4     how many steps                         2       2     1: a failure is ignored
///     8             the steps                              4       4     how many strings
///                                                          8       8     size of the step, head and strings
///                                                          16      24    three numbers: a, b, c
///                                                          40            the strings: u32 length, bytes, NUL

#include <cstddef>
#include <cstdint>

namespace underway::os::launch {

/// One system call or a tight group of them; LaunchPlan says what the arguments are. Numbers are never reused: a plan
/// may be read by a keeper of another version.
enum class Op : std::uint16_t {
  write_file = 1,
  set_namespaces = 2,
  unshare = 3,
  fork_again = 4,
  new_session = 5,
  mount = 6,
  unmount = 7,
  make_directory = 8,
  make_symlink = 9,
  make_node = 10,
  touch = 11,
  change_owner = 12,
  change_mode = 13,
  set_mount_attributes = 14,
  pivot_root = 15,
  change_directory = 17,
  set_hostname = 18,
  loopback_up = 19,
  limit = 20,
  set_umask = 21,
  move_fd = 22,
  become_user = 23,
  bound_capabilities = 24,
  keep_capabilities = 25,
  no_new_privileges = 26,
  seccomp = 27,
  parent_death_signal = 28,
  controlling_terminal = 29,
  exec = 30,
  move_mount = 31,
  map_mount = 32,
  give_fd = 33,
  user_namespace = 34,
};

/// The head of a plan and of each of its steps; the strings follow, each as a 32-bit length, the bytes, and a NUL.
struct PlanHead {
  std::uint32_t magic = 0x50'4C'57'55;  // "UWLP"
  std::uint32_t steps = 0;
};
struct StepHead {
  std::uint16_t op = 0;
  std::uint16_t optional = 0;  ///< a failure is ignored
  std::uint32_t strings = 0;
  std::uint64_t size = 0;  ///< of the step, this head included
  std::int64_t a = 0, b = 0, c = 0;
};

/// What the child tells through the report pipe. End of file without a failure: the program runs.
struct Report {
  enum Kind : std::int32_t { process = 1, failure = 2 };
  std::int32_t kind = 0;
  /// For `process`: its id as /proc of its mount namespace numbers it, else as its creator sees it.
  std::int32_t pid = 0;
  /// For `failure`: the step, counted from 0, and the errno; step -1 is a malformed plan.
  std::int32_t step = 0;
  std::int32_t error = 0;
};

/// Whether `bytes` are a well-formed plan that ends in `exec`.
bool well_formed(const char* bytes, std::size_t size);

/// Resets signals and runs the plan. Never returns: execs, or reports the failure through `report_fd` and exits 127.
/// `announce`: first report the own process id.
[[noreturn]] void run(const char* bytes, std::size_t size, int report_fd, bool announce);

}  // namespace underway::os::launch
