#include "server/job/dependencies.hpp"

#include "server/node/node_decisions.hpp"
#include "server/node/orders.hpp"
#include "server/storage/operator_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::ClientStatus;
using model::DependencyScope;
using model::OnFailure;

std::optional<std::string> waits(const Desk& desk, const model::Allocation& allocation) {
  Dependents dependents;
  const Gate gate = gate_of(desk.tables, dependents, allocation);
  return gate.start ? std::nullopt : std::optional(gate.waiting_for);
}

TEST(Gate, AJobThatNothingDependsOnStartsAtOnce) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  EXPECT_EQ(waits(desk, *desk.only("web")), std::nullopt);
}

TEST(Gate, ADependencyIsMetWhenItIsHealthy) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(depending_on(make_job("slurmctld"), "munge"));
  EXPECT_EQ(waits(desk, *desk.only("slurmctld")), "'munge', which is not registered");
  desk.register_job(make_job("munge"));
  EXPECT_EQ(waits(desk, *desk.only("slurmctld")), "'munge' to be healthy");
  desk.update(uuid(1), {report(desk.only("munge")->id, ClientStatus::running)});
  EXPECT_EQ(waits(desk, *desk.only("slurmctld")), "'munge' to be healthy");
  desk.update(uuid(1), {report(desk.only("munge")->id, ClientStatus::running, true)});
  EXPECT_EQ(waits(desk, *desk.only("slurmctld")), std::nullopt);
}

TEST(Gate, OnTheSameNodeMeansOnTheSameNode) {
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
  EXPECT_EQ(waits(desk, *on("slurmd", 1)), std::nullopt);
  EXPECT_EQ(waits(desk, *on("slurmd", 2)), "'munge' on this node");
}

TEST(Gate, ADependencyThatFailsLaterHoldsStopsOrIsIgnored) {
  struct Case {
    OnFailure on_failure;
    Gate running, successor;
  };
  const std::string why = "'munge' to be healthy";
  const Case cases[] = {{OnFailure::hold, {false, false, true, why}, {false, false, true, why}},
                        {OnFailure::stop, {false, true, true, why}, {false, false, true, why}},
                        {OnFailure::ignore, {}, {}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(describe::spell(c.on_failure));
    Desk desk;
    Dependents dependents;
    desk.join(make_node(1));
    desk.register_job(make_job("munge"));
    auto job = depending_on(make_job("slurmctld"), "munge");
    job.depends_on[0].on_failure = c.on_failure;
    desk.register_job(job);
    EXPECT_FALSE(gate_of(desk.tables, dependents, *desk.only("slurmctld")).start) << "the first start always waits";
    const auto munge = desk.only("munge")->id;
    desk.update(uuid(1), {report(munge, ClientStatus::running, true)});
    desk.update(uuid(1), {report(desk.only("slurmctld")->id, ClientStatus::running, true)});
    EXPECT_EQ(gate_of(desk.tables, dependents, *desk.only("slurmctld")), Gate());
    desk.update(uuid(1), {report(munge, ClientStatus::failed)});
    const auto row = desk.only("slurmctld");
    EXPECT_EQ(gate_of(desk.tables, dependents, *row), c.running);
    model::Allocation successor = *row;
    successor.previous_allocation = row->id;
    successor.id = uuid(99);
    successor.name = "slurmctld.g[1]";
    successor.client_status = ClientStatus::pending;
    successor.task_states.clear();
    EXPECT_EQ(gate_of(desk.tables, dependents, successor), c.successor);
  }
}

TEST(Gate, ADependencyThatIsRemovedIsNamed) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("munge"));
  desk.register_job(depending_on(make_job("slurmctld"), "munge"));
  desk.run(DeregisterJob{"default", "munge", false});
  EXPECT_EQ(waits(desk, *desk.only("slurmctld")), "'munge', which is stopped");
  desk.run(DeregisterJob{"default", "munge", true});
  EXPECT_EQ(waits(desk, *desk.only("slurmctld")), "'munge', which is not registered");
}

