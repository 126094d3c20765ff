#pragma once
/// @file
/// How much one caller may ask: a token bucket for requests per second and a count of those that are under way, for
/// each peer and token. Whoever shows no token, or one that is not known, shares what its address has, so that trying
/// many tokens gains nothing.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"

namespace underway::api {

struct Limits {
  std::int64_t requests_per_second = 0;  ///< 0: any number
  std::int64_t burst = 0;                ///< above the rate, after a pause; 0: one second's worth
  std::int64_t concurrent = 0;           ///< requests under way, streams and blocking queries too; 0: any number
};

class Limiter {
 public:
  Limiter(Limits limits, Clock& clock) : limits_(limits), clock_(clock) {}

  struct Admission {
    std::shared_ptr<void> slot;           ///< hold it as long as the request runs
    std::optional<Duration> retry_after;  ///< refused: how long to wait; nothing when too many are under way
    bool refused = false;
  };
  /// `caller`: "address|accessor".
  Admission admit(const std::string& caller);

  std::size_t callers() const { return buckets_.size(); }
  /// So many callers are remembered; one that has been quiet begins with a full bucket anyway.
  static constexpr std::size_t kMostCallers = 10'000;

 private:
  struct Bucket {
    double tokens = 0;
    TimePoint filled;
    std::int64_t running = 0;
  };
  double capacity() const;
  void fill(Bucket& bucket, TimePoint now) const;
  void forget_quiet(TimePoint now);

  Limits limits_;
  Clock& clock_;
  std::map<std::string, std::shared_ptr<Bucket>> buckets_;
};

}  // namespace underway::api
