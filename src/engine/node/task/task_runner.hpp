#pragma once
/// @file
/// One task of an allocation, from its directories to its last exit. A coroutine tells the story (run); requests from
/// outside set flags and wake it. The record is written to disk, through `changed`, before a step that matters is
/// taken.

#include <memory>
#include <optional>
#include <string>

#include "async/event.hpp"
#include "async/group.hpp"
#include "network/network.hpp"
#include "node/allocation/disk.hpp"
#include "node/node.hpp"
#include "node/allocation/restart_tracker.hpp"
#include "node/runtime.hpp"
#include "node/server/server_data.hpp"
#include "node/allocation/state_file.hpp"
#include "node/task/task_api.hpp"
#include "node/template/template_renderer.hpp"

namespace underway::node {

struct FetchRequest;

/// What the task runners of one node share. All outlive them.
struct RunnerContext {
  Runtime& runtime;
  TaskDrivers& drivers;
  const Options& options;
  const model::Node& node;
  const model::StringMap& host_environment;
  NodeStats& stats;
  ClusterData* cluster_data = nullptr;              ///< null: templates that ask for variables or services wait
  network::AllocationNetworks* networks = nullptr;  ///< null: this agent can make none
  Predecessors* predecessors = nullptr;             ///< null: every disk begins empty (tests)
  ServerData* server = nullptr;  ///< null: there is none, and templates and identities do without (tests)
  /// Dynamic host volumes of the node, by name; null: there are none.
  const std::map<std::string, model::NodeVolume>* host_volumes = nullptr;
  TaskApi* task_api = nullptr;  ///< null: tasks get none (tests)
};

class TaskRunner {
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
  void kill(std::optional<model::TaskEvent> reason, bool fails);
  /// When it is stopped, now or later, that does not wait for its `shutdown_delay`.
  void skip_shutdown_delay();
  /// Stops it and starts it again, without counting as a failure. Errors: invalid when it does not run.
  void restart(const std::string& reason);
  /// The same because it does not work: counts as a failure. Nothing happens when it does not run.
  void restart_unhealthy(const std::string& reason);
  /// Its turn in the lifecycle comes again: what runs is stopped, what has ended is as if it never had begun, and it
  /// waits until it is permitted. That costs no attempt. True: it had ended, and run() is to be called again.
  bool begin_anew(const std::string& reason);
  /// Errors: invalid when it does not run or the signal is unknown.
  void signal(const std::string& name, const std::string& reason);
  /// A new version of its job, or of its allocation, that needs no restart: policies, templates, metadata.
  void update(std::shared_ptr<const model::Allocation> allocation);
  /// Failed or over before it could run: it never starts.
  void fail(model::TaskEvent event);
  /// Something that people should know of it.
  void tell(model::TaskEvent event) { record_event(std::move(event)); }
  /// What its namespace gives it; counts from the next start on.
  void set_rights(model::HostRights rights) { rights_ = std::move(rights); }
  /// Before it is started or re-attached.
  void set_network(TaskNetwork network) { network_ = std::move(network); }

  const model::Task& task() const { return *task_; }
  const TaskRecord& record() const { return record_; }
  const model::TaskState& state() const { return record_.state; }
  /// Told to end for good, and not dead yet.
  bool ending() const { return kill_ && !dead(); }
  bool dead() const { return record_.state.state == model::TaskRunState::dead; }
  bool running() const { return record_.state.state == model::TaskRunState::running; }
  /// Since the agent was started: how often it was started, and killed because it took too much memory.
  std::int64_t starts() const { return starts_; }
  std::int64_t oom_kills() const { return oom_kills_; }
  /// Null while it does not run.
  const std::shared_ptr<RunningTask>& process() const { return process_; }
  /// What `${…}` stands for in it. Complete once it has run.
  const Interpolation& interpolation() const { return interpolation_; }

 private:
  struct Kill {
    std::optional<model::TaskEvent> reason;
    bool fails = false;
  };

  const model::TaskGroup& group() const;
  model::RestartPolicy policy() const;
  LaunchSpec launch_spec() const;
  Duration kill_timeout() const;
  std::string kill_signal() const;

