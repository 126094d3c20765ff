#pragma once
/// @file
/// What operators set of scheduling for the whole cluster, as Nomad's API has it (documentation "Scheduler Operator
/// HTTP API"). There is one; until somebody writes it, the defaults hold.

#include "model/job.hpp"

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
  Revision create_index = 0;
  Revision modify_index = 0;
};

const describe::Enumeration& description(describe::Tag<SchedulerAlgorithm>);
const describe::Structure& description(describe::Tag<PreemptionConfiguration>);
const describe::Structure& description(describe::Tag<SchedulerConfiguration>);

}  // namespace underway::model
