#pragma once
/// @file
/// A node in a list: Nomad's NodeListStub (api/nodes.go).

#include "base/json/projection.hpp"
#include "model/node/node.hpp"

namespace underway::wire {

struct NodeStub {
  std::string id, name, datacenter, node_class, node_pool, address, version, host, cluster;
  bool drain = false;
  model::Eligibility eligibility = model::Eligibility::eligible;
  model::NodeStatus status = model::NodeStatus::initializing;
  std::string status_description;
  std::optional<model::DrainMetadata> last_drain;
  std::map<std::string, model::DriverInfo> drivers;
  model::StringMap attributes;                    ///< with ?os
  std::optional<model::NodeResources> resources;  ///< with ?resources
  std::optional<model::NodeResources> reserved;   ///< likewise
  model::Revision create_index = 0, modify_index = 0;
};

const describe::Projection<model::Node>& description(describe::Tag<NodeStub>);

}  // namespace underway::wire
