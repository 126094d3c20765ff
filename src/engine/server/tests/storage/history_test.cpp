#include "server/storage/history.hpp"

#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using Reached = std::map<std::string, model::Revision>;

protocol::OrderedAllocation ordered_in(const std::string& epoch, model::Revision revision = 1) {
  protocol::OrderedAllocation order;
  order.origin = {epoch, revision};
  return order;
}

class HistoryTest : public ::testing::Test {
 protected:
  void begin(const std::string& epoch) {
    desk.run([&](const Tables& tables, const Context& context) {
      Decision<Nothing> decision;
      begin_epoch(decision.changes, tables, epoch, context);
      return decision;
    });
  }
  Reached reached_of(const std::vector<std::string>& epochs) {
    std::vector<protocol::OrderedAllocation> ordered;
    for (const auto& epoch : epochs) ordered.push_back(ordered_in(epoch));
    return reached(history_of(desk.tables), ordered, desk.tables.revision());
  }
  Desk desk;
};

TEST_F(HistoryTest, AnEpochEndsWhereTheNextOneBegins) {
  begin("a");
  desk.join(make_node(1));
  const auto end = desk.tables.revision();
  begin("b");
  desk.join(make_node(2));
  EXPECT_EQ(reached_of({"a", "b", "c"}), (Reached{{"a", end}, {"b", desk.tables.revision()}}));
}

TEST_F(HistoryTest, AnEpochBeginsOnce) {
  begin("a");
  const auto before = desk.tables.revision();
  begin("a");
  EXPECT_EQ(desk.tables.revision(), before);
}

TEST_F(HistoryTest, OfVeryManyEpochsTheNewestAreKept) {
  for (int i = 0; i < 300; ++i) begin(std::to_string(i));
  EXPECT_EQ(history_of(desk.tables).size(), 256U);
  EXPECT_EQ(reached_of({"0", "299"}).size(), 1U);
}

TEST_F(HistoryTest, ARestorationFollowsBothAndGoesOnInItsOwnEpoch) {
  const History current = {{"a", 100}, {"b", 0}};
  // Saved by a later server of the same cluster, and by this one itself before.
  const auto merged = with_restored(current, {{"a", 90}, {"x", 150}, {"b", 0}}, 200);
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged.back().id, "b");
  EXPECT_EQ(reached(merged, {ordered_in("a"), ordered_in("b"), ordered_in("x")}, 201),
            (Reached{{"a", 100}, {"b", 201}, {"x", 150}}));
}

TEST_F(HistoryTest, OfALostServerARestorationFollowsWhatTheSnapshotHas) {
  const auto merged = with_restored({{"fresh", 0}}, {{"a", 90}, {"x", 0}}, 200);
  EXPECT_EQ(reached(merged, {ordered_in("x")}, 300), (Reached{{"x", 200}})) << "and nothing later";
}

}  // namespace
}  // namespace underway::server::testing
