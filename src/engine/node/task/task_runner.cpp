#include "node/task/task_runner.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "node/task/task_event.hpp"
#include "os/process/process.hpp"

namespace underway::node {

using model::TaskRunState;

const model::TaskGroup& group_of(const model::Allocation& allocation) {
  const model::TaskGroup* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  if (group == nullptr)
    throw Error(Code::not_found, fmt::format("allocation {} belongs to group '{}', which job '{}' does not have",
                                             allocation.id, allocation.group, allocation.job_id));
  return *group;
}

TaskRunner::TaskRunner(RunnerContext& context, std::shared_ptr<const model::Allocation> allocation, std::string task,
                       TaskRecord record, std::function<void()> changed)
    : context_(context),
      allocation_(std::move(allocation)),
      task_(group_of(*allocation_).find_task(task)),
      record_(std::move(record)),
      changed_callback_(std::move(changed)),
      tracker_({}, {record_.restart_count, record_.restart_interval_start}),
      environment_(context, *this, AllocationDirectory(context.options.data_dir, allocation_->id)),
      secrets_(context, *this, environment_),
      identities_(context, *this, environment_),
      templates_(context, *this, environment_, secrets_),
      side_(context.runtime.executor(), "task " + task) {
  if (task_ == nullptr)
    throw Error(Code::not_found, fmt::format("group '{}' has no task '{}'", allocation_->group, task));
  asked_.no_shutdown_delay = allocation_->transition.no_shutdown_delay;
  tracker_.set_policy(policy());
}

const model::TaskGroup& TaskRunner::group() const { return group_of(*allocation_); }

model::RestartPolicy TaskRunner::policy() const {
  if (task_->restart) return *task_->restart;
  if (group().restart) return *group().restart;
  return model::RestartPolicy::for_type(allocation_->job->type);
}

Duration TaskRunner::kill_timeout() const { return std::min(task_->kill_timeout, context_.options.max_kill_timeout); }

std::string TaskRunner::kill_signal() const { return task_->kill_signal.empty() ? "SIGINT" : task_->kill_signal; }

void TaskRunner::record_event(model::TaskEvent event) {
  event.message = secrets_.redact(std::move(event.message));
  for (auto& [name, text] : event.details) text = secrets_.redact(std::move(text));
  event::append(record_.state, std::move(event), context_.runtime.now());
  changed();
}

void TaskRunner::changed() {
  if (held_) return;
  record_.restart_count = tracker_.counters().count;
  record_.restart_interval_start = tracker_.counters().interval_start;
  changed_callback_();
}

void TaskRunner::become(TaskRunState state) {
  record_.state.state = state;
  const std::int64_t now = unix_nanos(context_.runtime.now());
  if (state == TaskRunState::running && record_.state.started_at == 0) record_.state.started_at = now;
  if (state == TaskRunState::dead) record_.state.finished_at = now;
}

// --- requests

void TaskRunner::permit() {
  asked_.waiting_for.clear();
  if (asked_.permitted) return;
  asked_.permitted = true;
  wake_.notify_all();
}

void TaskRunner::hold(const std::string& what, bool stop_now) {
  if (dead() || asked_.kill) return;
  asked_.permitted = false;
  asked_.waiting_for = what;
  if (!running()) return tell_wait();
  if (stop_now && process_ && !asked_.restart) restart(fmt::format("Stopped, waiting for {}", what));
}

/// Once, although orders are repeated.
void TaskRunner::tell_wait() {
  if (!asked_.waiting_for.empty())
    tell_once(event::make(protocol::event::kWaiting, "Waiting for " + asked_.waiting_for));
}

void TaskRunner::tell_once(model::TaskEvent event) {
  const auto& events = record_.state.events;
  if (!events.empty() && events.back().type == event.type && events.back().message == event.message) return;
  record_event(std::move(event));
}

void TaskRunner::kill(std::optional<model::TaskEvent> reason, bool fails) {
  if (dead()) return;
  if (asked_.kill) {
    asked_.kill->fails |= fails;
    return;
  }
  asked_.kill = Kill{std::move(reason), fails};
  if (asked_.kill->reason) record_event(*asked_.kill->reason);
  if (fetching_) fetching_->kill();
  if (process_) begin_stop();
  wake_.notify_all();
}

void TaskRunner::begin_stop() {
  // Written first: an agent that dies now must not start it again when it comes back.
  record_.stopping = asked_.kill.has_value();
  if (task_->shutdown_delay > Duration{0} && !asked_.no_shutdown_delay) {
    record_event(
        event::make(protocol::event::kWaiting, fmt::format("Waiting for shutdown_delay of {} before killing the task",
                                                           human_duration(task_->shutdown_delay))));
    shutdown_timer_ = context_.runtime.after(task_->shutdown_delay, [this] { stop_now(); });
  } else {
    stop_now();
  }
}

void TaskRunner::stop_now() {
  shutdown_timer_.reset();
  if (!process_) return;
  record_event(event::killing(kill_signal(), kill_timeout()));
  process_->stop(os::find_signal(kill_signal()).value_or(SIGINT), kill_timeout());
}

void TaskRunner::skip_shutdown_delay() {
  asked_.no_shutdown_delay = true;
  if (shutdown_timer_) stop_now();
}

void TaskRunner::restart(const std::string& reason) {
  if (!process_) throw Error(Code::invalid, fmt::format("task '{}' is not running", task_->name));
  if (asked_.kill) throw Error(Code::invalid, fmt::format("task '{}' is being stopped", task_->name));
  ask_restart(EndKind::asked_restart, reason);
}

void TaskRunner::restart_unhealthy(const std::string& reason) {
  if (!process_ || asked_.kill || asked_.restart) return;
  asked_.unhealthy = reason;
  ask_restart(EndKind::unhealthy, reason);
}

bool TaskRunner::begin_anew(const std::string& reason) {
  asked_.permitted = false;
  asked_.waiting_for.clear();
  if (!dead()) {
    asked_.stop_at_start = record_.launched && !process_;
    if (process_ && !asked_.restart) ask_restart(EndKind::asked_restart, reason);
    return false;
  }
  asked_.kill.reset();
  record_.stopping = false;
  record_.state.failed = false;
  ++record_.state.restarts;
  record_.state.last_restart = unix_nanos(context_.runtime.now());
  become(TaskRunState::pending);
  record_event(event::make(protocol::event::kRestartSignaled, reason));
  return true;
}

void TaskRunner::ask_restart(EndKind kind, const std::string& reason) {
  record_event(event::make(protocol::event::kRestartSignaled, reason));
  asked_.restart = kind;
  process_->stop(os::find_signal(kill_signal()).value_or(SIGINT), kill_timeout());
}

int get_signal(const std::string& name) {
  if (const auto number = os::find_signal(name)) return *number;
  throw Error(Code::invalid, fmt::format("invalid signal '{}'", name)).advise("name it as in `kill -l`: SIGHUP");
}

void TaskRunner::signal(const std::string& name, const std::string& reason) {
  const int number = get_signal(name);
  if (!process_) throw Error(Code::invalid, fmt::format("task '{}' is not running", task_->name));
  record_event(event::make(protocol::event::kSignaling,
                           fmt::format("Task being sent signal {}: {}", os::signal_name(number), reason)));
  process_->signal(number);
}

void TaskRunner::fail(model::TaskEvent event) {
  event.fails_task = true;
  note_failure(event.message);
  record_event(std::move(event));
  finish(true);
}

// --- the story

awaitable<void> TaskRunner::let_go() {
  templates_.stop_watching();
  secrets_.stop_watching();
  if (api_) co_await api_->stop();
  co_await side_.stop();
}

awaitable<void> TaskRunner::until_permitted() {
  if (!asked_.permitted && !asked_.kill) tell_wait();
  // One that another allocation may have by now does not begin again before that is decided.
  const auto waits = [this] { return !asked_.permitted || !record_.sent_to.empty(); };
  while (waits() && !asked_.kill) co_await wake_.wait();
}

void TaskRunner::run_beside(const std::string& name, awaitable<void> work) { side_.spawn(name, std::move(work)); }

awaitable<void> TaskRunner::pause(Duration span) {
  if (span <= Duration{0}) co_return;
  bool over = false;
  const auto timer = context_.runtime.after(span, [this, &over] {
    over = true;
    wake_.notify_all();
  });
  while (!over && !asked_.kill) co_await wake_.wait();
}

awaitable<void> TaskRunner::reattach() {
  if (!record_.launched) {
    // What ended may not have been cleared away before the agent died.
    if (record_.attempt > 0) co_await context_.drivers.discard(launch_spec());
    co_return;
  }
  if (dead()) co_return;
  environment_.rebuild();
  // Nobody can say what runs while the driver fails to answer, and starting a second one would be worse than waiting.
  constexpr int kRecoveryTries = 5;
  for (int attempt = 1; attempt <= kRecoveryTries; ++attempt) {
    std::optional<Error> failed;
    try {
      process_ = co_await context_.drivers.recover(launch_spec(), record_.handle);
      break;
    } catch (const Error& error) {
      failed = error;
    }
    if (attempt == kRecoveryTries) {
      note_failure(failed->one_line());
      record_event(event::failure(protocol::event::kDriverFailure, failed->while_doing("re-attaching to the task")));
      finish(true);
      co_return;
    }
    co_await pause(std::chrono::milliseconds{200} * attempt);
  }
  if (!process_) {
    // The agent died before the driver had done anything.
    record_.launched = record_.target = false;
    become(TaskRunState::pending);
    changed();
    co_return;
  }
  if (record_.target) {
    target_ = std::exchange(process_, nullptr);
    co_return;
  }
  asked_.permitted = true;
  // It ended with its node, which is no failure of its: it begins again at once, and has all of its attempts.
  if (!record_.boot.empty() && record_.boot != context_.boot) {
    record_event(event::make(protocol::event::kRestartSignaled, "The node was booted"));
    asked_.restart = EndKind::asked_restart;
  }
  record_.handle = process_->handle();
  record_.kept_in = process_->kept_in();
  if (!running()) {
    become(TaskRunState::running);
    record_event(event::make(protocol::event::kStarted, "Task started by client"));
  }
  co_await open_api();
  if (record_.stopping)
    kill(std::nullopt, false);
  else if (!record_.restore.empty())
    give_up_machine();  // an agent before us died over it
}

awaitable<void> TaskRunner::run() {
  // What an earlier call ended may still be cleared away.
  while (in_run_) co_await wake_.wait();
  if (dead()) co_return;
  in_run_ = true;
  const auto returned = std::shared_ptr<void>(nullptr, [this](void*) {
    in_run_ = false;
    wake_.notify_all();
  });
  if (record_.state.events.empty()) record_event(event::make(protocol::event::kReceived, "Task received by client"));
  if (process_) {
    templates_.update();
    side_.spawn("identities", identities_.keep());
  }
  while (true) {
    std::optional<EndKind> failed;
    if (!process_) {
      co_await until_permitted();
      if (asked_.kill)
        co_await drop_target();
      else
        failed = co_await launch();
    }
    std::optional<Duration> delay;
    if (process_) {
      const std::shared_ptr<RunningTask> process = process_;
      const TaskEnd end = co_await process->wait();
      delay = ended(end);
      // Only now that its end and what follows are on disk.
      co_await process->forget();
    } else {
      delay = decide(failed.value_or(EndKind::start_failed), false);
    }
    if (!delay) co_return;
    co_await pause(*delay);
  }
}

std::optional<Duration> TaskRunner::ended(const TaskEnd& end) {
  // One write for all of it: an agent that dies in between must find either a task to re-attach or a decision.
  held_ = true;
  shutdown_timer_.reset();
  side_.cancel();
  process_ = nullptr;
  record_.launched = false;
  record_.handle = nullptr;
  record_event(event::terminated(end));
  if (end.oom_killed) ++oom_kills_;
  if (!end.left_running.empty()) record_event(event::left_running(end.left_running));
  const EndKind kind = std::exchange(asked_.restart, std::nullopt).value_or(EndKind::exited);
  const bool as_it_should = end.success() && !runs_forever(allocation_->job->type, *task_);
  if (!asked_.kill && kind == EndKind::exited && !as_it_should) note_failure(event::in_words(end));
  if (!asked_.kill && kind == EndKind::unhealthy) note_failure(asked_.unhealthy);
  const auto delay = decide(kind, end.success());
  held_ = false;
  changed();
  return delay;
}

std::optional<Duration> TaskRunner::decide(EndKind kind, bool success) {
  if (asked_.kill) {
    if (asked_.kill->fails && asked_.kill->reason) note_failure(asked_.kill->reason->message);
    record_event(event::make(protocol::event::kKilled, "Task successfully killed"));
    finish(asked_.kill->fails);
    return std::nullopt;
  }
  const bool forever = runs_forever(allocation_->job->type, *task_);
  const auto decision = tracker_.decide(kind, success, forever, context_.runtime.now(), context_.runtime.jitter());
  if (decision.kind == RestartKind::done) {
    finish(false);
    return std::nullopt;
  }
  if (decision.kind == RestartKind::refuse) {
    model::TaskEvent event = event::make(protocol::event::kNotRestarting, decision.reason);
    event.fails_task = true;
    if (kind == EndKind::start_failed || kind == EndKind::invalid) ++record_.failures.count;
    record_event(std::move(event));
    finish(true);
    return std::nullopt;
  }
  ++record_.state.restarts;
  ++context_.stats.task_restarts;
  record_.state.last_restart = unix_nanos(context_.runtime.now());
  become(TaskRunState::pending);
  record_event(event::restarting(decision.delay, decision.reason));
  return decision.delay;
}

void TaskRunner::note_failure(std::string what) {
  ++record_.failures.count;
  record_.failures.last = secrets_.redact(std::move(what));
}

void TaskRunner::finish(bool failed) {
  record_.state.failed = failed;
  record_.launched = false;
  record_.handle = nullptr;
  secrets_.stop_watching();
  if (api_) api_->close();
  become(TaskRunState::dead);
  changed();
}

void TaskRunner::note_attempt() {
  ++record_.attempt;
  record_.launched = true;
  record_.boot = context_.boot;
  record_.handle = nullptr;
  asked_.stop_at_start = false;
  changed();
}

void TaskRunner::begun(bool changed_since) {
  record_.handle = process_->handle();
  record_.kept_in = process_->kept_in();
  record_.restore.clear();
  ++context_.stats.task_starts;
  ++starts_;
  become(TaskRunState::running);
  record_event(event::make(protocol::event::kStarted, "Task started by client"));
  if (const auto less = process_->shortfalls(); !less.empty())
    record_event(event::make(protocol::event::kDriver, "Has less than it asks for: " + join(less, ", ")));
  if (asked_.kill) return begin_stop();
  if (std::exchange(asked_.stop_at_start, false)) return ask_restart(EndKind::asked_restart, "Its turn comes again");
  if (changed_since || templates_.outdated()) templates_.update();
  side_.spawn("identities", identities_.keep());
}

awaitable<std::optional<EndKind>> TaskRunner::launch() {
  if (target_) co_return co_await go_on_here();
  std::string_view step = protocol::event::kSetupFailure;
  std::optional<Error> failed;
  const std::shared_ptr<const model::Allocation> version = allocation_;
  try {
    co_await prepare();
    co_await until_permitted();  // its turn may have been taken back meanwhile
    if (asked_.kill) co_return EndKind::start_failed;
    step = protocol::event::kDriverFailure;
    note_attempt();
    LaunchSpec spec = start_spec();
    process_ = co_await context_.drivers.start(std::move(spec));
    begun(allocation_ != version);
    co_return std::nullopt;
  } catch (const Error& error) {
    failed = error;
  }
  record_.launched = false;
  const bool goes_back = !std::exchange(record_.restore, {}).empty();
  if (asked_.kill) co_return EndKind::start_failed;
  if (!failed->activities().empty() && failed->activities().back() == "downloading artifacts")
    step = protocol::event::kFailedArtifactDownload;
  record_.failures.last = secrets_.redact(failed->one_line());  // counted when it is not tried again
  record_event(event::failure(step, *failed));
  // What cannot be gone back to is not tried again: it goes on from where it was, and has all of its attempts.
  if (goes_back) co_return EndKind::asked_restart;
  const bool hopeless = step != protocol::event::kFailedArtifactDownload &&
                        (failed->code() == Code::invalid || failed->code() == Code::not_found ||
                         failed->code() == Code::denied || failed->code() == Code::unsupported);
  co_return hopeless ? EndKind::invalid : EndKind::start_failed;
}

}  // namespace underway::node