TEST(Gate, WhatIsStoppedTogetherStopsInReverseOrder) {
  Desk desk;
  Dependents dependents;
  desk.join(make_node(1));
  desk.join(make_node(2));
  desk.register_job(make_job("munge", 1, model::JobType::system));
  desk.register_job(depending_on(make_job("slurmd", 1, model::JobType::system), "munge", DependencyScope::node));
  for (const char* job : {"munge", "slurmd"}) {
    for (const auto& row : desk.live(job)) desk.update(row->node_id, {report(row->id, ClientStatus::running, true)});
  }
  const auto munge = desk.live("munge");
  const auto slurmd = desk.live("slurmd");
  const auto stop = [&](const char* job) { desk.run(DeregisterJob{"default", job, false}); };
  const auto gate = [&](const tables::Row<model::Allocation>& row) {
    return gate_of(desk.tables, dependents, *desk.tables.find_allocation(row->id));
  };
  stop("munge");
  EXPECT_TRUE(gate(munge[0]).stop) << "nobody else is to stop";
  stop("slurmd");
  EXPECT_EQ(gate(munge[0]), (Gate{true, false, false, "'slurmd' to stop first"}));
  EXPECT_TRUE(gate(slurmd[0]).stop);

  const auto on_first = [&](const auto& rows) { return rows[0]->node_id == uuid(1) ? rows[0] : rows[1]; };
  desk.update(uuid(1), {report(on_first(slurmd)->id, ClientStatus::complete)});
  EXPECT_TRUE(gate(on_first(munge)).stop);
  desk.down({uuid(2)});
  for (const auto& row : munge) EXPECT_TRUE(gate(row).stop) << "a node that is gone holds up nobody";
}

TEST(Gate, AReplacementWaitsUntilItsPredecessorHasEndedOnTheSameNode) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto old = desk.only("web")->id;
  desk.update(uuid(1), {report(old, ClientStatus::running, true)});
  model::Job changed = make_job("web");
  changed.groups[0].tasks[0].env["A"] = "b";
  desk.register_job(changed);
  EXPECT_EQ(waits(desk, *desk.only("web")), "allocation " + old.substr(0, 8) + " to stop");
  desk.update(uuid(1), {report(old, ClientStatus::complete)});
  EXPECT_EQ(waits(desk, *desk.only("web")), std::nullopt);
}

TEST(Gate, WhatPushedAnotherAsideWaitsUntilThatHasEnded) {
  Desk desk;
  desk.join(make_node(1));
  model::SchedulerConfiguration configuration;
  configuration.preemption.service = true;
  desk.run(PutSchedulerConfiguration{configuration, {}});
  const auto sized = [](const std::string& id, std::int64_t priority) {
    model::Job job = make_job(id);
    job.priority = priority;
    job.groups[0].tasks[0].resources.cpu = 3500;  // of 4000
    return job;
  };
  desk.register_job(sized("low", 30));
  const auto low = desk.only("low")->id;
  desk.update(uuid(1), {report(low, ClientStatus::running, true)});
  desk.register_job(sized("high", 80));
  EXPECT_EQ(desk.tables.find_allocation(low)->desired_status, model::DesiredStatus::evict);
  EXPECT_EQ(waits(desk, *desk.only("high")), "allocation " + low.substr(0, 8) + " to stop");
  desk.update(uuid(1), {report(low, ClientStatus::complete)});
  EXPECT_EQ(waits(desk, *desk.only("high")), std::nullopt);
}

