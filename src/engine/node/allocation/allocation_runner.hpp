#pragma once
/// @file
/// One allocation on this node: its tasks in the order of their lifecycle, its status and health, and its end.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/event.hpp"
#include "async/group.hpp"
#include "node/allocation/check_runner.hpp"
#include "node/allocation/disk.hpp"
#include "node/allocation/state_file.hpp"
#include "node/task/task_runner.hpp"

namespace underway::node {

/// What the server shall know of an allocation, from its tasks' states. Source: Nomad's getClientStatus
/// (client/allocrunner): one failed task fails it; else one that runs makes it run; else one that is pending.
struct ClientState {
  model::ClientStatus status = model::ClientStatus::pending;
  std::string description;
};
ClientState client_state(const std::map<std::string, model::TaskState>& tasks);

/// Whether the tasks do what they are for: every main task and sidecar runs, prestart and poststart tasks have done
/// their work. Main tasks of batch jobs count when they succeeded, too.
bool tasks_work(const model::TaskGroup& group, const std::map<std::string, model::TaskState>& tasks);

/// Which tasks may start now, given how far the others are.
std::vector<std::string> startable(const model::TaskGroup& group, const std::map<std::string, model::TaskState>& tasks);

class AllocationRunner final : private CheckSubject {
 public:
  /// `files` keeps its state; `reported` is called when the server has something new to hear.
  AllocationRunner(RunnerContext& context, StateFiles& files, StoredOrder order, AllocationState state,
                   std::function<void()> reported);
  ~AllocationRunner() override;
  AllocationRunner(const AllocationRunner&) = delete;
  AllocationRunner& operator=(const AllocationRunner&) = delete;

  /// After a restart of the agent, before start().
  awaitable<void> reattach();
  void start();
  /// Cancels and waits; the tasks run on.
  awaitable<void> let_go();

  /// A new order for the same allocation: start now, stop, or a new version of its job.
  void obey(StoredOrder order);
  /// The server has forgotten it: stop, then remove everything. `destroyed()` afterwards.
  void destroy();
  /// When every task is dead, removes directories and state. Throws while tasks live.
  awaitable<void> remove_directories();

  awaitable<void> wait_until_dead();

  /// Without a task: every one that runs. Errors: not_found, invalid.
  void restart(const std::string& task);
  /// Stops what runs, then begins as at first: those that have ended too, in the order of their lifecycle. Poststop
  /// tasks wait for the end as ever. Errors: invalid when it has ended or is about to.
  void restart_all();
  void signal(const std::string& task, const std::string& signal);
  /// Without a task: to every one that runs, one after the other; the first error ends it. The checkpoints that were
  /// made. let_go() waits for it. Errors: not_found, and those of TaskRunner.
  awaitable<std::vector<protocol::TaskCheckpoint>> do_to_machines(std::string task, MachineVerb verb);

  /// Without a task: of all. Errors: not_found (the task).
  awaitable<std::vector<protocol::TaskCheckpoint>> checkpoints(std::string task);
  /// The machine that has it goes back to a checkpoint. Without a task, whichever has it. Errors: not_found; invalid
  /// (it is being stopped).
  awaitable<void> restore(std::string task, std::string checkpoint);

  const std::string& id() const { return allocation_->id; }
  const model::Allocation& allocation() const { return *allocation_; }
  bool dead() const;
  bool wanted_gone() const { return state_.destroy; }
  /// Somebody waits for what becomes of it: see AllocationOrder.
  bool guarded() const { return order_.guarded; }
  /// When its last task ended, ns since the epoch.
  std::int64_t finished_at() const;
  model::AllocationUpdate update() const;
  /// Throws not_found, or invalid when it does not run.
  std::shared_ptr<RunningTask> running_task(const std::string& task) const;
  const std::map<std::string, std::unique_ptr<TaskRunner>>& tasks() const { return runners_; }
  /// The newest result of each check.
  std::vector<model::CheckResult> check_results() const;
  const AllocationDirectory& directory() const { return directory_; }
  bool awaits_disk_of(const std::string& other) const {
    return allocation_->previous_allocation == other && wants_disk();
  }

  /// What its machines keep, for who takes them in. Errors: unsupported.
  awaitable<std::vector<protocol::KeptMachine>> kept_machines();
  /// Sends the machine of a task to another node while it runs. Errors: it runs on.
  awaitable<protocol::Departure> send_machine(protocol::MachineStream request);
  /// Where what is sent to a machine goes in. Errors: not_found.
  awaitable<os::Fd> entrance(std::string task, bool disk);
  /// A machine of it waits to hear that it is ours.
  bool stands_still() const;
  /// Where one of them is; empty: nowhere. Errors: not_found. Blocks: briefly (disk).
  std::string kept_in(const std::string& task) const;

  /// What it waits for before its tasks can start, when that is the disk of its predecessor.
  enum class AwaitsDisk { no, of_this_node, of_another };
  AwaitsDisk awaits_disk() const { return awaits_disk_; }

  /// Set when what the server knows is older than update(). Cleared by who sends it.
  bool unreported = true;

