#include "model/job/policy.hpp"

#include "model/job/spelled_policies.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

namespace {

/// The first of them that is given replaces `value`.
template <class Stanza, class Member, class Value>
void take(Value& value, const std::optional<Stanza>& group, const std::optional<Stanza>& job, Member member) {
  if (group && (*group).*member)
    value = *((*group).*member);
  else if (job && (*job).*member)
    value = *((*job).*member);
}

}  // namespace

UpdatePolicy update_policy(const Job& job, const TaskGroup& group) {
  UpdatePolicy policy;
  // Batch jobs are replaced when they are changed; there is nothing to watch.
  if (job.runs_to_its_end()) {
    policy.max_parallel = 0;
    return policy;
  }
  // A system job without a word about updates is changed everywhere at once, as ever.
  if (job.type == JobType::system && !group.update && !job.update) policy.max_parallel = 0;
  take(policy.max_parallel, group.update, job.update, &UpdateStrategy::max_parallel);
  take(policy.health_check, group.update, job.update, &UpdateStrategy::health_check);
  take(policy.min_healthy_time, group.update, job.update, &UpdateStrategy::min_healthy_time);
  take(policy.healthy_deadline, group.update, job.update, &UpdateStrategy::healthy_deadline);
  take(policy.progress_deadline, group.update, job.update, &UpdateStrategy::progress_deadline);
  take(policy.auto_revert, group.update, job.update, &UpdateStrategy::auto_revert);
  take(policy.auto_promote, group.update, job.update, &UpdateStrategy::auto_promote);
  take(policy.canary, group.update, job.update, &UpdateStrategy::canary);
  take(policy.stagger, group.update, job.update, &UpdateStrategy::stagger);
  return policy;
}

MigratePolicy migrate_policy(const Job& job, const TaskGroup& group) {
  MigratePolicy policy;
  take(policy.max_parallel, group.migrate, job.migrate, &MigrateStrategy::max_parallel);
  take(policy.health_check, group.migrate, job.migrate, &MigrateStrategy::health_check);
  take(policy.min_healthy_time, group.migrate, job.migrate, &MigrateStrategy::min_healthy_time);
  take(policy.healthy_deadline, group.migrate, job.migrate, &MigrateStrategy::healthy_deadline);
  return policy;
}

ReschedulePolicy reschedule_policy(const Job& job, const TaskGroup& group) {
  ReschedulePolicy policy;
  if (job.type == JobType::batch) policy = {1, 24h, 5s, DelayFunction::constant, 1h, false};
  if (job.type == JobType::sysbatch) policy = {0, Duration{0}, 5s, DelayFunction::constant, 1h, false};
  take(policy.attempts, group.reschedule, job.reschedule, &RescheduleStrategy::attempts);
  take(policy.interval, group.reschedule, job.reschedule, &RescheduleStrategy::interval);
  take(policy.delay, group.reschedule, job.reschedule, &RescheduleStrategy::delay);
  take(policy.delay_function, group.reschedule, job.reschedule, &RescheduleStrategy::delay_function);
  take(policy.max_delay, group.reschedule, job.reschedule, &RescheduleStrategy::max_delay);
  // Who counts attempts does not mean "without end".
  const bool counts = (group.reschedule && group.reschedule->attempts) || (job.reschedule && job.reschedule->attempts);
  if (counts) policy.unlimited = false;
  take(policy.unlimited, group.reschedule, job.reschedule, &RescheduleStrategy::unlimited);
  return policy;
}

DisconnectPolicy disconnect_policy(const Job& job, const TaskGroup& group) {
  DisconnectPolicy policy;
  if (group.disconnect) {
    policy.lost_after = group.disconnect->lost_after;
    policy.stop_on_client_after = group.disconnect->stop_on_client_after;
    policy.replace = group.disconnect->replace.value_or(true);
    policy.reconcile = group.disconnect->reconcile.value_or(Reconcile::best_score);
    return policy;
  }
  if (job.runs_to_its_end()) return policy;
  policy.lost_after = job.type == JobType::system ? Duration::max() : Duration(kServiceLostAfter);
  policy.replace = false;
  policy.reconcile = Reconcile::keep_original;
  return policy;
}

bool runs_once(const Job& job, const TaskGroup& group) {
  const auto policy = disconnect_policy(job, group);
  return group.disconnect && policy.lost_after == Duration::max() && !policy.replace;
}

