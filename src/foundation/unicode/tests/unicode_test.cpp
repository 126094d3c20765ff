#include "unicode/unicode.hpp"

#include <gtest/gtest.h>

namespace underway::unicode {
namespace {

TEST(Unicode, ComposesWhatIsOneCharacter) {
  EXPECT_EQ(normalized("e\u0301"), "\u00e9");
  EXPECT_EQ(normalized("\u1100\u1161"), "\uac00");
  EXPECT_EQ(normalized("\u212b\u2126"), "\u00c5\u03a9");
  EXPECT_EQ(normalized("a\u0323\u0307"), normalized("a\u0307\u0323"));
  EXPECT_EQ(normalized("\xff"
                       "a"),
            "\xff"
            "a");
}

TEST(Unicode, CountsWhatPeopleCallCharacters) {
  EXPECT_EQ(count_clusters("abc"), 3u);
  EXPECT_EQ(count_clusters("\r\n"), 1u);
  EXPECT_EQ(count_clusters("k\u0301\u0323"), 1u);
  EXPECT_EQ(count_clusters("👩‍👩‍👧"), 1u);
  EXPECT_EQ(count_clusters("🇩🇪🇫🇷"), 2u);
  EXPECT_EQ(clusters("a\u0301b").front(), "a\u0301");
}

TEST(Unicode, MapsCasePointByPoint) {
  EXPECT_EQ(upper("straße ŉ ﬁ"), "STRAßE ŉ ﬁ");
  EXPECT_EQ(lower("ÄΣ"), "äσ");
  EXPECT_EQ(title("ǆungla o'neil 3rd été"), "ǅungla O'Neil 3rd Été");
  EXPECT_EQ(title("a_b c-d"), "A_b C-D");
}

TEST(Unicode, TrimsEveryWhiteSpace) {
  EXPECT_EQ(trim_space("\u2003\u00a0 x\t\u3000"), "x");
  EXPECT_EQ(trim_space("\u200bx"), "\u200bx");
  EXPECT_EQ(trim_space("\u00a0"), "");
}

}  // namespace
}  // namespace underway::unicode