  void record_event(model::TaskEvent event);
  void become(model::TaskRunState state);
  awaitable<void> until_permitted();
  void tell_wait();
  awaitable<void> pause(Duration span);
  /// Setup and start. Nothing: it runs.
  awaitable<std::optional<EndKind>> launch();
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

  TemplateInputs template_inputs(const model::Task& task, const Interpolation& interpolation) const;
  /// Renders until nothing is missing.
  awaitable<void> render_first(const TemplateInputs& inputs);
  /// Follows what the templates asked for. True if that is more or other than before.
  bool watch(const TemplateAsker& asker, const gotemplate::Dependencies& what);
  void data_changed();
  /// How long data that has changed is left to settle.
  Duration settling();
  void tell_missing(const std::vector<std::string>& missing);
  /// Who the task runs as, by its user's name; again after a restart of the agent.
  awaitable<void> find_user();
  awaitable<void> fetch_identities();
  awaitable<std::string> renew_identity(model::Identity identity);
  awaitable<void> write_identity(model::Identity identity);
  awaitable<void> recall_identities();
  awaitable<void> keep_identities();
  TimePoint renewal_of(const model::Identity& identity);
  std::string identity_path(const model::Identity& identity) const;

  /// Waits until the variables of all `secret` blocks are there, and takes them in; once per start.
  awaitable<void> fetch_secrets();
  /// Those of `task`, if all are there; else what is missing. Nothing: the server has not answered for all of them yet.
  std::optional<std::vector<std::string>> take_secrets(const model::Task& task, const TemplateAsker& asker);
  /// The text without values of secrets.
  std::string without_secrets(std::string text) const;

  /// Renders again, and does what the templates want done when they change. One at a time.
  awaitable<void> apply_update();
  awaitable<void> update_once();
  awaitable<void> run_change(TemplateChange change, std::shared_ptr<RunningTask> process);
  void build_interpolation();

  RunnerContext& context_;
  std::shared_ptr<const model::Allocation> allocation_;
  const model::Task* task_;
  TaskRecord record_;
  std::int64_t starts_ = 0, oom_kills_ = 0;
  std::function<void()> changed_callback_;
  AllocationDirectory directory_;
  TaskNetwork network_;
  model::HostRights rights_;
  RestartTracker tracker_;
  Interpolation interpolation_;
  os::User user_;
  model::StringMap rendered_environment_;
  gotemplate::Dependencies watched_;
  std::shared_ptr<void> watch_;
  std::shared_ptr<void> settle_timer_;
  std::optional<TimePoint> unsettled_since_;
  bool data_changed_ = false;
  bool updating_ = false;
  bool update_again_ = false;
  model::StringMap identity_environment_;
  struct Token {
    std::string token;
    TimePoint issued, expires;
  };
  std::map<std::string, Token> tokens_;  ///< by identity

  model::StringMap secrets_;  ///< as Interpolation::secrets
  bool secrets_known_ = false;
  bool secrets_changed_ = false;
  std::shared_ptr<void> secrets_watch_;  ///< kept, so that a start without a link finds what was known

  bool permitted_ = false;
  std::string waiting_for_;  ///< while it is not permitted; empty: nothing special
  bool held_ = false;        ///< changes are collected into one write
  std::optional<Kill> kill_;
  std::optional<EndKind> restart_asked_;
  bool in_run_ = false;         ///< run() has not returned
  bool stop_at_start_ = false;  ///< begin_anew() came while the driver started it
  std::string unhealthy_reason_;
  std::shared_ptr<RunningTask> process_;
  std::shared_ptr<Program> fetching_;
  bool shutdown_delay_skipped_;
  std::shared_ptr<void> shutdown_timer_;
  std::unique_ptr<TaskApi::Listener> api_;
  async::Event wake_;
  async::TaskGroup side_;  ///< updates of templates beside the main story
};

/// Task groups of which an allocation's order speaks must exist; throws not_found otherwise.
const model::TaskGroup& group_of(const model::Allocation& allocation);

/// Its number; "SIGHUP", "HUP" or "1". Throws invalid.
int get_signal(const std::string& name);

}  // namespace underway::node
