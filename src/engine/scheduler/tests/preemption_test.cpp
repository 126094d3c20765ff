// Who makes way for whom. Worked by hand from the rules in placement/preemption.hpp.
#include "tests/world.hpp"

#include <cmath>

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;

Job of_priority(std::int64_t priority, Job job) {
  job.priority = priority;
  return job;
}

std::vector<std::string> names(const std::vector<Allocation>& rows) {
  std::vector<std::string> out;
  for (const auto& row : rows) out.push_back(row.name);
  std::sort(out.begin(), out.end());
  return out;
}
using Names = std::vector<std::string>;

struct Preempting : ::testing::Test {
  void SetUp() override {
    world.rules.preempts = true;
    world.put_node(make_node("c1"));
  }
  World world{1};
};

TEST_F(Preempting, EvictsWhatIsTenBelowAndTellsItsJob) {
  const Plan low = world.run(of_priority(20, make_job("low", 1, 3500)));
  world.start_all();
  const Plan high = world.run(of_priority(30, make_job("high", 1, 1000)));
  ASSERT_EQ(high.created.size(), 1u);
  const Row<Allocation> victim = world.alloc(low.created[0].id);
  EXPECT_EQ(high.created[0].preempted, std::vector<std::string>{victim->id});
  EXPECT_EQ(victim->desired_status, model::DesiredStatus::evict);
  EXPECT_EQ(victim->desired_description, "Preempted by alloc ID " + high.created[0].id);
  EXPECT_EQ(victim->preempted_by, high.created[0].id);
  EXPECT_EQ(high.groups.at("g").preempted, 1);
  // maxPrio + sum / maxPrio = 21.
  EXPECT_NEAR(high.created[0].metrics.scores[0].scores.at("preemption"), 1 / (1 + std::exp(0.0048 * (21 - 2048))),
              1e-12);
  const auto pending = world.with_status("low", EvalStatus::pending);
  ASSERT_EQ(pending.size(), 1u);
  EXPECT_EQ(pending[0]->triggered_by, EvalTrigger::preemption);
  EXPECT_EQ(pending[0]->priority, 20);
  world.work();
  EXPECT_EQ(world.with_status("low", EvalStatus::blocked).size(), 1u);
  world.set_client(high.created[0].id, ClientStatus::running);
  world.stop("high");
  world.work(world.nodes().begin()->second.get());
  EXPECT_EQ(world.live_names("low"), Names{"low.g[0]"});
}

TEST_F(Preempting, LeavesWhatIsNotLowEnoughOrSpared) {
  world.run(of_priority(21, make_job("near", 1, 3500)));
  EXPECT_TRUE(world.run(of_priority(30, make_job("high", 1, 1000))).created.empty());
  world.spared = [](const Allocation& row, std::int64_t) { return row.job_id == "near"; };
  EXPECT_TRUE(world.run(of_priority(90, make_job("higher", 1, 1000))).created.empty());
  world.spared = nullptr;
  world.rules.preempts = false;
  EXPECT_TRUE(world.run(of_priority(91, make_job("patient", 1, 1000))).created.empty());
}

TEST_F(Preempting, TakesRoomBeforeItTakesAnybodysPlace) {
  world.run(of_priority(10, make_job("low", 1, 3500)));
  world.put_node(make_node("c2"));
  const Plan plan = world.run(of_priority(90, make_job("high", 1, 1000)));
  EXPECT_EQ(plan.created.at(0).node_name, "c2");
  EXPECT_TRUE(plan.preempted.empty());
}

TEST_F(Preempting, StartsWithTheLowestPriority) {
  world.run(of_priority(20, make_job("middle", 1, 1000)));
  world.run(of_priority(10, make_job("lowest", 1, 3000)));
  EXPECT_EQ(names(world.run(of_priority(90, make_job("high", 1, 1000))).preempted), Names{"lowest.g[0]"});
}

TEST_F(Preempting, ChoosesTheNearestSize) {
  world.run(of_priority(10, make_job("small", 1, 500)));
  world.run(of_priority(10, make_job("right", 1, 1000)));
  world.run(of_priority(10, make_job("large", 1, 2000)));
  // 500 MHz are free, and 1000 are asked for: the distances are 0.5, 0 and 1.
  EXPECT_EQ(names(world.run(of_priority(90, make_job("high", 1, 1000))).preempted), Names{"right.g[0]"});
}

TEST_F(Preempting, LeavesThoseWithoutWhomItDoes) {
  world.run(of_priority(10, make_job("tiny", 1, 200)));
  world.run(of_priority(20, make_job("large", 1, 3800)));
  EXPECT_EQ(names(world.run(of_priority(90, make_job("high", 1, 3000))).preempted), Names{"large.g[0]"});
}

TEST_F(Preempting, SparesAGroupThatLostItsShare) {
  // Two of a group that lets one go at a time, each as large as what is asked for: the second one costs 50 more, and
  // that of another group is nearer than that.
  world.run(of_priority(10, make_job("pair", 2, 1000)));
  world.run(of_priority(10, make_job("single", 1, 1500)));
  world.put_node(make_node("c1", 3500));
  Names jobs;
  for (const auto& row : world.run(of_priority(90, make_job("high", 2, 1000))).preempted) jobs.push_back(row.job_id);
  EXPECT_EQ(jobs, (Names{"pair", "single"}));
}

