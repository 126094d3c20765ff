#include "model/node_pool.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

// Nomad's (its structs, validNodePoolName and maxNodePoolDescriptionLength).
constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLongestDescription = 256;
constexpr std::size_t kMostEntries = 256;

}  // namespace

std::vector<std::string> problems(const NodePool& pool) {
  static constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  std::vector<std::string> out;
  if (pool.name.empty() || pool.name.size() > kLongestName ||
      pool.name.find_first_not_of(kAllowed) != std::string::npos) {
    out.push_back(fmt::format("node pool name '{}' is not of 1 to {} letters, digits, '-' and '_'",
                              pool.name.substr(0, kLongestName), kLongestName));
  }
  if (pool.description.size() > kLongestDescription)
    out.push_back(
        fmt::format("the description has {} bytes; at most {} are kept", pool.description.size(), kLongestDescription));
  if (pool.meta.size() > kMostEntries)
    out.push_back(fmt::format("meta has {} entries; at most {} are kept", pool.meta.size(), kMostEntries));
  return out;
}

const Structure& description(Tag<NodePoolScheduling>) {
  static const Structure s =
      Builder<NodePoolScheduling>("node pool scheduling", "What takes the place of the cluster's configuration.")
          .attribute<&NodePoolScheduling::algorithm>("scheduler_algorithm", "SchedulerAlgorithm",
                                                     "How its nodes are preferred: filled up, or evenly.")
          .attribute<&NodePoolScheduling::memory_oversubscription>(
              "memory_oversubscription_enabled", "MemoryOversubscriptionEnabled", "Tasks may have up to memory_max.")
          .done();
  return s;
}

const Structure& description(Tag<NodePool>) {
  static const Structure s = Builder<NodePool>("node pool", "Nodes that are set apart.")
                                 .label<&NodePool::name>("name", "Name", "Letters, digits, `-` and `_`.")
                                 .attribute<&NodePool::description>("description", "Description", "For people.")
                                 .block_or_attribute<&NodePool::meta>("meta", "Meta", "Any values.")
                                 .block<&NodePool::scheduling>("scheduler_config", "SchedulerConfiguration",
                                                               "What takes the place of the cluster's configuration.")
                                 .wire<&NodePool::create_index>("CreateIndex", "")
                                 .wire<&NodePool::modify_index>("ModifyIndex", "")
                                 .done();
  return s;
}

}  // namespace underway::model
