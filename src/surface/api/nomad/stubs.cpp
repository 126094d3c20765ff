#include "api/nomad/stubs.hpp"

#include "ownership/capsules.hpp"
#include "server/job/dependencies.hpp"
#include "server/job/start_decisions.hpp"

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
  static const ownership::CapsuleGuard guard;
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
          .wire<&GroupSummary::queued>("Queued", "How many could not be placed yet.")
          .wire<&GroupSummary::complete>("Complete", "How many ended as they should.")
          .wire<&GroupSummary::failed>("Failed", "How many failed.")
          .wire<&GroupSummary::running>("Running", "How many run.")
          .wire<&GroupSummary::starting>("Starting", "How many are on their node and do not run yet.")
          .wire<&GroupSummary::lost>("Lost", "How many were lost with their node.")
          .wire<&GroupSummary::unknown>("Unknown", "How many are on a node that is not heard of.")
          .done();
  return s;
}

const Structure& description(Tag<ChildrenSummary>) {
  static const Structure s = Builder<ChildrenSummary>("children summary", "Jobs that a job has started, by status.")
                                 .wire<&ChildrenSummary::pending>("Pending", "How many have not begun to run.")
                                 .wire<&ChildrenSummary::running>("Running", "How many run.")
                                 .wire<&ChildrenSummary::dead>("Dead", "How many have ended.")
                                 .done();
  return s;
}

const Structure& description(Tag<JobSummary>) {
  static const Structure s =
      Builder<JobSummary>("job summary", "A job's allocations by group and state.")
          .wire<&JobSummary::job_id>("JobID", "ID of the job.")
          .wire<&JobSummary::ns>("Namespace", "Namespace of the job.")
          .wire<&JobSummary::groups>("Summary", "How many allocations are in which state, by group.")
          .wire<&JobSummary::children>(
              "Children", "How many jobs a periodic or parameterized job has started; of others all are 0.")
          .wire<&JobSummary::create_index>("CreateIndex", "Revision of the job's creation.")
          .wire<&JobSummary::modify_index>("ModifyIndex",
                                           "Revision of the last change of the job or of one of its allocations.")
          .done();
  return s;
}

const Structure& description(Tag<JobStub>) {
  static const Structure s =
      Builder<JobStub>("job stub", "A job in a list.")
          .wire<&JobStub::id>("ID", "ID of the job.")
          .wire<&JobStub::parent_id>("ParentID",
                                     "ID of the periodic or parameterized job that started it; empty: none.")
          .wire<&JobStub::name>("Name", "Name of the job, for people; its ID where its file says nothing else.")
          .wire<&JobStub::ns>("Namespace", "Namespace of the job.")
          .wire<&JobStub::datacenters>(
              "Datacenters", "Datacenters that it may run in, as patterns: * stands for any run of characters.")
          .wire<&JobStub::node_pool>("NodePool", "Pool of the nodes that it may run on.")
          .wire<&JobStub::type>("Type", "service, batch, system or sysbatch.")
          .wire<&JobStub::priority>("Priority", "Higher is placed first; 50 where its file says nothing else.")
          .wire<&JobStub::periodic>("Periodic", "Whether it starts others by the clock.")
          .wire<&JobStub::parameterized>("ParameterizedJob", "Whether it starts others by dispatch.")
          .wire<&JobStub::stop>("Stop", "Whether the job was stopped.")
          .wire<&JobStub::status>("Status", "pending, running or dead.")
          .wire<&JobStub::status_description>("StatusDescription", "Why it is so, for people; may be empty.")
          .wire<&JobStub::meta>("Meta", "Its metadata, by name; only with ?meta.")
          .wire<&JobStub::summary>("JobSummary", "How many of its allocations are in which state.")
          .wire<&JobStub::cluster>("Cluster", "The cluster whose directory declares it; empty: it is of none.")
          .wire<&JobStub::version>("Version", "The registered version, counted from 0.")
          .wire<&JobStub::submit_time>("SubmitTime", "When this version was registered, Unix time in nanoseconds.")
          .wire<&JobStub::create_index>("CreateIndex", "Revision of its creation.")
          .wire<&JobStub::modify_index>("ModifyIndex", "Revision of its last change.")
          .wire<&JobStub::job_modify_index>("JobModifyIndex", "Revision of the last change of its specification.")
          .done();
  return s;
}

