#pragma once
/// @file
/// A deployment: the rollout of one version of a job, being watched.

#include "model/job/job.hpp"

namespace underway::model {

enum class DeploymentStatus {
  running,
  paused,
  failed,
  successful,
  cancelled,
  pending,
  initializing,
  blocked,
  unblocking
};

/// How far one group is.
struct DeploymentState {
  bool auto_revert = false;
  bool auto_promote = false;
  bool promoted = false;
  std::vector<std::string> placed_canaries;  ///< ids of allocations
  std::int64_t desired_canaries = 0;
  std::int64_t desired_total = 0;
  std::int64_t placed_allocs = 0;
  std::int64_t healthy_allocs = 0;
  std::int64_t unhealthy_allocs = 0;
  Duration progress_deadline{0};
  std::int64_t require_progress_by = 0;  ///< ns since the epoch; 0: nothing was placed yet, or no deadline
};

struct Deployment {
  std::string id;
  std::string ns = "default";
  std::string job_id;
  std::int64_t job_version = 0;
  Revision job_modify_index = 0;
  Revision job_spec_modify_index = 0;
  Revision job_create_index = 0;
  std::map<std::string, DeploymentState> groups;
  DeploymentStatus status = DeploymentStatus::running;
  std::string status_description;
  std::int64_t eval_priority = 50;
  std::int64_t create_time = 0;  ///< ns since the epoch
  std::int64_t modify_time = 0;
  Revision create_index = 0;
  Revision modify_index = 0;

  /// Not over: it still decides what the scheduler may do.
  bool active() const {
    return status != DeploymentStatus::failed && status != DeploymentStatus::successful &&
           status != DeploymentStatus::cancelled;
  }
  bool has_placed_canaries() const;
  /// Whether some group waits for a person (or auto_promote).
  bool requires_promotion() const;
};

const describe::Enumeration& description(describe::Tag<DeploymentStatus>);
const describe::Structure& description(describe::Tag<DeploymentState>);
const describe::Structure& description(describe::Tag<Deployment>);

}  // namespace underway::model
