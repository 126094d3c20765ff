#include "http/detail/budget.hpp"

#include <gtest/gtest.h>

namespace underway::http::detail {
namespace {

TEST(Budget, NobodyTakesMoreThanIsThenLeftForOthers) {
  Budget budget(100);
  Budget::Share greedy(budget, "greedy");
  EXPECT_FALSE(greedy.hold(51));
  EXPECT_TRUE(greedy.hold(50));
  Budget::Share more(budget, "greedy");
  EXPECT_FALSE(more.hold(1)) << "in all its shares together";
  Budget::Share other(budget, "other");
  EXPECT_FALSE(other.hold(26));
  EXPECT_TRUE(other.hold(25));
  EXPECT_EQ(budget.held(), 75U);
  greedy.reset();
  EXPECT_EQ(budget.held(), 25U);
  EXPECT_TRUE(other.hold(50)) << "what is free again can be had";
}

TEST(Budget, AShareGivesBackWhatItHeldOnce) {
  Budget budget(10);
  {
    Budget::Share first(budget, "a");
    EXPECT_TRUE(first.hold(3));
    EXPECT_TRUE(first.hold(2)) << "it holds more already";
    Budget::Share second = std::move(first);
    EXPECT_EQ(budget.held(), 3U);
    second = Budget::Share(budget, "b");
    EXPECT_EQ(budget.held(), 0U);
    EXPECT_TRUE(second.hold(4));
  }
  EXPECT_EQ(budget.held(), 0U);
}

TEST(Budget, OneThatIsLeftGoesToWhoAsksFirst) {
  Budget budget(1);
  Budget::Share first(budget, "a"), second(budget, "b");
  EXPECT_TRUE(first.hold(1));
  EXPECT_FALSE(second.hold(1));
}

TEST(Budget, AShareOfNothingHoldsAnything) {
  Budget::Share share;
  EXPECT_TRUE(share.hold(1'000'000));
}

}  // namespace
}  // namespace underway::http::detail
