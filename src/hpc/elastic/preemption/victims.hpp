#pragma once
/// @file
/// Whose jobs sleep so that an urgent one can run: the set that costs least, not the next best job.

#include "elastic/policy.hpp"

#include <string>
#include <vector>

namespace underway::elastic {

/// What the urgent job needs: so many nodes, each with so much.
struct UrgentNeed {
  std::string job;
  std::string account;
  std::int64_t priority = 0;
  std::int64_t nodes = 1, cpus = 1, memory_mb = 0;  ///< processors and memory on each
  std::vector<std::string> features;
  Duration expected{};  ///< for how long the others would sleep; 0: nobody knows
};

struct VictimHost {
  std::string name;
  std::int64_t cpus_free = 0, memory_free_mb = 0;
  std::vector<std::string> features;
  std::string owner;  ///< account that paid for it: its jobs go first here
};

/// A job that could be suspended. All of its hosts become free, also those that nobody needs.
struct Candidate {
  std::string job;
  std::string account;
  std::int64_t priority = 0;
  std::vector<std::string> hosts;        ///< one on which it has twice as much stands here twice
  std::int64_t cpus = 1, memory_mb = 0;  ///< on each of them
  bool suspendable = true;
  Duration lost{};     ///< work that has to be done again; 0 where memory is kept
  Duration suspend{};  ///< until its room is free
  Duration restart{};  ///< from waking it until it works
  std::int64_t suspensions = 0;
  Duration asleep{};  ///< in all, until now

  /// Milliseconds of all its processors that are lost when it is suspended.
  std::int64_t cost() const;
};

/// Why the job must not be suspended for that one; empty: it may. Its promise would be broken (suspended as often or as
/// long as it was told), it is as urgent, or it runs on nodes of its own account. On nodes of the urgent job's account
/// the jobs of all other accounts make way, whatever their priority.
std::string spared(const Candidate& candidate, const UrgentNeed& need, const std::vector<VictimHost>& hosts,
                   const Promises& promises);

struct Victims {
  bool found = false;
  std::vector<std::string> hosts;  ///< on which the urgent job then fits
  std::vector<std::string> jobs;   ///< in the order of their names
  std::int64_t cost = 0;
  /// No set costs less than this; where it equals `cost` the set is the best there is.
  std::int64_t bound = 0;
  std::string why;  ///< found none: what is lacking, with numbers
};

/// At most so many candidates are looked at in every combination; more are bounded as far as a fixed number of steps
/// reaches (about 10 ms), so that the same question always has the same answer.
inline constexpr std::size_t kExactCandidates = 12;

/// The set of candidates of the least total cost without which the need fits on `need.nodes` hosts.
/// Sources: selection as in OPIE made a set problem (López García et al., FGCS 2019); covering knapsack by branch
/// and bound with the fractional bound on a surrogate constraint (Martello and Toth 1990, "Knapsack Problems", ch. 2
/// and 3).
Victims choose_victims(const UrgentNeed& need, const std::vector<VictimHost>& hosts,
                       const std::vector<Candidate>& candidates, const Promises& promises);

}  // namespace underway::elastic
