#include "wire/allocation/allocation_stub.hpp"

namespace underway::wire {

using describe::Projection;
using describe::Projector;
using describe::Tag;

namespace {

model::JobType type_of_job(const model::Allocation& allocation) {
  return allocation.job ? allocation.job->type : model::JobType::service;
}

}  // namespace

const Projection<model::Allocation>& description(Tag<AllocationStub>) {
  static const auto s =
      Projector<AllocationStub, model::Allocation>("allocation stub", "An allocation in a list.")
          .from<&AllocationStub::id, &model::Allocation::id>("ID", "ID of the allocation.")
          .from<&AllocationStub::eval_id, &model::Allocation::eval_id>(
              "EvalID", "ID of the evaluation that placed it, or changed it last.")
          .from<&AllocationStub::name, &model::Allocation::name>("Name", "Name of it: job.group[index].")
          .from<&AllocationStub::ns, &model::Allocation::ns>("Namespace", "Namespace of its job.")
          .from<&AllocationStub::node_id, &model::Allocation::node_id>("NodeID", "ID of the node that it is on.")
          .from<&AllocationStub::node_name, &model::Allocation::node_name>("NodeName",
                                                                           "Name of the node that it is on.")
          .from<&AllocationStub::job_id, &model::Allocation::job_id>("JobID", "ID of its job.")
          .from<&AllocationStub::job_type, type_of_job>("JobType", "Of its job: service, batch, system or sysbatch.")
          .from<&AllocationStub::job_version, &model::Allocation::job_version>("JobVersion",
                                                                               "Version of the job that it runs.")
          .from<&AllocationStub::group, &model::Allocation::group>("TaskGroup", "Its group in the job.")
          .from<&AllocationStub::desired_status, &model::Allocation::desired_status>(
              "DesiredStatus", "What the server wants: run, stop, or evict when it makes way for another.")
          .from<&AllocationStub::desired_description, &model::Allocation::desired_description>(
              "DesiredDescription", "Why the server wants that, for people; may be empty.")
          .from<&AllocationStub::client_status, &model::Allocation::client_status>(
              "ClientStatus", "How it goes on its node: pending, running, complete, failed, lost or unknown.")
          .from<&AllocationStub::client_description, &model::Allocation::client_description>(
              "ClientDescription", "Why it goes so, for people; may be empty.")
          .wire<&AllocationStub::resources>("AllocatedResources",
                                            "What it was given of its node; only with ?resources.")
          .from<&AllocationStub::task_states, &model::Allocation::task_states>(
              "TaskStates", "How its tasks go, by name; absent with ?task_states=false.")
          .from<&AllocationStub::health, &model::Allocation::health>(
              "DeploymentStatus", "What its rollout makes of it, and whether it is ready now.")
          .wire<&AllocationStub::waiting_for>("WaitingFor",
                                              "What it waits for before it starts, in words; empty: nothing.")
          .from<&AllocationStub::transition, &model::Allocation::transition>(
              "DesiredTransition", "What a drain, a person or a policy asked the scheduler to do with it.")
          .from<&AllocationStub::follow_up_eval, &model::Allocation::follow_up_eval>(
              "FollowupEvalID", "ID of the evaluation that will replace it; empty: none.")
          .from<&AllocationStub::next_allocation, &model::Allocation::next_allocation>(
              "NextAllocation", "ID of the allocation that replaced it; empty: none.")
          .from<&AllocationStub::preempted, &model::Allocation::preempted>(
              "PreemptedAllocations", "IDs of the allocations that made way for it.")
          .from<&AllocationStub::preempted_by, &model::Allocation::preempted_by>(
              "PreemptedByAllocation", "ID of the allocation that it made way for; empty: none.")
          .from<&AllocationStub::reschedules, &model::Allocation::reschedules>(
              "RescheduleTracker.Events", "The replacements that led to it, the oldest first.")
          .from<&AllocationStub::create_index, &model::Allocation::create_index>("CreateIndex",
                                                                                 "Revision of its creation.")
          .from<&AllocationStub::modify_index, &model::Allocation::modify_index>("ModifyIndex",
                                                                                 "Revision of its last change.")
          .from<&AllocationStub::create_time, &model::Allocation::create_time>(
              "CreateTime", "When it was made, Unix time in nanoseconds.")
          .from<&AllocationStub::modify_time, &model::Allocation::modify_time>(
              "ModifyTime", "When it was last changed, Unix time in nanoseconds.")
          .done();
  return s;
}

}  // namespace underway::wire
