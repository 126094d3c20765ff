#pragma once
/// @file
/// One task of an allocation, from its directories to its last exit. One coroutine, run(), goes through all of it in
/// order; requests from outside set flags and wake it. The record is written to disk, through `changed`, before each
/// step that an agent started later has to know of: before the driver is asked for an attempt, and once its end was
/// seen. What it finds when it starts, its secrets, tokens and templates are objects of their own, which see it as a
/// TaskSubject.

#include <memory>
#include <optional>
#include <string>

#include "async/event.hpp"
#include "async/group.hpp"
#include "node/allocation/restart_tracker.hpp"
#include "node/allocation/state_file.hpp"
#include "node/node.hpp"
#include "node/task/task_environment.hpp"
#include "node/task/task_identities.hpp"
#include "node/task/task_secrets.hpp"
#include "node/task/task_templates.hpp"

namespace underway::node {

struct FetchRequest;

class TaskRunner final : private TaskSubject {
 public:
  /// `changed` is called after each change of the record; it must write it down before it returns.
  TaskRunner(RunnerContext& context, std::shared_ptr<const model::Allocation> allocation, std::string task,
             TaskRecord record, std::function<void()> changed);
  TaskRunner(const TaskRunner&) = delete;
  TaskRunner& operator=(const TaskRunner&) = delete;

  /// First of all after a restart of the agent: finds what an earlier agent left. Then run().
  awaitable<void> reattach();
  /// Until the task is dead for good. Cancelled: lets go, and the task runs on.
  awaitable<void> run();

  /// Before destruction: ends what goes on beside run().
  awaitable<void> let_go();

  /// Its turn in the lifecycle has come.
  void permit();
  /// The opposite: while it does not run it is not started until it is permitted; `what` tells people what for.
  /// `stop_now`: if it runs, it is stopped and waits as well; that counts as no failure.
  void hold(const std::string& what, bool stop_now);
  /// Ends it for good. The reason is recorded; `fails` marks the task as failed. Only the first call counts.
  void kill(std::optional<model::TaskEvent> reason, bool fails) override;
  /// When it is stopped, now or later, that does not wait for its `shutdown_delay`.
  void skip_shutdown_delay();
  /// Stops it and starts it again, without counting as a failure. Errors: invalid when it does not run.
  void restart(const std::string& reason) override;
  /// The same because it does not work: counts as a failure. Nothing happens when it does not run.
  void restart_unhealthy(const std::string& reason);
  /// Its turn in the lifecycle comes again: what runs is stopped, what has ended is as if it never had begun, and it
  /// waits until it is permitted. That costs no attempt. True: it had ended, and run() is to be called again.
  bool begin_anew(const std::string& reason);
  /// Errors: invalid when it does not run or the signal is unknown.
  void signal(const std::string& name, const std::string& reason) override;
  /// To a virtual machine; what a checkpoint has made. The runner must be there until it returns. Errors: invalid when
  /// it does not run or is being stopped, conflict while another goes on, and those of driver::TaskHandle.
  awaitable<std::optional<protocol::TaskCheckpoint>> do_to_machine(MachineVerb verb);
  /// Puts a virtual machine to sleep; it goes on from there when it is permitted to. That counts as no failure. Errors:
  /// as of do_to_machine; then it runs on.
  awaitable<void> suspend();
  /// Has a virtual machine go back to a checkpoint: what it has done since is gone. One that sleeps, or is about to
  /// start, does so at its next start.
  void restore(const std::string& checkpoint);
  // node/move/task_move.cpp: a virtual machine that goes to another node while it runs.

  /// How it can; nothing: it does not run.
  awaitable<std::optional<protocol::LiveMachine>> live();
  /// Sends it to allocation `to`. `open` is given where it connects to. From then on it stands still until stay() or
  /// leave(), and does not begin again either. Errors: as of do_to_machine; then it runs on.
  awaitable<protocol::Departure> depart(std::string to, std::function<void(Doors)> open);
  /// The allocation that it is being sent to, or was; empty: none.
  const std::string& sent_to() const { return record_.sent_to; }
  /// That one does not have it, and will not: it goes on here.
  awaitable<void> stay();
  /// That one has it: it ends here.
  awaitable<void> leave();

  /// Starts what takes in a machine. It stands still, and counts as not started until it is permitted. Errors: those of
  /// a start.
  awaitable<void> start_target();
  /// Errors: not_found (nothing takes in a machine here).
  awaitable<os::Fd> entrance(bool disk);
  /// Until all of the machine is here, of which `departure` is told. Errors: it did not come.
  awaitable<void> await_memory(protocol::Departure departure);
  /// The machine does not come. Nothing happens when none was to.
  awaitable<void> drop_target();
  bool has_target() const { return target_ != nullptr; }

  /// A new version of its job, or of its allocation, that needs no restart: policies, templates, metadata.
  void update(std::shared_ptr<const model::Allocation> allocation);
  /// Failed or over before it could run: it never starts.
  void fail(model::TaskEvent event);
  /// Something that people should know of it.
  void tell(model::TaskEvent event) override { record_event(std::move(event)); }
  /// What its namespace gives it; counts from the next start on.
  void set_rights(model::HostRights rights) { rights_ = std::move(rights); }
  /// Before it is started or re-attached.
  void set_network(TaskNetwork network) { network_ = std::move(network); }

