#pragma once
/// @file
/// How many requests were answered, and how long that took, for /v1/metrics.

#include "base/clock.hpp"

namespace underway::api {

/// Those that wait because they were asked to (blocking queries) are counted and not timed. Thread: one loop.
class Meter {
 public:
  /// Of what was timed; durations in seconds.
  struct Times {
    std::int64_t count = 0;
    double sum = 0, sum_of_squares = 0, least = 0, most = 0;
    double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
    /// Of the whole, not of a sample of it.
    double deviation() const;
  };

  void count() { ++requests_; }
  void time(Duration took);
  std::int64_t requests() const { return requests_; }
  const Times& times() const { return times_; }

 private:
  std::int64_t requests_ = 0;
  Times times_;
};

}  // namespace underway::api
