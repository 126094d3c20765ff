#include "api/stubs.hpp"

#include "move/capsules.hpp"
#include "server/dependencies.hpp"
#include "server/start_decisions.hpp"

namespace underway::api {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

std::int64_t& counter(GroupSummary& summary, model::ClientStatus status) {
  switch (status) {
    case model::ClientStatus::pending:
      return summary.starting;
    case model::ClientStatus::running:
      return summary.running;
    case model::ClientStatus::complete:
      return summary.complete;
    case model::ClientStatus::failed:
      return summary.failed;
    case model::ClientStatus::lost:
      return summary.lost;
    case model::ClientStatus::unknown:
      return summary.unknown;
  }
  return summary.unknown;
}

}  // namespace

JobSummary summarize(const tables::Tables& tables, const model::Job& job) {
  JobSummary summary;
  summary.job_id = job.id;
  summary.ns = job.ns;
  summary.create_index = job.create_index;
  summary.modify_index = job.modify_index;
  for (const auto& group : job.groups) summary.groups[group.name];
  for (const auto& allocation : tables.allocations_of_job(job.ns, job.id)) {
    ++counter(summary.groups[allocation->group], allocation->client_status);
    summary.modify_index = std::max(summary.modify_index, allocation->modify_index);
  }
  if (job.starts_others()) {
    const auto children = server::count_children(tables, job);
    summary.children = {children.pending, children.running, children.dead};
  }
  for (const auto& evaluation : tables.evaluations_of_job(job.ns, job.id)) {
    if (evaluation->status != model::EvalStatus::blocked) continue;
    for (const auto& [group, queued] : evaluation->queued) summary.groups[group].queued = queued;
  }
  return summary;
}

JobStub stub(const tables::Tables& tables, const model::Job& job) {
  JobStub out;
  out.id = job.id;
  out.parent_id = job.parent_id;
  out.periodic = job.periodic.has_value();
  out.parameterized = job.parameterized && !job.dispatched;
  out.name = job.name;
  out.ns = job.ns;
  out.datacenters = job.datacenters;
  out.type = job.type;
  out.priority = job.priority;
  out.stop = job.stop;
  out.status = job.status;
  out.status_description = job.status_description;
  out.node_pool = job.node_pool;
  out.cluster = job.cluster;
  out.summary = summarize(tables, job);
  out.version = job.version;
  out.submit_time = job.submit_time;
  out.create_index = job.create_index;
  out.modify_index = job.modify_index;
  out.job_modify_index = job.job_modify_index;
  return out;
}

std::optional<std::string> waiting_for(const tables::Tables& tables, const model::Allocation& allocation) {
  static const move::CapsuleGuard guard;
  return server::waiting_for(tables, allocation, &guard);
}

AllocationStub stub(const tables::Tables& tables, const model::Allocation& allocation) {
  AllocationStub out;
  out.id = allocation.id;
  out.eval_id = allocation.eval_id;
  out.name = allocation.name;
  out.ns = allocation.ns;
  out.node_id = allocation.node_id;
  out.node_name = allocation.node_name;
  out.job_id = allocation.job_id;
  if (allocation.job) out.job_type = allocation.job->type;
  out.job_version = allocation.job_version;
  out.group = allocation.group;
  out.desired_status = allocation.desired_status;
  out.desired_description = allocation.desired_description;
  out.client_status = allocation.client_status;
  out.client_description = allocation.client_description;
  out.task_states = allocation.task_states;
  out.health = allocation.health;
  if (!allocation.terminal()) out.waiting_for = waiting_for(tables, allocation).value_or("");
  out.transition = allocation.transition;
  out.follow_up_eval = allocation.follow_up_eval;
  out.next_allocation = allocation.next_allocation;
  out.preempted = allocation.preempted;
  out.preempted_by = allocation.preempted_by;
  out.reschedules = allocation.reschedules;
  out.create_index = allocation.create_index;
  out.modify_index = allocation.modify_index;
  out.create_time = allocation.create_time;
  out.modify_time = allocation.modify_time;
  return out;
}

