#include "server/guard.hpp"

#include <gtest/gtest.h>

#include "server/node/orders.hpp"
#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::ClientStatus;

/// About jobs whose meta says so; what it says stands in a setting, as a capability's record would.
class Keeper final : public Guard {
 public:
  bool concerns(const model::Allocation& allocation) const override {
    return allocation.job && allocation.job->meta.contains("kept");
  }
  std::optional<std::string> holds(const tables::Tables& tables, const model::Allocation& allocation) const override {
    const auto may = tables.setting("may-run");
    if (may && may->as_string() == allocation.node_id) return std::nullopt;
    return "the keeper";
  }
  std::optional<std::string> home(const tables::Tables& tables, const model::Job& job,
                                  const model::TaskGroup&) const override {
    const auto at = tables.setting("home");
    return job.meta.contains("kept") && at ? std::optional<std::string>(at->as_string()) : std::nullopt;
  }
};

class GuardTest : public ::testing::Test {
 protected:
  GuardTest() {
    desk.scheduling.home = [this](const auto& t, const auto& job, const auto& group) {
      return keeper.home(t, job, group);
    };
    for (int i = 1; i <= 3; ++i) desk.join(make_node(i));
  }
  void set(const std::string& key, int node) { desk.commit({tables::PutSetting{key, boost::json::value(uuid(node))}}); }
  static model::Job kept() {
    model::Job job = make_job("kept");
    job.meta["kept"] = "yes";
    return job;
  }
  void evaluate() { desk.run(EvaluateJob{"default", "kept"}); }
  Keeper keeper;
  Desk desk;
  Dependents dependents{&keeper};
};

TEST_F(GuardTest, HoldsAnAllocationUntilItMayRunAndMarksItsOrder) {
  set("home", 2);
  desk.register_job(kept());
  desk.register_job(make_job("other"));
  EXPECT_EQ(gate_of(desk.tables, dependents, *desk.only("other")), Gate());
  const auto row = desk.only("kept");
  Gate held;
  held.start = false;
  held.waiting_for = "the keeper";
  held.guarded = true;
  EXPECT_EQ(gate_of(desk.tables, dependents, *row), held);
  Orders orders(uuid(2));
  auto message = orders.next(desk.tables, dependents);
  ASSERT_TRUE(message);
  set("may-run", 2);
  message = orders.next(desk.tables, dependents);
  ASSERT_TRUE(message);
  ASSERT_EQ(message->set.size(), 1u);
  EXPECT_TRUE(message->set[0].start);
  EXPECT_TRUE(message->set[0].guarded);
  desk.run(DeregisterJob{"default", "kept", false});
  message = orders.next(desk.tables, dependents);
  ASSERT_TRUE(message);
  EXPECT_TRUE(message->set[0].guarded) << "its end is waited for";
}

TEST_F(GuardTest, PlacesNowhereButAtHome) {
  for (const int node : {3, 1, 2}) {
    set("home", node);
    desk.register_job(kept());
    const auto row = desk.only("kept");
    EXPECT_EQ(row->node_id, uuid(node));
    desk.run(DeregisterJob{"default", "kept", true});
  }
}

TEST_F(GuardTest, WhatFailsIsReplacedAtHomeAndWaitsForItWhileItIsAway) {
  set("home", 1);
  desk.register_job(kept());
  const auto first = desk.only("kept");
  desk.update(uuid(1), {report(first->id, ClientStatus::failed)});
  desk.clock.advance(std::chrono::hours(1));
  desk.schedule();
  EXPECT_EQ(desk.only("kept")->node_id, uuid(1));
  desk.down({uuid(1)});
  desk.clock.advance(std::chrono::hours(1));
  desk.schedule();
  EXPECT_TRUE(desk.live("kept").empty()) << "its overlay is on no other node";
  set("home", 3);
  evaluate();
  EXPECT_EQ(desk.only("kept")->node_id, uuid(3));
}

TEST_F(GuardTest, AMoveFollowsTheHome) {
  set("home", 1);
  desk.register_job(kept());
  model::Allocation row = *desk.only("kept");
  desk.update(uuid(1), {report(row.id, ClientStatus::running, true)});
  row = *desk.only("kept");
  set("home", 2);
  row.transition.migrate = true;
  desk.commit({tables::PutAllocation{row}});
  evaluate();
  EXPECT_EQ(desk.only("kept")->node_id, uuid(2));
  EXPECT_TRUE(desk.tables.find_allocation(row.id)->server_terminal());
}

}  // namespace
}  // namespace underway::server::testing