namespace {

UpdateStrategy spelled_out(const UpdatePolicy& policy) {
  return {policy.max_parallel,
          policy.health_check,
          policy.min_healthy_time,
          policy.healthy_deadline,
          policy.progress_deadline,
          policy.auto_revert,
          policy.auto_promote,
          policy.canary,
          policy.stagger};
}

MigrateStrategy spelled_out(const MigratePolicy& policy) {
  return {policy.max_parallel, policy.health_check, policy.min_healthy_time, policy.healthy_deadline};
}

RescheduleStrategy spelled_out(const ReschedulePolicy& policy) {
  return {policy.attempts, policy.interval, policy.delay, policy.delay_function, policy.max_delay, policy.unlimited};
}

/// Takes out of the stanza what would hold without it, field by field, and then the stanza. What is left depends only
/// on what holds: `policy` says it, with the stanza as it is at the time.
template <class Stanza, class Policy, class... Members>
void drop_needless(std::optional<Stanza>& stanza, const Policy& policy, Members... members) {
  if (!stanza) return;
  const Stanza whole = spelled_out(policy());
  const auto still_holds = [&] {
    const Stanza now = spelled_out(policy());
    return ((now.*members == whole.*members) && ...);
  };
  stanza = whole;
  const auto drop = [&](auto member) {
    const auto said = std::exchange((*stanza).*member, std::nullopt);
    if (!still_holds()) (*stanza).*member = said;
  };
  (drop(members), ...);
  const auto left = std::exchange(stanza, std::nullopt);
  if (!still_holds()) stanza = left;
}

void drop_needless_update(std::optional<UpdateStrategy>& update, const Job& job, const TaskGroup& group) {
  drop_needless(
      update, [&] { return update_policy(job, group); }, &UpdateStrategy::max_parallel, &UpdateStrategy::health_check,
      &UpdateStrategy::min_healthy_time, &UpdateStrategy::healthy_deadline, &UpdateStrategy::progress_deadline,
      &UpdateStrategy::auto_revert, &UpdateStrategy::auto_promote, &UpdateStrategy::canary, &UpdateStrategy::stagger);
}

void drop_needless_migrate(const Job& job, TaskGroup& group) {
  drop_needless(
      group.migrate, [&] { return migrate_policy(job, group); }, &MigrateStrategy::max_parallel,
      &MigrateStrategy::health_check, &MigrateStrategy::min_healthy_time, &MigrateStrategy::healthy_deadline);
}

void drop_needless_reschedule(const Job& job, TaskGroup& group) {
  drop_needless(
      group.reschedule, [&] { return reschedule_policy(job, group); }, &RescheduleStrategy::attempts,
      &RescheduleStrategy::interval, &RescheduleStrategy::delay, &RescheduleStrategy::delay_function,
      &RescheduleStrategy::max_delay, &RescheduleStrategy::unlimited);
}

/// Which types have these stanzas at all; with another one they are refused, so there they stay as they are.
bool is_updated(const Job& job) { return !job.runs_to_its_end(); }
bool is_migrated(const Job& job) { return job.type == JobType::service; }
bool is_rescheduled(const Job& job) { return job.type == JobType::service || job.type == JobType::batch; }

}  // namespace

void spell_out_policies(Job& job) {
  const bool service = job.type == JobType::service;
  for (auto& group : job.groups) {
    if (is_updated(job) && (service || job.update || group.update))
      group.update = spelled_out(update_policy(job, group));
    if (is_migrated(job)) group.migrate = spelled_out(migrate_policy(job, group));
    if (is_rescheduled(job)) group.reschedule = spelled_out(reschedule_policy(job, group));
  }
  // Of what the job says for all its groups only this is read again by clients.
  const TaskGroup silent;
  if (is_updated(job) && (service || job.update)) job.update = spelled_out(update_policy(job, silent));
}

Job with_policies(Job job) {
  spell_out_policies(job);
  return job;
}

void take_back_policies(Job& job) {
  const TaskGroup silent;
  if (is_updated(job)) drop_needless_update(job.update, job, silent);
  for (auto& group : job.groups) {
    if (is_updated(job)) drop_needless_update(group.update, job, group);
    if (is_migrated(job)) drop_needless_migrate(job, group);
    if (is_rescheduled(job)) drop_needless_reschedule(job, group);
  }
}

Job without_policies(Job job) {
  take_back_policies(job);
  return job;
}

std::optional<Duration> DisconnectPolicy::unknown_for() const {
  if (lost_after || !stop_on_client_after) return lost_after;
  return *stop_on_client_after + kStopMargin;
}

const Enumeration& description(Tag<HealthCheck>) {
  static const Enumeration e = describe::enumeration<HealthCheck>("health check");
  return e;
}

const Enumeration& description(Tag<DelayFunction>) {
  static const Enumeration e = describe::enumeration<DelayFunction>("delay function");
  return e;
}

