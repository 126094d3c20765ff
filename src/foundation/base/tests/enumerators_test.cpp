#include "base/json/enumerators.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/json/describe.hpp"

namespace underway {
namespace {

enum class Paint : std::uint8_t { red, light_blue, black };
enum class Single { only };

const describe::Enumeration& description(describe::Tag<Paint>) {
  static const auto e = describe::enumeration<Paint>("colour", {{Paint::light_blue, "azure"}});
  return e;
}

TEST(Enumerators, HaveTheirNames) {
  static_assert(kEnumerators<Paint> == 3 && kEnumerators<Single> == 1);
  static_assert(name_of(Paint::light_blue) == "light_blue");
  EXPECT_EQ(kNamesOf<Paint>, (std::array<std::string_view, 3>{"red", "light_blue", "black"}));
  EXPECT_EQ(dashed_names<Paint>()[1], "light-blue");
}

TEST(Enumerators, AreDescribedByTheirNamesUnlessTheyAreSpelledOtherwise) {
  const auto& colours = description(describe::Tag<Paint>{});
  EXPECT_EQ(colours.names(), (std::vector<std::string>{"red", "azure", "black"}));
  EXPECT_EQ(describe::spell(Paint::black), "black");
  EXPECT_EQ(colours.parse("azure"), 1);
  EXPECT_FALSE(colours.parse("light_blue"));
}

}  // namespace
}  // namespace underway
