#pragma once
/// @file
/// How many requests were answered, and how long that took, for /v1/metrics.

#include "base/timing.hpp"

namespace underway::api {

/// Those that wait because they were asked to (blocking queries) are counted and not timed. Thread: one loop.
class Meter {
 public:
  void count() { ++requests_; }
  void time(Duration took) { times_.add(took); }
  std::int64_t requests() const { return requests_; }
  const Timing& times() const { return times_; }

 private:
  std::int64_t requests_ = 0;
  Timing times_;
};

}  // namespace underway::api
