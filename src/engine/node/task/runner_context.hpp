#pragma once
/// @file
/// What the runners of one node share: the outside, the node, and what the server has told.

#include <map>
#include <string>

#include "network/network.hpp"
#include "node/allocation/disk.hpp"
#include "node/node.hpp"
#include "node/runtime.hpp"
#include "node/server/server_data.hpp"
#include "node/task/task_api.hpp"

namespace underway::node {

class ClusterData;

/// All outlive the runners.
struct RunnerContext {
  Runtime& runtime;
  TaskDrivers& drivers;
  const Options& options;
  const model::Node& node;
  const model::StringMap& host_environment;
  NodeStats& stats;
  ClusterData* cluster_data = nullptr;              ///< null: templates that ask for variables or services wait
  network::AllocationNetworks* networks = nullptr;  ///< null: this agent can make none
  Predecessors* predecessors = nullptr;             ///< null: every disk begins empty (tests)
  ServerData* server = nullptr;  ///< null: there is none, and templates and identities do without (tests)
  /// Dynamic host volumes of the node, by name; null: there are none.
  const std::map<std::string, model::NodeVolume>* host_volumes = nullptr;
  TaskApi* task_api = nullptr;  ///< null: tasks get none (tests)
  std::string boot = {};        ///< boot_mark()
};

}  // namespace underway::node
