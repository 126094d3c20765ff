#include "api/cluster/cluster_body.hpp"

#include <set>
#include <tuple>

namespace underway::api {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

/// In Nomad's words (its scheduler's annotations), only what there is.
std::map<std::string, std::int64_t> counted(const DesiredUpdates& updates) {
  std::map<std::string, std::int64_t> out{{"ignore", updates.ignore},
                                          {"create", updates.place},
                                          {"destroy", updates.stop},
                                          {"migrate", updates.migrate},
                                          {"in-place update", updates.in_place},
                                          {"create/destroy update", updates.destructive},
                                          {"canary", updates.canary}};
  std::erase_if(out, [](const auto& entry) { return entry.second == 0; });
  return out;
}

}  // namespace

bool ClusterPlan::needs_you() const {
  return std::any_of(shortfalls.begin(), shortfalls.end(), [](const Shortfall& one) { return one.needs_you; });
}

JobChange describe_plan(const server::JobPlan& plan) {
  JobChange change;
  change.id = plan.proposed.id;
  change.diff = model::diff(plan.current.get(), &plan.proposed);
  change.job_modify_index = plan.job_modify_index;
  change.failed = plan.plan.evaluation.failed_groups;
  for (const auto& [group, counts] : plan.plan.groups) {
    auto& updates = change.updates[group];
    updates.ignore = counts.ignore;
    // What there is no room for counts too, as in Nomad's plans: its client's exit code says "there is something to
    // do".
    const auto queued = plan.plan.evaluation.queued.find(group);
    updates.place = counts.place + (queued == plan.plan.evaluation.queued.end() ? 0 : queued->second);
    updates.stop = counts.stop + counts.lost;
    updates.migrate = counts.migrate;
    updates.in_place = counts.in_place;
    updates.destructive = counts.destructive;
    updates.canary = counts.canary;
    updates.preemptions = counts.preempted;
    for (auto& part : change.diff.groups) {
      if (part.name == group) part.updates = counted(updates);
    }
  }
  std::set<std::string> replaced;
  for (const auto& created : plan.plan.created) {
    const bool replaces = !created.previous_allocation.empty();
    if (replaces) replaced.insert(created.previous_allocation);
    const char* what = created.health.canary ? "canary" : replaces ? "replace" : "place";
    change.touched.push_back({created.name, created.node_name, what, created.metrics.scores});
  }
  for (const auto& stopped : plan.plan.stopped) {
    if (!replaced.contains(stopped.id)) change.touched.push_back({stopped.name, stopped.node_name, "stop", {}});
  }
  for (const auto& row : plan.plan.preempted)
    change.evicted.push_back({row.id, row.name, row.ns, row.job_id, row.group, row.node_id, row.node_name});
  for (const auto& updated : plan.plan.updated)
    change.touched.push_back({updated.name, updated.node_name, "update in place", {}});
  std::sort(change.touched.begin(), change.touched.end(),
            [](const auto& a, const auto& b) { return std::tie(a.name, a.node) < std::tie(b.name, b.node); });
  return change;
}

std::vector<impact::Prospect> prospects_of(const tables::Tables& tables, const server::JobPlan& plan) {
  impact::Places first;
  for (const auto& created : plan.plan.created) {
    if (!created.previous_allocation.empty() || created.health.canary) first[created.group].insert(created.node_name);
  }
  return impact::prospects_of(tables, plan.proposed, first);
}

const Structure& description(Tag<JobWithSource>) {
  static const Structure s =
      Builder<JobWithSource>("job with source", "A job and the text it came from.")
          .wire<&JobWithSource::job>("Job", "The job, with all that its file says.")
          .wire<&JobWithSource::submission>(
              "Submission", "Text and variables of its file, kept beside the job's version; absent: nothing is kept.")
          .done();
  return s;
}

const Structure& description(Tag<ClusterBody>) {
  static const Structure s =
      Builder<ClusterBody>("cluster body", "A cluster with all of its jobs.")
          .wire<&ClusterBody::cluster>("Cluster", "Its networks, shares, pools, directories and secrets.")
          .wire<&ClusterBody::jobs>("Jobs",
                                    "All jobs that its directory declares; those that it declares no more are stopped.")
          .wire<&ClusterBody::namespaces>("Namespaces",
                                          "The namespaces that its directory says something of, as they shall be.")
          .wire<&ClusterBody::files>(
              "Files",
              "All files that its directory declares; those that it declares no more are not synchronised any more.")
          .done();
  return s;
}

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

const Structure& description(Tag<Evicted>) {
  static const Structure s = Builder<Evicted>("evicted", "An allocation that makes way for the job's.")
                                 .wire<&Evicted::id>("ID", "ID of the allocation that makes way.")
                                 .wire<&Evicted::name>("Name", "Name of it: job.group[index].")
                                 .wire<&Evicted::ns>("Namespace", "Namespace of its job.")
                                 .wire<&Evicted::job_id>("JobID", "ID of its job.")
                                 .wire<&Evicted::group>("TaskGroup", "Its group in the job.")
                                 .wire<&Evicted::node_id>("NodeID", "ID of the node that it runs on.")
                                 .wire<&Evicted::node>("NodeName", "Name of the node that it runs on.")
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

const Structure& description(Tag<ClusterPlan>) {
  static const Structure s =
      Builder<ClusterPlan>("cluster plan", "What applying a directory would do.")
          .wire<&ClusterPlan::cluster>("Cluster", "What differs in the cluster itself, and which hosts come and go.")
          .wire<&ClusterPlan::jobs>("Jobs",
                                    "The jobs that change, with what is done to each; each is planned by itself.")
          .wire<&ClusterPlan::unchanged>("Unchanged", "IDs of the jobs that stay as they are.")
          .wire<&ClusterPlan::stopped>(
              "Stopped", "IDs of the jobs that the directory does not declare any more, and that are stopped.")
          .wire<&ClusterPlan::namespaces>("Namespaces", "What changes in namespaces, one line for each.")
          .wire<&ClusterPlan::files>("Files", "What changes in the files that are synchronised, one line for each.")
          .wire<&ClusterPlan::changes>("Changes", "Whether applying it would change anything.")
          .wire<&ClusterPlan::impact>("Impact", "What those who use the cluster would notice.")
          .wire<&ClusterPlan::shortfalls>(
              "Shortfalls", "Jobs that do not run as they are declared, or whose declaration failed before.")
          .wire<&ClusterPlan::protections>("Protections",
                                           "How what its capsules keep is protected, of all that it declares.")
          .done();
  return s;
}

}  // namespace underway::api
