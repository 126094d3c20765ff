#pragma once
/// @file
/// Trying again: exponential back-off with jitter, so that ten thousand nodes do not come back in the same second.

#include <algorithm>
#include <random>

#include "async/loop.hpp"

namespace underway::async {

struct RetryPolicy {
  Duration first = std::chrono::milliseconds{200};  ///< the pause after the first failure
  Duration most = std::chrono::seconds{30};         ///< no pause is longer
  double factor = 2.0;
  double jitter = 0.5;               ///< a pause is drawn from [1 - jitter, 1] of its length
  std::optional<int> attempts = {};  ///< at most so many tries; without it, until it succeeds

  /// Quick at first, and never slower than every `most`.
  static RetryPolicy up_to(Duration most, Duration first = std::chrono::milliseconds{200}) {
    return {.first = std::min(first, most), .most = most};
  }
};

/// The sequence of pauses of one policy.
class Backoff {
 public:
  explicit Backoff(RetryPolicy policy, std::uint64_t seed = std::random_device{}())
      : policy_(policy), random_(seed), length_(policy_.first) {}

  /// The next pause; nothing when the attempts are used up.
  std::optional<Duration> next();
  /// After a success: begin again with the first pause.
  void reset();

 private:
  RetryPolicy policy_;
  std::mt19937_64 random_;
  Duration length_;
  int failures_ = 0;
};

/// Whether trying again can help: unavailable or timeout.
bool is_transient(const Error& error);

/// Calls `attempt()` (which returns an awaitable) until it succeeds. Errors that may pass are retried after a pause;
/// every other failure, and the last one when the attempts are used up, escapes. `attempt` must be a named object.
template <class Attempt>
std::invoke_result_t<Attempt&> retry(RetryPolicy policy, Attempt& attempt,
                                     bool (*may_pass)(const Error&) = is_transient) {
  using Result = typename std::invoke_result_t<Attempt&>::value_type;
  Backoff backoff(policy);
  while (true) {
    std::optional<Duration> pause;
    try {
      if constexpr (std::is_void_v<Result>) {
        co_await attempt();
        co_return;
      } else {
        co_return co_await attempt();
      }
    } catch (const Error& error) {
      if (!may_pass(error)) throw;
      pause = backoff.next();
      if (!pause) throw;
    }
    co_await sleep_for(*pause);
  }
}

}  // namespace underway::async
