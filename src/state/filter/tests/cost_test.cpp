#include "base/error.hpp"
#include "boat.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace underway::filter::testing {
namespace {

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string outcome(const std::string& text, const Boat& boat = argo()) {
  try {
    return Expression(text).matches(boat) ? "yes" : "no";
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(Cost, OfReadingIsBounded) {
  EXPECT_EQ(outcome(std::string(kLongest + 1, 'a')), "the filter expression is too long");
  for (const char* open : {"(", "not ", "any Ports as p { "}) {
    SCOPED_TRACE(open);
    EXPECT_NE(outcome(repeat(open, 800)).find("more than 64 levels"), std::string::npos);
  }
  EXPECT_NE(outcome(repeat("a==1 or ", 1500) + "a==1").find("more than 1000 comparisons"), std::string::npos);
  EXPECT_NE(outcome(repeat("Name matches `a` or ", 16) + "Name matches `a`").find("more than 16 patterns"),
            std::string::npos);
  // Great patterns are refused when they are compiled.
  EXPECT_NE(outcome("Name matches `((a{1,100}){1,100}){1,100}`").find("Failed to compile"), std::string::npos);
}

TEST(Cost, OfALongRowOfPartsIsThatOfItsParts) {
  EXPECT_EQ(outcome(repeat("Crew == 1 or ", 999) + "Crew == 50"), "yes");
  EXPECT_EQ(outcome(repeat("(", 60) + "Crew == 50" + repeat(")", 60)), "yes");
  EXPECT_EQ(outcome(repeat("not ", 60) + "Crew == 50"), "yes");
}

TEST(Cost, OfLoopsWithinLoopsEnds) {
  Boat boat = argo();
  boat.ports.assign(1000, "x");
  std::string text;
  for (int i = 0; i < 6; ++i) text += fmt::format("any Ports as p{} {{ ", i);
  text += "p0 == y" + repeat(" }", 6);
  EXPECT_EQ(outcome(text, boat), "the filter expression costs too much");
}

TEST(Cost, OfPatternsIsLinear) {
  // What makes backtracking matchers take until the end of the world.
  Boat boat;
  boat.name = std::string(30'000, 'a') + "!";
  EXPECT_EQ(outcome("Name matches `^(a+)+$`", boat), "no");
  EXPECT_EQ(outcome("Name matches `(a|aa)*(a|aa)*(a|aa)*b`", boat), "no");
}

TEST(Cost, OfAllRowsTogetherIsBounded) {
  Boat boat;
  boat.name = std::string(32 * 90'000, 'a');
  const Expression expression("Name == x");
  std::size_t asked = 0;
  EXPECT_THROW(
      {
        while (asked <= kStepsInAll) {
          (void)expression.matches(boat);
          ++asked;
        }
      },
      Error);
  EXPECT_EQ(asked, kStepsInAll / 90'002);
}

}  // namespace
}  // namespace underway::filter::testing
