#include "impact/entries.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "server/testing/desk.hpp"

namespace underway::impact {
namespace {

using namespace std::chrono_literals;
using Desk = server::testing::Desk;

class Entries : public ::testing::Test {
 protected:
  void made(const char* when, Impact impact, std::string what = "apply cluster 'demo'") {
    std::vector<tables::Change> changes;
    ChangeEntry entry;
    entry.at = unix_nanos(*parse_time(when));
    entry.who = "anna";
    entry.what = std::move(what);
    entry.impact = impact;
    keep(desk.tables, changes, std::move(entry));
    desk.commit(std::move(changes));
  }
  std::vector<ChangeEntry> since(const char* when, std::size_t limit = 100) {
    return entries_since(desk.tables, *parse_time(when), limit);
  }

  Desk desk;
};

TEST_F(Entries, AreNumberedAndReadBackInTheirOrder) {
  made("2025-11-21T10:00:00Z", Impact::none);
  made("2026-01-02T10:00:00Z", Impact::drain, "drain node c1");
  made("2026-01-03T10:00:00Z", Impact::outage);
  const auto all = since("2025-01-01T00:00:00Z");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].number, 2);
  EXPECT_EQ(all[1].what, "drain node c1");
  EXPECT_EQ(all[1].impact, Impact::drain);
  EXPECT_GT(all[1].create_index, 0);
  EXPECT_EQ(since("2026-01-01T00:00:00Z").front().number, 2);
  const auto newest = since("2025-01-01T00:00:00Z", 1);
  ASSERT_EQ(newest.size(), 1u);
  EXPECT_EQ(newest[0].number, 3) << "the newest, where not all are asked for";
}

TEST_F(Entries, OfOneCommitEachHaveTheirNumber) {
  // As the writer does it: each of a group is applied before the next is decided, and all become durable together.
  for (int i = 0; i < 2; ++i) {
    std::vector<tables::Change> changes;
    keep(desk.tables, changes, {});
    desk.tables.apply(std::move(changes), 7);
  }
  const auto all = entries_since(desk.tables, {}, 10);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].number + 1, all[1].number);
  EXPECT_EQ(all[0].create_index, all[1].create_index);
}

TEST_F(Entries, SurviveTheServer) {
  made("2026-01-02T10:00:00Z", Impact::brief);
  tables::Tables again;
  again.load(desk.store);
  ASSERT_EQ(entries_since(again, {}, 10).size(), 1u);
  std::vector<tables::Change> changes;
  keep(again, changes, {});
  const auto& put = std::get<tables::PutSetting>(changes.front());
  EXPECT_EQ(put.value.as_int64(), 2) << "a number is not given out twice";
}

TEST_F(Entries, TheOldestGoWhenThereAreTooMany) {
  desk.commit({tables::PutSetting{"changes/last", kMostEntries - 1}});
  made("2026-01-02T10:00:00Z", Impact::none, "the last that fits");
  made("2026-01-02T10:00:00Z", Impact::none);
  EXPECT_EQ(since("2026-01-01T00:00:00Z").size(), 2u);
  desk.commit({tables::PutSetting{"changes/last", 2 * kMostEntries - 1}});
  made("2026-01-03T10:00:00Z", Impact::none, "one that takes its place");
  const auto left = since("2026-01-01T00:00:00Z");
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].number, kMostEntries + 1);
}

TEST_F(Entries, TextsAreCutAtWholeCharacters) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "ü";
  made("2026-01-02T10:00:00Z", Impact::none, text);
  const auto what = since("2026-01-01T00:00:00Z").front().what;
  EXPECT_LT(what.size(), 210u);
  EXPECT_TRUE(is_utf8(what));
}

TEST_F(Entries, AreCountedByClassAndMonth) {
  made("2025-11-30T23:59:59Z", Impact::none);
  made("2026-02-01T00:00:00Z", Impact::brief);
  made("2026-02-02T00:00:00Z", Impact::drain);
  made("2026-02-03T00:00:00Z", Impact::outage);
  const auto all = since("2025-01-01T00:00:00Z");
  EXPECT_EQ(tally_of(all), (Tally{1, 1, 1, 1}));
  EXPECT_EQ(sentence(tally_of(all)), "4 changes: 2 no-impact (1 brief), 1 drain, 1 outage");
  EXPECT_EQ(sentence(Tally{1, 0, 0, 0}), "1 change: 1 no-impact, 0 drain, 0 outage");
  const std::map<std::string, Tally> months{
      {"2025-11", {1, 0, 0, 0}}, {"2025-12", {}}, {"2026-01", {}}, {"2026-02", {0, 1, 1, 1}}};
  EXPECT_EQ(by_month(all), months);
  EXPECT_TRUE(by_month({}).empty());
}

TEST(JudgementOf, TakesTheWorstAndTellsOnlyThat) {
  const auto judgement = judgement_of({{Impact::none, "a file changes"}, {Impact::drain, "c1"}, {Impact::drain, "c2"}});
  EXPECT_EQ(judgement.impact, Impact::drain);
  EXPECT_EQ(sentence(judgement), "drain: c1; c2");
  const Finding x{Impact::brief, "x"};
  EXPECT_EQ(judgement_of({x, x, x, x, x}).why, "x; x; x; and 2 more");
}

}  // namespace
}  // namespace underway::impact
