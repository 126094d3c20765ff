#include "server/node/orphan_decisions.hpp"

#include <gmock/gmock.h>

#include "server/testing/desk.hpp"
#include "tables/orphans.hpp"

namespace underway::server::testing {
namespace {

using ::testing::HasSubstr;

/// A server that lost its state: a node comes that was told to run "web" by another one.
class OrphanDecisions : public ::testing::Test {
 protected:
  OrphanDecisions() {
    former.join(make_node(1));
    former.register_job(make_job("web"));
    const auto row = former.only("web");
    former.update(row->node_id, {report(row->id, model::ClientStatus::running, true)});
    auto& order = orders.orders.emplace_back();
    order.allocation = *former.only("web");
    orders.jobs.emplace(protocol::job_key(order.allocation), *order.allocation.job);
    request.node = make_node(1);
    request.secret = "secret";
    request.allocations = {report(row->id, model::ClientStatus::running, true)};
    request.ordered = {{{row->id, row->ns, row->job_id, row->job_version, row->group, row->name},
                        {"former", former.tables.revision()}}};
  }
  EnrolledNode enrol() { return desk.run(EnrolNode{request, "now"}); }
  std::int64_t keep() { return desk.run(KeepOrphans{{{request.node.id, orders}}}); }
  std::string refusal() {
    try {
      keep();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::conflict);
      return error.text();
    }
    return "nothing was refused";
  }
  std::optional<model::Orphans> noted() { return tables::find_record<model::Orphans>(desk.tables, request.node.id); }
  model::Eligibility eligibility() { return desk.tables.find_node(request.node.id)->eligibility; }

  Desk former, desk;
  protocol::RegisterRequest request;
  protocol::OrphanOrders orders;
};

TEST_F(OrphanDecisions, WhatAnotherServerOrderedIsNotedAndNothingNewComesToTheNode) {
  EXPECT_TRUE(enrol().epochs.empty()) << "this server's store was never there";
  ASSERT_TRUE(noted());
  EXPECT_EQ(noted()->node_name, "c1");
  ASSERT_EQ(noted()->allocations.size(), 1U);
  EXPECT_EQ(noted()->allocations[0].job_id, "web");
  EXPECT_EQ(eligibility(), model::Eligibility::ineligible);
  EXPECT_EQ(desk.tables.find_node(request.node.id)->events.back().message,
            "Runs 1 allocation that this server does not know");
  desk.register_job(make_job("other"));
  EXPECT_TRUE(desk.live("other").empty());
}

TEST_F(OrphanDecisions, ANodeWithoutThemAnyMoreIsEligibleAgainUnlessItWasNotBefore) {
  enrol();
  auto request_with = request;
  request.allocations.clear();
  request.ordered.clear();
  desk.register_job(make_job("waits"));
  enrol();
  EXPECT_FALSE(noted());
  EXPECT_EQ(eligibility(), model::Eligibility::eligible);
  EXPECT_EQ(desk.live("waits").size(), 1U) << "what waited for room hears of it";
  desk.run(SetEligibility{request.node.id, model::Eligibility::ineligible});
  std::swap(request, request_with);
  enrol();
  std::swap(request, request_with);
  enrol();
  EXPECT_EQ(eligibility(), model::Eligibility::ineligible) << "somebody else's wish";
}

TEST_F(OrphanDecisions, WhatThisServerOrderedAndForgotIsNoOrphan) {
  request.ordered[0].origin = {"now", 1};
  desk.run([&](const Tables& tables, const Context& context) {
    Decision<Nothing> decision;
    begin_epoch(decision.changes, tables, "now", context);
    return decision;
  });
  EXPECT_EQ(enrol().epochs.count("now"), 1U);
  EXPECT_FALSE(noted());
}

TEST_F(OrphanDecisions, ThoseOfARevisionThatARestoredStoreHasNotReachedAreOrphans) {
  desk.run([&](const Tables& tables, const Context& context) {
    Decision<Nothing> decision;
    begin_epoch(decision.changes, tables, "former", context);
    return decision;
  });
  request.ordered[0].origin.revision = 100;
  enrol();
  ASSERT_TRUE(noted());
  // Its own run is at a hundred some day; what was ordered in the former one is not its own for that.
  for (int i = 0; i < 110; ++i) desk.join(make_node(2));
  enrol();
  EXPECT_TRUE(noted());
}

TEST_F(OrphanDecisions, KeptOnesAreAllocationsOfAJobAgainAndGoOn) {
  enrol();
  EXPECT_EQ(keep(), 1);
  EXPECT_FALSE(noted());
  EXPECT_EQ(eligibility(), model::Eligibility::eligible);
  const auto row = desk.only("web");
  EXPECT_EQ(row->id, orders.orders[0].allocation.id);
  EXPECT_EQ(row->client_status, model::ClientStatus::running);
  ASSERT_TRUE(desk.tables.find_job("default", "web"));
  desk.update(row->node_id, {report(row->id, model::ClientStatus::failed)});
  desk.clock.advance(std::chrono::minutes(10));
  desk.schedule();
  EXPECT_EQ(desk.live("web").size(), 1U) << "and it is tended as any other";
}

TEST_F(OrphanDecisions, AJobThatHasGoneOnIsNotTurnedBack) {
  enrol();
  for (const char* command : {"/bin/a", "/bin/b"}) {
    auto job = make_job("web");
    job.groups[0].tasks[0].config.as_object()["command"] = command;
    desk.register_job(std::move(job));
  }
  orders.orders[0].allocation.job_version = 1;
  orders.jobs.begin()->second.version = 1;
  EXPECT_EQ(keep(), 1) << "a version that is known";
  EXPECT_EQ(desk.tables.find_job("default", "web")->version, 1);
}

TEST_F(OrphanDecisions, WhatIsKnownMeanwhileIsNotKeptTwice) {
  enrol();
  keep();
  EXPECT_THAT(refusal(), HasSubstr("is no orphan of node 'c1'"));
}

TEST_F(OrphanDecisions, ThoseOfAJobAreKeptTogether) {
  enrol();
  request.node = make_node(2);
  request.ordered[0].allocation.id = uuid(77);
  enrol();
  request.node = make_node(1);
  EXPECT_THAT(refusal(), HasSubstr("job 'web' has orphans on node 'c2', too"));
}

}  // namespace
}  // namespace underway::server::testing
