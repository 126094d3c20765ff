#include "base/allowance.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway {
namespace {

using namespace std::chrono_literals;

/// Computes until it is refused, or `at_most` is over; the refusal's code.
std::optional<Code> compute(Duration at_most) {
  const Duration begin = thread_cpu_time();
  try {
    while (thread_cpu_time() - begin < at_most) Allowance::spend(1000);
    return std::nullopt;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST(Allowance, RefusesWhatComputesLonger) {
  const Allowance allowance("counting", 5ms);
  EXPECT_EQ(compute(10s), Code::too_large);
  EXPECT_GE(allowance.spent(), 5ms);
}

TEST(Allowance, WithoutOneNothingIsRefused) { EXPECT_EQ(compute(20ms), std::nullopt); }

TEST(Allowance, TheInnermostCounts) {
  const Allowance outer("the whole", 10s);
  {
    const Allowance inner("a part", 2ms);
    EXPECT_EQ(compute(10s), Code::too_large);
  }
  EXPECT_EQ(compute(20ms), std::nullopt);
}

TEST(Allowance, RefusesWhatTakesMoreMemory) {
  const Allowance allowance("counting", 1h, 1000);
  Allowance::make(600);
  EXPECT_THROW(Allowance::make(401), Error);
  EXPECT_THROW(Allowance::make(UINT64_MAX), Error);
  Allowance::make(400);
}

TEST(Allowance, EndsWithWhoeverGaveIt) {
  std::atomic<bool> ended = false;
  const Allowance allowance("counting", 1h, Allowance::kAnyNumber, &ended);
  EXPECT_EQ(compute(5ms), std::nullopt);
  ended = true;
  EXPECT_EQ(compute(10s), Code::unavailable);
}

}  // namespace
}  // namespace underway