const Structure& description(Tag<AllocationStub>) {
  static const Structure s =
      Builder<AllocationStub>("allocation stub", "An allocation in a list.")
          .wire<&AllocationStub::id>("ID", "ID of the allocation.")
          .wire<&AllocationStub::eval_id>("EvalID", "ID of the evaluation that placed it, or changed it last.")
          .wire<&AllocationStub::name>("Name", "Name of it: job.group[index].")
          .wire<&AllocationStub::ns>("Namespace", "Namespace of its job.")
          .wire<&AllocationStub::node_id>("NodeID", "ID of the node that it is on.")
          .wire<&AllocationStub::node_name>("NodeName", "Name of the node that it is on.")
          .wire<&AllocationStub::job_id>("JobID", "ID of its job.")
          .wire<&AllocationStub::job_type>("JobType", "Of its job: service, batch, system or sysbatch.")
          .wire<&AllocationStub::job_version>("JobVersion", "Version of the job that it runs.")
          .wire<&AllocationStub::group>("TaskGroup", "Its group in the job.")
          .wire<&AllocationStub::desired_status>(
              "DesiredStatus", "What the server wants: run, stop, or evict when it makes way for another.")
          .wire<&AllocationStub::desired_description>("DesiredDescription",
                                                      "Why the server wants that, for people; may be empty.")
          .wire<&AllocationStub::client_status>(
              "ClientStatus", "How it goes on its node: pending, running, complete, failed, lost or unknown.")
          .wire<&AllocationStub::client_description>("ClientDescription", "Why it goes so, for people; may be empty.")
          .wire<&AllocationStub::resources>("AllocatedResources",
                                            "What it was given of its node; only with ?resources.")
          .wire<&AllocationStub::task_states>("TaskStates",
                                              "How its tasks go, by name; absent with ?task_states=false.")
          .wire<&AllocationStub::health>("DeploymentStatus",
                                         "What its rollout makes of it, and whether it is ready now.")
          .wire<&AllocationStub::waiting_for>("WaitingFor",
                                              "What it waits for before it starts, in words; empty: nothing.")
          .wire<&AllocationStub::transition>("DesiredTransition",
                                             "What a drain, a person or a policy asked the scheduler to do with it.")
          .wire<&AllocationStub::follow_up_eval>("FollowupEvalID",
                                                 "ID of the evaluation that will replace it; empty: none.")
          .wire<&AllocationStub::next_allocation>("NextAllocation",
                                                  "ID of the allocation that replaced it; empty: none.")
          .wire<&AllocationStub::preempted>("PreemptedAllocations", "IDs of the allocations that made way for it.")
          .wire<&AllocationStub::preempted_by>("PreemptedByAllocation",
                                               "ID of the allocation that it made way for; empty: none.")
          .wire<&AllocationStub::reschedules>("RescheduleTracker.Events",
                                              "The replacements that led to it, the oldest first.")
          .wire<&AllocationStub::create_index>("CreateIndex", "Revision of its creation.")
          .wire<&AllocationStub::modify_index>("ModifyIndex", "Revision of its last change.")
          .wire<&AllocationStub::create_time>("CreateTime", "When it was made, Unix time in nanoseconds.")
          .wire<&AllocationStub::modify_time>("ModifyTime", "When it was last changed, Unix time in nanoseconds.")
          .done();
  return s;
}

const Structure& description(Tag<NodeStub>) {
  static const Structure s =
      Builder<NodeStub>("node stub", "A node in a list.")
          .wire<&NodeStub::id>("ID", "ID of the node.")
          .wire<&NodeStub::name>("Name", "Name of the node.")
          .wire<&NodeStub::datacenter>("Datacenter", "Its datacenter.")
          .wire<&NodeStub::node_class>("NodeClass", "Its class; empty: none.")
          .wire<&NodeStub::node_pool>("NodePool", "The pool that it is in.")
          .wire<&NodeStub::address>("Address",
                                    "Its address, from its attribute unique.network.ip-address; empty: none was found.")
          .wire<&NodeStub::version>("Version", "The version of Nomad whose job files run there unchanged.")
          .wire<&NodeStub::host>("Host", "The host that it is, where a provider made it; else empty.")
          .wire<&NodeStub::cluster>("Cluster", "The cluster that it belongs to; empty: it is in none.")
          .wire<&NodeStub::drain>("Drain", "Whether it is being drained.")
          .wire<&NodeStub::eligibility>("SchedulingEligibility",
                                        "eligible, or ineligible: then nothing new is placed there.")
          .wire<&NodeStub::status>("Status", "initializing, ready, down or disconnected.")
          .wire<&NodeStub::status_description>("StatusDescription", "Why it is so, for people; may be empty.")
          .wire<&NodeStub::last_drain>("LastDrain",
                                       "Its newest drain, also when that is over; absent: it was never drained.")
          .wire<&NodeStub::drivers>("Drivers", "Its task drivers and how they are, by name.")
          .wire<&NodeStub::attributes>("Attributes", "Those that begin with os., by name; only with ?os.")
          .wire<&NodeStub::resources>("NodeResources", "What it has; only with ?resources.")
          .wire<&NodeStub::reserved>("ReservedResources", "What is kept back of it; only with ?resources.")
          .wire<&NodeStub::create_index>("CreateIndex", "Revision of its creation.")
          .wire<&NodeStub::modify_index>("ModifyIndex", "Revision of its last change.")
          .done();
  return s;
}

const Structure& description(Tag<ServiceStub>) {
  static const Structure s = Builder<ServiceStub>("service stub", "A service in a list.")
                                 .wire<&ServiceStub::name>("ServiceName", "Name of the service.")
                                 .wire<&ServiceStub::tags>("Tags", "The tags of all its instances, each once.")
                                 .done();
  return s;
}

const Structure& description(Tag<ServiceListStub>) {
  static const Structure s = Builder<ServiceListStub>("service list", "The services of a namespace.")
                                 .wire<&ServiceListStub::ns>("Namespace", "Name of the namespace.")
                                 .wire<&ServiceListStub::services>("Services", "The services that are provided in it.")
                                 .done();
  return s;
}

}  // namespace underway::api
