// Copies that follow what a capsule writes to its standby. They are no operations: a move or an upgrade does not wait
// until there is something new, only for the copy that is just made.
#include "base/log.hpp"
#include "ownership/controller.hpp"
#include "ownership/detail/ownership.hpp"
#include "ownership/upgrade.hpp"

namespace underway::ownership {

using async::awaitable;

namespace {

/// Writers stand still for at most a twentieth of the time.
constexpr int kPace = 20;
/// For half of it when one of them waits for a copy.
constexpr int kUrgentPace = 2;
/// A pause is no longer than this part of `rpo`.
constexpr int kOfRpo = 3;
/// As a capsule's init has it (capsule/init/saves.hpp).
constexpr auto kSavesPatience = std::chrono::seconds(5);

}  // namespace

std::int64_t Controller::now() const { return unix_nanos(server_.clock().now()); }

awaitable<bool> Controller::goes_on(const Operation& operation) {
  const auto* tables = co_await server_.read();
  const auto capsule = tables::find_record<model::Capsule>(*tables, operation.key);
  const auto& owner = operation.capsule.owner;
  co_return capsule && capsule->owner == owner&& server_.linked(owner) && server_.linked(operation.todo.node) &&
      copies_go_on(*tables, *capsule, operation.todo.node, operation.capsule.epoch, options_.limits);
}

/// Until the record, the nodes or a failure end it; the next look at the tables begins it again.
awaitable<void> Controller::follow(Operation operation) {
  auto& following = following_[operation.key];
  if (following.node != operation.todo.node || following.epoch != operation.capsule.epoch) following = {};
  following.node = operation.todo.node;
  following.epoch = operation.capsule.epoch;
  following.sync = operation.job && protection_of(*operation.job, operation.capsule.group).sync;
  following.running = true;
  struct Running {
    bool& running;
    ~Running() { running = false; }
  };
  {
    const Running running{following.running};
    std::optional<Error> failure;
    try {
      co_await copy_on(operation, following);
    } catch (const Error& error) {
      failure = error;
    }
    // How recent the newest is may be what a failover asks for next.
    try {
      if (following.at > following.noted_at) co_await note_copy(operation, following);
    } catch (const Error& error) {
      log::error("capsules: how recent the copy of {} is cannot be written down: {}", operation.key, error.one_line());
    }
    bool wanted = false;
    try {
      wanted = failure && co_await goes_on(operation);
    } catch (const Error&) {  // the same, seen again by whoever looks next
    }
    if (wanted) {
      if (!following.failing) {
        following.failing.emplace(server_.clock(), fmt::format("capsules: {} has no new copy", operation.key),
                                  async::RetryPolicy::up_to(options_.retry_copy, options_.retry_after));
      }
      const Duration pause = following.failing->failed(failure->one_line());
      co_await async::sleep_for(pause);
    }
  }
  follower_.look();
}

/// What has changed is brought there while writers go on, if it is too much to be read while they stand still: the
/// first copy of all, above all. `at`: when the one that counts was begun.
awaitable<Copied> Controller::copy_once(const Operation& operation, CopyKind kind, std::int64_t& at) {
  const auto copy = [this, &operation](CopyKind how) {
    return async::within(options_.copy_patience, "copying",
                         node_executor_.copy(operation.capsule, operation.job, operation.todo.node, how));
  };
  std::optional<Error> failure;
  try {
    co_return co_await copy(kind);
  } catch (const Error& error) {
    failure = error;
  }
  if (failure->code() != Code::too_large) throw *failure;
  model::CapsuleMove rounds;
  while (!enough(rounds, options_.limits)) {
    auto copied = co_await copy(CopyKind::running);
    rounds.rounds.push_back(std::move(copied.round));
  }
  at = now();
  co_return co_await copy(CopyKind::consistent);
}

awaitable<void> Controller::copy_on(const Operation& operation, Following& following) {
  const auto& [key, capsule, job, todo, silence] = operation;
  if (!job) throw Error(Code::invalid, fmt::format("the job of capsule '{}' is gone", capsule.name));
  struct Busy {
    std::set<std::string>& all;
    const std::string& key;
    ~Busy() { all.erase(key); }
  };
  while (!busy_.contains(key) && co_await goes_on(operation)) {
    Copied copied;
    const auto begun = async::LoopClock::now();
    {
      busy_.insert(key);
      const Busy busy{busy_, key};
      if (!following.staged)
        co_await async::within(options_.stage_patience, "staging", node_executor_.stage(capsule, job, todo.node));
      following.staged = true;
      auto at = now();
      const auto whole_every = std::max<Duration>(options_.whole_every, capsule.replicate_every);
      const bool whole = at - following.whole_at >= whole_every.count();
      copied = co_await copy_once(operation, whole ? CopyKind::whole : CopyKind::following, at);
      following.at = at;
      following.behind_since = copied.behind < Duration{0} ? 0 : now() - copied.behind.count();
      if (whole) following.whole_at = at;
      if (following.failing) following.failing->succeeded();
      following.failing.reset();
    }
    if (following.at - following.noted_at >= options_.note_every.count()) co_await note_copy(operation, following);
    // A move that has begun meanwhile waits for nothing else.
    if (!co_await goes_on(operation)) co_return;
    // However dear the last one was: older than this share of what a failover starts from no copy becomes for it.
    const auto pause = std::min<Duration>(std::max<Duration>(kPace * copied.held, options_.copy_share * copied.cost),
                                          capsule.rpo / kOfRpo);
    co_await async::sleep_until(begun +
                                (following.sync ? std::min<Duration>(pause, kUrgentPace * copied.held) : pause));
    if (!co_await next_is_due(operation, following, copied, begun, begun + pause)) co_return;
  }
}

/// Waits until there is something to be copied. False: this is over.
awaitable<bool> Controller::next_is_due(const Operation& operation, Following& following, Copied copied,
                                        async::SteadyTime begun, async::SteadyTime rested) {
  const auto& capsule = operation.capsule;
  const auto unchanged = [this, &following](Duration ago) { following.at = now() - ago.count(); };
  const auto whole_every = std::max<Duration>(options_.whole_every, capsule.replicate_every);
  while (!busy_.contains(operation.key) && co_await goes_on(operation)) {
    if (now() - following.whole_at >= whole_every.count()) co_return true;
    const auto present = async::LoopClock::now();
    const auto every = std::max<Duration>(begun + capsule.replicate_every - present, Duration{0});
    const auto rest = std::max<Duration>(rested - present, Duration{0});
    if (co_await node_executor_.watch(capsule, operation.job, copied.seen, every, rest, options_.note_every, unchanged))
      co_return true;
    if (following.at - following.noted_at >= options_.note_every.count()) co_await note_copy(operation, following);
  }
  co_return false;
}

awaitable<void> Controller::note_copy(const Operation& operation, Following& following) {
  Outcome outcome;
  outcome.begun_at = following.at;
  NoteCopy note{operation.key, operation.todo.node, operation.capsule.epoch, outcome, options_.limits};
  co_await server_.apply(std::move(note));
  following.noted_at = outcome.begun_at;
}

std::string Controller::complete(model::Capsule& capsule) const {
  const auto found = following_.find(model::capsule_key(capsule.ns, capsule.name));
  if (found == following_.end()) return {};
  const auto& following = found->second;
  if (following.epoch != capsule.epoch) return {};
  for (auto& replica : capsule.replicas) {
    if (replica.node == following.node) replica.at = std::max(replica.at, following.at);
  }
  if (capsule.state == model::CapsuleState::held && capsule.description.empty() && following.failing)
    capsule.description = fmt::format("its standby has no new copy: {}", following.failing->why());
  // Without copies services go on after a while, and nobody can be asked since when.
  const bool none = now() - following.at > Duration(kSavesPatience).count();
  const auto last = following.at != 0 ? following.at : capsule.held_since;
  const auto since = following.behind_since != 0 ? following.behind_since : none ? last : 0;
  if (!following.sync || capsule.state != model::CapsuleState::held || since == 0) return {};
  const auto why = fmt::format("not in sync since {}: services go on before what they save is on the standby",
                               format_time(from_unix_nanos(since)));
  if (capsule.description.empty()) capsule.description = why;
  return why;
}

}  // namespace underway::ownership