NodeStub stub(const model::Node& node, bool with_os, bool with_resources) {
  NodeStub out;
  out.id = node.id;
  out.name = node.name;
  out.datacenter = node.datacenter;
  out.node_class = node.node_class;
  out.node_pool = node.node_pool;
  if (const auto it = node.attributes.find("unique.network.ip-address"); it != node.attributes.end())
    out.address = it->second;
  if (const auto it = node.attributes.find("nomad.version"); it != node.attributes.end()) out.version = it->second;
  out.host = node.host;
  out.cluster = node.cluster;
  out.drain = node.drain.has_value();
  out.eligibility = node.eligibility;
  out.status = node.status;
  out.status_description = node.status_description;
  out.last_drain = node.last_drain;
  out.drivers = node.drivers;
  if (with_os) {
    for (const auto& [key, value] : node.attributes) {
      if (key.starts_with("os.")) out.attributes[key] = value;
    }
  }
  if (with_resources) {
    out.resources = node.resources;
    out.reserved = node.reserved;
  }
  out.create_index = node.create_index;
  out.modify_index = node.modify_index;
  return out;
}

const Structure& description(Tag<GroupSummary>) {
  static const Structure s =
      Builder<GroupSummary>("group summary", "How many allocations of a group are in which state.")
          .wire<&GroupSummary::queued>("Queued", "")
          .wire<&GroupSummary::complete>("Complete", "")
          .wire<&GroupSummary::failed>("Failed", "")
          .wire<&GroupSummary::running>("Running", "")
          .wire<&GroupSummary::starting>("Starting", "")
          .wire<&GroupSummary::lost>("Lost", "")
          .wire<&GroupSummary::unknown>("Unknown", "")
          .done();
  return s;
}

const Structure& description(Tag<ChildrenSummary>) {
  static const Structure s = Builder<ChildrenSummary>("children summary", "Jobs that a job has started, by status.")
                                 .wire<&ChildrenSummary::pending>("Pending", "")
                                 .wire<&ChildrenSummary::running>("Running", "")
                                 .wire<&ChildrenSummary::dead>("Dead", "")
                                 .done();
  return s;
}

const Structure& description(Tag<JobSummary>) {
  static const Structure s = Builder<JobSummary>("job summary", "A job's allocations by group and state.")
                                 .wire<&JobSummary::job_id>("JobID", "")
                                 .wire<&JobSummary::ns>("Namespace", "")
                                 .wire<&JobSummary::groups>("Summary", "")
                                 .wire<&JobSummary::children>("Children", "")
                                 .wire<&JobSummary::create_index>("CreateIndex", "")
                                 .wire<&JobSummary::modify_index>("ModifyIndex", "")
                                 .done();
  return s;
}

