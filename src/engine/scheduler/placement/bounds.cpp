#include "scheduler/placement/bounds.hpp"

#include "scheduler/feasibility/constraint.hpp"
#include "scheduler/judge.hpp"
#include "scheduler/placement/ask.hpp"

namespace underway::scheduler {

std::string Bounds::against(const std::string& node, const std::string& from) const {
  if (const auto barred = barred_.find(node); barred != barred_.end()) return barred->second;
  for (const auto& rule : apart_) {
    const auto value = rule.values.find(node);
    if (value == rule.values.end()) return filter_in_words(fmt::format("missing property {}", rule.what));
    const auto used = rule.used.find(value->second);
    std::int64_t count = used == rule.used.end() ? 0 : used->second;
    if (const auto left = rule.values.find(from); left != rule.values.end() && left->second == value->second) --count;
    if (count < rule.limit) continue;
    if (rule.what == "distinct_hosts") return filter_in_words(rule.what);
    return fmt::format("distinct_property: {}={} is used by {} of the job already", rule.what, value->second, count);
  }
  return {};
}

void Bounds::move(const std::string& from, const std::string& to) {
  for (auto& rule : apart_) {
    if (const auto left = rule.values.find(from); left != rule.values.end()) --rule.used[left->second];
    if (const auto value = rule.values.find(to); value != rule.values.end()) ++rule.used[value->second];
  }
}

namespace {

using Nodes = std::vector<tables::Row<model::Node>>;
using Allocations = std::vector<tables::Row<model::Allocation>>;

/// `attribute` is what nodes are told apart by; `there` are those that count.
Bounds::Apart rule_over(const std::string& attribute, std::string what, std::int64_t limit, const Nodes& nodes,
                        const tables::Tables& tables, const Allocations& there) {
  Bounds::Apart rule{.what = std::move(what), .limit = limit, .values = {}, .used = {}};
  const auto note = [&](const model::Node& node) {
    if (auto value = model::resolve_target(attribute, node)) rule.values.emplace(node.id, std::move(*value));
  };
  for (const auto& node : nodes) note(*node);
  for (const auto& allocation : there) {
    // It may be on a node that takes nothing new.
    if (const auto node = tables.find_node(allocation->node_id)) note(*node);
    if (const auto value = rule.values.find(allocation->node_id); value != rule.values.end())
      ++rule.used[value->second];
  }
  return rule;
}

}  // namespace

Bounds bounds_of(const tables::Tables& tables, const tables::Row<model::Job>& job, const model::TaskGroup& group,
                 const Nodes& nodes) {
  Bounds out;
  const Ask ask(job, group);
  for (const auto* list : {&ask.class_constraints, &ask.node_constraints}) {
    for (const auto* constraint : *list) {
      for (const auto& node : nodes) {
        if (!holds(*constraint, *node)) out.bar(node->id, filter_in_words(in_words(*constraint)));
      }
    }
  }
  Allocations of_job, of_group;
  for (const auto& row : tables.allocations_of_job(job->ns, job->id)) {
    if (row->terminal()) continue;
    of_job.push_back(row);
    if (row->group == group.name) of_group.push_back(row);
  }
  constexpr const char* kHost = "${node.unique.id}";
  if (ask.distinct_hosts_of_job) out.keep_apart(rule_over(kHost, "distinct_hosts", 1, nodes, tables, of_job));
  if (ask.distinct_hosts_of_group) out.keep_apart(rule_over(kHost, "distinct_hosts", 1, nodes, tables, of_group));
  for (const auto& rule : ask.distinct_properties) {
    const auto& target = rule.constraint->ltarget;
    out.keep_apart(rule_over(target, target, rule.limit, nodes, tables, rule.whole_job ? of_job : of_group));
  }
  return out;
}

}  // namespace underway::scheduler
