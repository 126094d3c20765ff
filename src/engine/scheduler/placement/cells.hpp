#pragma once
/// @file
/// The nodes of a shape whose group is spread over properties, apart by the values that they have of them. Nodes of one
/// *cell* have all these values in common, so a spread adds the same to the score of each of them. A node's other terms
/// stand in a tree of its cell, by how many they are: the final score is a mean, and only among nodes with equally many
/// terms does their sum tell which is best. The best of all is therefore one of the roots, and whatever a placement
/// changes in the spread is looked at once per cell, never per node.

#include "scheduler/placement/winner_tree.hpp"

#include <array>

namespace underway::scheduler {

class SpreadState;

/// Terms of a node's score but the spread.
struct Terms {
  double sum = kNever;
  int count = 1;
  double mean() const { return sum / count; }
};

class Cells {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// binpack, affinity, anti-affinity, penalty.
  static constexpr int kMostTerms = 4;

  /// Sorts all nodes of the fleet into cells, with no scores yet. `attributes`: what is spread over.
  void rebuild(const FleetIndex& fleet, const std::vector<std::string>& attributes);
  /// Whether a node of the fleet is in another cell than its present row says.
  bool moved(const FleetIndex& fleet, Slot slot, const std::vector<std::string>& attributes);

  void set(Slot slot, const Terms& terms);
  /// The slot whose mean with the spread's term is highest, `seed` choosing among equals; kNoSlot: there is none.
  Slot best(const SpreadState& spread, std::uint64_t seed) const;

  /// kNone for a slot without a node.
  std::uint32_t cell_of(Slot slot) const { return slot < places_.size() ? places_[slot].cell : kNone; }
  std::size_t cell_count() const { return cells_.size(); }
  /// The number of the cell's value of an attribute; kNone: its nodes do not have it.
  std::uint32_t value_of(std::uint32_t cell, std::size_t attribute) const { return cells_[cell].values[attribute]; }
  /// The values of an attribute, by number.
  const std::vector<std::string>& values(std::size_t attribute) const { return values_[attribute]; }

 private:
  struct Cell {
    std::vector<std::uint32_t> values;  ///< by attribute
    std::vector<Slot> slots;
    std::size_t leaves = 0;
    std::size_t offset = 0;  ///< of its trees in trees_
  };
  struct Place {
    std::uint32_t cell = kNone;
    std::uint32_t position = 0;  ///< in the cell
    std::uint32_t row_version = 0;
    std::uint8_t terms = 0;  ///< whose tree it stands in; 0: in none
  };
  std::vector<std::uint32_t> values_on(const model::Node& node, const std::vector<std::string>& attributes);

  std::vector<Cell> cells_;
  std::vector<Place> places_;  ///< by slot
  std::vector<std::vector<std::string>> values_;
  std::vector<std::unordered_map<std::string, std::uint32_t>> numbers_;  ///< of values, by attribute
  std::size_t size_ = 0;                                                 ///< of the trees for one number of terms
  std::array<std::vector<double>, kMostTerms> trees_;                    ///< by number of terms - 1; made when needed
};

/// How a group's allocations are shared out over the values, and what that is worth for the next one.
class SpreadState {
 public:
  /// Nobody is counted yet. `cells` outlives it and is not rebuilt meanwhile.
  SpreadState(const Ask& ask, const Cells& cells);

  /// So many allocations of the group, and of its whole job, came to the cell; below 0: left it.
  void count(std::uint32_t cell, std::int64_t of_group, std::int64_t of_job);
  /// What the next allocation there would get: Nomad's `allocation-spread`, whose 0 is no term at all.
  /// Source: nomad/scheduler/feasible/spread.go (SpreadIterator, evenSpreadScoreBoost).
  double term(std::uint32_t cell) const;

 private:
  struct Rule {
    double weight = 0;                         ///< of the sum of all weights
    bool even = false;                         ///< no targets
    bool across_groups = false;                ///< counts all of the job
    std::vector<double> desired;               ///< by value; 0: none shall be there
    std::vector<std::int64_t> used;            ///< by value
    std::map<std::int64_t, std::size_t> uses;  ///< how many values are used how often; those that are used
  };
  static double even_term(const Rule& rule, std::int64_t used);

  const Cells& cells_;
  std::vector<Rule> rules_;
};

}  // namespace underway::scheduler
