// The terms of the score beside bin packing: affinities and spreads, with numbers worked out by hand.
#include "tests/world.hpp"

#include <cmath>

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;

/// In this rack, with 4000 MHz and 8192 MiB.
Node in_rack(const std::string& name, const std::string& rack) {
  Node node = make_node(name);
  node.meta["rack"] = rack;
  return node;
}

/// Asks for so little that bin packing hardly tells one empty node from another.
Job small(const std::string& id, std::int64_t count) { return make_job(id, count, 10, 10); }

std::map<std::string, std::int64_t> by_rack(const World& world, const std::string& job) {
  std::map<std::string, std::int64_t> out;
  for (const auto& row : world.live(job)) {
    const auto& meta = world.nodes().at(row->node_id)->meta;
    ++out[meta.contains("rack") ? meta.at("rack") : "none"];
  }
  return out;
}

double term(const Allocation& row, const std::string& name) {
  const auto& scores = row.metrics.scores.at(0).scores;
  const auto it = scores.find(name);
  return it == scores.end() ? std::nan("") : it->second;
}

/// Of a node of 4000 MHz and 8192 MiB on which this is used, with the new one.
double binpack(double cpu, double memory) {
  return (20 - std::pow(10, 1 - cpu / 4000) - std::pow(10, 1 - memory / 8192)) / 18;
}

TEST(Affinity, IsAMeanOfTheWeightsThatHold) {
  World world(1);
  world.put_node(in_rack("a", "r1"));
  world.put_node(in_rack("b", "r2"));
  Job job = make_job("web");
  job.affinities = {{"${meta.rack}", "=", "r2", 75}};
  job.groups[0].affinities = {{"${attr.unique.hostname}", "=", "a", 25}};
  job.groups[0].tasks[0].affinities = {{"${attr.kernel.name}", "=", "linux", 100}};
  const Plan plan = world.run(job);
  const Allocation& row = plan.created.at(0);
  EXPECT_EQ(row.node_name, "b");
  EXPECT_NEAR(term(row, "node-affinity"), (75.0 + 100) / 200, 1e-12);
  EXPECT_NEAR(term(row, "binpack"), binpack(500, 256), 1e-12);
  EXPECT_NEAR(row.metrics.scores[0].norm_score, (binpack(500, 256) + 0.875) / 2, 1e-12);
}

TEST(Affinity, ThatIsNegativeRepelsAndDoesNotForbid) {
  World world(1);
  world.put_node(in_rack("a", "r1"));
  world.put_node(in_rack("b", "r2"));
  Job job = make_job("web");
  job.affinities = {{"${meta.rack}", "=", "r1", -100}};
  const Plan first = world.run(job);
  EXPECT_EQ(first.created.at(0).node_name, "b");
  EXPECT_TRUE(std::isnan(term(first.created[0], "node-affinity"))) << "a term that is 0 does not apply";
  job.id = "other";
  job.constraints = {{"${meta.rack}", "=", "r1"}};
  const Plan second = world.run(job);
  EXPECT_EQ(second.created.at(0).node_name, "a");
  EXPECT_NEAR(term(second.created[0], "node-affinity"), -1, 1e-12);
}

TEST(Affinity, FollowsTheNodesAsTheyChange) {
  World world(1);
  world.put_node(in_rack("a", "r1"));
  world.put_node(in_rack("b", "r2"));
  Job job = make_job("web");
  job.affinities = {{"${meta.rack}", "=", "r2", 100}};
  EXPECT_EQ(world.run(job).created.at(0).node_name, "b");
  world.put_node(in_rack("a", "r2"));
  world.put_node(in_rack("b", "r1"));
  job.id = "other";
  EXPECT_EQ(world.run(job).created.at(0).node_name, "a");
}