TEST(Gate, APortIsNotUsedBeforeWhoHadItHasStopped) {
  Desk desk;
  desk.join(make_node(1));
  const auto listening = [](const std::string& id) {
    model::Job job = make_job(id);
    job.groups[0].networks.resize(1);
    job.groups[0].networks[0].reserved_ports.push_back({.label = "http", .value = 8080});
    return job;
  };
  desk.register_job(listening("old"));
  const auto old = desk.only("old")->id;
  desk.update(uuid(1), {report(old, ClientStatus::running, true)});
  desk.run(DeregisterJob{"default", "old", false});
  desk.register_job(listening("new"));
  desk.register_job(make_job("other"));
  EXPECT_EQ(waits(desk, *desk.only("new")), "allocation " + old.substr(0, 8) + " to stop");
  EXPECT_EQ(waits(desk, *desk.only("other")), std::nullopt);
  desk.update(uuid(1), {report(old, ClientStatus::complete)});
  EXPECT_EQ(waits(desk, *desk.only("new")), std::nullopt);
}

TEST(Gate, NobodyIsPushedAsideOnWhomAnotherDepends) {
  Desk desk;
  desk.join(make_node(1));
  model::SchedulerConfiguration configuration;
  configuration.preemption.service = true;
  desk.run(PutSchedulerConfiguration{configuration, {}});
  const auto sized = [](const std::string& id, std::int64_t priority, std::int64_t cpu) {
    model::Job job = make_job(id);
    job.priority = priority;
    job.groups[0].tasks[0].resources.cpu = cpu;
    return job;
  };
  desk.register_job(sized("munge", 30, 3500));
  desk.register_job(depending_on(sized("slurmctld", 75, 100), "munge"));
  desk.register_job(sized("high", 80, 3500));
  EXPECT_TRUE(desk.tables.allocations_of_job("default", "high").empty());
  EXPECT_FALSE(desk.only("munge")->terminal());
}

TEST(Gate, AnAllocationThatANodeBroughtBackEndsBeforeItsNameIsUsedAgain) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto old = desk.only("web")->id;
  desk.down({uuid(1)});
  desk.join(make_node(1));  // as if it had lost everything
  const auto fresh = desk.only("web");
  ASSERT_NE(fresh->id, old);
  EXPECT_EQ(waits(desk, *fresh), std::nullopt);
  desk.update(uuid(1), {report(old, ClientStatus::running)});  // but it had not
  EXPECT_EQ(waits(desk, *fresh), "allocation " + old.substr(0, 8) + " to stop");
}

/// The nodes that are told of the change.
std::set<std::string> told(Desk& desk, Dependents& dependents, const Dependents::Event& event) {
  std::set<std::string> nodes;
  dependents.collect(desk.tables, event, nodes);
  return nodes;
}

TEST(Gate, WhatNeverRanIsNotBegunWhileItsDependentsStop) {
  Desk desk;
  desk.join(make_node(1));
  desk.join(make_node(2));
  desk.register_job(make_job("munge"));
  desk.register_job(depending_on(make_job("slurmctld"), "munge"));
  const std::string munge = desk.only("munge")->id;
  desk.run(DeregisterJob{"default", "munge", false});
  desk.run(DeregisterJob{"default", "slurmctld", false});
  Dependents dependents;
  const Gate gate = gate_of(desk.tables, dependents, *desk.tables.find_allocation(munge));
  EXPECT_FALSE(gate.stop);
  EXPECT_FALSE(gate.start);
}

TEST(Gate, WhatWasReplacedWhileItsNodeWasSilentIsNotBegunAnewUntilItIsChosen) {
  Desk desk;
  desk.join(make_node(1));
  model::Job job = make_job("web");
  job.groups[0].disconnect = model::DisconnectStrategy{
      .lost_after = std::chrono::hours(1), .replace = true, .reconcile = model::Reconcile::keep_original};
  desk.register_job(job);
  const std::string original = desk.only("web")->id;
  desk.update(uuid(1), {report(original, ClientStatus::running, true)});
  desk.join(make_node(2));
  desk.down({uuid(1)});
  ASSERT_EQ(desk.live("web").size(), 2U);
  // The machine was started anew and knows nothing.
  desk.join(make_node(1));
  EXPECT_EQ(waits(desk, *desk.tables.find_allocation(original)), "one of those of its name to be chosen");
  desk.update(uuid(1), {report(original, ClientStatus::pending)});
  ASSERT_EQ(desk.only("web")->id, original);
  EXPECT_EQ(waits(desk, *desk.only("web")), std::nullopt) << "the other one is on another node";
}

