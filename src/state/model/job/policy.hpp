#pragma once
/// @file
/// How a group is changed, moved and replaced: `update`, `migrate`, `reschedule`, `disconnect`. What a file leaves out
/// of a group's stanza comes from the job's, and then from the job's type; so the fields of the stanzas are optional,
/// and a *Policy is what holds in the end. Defaults are those of Nomad's api/*.go `Canonicalize`.

#include "base/json/describe.hpp"

#include <cstdint>
#include <optional>

namespace underway::model {

enum class JobType;
struct Job;
struct TaskGroup;

enum class HealthCheck { checks, task_states, manual };
enum class DelayFunction { constant, exponential, fibonacci };
enum class Reconcile { best_score, keep_original, keep_replacement, longest_running };

/// `update`: how a new version replaces the old one.
struct UpdateStrategy {
  std::optional<std::int64_t> max_parallel;
  std::optional<HealthCheck> health_check;
  std::optional<Duration> min_healthy_time;
  std::optional<Duration> healthy_deadline;
  std::optional<Duration> progress_deadline;
  std::optional<bool> auto_revert;
  std::optional<bool> auto_promote;
  std::optional<std::int64_t> canary;
  std::optional<Duration> stagger;
};

struct UpdatePolicy {
  std::int64_t max_parallel = 1;  ///< 0: no deployment, all at once
  HealthCheck health_check = HealthCheck::checks;
  Duration min_healthy_time = std::chrono::seconds(10);
  Duration healthy_deadline = std::chrono::minutes(5);
  Duration progress_deadline = std::chrono::minutes(10);  ///< 0: the first unhealthy allocation fails the deployment
  bool auto_revert = false;
  bool auto_promote = false;
  std::int64_t canary = 0;  ///< allocations; of system jobs percent of the feasible nodes, rounded up
  Duration stagger = std::chrono::seconds(30);

  /// Whether changes are watched by a deployment.
  bool rolls() const { return max_parallel > 0; }
};

/// `migrate`: how a drain moves allocations.
struct MigrateStrategy {
  std::optional<std::int64_t> max_parallel;
  std::optional<HealthCheck> health_check;
  std::optional<Duration> min_healthy_time;
  std::optional<Duration> healthy_deadline;
};

struct MigratePolicy {
  std::int64_t max_parallel = 1;
  HealthCheck health_check = HealthCheck::checks;
  Duration min_healthy_time = std::chrono::seconds(10);
  Duration healthy_deadline = std::chrono::minutes(5);
};

/// `reschedule`: replacements of failed allocations, elsewhere.
struct RescheduleStrategy {
  std::optional<std::int64_t> attempts;
  std::optional<Duration> interval;
  std::optional<Duration> delay;
  std::optional<DelayFunction> delay_function;
  std::optional<Duration> max_delay;
  std::optional<bool> unlimited;
};

struct ReschedulePolicy {
  std::int64_t attempts = 0;  ///< within `interval`, unless unlimited
  Duration interval{0};
  Duration delay = std::chrono::seconds(30);
  DelayFunction delay_function = DelayFunction::exponential;
  Duration max_delay = std::chrono::hours(1);
  bool unlimited = true;

  /// False: what failed stays failed.
  bool enabled() const { return unlimited || (attempts > 0 && interval > Duration{0}); }
};

/// `disconnect`: what becomes of an allocation whose node is not heard of.
struct DisconnectStrategy {
  std::optional<Duration> lost_after;
  std::optional<Duration> stop_on_client_after;
  std::optional<bool> replace;
  std::optional<Reconcile> reconcile;
};

struct DisconnectPolicy {
  /// How long it counts as unknown rather than lost; nothing: it is lost with its node; Duration::max(): for ever.
  std::optional<Duration> lost_after;
  std::optional<Duration> stop_on_client_after;  ///< nothing: it runs on
  bool replace = true;                           ///< elsewhere, while it is unknown
  Reconcile reconcile = Reconcile::best_score;   ///< which goes on when it is heard of again

  /// How long it may still be there: until it is given up, or its node has surely stopped it. Nothing: lost at once.
  std::optional<Duration> unknown_for() const;
  /// Whether a replacement runs meanwhile. One that the node stops by itself is waited for.
  bool replaces() const { return lost_after && replace; }
};

/// What a node may take to notice that its link is gone, and to end a task (kill_timeout is at most 30 s).
inline constexpr std::chrono::seconds kStopMargin{60};

/// Long enough for a switch to be restarted, short enough for a service to be missed.
inline constexpr std::chrono::minutes kServiceLostAfter{5};

/// What holds for a group: its own stanza over its job's over the type's defaults.
UpdatePolicy update_policy(const Job& job, const TaskGroup& group);
MigratePolicy migrate_policy(const Job& job, const TaskGroup& group);
ReschedulePolicy reschedule_policy(const Job& job, const TaskGroup& group);
/// Ours differs from Nomad's where nothing is written: the allocations of services and system jobs on a node that is
/// not heard of are unknown, not lost. They run on, nothing replaces them, and they are taken back when the node
/// returns; those of services are given up, and replaced, after kServiceLostAfter.
DisconnectPolicy disconnect_policy(const Job& job, const TaskGroup& group);
/// Whether of each allocation of the group only one may ever run, as of a machine that has addresses and a disk:
/// nothing is started in its place before its node has told that it ended, or is forgotten. Said by a `disconnect` that
/// gives nothing up and replaces nothing.
bool runs_once(const Job& job, const TaskGroup& group);

/// Writes into the stanzas of the groups what holds for them, where Nomad's api/*.go `Canonicalize` does: its clients
/// read these fields without asking whether they are there. `disconnect` stays as it is.
void spell_out_policies(Job& job);

const describe::Enumeration& description(describe::Tag<HealthCheck>);
const describe::Enumeration& description(describe::Tag<DelayFunction>);
const describe::Enumeration& description(describe::Tag<Reconcile>);
const describe::Structure& description(describe::Tag<UpdateStrategy>);
const describe::Structure& description(describe::Tag<MigrateStrategy>);
const describe::Structure& description(describe::Tag<RescheduleStrategy>);
const describe::Structure& description(describe::Tag<DisconnectStrategy>);

}  // namespace underway::model
