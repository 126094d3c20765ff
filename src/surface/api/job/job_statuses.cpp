#include "api/job/job_statuses.hpp"

namespace underway::api {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

JobStatusAllocation entry_of(const model::Allocation& row) {
  JobStatusAllocation out;
  out.id = row.id;
  out.group = row.group;
  out.client_status = row.client_status;
  out.node_id = row.node_id;
  out.health = {row.health.canary, row.health.healthy};
  out.job_version = row.job_version;
  out.follow_up_eval = row.follow_up_eval;
  return out;
}

JobStatusDeployment entry_of(const model::Deployment& row) {
  JobStatusDeployment out;
  out.id = row.id;
  out.active = row.active();
  out.job_version = row.job_version;
  out.status = row.status;
  out.status_description = row.status_description;
  out.all_auto_promote = !row.groups.empty();
  for (const auto& [name, group] : row.groups) {
    if (group.desired_canaries > 0 && !group.promoted) out.requires_promotion = true;
    if (!group.auto_promote) out.all_auto_promote = false;
  }
  return out;
}

}  // namespace

JobStatusEntry status_entry(const tables::Tables& tables, const model::Job& job) {
  JobStatusEntry out;
  out.id = job.id;
  out.ns = job.ns;
  out.name = job.name;
  out.parent_id = job.parent_id;
  out.type = job.type;
  out.node_pool = job.node_pool;
  out.datacenters = job.datacenters;
  out.priority = job.priority;
  out.version = job.version;
  out.submit_time = job.submit_time;
  out.status = job.status;
  out.stop = job.stop;
  out.create_index = job.create_index;
  out.modify_index = job.modify_index;
  for (const auto& group : job.groups) out.group_count_sum += group.count;
  for (const auto& row : tables.allocations_of_job(job.ns, job.id)) {
    // What an earlier job of that name left is not of this one.
    if (row->create_index >= job.create_index) out.allocations.push_back(entry_of(*row));
    out.modify_index = std::max(out.modify_index, row->modify_index);
  }
  if (const auto& deployments = tables.deployments_of_job(job.ns, job.id); !deployments.empty()) {
    out.latest_deployment = entry_of(*deployments.front());
    out.modify_index = std::max(out.modify_index, deployments.front()->modify_index);
  }
  return out;
}

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

const Structure& description(Tag<JobStatusAllocation>) {
  static const Structure s =
      Builder<JobStatusAllocation>("job status allocation", "An allocation of a job.")
          .wire<&JobStatusAllocation::id>("ID", "ID of the allocation.")
          .wire<&JobStatusAllocation::group>("Group", "Its group in the job.")
          .wire<&JobStatusAllocation::client_status>(
              "ClientStatus", "How it goes on its node: pending, running, complete, failed, lost or unknown.")
          .wire<&JobStatusAllocation::node_id>("NodeID", "ID of the node that it is on.")
          .wire<&JobStatusAllocation::health>("DeploymentStatus", "What its rollout makes of it.")
          .wire<&JobStatusAllocation::job_version>("JobVersion", "Version of the job that it runs.")
          .wire<&JobStatusAllocation::follow_up_eval>("FollowupEvalID",
                                                      "ID of the evaluation that will replace it; empty: none.")
          .wire<&JobStatusAllocation::has_paused_task>("HasPausedTask",
                                                       "Always false: no task is paused by a schedule here.")
          .done();
  return s;
}

const Structure& description(Tag<JobStatusDeployment>) {
  static const Structure s =
      Builder<JobStatusDeployment>("job status deployment", "The newest rollout of a job.")
          .wire<&JobStatusDeployment::id>("ID", "ID of the rollout.")
          .wire<&JobStatusDeployment::active>("IsActive", "Whether it is not over.")
          .wire<&JobStatusDeployment::job_version>("JobVersion", "Version of the job that is rolled out.")
          .wire<&JobStatusDeployment::status>(
              "Status", "running, paused, failed, successful, cancelled, pending, initializing, blocked or unblocking.")
          .wire<&JobStatusDeployment::status_description>("StatusDescription", "The same for people, with the reason.")
          .wire<&JobStatusDeployment::all_auto_promote>(
              "AllAutoPromote", "Whether the canaries of all its groups are promoted by themselves.")
          .wire<&JobStatusDeployment::requires_promotion>("RequiresPromotion",
                                                          "Whether it has canaries that were not promoted yet.")
          .done();
  return s;
}

const Structure& description(Tag<JobStatusEntry>) {
  static const Structure s =
      Builder<JobStatusEntry>("job status entry", "A job with what runs of it.")
          .wire<&JobStatusEntry::id>("ID", "ID of the job.")
          .wire<&JobStatusEntry::ns>("Namespace", "Namespace of the job.")
          .wire<&JobStatusEntry::name>("Name", "Name of the job, for people; its ID where its file says nothing else.")
          .wire<&JobStatusEntry::type>("Type", "service, batch, system or sysbatch.")
          .wire<&JobStatusEntry::node_pool>("NodePool", "Pool of the nodes that it may run on.")
          .wire<&JobStatusEntry::datacenters>(
              "Datacenters", "Datacenters that it may run in, as patterns: * stands for any run of characters.")
          .wire<&JobStatusEntry::priority>("Priority", "Higher is placed first; 50 where its file says nothing else.")
          .wire<&JobStatusEntry::version>("Version", "The registered version, counted from 0.")
          .wire<&JobStatusEntry::submit_time>("SubmitTime",
                                              "When this version was registered, Unix time in nanoseconds.")
          .wire<&JobStatusEntry::status>("Status", "pending, running or dead.")
          .wire<&JobStatusEntry::stop>("Stop", "Whether the job was stopped.")
          .wire<&JobStatusEntry::parent_id>("ParentID", "ID of the job that has started it; empty: none.")
          .wire<&JobStatusEntry::child_statuses>(
              "ChildStatuses", "Always empty: jobs that it has started are listed as jobs of their own.")
          .wire<&JobStatusEntry::group_count_sum>("GroupCountSum", "How many allocations its groups ask for together.")
          .wire<&JobStatusEntry::allocations>("Allocs",
                                              "Its allocations, without those of an earlier job of the same ID.")
          .wire<&JobStatusEntry::latest_deployment>("LatestDeployment", "Its newest rollout; absent: it has none.")
          .wire<&JobStatusEntry::create_index>("CreateIndex", "Revision of its creation.")
          .wire<&JobStatusEntry::modify_index>(
              "ModifyIndex", "Revision of the last change of the job, its allocations or its newest rollout.")
          .done();
  return s;
}

}  // namespace underway::api
