#include "base/enumerators.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/describe.hpp"

namespace underway {
namespace {

enum class Colour : std::uint8_t { red, light_blue, black };
enum class Single { only };

const describe::Enumeration& description(describe::Tag<Colour>) {
  static const auto e = describe::enumeration<Colour>("colour", {{Colour::light_blue, "azure"}});
  return e;
}

TEST(Enumerators, HaveTheirNames) {
  static_assert(kEnumerators<Colour> == 3 && kEnumerators<Single> == 1);
  static_assert(name_of(Colour::light_blue) == "light_blue");
  EXPECT_EQ(kNamesOf<Colour>, (std::array<std::string_view, 3>{"red", "light_blue", "black"}));
  EXPECT_EQ(dashed_names<Colour>()[1], "light-blue");
}

TEST(Enumerators, AreDescribedByTheirNamesUnlessTheyAreSpelledOtherwise) {
  const auto& colours = description(describe::Tag<Colour>{});
  EXPECT_EQ(colours.names(), (std::vector<std::string>{"red", "azure", "black"}));
  EXPECT_EQ(describe::spell(Colour::black), "black");
  EXPECT_EQ(colours.parse("azure"), 1);
  EXPECT_FALSE(colours.parse("light_blue"));
}

}  // namespace
}  // namespace underway
