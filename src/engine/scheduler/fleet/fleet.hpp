#pragma once
/// @file
/// The nodes and what they have free, kept up to date change by change: the scheduler's view of the tables.
///
/// An allocation holds cpu, memory, disk and ports of its node until it is terminal (finished on the node, or not
/// wanted any more). Nothing here is written by scheduling for good: schedule() accounts for its plan while it makes it
/// and leaves the fleet as it found it; the plan's changes come back through the tables.

#include "tables/tables.hpp"

#include <memory>

namespace underway::scheduler {

class FleetIndex;

/// What a group takes of a node, or what a node has.
struct Amount {
  std::int64_t cpu = 0;        ///< MHz
  std::int64_t memory_mb = 0;  ///< MiB
  std::int64_t disk_mb = 0;    ///< MiB
  bool operator==(const Amount&) const = default;
};

struct NodeUsage {
  Amount capacity;  ///< without what is reserved
  Amount used;
  std::size_t allocations = 0;  ///< that hold something
};

/// Thread: the control loop's only.
class Fleet final : public tables::Tables::Follower {
 public:
  Fleet();
  ~Fleet() override;
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  void reset() override;
  void node_changed(const tables::Row<model::Node>& before, const tables::Row<model::Node>& after) override;
  void allocation_changed(const tables::Row<model::Allocation>& before,
                          const tables::Row<model::Allocation>& after) override;

  std::size_t node_count() const;
  /// Nothing for a node that the fleet does not know.
  std::optional<NodeUsage> usage(const std::string& node_id) const;

  /// The scheduler's own access.
  FleetIndex& index() { return *index_; }

 private:
  std::unique_ptr<FleetIndex> index_;
};

/// What a node has, without what is reserved.
Amount capacity_of(const model::Node& node);
/// What `allocation` holds while it is not terminal.
Amount amount_of(const model::Allocation& allocation);

}  // namespace underway::scheduler
