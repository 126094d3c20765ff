#include "package/version.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace underway::package {
namespace {

/// Each is older than the next, and of each pair both directions are compared.
void expect_ascending(Format format, const std::vector<std::string>& versions) {
  for (std::size_t i = 0; i < versions.size(); ++i) {
    for (std::size_t j = 0; j < versions.size(); ++j) {
      const int order = compare_versions(format, versions[i], versions[j]);
      EXPECT_EQ(order < 0, i < j) << versions[i] << " and " << versions[j];
      EXPECT_EQ(order > 0, i > j) << versions[i] << " and " << versions[j];
    }
  }
}

TEST(DebVersion, IsOrderedAsPolicySays) {
  expect_ascending(Format::deb, {"~~",        "~~a",    "~",       "",      "1.0~beta1~svn1245",
                                 "1.0~beta1", "1.0",    "1.0-0.1", "1.0-1", "1.0-1+b1",
                                 "1.0-1.1",   "1.0-10", "1.0a",    "1.0+",  "1.0.1",
                                 "1.1",       "1.10",   "1:0",     "1:0.1", "10:0"});
  // Letters are older than all else but the end.
  expect_ascending(Format::deb, {"1", "1-1", "1a", "1z", "1+", "1.0"});
}

TEST(DebVersion, IsTheSameThoughWrittenOtherwise) {
  const std::vector<std::pair<std::string, std::string>> same = {{"1.0", "0:1.0"}, {"1.0", "1.00"},
                                                                 {"1.0", "1.0-0"}, {"1.0-0", "1.0-"},
                                                                 {"00:1", "1"},    {"1.2.3-4-5", "0:1.2.3-4-05"}};
  for (const auto& [a, b] : same) EXPECT_EQ(compare_versions(Format::deb, a, b), 0) << a << " and " << b;
}

TEST(DebVersion, HasItsRevisionBehindTheLastDash) {
  EXPECT_LT(compare_versions(Format::deb, "1-2-3", "1-10-1"), 0) << "1-2 is older than 1-10";
  EXPECT_GT(compare_versions(Format::deb, "1-2-3", "1-2-1"), 0);
}

TEST(DebVersion, HasNumbersOfAnyLength) {
  EXPECT_LT(compare_versions(Format::deb, "1.99999999999999999999999999", "1.100000000000000000000000000"), 0);
  EXPECT_LT(compare_versions(Format::deb, "99999999999999999999:1", "100000000000000000000:1"), 0);
  EXPECT_EQ(compare_versions(Format::deb, "1.0000000000000000000000000001", "1.1"), 0);
}

TEST(RpmVersion, IsOrderedAsRpmOrdersIt) {
  expect_ascending(Format::rpm, {"0:1.0~rc1-1", "0:1.0~rc1^git1-1", "0:1.0~rc2-1", "0:1.0", "0:1.0-1", "0:1.0-1.el9",
                                 "0:1.0-2", "0:1.0^-1", "0:1.0^git1-1", "0:1.0a-1", "0:1.0.a-1.1", "0:1.0.1-1",
                                 "0:1.1-1", "0:1.10-1", "1:0.1-1"});
  expect_ascending(Format::rpm, {"1.a", "1.b", "1.1"});
}

TEST(RpmVersion, IsTheSameWhateverSeparatesItsParts) {
  const std::vector<std::pair<std::string, std::string>> same = {
      {"1.0-1", "0:1.0-1"}, {"1.0-1", "1_0-1"}, {"1.0010", "1.10"}, {"2.0.", "2_0"}, {"1..0", "1.0"}, {":1", "0:1"}};
  for (const auto& [a, b] : same) EXPECT_EQ(compare_versions(Format::rpm, a, b), 0) << a << " and " << b;
}

TEST(Satisfies, EachComparison) {
  const auto row = [](std::string_view version) {
    std::string out;
    for (const auto comparison : {Comparison::any, Comparison::less, Comparison::less_equal, Comparison::equal,
                                  Comparison::greater_equal, Comparison::greater})
      out += satisfies(Format::deb, version, comparison, "1.1-1") ? 'y' : 'n';
    return out;
  };
  EXPECT_EQ(row("1.0"), "yyynnn");
  EXPECT_EQ(row("1.1-1"), "ynyyyn");
  EXPECT_EQ(row("1.1-01"), "ynyyyn");
  EXPECT_EQ(row("1.1-2"), "ynnnyy");
}

TEST(Satisfies, WithoutAReleaseWhereNoneIsAskedForOfAnRpm) {
  EXPECT_TRUE(satisfies(Format::rpm, "0:1.0-3.el9", Comparison::equal, "1.0"));
  EXPECT_TRUE(satisfies(Format::rpm, "0:1.0-3.el9", Comparison::less_equal, "0:1.0"));
  EXPECT_FALSE(satisfies(Format::rpm, "0:1.0-3.el9", Comparison::greater, "1.0"));
  EXPECT_FALSE(satisfies(Format::rpm, "0:1.0-3.el9", Comparison::equal, "1.0-2"));
  EXPECT_FALSE(satisfies(Format::deb, "1.0-3", Comparison::equal, "1.0")) << "of Debian no revision is revision 0";
}

TEST(Comparison, IsSpelledAsDebianSpellsIt) {
  EXPECT_EQ(to_string(Comparison::less), "<<");
  EXPECT_EQ(to_string(Comparison::any), "");
  EXPECT_EQ(to_string(Comparison::greater), ">>");
}

}  // namespace
}  // namespace underway::package
