#pragma once
/// @file
/// What operators set of scheduling for the whole cluster, as Nomad's API has it (documentation "Scheduler Operator
/// HTTP API"). There is one; until somebody writes it, the defaults hold.

#include "model/job/job.hpp"

namespace underway::model {

enum class SchedulerAlgorithm { binpack, spread };

/// Whether a job of a type may push jobs of lower priority off their nodes.
struct PreemptionConfiguration {
  bool system = true;
  bool sysbatch = false;
  bool batch = false;
  bool service = false;

  bool allows(JobType type) const;
};

struct SchedulerConfiguration {
  SchedulerAlgorithm algorithm = SchedulerAlgorithm::binpack;
  PreemptionConfiguration preemption;
  bool memory_oversubscription = false;  ///< tasks may have up to memory_max
  bool reject_job_registration = false;  ///< except for management tokens
  bool pause_eval_broker = false;        ///< evaluations are kept, and none is scheduled
  /// Nomad's bound on the nodes looked at for jobs with spread or affinity. Kept for its clients: here all are.
  std::int64_t node_limit = 0;
  Revision create_index = 0;
  Revision modify_index = 0;
};

/// What Nomad's clients set of servers among themselves. It is kept for them: with one server nothing acts on it.
struct AutopilotConfiguration {
  bool cleanup_dead_servers = true;
  Duration last_contact_threshold = std::chrono::milliseconds(200);
  std::int64_t max_trailing_logs = 250;
  std::int64_t min_quorum = 0;
  Duration server_stabilization_time = std::chrono::seconds(10);
  bool enable_redundancy_zones = false;
  bool disable_upgrade_migration = false;
  bool enable_custom_upgrades = false;
  Revision create_index = 0;
  Revision modify_index = 0;
};

const describe::Structure& description(describe::Tag<AutopilotConfiguration>);
const describe::Enumeration& description(describe::Tag<SchedulerAlgorithm>);
const describe::Structure& description(describe::Tag<PreemptionConfiguration>);
const describe::Structure& description(describe::Tag<SchedulerConfiguration>);

}  // namespace underway::model