const Enumeration& description(Tag<Reconcile>) {
  static const Enumeration e = describe::enumeration<Reconcile>("reconcile");
  return e;
}

const Structure& description(Tag<UpdateStrategy>) {
  static const Structure s =
      Builder<UpdateStrategy>("update", "How a new version replaces the old one, and what stops it.")
          .attribute<&UpdateStrategy::max_parallel>("max_parallel", "MaxParallel",
                                                    "Allocations changed at a time, 1 if not given; 0: all, unwatched.")
          .attribute<&UpdateStrategy::health_check>(
              "health_check", "HealthCheck",
              "What makes a new allocation healthy: `checks` (and its tasks), `task_states` alone, or `manual`.")
          .attribute<&UpdateStrategy::min_healthy_time>("min_healthy_time", "MinHealthyTime",
                                                        "How long it must be healthy to count; 10s.")
          .attribute<&UpdateStrategy::healthy_deadline>("healthy_deadline", "HealthyDeadline",
                                                        "By when it must be, or it counts as unhealthy; 5m.")
          .attribute<&UpdateStrategy::progress_deadline>(
              "progress_deadline", "ProgressDeadline",
              "By when another allocation must have become healthy, or the deployment fails; 10m. 0: the first "
              "unhealthy one fails it.")
          .attribute<&UpdateStrategy::auto_revert>("auto_revert", "AutoRevert",
                                                   "Goes back to the last stable version when the deployment fails.")
          .attribute<&UpdateStrategy::auto_promote>("auto_promote", "AutoPromote",
                                                    "Promotes once every canary is healthy.")
          .attribute<&UpdateStrategy::canary>("canary", "Canary",
                                              "Allocations of the new version beside the old ones, until promoted; of "
                                              "system jobs percent of the nodes.")
          .attribute<&UpdateStrategy::stagger>("stagger", "Stagger", "Kept for old files; changes nothing.")
          .done();
  return s;
}

const Structure& description(Tag<MigrateStrategy>) {
  static const Structure s =
      Builder<MigrateStrategy>("migrate", "How a drain moves the group's allocations to other nodes.")
          .attribute<&MigrateStrategy::max_parallel>("max_parallel", "MaxParallel", "Allocations moved at a time; 1.")
          .attribute<&MigrateStrategy::health_check>("health_check", "HealthCheck", "As in `update`.")
          .attribute<&MigrateStrategy::min_healthy_time>("min_healthy_time", "MinHealthyTime", "As in `update`; 10s.")
          .attribute<&MigrateStrategy::healthy_deadline>("healthy_deadline", "HealthyDeadline", "As in `update`; 5m.")
          .done();
  return s;
}

const Structure& description(Tag<RescheduleStrategy>) {
  static const Structure s =
      Builder<RescheduleStrategy>("reschedule", "Replaces failed allocations, on another node if it can.")
          .attribute<&RescheduleStrategy::attempts>("attempts", "Attempts", "Replacements allowed within `interval`.")
          .attribute<&RescheduleStrategy::interval>("interval", "Interval", "The window of `attempts`.")
          .attribute<&RescheduleStrategy::delay>("delay", "Delay", "Wait before the first; 30s, batch jobs 5s.")
          .attribute<&RescheduleStrategy::delay_function>("delay_function", "DelayFunction",
                                                          "How it grows: `constant`, `exponential` or `fibonacci`.")
          .attribute<&RescheduleStrategy::max_delay>("max_delay", "MaxDelay", "The longest wait; 1h.")
          .attribute<&RescheduleStrategy::unlimited>("unlimited", "Unlimited", "Without counting attempts.")
          .done();
  return s;
}

const Structure& description(Tag<DisconnectStrategy>) {
  static const Structure s =
      Builder<DisconnectStrategy>("disconnect", "What becomes of allocations whose node is not heard of.")
          .attribute<&DisconnectStrategy::lost_after>("lost_after", "LostAfter",
                                                      "How long they count as unknown; after that they are lost.")
          .attribute<&DisconnectStrategy::stop_on_client_after>("stop_on_client_after", "StopOnClientAfter",
                                                                "After which the node itself stops them.")
          .attribute<&DisconnectStrategy::replace>("replace", "Replace", "Runs a replacement meanwhile.")
          .attribute<&DisconnectStrategy::reconcile>(
              "reconcile", "Reconcile",
              "Which one goes on when the node returns: `best_score`, `keep_original`, `keep_replacement`, "
              "`longest_running`.")
          .done();
  return s;
}

}  // namespace underway::model
