#pragma once
/// @file
/// The agent's side of a keeper: start a task under one, find it again after a restart, signal it, stop it, learn how
/// it ended. The contract between both is in protocol.hpp.
///
///   Client client = Client::launch(spec);              // the task runs, or an Error says why not
///   … restart of the agent …
///   Client client = Client::attach(directory, group);  // same process, no gap in its logs; or its result; or lost
///   … client.fd() is readable … if (client.poll()) … client.state().phase == Phase::exited …
///   client.collect();                                  // once the result is safe: keeper and files go
///
/// Nothing here blocks for longer than it says, and there is no thread: watch fd() in a loop. Thread: one at a time.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "keeper/protocol.hpp"
#include "os/fd.hpp"
#include "os/process/cgroup.hpp"
#include "os/process/launch_plan.hpp"
#include "os/process/process.hpp"

namespace underway::keeper {

struct LogLimits {
  std::string directory;         ///< "<alloc>/alloc/logs"
  std::string name;              ///< the task's
  std::uint32_t max_files = 10;  ///< 0: output is discarded
  std::uint64_t max_bytes = 10U << 20;
};

struct LaunchSpec {
  /// The keeper's executable.
  std::string program;
  /// The control directory: made, 0700, and only for this run of the task.
  std::string directory;
  /// Shown by ps as the keeper's argument: "7f3a/web".
  std::string description;
  /// The program of `plan` is not the task: it starts the task, writes the task's number into the file `pid` of
  /// `directory` and ends with 0. The keeper, whose child the task has become by then, holds that one. Otherwise the
  /// start has failed.
  bool adopts = false;
  /// What the task does, ending in exec. Standard input, output and error are already in place.
  os::LaunchPlan plan;
  /// CLONE_NEW* bits for the task. With CLONE_NEWPID it is the first process of new numbers itself, and its end is
  /// theirs; it then sets its parent death signal, or would outlive its keeper.
  int namespaces = 0;
  /// The keeper becomes init of new process numbers, the task one of its children.
  bool own_process_numbers = false;
  /// Where keeper and task have their network; null: where the agent has it.
  const os::Namespace* network = nullptr;
  LogLimits logs;
  /// Where the plan moves the task. With kill mode control_group killed as a whole with it, and after the death of the
  /// keeper.
  std::optional<std::string> cgroup;
  /// `process` does not go together with process numbers of its own, whose end is everybody's.
  KillMode kill_mode = KillMode::control_group;
};

class Client {
 public:
  /// Starts keeper and task, and returns when the task's program runs (or has ended already).
  /// Errors: the step of the plan that failed (not_found for a missing command); conflict if a keeper lives in the
  /// directory; timeout after `within`. Nothing of the task is left then. Blocks: yes.
  static Client launch(const LaunchSpec& spec, const os::CgroupSystem& system,
                       Duration within = std::chrono::seconds{10});

  /// Finds the keeper of `directory`. If it has died: its result when it had written one, else makes sure that
  /// everything that ends with the task is dead (cgroup, session; with kill mode process, its process) and reports
  /// `lost`; then fd() is -1. A directory in which no
  /// keeper ever began is `lost` with a task of pid 0: it was never started.
  /// Errors: unavailable when the keeper lives and does not answer in `within`; timeout when something will not die.
  static Client attach(const std::string& directory, const std::optional<std::string>& cgroup,
                       const os::CgroupSystem& system, Duration within = std::chrono::seconds{5});

  Client(Client&&) noexcept = default;
  Client& operator=(Client&&) noexcept = default;

  /// Readable when poll() may have news; -1 once the keeper has gone.
  int fd() const { return socket_.get(); }
  /// Takes in what has come, without waiting; true when the state has changed. If the keeper has died, as in attach
  /// (which may then take seconds).
  bool poll();
  /// Waits for the task's end; false when `within` passed first. Blocks: yes.
  bool wait(Duration within);

  const State& state() const { return state_; }
  bool ended() const { return state_.phase != Phase::starting && state_.phase != Phase::running; }
  os::ProcessIdentity task() const { return {state_.task_pid, state_.task_start}; }
  os::ProcessIdentity keeper() const { return {state_.keeper_pid, state_.keeper_start}; }
  const std::string& directory() const { return directory_; }

  /// Neither waits for an effect; nothing happens when the task has ended.
  void signal(int number);
  /// `number` to the task's process now, SIGKILL after `grace` to all that the kill mode names.
  void stop(int number, Duration grace);
  /// Lets the keeper end and removes the control directory. Only once the task has ended and its result is kept.
  void collect();

 private:
  Client(std::string directory, std::optional<std::string> cgroup, os::CgroupSystem system)
      : directory_(std::move(directory)), cgroup_(std::move(cgroup)), system_(std::move(system)) {}
  void connect(Duration within);
  void dismiss();
  void discard();
  bool wait_state(Duration within, bool (*enough)(const State&));
  void settle();
  void send(const std::string& request);

  std::string directory_;
  std::optional<std::string> cgroup_;
  os::CgroupSystem system_;
  os::Fd socket_;
  State state_;
};

/// The number that the next log file of `stream` ("web.stdout") gets: that of the last one present, or 0.
std::uint32_t last_log_index(const std::string& directory, const std::string& stream);

}  // namespace underway::keeper