const Structure& description(Tag<JobStub>) {
  static const Structure s = Builder<JobStub>("job stub", "A job in a list.")
                                 .wire<&JobStub::id>("ID", "")
                                 .wire<&JobStub::parent_id>("ParentID", "")
                                 .wire<&JobStub::name>("Name", "")
                                 .wire<&JobStub::ns>("Namespace", "")
                                 .wire<&JobStub::datacenters>("Datacenters", "")
                                 .wire<&JobStub::node_pool>("NodePool", "")
                                 .wire<&JobStub::type>("Type", "")
                                 .wire<&JobStub::priority>("Priority", "")
                                 .wire<&JobStub::periodic>("Periodic", "")
                                 .wire<&JobStub::parameterized>("ParameterizedJob", "")
                                 .wire<&JobStub::stop>("Stop", "")
                                 .wire<&JobStub::status>("Status", "")
                                 .wire<&JobStub::status_description>("StatusDescription", "")
                                 .wire<&JobStub::meta>("Meta", "")
                                 .wire<&JobStub::summary>("JobSummary", "")
                                 .wire<&JobStub::cluster>("Cluster", "")
                                 .wire<&JobStub::version>("Version", "")
                                 .wire<&JobStub::submit_time>("SubmitTime", "")
                                 .wire<&JobStub::create_index>("CreateIndex", "")
                                 .wire<&JobStub::modify_index>("ModifyIndex", "")
                                 .wire<&JobStub::job_modify_index>("JobModifyIndex", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocationStub>) {
  static const Structure s = Builder<AllocationStub>("allocation stub", "An allocation in a list.")
                                 .wire<&AllocationStub::id>("ID", "")
                                 .wire<&AllocationStub::eval_id>("EvalID", "")
                                 .wire<&AllocationStub::name>("Name", "")
                                 .wire<&AllocationStub::ns>("Namespace", "")
                                 .wire<&AllocationStub::node_id>("NodeID", "")
                                 .wire<&AllocationStub::node_name>("NodeName", "")
                                 .wire<&AllocationStub::job_id>("JobID", "")
                                 .wire<&AllocationStub::job_type>("JobType", "")
                                 .wire<&AllocationStub::job_version>("JobVersion", "")
                                 .wire<&AllocationStub::group>("TaskGroup", "")
                                 .wire<&AllocationStub::desired_status>("DesiredStatus", "")
                                 .wire<&AllocationStub::desired_description>("DesiredDescription", "")
                                 .wire<&AllocationStub::client_status>("ClientStatus", "")
                                 .wire<&AllocationStub::client_description>("ClientDescription", "")
                                 .wire<&AllocationStub::resources>("AllocatedResources", "")
                                 .wire<&AllocationStub::task_states>("TaskStates", "")
                                 .wire<&AllocationStub::health>("DeploymentStatus", "")
                                 .wire<&AllocationStub::waiting_for>("WaitingFor", "")
                                 .wire<&AllocationStub::transition>("DesiredTransition", "")
                                 .wire<&AllocationStub::follow_up_eval>("FollowupEvalID", "")
                                 .wire<&AllocationStub::next_allocation>("NextAllocation", "")
                                 .wire<&AllocationStub::preempted>("PreemptedAllocations", "")
                                 .wire<&AllocationStub::preempted_by>("PreemptedByAllocation", "")
                                 .wire<&AllocationStub::reschedules>("RescheduleTracker.Events", "")
                                 .wire<&AllocationStub::create_index>("CreateIndex", "")
                                 .wire<&AllocationStub::modify_index>("ModifyIndex", "")
                                 .wire<&AllocationStub::create_time>("CreateTime", "")
                                 .wire<&AllocationStub::modify_time>("ModifyTime", "")
                                 .done();
  return s;
}

const Structure& description(Tag<NodeStub>) {
  static const Structure s = Builder<NodeStub>("node stub", "A node in a list.")
                                 .wire<&NodeStub::id>("ID", "")
                                 .wire<&NodeStub::name>("Name", "")
                                 .wire<&NodeStub::datacenter>("Datacenter", "")
                                 .wire<&NodeStub::node_class>("NodeClass", "")
                                 .wire<&NodeStub::node_pool>("NodePool", "")
                                 .wire<&NodeStub::address>("Address", "")
                                 .wire<&NodeStub::version>("Version", "")
                                 .wire<&NodeStub::host>("Host", "")
                                 .wire<&NodeStub::cluster>("Cluster", "")
                                 .wire<&NodeStub::drain>("Drain", "")
                                 .wire<&NodeStub::eligibility>("SchedulingEligibility", "")
                                 .wire<&NodeStub::status>("Status", "")
                                 .wire<&NodeStub::status_description>("StatusDescription", "")
                                 .wire<&NodeStub::last_drain>("LastDrain", "")
                                 .wire<&NodeStub::drivers>("Drivers", "")
                                 .wire<&NodeStub::attributes>("Attributes", "")
                                 .wire<&NodeStub::resources>("NodeResources", "")
                                 .wire<&NodeStub::reserved>("ReservedResources", "")
                                 .wire<&NodeStub::create_index>("CreateIndex", "")
                                 .wire<&NodeStub::modify_index>("ModifyIndex", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ServiceStub>) {
  static const Structure s = Builder<ServiceStub>("service stub", "A service in a list.")
                                 .wire<&ServiceStub::name>("ServiceName", "")
                                 .wire<&ServiceStub::tags>("Tags", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ServiceListStub>) {
  static const Structure s = Builder<ServiceListStub>("service list", "The services of a namespace.")
                                 .wire<&ServiceListStub::ns>("Namespace", "")
                                 .wire<&ServiceListStub::services>("Services", "")
                                 .done();
  return s;
}

}  // namespace underway::api
