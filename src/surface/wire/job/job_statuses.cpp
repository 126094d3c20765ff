#include "wire/job/job_statuses.hpp"

#include <algorithm>

namespace underway::wire {

using describe::Builder;
using describe::Projection;
using describe::Projector;
using describe::Structure;
using describe::Tag;

namespace {

std::int64_t count_of(const model::Job& job) {
  std::int64_t count = 0;
  for (const auto& group : job.groups) count += group.count;
  return count;
}

AllocationHealth health_of(const model::Allocation& allocation) {
  return {allocation.health.canary, allocation.health.healthy};
}

bool promotes_itself(const model::Deployment& rollout) {
  const auto by_itself = [](const auto& group) { return group.second.auto_promote; };
  return !rollout.groups.empty() && std::ranges::all_of(rollout.groups, by_itself);
}

bool waits_for_promotion(const model::Deployment& rollout) {
  return std::ranges::any_of(
      rollout.groups, [](const auto& group) { return group.second.desired_canaries > 0 && !group.second.promoted; });
}

}  // namespace

const Structure& description(Tag<NamespacedId>) {
  static const Structure s = Builder<NamespacedId>("namespaced id", "A job, by name.")
                                 .wire<&NamespacedId::id>("ID", "ID of the job.")
                                 .wire<&NamespacedId::ns>("Namespace", "Its namespace; empty: default.")
                                 .done();
  return s;
}

const Structure& description(Tag<JobStatusesBody>) {
  static const Structure s =
      Builder<JobStatusesBody>("job statuses request", "Which jobs.")
          .wire<&JobStatusesBody::jobs>("Jobs", "None: all.")
          .wire<&JobStatusesBody::include_children>(
              "IncludeChildren", "Without effect: jobs that another job has started are listed like all others.")
          .done();
  return s;
}

const Structure& description(Tag<AllocationHealth>) {
  static const Structure s =
      Builder<AllocationHealth>("allocation health", "What a rollout makes of an allocation.")
          .wire<&AllocationHealth::canary>("Canary", "It is tried before the others follow.")
          .wire<&AllocationHealth::healthy>("Healthy", "The verdict on it; absent: there is none yet.")
          .done();
  return s;
}

const Projection<model::Allocation>& description(Tag<JobStatusAllocation>) {
  static const auto s =
      Projector<JobStatusAllocation, model::Allocation>("job status allocation", "An allocation of a job.")
          .from<&JobStatusAllocation::id, &model::Allocation::id>("ID", "ID of the allocation.")
          .from<&JobStatusAllocation::group, &model::Allocation::group>("Group", "Its group in the job.")
          .from<&JobStatusAllocation::client_status, &model::Allocation::client_status>(
              "ClientStatus", "How it goes on its node: pending, running, complete, failed, lost or unknown.")
          .from<&JobStatusAllocation::node_id, &model::Allocation::node_id>("NodeID", "ID of the node that it is on.")
          .from<&JobStatusAllocation::health, health_of>("DeploymentStatus", "What its rollout makes of it.")
          .from<&JobStatusAllocation::job_version, &model::Allocation::job_version>("JobVersion",
                                                                                    "Version of the job that it runs.")
          .from<&JobStatusAllocation::follow_up_eval, &model::Allocation::follow_up_eval>(
              "FollowupEvalID", "ID of the evaluation that will replace it; empty: none.")
          .wire<&JobStatusAllocation::has_paused_task>("HasPausedTask",
                                                       "Always false: no task is paused by a schedule here.")
          .done();
  return s;
}

const Projection<model::Deployment>& description(Tag<JobStatusDeployment>) {
  static const auto s =
      Projector<JobStatusDeployment, model::Deployment>("job status deployment", "The newest rollout of a job.")
          .from<&JobStatusDeployment::id, &model::Deployment::id>("ID", "ID of the rollout.")
          .from<&JobStatusDeployment::active, &model::Deployment::active>("IsActive", "Whether it is not over.")
          .from<&JobStatusDeployment::job_version, &model::Deployment::job_version>(
              "JobVersion", "Version of the job that is rolled out.")
          .from<&JobStatusDeployment::status, &model::Deployment::status>(
              "Status", "running, paused, failed, successful, cancelled, pending, initializing, blocked or unblocking.")
          .from<&JobStatusDeployment::status_description, &model::Deployment::status_description>(
              "StatusDescription", "The same for people, with the reason.")
          .from<&JobStatusDeployment::all_auto_promote, promotes_itself>(
              "AllAutoPromote", "Whether the canaries of all its groups are promoted by themselves.")
          .from<&JobStatusDeployment::requires_promotion, waits_for_promotion>(
              "RequiresPromotion", "Whether it has canaries that were not promoted yet.")
          .done();
  return s;
}

const Projection<model::Job>& description(Tag<JobStatusEntry>) {
  static const auto s =
      Projector<JobStatusEntry, model::Job>("job status entry", "A job with what runs of it.")
          .from<&JobStatusEntry::id, &model::Job::id>("ID", "ID of the job.")
          .from<&JobStatusEntry::ns, &model::Job::ns>("Namespace", "Namespace of the job.")
          .from<&JobStatusEntry::name, &model::Job::name>(
              "Name", "Name of the job, for people; its ID where its file says nothing else.")
          .from<&JobStatusEntry::type, &model::Job::type>("Type", "service, batch, system or sysbatch.")
          .from<&JobStatusEntry::node_pool, &model::Job::node_pool>("NodePool", "Pool of the nodes that it may run on.")
          .from<&JobStatusEntry::datacenters, &model::Job::datacenters>(
              "Datacenters", "Datacenters that it may run in, as patterns: * stands for any run of characters.")
          .from<&JobStatusEntry::priority, &model::Job::priority>(
              "Priority", "Higher is placed first; 50 where its file says nothing else.")
          .from<&JobStatusEntry::version, &model::Job::version>("Version", "The registered version, counted from 0.")
          .from<&JobStatusEntry::submit_time, &model::Job::submit_time>(
              "SubmitTime", "When this version was registered, Unix time in nanoseconds.")
          .from<&JobStatusEntry::status, &model::Job::status>("Status", "pending, running or dead.")
          .from<&JobStatusEntry::stop, &model::Job::stop>("Stop", "Whether the job was stopped.")
          .from<&JobStatusEntry::parent_id, &model::Job::parent_id>("ParentID",
                                                                    "ID of the job that has started it; empty: none.")
          .wire<&JobStatusEntry::child_statuses>(
              "ChildStatuses", "Always empty: jobs that it has started are listed as jobs of their own.")
          .from<&JobStatusEntry::group_count_sum, count_of>("GroupCountSum",
                                                            "How many allocations its groups ask for together.")
          .wire<&JobStatusEntry::allocations>("Allocs",
                                              "Its allocations, without those of an earlier job of the same ID.")
          .wire<&JobStatusEntry::latest_deployment>("LatestDeployment", "Its newest rollout; absent: it has none.")
          .from<&JobStatusEntry::create_index, &model::Job::create_index>("CreateIndex", "Revision of its creation.")
          .from<&JobStatusEntry::modify_index, &model::Job::modify_index>(
              "ModifyIndex", "Revision of the last change of the job, its allocations or its newest rollout.")
          .done();
  return s;
}

}  // namespace underway::wire
