#include "model/deployment.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

bool Deployment::has_placed_canaries() const {
  return std::any_of(groups.begin(), groups.end(),
                     [](const auto& group) { return !group.second.placed_canaries.empty(); });
}

bool Deployment::requires_promotion() const {
  return status == DeploymentStatus::running && std::any_of(groups.begin(), groups.end(), [](const auto& group) {
           return group.second.desired_canaries > 0 && !group.second.promoted;
         });
}

const Enumeration& description(Tag<DeploymentStatus>) {
  static const Enumeration e = describe::enumeration<DeploymentStatus>("deployment status");
  return e;
}

const Structure& description(Tag<DeploymentState>) {
  static const Structure s = Builder<DeploymentState>("deployment state", "")
                                 .wire<&DeploymentState::auto_revert>("AutoRevert", "")
                                 .wire<&DeploymentState::auto_promote>("AutoPromote", "")
                                 .wire<&DeploymentState::promoted>("Promoted", "")
                                 .wire<&DeploymentState::placed_canaries>("PlacedCanaries", "")
                                 .wire<&DeploymentState::desired_canaries>("DesiredCanaries", "")
                                 .wire<&DeploymentState::desired_total>("DesiredTotal", "")
                                 .wire<&DeploymentState::placed_allocs>("PlacedAllocs", "")
                                 .wire<&DeploymentState::healthy_allocs>("HealthyAllocs", "")
                                 .wire<&DeploymentState::unhealthy_allocs>("UnhealthyAllocs", "")
                                 .wire<&DeploymentState::progress_deadline>("ProgressDeadline", "")
                                 .wire<&DeploymentState::require_progress_by>("RequireProgressBy", "")
                                 .time()
                                 .done();
  return s;
}

const Structure& description(Tag<Deployment>) {
  static const Structure s = Builder<Deployment>("deployment", "")
                                 .wire<&Deployment::id>("ID", "")
                                 .wire<&Deployment::ns>("Namespace", "")
                                 .wire<&Deployment::job_id>("JobID", "")
                                 .wire<&Deployment::job_version>("JobVersion", "")
                                 .wire<&Deployment::job_modify_index>("JobModifyIndex", "")
                                 .wire<&Deployment::job_spec_modify_index>("JobSpecModifyIndex", "")
                                 .wire<&Deployment::job_create_index>("JobCreateIndex", "")
                                 .wire<&Deployment::groups>("TaskGroups", "")
                                 .wire<&Deployment::status>("Status", "")
                                 .wire<&Deployment::status_description>("StatusDescription", "")
                                 .wire<&Deployment::eval_priority>("EvalPriority", "")
                                 .wire<&Deployment::create_time>("CreateTime", "")
                                 .wire<&Deployment::modify_time>("ModifyTime", "")
                                 .wire<&Deployment::create_index>("CreateIndex", "")
                                 .wire<&Deployment::modify_index>("ModifyIndex", "")
                                 .done();
  return s;
}

}  // namespace underway::model
