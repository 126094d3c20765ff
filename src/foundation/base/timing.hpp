#pragma once
/// @file
/// How long something took, over and over: how often, the sum and how it is spread since the start, and what the newest
/// say of a quantile. What `/v1/metrics` tells of times is kept so.

#include <array>
#include <cstdint>

#include "base/clock.hpp"

namespace underway {

/// Durations in seconds. Not safe for threads.
struct Timing {
  void add(Duration took);
  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
  /// Of the whole, not of a sample of it.
  double deviation() const;
  /// Of the newest 256: what is not longer than `share` (0 to 1) of them. 0 when there is none.
  double quantile(double share) const;

  std::int64_t count = 0;
  double sum = 0, sum_of_squares = 0, least = 0, most = 0;

 private:
  std::array<float, 256> newest_{};
};

}  // namespace underway