  const model::Task& task() const override { return *task_; }
  const TaskRecord& record() const { return record_; }
  /// Nothing is there any more of what it kept.
  void forget_kept();
  const model::TaskState& state() const { return record_.state; }
  /// Told to end for good, and not dead yet.
  bool ending() const { return asked_.kill && !dead(); }
  bool dead() const { return record_.state.state == model::TaskRunState::dead; }
  bool running() const { return record_.state.state == model::TaskRunState::running; }
  /// Since the agent was started: how often it was started, and killed because it took too much memory.
  std::int64_t starts() const { return starts_; }
  std::int64_t oom_kills() const { return oom_kills_; }
  /// Null while it does not run.
  const std::shared_ptr<RunningTask>& process() const override { return process_; }
  /// What `${…}` stands for in it. Complete once it has run.
  const Interpolation& interpolation() const { return environment_.interpolation(); }

 private:
  struct Kill {
    std::optional<model::TaskEvent> reason;
    bool fails = false;
  };
  /// What was asked of it from outside and is not done yet.
  struct Requests {
    bool permitted = false;
    std::string waiting_for;  ///< while it is not permitted; empty: nothing special
    std::optional<Kill> kill;
    std::optional<EndKind> restart;
    std::string unhealthy;           ///< why, when `restart` is that
    bool stop_at_start = false;      ///< begin_anew() came while the driver started it
    bool no_shutdown_delay = false;  ///< when it is stopped
  };

  // For the parts of it.
  const std::shared_ptr<const model::Allocation>& allocation() const override { return allocation_; }
  bool killed() const override { return asked_.kill.has_value(); }
  bool restarting() const override { return asked_.restart.has_value(); }
  void tell_once(model::TaskEvent event) override;
  awaitable<void> pause(Duration span) override;
  awaitable<void> wait_for_news() override { return wake_.wait(); }
  void wake() override { wake_.notify_all(); }
  void run_beside(const std::string& name, awaitable<void> work) override;

  const model::TaskGroup& group() const;
  model::RestartPolicy policy() const;
  LaunchSpec launch_spec() const;
  /// To start it: with its devices and volumes.
  LaunchSpec start_spec() const;
  Duration kill_timeout() const;
  std::string kill_signal() const;

  void record_event(model::TaskEvent event);
  void become(model::TaskRunState state);
  /// Has the turn with the machine: one verb at a time.
  std::shared_ptr<void> take_machine(MachineVerb verb);
  /// Its machine ends at once, and starts again: nobody needs what it is in the middle of.
  void give_up_machine();
  awaitable<void> until_permitted();
  void tell_wait();
  /// Setup and start. Nothing: it runs.
  awaitable<std::optional<EndKind>> launch();
  /// The same of the machine that was taken in.
  awaitable<std::optional<EndKind>> go_on_here();
  /// Before and after the driver is asked for an attempt. `changed_since`: what it was prepared for is not the newest.
  void note_attempt();
  void begun(bool changed_since);
  void tell_of_way(Duration stood_still);
  awaitable<void> prepare();
  /// A task runs without, and people are told.
  awaitable<void> open_api();
  /// Errors: denied.
  void require_right_to(const FetchRequest& request) const;
  awaitable<void> fetch_artifacts(const TemplateInputs& inputs);
  /// Records the end and what follows from it; as decide.
  std::optional<Duration> ended(const TaskEnd& end);
  /// After what delay it starts again; nothing: it is dead for good.
  std::optional<Duration> decide(EndKind end, bool success);
  void changed();
  void note_failure(std::string what);
  void ask_restart(EndKind kind, const std::string& reason);
  void finish(bool failed);
  void begin_stop();
  /// Sends the signal that ends it.
  void stop_now();

  RunnerContext& context_;
  std::shared_ptr<const model::Allocation> allocation_;
  const model::Task* task_;
  TaskRecord record_;
  std::int64_t starts_ = 0, oom_kills_ = 0;
  std::function<void()> changed_callback_;
  TaskNetwork network_;
  model::HostRights rights_;
  RestartTracker tracker_;
  TaskEnvironment environment_;
  TaskSecrets secrets_;
  TaskIdentities identities_;
  TaskTemplates templates_;

  Requests asked_;
  bool held_ = false;                      ///< changes are collected into one write
  bool in_run_ = false;                    ///< run() has not returned
  std::optional<MachineVerb> on_machine_;  ///< what is being done to it
  std::shared_ptr<RunningTask> process_;
  std::shared_ptr<RunningTask> target_;  ///< takes in a machine; it becomes process_ when that goes on here
  bool starting_target_ = false;
  std::optional<protocol::Departure> came_;  ///< when, and how: of the machine in target_
  std::chrono::steady_clock::time_point came_at_;
  std::shared_ptr<Program> fetching_;
  std::shared_ptr<void> shutdown_timer_;
  std::unique_ptr<TaskApi::Listener> api_;
  async::Event wake_;
  async::TaskGroup side_;  ///< of its parts, beside the main story
};

/// Task groups of which an allocation's order speaks must exist; throws not_found otherwise.
const model::TaskGroup& group_of(const model::Allocation& allocation);

/// Its number; "SIGHUP", "HUP" or "1". Throws invalid.
int get_signal(const std::string& name);

}  // namespace underway::node
