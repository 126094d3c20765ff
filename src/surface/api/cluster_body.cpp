#include "api/cluster_body.hpp"

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
  static const Structure s = Builder<JobWithSource>("job with source", "A job and the text it came from.")
                                 .wire<&JobWithSource::job>("Job", "")
                                 .wire<&JobWithSource::submission>("Submission", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ClusterBody>) {
  static const Structure s = Builder<ClusterBody>("cluster body", "A cluster with all of its jobs.")
                                 .wire<&ClusterBody::cluster>("Cluster", "")
                                 .wire<&ClusterBody::jobs>("Jobs", "")
                                 .wire<&ClusterBody::namespaces>("Namespaces", "")
                                 .wire<&ClusterBody::files>("Files", "")
                                 .done();
  return s;
}

const Structure& description(Tag<DesiredUpdates>) {
  static const Structure s = Builder<DesiredUpdates>("desired updates", "What a plan does to a group.")
                                 .wire<&DesiredUpdates::ignore>("Ignore", "")
                                 .wire<&DesiredUpdates::place>("Place", "")
                                 .wire<&DesiredUpdates::migrate>("Migrate", "")
                                 .wire<&DesiredUpdates::stop>("Stop", "")
                                 .wire<&DesiredUpdates::in_place>("InPlaceUpdate", "")
                                 .wire<&DesiredUpdates::destructive>("DestructiveUpdate", "")
                                 .wire<&DesiredUpdates::canary>("Canary", "")
                                 .wire<&DesiredUpdates::preemptions>("Preemptions", "")
                                 .done();
  return s;
}

const Structure& description(Tag<Touched>) {
  static const Structure s = Builder<Touched>("touched", "An allocation that a plan touches.")
                                 .wire<&Touched::name>("Name", "")
                                 .wire<&Touched::node>("Node", "")
                                 .wire<&Touched::what>("What", "")
                                 .wire<&Touched::scores>("Scores", "")
                                 .done();
  return s;
}

const Structure& description(Tag<Evicted>) {
  static const Structure s = Builder<Evicted>("evicted", "An allocation that makes way for the job's.")
                                 .wire<&Evicted::id>("ID", "")
                                 .wire<&Evicted::name>("Name", "")
                                 .wire<&Evicted::ns>("Namespace", "")
                                 .wire<&Evicted::job_id>("JobID", "")
                                 .wire<&Evicted::group>("TaskGroup", "")
                                 .wire<&Evicted::node_id>("NodeID", "")
                                 .wire<&Evicted::node>("NodeName", "")
                                 .done();
  return s;
}

const Structure& description(Tag<JobChange>) {
  static const Structure s = Builder<JobChange>("job change", "What a plan does to a job.")
                                 .wire<&JobChange::id>("ID", "")
                                 .wire<&JobChange::diff>("Diff", "")
                                 .wire<&JobChange::updates>("DesiredTGUpdates", "")
                                 .wire<&JobChange::touched>("Touched", "")
                                 .wire<&JobChange::evicted>("PreemptedAllocs", "")
                                 .wire<&JobChange::failed>("FailedTGAllocs", "")
                                 .wire<&JobChange::job_modify_index>("JobModifyIndex", "")
                                 .wire<&JobChange::impact>("Impact", "")
                                 .wire<&JobChange::prospects>("Prospects", "")
                                 .wire<&JobChange::protections>("Protections", "")
                                 .wire<&JobChange::warnings>("Warnings", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ClusterPlan>) {
  static const Structure s = Builder<ClusterPlan>("cluster plan", "What applying a directory would do.")
                                 .wire<&ClusterPlan::cluster>("Cluster", "")
                                 .wire<&ClusterPlan::jobs>("Jobs", "")
                                 .wire<&ClusterPlan::unchanged>("Unchanged", "")
                                 .wire<&ClusterPlan::stopped>("Stopped", "")
                                 .wire<&ClusterPlan::namespaces>("Namespaces", "")
                                 .wire<&ClusterPlan::files>("Files", "")
                                 .wire<&ClusterPlan::changes>("Changes", "")
                                 .wire<&ClusterPlan::impact>("Impact", "")
                                 .wire<&ClusterPlan::shortfalls>("Shortfalls", "")
                                 .wire<&ClusterPlan::protections>("Protections", "")
                                 .done();
  return s;
}

}  // namespace underway::api
