#include "server/node/node_history.hpp"

namespace underway::server::history {
namespace {

void tell_drivers(model::Node& node, const model::Node* before, const Context& context) {
  for (auto& [name, driver] : node.drivers) {
    driver.updated_at = unix_nanos(context.now);
    if (before == nullptr) continue;
    const auto known = before->drivers.find(name);
    if (known == before->drivers.end()) continue;
    const auto& was = known->second;
    const bool same = was.detected == driver.detected && was.healthy == driver.healthy &&
                      was.health_description == driver.health_description;
    if (same) driver.updated_at = was.updated_at;
    if (was.healthy == driver.healthy) continue;
    const std::string message = driver.health_description.empty() ? "Healthy" : driver.health_description;
    record(node, "Driver", message, context, {{"driver", name}});
  }
}

}  // namespace

void record(model::Node& node, std::string subsystem, std::string message, const Context& context,
            model::StringMap details) {
  auto& events = node.events;
  events.push_back(
      {std::move(message), std::move(subsystem), std::move(details), unix_nanos(context.now), context.revision});
  if (events.size() > kKept) events.erase(events.begin(), events.end() - kKept);
}

void registered(model::Node& node, const model::Node* before, const Context& context) {
  node.events = before == nullptr ? std::vector<model::NodeEvent>{} : before->events;
  tell_drivers(node, before, context);
  if (before == nullptr)
    record(node, "Cluster", "Node registered", context);
  else if (before->silent() && before->last_start == node.last_start)
    record(node, "Cluster", "Node reregistered by heartbeat", context);
  else if (before->last_start != node.last_start)
    record(node, "Cluster", "Node re-registered", context);
}

void marked(model::Node& node, const Context& context) {
  const bool eligible = node.eligibility == model::Eligibility::eligible;
  record(node, "Cluster", fmt::format("Node marked as {} for scheduling", eligible ? "eligible" : "ineligible"),
         context);
}

}  // namespace underway::server::history
