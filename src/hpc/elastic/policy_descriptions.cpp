#include "model/elastic/policy_fields.hpp"

#include "elastic/policy.hpp"

namespace underway::elastic {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<PoolClass>) {
  static const Structure s = [] {
    Builder<PoolClass> builder("class", "A class of nodes that can be made.");
    builder.label<&PoolClass::name>("name", "Name", "Its name.")
        .attribute<&PoolClass::vcpus>("vcpus", "VCPUs", "Processors of one node.")
        .attribute<&PoolClass::memory_mb>("memory", "MemoryMB", "Memory that the guest sees, in MiB.")
        .attribute<&PoolClass::features>("features", "Features", "Slurm's features of its nodes.")
        .attribute<&PoolClass::min_nodes>("min_nodes", "MinNodes", "How many there always are.")
        .attribute<&PoolClass::max_nodes>("max_nodes", "MaxNodes", "How many there may be.");
    model::add_pool_fields(builder);
    return builder.done();
  }();
  return s;
}

const Structure& description(Tag<Policy>) {
  static const Structure s = [] {
    Builder<Policy> builder("elastic", "When the cluster grows and shrinks.");
    builder.block<&Policy::classes>("class", "Classes", "The classes of nodes that can be made.");
    model::add_policy_fields(builder);
    return builder.done();
  }();
  return s;
}

}  // namespace underway::elastic
