#include "base/numbers.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace underway {
namespace {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<int>("0"), 0);
  EXPECT_EQ(parse_number<int>("-17"), -17);
  EXPECT_EQ(parse_number<int>("007"), 7);
  EXPECT_EQ(parse_number<std::uint8_t>("255"), 255);
  EXPECT_EQ(parse_number<int>("ff", 16), 255);
  EXPECT_EQ(parse_number<double>("1.5e3"), 1500.0);
  for (const char* bad : {"", "x", "0abc", "1 ", " 1", "+1", "--1", "1.5", "0x10", "2147483648"})
    EXPECT_FALSE(parse_number<int>(bad)) << bad;
  EXPECT_FALSE(parse_number<unsigned>("-1"));
  EXPECT_FALSE(parse_number<std::uint8_t>("256"));
}

TEST(ParseLeadingNumber, TellsWhatStandsBehindIt) {
  const auto number = parse_leading_number<std::int64_t>("12 kB");
  ASSERT_TRUE(number);
  EXPECT_EQ(number->value, 12);
  EXPECT_EQ(number->rest, " kB");
  EXPECT_EQ(parse_leading_number<int>("8")->rest, "");
  EXPECT_FALSE(parse_leading_number<int>("kB"));
  EXPECT_FALSE(parse_leading_number<std::uint8_t>("300 kB"));
  EXPECT_EQ(leading_number_or("7s", 20), 7);
  EXPECT_EQ(leading_number_or("soon", 20), 20);
}

}  // namespace
}  // namespace underway
