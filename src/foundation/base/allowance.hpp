#pragma once
/// @file
/// How much one piece of work may compute that somebody else asked for. Loops whose length a client chooses say what
/// they spend; whoever runs them decides what there is to spend. Without an Allowance on its thread work is unbounded:
/// a person's own program may take its time.

#include <atomic>
#include <cstdint>
#include <string>

#include "base/clock.hpp"

namespace underway {

/// While it lives, what its thread computes is bounded. Allowances nest: the innermost counts. Thread: the one that
/// made it.
class Allowance {
 public:
  static constexpr std::uint64_t kAnyNumber = UINT64_MAX;

  /// `what` begins the refusal: "parsing the job". `cpu` is time of this thread, so a busy machine refuses nobody.
  /// `ended`, when given, outlives this: once it is true the work stops as well.
  Allowance(std::string what, Duration cpu, std::uint64_t bytes = kAnyNumber, const std::atomic<bool>* ended = nullptr);
  ~Allowance();
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;

  /// Says that about `steps` of 100 ns are being taken: cheap, the clock is read now and then. Throws Error(too_large)
  /// when more than the thread's innermost allowance was computed, Error(unavailable) when it has ended.
  static void spend(std::uint64_t steps = 1);
  /// Says that about `bytes` are being made which stay until the work is done. Throws Error(too_large) when that is
  /// more than there may be.
  static void make(std::uint64_t bytes);

  /// CPU time of this thread since the allowance began.
  Duration spent() const;

 private:
  void look() const;

  std::string what_;
  Duration cpu_;
  Duration begun_;
  std::uint64_t bytes_;
  std::uint64_t made_ = 0;
  const std::atomic<bool>* ended_;
  std::uint64_t unlooked_ = 0;  ///< steps since the clock was read
  Allowance* outer_;
};

/// CPU time of the calling thread.
Duration thread_cpu_time();

}  // namespace underway
