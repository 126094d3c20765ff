#pragma once
/// @file
/// The covering knapsack with two constraints: the cheapest items that together have enough processors and memory.

#include <cstdint>
#include <vector>

namespace underway::elastic::detail {

struct CoverItem {
  std::int64_t cost = 0;
  std::int64_t cpus = 0, memory_mb = 0;
};

struct Cover {
  bool found = false;
  std::vector<std::size_t> items;
  std::int64_t cost = 0;
  std::int64_t bound = 0;  ///< none costs less
};

/// Branch and bound over at most `steps` nodes of the tree, beginning with a greedy cover. Counts steps, not time.
Cover cheapest_cover(const std::vector<CoverItem>& items, std::int64_t cpus, std::int64_t memory_mb,
                     std::int64_t steps);

}  // namespace underway::elastic::detail
