#include "package/difference.hpp"

#include <gmock/gmock.h>

#include "tests/fixture.hpp"

namespace underway::package {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// "upgraded a amd64 1 2", with "…" behind it where older ones are kept.
std::vector<std::string> changes(const PackageList& from, const PackageList& to) {
  std::vector<std::string> out;
  for (const auto& change : diff(from, to).changes)
    out.push_back(fmt::format("{} {} {} {} {}{}", to_string(change.kind), change.either().name,
                              change.either().architecture, change.before != nullptr ? change.before->version : "-",
                              change.after != nullptr ? change.after->version : "-", change.keeps_older ? " …" : ""));
  return out;
}

TEST(Difference, IsEmptyBetweenListsThatAreTheSame) {
  const PackageList list = list_of({{"a", "1"}, {"a", "1", "all"}, {"b", "1"}});
  EXPECT_THAT(changes(list, list), IsEmpty());
  EXPECT_THAT(changes(list, list_of({{"b", "1"}, {"a", "1", "all"}, {"a", "1"}})), IsEmpty()) << "of another text";
  EXPECT_THAT(changes(PackageList(), PackageList()), IsEmpty());
  EXPECT_TRUE(diff(list, list).empty());
}

TEST(Difference, TellsEachKindInOrder) {
  const PackageList from = list_of({{"up", "1.9"},
                                    {"down", "1:1"},
                                    {"gone", "1"},
                                    {.name = "built", .version = "1", .file = "built.deb"},
                                    {.name = "moved", .version = "1", .file = "main/moved.deb"},
                                    {"same", "1"},
                                    {"told", "1", "amd64", "Priority: optional\n"}});
  const PackageList to = list_of({{"up", "1.10"},
                                  {"down", "2"},
                                  {"new", "1"},
                                  {.name = "built", .version = "1", .file = "built.deb", .digest = '1'},
                                  {.name = "moved", .version = "1", .file = "contrib/moved.deb"},
                                  {"same", "1"},
                                  {"told", "1", "amd64", "Priority: required\n"}});
  EXPECT_THAT(changes(from, to), ElementsAre("rebuilt built amd64 1 1", "downgraded down amd64 1:1 2",
                                             "removed gone amd64 1 -", "moved moved amd64 1 1", "added new amd64 - 1",
                                             "described told amd64 1 1", "upgraded up amd64 1.9 1.10"));
  EXPECT_THAT(changes(to, from), ElementsAre("rebuilt built amd64 1 1", "upgraded down amd64 2 1:1",
                                             "added gone amd64 - 1", "moved moved amd64 1 1", "removed new amd64 1 -",
                                             "described told amd64 1 1", "downgraded up amd64 1.10 1.9"));
  EXPECT_THAT(diff(from, to).counts(),
              ElementsAre(Pair(ChangeKind::added, 1), Pair(ChangeKind::removed, 1), Pair(ChangeKind::upgraded, 1),
                          Pair(ChangeKind::downgraded, 1), Pair(ChangeKind::rebuilt, 1), Pair(ChangeKind::moved, 1),
                          Pair(ChangeKind::described, 1)));
}

TEST(Difference, IsOfEachArchitecture) {
  const PackageList from = list_of({{"a", "1", "amd64"}, {"a", "1", "arm64"}, {"b", "1", "all"}});
  const PackageList to = list_of({{"a", "2", "amd64"}, {"a", "1", "arm64"}, {"b", "1", "amd64"}});
  const Difference difference = diff(from, to);
  EXPECT_THAT(changes(from, to), ElementsAre("upgraded a amd64 1 2", "removed b all 1 -", "added b amd64 - 1"));
  const auto counts = difference.counts_by_architecture();
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_THAT(counts.at("all"), ElementsAre(Pair(ChangeKind::removed, 1)));
  EXPECT_THAT(counts.at("amd64"), ElementsAre(Pair(ChangeKind::added, 1), Pair(ChangeKind::upgraded, 1)));
}

TEST(Difference, ComparesTheNewestWhereThereAreSeveral) {
  const auto versions = [](std::vector<std::string> some) {
    std::vector<Sample> out;
    for (auto& version : some) out.push_back({"a", version});
    return list_of(out);
  };
  EXPECT_THAT(changes(versions({"1", "2"}), versions({"1", "2", "3"})), ElementsAre("upgraded a amd64 2 3 …"));
  EXPECT_THAT(changes(versions({"1", "2"}), versions({"2", "3"})),
              ElementsAre("removed a amd64 1 -", "upgraded a amd64 2 3 …"));
  EXPECT_THAT(changes(versions({"1", "2"}), versions({"3", "4"})),
              ElementsAre("removed a amd64 1 -", "added a amd64 - 3", "upgraded a amd64 2 4"));
  EXPECT_THAT(changes(versions({"1", "2"}), versions({"1"})), ElementsAre("downgraded a amd64 2 1 …"));
  EXPECT_THAT(changes(versions({"1", "3"}), versions({"1", "2"})), ElementsAre("downgraded a amd64 3 2"));
  EXPECT_THAT(changes(versions({"1", "3"}), versions({"1", "2", "3"})), ElementsAre("added a amd64 - 2"));
  EXPECT_THAT(changes(versions({"1", "2", "3"}), versions({"3"})),
              ElementsAre("removed a amd64 1 -", "removed a amd64 2 -"));
  EXPECT_THAT(changes(versions({"1.0"}), versions({"1.00"})), ElementsAre("moved a amd64 1.0 1.00"))
      << "the same, written otherwise";
}

TEST(Difference, KeepsWhatItTellsOfAlive) {
  const Difference difference = diff(list_of({{"a", "1"}}), list_of({{"a", "2"}}));
  ASSERT_EQ(difference.changes.size(), 1U);
  EXPECT_EQ(difference.changes[0].before->reference(), "a_1_amd64");
  EXPECT_THAT(difference.changes[0].after->description, testing::HasSubstr("Version: 2"));
}

}  // namespace
}  // namespace underway::package
