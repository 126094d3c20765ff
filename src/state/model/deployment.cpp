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
  static const Structure s =
      Builder<DeploymentState>("deployment state", "How far the rollout of one group is.")
          .wire<&DeploymentState::auto_revert>("AutoRevert",
                                               "Whether the job goes back to its last stable version when this fails.")
          .wire<&DeploymentState::auto_promote>("AutoPromote",
                                                "Whether canaries are promoted once all of them are healthy.")
          .wire<&DeploymentState::promoted>("Promoted", "Whether the canaries were promoted: the rest follows.")
          .wire<&DeploymentState::placed_canaries>("PlacedCanaries", "IDs of the allocations that are canaries.")
          .wire<&DeploymentState::desired_canaries>("DesiredCanaries", "How many canaries are wanted; 0: none are.")
          .wire<&DeploymentState::desired_total>("DesiredTotal", "How many allocations of the new version are wanted.")
          .wire<&DeploymentState::placed_allocs>("PlacedAllocs", "How many of them were placed.")
          .wire<&DeploymentState::healthy_allocs>("HealthyAllocs", "How many of them were found healthy.")
          .wire<&DeploymentState::unhealthy_allocs>("UnhealthyAllocs", "How many of them were found unhealthy.")
          .wire<&DeploymentState::progress_deadline>(
              "ProgressDeadline", "How long no allocation may become healthy, in nanoseconds; 0: for ever.")
          .wire<&DeploymentState::require_progress_by>(
              "RequireProgressBy", "When it fails without progress; none: nothing was placed yet, or no deadline.")
          .time()
          .done();
  return s;
}

const Structure& description(Tag<Deployment>) {
  static const Structure s =
      Builder<Deployment>("deployment", "The rollout of one version of a job, being watched.")
          .wire<&Deployment::id>("ID", "UUID.")
          .wire<&Deployment::ns>("Namespace", "Namespace of the job.")
          .wire<&Deployment::job_id>("JobID", "ID of the job.")
          .wire<&Deployment::job_version>("JobVersion", "Version of the job that is rolled out.")
          .wire<&Deployment::job_modify_index>("JobModifyIndex",
                                               "Revision in which the job had last changed when it began.")
          .wire<&Deployment::job_spec_modify_index>("JobSpecModifyIndex",
                                                    "Revision in which that version was registered.")
          .wire<&Deployment::job_create_index>(
              "JobCreateIndex", "Revision in which the job was made: one of that name that was purged is another.")
          .wire<&Deployment::groups>("TaskGroups", "How far its groups are, by name.")
          .wire<&Deployment::status>("Status", "How it goes; `failed`, `successful` and `cancelled` are its ends.")
          .wire<&Deployment::status_description>("StatusDescription", "Why it is so, for people.")
          .wire<&Deployment::eval_priority>("EvalPriority", "Priority of the job when it began.")
          .wire<&Deployment::create_time>("CreateTime", "Unix time in nanoseconds at which it began.")
          .wire<&Deployment::modify_time>("ModifyTime", "Unix time in nanoseconds at which it last changed.")
          .wire<&Deployment::create_index>("CreateIndex", "Revision in which it began.")
          .wire<&Deployment::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model
