#include "server/variable/variable_decisions.hpp"

#include "server/access/quota_decisions.hpp"

namespace underway::server {
namespace {

using model::Variable;
using model::VariableLease;
using tables::Row;

/// A variable and who has it, as they stand.
struct Standing {
  Row<Variable> variable;
  Row<VariableLease> lease;
  TimePoint now;

  bool held() const {
    return variable && variable->lock && lease && lease->lock_id == variable->lock->id &&
           now < from_unix_nanos(lease->until);
  }
  bool held_by(const std::string& lock_id) const { return held() && lease->lock_id == lock_id; }
  /// Lost, by expiry, so recently that nobody may have it yet.
  bool delayed() const {
    if (!lease || held()) return false;
    const auto delay = lease->lock_id.empty() ? Duration{0} : Duration{lease->lock_delay};
    return now < from_unix_nanos(lease->until) + delay;
  }
};

Standing look_up(const Tables& tables, const std::string& ns, const std::string& path, const Context& context) {
  const std::string key = model::variable_key(ns, path);
  return {tables.find<Variable>(key), tables.find<VariableLease>(key), context.now};
}

Decision<VariableOutcome> conflict(const Standing& standing) {
  Decision<VariableOutcome> decision;
  decision.result.conflict = true;
  if (standing.variable) decision.result.variable = *standing.variable;
  return decision;
}

bool index_matches(const Standing& standing, const std::optional<model::Revision>& cas) {
  return !cas || *cas == (standing.variable ? standing.variable->modify_index : 0);
}

/// The variable as it stands, or a new one, about to be changed by this commit.
Variable changed(const Standing& standing, const std::string& ns, const std::string& path, const Context& context) {
  Variable out;
  if (standing.variable) out = *standing.variable;
  out.ns = ns;
  out.path = path;
  out.modify_time = unix_nanos(context.now);
  if (!standing.variable) {
    out.create_time = out.modify_time;
    out.create_index = context.revision;
  }
  out.modify_index = context.revision;
  // What has run out is gone, also when nobody has swept it yet.
  if (!standing.held()) out.lock.reset();
  return out;
}

Decision<VariableOutcome> written(Variable variable) {
  Decision<VariableOutcome> decision;
  decision.result.variable = variable;
  decision.changes.push_back(tables::PutVariable{std::move(variable)});
  return decision;
}

void set_items(Variable& variable, const SealedItems& items) {
  variable.key_id = items.key_id;
  variable.sealed = items.bytes;
}

tables::PutLease lease_of(const Variable& variable, TimePoint now) {
  VariableLease lease;
  lease.ns = variable.ns;
  lease.path = variable.path;
  lease.lock_id = variable.lock->id;
  lease.until = unix_nanos(now + variable.lock->ttl);
  lease.lock_delay = variable.lock->lock_delay.count();
  return {std::move(lease)};
}

void check_times(const model::VariableLock& lock) {
  if (lock.ttl < model::kShortestLock || lock.ttl > model::kLongestLock) {
    throw Error(Code::invalid, "the lock's TTL is out of range")
        .because(fmt::format("{} is not between {} and {}", format_duration(lock.ttl),
                             format_duration(model::kShortestLock), format_duration(model::kLongestLock)));
  }
  if (lock.lock_delay < Duration{0} || lock.lock_delay > model::kLongestLock) {
    throw Error(Code::invalid, "the lock's LockDelay is out of range")
        .because(fmt::format("{} is not between 0s and {}", format_duration(lock.lock_delay),
                             format_duration(model::kLongestLock)));
  }
}

}  // namespace

Decision<VariableOutcome> decide(const Tables& tables, const PutVariable& request, const Context& context) {
  const auto& [claim, items] = request;
  const auto standing = look_up(tables, claim.ns, claim.path, context);
  if (!index_matches(standing, claim.cas)) return conflict(standing);
  if (standing.held() && !standing.held_by(claim.lock_id)) return conflict(standing);
  // A writer who believes that it holds the lock must learn that it does not.
  if (!claim.lock_id.empty() && !standing.held_by(claim.lock_id)) return conflict(standing);
  Variable variable = changed(standing, claim.ns, claim.path, context);
  set_items(variable, items);
  refuse_by_quota(tables, variable, standing.variable.get());
  return written(std::move(variable));
}

Decision<Nothing> decide(const Tables& tables, const NewVariable& wanted, const Context& context) {
  const auto standing = look_up(tables, wanted.ns, wanted.path, context);
  Decision<Nothing> decision;
  if (standing.variable) return decision;
  Variable variable = changed(standing, wanted.ns, wanted.path, context);
  set_items(variable, wanted.items);
  refuse_by_quota(tables, variable, nullptr);
  decision.changes.push_back(tables::PutVariable{std::move(variable)});
  return decision;
}

Decision<VariableOutcome> decide(const Tables& tables, const DeleteVariable& request, const Context& context) {
  const auto& claim = request.claim;
  const auto standing = look_up(tables, claim.ns, claim.path, context);
  if (!index_matches(standing, claim.cas)) return conflict(standing);
  if (standing.held() && !standing.held_by(claim.lock_id)) return conflict(standing);
  Decision<VariableOutcome> decision;
  const std::string key = model::variable_key(claim.ns, claim.path);
  decision.changes.push_back(tables::DeleteVariable{key});
  decision.changes.push_back(tables::DeleteLease{key});
  return decision;
}

Decision<VariableOutcome> decide(const Tables& tables, const AcquireLock& request, const Context& context) {
  check_times(request.lock);
  const auto standing = look_up(tables, request.ns, request.path, context);
  const bool again = standing.held_by(request.lock.id);
  if (!again && (standing.held() || standing.delayed() || !request.lock.id.empty())) return conflict(standing);
  Variable variable = changed(standing, request.ns, request.path, context);
  if (!standing.variable || !request.keep_items) set_items(variable, request.items);
  refuse_by_quota(tables, variable, standing.variable.get());
  variable.lock = request.lock;
  if (!again) variable.lock->id = context.ids.uuid();
  auto lease = lease_of(variable, context.now);
  auto decision = written(std::move(variable));
  decision.changes.push_back(std::move(lease));
  return decision;
}

Decision<VariableOutcome> decide(const Tables& tables, const RenewLock& request, const Context& context) {
  const auto& claim = request.claim;
  const auto standing = look_up(tables, claim.ns, claim.path, context);
  if (!standing.held_by(claim.lock_id)) return conflict(standing);
  Decision<VariableOutcome> decision;
  decision.result.variable = *standing.variable;
  decision.changes.push_back(lease_of(*standing.variable, context.now));
  return decision;
}

Decision<VariableOutcome> decide(const Tables& tables, const ReleaseLock& request, const Context& context) {
  const auto& claim = request.claim;
  const auto standing = look_up(tables, claim.ns, claim.path, context);
  if (!standing.held_by(claim.lock_id)) return conflict(standing);
  Variable variable = changed(standing, claim.ns, claim.path, context);
  variable.lock.reset();
  auto decision = written(std::move(variable));
  decision.changes.push_back(tables::DeleteLease{model::variable_key(claim.ns, claim.path)});
  return decision;
}

namespace {

/// The lock is gone; its delay, if it has one, begins.
void lose_lock(std::vector<Change>& changes, const Tables& tables, const VariableLease& lease, const Context& context) {
  const auto standing = look_up(tables, lease.ns, lease.path, context);
  if (standing.variable && standing.variable->lock)
    changes.push_back(tables::PutVariable{changed(standing, lease.ns, lease.path, context)});
  VariableLease delay = lease;
  delay.lock_id.clear();
  delay.until += lease.lock_delay;
  if (context.now < from_unix_nanos(delay.until))
    changes.push_back(tables::PutLease{std::move(delay)});
  else
    changes.push_back(tables::DeleteLease{model::variable_key(lease.ns, lease.path)});
}

}  // namespace

Decision<Nothing> decide(const Tables& tables, const ExpireLocks&, const Context& context) {
  Decision<Nothing> decision;
  for (const auto& lease : tables.rows<VariableLease>()) {
    if (context.now < from_unix_nanos(lease->until)) continue;
    if (lease->lock_id.empty())
      decision.changes.push_back(tables::DeleteLease{model::variable_key(lease->ns, lease->path)});
    else
      lose_lock(decision.changes, tables, *lease, context);
  }
  return decision;
}

std::optional<TimePoint> next_lock_end(const Tables& tables) {
  std::optional<TimePoint> next;
  for (const auto& lease : tables.rows<VariableLease>()) {
    const TimePoint until = from_unix_nanos(lease->until);
    next = next ? std::min(*next, until) : until;
  }
  return next;
}

Decision<Nothing> decide(const Tables& tables, const ExtendLocks&, const Context& context) {
  Decision<Nothing> decision;
  for (const auto& lease : tables.rows<VariableLease>()) {
    const auto variable = tables.find<Variable>(model::variable_key(lease->ns, lease->path));
    if (variable && variable->lock && variable->lock->id == lease->lock_id)
      decision.changes.push_back(lease_of(*variable, context.now));
  }
  return decision;
}

Decision<std::int64_t> decide(const Tables& tables, const ResealVariables& request, const Context&) {
  const auto& resealed = request.resealed;
  Decision<std::int64_t> decision;
  for (const auto& entry : resealed) {
    const auto current = tables.find<Variable>(model::variable_key(entry.ns, entry.path));
    if (!current || current->modify_index != entry.modify_index) {
      ++decision.result;
      continue;
    }
    Variable variable = *current;
    set_items(variable, entry.items);
    decision.changes.push_back(tables::PutVariable{std::move(variable)});
  }
  return decision;
}

}  // namespace underway::server
