#include "model/node/node_pool.hpp"

#include "model/detail/words.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

constexpr std::size_t kMostPoolEntries = 256;
/// A certificate is renewed when half of its time is over.
constexpr Duration kShortestIdentity = std::chrono::minutes(1);

}  // namespace

std::vector<std::string> problems(const NodePool& pool) {
  std::vector<std::string> out;
  detail::check_name("node pool", pool.name, out);
  detail::check_description("node pool", pool.description, out);
  if (pool.meta.size() > kMostPoolEntries)
    out.push_back(fmt::format("meta has {} entries; at most {} are kept", pool.meta.size(), kMostPoolEntries));
  if (pool.identity_ttl != Duration{0} && pool.identity_ttl < kShortestIdentity)
    out.push_back(fmt::format("node_identity_ttl is {}; at least {} is needed", format_duration(pool.identity_ttl),
                              format_duration(kShortestIdentity)));
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
                                 .attribute<&NodePool::identity_ttl>(
                                     "node_identity_ttl", "NodeIdentityTTL",
                                     "How long the certificates of its nodes are good, if that is shorter than "
                                     "`tls.node_certificate_ttl`.")
                                 .wire<&NodePool::create_index>("CreateIndex", "Revision in which it was made.")
                                 .wire<&NodePool::modify_index>("ModifyIndex", "Revision in which it last changed.")
                                 .done();
  return s;
}

}  // namespace underway::model
