#include "model/node/device_attribute.hpp"

#include <gtest/gtest.h>

namespace underway::model {
namespace {

std::optional<int> compared(std::string_view a, std::string_view b) {
  return compare(parse_attribute(a), parse_attribute(b));
}

TEST(DeviceAttributes, AreReadAsNumbersWithUnitsTruthOrText) {
  EXPECT_EQ(parse_attribute("11441 MiB").integer, 11441);
  EXPECT_EQ(parse_attribute("11441MiB").unit, "MiB");
  EXPECT_EQ(parse_attribute("1.5 GHz").number, 1.5);
  EXPECT_EQ(parse_attribute("true").flag, true);
  EXPECT_EQ(parse_attribute("12 monkeys").text, "12 monkeys");
  EXPECT_EQ(parse_attribute("").text, "");
  EXPECT_EQ(parse_attribute("inf").text, "inf");
  EXPECT_EQ(parse_attribute("-3 W").integer, -3);
  for (const char* text : {"11441 MiB", "1.5 GHz", "true", "volta", "7"})
    EXPECT_EQ(to_text(parse_attribute(text)), text);
}

TEST(DeviceAttributes, AreComparedAcrossUnitsOfOneQuantity) {
  EXPECT_EQ(compared("11441 MiB", "11 GB"), 1);
  EXPECT_EQ(compared("1 GiB", "1024 MiB"), 0);
  EXPECT_EQ(compared("1 GB", "1 GiB"), -1);
  EXPECT_EQ(compared("1500 MHz", "1.5 GHz"), 0);
  EXPECT_EQ(compared("250 W", "0.2 kW"), 1);
  EXPECT_EQ(compared("15760 MB/s", "16 GB/s"), -1);
  EXPECT_EQ(compared("9007199254740993", "9007199254740992"), 1) << "exact without units";
  EXPECT_EQ(compared("volta", "turing"), 1);
  EXPECT_EQ(compared("true", "true"), 0);
}

TEST(DeviceAttributes, OfDifferentKindsCannotBeCompared) {
  EXPECT_EQ(compared("1 GiB", "1 GHz"), std::nullopt);
  EXPECT_EQ(compared("1 GiB", "1"), std::nullopt);
  EXPECT_EQ(compared("1", "one"), std::nullopt);
  EXPECT_EQ(compared("1 GiB", "1 GiB/s"), std::nullopt);
}

}  // namespace
}  // namespace underway::model
