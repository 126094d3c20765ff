#include "server/orders.hpp"

#include "server/dependencies.hpp"
#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::ClientStatus;
using model::DependencyScope;

TEST(WaitingFor, AJobThatNothingDependsOnStartsAtOnce) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  EXPECT_EQ(waiting_for(desk.tables, *desk.only("web")), std::nullopt);
}

TEST(WaitingFor, ADependencyIsMetWhenItIsHealthy) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(depending_on(make_job("slurmctld"), "munge"));
  EXPECT_EQ(waiting_for(desk.tables, *desk.only("slurmctld")), "'munge' to be healthy");
  desk.register_job(make_job("munge"));
  desk.update(uuid(1), {report(desk.only("munge")->id, ClientStatus::running)});
  EXPECT_EQ(waiting_for(desk.tables, *desk.only("slurmctld")), "'munge' to be healthy");
  desk.update(uuid(1), {report(desk.only("munge")->id, ClientStatus::running, true)});
  EXPECT_EQ(waiting_for(desk.tables, *desk.only("slurmctld")), std::nullopt);
}

TEST(WaitingFor, OnTheSameNodeMeansOnTheSameNode) {
  Desk desk;
  desk.join(make_node(1));
  desk.join(make_node(2));
  desk.register_job(make_job("munge", 1, model::JobType::system));
  desk.register_job(depending_on(make_job("slurmd", 1, model::JobType::system), "munge", DependencyScope::node));
  const auto on = [&](const std::string& job, int node) {
    for (const auto& row : desk.live(job)) {
      if (row->node_id == uuid(node)) return row;
    }
    throw Error(Code::internal, "not there");
  };
  desk.update(uuid(1), {report(on("munge", 1)->id, ClientStatus::running, true)});
  EXPECT_EQ(waiting_for(desk.tables, *on("slurmd", 1)), std::nullopt);
  EXPECT_EQ(waiting_for(desk.tables, *on("slurmd", 2)), "'munge' on this node");
}

TEST(WaitingFor, WhatHasStartedIsNeverHeldAgain) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("munge"));
  desk.register_job(depending_on(make_job("slurmctld"), "munge"));
  const auto munge = desk.only("munge")->id;
  desk.update(uuid(1), {report(munge, ClientStatus::running, true)});
  desk.update(uuid(1), {report(desk.only("slurmctld")->id, ClientStatus::running, true)});
  desk.update(uuid(1), {report(munge, ClientStatus::failed)});
  EXPECT_EQ(waiting_for(desk.tables, *desk.only("slurmctld")), std::nullopt);
}

TEST(WaitingFor, AReplacementWaitsUntilItsPredecessorHasEndedOnTheSameNode) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto old = desk.only("web")->id;
  desk.update(uuid(1), {report(old, ClientStatus::running, true)});
  model::Job changed = make_job("web");
  changed.groups[0].tasks[0].env["A"] = "b";
  desk.register_job(changed);
  EXPECT_EQ(waiting_for(desk.tables, *desk.only("web")), "allocation " + old.substr(0, 8) + " to stop");
  desk.update(uuid(1), {report(old, ClientStatus::complete)});
  EXPECT_EQ(waiting_for(desk.tables, *desk.only("web")), std::nullopt);
}

TEST(WaitingFor, AnAllocationThatANodeBroughtBackEndsBeforeItsNameIsUsedAgain) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto old = desk.only("web")->id;
  desk.down({uuid(1)});
  desk.join(make_node(1));  // as if it had lost everything
  const auto fresh = desk.only("web");
  ASSERT_NE(fresh->id, old);
  EXPECT_EQ(waiting_for(desk.tables, *fresh), std::nullopt);
  desk.update(uuid(1), {report(old, ClientStatus::running)});  // but it had not
  EXPECT_EQ(waiting_for(desk.tables, *fresh), "allocation " + old.substr(0, 8) + " to stop");
}

TEST(NodesWaitingFor, NamesThoseThatHoldPendingDependents) {
  Desk desk;
  desk.join(make_node(1));
  desk.join(make_node(2));
  desk.register_job(depending_on(make_job("slurmd", 1, model::JobType::system), "munge"));
  EXPECT_EQ(nodes_waiting_for(desk.tables, "default", "munge"), (std::vector<std::string>{uuid(1), uuid(2)}));
  for (const auto& row : desk.live("slurmd")) {
    if (row->node_id == uuid(1)) desk.update(uuid(1), {report(row->id, ClientStatus::running)});
  }
  EXPECT_EQ(nodes_waiting_for(desk.tables, "default", "munge"), (std::vector<std::string>{uuid(2)}));
  EXPECT_TRUE(nodes_waiting_for(desk.tables, "default", "web").empty());
}

