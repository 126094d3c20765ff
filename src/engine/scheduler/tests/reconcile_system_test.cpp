#include "tests/world.hpp"

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;
using Names = std::vector<std::string>;
using namespace std::chrono_literals;

TEST(System, IsFollowedOnItsNodeWhenItWasStoppedThere) {
  World world(1, 2);
  Job job = make_job("agent");
  job.type = JobType::system;
  world.run(job);
  world.start_all();
  const auto old = world.live("agent")[0];
  stop_to_go_elsewhere(world, *old);
  const Plan plan = world.again("agent", EvalTrigger::alloc_stop);
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.created[0].node_id, old->node_id);
  EXPECT_EQ(plan.created[0].previous_allocation, old->id);
  EXPECT_TRUE(plan.created[0].reschedules.empty());
  EXPECT_EQ(world.alloc(old->id)->next_allocation, plan.created[0].id);
  EXPECT_EQ(world.alloc(old->id)->desired_description, old->desired_description);
}

TEST(System, RunsOnEveryNodeThatMayAndIsHealthy) {
  World world(1, 3);
  Node other_pool = make_node("login");
  other_pool.node_pool = "login";
  world.put_node(other_pool);
  Node no_driver = make_node("gpu");
  no_driver.drivers.clear();
  world.put_node(no_driver);
  Node ineligible = make_node("sick");
  ineligible.eligibility = model::Eligibility::ineligible;
  world.put_node(ineligible);
  Job job = make_job("munge");
  job.type = JobType::system;
  const Plan plan = world.run(job);
  std::vector<std::string> on;
  for (const auto& row : plan.created) on.push_back(row.node_name);
  std::sort(on.begin(), on.end());
  EXPECT_EQ(on, (Names{"c1", "c2", "c3"}));
  for (const auto& row : plan.created) EXPECT_EQ(row.name, "munge.g[0]");
  EXPECT_TRUE(plan.evaluation.failed_groups.empty());
  EXPECT_FALSE(world.again("munge").changes_allocations());
}

TEST(System, FollowsNodesThatComeAndGo) {
  World world(1, 1);
  Job job = make_job("munge");
  job.type = JobType::system;
  world.run(job);
  const Node fresh = make_node("c2");
  world.put_node(fresh);
  Evaluation joined = world.new_evaluation("munge", EvalTrigger::node_update);
  joined.node_id = fresh.id;
  Plan plan = world.evaluate(joined);
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.created[0].node_name, "c2");
  Node down = fresh;
  down.status = model::NodeStatus::down;
  world.put_node(down);
  plan = world.evaluate(joined);
  EXPECT_EQ(plan.stopped.at(0).client_status, ClientStatus::lost);
  EXPECT_TRUE(plan.created.empty());
  world.put_node(fresh);
  EXPECT_EQ(world.evaluate(joined).created.size(), 1u);
  EXPECT_EQ(world.live("munge").size(), 2u);
}

TEST(System, IsUpdatedEverywhere) {
  World world(1, 3);
  Job job = make_job("munge");
  job.type = JobType::system;
  world.run(job);
  job.groups[0].tasks[0].user = "munge";
  Plan plan = world.run(job);
  EXPECT_EQ(summary(plan), "place 0 stop 0 in-place 0 destructive 3 lost 0 ignore 0");
  job.groups[0].tasks[0].kill_timeout = 9s;
  plan = world.run(job);
  EXPECT_EQ(summary(plan), "place 0 stop 0 in-place 3 destructive 0 lost 0 ignore 0");
  job.constraints = {{"${attr.unique.hostname}", "!=", "c2"}};
  plan = world.run(job);
  EXPECT_EQ(summary(plan), "place 0 stop 1 in-place 2 destructive 0 lost 0 ignore 0");
}

TEST(System, WaitsForRoomOnAFullNode) {
  World world(1, 2);
  world.run(make_job("big", 1, 3900));
  Job job = make_job("munge", 1, 500);
  job.type = JobType::system;
  const Plan plan = world.run(job);
  EXPECT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.evaluation.failed_groups.at("g").dimension_exhausted.at("cpu"), 1);
  EXPECT_EQ(plan.evaluation.queued.at("g"), 1);
  ASSERT_FALSE(plan.evaluation.blocked_eval.empty());
  world.stop("big");
  EXPECT_EQ(world.work(world.nodes().begin()->second.get()), 1u);
  EXPECT_EQ(world.live("munge").size(), 2u);
}

TEST(Sysbatch, RunsOncePerNodeAndVersion) {
  World world(1, 2);
  Job job = make_job("fsck");
  job.type = JobType::sysbatch;
  world.run(job);
  const auto rows = world.live("fsck");
  world.set_client(rows.at(0)->id, ClientStatus::complete);
  world.set_client(rows.at(1)->id, ClientStatus::failed);
  EXPECT_FALSE(world.again("fsck").changes_allocations());
  job.groups[0].tasks[0].env["A"] = "2";
  EXPECT_EQ(world.run(job).created.size(), 2u);
}

}  // namespace
}  // namespace underway::scheduler
