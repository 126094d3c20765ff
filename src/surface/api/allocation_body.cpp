#include "api/allocation_body.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "model/spelled_policies.hpp"

namespace underway::api {
namespace {

/// Its group's networks with the ports that it was given.
std::vector<model::NetworkResource> networks_of(const model::Allocation& allocation) {
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  if (group == nullptr) return {};
  auto networks = group->networks;
  for (auto& network : networks) {
    for (auto* list : {&network.reserved_ports, &network.dynamic_ports}) {
      for (auto& port : *list) {
        const auto given = std::ranges::find(allocation.resources.ports, port.label, &model::AllocatedPort::label);
        if (given == allocation.resources.ports.end()) continue;
        port.value = given->value;
        if (network.ip.empty()) network.ip = given->host_ip;
      }
    }
  }
  return networks;
}

}  // namespace

std::string allocation_json(const model::Allocation& allocation) {
  // Of one in the host's network Nomad tells that there is nothing to tell; its clients do not ask whether it does.
  if (!allocation.network_status) {
    model::Allocation told = allocation;
    told.network_status.emplace();
    return allocation_json(told);
  }
  static constexpr std::string_view kShared = R"("Shared":{)";  // a quote within a text has a backslash before it
  std::string text = json::encode(allocation);
  text.insert(text.find(kShared) + kShared.size(), "\"Networks\":" + json::encode(networks_of(allocation)) + ",");
  text.pop_back();
  return text + ",\"Job\":" + (allocation.job ? json::encode(model::with_policies(*allocation.job)) : "null") + "}";
}

}  // namespace underway::api