/// As of machines with addresses and a disk.
model::Job once(const std::string& name) {
  model::Job job = make_job(name);
  job.groups[0].disconnect =
      model::DisconnectStrategy{.lost_after = Duration::max(), .stop_on_client_after = {}, .replace = false};
  return job;
}

TEST(Gate, WhatRunsOnceIsNotBegunWhileAnotherOfItsNameMayRunSomewhere) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(once("vm"));
  const std::string original = desk.only("vm")->id;
  desk.update(uuid(1), {report(original, ClientStatus::running, true)});
  desk.join(make_node(2));
  desk.run(SetEligibility{uuid(1), model::Eligibility::ineligible});
  desk.down({uuid(1)});
  EXPECT_EQ(desk.only("vm")->id, original) << "nothing stands in for it";
  EXPECT_EQ(desk.tables.find_node(uuid(1))->status, model::NodeStatus::disconnected);

  desk.run(StopAllocation{original});
  ASSERT_NE(desk.only("vm")->id, original);
  const auto next = [&] { return *desk.only("vm"); };
  EXPECT_EQ(next().node_id, uuid(2));
  const auto stop =
      fmt::format("allocation {} to stop on node {}", original.substr(0, 8), desk.tables.find_node(uuid(1))->name);
  EXPECT_EQ(waits(desk, next()), stop + ", which is not heard of: if it is off, say so with `underway node purge " +
                                     desk.tables.find_node(uuid(1))->name + "`");
  Dependents dependents;
  EXPECT_TRUE(gate_of(desk.tables, dependents, next()).guarded) << "nor after a boot, before its node has asked";
  desk.run(GiveNodesUp{{uuid(1)}});
  EXPECT_EQ(desk.tables.find_node(uuid(1))->status, model::NodeStatus::disconnected) << "as long as it may run there";
  EXPECT_EQ(desk.tables.find_allocation(original)->client_status, ClientStatus::unknown);

  // It comes back, and its agent ends what is not wanted any more.
  desk.join(make_node(1));
  desk.update(uuid(1), {report(original, ClientStatus::running, true)});
  EXPECT_EQ(waits(desk, next()), stop);
  desk.update(uuid(1), {report(original, ClientStatus::complete)});
  EXPECT_EQ(waits(desk, next()), std::nullopt);

  // Or somebody looks, and says that it is off.
  desk.update(uuid(2), {report(next().id, ClientStatus::running, true)});
  desk.run(SetEligibility{uuid(1), model::Eligibility::eligible});
  desk.down({uuid(2)});
  desk.run(StopAllocation{next().id});
  ASSERT_EQ(next().node_id, uuid(1));
  EXPECT_NE(waits(desk, next()), std::nullopt);
  desk.run(PurgeNode{uuid(2)});
  EXPECT_EQ(waits(desk, next()), std::nullopt);
}

TEST(Dependents, OfANodesServiceOnlyThatNodeIsTold) {
  Desk desk;
  Dependents dependents;
  for (int n = 1; n <= 3; ++n) desk.join(make_node(n));
  desk.register_job(make_job("munge", 1, model::JobType::system));
  desk.register_job(depending_on(make_job("slurmd", 1, model::JobType::system), "munge", DependencyScope::node));
  EXPECT_EQ(told(desk, dependents, {"default", "munge", uuid(2)}), std::set<std::string>{uuid(2)});
  EXPECT_TRUE(told(desk, dependents, {"default", "slurmd", uuid(2)}).empty());
  EXPECT_TRUE(told(desk, dependents, {"default", "web", uuid(2)}).empty());
}

