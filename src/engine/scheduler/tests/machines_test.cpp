// A job whose groups are machines, one each: how they are shared out over a topology, and what keeps them apart.
#include "scheduler/placement/bounds.hpp"
#include "tests/world.hpp"

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;

/// Two racks of two chassis of two nodes: "r1-c1-n1", …
class Machines : public ::testing::Test {
 protected:
  Machines() : world(1) {
    for (const char* rack : {"r1", "r2"}) {
      for (const char* chassis : {"c1", "c2"}) {
        for (const char* number : {"n1", "n2"}) {
          Node node = make_node(fmt::format("{}-{}-{}", rack, chassis, number));
          node.meta = {{"rack", rack}, {"chassis", fmt::format("{}-{}", rack, chassis)}};
          world.put_node(node);
        }
      }
    }
  }
  static Job machines(int count) {
    Job job = make_job("vm", 1, 500, 256);
    const auto group = job.groups[0];
    job.groups.clear();
    for (int i = 1; i <= count; ++i) {
      job.groups.push_back(group);
      job.groups.back().name = fmt::format("v{}", i);
      job.groups.back().disconnect =
          model::DisconnectStrategy{.lost_after = Duration::max(), .stop_on_client_after = {}, .replace = false};
    }
    return job;
  }
  static model::Spread over(const std::string& attribute) {
    return {.attribute = attribute, .targets = {}, .across_groups = true};
  }
  /// How many are at each value: sorted, so that which ones does not matter.
  std::vector<std::int64_t> shares(const std::string& key) const {
    std::map<std::string, std::int64_t> counts;
    for (const auto& [id, node] : world.nodes()) counts[node->meta.contains(key) ? node->meta.at(key) : node->name];
    for (const auto& row : world.live("vm")) {
      const auto& node = *world.nodes().at(row->node_id);
      ++counts[node.meta.contains(key) ? node.meta.at(key) : node.name];
    }
    std::vector<std::int64_t> out;
    for (const auto& [value, count] : counts) out.push_back(count);
    std::sort(out.begin(), out.end());
    return out;
  }
  Row<Allocation> of(const std::string& group) const {
    for (const auto& row : world.live("vm"))
      if (row->group == group) return row;
    return nullptr;
  }

  using Shares = std::vector<std::int64_t>;
  World world;
};

TEST_F(Machines, ArePackedWhenNothingIsSaidAndWhenASpreadIsEachGroupsOwn) {
  world.run(machines(4));
  EXPECT_EQ(shares("node"), (Shares{0, 0, 0, 0, 0, 0, 0, 4})) << "whole nodes stay free";
  Job job = machines(4);
  job.id = "other";
  job.spreads = {{"${meta.rack}", 50, {}}};
  std::set<std::string> nodes;
  for (const auto& row : world.run(job).created) nodes.insert(row.node_id);
  EXPECT_EQ(nodes.size(), 1u) << "as in Nomad: each group has one allocation, which is even";
}

TEST_F(Machines, AreSharedOutOverEachLevelOfTheTopology) {
  for (const int count : {2, 4, 8}) {
    SCOPED_TRACE(count);
    Job job = machines(count);
    job.spreads = {over("${meta.rack}"), over("${meta.chassis}"), over("${node.unique.name}")};
    world.run(job);
    EXPECT_EQ(shares("rack"), (Shares{count / 2, count / 2}));
    EXPECT_EQ(shares("chassis"), count == 2 ? (Shares{0, 0, 1, 1}) : Shares(4, count / 4));
    EXPECT_EQ(shares("node").back(), 1);
    world.stop("vm");
    world.remake("vm");
  }
}

TEST_F(Machines, AreSharedOutBetweenRacksAndPackedWithinThem) {
  Job job = machines(6);
  job.spreads = {over("${meta.rack}")};
  world.run(job);
  EXPECT_EQ(shares("rack"), (Shares{3, 3}));
  EXPECT_EQ(shares("node"), (Shares{0, 0, 0, 0, 0, 0, 3, 3}));
}

TEST_F(Machines, ReachTargetsOfTheirWholeNumber) {
  Job job = machines(8);
  job.spreads = {over("${meta.rack}")};
  job.spreads[0].targets = {{"r1", 75}, {"r2", 25}};
  world.run(job);
  EXPECT_EQ(shares("rack"), (Shares{2, 6}));
}

