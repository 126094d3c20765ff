// Ten thousand bad days. One seed is one exact history: --gtest_filter and the trace name it.
#include <gtest/gtest.h>

#include "tests/history.hpp"

namespace underway::elastic {
namespace {

constexpr std::uint64_t kEach = 1250;

class Histories : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Histories, LoseNoJobLeakNoNodeAndBreakNoPromise) {
  testing::History::Seen seen;
  for (std::uint64_t seed = GetParam() * kEach; seed < (GetParam() + 1) * kEach; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    testing::History history(seed);
    history.run();
    if (HasFailure()) return;  // the first is enough to look at
    seen.add(history.seen());
  }
  for (const auto& [what, times] :
       {std::pair("suspensions", seen.suspensions), std::pair("nodes taken back", seen.taken_back),
        std::pair("gangs", seen.gangs), std::pair("gangs given up", seen.given_up), std::pair("nodes lost", seen.lost),
        std::pair("looks at a promise", seen.strict), std::pair("nodes recalled in vain", seen.stayed),
        std::pair("jobs on nodes that go", seen.late)}) {
    EXPECT_GE(times, 100) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(TenThousand, Histories, ::testing::Range<std::uint64_t>(0, 8));

}  // namespace
}  // namespace underway::elastic
