#pragma once
/// @file
/// The free room on nodes of one class. Nodes that have the same room free are one bin with a count, so that it costs
/// as much to look at ten thousand idle nodes as at one.

#include <cstdint>
#include <vector>

namespace underway::elastic::detail {

struct Need {
  std::int64_t cpus = 1, memory_mb = 0;  ///< on each node
  bool exclusive = false;                ///< an empty node, and all of it
};

class OpenNodes {
 public:
  OpenNodes() = default;
  /// Of nodes that have so much when they are empty.
  OpenNodes(std::int64_t cpus, std::int64_t memory_mb) : cpus_(cpus), memory_mb_(memory_mb) {}

  void add(std::int64_t cpus, std::int64_t memory_mb, std::int64_t count = 1);
  void add_empty(std::int64_t count) { add(cpus_, memory_mb_, count); }
  /// Places up to `tasks` of one node each, on the nodes that they fit most tightly (best fit). Returns how many fit.
  std::int64_t place(const Need& need, std::int64_t tasks);
  /// Places one job on `nodes` nodes, or on none. Returns whether it fits.
  bool place_gang(const Need& need, std::int64_t nodes);
  /// On how many nodes one task of this would fit.
  std::int64_t fitting(const Need& need) const;
  /// The same, placed on as many of `nodes` as fit.
  std::int64_t place_some(const Need& need, std::int64_t nodes);
  /// Nodes on which nothing is.
  std::int64_t empty() const;
  /// How many tasks an empty node takes.
  std::int64_t slots(const Need& need) const;

 private:
  struct Bin {
    std::int64_t cpus = 0, memory_mb = 0, count = 0;
  };
  bool fits(const Bin& bin, const Need& need) const;
  void put(std::int64_t cpus, std::int64_t memory_mb, std::int64_t count);
  void forget_empty_bins();

  std::int64_t cpus_ = 0, memory_mb_ = 0;
  std::vector<Bin> bins_;  ///< by processors, then memory, each once
};

}  // namespace underway::elastic::detail