TEST(Dependents, OfAServiceAnywhereEverybodyIsToldWhenItTurns) {
  Desk desk;
  Dependents dependents;
  for (int n = 1; n <= 3; ++n) desk.join(make_node(n));
  desk.register_job(make_job("slurmctld", 2));
  desk.register_job(depending_on(make_job("slurmd", 1, model::JobType::system), "slurmctld"));
  const std::set<std::string> all = {uuid(1), uuid(2), uuid(3)};
  const auto rows = desk.live("slurmctld");
  const auto event = [&](int i) { return Dependents::Event{"default", "slurmctld", rows[size_t(i)]->node_id}; };
  EXPECT_EQ(told(desk, dependents, event(0)), all) << "nobody asked before";
  EXPECT_TRUE(told(desk, dependents, event(0)).empty());
  desk.update(rows[0]->node_id, {report(rows[0]->id, ClientStatus::running, true)});
  EXPECT_EQ(told(desk, dependents, event(0)), all);
  desk.update(rows[1]->node_id, {report(rows[1]->id, ClientStatus::running, true)});
  EXPECT_TRUE(told(desk, dependents, event(1)).empty()) << "it worked already";
}

TEST(Dependents, TheEndOfOneReleasesWhatItDependedOn) {
  Desk desk;
  Dependents dependents;
  desk.join(make_node(1));
  desk.register_job(make_job("munge"));
  desk.register_job(depending_on(make_job("slurmctld"), "munge"));
  desk.update(uuid(1), {report(desk.only("munge")->id, ClientStatus::running, true)});
  EXPECT_TRUE(told(desk, dependents, {"default", "slurmctld", uuid(7), true}).empty()) << "munge is not to stop";
  desk.run(DeregisterJob{"default", "munge", false});
  EXPECT_EQ(told(desk, dependents, {"default", "slurmctld", uuid(7), true}), std::set<std::string>{uuid(1)});
}

/// The order of the CSCS paper's listings: munge, and slurmd where munge works.
TEST(Dependents, OnAThousandNodesSlurmdFollowsMungeNodeByNode) {
  constexpr int kNodes = 1000;
  Desk desk;
  for (int i = 1; i <= kNodes; ++i) desk.join(make_node(i));
  desk.register_job(make_job("munge", 1, model::JobType::system));
  desk.register_job(depending_on(make_job("slurmd", 1, model::JobType::system), "munge", DependencyScope::node));
  ASSERT_EQ(desk.live("slurmd").size(), static_cast<std::size_t>(kNodes));
  Dependents dependents;
  std::vector<Orders> orders;
  std::set<int> begun;  // nodes whose slurmd was told to start
  const auto tell = [&](int node) {
    std::size_t told = 0;
    if (const auto message = orders[static_cast<std::size_t>(node - 1)].next(desk.tables, dependents)) {
      told = message->set.size();
      for (const auto& order : message->set) {
        if (order.allocation.job_id == "slurmd" && order.start) begun.insert(node);
      }
    }
    return told;
  };
  for (int i = 1; i <= kNodes; ++i) {
    orders.emplace_back(uuid(i));
    EXPECT_EQ(tell(i), 2U);
  }
  EXPECT_TRUE(begun.empty()) << "munge runs nowhere yet";
  std::map<std::string, std::string> munge;
  for (const auto& row : desk.live("munge")) munge[row->node_id] = row->id;
  // From the middle outwards, as nodes come up in no order.
  for (int step = 0; step < kNodes; ++step) {
    const int node = kNodes / 2 + (step % 2 == 0 ? -step / 2 : (step + 1) / 2);
    desk.update(uuid(node), {report(munge.at(uuid(node)), ClientStatus::running, true)});
    EXPECT_EQ(tell(node), 1U) << "of munge it knows, and slurmd may start";
    EXPECT_EQ(tell(node % kNodes + 1), 0U) << "its neighbour hears nothing";
    ASSERT_EQ(begun.size(), static_cast<std::size_t>(step + 1));
    ASSERT_TRUE(begun.contains(node));
  }
}

}  // namespace
}  // namespace underway::server::testing