TEST(Spread, ReachesItsTargetsAndGivesTheRestToTheOthers) {
  World world(1);
  for (int i = 0; i < 3; ++i) {
    for (const char* rack : {"r1", "r2", "r3"}) world.put_node(in_rack(fmt::format("{}-{}", rack, i), rack));
  }
  Job job = small("web", 10);
  job.spreads = {{"${meta.rack}", 100, {{"r1", 50}, {"r2", 30}}}};
  const Plan plan = world.run(job);
  EXPECT_EQ(by_rack(world, "web"), (std::map<std::string, std::int64_t>{{"r1", 5}, {"r2", 3}, {"r3", 2}}));
  // The first goes where it is farthest from the target: (5 - 1) / 5.
  EXPECT_NEAR(term(plan.created[0], "allocation-spread"), 0.8, 1e-12);
  EXPECT_NEAR(plan.created[0].metrics.scores[0].norm_score, (binpack(10, 10) + 0.8) / 2, 1e-12);
}

TEST(Spread, OfAGroupAndItsJobAreWeighed) {
  World world(1);
  Node node = in_rack("a", "r1");
  node.datacenter = "dc2";
  world.put_node(node);
  Job job = small("web", 4);
  job.spreads = {{"${node.datacenter}", 25, {{"dc1", 100}}}};
  job.groups[0].spreads = {{"${meta.rack}", 75, {{"r1", 100}}}};
  // No allocation shall be in dc2: -1, whatever the weight. In r1 4 shall be: (4 - 1) / 4 of three quarters.
  EXPECT_NEAR(term(world.run(job).created.at(0), "allocation-spread"), 0.75 * 0.75 - 1, 1e-12);
}

TEST(Spread, WithoutTargetsIsEven) {
  World world(1);
  for (int i = 0; i < 4; ++i) {
    for (const char* rack : {"r1", "r2", "r3"}) world.put_node(in_rack(fmt::format("{}-{}", rack, i), rack));
  }
  world.put_node(make_node("rackless"));
  Job job = small("web", 9);
  job.groups[0].spreads = {{"${meta.rack}", 50, {}}};
  const Plan plan = world.run(job);
  EXPECT_EQ(by_rack(world, "web"), (std::map<std::string, std::int64_t>{{"r1", 3}, {"r2", 3}, {"r3", 3}}));
  EXPECT_TRUE(std::isnan(term(plan.created[0], "allocation-spread"))) << "nothing is placed yet";
  EXPECT_NEAR(term(plan.created[1], "allocation-spread"), 1, 1e-12) << "a value without any";
  EXPECT_NEAR(term(plan.created[3], "allocation-spread"), -1, 1e-12) << "all have the same";
}

TEST(Spread, EvensOutWhatALossLeftUneven) {
  World world(1);
  for (const char* rack : {"r1", "r2"}) {
    for (int i = 0; i < 3; ++i) world.put_node(in_rack(fmt::format("{}-{}", rack, i), rack));
  }
  Job job = small("web", 6);
  job.groups[0].spreads = {{"${meta.rack}", 50, {}}};
  world.run(job);
  world.start_all();
  for (const auto& row : world.live("web")) {
    if (world.nodes().at(row->node_id)->meta.at("rack") == "r1") world.set_client(row->id, ClientStatus::lost);
  }
  world.again("web");
  EXPECT_EQ(by_rack(world, "web"), (std::map<std::string, std::int64_t>{{"r1", 3}, {"r2", 3}}));
}

TEST(Spread, SeesANodeThatMovesToAnotherRack) {
  World world(1);
  world.put_node(in_rack("a", "r1"));
  world.put_node(in_rack("b", "r1"));
  Job job = small("web", 2);
  job.groups[0].spreads = {{"${meta.rack}", 50, {{"r2", 100}}}};
  world.run(job);
  world.put_node(in_rack("b", "r2"));
  job.id = "other";
  for (const auto& row : world.run(job).created) EXPECT_EQ(row.node_name, "b");
}

}  // namespace
}  // namespace underway::scheduler
