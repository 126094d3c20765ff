#include "package/relation.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "tests/fixture.hpp"

namespace underway::package {
namespace {

using testing::HasSubstr;

std::string shown(const Relations& relations) {
  std::vector<std::string> all;
  for (const auto& alternatives : relations) {
    std::vector<std::string> some;
    for (const auto& relation : alternatives) some.push_back(to_string(relation));
    all.push_back(join(some, " | "));
  }
  return join(all, ", ");
}

std::string refusal(std::string_view value) {
  try {
    return shown(parse_relations(value));
  } catch (const Error& error) {
    return error.reasons().front();
  }
}

TEST(Relation, HasAllItsParts) {
  const Relations read =
      parse_relations("python3:any (>= 3.11~) [amd64 !i386] <!nocheck cross> <x>,\n libc6 | libc6.1(<<2:1-1)");
  ASSERT_EQ(read.size(), 2U);
  ASSERT_EQ(read[1].size(), 2U);
  Relation python;
  python.name = "python3";
  python.architecture_qualifier = "any";
  python.comparison = Comparison::greater_equal;
  python.version = "3.11~";
  python.architectures = {"amd64", "!i386"};
  python.profiles = "<!nocheck cross> <x>";
  EXPECT_EQ(read[0], std::vector{python});
  EXPECT_EQ(shown(read), "python3:any (>= 3.11~) [amd64 !i386] <!nocheck cross> <x>, libc6 | libc6.1 (<< 2:1-1)");
}

TEST(Relation, IsReadHoweverItIsSpelled) {
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal(" ,a,, b ,"), "a, b") << "commas without anything between them mean nothing";
  EXPECT_EQ(refusal("a (< 1), b (> 1), c (<< 1), d (>> 1), e (= 1)"),
            "a (<= 1), b (>= 1), c (<< 1), d (>> 1), e (= 1)");
  EXPECT_EQ(refusal("a(>=1)|b"), "a (>= 1) | b");
}

TEST(Relation, IsRefusedWithTheColumn) {
  EXPECT_EQ(refusal("a b"), "column 3: ',' or '|' is missing before 'b'");
  EXPECT_EQ(refusal("a |"), "column 4: a package's name is missing");
  EXPECT_EQ(refusal("a (1)"), "column 4: one of '<<', '<=', '=', '>=' and '>>' is missing");
  EXPECT_EQ(refusal("a (>= )"), "column 7: a version is missing");
  EXPECT_EQ(refusal("a (>= 1"), "column 8: ')' is missing behind the version");
  EXPECT_EQ(refusal("a (>= ${binary:Version})"), "column 7: a version is missing");
  EXPECT_EQ(refusal("a:"), "column 3: an architecture is missing behind ':'");
  EXPECT_EQ(refusal("a [amd64"), "column 9: ']' is missing");
  EXPECT_EQ(refusal("a []"), "column 5: a word is missing before ']'");
  EXPECT_EQ(refusal("a <x"), "column 5: '>' is missing");
  EXPECT_THAT(refusal(std::string(257, 'a')), HasSubstr("a word of more than 256 bytes"));
}

TEST(Relations, OfADebAreInItsFields) {
  const PackageList list =
      list_of({{.name = "a",
                .version = "1",
                .more = "Depends: b (>= 1) | c,\n d\nPre-Depends: e\nConflicts: f\nBreaks: g (<< 2)\n"
                        "Replaces: h\nProvides: i (= 1)\nRecommends: j\nSuggests: k\nEnhances: l\n"}});
  const Package& package = list.packages().front();
  const std::vector<std::pair<RelationKind, std::string>> expected = {{RelationKind::depends, "b (>= 1) | c, d"},
                                                                      {RelationKind::pre_depends, "e"},
                                                                      {RelationKind::conflicts, "f"},
                                                                      {RelationKind::breaks, "g (<< 2)"},
                                                                      {RelationKind::replaces, "h"},
                                                                      {RelationKind::provides, "i (= 1)"},
                                                                      {RelationKind::recommends, "j"},
                                                                      {RelationKind::suggests, "k"},
                                                                      {RelationKind::enhances, "l"},
                                                                      {RelationKind::supplements, ""}};
  for (const auto& [kind, text] : expected) EXPECT_EQ(shown(relations(package, kind)), text);
  const PackageList bad = list_of({{.name = "a", .version = "1", .more = "Depends: b (\n"}});
  try {
    relations(bad.packages().front(), RelationKind::depends);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.text(), HasSubstr("reading Depends of a_1_amd64"));
  }
}

TEST(Relations, OfAnRpmAreInItsElement) {
  const PackageList list =
      rpm_list("a", "0:1-1", "x86_64",
               "<format><rpm:license>MIT</rpm:license>"
               "<rpm:provides><rpm:entry name=\"a\" flags=\"EQ\" epoch=\"0\" ver=\"1\" rel=\"1\"/>"
               "<rpm:entry name=\"pkgconfig(a&amp;b)\"/></rpm:provides>"
               "<rpm:requires><rpm:entry name=\"/bin/sh\" pre=\"1\"/><rpm:entry name=\"b\" flags=\"GE\" "
               "ver=\"2.0\"/><rpm:entry name=\"(c if d)\"/></rpm:requires>"
               "<rpm:obsoletes><rpm:entry name=\"o\" flags=\"LT\" epoch=\"1\" ver=\"3\"/></rpm:obsoletes>"
               "</format>");
  const Package& package = list.packages().front();
  EXPECT_EQ(shown(relations(package, RelationKind::provides)), "a (= 0:1-1), pkgconfig(a&b)");
  EXPECT_EQ(shown(relations(package, RelationKind::depends)), "/bin/sh, b (>= 2.0), (c if d)");
  EXPECT_EQ(shown(relations(package, RelationKind::pre_depends)), "/bin/sh");
  EXPECT_EQ(shown(relations(package, RelationKind::replaces)), "o (<< 1:3)");
  EXPECT_EQ(shown(relations(package, RelationKind::conflicts)), "");
  EXPECT_EQ(shown(relations(package, RelationKind::breaks)), "");
  const auto needs = relations(package, RelationKind::depends);
  EXPECT_TRUE(needs[2][0].is_rich);
  EXPECT_FALSE(needs[1][0].is_rich);
}

TEST(Relations, OfAnRpmAreRefusedThatAreNone) {
  const auto refused = [](std::string_view inner) -> std::string {
    const PackageList list = rpm_list("a", "0:1-1", "x86_64", inner);
    try {
      relations(list.packages().front(), RelationKind::depends);
    } catch (const Error& error) {
      return error.text();
    }
    return "read";
  };
  EXPECT_THAT(refused("<format><rpm:requires><rpm:entry name=\"b\" flags=\"NE\"/></rpm:requires></format>"),
              HasSubstr("flags 'NE' are none of"));
  EXPECT_THAT(refused("<rpm:requires>"), HasSubstr("mismatched tag"));
  EXPECT_THAT(refused("&lol;"), HasSubstr("undefined entity"));
}

TEST(Relations, OfAnRpmHaveNoEntitiesThatGrow) {
  const PackageList list = rpm_list("a", "0:1-1", "x86_64");
  Package package = list.packages().front();
  package.description = "<!DOCTYPE p [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><package>&b;</package>";
  EXPECT_THROW(relations(package, RelationKind::depends), Error);
}

}  // namespace
}  // namespace underway::package