 private:
  void task_changed(const std::string& name);
  void hand_on_rights();
  /// Looks at everything anew: who may start, who must stop, status, health.
  void review();
  void write_state();
  HealthSigns health_signs(const std::map<std::string, model::TaskState>& tasks) const;
  Failures failures() const;
  void measure_health();
  /// The checks of the present version; those that stay the same go on.
  void plan_checks();
  /// Each check is done while what it is about runs.
  void direct_checks(const std::map<std::string, model::TaskState>& tasks);
  std::shared_ptr<RunningTask> check_process(const std::string& task) const override;
  std::vector<std::string> check_command(const std::string& task,
                                         const std::vector<std::string>& command) const override;
  void check_changed() override;
  void check_failed(const std::string& task, const std::string& reason) override;
  void health_changed();
  std::map<std::string, model::TaskState> states() const;
  TaskRunner& get_task(const std::string& name) const;
  void begin_anew();
  void kill_all(const model::TaskEvent& reason, const std::string& except);
  /// `max_run_duration`, counted from the first start of a task, whether or not a server is heard of.
  void limit_run_time(const std::map<std::string, model::TaskState>& tasks);
  // allocation_disk.cpp: `ephemeral_disk`, while tasks run
  awaitable<void> watch_disk();
  void judge_disk(const DiskUse& use);
  // allocation_sleep.cpp: its virtual machines sleep while the order says so
  void follow_sleep();
  awaitable<void> put_to_sleep(std::string task);
  /// Absent: nobody ever asked.
  std::optional<model::AllocSleepReport> sleep_report() const;
  bool asleep() const;
  // allocation_arrival.cpp: machines that come from another node
  model::ArrivalPhase arrival_phase() const;
  bool awaits_machines() const;
  void note_arrival(model::ArrivalPhase phase, const std::string& trouble);
  void note_sleep(const std::string& why);
  /// Absent: none come.
  std::optional<model::AllocArrivalReport> arrival_report() const;
  awaitable<void> take_machines();
  awaitable<std::string> why_not_here(std::vector<protocol::KeptMachine>& machines);
  awaitable<void> look_whether_here();
  awaitable<void> bring_machines();
  awaitable<void> remove_kept();
  // move/allocation_move.cpp: machines that go to another node while they run
  struct Departing;
  awaitable<void> depart(std::shared_ptr<Departing> departing);
  awaitable<void> watch_door(os::Fd door, protocol::MachineStream header);
  /// Until it is known whose the machine of the task is: it goes on here, or ends.
  awaitable<void> settle_departure(std::string task);
  awaitable<void> settle_left_open(std::string task);
  /// Why they cannot come while they run; empty: they can.
  awaitable<std::string> why_not_running(std::vector<protocol::KeptMachine> machines);
  /// Why they did not; empty: all of them is here, and stands still.
  awaitable<std::string> take_running();
  /// The order of stopping: leader, then mains, then sidecars; poststop tasks run afterwards.
  awaitable<void> stop_in_order();
  void begin_stop();

  // allocation_preparation.cpp: what all its tasks need before the first of them starts
  awaitable<void> prepare();
  /// The network of the group, when that is not the host's, and the files by which it finds names.
  awaitable<void> find_network();
  awaitable<void> join_network();
  awaitable<void> leave_network();
  void adopt_network(network::Attachment attachment);
  void give_names();
  bool wants_names() const;
  const model::NetworkResource* own_network() const;
  std::shared_ptr<const model::Allocation> with_network(model::Allocation allocation) const;
  awaitable<void> settle_disk();
  awaitable<void> bring_disk(const std::vector<std::string>& parts);
  bool wants_disk() const;
  void tell_all(const model::TaskEvent& event);

  RunnerContext& context_;
  StateFiles& files_;
  protocol::AllocationOrder order_;
  std::shared_ptr<const model::Allocation> allocation_;
  AllocationState state_;
  std::function<void()> reported_;
  AllocationDirectory directory_;
  std::map<std::string, std::unique_ptr<TaskRunner>> runners_;
  bool started_ = false;
  bool stopping_ = false;
  bool prepared_ = false, preparing_ = false;
  bool network_left_ = false;
  bool kept_removed_ = false;
  AwaitsDisk awaits_disk_ = AwaitsDisk::no;
  std::optional<network::Attachment> network_;
  HealthMonitor health_;
  std::vector<std::shared_ptr<CheckRunner>> checks_;
  bool reviewing_ = false, review_again_ = false;
  std::shared_ptr<void> run_timer_;
  std::optional<Duration> run_limit_;  ///< what the timer was set by
  bool overdue_ = false;
  bool told_of_disk_ = false;
  int on_machines_ = 0;  ///< calls of do_to_machines(), put_to_sleep() and depart() that go on
  bool letting_go_ = false;
  std::string sleep_trouble_;  ///< why they run on although they are to sleep
  std::int64_t sleep_of_ = 0;  ///< the wish that this is about: AllocSleep::since
  async::Event task_event_;
  async::TaskGroup work_;
};

/// Names and identifiers become paths and cgroup names: throws invalid for those that could lead elsewhere.
void check_names(const model::Allocation& allocation);

}  // namespace underway::node
