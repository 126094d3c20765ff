#pragma once
/// @file
/// Reproducible chance. The distributions are ours: those of the standard library differ from one library to the next.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace underway::elastic::detail {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15 + 0x1234567) {}

  /// In [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  /// In [0, n).
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }
  bool happens(double probability) { return uniform() < probability; }
  /// Box and Muller 1958.
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
  /// The time until the next of events that come at this rate.
  double exponential(double rate) { return -std::log(1 - uniform()) / rate; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace underway::elastic::detail
