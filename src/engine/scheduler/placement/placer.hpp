#pragma once
/// @file
/// Places the allocations of one group, one after the other, each on the best node that is left. Accounts for each in
/// the fleet as it goes.

#include "scheduler/fleet/quota_book.hpp"
#include "scheduler/placement/preemption.hpp"
#include "scheduler/placement/shape_index.hpp"

#include <queue>

namespace underway::scheduler {

/// Where a job's allocations are, by slot, while one evaluation is made. Lends its arrays from the fleet.
class Peers {
 public:
  explicit Peers(FleetIndex& fleet) : fleet_(fleet), job_(fleet.take_counts()) {}
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  void add(Slot slot, const std::string& group);
  void remove(Slot slot, const std::string& group);
  std::uint32_t of_job(Slot slot) const { return slot < job_.size() ? job_[slot] : 0; }
  /// The group's own array, in which slots beyond its end count 0.
  const std::vector<std::uint32_t>& of_group(const std::string& group) { return counts(group); }
  /// Slots that any of the job's allocations was ever added to.
  const std::vector<Slot>& touched() const { return touched_; }

 private:
  std::vector<std::uint32_t>& counts(const std::string& group);

  FleetIndex& fleet_;
  std::vector<std::uint32_t> job_;
  std::map<std::string, std::vector<std::uint32_t>> groups_;
  std::vector<Slot> touched_;
};

struct Choice {
  Slot slot = kNoSlot;
  Terms terms;       ///< all but the spread
  double score = 0;  ///< mean of all terms
  double binpack = 0;
  std::optional<double> affinity;
  std::optional<double> anti_affinity;
  std::optional<double> penalty;
  std::optional<double> spread;
  std::optional<double> devices;
  std::shared_ptr<const Assignment> held;  ///< cores and devices, by task; null: none
  std::optional<double> preemption;
  Victims victims;  ///< that make way for it
  PortAssignment ports;
};

class Placer {
 public:
  enum class Use : std::uint8_t {
    ranking,   ///< place(): the best of all nodes
    visiting,  ///< place_on(): one node after the other, as system jobs do; nothing is ranked
  };
  /// `seed` decides between nodes of equal score; `quota`, when not null, outlives it.
  Placer(FleetIndex& fleet, Peers& peers, Ask ask, std::uint64_t seed, Use use = Use::ranking,
         QuotaBook* quota = nullptr);
  ~Placer();
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;

  struct Hint {
    Slot prefer = kNoSlot;    ///< taken if the ask fits there at all
    Slot penalise = kNoSlot;  ///< where its predecessor failed
    Slot avoid = kNoSlot;     ///< not there, in place(): where it is to go away from
    std::int64_t index = 0;   ///< the number in the allocation's name
  };
  /// Decides and accounts; nothing when no node is left.
  std::optional<Choice> place() { return place(Hint{}); }
  std::optional<Choice> place(const Hint& hint);
  /// The same on this node or nowhere.
  std::optional<Choice> place_on(Slot slot);

  /// When place() and place_on() find nothing: the same with others pushed aside, who are freed and taken out of
  /// `preemption`.
  std::optional<Choice> place_by_force(Preemption& preemption, const Hint& hint);
  std::optional<Choice> place_on_by_force(Preemption& preemption, Slot slot);

  /// Frees what `allocation` of this group holds, so that its replacement may take its place, and the reverse.
  void release(const model::Allocation& allocation);
  void retake(const model::Allocation& allocation);

  /// Whether the node could take the ask with what is free now, for an allocation that is there already.
  bool suits(Slot slot);
  /// What the node's answer is, apart from what is free on it.
  std::int16_t verdict(Slot slot) { return shape_->verdict(fleet_, slot); }
  bool in_scope(Slot slot) const;

  /// What the quota has too little of for another one, in words; empty when there is enough, or no quota.
  std::vector<std::string> lacking_quota() const {
    return quota_ != nullptr ? quota_->lacking(use_) : std::vector<std::string>();
  }
  /// Whether an allocation that finds no place means that the others of the group find none either.
  bool alike() const { return !shape_->ask().has_own_volumes(); }
  /// Figures of a successful placement.
  model::AllocMetric metric(const Choice& choice) const;
  /// Why place() found nothing.
  model::AllocMetric failure();
  /// Says how many nodes are ready, by datacenter; returns how many the pool has.
  std::int64_t count_available(model::AllocMetric& metric) const;
  /// Adds why place_on(slot) did not take it.
  void judge(Slot slot, model::AllocMetric& metric);
  /// Which computed classes could ever take the ask, and whether that tells anything.
  void add_class_eligibility(model::Evaluation& blocked);
  /// The first port that stands in the way, and where: for words to a person.
  struct Collision {
    const model::Port* port = nullptr;
    Slot slot = kNoSlot;
  };
  const std::optional<Collision>& collision() const { return collision_; }

 private:
  struct Property {
    DistinctProperty rule;
    std::unordered_map<Slot, std::uint32_t> value_of;  ///< nodes that have the property
    std::vector<std::vector<Slot>> slots;              ///< by value
    std::vector<std::int64_t> used;                    ///< by value
    std::vector<std::string> values;
  };

  void read_property(const DistinctProperty& rule);
  void count_property(Slot slot, std::int64_t change);
  void count_spread(Slot slot, std::int64_t of_group, std::int64_t of_job);
  bool allowed_beside_peers(Slot slot) const;
  /// Whether the node has the volumes that are only this allocation's.
  bool has_own_volumes(Slot slot, std::int64_t index) const;
  /// Whether somebody writes one of those there that this allocation would write alone.
  bool own_volume_taken(Slot slot, std::int64_t index) const;
  /// The terms for the slot, or nothing when it cannot be taken.
  std::optional<Choice> weigh(Slot slot, const Hint& hint);
  std::optional<Choice> weigh_by_force(const Preemption& preemption, Slot slot, const Hint& hint);
  /// Of a slot that can be taken and has this much room.
  Choice score(Slot slot, const Room& room, const Hint& hint);
  std::optional<Choice> take_by_force(Preemption& preemption, std::optional<Choice> choice);
  void refresh(Slot slot);
  Slot best_slot(const Hint& hint, std::uint64_t seed);
  void add_peer(Slot slot);
  void remove_peer(Slot slot);
  void override_score(Slot slot);
  std::optional<Choice> take(std::optional<Choice> choice, std::uint64_t seed);

  FleetIndex& fleet_;
  Peers& peers_;
  std::shared_ptr<ShapeIndex> shape_;
  QuotaBook* quota_;
  QuotaUse use_;  ///< of one allocation; only with a quota
  std::uint64_t seed_;
  std::uint64_t placed_ = 0;
  std::string group_;
  const std::vector<std::uint32_t>* group_counts_;
  double desired_;
  bool pinned_;
  bool ranked_;  ///< by the shape's tree
  std::vector<Slot> pinned_slots_;
  std::vector<Property> properties_;
  std::optional<SpreadState> spread_;  ///< only when ranked: a pinned ask has nothing to spread over
  std::vector<Slot> overridden_;
  std::int64_t in_scope_ = 0;
  std::int64_t index_ = 0;  ///< of the allocation that was placed last, or could not be
  /// Nodes on which others could make way, the best first, as they were when last looked at: a placement changes the
  /// score of its own node, and hardly ever raises another's.
  std::optional<std::priority_queue<std::pair<double, Slot>>> forced_;
  std::optional<Collision> collision_;
};

}  // namespace underway::scheduler
