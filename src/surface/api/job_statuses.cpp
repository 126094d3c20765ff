#include "api/job_statuses.hpp"

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
                                 .wire<&NamespacedId::id>("ID", "")
                                 .wire<&NamespacedId::ns>("Namespace", "")
                                 .done();
  return s;
}

const Structure& description(Tag<JobStatusesBody>) {
  static const Structure s = Builder<JobStatusesBody>("job statuses request", "Which jobs.")
                                 .wire<&JobStatusesBody::jobs>("Jobs", "None: all.")
                                 .wire<&JobStatusesBody::include_children>("IncludeChildren", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocationHealth>) {
  static const Structure s = Builder<AllocationHealth>("allocation health", "What a rollout makes of an allocation.")
                                 .wire<&AllocationHealth::canary>("Canary", "")
                                 .wire<&AllocationHealth::healthy>("Healthy", "")
                                 .done();
  return s;
}

const Structure& description(Tag<JobStatusAllocation>) {
  static const Structure s = Builder<JobStatusAllocation>("job status allocation", "An allocation of a job.")
                                 .wire<&JobStatusAllocation::id>("ID", "")
                                 .wire<&JobStatusAllocation::group>("Group", "")
                                 .wire<&JobStatusAllocation::client_status>("ClientStatus", "")
                                 .wire<&JobStatusAllocation::node_id>("NodeID", "")
                                 .wire<&JobStatusAllocation::health>("DeploymentStatus", "")
                                 .wire<&JobStatusAllocation::job_version>("JobVersion", "")
                                 .wire<&JobStatusAllocation::follow_up_eval>("FollowupEvalID", "")
                                 .wire<&JobStatusAllocation::has_paused_task>("HasPausedTask", "")
                                 .done();
  return s;
}

const Structure& description(Tag<JobStatusDeployment>) {
  static const Structure s = Builder<JobStatusDeployment>("job status deployment", "The newest rollout of a job.")
                                 .wire<&JobStatusDeployment::id>("ID", "")
                                 .wire<&JobStatusDeployment::active>("IsActive", "")
                                 .wire<&JobStatusDeployment::job_version>("JobVersion", "")
                                 .wire<&JobStatusDeployment::status>("Status", "")
                                 .wire<&JobStatusDeployment::status_description>("StatusDescription", "")
                                 .wire<&JobStatusDeployment::all_auto_promote>("AllAutoPromote", "")
                                 .wire<&JobStatusDeployment::requires_promotion>("RequiresPromotion", "")
                                 .done();
  return s;
}

const Structure& description(Tag<JobStatusEntry>) {
  static const Structure s = Builder<JobStatusEntry>("job status entry", "A job with what runs of it.")
                                 .wire<&JobStatusEntry::id>("ID", "")
                                 .wire<&JobStatusEntry::ns>("Namespace", "")
                                 .wire<&JobStatusEntry::name>("Name", "")
                                 .wire<&JobStatusEntry::type>("Type", "")
                                 .wire<&JobStatusEntry::node_pool>("NodePool", "")
                                 .wire<&JobStatusEntry::datacenters>("Datacenters", "")
                                 .wire<&JobStatusEntry::priority>("Priority", "")
                                 .wire<&JobStatusEntry::version>("Version", "")
                                 .wire<&JobStatusEntry::submit_time>("SubmitTime", "")
                                 .wire<&JobStatusEntry::status>("Status", "")
                                 .wire<&JobStatusEntry::stop>("Stop", "")
                                 .wire<&JobStatusEntry::parent_id>("ParentID", "")
                                 .wire<&JobStatusEntry::child_statuses>("ChildStatuses", "")
                                 .wire<&JobStatusEntry::group_count_sum>("GroupCountSum", "")
                                 .wire<&JobStatusEntry::allocations>("Allocs", "")
                                 .wire<&JobStatusEntry::latest_deployment>("LatestDeployment", "")
                                 .wire<&JobStatusEntry::create_index>("CreateIndex", "")
                                 .wire<&JobStatusEntry::modify_index>("ModifyIndex", "")
                                 .done();
  return s;
}

}  // namespace underway::api
