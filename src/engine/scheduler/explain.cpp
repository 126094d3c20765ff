#include "scheduler/schedule.hpp"

namespace underway::scheduler {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string_view after(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view();
}

std::string filter_line(const std::string& reason, std::int64_t nodes) {
  if (const auto driver = after(reason, "missing driver "); !driver.empty())
    return fmt::format("* Driver {} is missing on {} nodes", quoted(driver), nodes);
  if (const auto driver = after(reason, "unhealthy driver "); !driver.empty())
    return fmt::format("* Driver {} is unhealthy on {} nodes", quoted(driver), nodes);
  return fmt::format("* Constraint {}: {} nodes excluded by filter", quoted(reason), nodes);
}

}  // namespace

std::vector<std::string> explain(const model::AllocMetric& metric) {
  // Source: Nomad's command/monitor.go, formatAllocMetrics.
  std::vector<std::string> lines;
  if (metric.nodes_evaluated == 0) lines.emplace_back("* No nodes were eligible for evaluation");
  for (const auto& [datacenter, nodes] : metric.nodes_available) {
    if (nodes == 0) lines.push_back(fmt::format("* No nodes are available in datacenter {}", quoted(datacenter)));
  }
  for (const auto& [name, nodes] : metric.class_filtered)
    lines.push_back(fmt::format("* Class {}: {} nodes excluded by filter", quoted(name), nodes));
  for (const auto& [reason, nodes] : metric.constraint_filtered) lines.push_back(filter_line(reason, nodes));
  if (metric.nodes_exhausted > 0)
    lines.push_back(fmt::format("* Resources exhausted on {} nodes", metric.nodes_exhausted));
  for (const auto& [name, nodes] : metric.class_exhausted)
    lines.push_back(fmt::format("* Class {} exhausted on {} nodes", quoted(name), nodes));
  for (const auto& [dimension, nodes] : metric.dimension_exhausted)
    lines.push_back(fmt::format("* Dimension {} exhausted on {} nodes", quoted(dimension), nodes));
  for (const auto& what : metric.quota_exhausted) lines.push_back(fmt::format("* Quota limit hit {}", quoted(what)));
  return lines;
}

bool could_unblock(const model::Evaluation& blocked, const model::Node& changed) {
  if (blocked.status != model::EvalStatus::blocked || !changed.ready()) return false;
  // Where only the quota leaves no room, no node helps.
  const bool only_quota = !blocked.quota_limit_reached.empty() &&
                          std::all_of(blocked.failed_groups.begin(), blocked.failed_groups.end(),
                                      [](const auto& group) { return !group.second.quota_exhausted.empty(); });
  if (only_quota) return false;
  if (blocked.escaped_class) return true;
  const std::string name = changed.computed_class.empty() ? model::compute_class(changed) : changed.computed_class;
  const auto it = blocked.class_eligibility.find(name);
  // A class that was not there when it blocked may be just what it waits for.
  return it == blocked.class_eligibility.end() || it->second;
}

bool could_unblock(const model::Evaluation& blocked, std::string_view quota) {
  return blocked.status == model::EvalStatus::blocked && !quota.empty() && blocked.quota_limit_reached == quota;
}

}  // namespace underway::scheduler
