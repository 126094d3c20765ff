#pragma once
/// @file
/// All nodes ranked for one shape of ask, kept between evaluations: which nodes are feasible (answered once per
/// computed class), and a tournament tree over their scores, so that the best node is read off the root and a changed
/// node costs one path of the tree. It catches up from the fleet's log with what happened since it was last used.
/// Source of the structure: a winner tree (Knuth, TAOCP 3, 5.4.1) over exact scores; it finds what a full scan finds.

#include "scheduler/detail/ask.hpp"

namespace underway::scheduler::detail {

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
  /// The slot with the highest score, `seed` choosing among equals; kNoSlot when no node is left.
  Slot best(std::uint64_t seed) const;
  double score(Slot slot) const { return tree_[leaves_ + positions_[slot]]; }
  /// Overrides the score until the slot's next change in the log.
  void set_score(Slot slot, double score) { set_leaf(positions_[slot], score); }

  static constexpr double kNever = -std::numeric_limits<double>::infinity();

 private:
  std::int16_t class_verdict(FleetIndex& fleet, Slot slot);
  std::int16_t compute_class_verdict(const model::Node& node);
  std::int16_t compute_verdict(FleetIndex& fleet, Slot slot);
  std::int16_t reason_code(std::string reason);
  double base_score(FleetIndex& fleet, Slot slot);
  void rebuild(FleetIndex& fleet);
  void set_leaf(std::size_t position, double score);

  Ask ask_;
  Memory memory_;
  std::vector<std::string> reasons_;
  std::vector<std::int16_t> class_verdicts_;  ///< by class id
  std::uint64_t class_generation_ = 0;
  struct Known {
    std::uint32_t row_version = 0;
    std::int16_t verdict = kUnknown;
    bool counted = false;  ///< in feasible_
  };
  std::vector<Known> known_;  ///< by slot

  std::uint64_t membership_ = 0;
  std::uint64_t seen_ = 0;
  std::size_t feasible_ = 0;
  std::vector<Slot> slots_;               ///< by position
  std::vector<std::uint32_t> positions_;  ///< by slot
  std::size_t leaves_ = 0;                ///< a power of two
  std::vector<double> tree_;              ///< root at 1, leaves from leaves_
};

}  // namespace underway::scheduler::detail
