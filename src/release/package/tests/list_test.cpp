#include "package/list.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "crypto/digest.hpp"
#include "tests/fixture.hpp"

namespace underway::package {
namespace {

using testing::HasSubstr;

TEST(PackageList, IsInAnOrderOfItsOwn) {
  const PackageList list = list_of({{"b", "1"}, {"a", "1.10"}, {"a", "1.9"}, {"a", "1.9", "all"}, {"a", "1.0~rc"}});
  EXPECT_EQ(references(list), "a_1.0~rc_amd64 a_1.9_all a_1.9_amd64 a_1.10_amd64 b_1_amd64");
  EXPECT_EQ(list.size(), 5U);
  EXPECT_EQ(list.bytes(), 50U);
  EXPECT_TRUE(PackageList().empty());
  EXPECT_TRUE(read_list("").empty());
  EXPECT_TRUE(PackageList::of_packages_index(nullptr).empty());
}

TEST(PackageList, IsTheSameWhateverOrderItCameIn) {
  const PackageList a = list_of({{"a", "1"}, {"b", "1.0"}, {"b", "1.00"}});
  const PackageList b = list_of({{"b", "1.00"}, {"a", "1"}, {"b", "1.0"}, {"a", "1"}});
  EXPECT_EQ(references(a), references(b)) << "and what is there twice is there once";
  EXPECT_EQ(a.digest(), b.digest());
}

TEST(PackageList, HasADigestOfWhatItOffers) {
  const std::string text = text_of({"a", "1"});
  const std::string stanza = text.substr(0, text.size() - 1);
  const std::string line = fmt::format("a 1 amd64 {} {}\n", std::string(64, '0'), hex(crypto::sha256(stanza)));
  EXPECT_EQ(read_list(text).digest(), "sha256:" + hex(crypto::sha256(line)));
  EXPECT_EQ(PackageList().digest(), "sha256:" + hex(crypto::sha256("")));
  const std::string of_one = list_of({{"a", "1"}}).digest();
  EXPECT_EQ(list_of({{"a", "1"}}).digest(), of_one);
  EXPECT_EQ(read_list(stanza.substr(0, stanza.size() - 1)).digest(), of_one) << "though the last newline is missing";
  EXPECT_NE(list_of({{"a", "2"}}).digest(), of_one);
  EXPECT_NE(list_of({{"a", "1", "arm64"}}).digest(), of_one);
  EXPECT_NE(list_of({{.name = "a", .version = "1", .digest = '1'}}).digest(), of_one);
  EXPECT_NE(list_of({{.name = "a", .version = "1", .more = "Priority: required\n"}}).digest(), of_one);
}

TEST(PackageList, KeepsItsTextsAlive) {
  PackageList merged;
  {
    const PackageList lists[] = {list_of({{"a", "1"}, {"c", "1", "all"}}), list_of({{"b", "1"}, {"c", "1", "all"}})};
    merged = PackageList::merge(lists);
  }
  EXPECT_EQ(references(merged), "a_1_amd64 b_1_amd64 c_1_all") << "that for all architectures once";
  EXPECT_EQ(merged.texts().size(), 2U);
  const PackageList some = merged.filter([](const Package& package) { return package.name != "a"; });
  merged = PackageList();
  EXPECT_EQ(references(some), "b_1_amd64 c_1_all");
  for (const auto& package : some.packages()) EXPECT_THAT(package.description, HasSubstr("Package: " + package.name));
  const PackageList none = some.filter([](const Package&) { return false; });
  EXPECT_TRUE(none.texts().empty()) << "nothing is left to be kept alive";
}

TEST(PackageList, FindsAllOfAName) {
  const PackageList list = list_of({{"a", "1"}, {"b", "2"}, {"b", "1"}, {"b", "1", "all"}, {"ba", "1"}});
  EXPECT_EQ(list.named("b").size(), 3U);
  EXPECT_EQ(list.named("b").back().version, "2");
  EXPECT_EQ(list.named("ba").size(), 1U);
  EXPECT_TRUE(list.named("c").empty());
  EXPECT_TRUE(list.named("").empty());
}

TEST(PackageList, RefusesAnIndexForOneBadStanza) {
  try {
    read_list(text_of({"a", "1"}) + text_of({"b", "1", "amd64", "", "../b.deb"}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_THAT(error.text(), HasSubstr("'b' 1"));
    EXPECT_THAT(error.text(), HasSubstr("reading the stanza in line 8"));
  }
}

TEST(PackageList, TakesNoDescriptionThatNothingKeepsAlive) {
  const auto text = rpm_element("a", "");
  const PackageList list = rpm_list("a", "0:1-1", "x86_64");
  Package package = list.packages().front();
  package.description = *text;
  EXPECT_EQ(PackageList::of({package}, {text, nullptr, rpm_element("b", "")}).size(), 1U);
  try {
    PackageList::of({package}, {rpm_element("b", "")});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::internal);
  }
}

}  // namespace
}  // namespace underway::package
