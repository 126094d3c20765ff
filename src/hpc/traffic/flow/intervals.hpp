#pragma once
/// @file
/// Intervals, summed up so that months of them cost a few hundred bytes and sums can be merged: a histogram with 16
/// steps per doubling, from one millisecond on.

#include "traffic/traffic.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace underway::traffic {

class Intervals {
 public:
  /// How many steps there are: up to 2^63 ns.
  static constexpr std::uint16_t kSteps = 43 * 16;

  /// Negative ones (clocks that stepped back) are left out.
  void add(std::int64_t nanoseconds);
  void add_step(std::uint16_t step, std::uint64_t times);
  void add(const Intervals& others);
  void clear() { steps_.clear(); }
  bool empty() const { return steps_.empty(); }

  Rhythm rhythm() const;
  /// Step and how many intervals it has, in ascending order.
  const std::vector<std::pair<std::uint16_t, std::uint64_t>>& steps() const { return steps_; }

 private:
  std::vector<std::pair<std::uint16_t, std::uint64_t>> steps_;
};

}  // namespace underway::traffic
