#pragma once
/// @file
/// The keeper's side of its control directory: what it is told to do (the spec), what it tells (the state), and
/// whether anybody could still come for that. libc only: part of the keeper.

#include <sys/types.h>

#include "keeper/protocol.hpp"

namespace underway::keeper {

struct Spec {
  char log_name[200] = {};
  std::uint32_t log_index[2] = {0, 0};
  std::uint32_t log_files = 10;
  std::uint64_t log_bytes = 10 << 20;
  KillMode kill_mode = KillMode::control_group;
  long clone = 0;
  /// The program of the plan starts the task, and has not ended yet.
  bool adopts = false;
  char cgroup_kill[512] = {}, cgroup_procs[512] = {}, oom_events[512] = {};
  const char* plan = nullptr;
  std::size_t plan_size = 0;
  void* mapped = nullptr;
  std::size_t mapped_size = 0;
};

/// False when there is none that is understood.
bool read_spec(Spec& spec);
/// Once the task runs, the secrets in it are no longer ours.
void forget_plan(Spec& spec);

/// Whole, or not at all, if the disk has room; `flush`: it survives a loss of power.
void write_state(const State& state, bool flush);

/// The number that the program left which started the task; 0 when there is no such process.
pid_t started_task();

/// Whether the control directory is gone: whoever removed it will not come for the result. It may be an agent that was
/// killed between writing the result down and collecting it, or an administrator who cleaned up.
class Removal {
 public:
  /// Wakes who polls the descriptor when the directory goes. Nothing is watched (-1) when the kernel has no inotify
  /// instance left for this user.
  void watch();
  bool happened();
  int descriptor() const { return inotify_; }
  void close();

 private:
  int inotify_ = -1;
};

}  // namespace underway::keeper
