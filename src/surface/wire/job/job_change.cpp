#include "wire/job/job_change.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Projection;
using describe::Projector;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<DesiredUpdates>) {
  static const Structure s =
      Builder<DesiredUpdates>("desired updates", "What a plan does to a group.")
          .wire<&DesiredUpdates::ignore>("Ignore", "How many allocations stay as they are.")
          .wire<&DesiredUpdates::place>("Place", "How many are placed anew, with those for which there is no room yet.")
          .wire<&DesiredUpdates::migrate>("Migrate", "How many leave a node that is drained.")
          .wire<&DesiredUpdates::stop>("Stop", "How many are stopped, with those that were lost with their node.")
          .wire<&DesiredUpdates::in_place>("InPlaceUpdate", "How many get the new version without being restarted.")
          .wire<&DesiredUpdates::destructive>("DestructiveUpdate",
                                              "How many are stopped and replaced by one of the new version.")
          .wire<&DesiredUpdates::canary>("Canary",
                                         "How many are placed as canaries, to be judged before the others follow.")
          .wire<&DesiredUpdates::preemptions>("Preemptions", "How many allocations of other jobs make way.")
          .done();
  return s;
}

const Projection<model::Allocation>& description(Tag<Evicted>) {
  static const auto s =
      Projector<Evicted, model::Allocation>("evicted", "An allocation that makes way for the job's.")
          .from<&Evicted::id, &model::Allocation::id>("ID", "ID of the allocation that makes way.")
          .from<&Evicted::name, &model::Allocation::name>("Name", "Name of it: job.group[index].")
          .from<&Evicted::ns, &model::Allocation::ns>("Namespace", "Namespace of its job.")
          .from<&Evicted::job_id, &model::Allocation::job_id>("JobID", "ID of its job.")
          .from<&Evicted::group, &model::Allocation::group>("TaskGroup", "Its group in the job.")
          .from<&Evicted::node_id, &model::Allocation::node_id>("NodeID", "ID of the node that it runs on.")
          .from<&Evicted::node, &model::Allocation::node_name>("NodeName", "Name of the node that it runs on.")
          .done();
  return s;
}

const Structure& description(Tag<Touched>) {
  static const Structure s =
      Builder<Touched>("touched", "An allocation that a plan touches.")
          .wire<&Touched::name>("Name", "Name of the allocation: job.group[index].")
          .wire<&Touched::node>("Node", "Name of the node that it is on, or would be placed on.")
          .wire<&Touched::what>("What", "What becomes of it: place, canary, replace, stop or update in place.")
          .wire<&Touched::scores>("Scores",
                                  "Of what is placed: how the node that it would be on was scored; else empty.")
          .done();
  return s;
}

const Structure& description(Tag<JobChange>) {
  static const Structure s =
      Builder<JobChange>("job change", "What a plan does to a job.")
          .wire<&JobChange::id>("ID", "ID of the job.")
          .wire<&JobChange::diff>("Diff",
                                  "What differs from the job as it is registered; of one that is new, all of it.")
          .wire<&JobChange::updates>("DesiredTGUpdates",
                                     "How many allocations are placed, stopped and replaced, by group.")
          .wire<&JobChange::touched>("Touched", "The allocations that are placed, stopped or updated, by name.")
          .wire<&JobChange::evicted>("PreemptedAllocs", "Allocations of other jobs that would make way.")
          .wire<&JobChange::failed>("FailedTGAllocs",
                                    "Why what cannot be placed cannot be, by group; empty: all can be.")
          .wire<&JobChange::job_modify_index>(
              "JobModifyIndex", "Of the job as it stands, to be enforced when it is registered; 0: there is none.")
          .wire<&JobChange::impact>("Impact", "What those who use the job would notice.")
          .wire<&JobChange::prospects>(
              "Prospects", "How what is replaced is rolled out, and what is true if that fails; one for each group.")
          .wire<&JobChange::protections>(
              "Protections", "How what its capsules keep is protected; in the plan of a cluster empty here.")
          .wire<&JobChange::warnings>(
              "Warnings", "What is doubtful in its templates; empty: nothing, or it is part of a cluster's plan.")
          .done();
  return s;
}

}  // namespace underway::wire
