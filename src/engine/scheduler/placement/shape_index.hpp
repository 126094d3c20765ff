#pragma once
/// @file
/// All nodes ranked for one shape of ask, kept between evaluations: which nodes are feasible (answered once per
/// computed class), and a tournament tree over their scores, so that the best node is read off the root and a changed
/// node costs one path of the tree. It catches up from the fleet's log with what happened since it was last used. The
/// scores are exact; it finds what a full scan finds. For a group that is spread over properties there is a tree per
/// cell instead of one: see cells.hpp.

#include "scheduler/placement/cells.hpp"

namespace underway::scheduler {

class ShapeIndex {
 public:
  enum class Memory : std::uint8_t {
    kept,  ///< answers are remembered for every node
    none   ///< they are worked out each time: for an ask that concerns a node or two
  };
  explicit ShapeIndex(Ask ask, Memory memory = Memory::kept) : ask_(std::move(ask)), memory_(memory) {}

  /// What the node's answer is, apart from what is free on it.
  enum Verdict : std::int16_t {
    kUnknown = -1,
    kFeasible = 0,
    kNotReady = 1,
    kOutOfScope = 2,
    kFirstReason = 3,  ///< and above: filtered, see reason()
  };
  std::int16_t verdict(FleetIndex& fleet, Slot slot);
  /// The same without asking whether the node is ready: for allocations that stay where they are.
  std::int16_t verdict_if_ready(FleetIndex& fleet, Slot slot);
  /// Why it was filtered, as AllocMetric::constraint_filtered has it.
  const std::string& reason(std::int16_t verdict) const { return reasons_[std::size_t(verdict - kFirstReason)]; }
  /// Whether nodes of the class could ever take it; meaningless for shapes with node constraints.
  bool class_feasible(FleetIndex& fleet, Slot slot) { return class_verdict(fleet, slot) == kFeasible; }

  const Ask& ask() const { return ask_; }
  /// Takes over another ask of the same shape: labels and distinct rules may differ.
  void adopt(Ask ask) { ask_ = std::move(ask); }

  /// Brings the tree up to date.
  void catch_up(FleetIndex& fleet);
  /// Ready nodes in scope that no constraint filters. After catch_up().
  std::size_t feasible_count() const { return feasible_; }
  /// The slot with the highest score, `seed` choosing among equals; kNoSlot when no node is left. `spread` is needed
  /// when the ask is spread over something.
  Slot best(const SpreadState* spread, std::uint64_t seed) const;
  /// Overrides the score until the slot's next change in the log.
  void set_score(Slot slot, const Terms& terms) {
    if (spread())
      cells_.set(slot, terms);
    else
      set_leaf(tree_.data(), leaves_, positions_[slot], terms.mean());
  }
  /// The term of the ask's affinities; 0 is no term at all.
  double affinity(FleetIndex& fleet, Slot slot);

  bool spread() const { return !ask_.spreads.empty(); }
  /// After catch_up().
  const Cells& cells() const { return cells_; }

 private:
  std::int16_t class_verdict(FleetIndex& fleet, Slot slot);
  std::int16_t compute_class_verdict(const model::Node& node);
  std::int16_t compute_verdict(FleetIndex& fleet, Slot slot);
  std::int16_t reason_code(std::string reason);
  double fit(const Room& room, const Amount& amount);
  Terms base_score(FleetIndex& fleet, Slot slot);
  void rebuild(FleetIndex& fleet);

  Ask ask_;
  Memory memory_;
  std::vector<std::string> reasons_;
  std::vector<std::int16_t> class_verdicts_;  ///< by class id
  std::vector<double> class_affinities_;      ///< by class id; NaN: not asked yet
  std::uint64_t class_generation_ = 0;
  struct Known {
    std::uint32_t row_version = 0;
    std::int16_t verdict = kUnknown;
    bool counted = false;  ///< in feasible_
  };
  std::vector<Known> known_;  ///< by slot
  struct Attracted {
    std::uint32_t row_version = 0;
    double term = 0;
  };
  std::vector<Attracted> attracted_;  ///< by slot; only for an ask that has affinities
  /// All that fit_score() reads of a node, and the last answer: most of a fleet is alike, and equally full or empty.
  struct Fit {
    std::int64_t cpu = 0, memory_mb = 0;
    double per_cpu = -1, per_memory = -1;  ///< no node's
    bool operator==(const Fit&) const = default;
  };
  Fit fit_of_;
  double fit_ = 0;

  std::uint64_t membership_ = 0;
  std::uint64_t seen_ = 0;
  std::size_t feasible_ = 0;
  std::vector<Slot> slots_;               ///< by position
  std::vector<std::uint32_t> positions_;  ///< by slot
  std::size_t leaves_ = 0;                ///< a power of two
  std::vector<double> tree_;              ///< see winner_tree.hpp; unused when spread
  Cells cells_;                           ///< used when spread
};

}  // namespace underway::scheduler
