#include "ownership/controller.hpp"

#include "async/event.hpp"
#include "base/log.hpp"
#include "ownership/upgrade.hpp"
#include "rehearsal/rehearsal.hpp"

namespace underway::ownership {

using async::awaitable;
using model::Capsule;

namespace {

/// One of those under way, while it lives.
class Held {
 public:
  Held(std::set<std::string>& all, std::string key) : all_(all), key_(std::move(key)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { all_.erase(key_); }

 private:
  std::set<std::string>& all_;
  std::string key_;
};

/// The old image runs on as if there was no upgrade.
bool before_its_stop(const Capsule& capsule) {
  return !capsule.move && capsule.upgrade && stop_is_ahead(*capsule.upgrade);
}

}  // namespace

Controller::Controller(server::Server& server, NodeExecutor& node_executor, Fence& fence, async::Executor executor,
                       Options options)
    : server_(server),
      node_executor_(node_executor),
      fence_(fence),
      options_(options),
      follower_(server.follow(what_capsules_follow())),
      tasks_(std::move(executor), "capsules") {}

void Controller::start() {
  server_.loops().start(tasks_, {.area = "capsules",
                                 .name = "capsules",
                                 .trouble = "moves, upgrades and failovers of capsules do not go on",
                                 .wait = [this] { return follower_.wait_for_news(); },
                                 .reconcile = [this] { return reconcile(); },
                                 .retry = async::RetryPolicy::up_to(options_.retry_after)});
}

awaitable<void> Controller::stop() { co_await tasks_.stop(); }

server::FollowerOptions Controller::what_capsules_follow() const {
  server::FollowerOptions out;
  out.scopes = [](const tables::Tables& tables) {
    std::vector<tables::Scope> all = {
        tables::records_scope(), {tables::Topic::nodes, ""}, {tables::Topic::jobs, ""}, {tables::Topic::hosts, ""}};
    for (const auto& job : tables.jobs()) {
      const bool has_capsule = std::any_of(job->groups.begin(), job->groups.end(),
                                           [](const auto& group) { return capsule_task(group) != nullptr; });
      if (has_capsule) all.push_back({tables::Topic::allocations, "job:" + job->ns + "/" + job->id});
    }
    return all;
  };
  out.again = [poll = options_.poll](const tables::Tables& tables) {
    return time_matters(tables) ? std::optional(poll) : std::nullopt;
  };
  return out;
}

awaitable<void> Controller::reconcile() {
  ReconcileCapsules everything{options_.limits};
  co_await server_.apply(std::move(everything));
  const auto* tables = co_await server_.read();
  const TimePoint now = server_.clock().now();
  for (auto& capsule : tables::records<Capsule>(*tables)) {
    Operation operation;
    operation.key = model::capsule_key(capsule.ns, capsule.name);
    operation.todo = todo_of(*tables, capsule, options_.limits, now);
    operation.job = tables->find_job(capsule.ns, capsule.job);
    operation.silence = silence_of(*tables, operation.todo.node);
    operation.capsule = std::move(capsule);
    if ((operation.beside() ? trying_ : busy_).contains(operation.key)) continue;
    if (before_its_stop(operation.capsule)) copy_beside(*tables, operation);
    if (operation.todo.action == Action::none || !reachable(operation.todo, operation.capsule.owner)) continue;
    if (operation.todo.action == Action::replicate) {
      begin_following(std::move(operation));
      continue;
    }
    (operation.beside() ? trying_ : busy_).insert(operation.key);
    std::string name = "capsule " + operation.key;
    tasks_.spawn(std::move(name), do_operation(std::move(operation)));
  }
}

bool Controller::Operation::beside() const { return todo.upgrade && before_its_stop(capsule); }

/// Until its stop an upgrade changes nothing of what a failover needs.
void Controller::copy_beside(const tables::Tables& tables, Operation operation) {
  const auto& capsule = operation.capsule;
  if (busy_.contains(operation.key)) return;
  if (!copies_go_on(tables, capsule, capsule.standby, capsule.epoch, options_.limits)) return;
  operation.todo = {.action = Action::replicate, .who = Who::both, .node = capsule.standby, .consistent = true};
  if (reachable(operation.todo, capsule.owner)) begin_following(std::move(operation));
}

void Controller::begin_following(Operation operation) {
  if (std::exchange(following_[operation.key].running, true)) return;
  std::string name = "copies of capsule " + operation.key;
  tasks_.spawn(std::move(name), follow(std::move(operation)));
}

bool Controller::reachable(const Todo& todo, const std::string& owner) const {
  const bool both = todo.who == Who::both;
  if ((both || todo.who == Who::owner) && !server_.linked(owner)) return false;
  return !(both || todo.who == Who::target) || server_.linked(todo.node);
}

/// One at a time for each capsule; the next one is found when this one's outcome has become durable.
awaitable<void> Controller::do_operation(Operation operation) {
  Duration pause{0};
  {
    const Held held{operation.beside() ? trying_ : busy_, operation.key};
    std::optional<std::string> failure;
    try {
      if (operation.todo.action == Action::fence) {
        co_await fence(operation);
        pause = options_.fence_again;
      } else if (operation.todo.upgrade) {
        if (co_await upgrade(operation)) pause = options_.retry_after;
      } else {
        Outcome outcome = co_await perform(operation);
        if (outcome.error) pause = options_.retry_after;
        co_await report(operation, std::move(outcome));
      }
    } catch (const Error& error) {
      failure = error.one_line();
    }
    if (failure) {
      pause = options_.retry_after;
      log::error("capsules: what became of {} cannot be written down: {}", operation.key, *failure);
    }
    if (pause > Duration{0}) co_await async::sleep_for(pause);
  }
  // The record may have changed while this was under way, and nobody looked.
  follower_.look();
}

namespace {

/// Trying again would find the same.
bool in_vain(const Error& error) {
  return error.code() == Code::invalid || error.code() == Code::unsupported || error.code() == Code::denied ||
         error.code() == Code::exhausted;
}

/// Does a step to its end; what it failed with.
awaitable<std::optional<Error>> failure_of(awaitable<void> step) {
  try {
    co_await std::move(step);
  } catch (const Error& error) {
    co_return error;
  }
  co_return std::nullopt;
}

template <class AnyOutcome>
void note(AnyOutcome& outcome, const std::optional<Error>& failure) {
  if (!failure) return;
  outcome.error = failure->one_line();
  outcome.final = in_vain(*failure);
}

}  // namespace

awaitable<Outcome> Controller::perform(const Operation& operation) {
  Outcome outcome;
  outcome.begun_at = unix_nanos(server_.clock().now());
  const auto failure = co_await failure_of(step_of_move(operation, outcome));
  note(outcome, failure);
  outcome.lacks_copy = failure && failure->code() == Code::not_found && operation.todo.action == Action::transfer;
  co_return outcome;
}

awaitable<void> Controller::step_of_move(const Operation& operation, Outcome& outcome) {
  const auto& [key, capsule, job, todo, silence] = operation;
  if (!job) throw Error(Code::invalid, fmt::format("the job of capsule '{}' is gone", capsule.name));
  switch (todo.action) {
    case Action::stage:
      co_await stage(operation, outcome);
      break;
    case Action::copy: {
      const auto kind = todo.consistent ? CopyKind::consistent : CopyKind::running;
      const auto copied =
          co_await async::within(options_.copy_patience, "copying", node_executor_.copy(capsule, job, todo.node, kind));
      outcome.round = copied.round;
      outcome.consistent = copied.consistent;
      break;
    }
    case Action::transfer: {
      if (!todo.alone) {
        const auto copied = co_await async::within(options_.limits.transfer, "copying the last difference",
                                                   node_executor_.copy(capsule, job, todo.node, CopyKind::consistent));
        outcome.round = copied.round;
        outcome.consistent = copied.consistent;
      }
      co_await async::within(options_.limits.transfer, "installing the copy",
                             node_executor_.install(capsule, job, todo.node));
      break;
    }
    case Action::before_stop:
      co_await async::within(options_.step_patience, "the step before_stop",
                             node_executor_.run_steps(capsule, capsule.owner, "before_stop"));
      break;
    case Action::check:
      co_await check(operation);
      break;
    default:
      break;
  }
}

/// Does a step of an upgrade and writes down how it went; true: it failed.
awaitable<bool> Controller::upgrade(Operation operation) {
  auto found = co_await perform_while_wanted(operation);
  if (!found || !found->busy) busy_since_.erase(operation.capsule.upgrade->id);
  if (!found) co_return false;
  auto outcome = std::move(*found);
  // A copy that is still being made would hold up the end of what runs, and be in the way of the snapshot.
  std::optional<Held> copies;
  if (operation.todo.action == Action::before_stop && !outcome.error) {
    const auto failure = co_await failure_of(async::within(
        options_.limits.transfer, "the copy to the standby that is being made", hold_copies(operation.key)));
    note(outcome, failure);
    if (!failure) copies.emplace(busy_, operation.key);
  }
  if (outcome.error && !outcome.busy && operation.todo.action != Action::check)
    log::warn("capsules: {}: {}", operation.key, *outcome.error);
  const auto& upgrade = *operation.capsule.upgrade;
  EndUpgradeStep end{operation.key, upgrade.id, upgrade.phase, outcome, options_.limits};
  co_await server_.apply(std::move(end));
  co_return outcome.error.has_value();
}

awaitable<void> Controller::hold_copies(std::string key) {
  while (busy_.contains(key)) co_await async::sleep_for(options_.check_every);
  busy_.insert(key);
}

awaitable<bool> Controller::wanted(const Operation& operation) {
  const auto* tables = co_await server_.read();
  const auto capsule = tables::find_record<Capsule>(*tables, operation.key);
  const auto& asked = *operation.capsule.upgrade;
  co_return capsule && capsule->upgrade && capsule->upgrade->id == asked.id && capsule->upgrade->phase == asked.phase;
}

/// What somebody cancelled may take hours, and nothing else of the capsule would begin meanwhile. What is done to its
/// overlay goes on to its end: nothing may start before.
awaitable<std::optional<UpgradeOutcome>> Controller::perform_while_wanted(const Operation& operation) {
  if (operation.todo.action == Action::snapshot || operation.todo.action == Action::restore)
    co_return co_await perform_upgrade(operation);
  struct Work {
    std::optional<UpgradeOutcome> outcome;
    bool over = false;
    async::Event changed;
  } work;
  const auto perform = [](Controller& self, const Operation& what, Work& into) -> awaitable<void> {
    struct Over {
      Work& work;
      ~Over() {
        work.over = true;
        work.changed.notify_all();
      }
    } const over{into};
    into.outcome = co_await self.perform_upgrade(what);
  };
  async::TaskGroup tasks(tasks_.executor(), "capsules");
  tasks.spawn(operation.key, perform(*this, operation, work));
  bool is_wanted = true;
  std::exception_ptr ended;
  try {
    while (!work.over && is_wanted) {
      co_await work.changed.wait_until(async::deadline_in(options_.poll));
      is_wanted = work.over || co_await wanted(operation);
    }
  } catch (...) {
    ended = std::current_exception();
  }
  if (ended) co_await asio::this_coro::throw_if_cancelled(false);
  co_await tasks.stop();
  if (ended) std::rethrow_exception(ended);
  if (is_wanted && !work.outcome) throw Error(Code::internal, "a step of an upgrade failed unexpectedly");
  if (!work.outcome) log::info("capsules: {}: the upgrade goes on without what was under way", operation.key);
  co_return std::move(work.outcome);
}

awaitable<UpgradeOutcome> Controller::perform_upgrade(const Operation& operation) {
  UpgradeOutcome outcome;
  std::optional<Error> failure;
  const bool rehearses = operation.todo.action == Action::rehearse;
  // Both work on the overlay: a large copy takes longer than the clone would wait for its data.
  const bool copying = rehearses && busy_.contains(operation.key);
  if (copying)
    failure = Error(Code::unavailable, "a copy of it is being made on its standby");
  else
    failure = co_await failure_of(step_of_upgrade(operation, outcome));
  note(outcome, failure);
  // These alone end by themselves. Any other failure is one, and is counted.
  outcome.busy = copying || (rehearses && failure && rehearsal::is_under_way(*failure));
  if (!outcome.busy) co_return outcome;
  const auto now = async::LoopClock::now();
  const auto [since, is_new] = busy_since_.try_emplace(operation.capsule.upgrade->id, now);
  if (is_new) log::info("capsules: {} waits: {}", operation.key, *outcome.error);
  if (now - since->second < options_.busy_patience) co_return outcome;
  outcome.busy = false;
  outcome.final = true;
  outcome.error =
      fmt::format("it could not be rehearsed within {}: {}", human_duration(options_.busy_patience), *outcome.error);
  co_return outcome;
}

awaitable<void> Controller::step_of_upgrade(const Operation& operation, UpgradeOutcome& outcome) {
  const auto& [key, capsule, job, todo, silence] = operation;
  const bool asks_for_it = todo.action == Action::look || todo.action == Action::rehearse;
  if (!job && asks_for_it) throw Error(Code::invalid, fmt::format("the job of capsule '{}' is gone", capsule.name));
  switch (todo.action) {
    case Action::look:
      outcome.looked = co_await async::within(options_.stage_patience, "staging", node_executor_.look(capsule, job));
      break;
    case Action::rehearse:
      outcome.rehearsal =
          co_await async::within(options_.rehearse_patience, "the rehearsal", node_executor_.rehearse(capsule, job));
      break;
    case Action::before_stop:
      outcome.looked = co_await async::within(options_.stage_patience, "staging", node_executor_.look(capsule, job));
      co_await async::within(options_.step_patience, "the step before_stop",
                             node_executor_.run_steps(capsule, capsule.owner, "before_stop"));
      break;
    case Action::snapshot:
      outcome.saved =
          co_await async::within(options_.overlay_patience, "the snapshot", node_executor_.snapshot(capsule));
      break;
    case Action::restore:
      outcome.saved.running = co_await async::within(options_.overlay_patience, "restoring the overlay",
                                                     node_executor_.restore(capsule, todo.snapshot));
      break;
    case Action::check:
      co_await check(operation);
      break;
    default:
      break;
  }
}

/// The snapshot is a way back that the move itself does not need: what cannot be saved is told, and the move goes on.
awaitable<void> Controller::stage(const Operation& operation, Outcome& outcome) {
  const auto& [key, capsule, job, todo, silence] = operation;
  co_await async::within(options_.stage_patience, "staging", node_executor_.stage(capsule, job, todo.node));
  std::optional<Error> failure;
  try {
    const auto saved =
        co_await async::within(options_.overlay_patience, "the snapshot before it", node_executor_.snapshot(capsule));
    outcome.snapshot = saved.snapshot;
  } catch (const Error& error) {
    if (error.code() == Code::unavailable) throw;  // it is asked again when the link is back
    failure = error;
  }
  if (!failure) co_return;
  outcome.note = fmt::format("there is no snapshot of before it: {}", failure->one_line());
  log::warn("capsules: {}: {}", key, outcome.note);
}

/// Again and again, so that the gap is measured finely; what keeps failing is told now and then.
awaitable<void> Controller::check(const Operation& operation) {
  constexpr auto kTell = std::chrono::seconds(3);
  const auto until = async::deadline_in(kTell);
  while (true) {
    std::optional<Error> failure;
    try {
      co_await async::within(options_.step_patience, "the step check",
                             node_executor_.run_steps(operation.capsule, operation.todo.node, "check"));
      co_return;
    } catch (const Error& error) {
      failure = error;
    }
    if (async::LoopClock::now() >= until) throw *failure;
    co_await async::sleep_for(options_.check_every);
  }
}

awaitable<void> Controller::report(Operation operation, Outcome outcome) {
  if (outcome.error && operation.todo.action != Action::check)
    log::warn("capsules: {}: {}", operation.key, *outcome.error);
  const auto& move = *operation.capsule.move;
  EndMoveStep end{operation.key, move.id, move.phase, std::move(outcome), options_.limits};
  co_await server_.apply(std::move(end));
}

awaitable<void> Controller::fence(const Operation& operation) {
  const auto& capsule = operation.capsule;
  if (!operation.silence) co_return;
  std::optional<bool> off;
  std::string why;
  log::warn("capsules: {} is not heard of, and its host is to be switched off, as capsule {} was there",
            capsule.owner_name, operation.key);
  try {
    off = co_await async::within(options_.fence_patience, "fencing",
                                 fence_.fence(operation.todo.node, capsule.owner_host));
  } catch (const Error& error) {
    why = error.one_line();
  }
  if (off == true) {
    const std::string by = fmt::format("the host of {} was switched off", capsule.owner_name);
    log::warn("capsules: {}", by);
    NoteFenced fenced{operation.todo.node, *operation.silence, by, options_.limits};
    co_await server_.apply(std::move(fenced));
    co_return;
  }
  const bool missing = off.has_value();
  if (missing) why = fmt::format("{} is not heard of, and nobody here can switch its host off", capsule.owner_name);
  NoteNotFenced unknown{operation.key, missing, why, options_.limits};
  co_await server_.apply(std::move(unknown));
}

awaitable<void> Controller::check_move(MoveRequest request) {
  const auto* tables = co_await server_.read();
  server_.preview(BeginMove{request, options_.limits});
  const auto capsule = get_capsule(*tables, request.ns, request.name);
  const auto job = tables->find_job(capsule.ns, capsule.job);
  for (const auto& verdict : server_.judge_nodes(job, *job->find_group(capsule.group))) {
    if (verdict.node->id != request.node || verdict.against.empty()) continue;
    throw Error(Code::conflict, fmt::format("{} has no place for capsule '{}'", verdict.node->name, capsule.name))
        .because(verdict.against);
  }
  co_await async::within(options_.stage_patience, "staging", node_executor_.stage(capsule, job, request.node));
}

awaitable<void> Controller::ask_what_is_lost(std::string ns, std::string name) {
  const auto* tables = co_await server_.read();
  const auto capsule = get_capsule(*tables, ns, name);
  const auto row = tables->find_allocation(capsule.allocation);
  // What does not run has nobody to ask.
  if (!capsule.way_back || !row || row->client_status != model::ClientStatus::running) co_return;
  const auto failure =
      co_await failure_of(async::within(options_.step_patience, "the step before_revert",
                                        node_executor_.run_steps(capsule, capsule.owner, "before_revert")));
  if (!failure) co_return;
  Error error(Code::conflict, fmt::format("the upgrade of capsule '{}' cannot be taken back without a loss", name));
  error.because(failure->reasons());
  if (failure->reasons().empty()) error.because(failure->one_line());
  throw error.because(
      "its data would be those of before; -lose takes it back all the same, and keeps those of now as a snapshot");
}

}  // namespace underway::ownership