TEST(Orders, BeginWithEverythingEvenIfThatIsNothing) {
  Desk desk;
  desk.join(make_node(1));
  Orders orders(uuid(1));
  const auto first = orders.next(desk.tables);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->full);
  EXPECT_TRUE(first->set.empty());
  EXPECT_FALSE(orders.next(desk.tables));
}

TEST(Orders, TellDifferencesAndEachJobVersionOnce) {
  Desk desk;
  desk.join(make_node(1));
  Orders orders(uuid(1));
  orders.next(desk.tables);
  desk.register_job(make_job("web", 2));
  const auto added = orders.next(desk.tables);
  ASSERT_TRUE(added);
  EXPECT_FALSE(added->full);
  EXPECT_EQ(added->set.size(), 2u);
  EXPECT_EQ(added->jobs.size(), 1u);
  EXPECT_TRUE(added->jobs.contains("default/web@0"));
  desk.register_job(make_job("web", 3));  // in place: the two are told of their new version
  const auto grown = orders.next(desk.tables);
  ASSERT_TRUE(grown);
  EXPECT_EQ(grown->set.size(), 3u);
  EXPECT_TRUE(grown->jobs.contains("default/web@1"));
  desk.join(make_node(1));
  EXPECT_FALSE(orders.next(desk.tables));
}

TEST(Orders, SayNothingOfWhatTheNodeItselfReported) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  Orders orders(uuid(1));
  orders.next(desk.tables);
  desk.update(uuid(1), {report(desk.only("web")->id, ClientStatus::running, true)});
  EXPECT_FALSE(orders.next(desk.tables));
}

TEST(Orders, HoldADependentAndReleaseItOnce) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("munge"));
  desk.register_job(depending_on(make_job("slurmctld"), "munge"));
  Orders orders(uuid(1));
  const auto first = orders.next(desk.tables);
  const auto waiting = desk.only("slurmctld")->id;
  const auto order_of = [&](const node::AllocationsMessage& message) {
    for (const auto& order : message.set) {
      if (order.allocation.id == waiting) return order;
    }
    throw Error(Code::internal, "no order");
  };
  EXPECT_FALSE(order_of(*first).start);
  EXPECT_EQ(order_of(*first).waiting_for, "'munge' to be healthy");
  const auto munge = desk.only("munge")->id;
  desk.update(uuid(1), {report(munge, ClientStatus::running, true)});
  EXPECT_TRUE(order_of(*orders.next(desk.tables)).start);
  // Told to start, it stays told, though it has not yet reported and its dependency is ill again.
  model::AllocationUpdate ill = report(munge, ClientStatus::running);
  ill.health.healthy = false;
  desk.update(uuid(1), {ill});
  EXPECT_FALSE(orders.next(desk.tables));
}

TEST(Orders, RemoveWhatTheServerHasForgotten) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  Orders orders(uuid(1));
  orders.next(desk.tables);
  std::vector<Change> changes;
  changes.push_back(tables::DeleteAllocation{id});
  desk.commit(std::move(changes));
  const auto message = orders.next(desk.tables);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->remove, std::vector<std::string>{id});
}

TEST(Orders, SendAJobThatWasPurgedAndCameBackAnew) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  Orders orders(uuid(1));
  orders.next(desk.tables);
  desk.run([](const Tables& t, const Context& c) { return decide_deregister(t, {"default", "web", true}, c); });
  model::Job other = make_job("web");
  other.groups[0].tasks[0].config = boost::json::object{{"command", "/bin/true"}};
  desk.register_job(other);
  ASSERT_EQ(desk.only("web")->job_version, 0);
  const auto message = orders.next(desk.tables);
  ASSERT_TRUE(message);
  ASSERT_TRUE(message->jobs.contains("default/web@0"));
  EXPECT_EQ(message->jobs.at("default/web@0").groups[0].tasks[0].config.at("command").as_string(), "/bin/true");
}

}  // namespace
}  // namespace underway::server::testing
