#include "base/timing.hpp"

#include <gtest/gtest.h>

namespace underway {
namespace {

using std::chrono::seconds;

TEST(Timing, TellsHowTimesAreSpread) {
  Timing timing;
  EXPECT_EQ(timing.mean(), 0);
  EXPECT_EQ(timing.deviation(), 0);
  EXPECT_EQ(timing.quantile(0.5), 0);
  for (const int took : {2, 4, 4, 4, 5, 5, 7, 9}) timing.add(seconds(took));
  EXPECT_EQ(timing.count, 8);
  EXPECT_EQ(timing.sum, 40);
  EXPECT_EQ(timing.mean(), 5);
  EXPECT_EQ(timing.deviation(), 2);
  EXPECT_EQ(timing.least, 2);
  EXPECT_EQ(timing.most, 9);
  EXPECT_EQ(timing.quantile(0), 2);
  EXPECT_EQ(timing.quantile(0.5), 4);
  EXPECT_EQ(timing.quantile(0.9), 9);
  EXPECT_EQ(timing.quantile(1), 9);
}

TEST(Timing, HasTheQuantilesOfTheNewest) {
  Timing timing;
  for (int i = 0; i < 1000; ++i) timing.add(seconds(i < 500 ? 100 : 1));
  EXPECT_EQ(timing.quantile(0.99), 1) << "what was slow is long ago";
  EXPECT_EQ(timing.most, 100);
}

TEST(Timing, TakesAClockThatWasSetBackForNoTime) {
  Timing timing;
  timing.add(-seconds(1));
  EXPECT_EQ(timing.sum, 0);
  EXPECT_EQ(timing.count, 1);
}

}  // namespace
}  // namespace underway
