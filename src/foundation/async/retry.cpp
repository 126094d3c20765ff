#include "async/retry.hpp"

#include <algorithm>

namespace underway::async {

std::optional<Duration> Backoff::next() {
  ++failures_;
  if (policy_.attempts && failures_ >= *policy_.attempts) return std::nullopt;
  const double share = std::uniform_real_distribution<double>(1.0 - policy_.jitter, 1.0)(random_);
  const auto pause = Duration(static_cast<Duration::rep>(static_cast<double>(length_.count()) * share));
  const double longer =
      std::min(static_cast<double>(length_.count()) * policy_.factor, static_cast<double>(policy_.most.count()));
  length_ = Duration(static_cast<Duration::rep>(longer));
  return pause;
}

void Backoff::reset() {
  failures_ = 0;
  length_ = policy_.first;
}

bool is_transient(const Error& error) { return error.code() == Code::unavailable || error.code() == Code::timeout; }

}  // namespace underway::async
