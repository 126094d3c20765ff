#include "scheduler/fleet/fleet.hpp"

#include "scheduler/fleet/fleet_index.hpp"
#include "scheduler/fleet/holdings.hpp"

namespace underway::scheduler {

Fleet::Fleet() : index_(std::make_unique<FleetIndex>()) {}
Fleet::~Fleet() = default;

void Fleet::reset() { index_->reset(); }

void Fleet::node_changed(const tables::Row<model::Node>& before, const tables::Row<model::Node>& after) {
  index_->set_node(before, after);
}

void Fleet::allocation_changed(const tables::Row<model::Allocation>& before,
                               const tables::Row<model::Allocation>& after) {
  index_->set_allocation(before.get(), after.get());
}

std::size_t Fleet::node_count() const { return index_->node_count(); }

std::optional<NodeUsage> Fleet::usage(const std::string& node_id) const {
  const Slot slot = index_->find(node_id);
  if (slot == kNoSlot || !index_->node(slot).node) return std::nullopt;
  const Amount& has = index_->node(slot).capacity;
  const Room& room = index_->room(slot);
  return NodeUsage{has,
                   {has.cpu - room.cpu, has.memory_mb - room.memory_mb, has.disk_mb - room.disk_mb},
                   index_->node(slot).allocations};
}

Amount capacity_of(const model::Node& node) {
  const auto left = [](std::int64_t has, std::int64_t kept) { return std::max<std::int64_t>(0, has - kept); };
  const auto &has = node.resources, &kept = node.reserved;
  return {left(has.cpu, kept.cpu), left(has.memory_mb, kept.memory_mb), left(has.disk_mb, kept.disk_mb)};
}

Amount amount_of(const model::Allocation& allocation) {
  if (allocation.sleeps()) return {0, 0, allocation.resources.disk_mb};
  if (allocation.job) {
    if (const auto* group = allocation.job->find_group(allocation.group)) {
      const auto total = group->total_resources();
      return {total.cpu + held_cpu(allocation), total.memory_mb, allocation.resources.disk_mb};
    }
  }
  // Its job is not known any more: as if all tasks ran at once, which is never too little.
  Amount sum{0, 0, allocation.resources.disk_mb};
  for (const auto& [name, task] : allocation.resources.tasks) {
    sum.cpu += task.cpu;
    sum.memory_mb += task.memory_mb;
  }
  return sum;
}

}  // namespace underway::scheduler