TEST_F(Preempting, FreesAPortThatOnlyOneHolds) {
  const auto with_port = [](Job job) {
    job.groups[0].networks.resize(1);
    job.groups[0].networks[0].reserved_ports = {{"http", 80}};
    return job;
  };
  world.run(of_priority(20, with_port(make_job("web", 1, 100))));
  world.run(of_priority(10, make_job("lower", 1, 100)));
  const Plan plan = world.run(of_priority(30, with_port(make_job("other", 1, 100))));
  EXPECT_EQ(names(plan.preempted), Names{"web.g[0]"});
  EXPECT_EQ(plan.created.at(0).resources.ports.at(0).value, 80);
}

TEST_F(Preempting, WorksForSystemJobsNodeByNode) {
  world.put_node(make_node("c2"));
  world.run(of_priority(20, make_job("low", 2, 3500)));
  Job everywhere = of_priority(80, make_job("agent", 1, 1000));
  everywhere.type = JobType::system;
  const Plan plan = world.run(everywhere);
  EXPECT_EQ(plan.created.size(), 2u);
  EXPECT_EQ(plan.preempted.size(), 2u);
  EXPECT_EQ(std::count_if(plan.evaluations.begin(), plan.evaluations.end(),
                          [](const auto& e) { return e.triggered_by == EvalTrigger::preemption; }),
            1)
      << "one for the job, however many of it make way";
}

TEST_F(Preempting, IsPartOfAllOrNothing) {
  world.run(of_priority(20, make_job("low", 1, 3500)));
  Job gang = of_priority(80, make_job("gang", 2, 3000));
  gang.all_at_once = true;
  const Plan plan = world.run(gang);
  EXPECT_TRUE(plan.created.empty());
  EXPECT_TRUE(plan.preempted.empty());
  EXPECT_EQ(world.live_names("low"), Names{"low.g[0]"});
}

TEST(Gang, OfTwoThatWantTheSameRoomOneRuns) {
  World world(1, 2);
  Job first = make_job("first", 2, 3000), second = make_job("second", 2, 3000);
  first.all_at_once = second.all_at_once = true;
  first.groups.push_back(first.groups[0]);
  first.groups[1].name = "h";
  first.groups[0].count = first.groups[1].count = 1;
  EXPECT_EQ(world.run(first).created.size(), 2u);
  const Plan waiting = world.run(second);
  EXPECT_TRUE(waiting.created.empty());
  EXPECT_EQ(waiting.evaluation.queued.at("g"), 2);
  const auto blocked = world.with_status("second", EvalStatus::blocked);
  ASSERT_EQ(blocked.size(), 1u);
  EXPECT_EQ(blocked[0]->status_description, "all at once: none of 2 is placed, as there is no room for 2 of g");
  world.start_all();
  // Half of the room is no use to it: it holds none of it.
  world.set_client(world.live("first")[0]->id, ClientStatus::complete);
  for (const auto& [id, node] : world.nodes()) world.work(node.get());
  EXPECT_TRUE(world.live("second").empty());
  world.stop("first");
  for (const auto& [id, node] : world.nodes()) world.work(node.get());
  EXPECT_EQ(world.live("second").size(), 2u);
}

TEST(Gang, ThatLostAMemberGoesOnWithoutItUntilThereIsRoom) {
  World world(1, 3);
  Job gang = make_job("gang", 3, 3000);
  gang.all_at_once = true;
  world.run(gang);
  world.start_all();
  Node lost = *world.nodes().begin()->second;
  lost.status = model::NodeStatus::down;
  world.put_node(lost);
  const Plan plan = world.again("gang");
  EXPECT_TRUE(plan.created.empty());
  EXPECT_EQ(world.live("gang").size(), 2u) << "what runs is left alone";
  EXPECT_EQ(world.with_status("gang", EvalStatus::blocked).size(), 1u);
}

TEST(Algorithm, SpreadPrefersTheEmptiestNode) {
  World world(1);
  world.put_node(make_node("big", 8000, 16'384));
  world.put_node(make_node("small", 1000, 1024));
  world.rules.algorithm = model::SchedulerAlgorithm::spread;
  const Plan plan = world.run(make_job("web", 1, 800, 819));
  EXPECT_EQ(plan.created.at(0).node_name, "big");
  EXPECT_NEAR(plan.created[0].metrics.scores.at(0).scores.at("binpack"),
              (std::pow(10, 0.9) + std::pow(10, 1 - 819.0 / 16'384) - 2) / 18, 1e-12);
}

TEST(Oversubscription, IsWithheldWhereOperatorsSaySo) {
  World world(1, 1);
  Job job = make_job("web");
  job.groups[0].tasks[0].resources.memory_max_mb = 1024;
  EXPECT_EQ(world.run(job).created.at(0).resources.tasks.at("t").memory_max_mb, 1024);
  world.rules.memory_beyond = false;
  job.id = "other";
  EXPECT_EQ(world.run(job).created.at(0).resources.tasks.at("t").memory_max_mb, 0);
}

}  // namespace
}  // namespace underway::scheduler
