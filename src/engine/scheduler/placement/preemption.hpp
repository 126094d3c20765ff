#pragma once
/// @file
/// Who has to make way for an allocation of a job of higher priority, by Nomad's rules: allocations of other jobs at
/// least 10 below its priority; the lowest first, among them those whose size is nearest to what is still missing; then
/// those are dropped without whom it would do.
/// Source: nomad/scheduler/feasible/preemption.go (PreemptForTaskGroup, scoreForTaskGroup) and rank.go
/// (PreemptionScoringIterator). Its filterSuperset can leave one whom it would do without; here nobody is left.

#include "scheduler/placement/ask.hpp"
#include "scheduler/plan.hpp"

#include <unordered_set>

namespace underway::scheduler {

using Victims = std::vector<tables::Row<model::Allocation>>;

class Preemption {
 public:
  /// For one plan of `job`. Both outlive it.
  Preemption(FleetIndex& fleet, const Situation& situation);

  /// Whether anybody is low enough at all.
  bool possible() const;
  /// Those that have to go from the node so that the ask fits; nothing when all that may go would not be enough.
  std::optional<Victims> choose(Slot slot, const Ask& ask) const;
  /// They have been chosen: nobody makes way twice.
  void take(const Victims& victims);

  /// The term that their priorities add to the node's score: 0 to 1, the higher the less they matter.
  static double term(const Victims& victims);

 private:
  struct Candidate;
  std::vector<Candidate> candidates_on(Slot slot) const;
  bool fits_without(Slot slot, const Ask& ask, const std::vector<Candidate>& gone) const;
  /// Those of them without whom it would not do: by amounts alone, and with ports, cores and devices.
  static Victims needed_of(std::vector<Candidate> chosen, Amount available, const Amount& needed);
  Victims needed_on(Slot slot, const Ask& ask, std::vector<Candidate> chosen) const;
  std::int64_t preempted_of(const model::Allocation& allocation) const;

  FleetIndex& fleet_;
  const Situation& situation_;
  std::unordered_set<std::string> gone_;
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> of_group_;  ///< by namespace, job, group
};

}  // namespace underway::scheduler
