#include "node/allocation/allocation_runner.hpp"

#include "base/log.hpp"
#include "base/random.hpp"
#include "node/task/task_event.hpp"

namespace underway::node {

using model::LifecycleHook;

namespace {

bool is_poststop(const model::Task& task) { return task.lifecycle && task.lifecycle->hook == LifecycleHook::poststop; }

/// Not a sidecar, not poststop: when all of these are dead the allocation's work is over.
bool is_work(const model::Task& task) { return !task.is_sidecar() && !is_poststop(task); }

}  // namespace

void check_names(const model::Allocation& allocation) {
  if (!is_uuid(allocation.id))
    throw Error(Code::invalid, fmt::format("'{}' is no allocation identifier", allocation.id));
  for (const auto& task : group_of(allocation).tasks) {
    const std::string& name = task.name;
    const bool plain = !name.empty() && name.size() <= 128 && name != "alloc" && name.front() != '.' &&
                       name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
    if (!plain) throw Error(Code::invalid, fmt::format("a task cannot be called '{}'", name));
  }
}

AllocationRunner::AllocationRunner(RunnerContext& context, StateFiles& files, StoredOrder order, AllocationState state,
                                   std::function<void()> reported)
    : context_(context),
      files_(files),
      order_(std::move(order.order)),
      allocation_(std::make_shared<const model::Allocation>(order_.allocation)),
      state_(std::move(state)),
      reported_(std::move(reported)),
      directory_(context.options.data_dir, allocation_->id),
      health_(context.runtime, state_.health, state_.measure,
              [this] {
                health_changed();
                reported_();
              }),
      work_(context.runtime.executor(), "allocation " + allocation_->id.substr(0, 8)) {
  check_names(*allocation_);
  for (const auto& task : group_of(*allocation_).tasks) {
    const std::string name = task.name;
    runners_.emplace(name, std::make_unique<TaskRunner>(context_, allocation_, name, state_.tasks[name],
                                                        [this, name] { task_changed(name); }));
  }
  hand_on_rights();
}

AllocationRunner::~AllocationRunner() = default;

awaitable<void> AllocationRunner::reattach() {
  co_await find_network();
  for (const auto& [name, runner] : runners_) co_await runner->reattach();
}

void AllocationRunner::start() {
  plan_checks();
  for (const auto& [name, runner] : runners_) work_.spawn(name, runner->run());
  for (const auto& [name, runner] : runners_)
    if (!runner->sent_to().empty()) work_.spawn("departure of " + name, settle_left_open(name));
  if (state_.begins_anew && !allocation_->server_terminal()) begin_anew();  // an agent before us died over it
  started_ = true;
  if (allocation_->server_terminal()) begin_stop();  // an agent before us died while it stopped it
  if (!dead() && (awaits_machines() || wants_disk() || own_network() != nullptr || wants_names()))
    work_.spawn("preparation", prepare());
  else
    prepared_ = true;
  if (context_.options.enforce_disk_below > 0) work_.spawn("measuring its disk", watch_disk());
  measure_health();
  review();
}

awaitable<void> AllocationRunner::let_go() {
  letting_go_ = true;
  task_event_.notify_all();
  while (on_machines_ > 0) co_await task_event_.wait();
  for (const auto& check : checks_) check->end();
  for (const auto& [name, runner] : runners_) co_await runner->let_go();
  co_await work_.stop();
}

std::map<std::string, model::TaskState> AllocationRunner::states() const {
  std::map<std::string, model::TaskState> states;
  for (const auto& [name, runner] : runners_) states.emplace(name, runner->state());
  return states;
}

bool AllocationRunner::dead() const {
  return std::ranges::all_of(runners_, [](const auto& entry) { return entry.second->dead(); });
}

std::int64_t AllocationRunner::finished_at() const {
  std::int64_t latest = 0;
  for (const auto& [name, runner] : runners_) latest = std::max(latest, runner->state().finished_at);
  return latest;
}

model::AllocationUpdate AllocationRunner::update() const {
  model::AllocationUpdate update;
  update.id = allocation_->id;
  update.task_states = states();
  const ClientState state = client_state(update.task_states);
  update.client_status = state.status;
  update.client_description = state.description;
  update.health = health_.health();
  update.job_version = health_.measured().job_version;
  update.deployment_id = health_.measured().deployment_id;
  if (network_) update.network_status = network_->status;
  update.sleep = sleep_report();
  update.arrival = arrival_report();
  if (asleep()) {
    update.client_status = model::ClientStatus::running;
    update.client_description = "Its machines sleep";
  }
  return update;
}

void AllocationRunner::write_state() {
  state_.health = health_.health();
  state_.measure = health_.measured();
  if (started_) {  // until then what the agent before us found is all there is
    state_.checks.clear();
    for (const auto& check : checks_)
      if (check->active()) state_.checks.emplace(check->plan().id, check->result());
  }
  files_.write_state(allocation_->id, state_);
}

void AllocationRunner::task_changed(const std::string& name) {
  const auto it = runners_.find(name);
  if (it == runners_.end()) return;  // still being built
  state_.tasks[name] = it->second->record();
  write_state();
  unreported = true;
  task_event_.notify_all();
  if (started_) review();
  reported_();
}

void AllocationRunner::review() {
  // Killing a task changes it, which calls here again: one review at a time, and one more afterwards.
  if (reviewing_) {
    review_again_ = true;
    return;
  }
  reviewing_ = true;
  do {
    review_again_ = false;
    const model::TaskGroup& group = group_of(*allocation_);
    const auto tasks = states();
    follow_sleep();
    direct_checks(tasks);
    limit_run_time(tasks);
    if (!stopping_ && health_.observe(health_signs(tasks))) health_changed();
    for (const auto& task : group.tasks) {
      const auto it = runners_.find(task.name);
      if (it == runners_.end() || !it->second->dead() || is_poststop(task)) continue;
      const model::TaskState& state = it->second->state();
      if (state.failed)
        kill_all(event::make(protocol::event::kSiblingFailed, fmt::format("Task's sibling '{}' failed", task.name)),
                 task.name);
      else if (task.leader)
        kill_all(event::make(protocol::event::kLeaderDead, "Leader Task in Group dead"), task.name);
    }
    const bool work_over = std::ranges::all_of(
        group.tasks, [&](const model::Task& task) { return !is_work(task) || runners_.at(task.name)->dead(); });
    const bool has_work = std::ranges::any_of(group.tasks, is_work);
    if (work_over && has_work) kill_all(event::make(protocol::event::kMainDead, "Main tasks in the group died"), "");
    const auto stops = [](const auto& entry) {
      return !is_poststop(entry.second->task()) && entry.second->record().launched;
    };
    if (state_.begins_anew && (stopping_ || std::ranges::none_of(runners_, stops))) {
      state_.begins_anew = false;
      write_state();
    }
    if (((order_.start && prepared_) || stopping_) && !state_.begins_anew) {
      for (const auto& name : startable(group, states()))
        if (!stopping_ || is_poststop(runners_.at(name)->task())) runners_.at(name)->permit();
    }
  } while (review_again_);
  reviewing_ = false;
  if (dead() && order_.allocation.sleep && order_.allocation.sleep->left && !std::exchange(kept_removed_, true))
    work_.spawn("removal of what its machines kept", remove_kept());
  if (dead() && own_network() != nullptr && !std::exchange(network_left_, true))
    work_.spawn("end of its network", leave_network());
}

void AllocationRunner::kill_all(const model::TaskEvent& reason, const std::string& except) {
  for (const auto& [name, runner] : runners_)
    if (name != except && !runner->dead() && !is_poststop(runner->task())) runner->kill(reason, false);
}

void AllocationRunner::limit_run_time(const std::map<std::string, model::TaskState>& tasks) {
  const auto& limit = group_of(*allocation_).max_run_duration;
  if (stopping_ || dead()) return;
  if (limit != run_limit_) {
    run_timer_ = nullptr;
    run_limit_ = limit;
  }
  if (!limit) return;
  std::int64_t began = 0;
  for (const auto& [name, state] : tasks) {
    if (state.started_at > 0) began = began == 0 ? state.started_at : std::min(began, state.started_at);
  }
  if (began == 0) return;
  const Duration left = from_unix_nanos(began) + *limit - context_.runtime.now();
  if (!overdue_ && left > Duration{0}) {
    if (!run_timer_) {
      run_timer_ = context_.runtime.after(left, [this] {
        overdue_ = true;
        review();
      });
    }
    return;
  }
  overdue_ = true;
  const auto reason =
      event::make(protocol::event::kKilling,
                  fmt::format("The allocation ran for longer than max_run_duration, {}", format_duration(*limit)));
  for (const auto& [name, runner] : runners_)
    if (!runner->dead() && !is_poststop(runner->task())) runner->kill(reason, true);
}

// --- health

Failures AllocationRunner::failures() const {
  Failures failures;
  for (const auto& [name, runner] : runners_) failures[name] = runner->record().failures;
  return failures;
}

HealthSigns AllocationRunner::health_signs(const std::map<std::string, model::TaskState>& tasks) const {
  HealthSigns signs{tasks_work(group_of(*allocation_), tasks), "", failures()};
  for (const auto& check : checks_)
    if (check->plan().counts() && signs.check_problem.empty()) signs.check_problem = check->problem();
  return signs;
}

void AllocationRunner::measure_health() {
  // What waits for others is not late.
  if (started_ && order_.start && prepared_ && !stopping_) health_.measure(*allocation_, failures());
}

void AllocationRunner::health_changed() {
  write_state();
  unreported = true;
}

// --- checks

void AllocationRunner::plan_checks() {
  auto plans = node::plan_checks(*allocation_, context_.node);
  std::vector<std::shared_ptr<CheckRunner>> checks;
  for (auto& plan : plans) {
    const auto same =
        std::ranges::find_if(checks_, [&](const auto& check) { return check && same_check(check->plan(), plan); });
    if (same != checks_.end()) {
      checks.push_back(std::exchange(*same, nullptr));
      continue;
    }
    const auto known = state_.checks.find(plan.id);
    const bool resumed = checks_.empty() && known != state_.checks.end();
    checks.push_back(std::make_shared<CheckRunner>(context_.runtime, static_cast<CheckSubject&>(*this), std::move(plan),
                                                   resumed ? std::optional(known->second) : std::nullopt));
    work_.spawn("check " + checks.back()->plan().name, checks.back()->run());
  }
  for (const auto& check : checks_)
    if (check) check->end();
  checks_ = std::move(checks);
}

void AllocationRunner::direct_checks(const std::map<std::string, model::TaskState>& tasks) {
  const bool all = tasks_work(group_of(*allocation_), tasks);
  for (const auto& check : checks_) {
    const auto task = tasks.find(check->plan().task);
    const bool runs = task == tasks.end() ? all : task->second.state == model::TaskRunState::running;
    if (runs && !stopping_)
      check->begin();
    else
      check->pause();
  }
}

std::vector<model::CheckResult> AllocationRunner::check_results() const {
  std::vector<model::CheckResult> results;
  for (const auto& check : checks_) results.push_back(check->result());
  return results;
}

std::shared_ptr<RunningTask> AllocationRunner::check_process(const std::string& task) const {
  const auto it = runners_.find(task);
  return it == runners_.end() ? nullptr : it->second->process();
}

std::vector<std::string> AllocationRunner::check_command(const std::string& task,
                                                         const std::vector<std::string>& command) const {
  std::vector<std::string> filled;
  for (const auto& word : command) filled.push_back(get_task(task).interpolation().apply(word));
  return filled;
}

void AllocationRunner::check_changed() {
  write_state();
  review();
  reported_();
}

void AllocationRunner::check_failed(const std::string& task, const std::string& reason) {
  for (const auto& [name, runner] : runners_)
    if (task.empty() || name == task) runner->restart_unhealthy(reason);
}

// --- orders

void AllocationRunner::hand_on_rights() {
  for (const auto& [name, runner] : runners_) runner->set_rights(model::parse_rights(order_.host_rights));
}

void AllocationRunner::obey(StoredOrder order) {
  const bool new_job = order.order.allocation.job_version != allocation_->job_version ||
                       !describe::equal(*order.order.allocation.job, *allocation_->job) ||
                       !describe::equal(order.order.allocation.resources, allocation_->resources);
  order_ = std::move(order.order);
  hand_on_rights();
  const auto previous = allocation_;
  allocation_ = with_network(order_.allocation);
  if (new_job) {
    for (const auto& [name, runner] : runners_) runner->update(allocation_);
  }
  if (new_job && started_) plan_checks();
  // Runners keep the group they know: one whose task the new version lacks was replaced, not updated, by the server.
  for (const auto& task : group_of(*allocation_).tasks)
    if (!runners_.contains(task.name)) {
      log::warn("node: allocation {} cannot adopt task '{}' of job version {} in place; it keeps version {}",
                id().substr(0, 8), task.name, allocation_->job_version, previous->job_version);
      allocation_ = previous;
      break;
    }
  if (order_.allocation.arrival && order_.allocation.arrival->phase == model::ArrivalPhase::lost && awaits_machines())
    note_arrival(model::ArrivalPhase::lost, order_.allocation.arrival->trouble);
  if (order_.allocation.transition.no_shutdown_delay) {
    for (const auto& [name, runner] : runners_) runner->skip_shutdown_delay();
    task_event_.notify_all();
  }
  if (order_.allocation.server_terminal()) {
    begin_stop();
    if (started_) review();
    return;
  }
  if (!order_.start) {
    for (const auto& [name, runner] : runners_)
      if (!is_poststop(runner->task())) runner->hold(order_.waiting_for, order_.pause && !order_.suspend);
  } else {
    for (const auto& [name, runner] : runners_)
      if (runner->running() && !state_.begins_anew) runner->permit();
  }
  measure_health();
  if (started_) review();
}

void AllocationRunner::destroy() {
  state_.destroy = true;
  write_state();
  begin_stop();
}

void AllocationRunner::begin_stop() {
  if (stopping_) return;
  stopping_ = true;
  direct_checks(states());
  if (health_.stop()) health_changed();
  work_.spawn("stop", stop_in_order());
}

awaitable<void> AllocationRunner::stop_in_order() {
  const model::TaskGroup& group = group_of(*allocation_);
  const Duration delay = group.shutdown_delay;
  const auto skipped = [this] { return order_.allocation.transition.no_shutdown_delay; };
  if (delay > Duration{0} && !dead() && !skipped()) {
    bool over = false;
    const auto timer = context_.runtime.after(delay, [this, &over] {
      over = true;
      task_event_.notify_all();
    });
    while (!over && !dead() && !skipped()) co_await task_event_.wait();
  }
  const auto phase_of = [](const model::Task& task) {
    return task.leader ? 0 : is_work(task) ? 1 : task.is_sidecar() ? 2 : 3;
  };
  for (int phase = 0; phase < 3; ++phase) {
    std::vector<TaskRunner*> chosen;
    for (const auto& [name, runner] : runners_)
      if (phase_of(runner->task()) == phase && !runner->dead()) chosen.push_back(runner.get());
    for (TaskRunner* runner : chosen) runner->kill(std::nullopt, false);
    while (!std::ranges::all_of(chosen, [](TaskRunner* runner) { return runner->dead(); })) co_await task_event_.wait();
  }
  review();
}

awaitable<void> AllocationRunner::wait_until_dead() {
  while (!dead()) co_await task_event_.wait();
}

awaitable<void> AllocationRunner::remove_directories() {
  if (!dead()) throw Error(Code::conflict, fmt::format("allocation {} still runs", id()));
  co_await let_go();
  if (own_network() != nullptr && context_.networks != nullptr)
    co_await blocking(context_.runtime, [this] { context_.networks->detach(id()); });
  const AllocationDirectory directory = directory_;
  co_await blocking(context_.runtime, [&directory] { directory.destroy(); });
  files_.remove(id());
}

// --- requests

TaskRunner& AllocationRunner::get_task(const std::string& name) const {
  const auto it = runners_.find(name);
  if (it == runners_.end())
    throw Error(Code::not_found, fmt::format("allocation {} has no task '{}'", id().substr(0, 8), name));
  return *it->second;
}

void AllocationRunner::restart(const std::string& task) {
  if (!task.empty()) return get_task(task).restart("User requested task to restart");
  bool any = false;
  for (const auto& [name, runner] : runners_) {
    if (!runner->process()) continue;
    runner->restart("User requested running tasks to restart");
    any = true;
  }
  if (!any) throw Error(Code::invalid, fmt::format("no task of allocation {} is running", id().substr(0, 8)));
}

void AllocationRunner::restart_all() {
  const auto ending = [](const auto& entry) { return entry.second->ending(); };
  if (stopping_ || dead() || std::ranges::any_of(runners_, ending))
    throw Error(Code::invalid, fmt::format("allocation {} cannot be restarted", id().substr(0, 8)))
        .because(dead() ? "all of its tasks have ended" : "it is being stopped");
  state_.begins_anew = true;
  write_state();
  begin_anew();
  review();
}

void AllocationRunner::begin_anew() {
  for (const auto& [name, runner] : runners_) {
    if (is_poststop(runner->task())) continue;
    if (runner->begin_anew("User requested all tasks to restart")) work_.spawn(name, runner->run());
  }
}

void AllocationRunner::signal(const std::string& task, const std::string& name) {
  if (!task.empty()) return get_task(task).signal(name, "User requested");
  get_signal(name);  // first: while its tasks are between two starts, it is still the name that is wrong
  bool any = false;
  for (const auto& [other, runner] : runners_) {
    if (!runner->process()) continue;
    runner->signal(name, "User requested");
    any = true;
  }
  if (!any) throw Error(Code::invalid, fmt::format("no task of allocation {} is running", id().substr(0, 8)));
}

awaitable<std::vector<protocol::TaskCheckpoint>> AllocationRunner::do_to_machines(std::string task, MachineVerb verb) {
  ++on_machines_;
  const auto done = std::shared_ptr<void>(nullptr, [this](void*) {
    --on_machines_;
    task_event_.notify_all();
  });
  std::vector<TaskRunner*> chosen;
  if (!task.empty()) chosen.push_back(&get_task(task));
  for (const auto& [name, runner] : runners_)
    if (task.empty() && runner->process()) chosen.push_back(runner.get());
  if (chosen.empty()) throw Error(Code::invalid, fmt::format("no task of allocation {} is running", id().substr(0, 8)));
  std::vector<protocol::TaskCheckpoint> made;
  for (TaskRunner* runner : chosen)
    if (auto checkpoint = co_await runner->do_to_machine(verb)) made.push_back(*std::move(checkpoint));
  co_return made;
}

std::shared_ptr<RunningTask> AllocationRunner::running_task(const std::string& task) const {
  const auto process = get_task(task).process();
  if (!process) throw Error(Code::invalid, fmt::format("task '{}' is not running", task));
  return process;
}

}  // namespace underway::node
