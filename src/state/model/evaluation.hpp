#pragma once
/// @file
/// An evaluation: something changed, and the scheduler is to say what to do about it.

#include "model/allocation.hpp"

namespace underway::model {

enum class EvalStatus { blocked, pending, complete, failed, canceled };

/// Nomad's trigger names (structs/eval.go).
enum class EvalTrigger {
  job_register,
  job_deregister,
  node_drain,
  node_update,
  alloc_stop,
  alloc_failure,
  queued_allocs,
  max_plan_attempts,
  failed_follow_up,
  periodic_job,
  scheduled,
  rolling_update,
  deployment_watcher,
  max_disconnect_timeout,
  reconnect,
  alloc_reschedule,
  preemption,
  job_scaling
};

struct Evaluation {
  std::string id;
  std::string ns = "default";
  std::int64_t priority = 50;
  JobType type = JobType::service;
  EvalTrigger triggered_by = EvalTrigger::job_register;
  std::string job_id;
  Revision job_modify_index = 0;
  std::string node_id;
  std::string deployment_id;
  EvalStatus status = EvalStatus::pending;
  std::string status_description;
  std::string previous_eval;
  std::string next_eval;
  std::string blocked_eval;                          ///< made because not everything could be placed
  std::map<std::string, AllocMetric> failed_groups;  ///< by group: why it could not be placed
  std::map<std::string, std::int64_t> queued;        ///< by group: allocations still to be placed
  std::map<std::string, bool> class_eligibility;     ///< blocked: by computed class, whether it could ever fit
  bool escaped_class = false;                        ///< blocked: a constraint names a `unique.` attribute
  std::string quota_limit_reached;                   ///< the quota that leaves no room for what is still to be placed
  std::int64_t wait_until = 0;  ///< pending: not to be looked at before, ns since the epoch; 0: now
  std::int64_t create_time = 0;
  std::int64_t modify_time = 0;
  Revision create_index = 0;
  Revision modify_index = 0;

  bool terminal() const {
    return status == EvalStatus::complete || status == EvalStatus::failed || status == EvalStatus::canceled;
  }
};

const describe::Enumeration& description(describe::Tag<EvalStatus>);
const describe::Enumeration& description(describe::Tag<EvalTrigger>);
const describe::Structure& description(describe::Tag<Evaluation>);

}  // namespace underway::model
