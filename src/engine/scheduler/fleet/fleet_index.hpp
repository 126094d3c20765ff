#pragma once
/// @file
/// The fleet's arrays: one slot per node, hot figures packed together, and a log of changed slots from which the score
/// indexes catch up. Slots are stable while a node (or anything it holds) exists and are used again afterwards.

#include "scheduler/fleet/fleet.hpp"
#include "scheduler/fleet/holdings.hpp"
#include "scheduler/fleet/quota.hpp"

#include <span>

namespace underway::scheduler {

class ShapeIndex;
using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = ~Slot{0};

/// Ports in use on one address: sorted, with repetition (ignore_collision lets two allocations share one).
class PortSet {
 public:
  void add(std::uint16_t port) { ports_.insert(std::lower_bound(ports_.begin(), ports_.end(), port), port); }
  void remove(std::uint16_t port) {
    const auto it = std::lower_bound(ports_.begin(), ports_.end(), port);
    if (it != ports_.end() && *it == port) ports_.erase(it);
  }
  bool contains(std::uint16_t port) const { return std::binary_search(ports_.begin(), ports_.end(), port); }
  /// Distinct ports in use from `first` to `last`.
  std::size_t count(std::uint16_t first, std::uint16_t last) const;
  bool empty() const { return ports_.empty(); }

 private:
  std::vector<std::uint16_t> ports_;
};

/// A port held on one of the slot's addresses.
struct PortUse {
  std::uint16_t address = 0;  ///< index in NodeSlot::addresses
  std::uint16_t port = 0;
};

/// What scoring reads of a node.
struct Room {
  std::int64_t cpu = 0;  ///< free
  std::int64_t memory_mb = 0;
  std::int64_t disk_mb = 0;
  double per_cpu = 0;  ///< 1 / capacity; 0 without capacity
  double per_memory = 0;
};

struct NodeSlot {
  std::string id;
  tables::Row<model::Node> node;  ///< null: gone, but something is still accounted to it
  Amount capacity;
  std::uint32_t class_id = 0;
  std::uint32_t row_version = 0;  ///< grows with every change of the row
  std::uint32_t allocations = 0;
  std::uint64_t last_change = 0;  ///< place of its newest entry in the log
  std::vector<std::pair<std::string, PortSet>> addresses;
  std::unique_ptr<Holdings> holdings;  ///< null: nothing was ever held; slots are read by the million, so it lies apart

  bool ready() const { return node && node->ready(); }
};

/// What is held alone; null: nothing.
using HoldRow = std::shared_ptr<const Hold>;

class FleetIndex {
 public:
  FleetIndex();
  ~FleetIndex();
  FleetIndex(FleetIndex&&) = default;
  FleetIndex& operator=(FleetIndex&&) = default;

  void reset();
  void set_node(const tables::Row<model::Node>& before, const tables::Row<model::Node>& after);
  void set_allocation(const model::Allocation* before, const model::Allocation* after);

  std::size_t slot_count() const { return slots_.size(); }
  std::size_t node_count() const { return node_count_; }
  const NodeSlot& node(Slot slot) const { return slots_[slot]; }
  const Room& room(Slot slot) const { return rooms_[slot]; }
  Slot find(const std::string& node_id) const;
  /// Slots of nodes with this `unique.hostname`, or this name.
  const std::vector<Slot>& by_hostname(const std::string& hostname) const;
  const std::vector<Slot>& by_name(const std::string& name) const;
  /// Slots of all nodes in the order of their ids: independent of the history that led here.
  const std::vector<Slot>& ordered() const { return ordered_; }
  std::uint64_t membership() const { return membership_; }  ///< grows when ordered() changes
  std::size_t class_count() const { return class_ids_.size(); }
  std::uint64_t class_generation() const { return class_generation_; }  ///< grows when class ids are given anew
  /// Ready nodes by pool and datacenter.
  const std::map<std::string, std::map<std::string, std::int64_t>>& ready_by_pool() const { return ready_; }

  /// Index of the address for a port on `host_network`; nothing when the node has no such network.
  std::optional<std::uint16_t> address_of_network(Slot slot, const std::string& host_network);
  bool port_taken(Slot slot, std::uint16_t address, std::int64_t port) const;