TEST_F(Machines, OneThatIsAddedEvensOutWhatThereIs) {
  Job job = machines(3);
  job.spreads = {over("${meta.rack}"), over("${node.unique.name}")};
  world.run(job);
  world.start_all();
  EXPECT_EQ(shares("rack"), (Shares{1, 2}));
  Job more = machines(4);
  more.spreads = job.spreads;
  EXPECT_EQ(world.run(more).created.size(), 1u) << "the others stay where they are";
  EXPECT_EQ(shares("rack"), (Shares{2, 2}));
}

TEST_F(Machines, AnotherConstraintEndsNone) {
  Job job = machines(2);
  job.constraints = {{"${meta.rack}", "=", "r1"}};
  world.run(job);
  world.start_all();
  Job other = machines(3);
  other.constraints = {{"${meta.rack}", "=", "r2"}};
  const Plan plan = world.run(other);
  EXPECT_TRUE(plan.stopped.empty()) << "a machine that ends there would begin anew here, without its disk";
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(world.nodes().at(plan.created[0].node_id)->meta.at("rack"), "r2");
}

TEST_F(Machines, AreNotPutBesideOneThatMayYetHaveToStay) {
  Node eighth = *world.nodes().begin()->second;
  eighth.eligibility = model::Eligibility::ineligible;
  world.put_node(eighth);
  Job job = machines(8);
  job.constraints = {{"", "distinct_hosts", "true"}};
  ASSERT_EQ(world.run(job).created.size(), 7u);
  world.start_all();
  eighth.eligibility = model::Eligibility::eligible;
  world.put_node(eighth);
  Allocation moving = *of("v1");
  moving.transition.migrate = moving.transition.with_machines = true;
  world.put(moving);
  const Plan plan = world.again("vm");
  ASSERT_EQ(plan.created.size(), 1u) << "v1 goes to the eighth node, and v8 finds none: v1 still is where it was";
  EXPECT_EQ(plan.created[0].group, "v1");
  EXPECT_EQ(world.again("vm").created.size(), 0u) << "nor at the next look";

  Allocation left = *world.alloc(moving.id);
  left.client_status = ClientStatus::complete;
  world.put(left);
  const Plan after = world.again("vm");
  ASSERT_EQ(after.created.size(), 1u);
  EXPECT_EQ(after.created[0].group, "v8");
  EXPECT_EQ(after.created[0].node_id, moving.node_id);
}

TEST_F(Machines, GoWithinARackOfWhichTheyAreTheOnlyOne) {
  Job job = machines(2);
  job.constraints = {{"${meta.rack}", "distinct_property", "1"}};
  world.run(job);
  world.start_all();
  EXPECT_EQ(shares("rack"), (Shares{1, 1}));
  const auto rack = [&](const std::string& node) { return world.nodes().at(node)->meta.at("rack"); };
  Allocation moving = *of("v1");
  moving.transition.migrate = moving.transition.with_machines = true;
  world.put(moving);
  const Plan plan = world.again("vm");
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_NE(plan.created[0].node_id, moving.node_id);
  EXPECT_EQ(rack(plan.created[0].node_id), rack(moving.node_id));
}

TEST(Bounds, SayWhyAndCountAsTheyGo) {
  Bounds bounds;
  EXPECT_TRUE(bounds.empty());
  bounds.bar("n3", "the constraint does not hold there");
  bounds.keep_apart({.what = "${meta.rack}", .limit = 1, .values = {{"n1", "r1"}, {"n2", "r1"}, {"n4", "r2"}}});
  EXPECT_EQ(bounds.against("n3"), "the constraint does not hold there");
  EXPECT_EQ(bounds.against("n5"), "missing property ${meta.rack}");
  EXPECT_EQ(bounds.against("n1"), "");
  bounds.move("", "n1");
  EXPECT_EQ(bounds.against("n2"), "distinct_property: ${meta.rack}=r1 is used by 1 of the job already");
  EXPECT_EQ(bounds.against("n2", "n1"), "") << "it leaves that rack's only place";
  bounds.move("n1", "n4");
  EXPECT_EQ(bounds.against("n2"), "");
  EXPECT_NE(bounds.against("n4"), "");
}

}  // namespace
}  // namespace underway::scheduler
