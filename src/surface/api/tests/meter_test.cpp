#include "api/meter.hpp"

#include <gtest/gtest.h>

namespace underway::api {
namespace {

using std::chrono::seconds;

TEST(Meter, TellsHowTimesAreSpread) {
  Meter meter;
  EXPECT_EQ(meter.times().mean(), 0);
  EXPECT_EQ(meter.times().deviation(), 0);
  for (const int took : {2, 4, 4, 4, 5, 5, 7, 9}) meter.time(seconds(took));
  EXPECT_EQ(meter.times().count, 8);
  EXPECT_EQ(meter.times().sum, 40);
  EXPECT_EQ(meter.times().mean(), 5);
  EXPECT_EQ(meter.times().deviation(), 2);
  EXPECT_EQ(meter.times().least, 2);
  EXPECT_EQ(meter.times().most, 9);
}

TEST(Meter, TakesAClockThatWasSetBackForNoTime) {
  Meter meter;
  meter.time(-seconds(1));
  EXPECT_EQ(meter.times().sum, 0);
  EXPECT_EQ(meter.times().count, 1);
}

}  // namespace
}  // namespace underway::api
