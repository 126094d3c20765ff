#include "api/job/job_change.hpp"
#include "impact/prospect.hpp"

#include <set>
#include <tuple>

namespace underway::api {

namespace {

/// In Nomad's words (its scheduler's annotations), only what there is.
std::map<std::string, std::int64_t> counted(const wire::DesiredUpdates& updates) {
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

wire::JobChange describe_plan(const server::JobPlan& plan) {
  wire::JobChange change;
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
  for (const auto& row : plan.plan.preempted) change.evicted.push_back(describe::project<wire::Evicted>(row));
  for (const auto& updated : plan.plan.updated)
    change.touched.push_back({updated.name, updated.node_name, "update in place", {}});
  std::sort(change.touched.begin(), change.touched.end(),
            [](const auto& a, const auto& b) { return std::tie(a.name, a.node) < std::tie(b.name, b.node); });
  return change;
}

std::vector<model::Prospect> prospects_of(const tables::Tables& tables, const server::JobPlan& plan) {
  impact::Places first;
  for (const auto& created : plan.plan.created) {
    if (!created.previous_allocation.empty() || created.health.canary) first[created.group].insert(created.node_name);
  }
  return impact::prospects_of(tables, plan.proposed, first);
}

}  // namespace underway::api
