#pragma once
/// @file
/// A node pool: nodes that are set apart, and what operators have set of scheduling in it. `default` and `all` always
/// are; into `all` no node goes, and a job of it runs on nodes of every pool. (A cluster's `pool` is a different thing:
/// hosts that one provider makes.)

#include "model/scheduler_configuration.hpp"

namespace underway::model {

/// What takes the place of the cluster's configuration; nothing: that holds.
struct NodePoolScheduling {
  std::optional<SchedulerAlgorithm> algorithm;
  std::optional<bool> memory_oversubscription;
};

struct NodePool {
  std::string name;  ///< letters, digits, - and _, up to 128
  std::string description;
  StringMap meta;
  NodePoolScheduling scheduling;
  /// How long the certificates of its nodes are good at most; 0: as long as the server's configuration says, which is
  /// the longest in any case.
  Duration identity_ttl{0};
  Revision create_index = 0;
  Revision modify_index = 0;
};

inline constexpr const char* kDefaultNodePool = "default";
inline constexpr const char* kEveryNodePool = "all";

/// All problems of the pool itself, in words.
std::vector<std::string> problems(const NodePool& pool);

const describe::Structure& description(describe::Tag<NodePoolScheduling>);
const describe::Structure& description(describe::Tag<NodePool>);

}  // namespace underway::model