  /// Whether any allocation that holds something is of a job of at most this priority.
  bool any_of_priority(std::int64_t most) const { return !priorities_.empty() && priorities_.begin()->first <= most; }

  /// What the allocations of the namespace use. `count` is asked the first time; from then on changes are followed.
  const QuotaUse& quota_use(const std::string& ns, const std::function<QuotaUse(const std::string&)>& count);

  /// Accounts for a placement, or takes one back. Undone by rollback() down to an earlier mark().
  void take(Slot slot, const Amount& amount, std::span<const PortUse> ports, HoldRow hold = nullptr) {
    change(slot, amount, ports, std::move(hold), 1);
  }
  void give(Slot slot, const Amount& amount, std::span<const PortUse> ports, HoldRow hold = nullptr) {
    change(slot, amount, ports, std::move(hold), -1);
  }
  void take(const model::Allocation& allocation);
  void give(const model::Allocation& allocation);
  std::size_t mark() const { return journal_.size(); }
  void rollback(std::size_t mark);

  /// Entries of the log are slots whose usage or row changed; [log_begin, log_end) is still there.
  std::uint64_t log_begin() const { return log_begin_; }
  std::uint64_t log_end() const { return log_begin_ + log_.size(); }
  /// The slot of entry `place` if that is its newest entry, else kNoSlot.
  Slot logged(std::uint64_t place) const {
    const Slot slot = log_[place - log_begin_];
    return slots_[slot].last_change == place ? slot : kNoSlot;
  }
  void log_change(Slot slot);

  /// An array of zeros, one per slot, lent so that an evaluation need not clear one; give it back all zero.
  std::vector<std::uint32_t> take_counts();
  void return_counts(std::vector<std::uint32_t>&& counts) { spare_counts_.push_back(std::move(counts)); }

  /// The score index for a shape, by its key; made by the caller when null.
  std::shared_ptr<ShapeIndex> find_shape(const std::string& key);
  void keep_shape(const std::string& key, std::shared_ptr<ShapeIndex> shape);

 private:
  struct JournalEntry {
    Slot slot;
    std::int32_t sign;
    Amount amount;
    std::uint32_t first_port, port_count;
    HoldRow hold;
  };
  using NameIndex = std::unordered_map<std::string, std::vector<Slot>>;

  Slot slot_for(const std::string& node_id);
  void release_if_unused(Slot slot);
  void enter(Slot slot);
  void leave(Slot slot);
  void set_capacity(Slot slot);
  std::uint32_t intern_class(const std::string& computed_class);
  void change(Slot slot, const Amount& amount, std::span<const PortUse> ports, HoldRow hold, int sign);
  void account(Slot slot, const Amount& amount, std::span<const PortUse> ports, const Hold* hold, int sign);
  std::vector<PortUse> ports_of(Slot slot, const model::Allocation& allocation);
  std::uint16_t intern_address(Slot slot, const std::string& ip);

  std::vector<NodeSlot> slots_;
  std::vector<Room> rooms_;
  std::vector<Slot> unused_;
  std::unordered_map<std::string, Slot> by_id_;
  NameIndex by_hostname_, by_name_;
  std::vector<Slot> ordered_;
  std::uint64_t membership_ = 1;
  std::size_t node_count_ = 0;
  std::unordered_map<std::string, std::uint32_t> class_ids_;
  std::uint64_t class_generation_ = 1;
  std::map<std::string, std::map<std::string, std::int64_t>> ready_;

  std::map<std::string, QuotaUse> quota_uses_;       ///< by namespace: of those that a quota bounds
  std::map<std::int64_t, std::int64_t> priorities_;  ///< how many allocations hold something, by their job's priority

  std::vector<Slot> log_;
  std::uint64_t log_begin_ = 1;

  std::vector<JournalEntry> journal_;
  std::vector<PortUse> journal_ports_;

  std::vector<std::vector<std::uint32_t>> spare_counts_;
  struct KeptShape {
    std::shared_ptr<ShapeIndex> shape;
    std::uint64_t used = 0;
  };
  std::unordered_map<std::string, KeptShape> shapes_;
  std::uint64_t shape_clock_ = 0;
};

}  // namespace underway::scheduler
