#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "tests/support.hpp"

namespace underway::elastic {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Grow, AsksForNodesWhileTheJobsAreStillPending) {
  const auto decision =
      decide(make_policy(), make_tick({make_job("1"), make_job("2"), make_job("3", 2), make_job("4", 2)}), {});
  EXPECT_EQ(grown(decision), "small 3") << "two of the jobs share a node";
}

TEST(Grow, CountsNodesThatAreIdleAndThatBootAlready) {
  const auto decision = decide(make_policy(),
                               make_tick({make_job("1"), make_job("2"), make_job("3")},
                                         {make_node("a", NodePhase::idle), make_node("b", NodePhase::booting)}),
                               {});
  EXPECT_EQ(grown(decision), "small 1");
}

TEST(Grow, MakesWhatIsReservedBeforeAnyJobHasIt) {
  auto tick =
      make_tick({make_job("1"), make_job("2")}, {make_node("a", NodePhase::idle), make_node("b", NodePhase::booting)});
  for (auto& node : tick.nodes) node.held = true;
  tick.reserved["small"] = 2;
  EXPECT_EQ(grown(decide(make_policy(), tick, {})), "small 4")
      << "two of them for the jobs: what is held is not theirs";
  const auto full = decide(make_policy({make_class("small", 4, 32 * 1024, 3)}), tick, {});
  EXPECT_EQ(grown(full), "small 1") << "and that is reserved";
  EXPECT_THAT(said(full), HasSubstr("of class 'small' 2 more are reserved, and class 'small' has 2 of 3 nodes"));
}

TEST(Grow, CountsOnlyJobsThatNodesWouldCure) {
  auto held = make_job("1"), later = make_job("2"), limited = make_job("3"), open = make_job("4");
  held.reason = "JobHeldUser";
  later.eligible_at = kNow + 1h;
  limited.reason = "QOSMaxJobsPerUserLimit";
  const auto decision = decide(make_policy(), make_tick({held, later, limited, open}), {});
  EXPECT_EQ(grown(decision), "small 1");
  EXPECT_THAT(said(decision), HasSubstr("1 job waits for QOSMaxJobsPerUserLimit, which more nodes do not cure"));
}

TEST(Grow, SeesThroughArrays) {
  auto array = make_job("7");
  array.array_remaining = 100;
  EXPECT_EQ(grown(decide(make_policy({make_class("small", 4, 1 << 15, 50)}), make_tick({array}), {})), "small 50");
  array.array_limit = 6;
  array.array_running = 2;
  EXPECT_EQ(grown(decide(make_policy(), make_tick({array}), {})), "small 4");
}

TEST(Grow, WaitsForAThreshold) {
  Policy policy = make_policy();
  policy.thresholds = {{5, 0}, {1, 10}};
  EXPECT_EQ(grown(decide(policy, make_tick({make_job("1"), make_job("2")}), {})), "");
  auto old = make_job("1");
  old.submitted = kNow - 11min;
  EXPECT_EQ(grown(decide(policy, make_tick({old, make_job("2")}), {})), "small 2");
  std::vector<PendingJob> five;
  for (int i = 0; i < 5; ++i) five.push_back(make_job(std::to_string(i)));
  EXPECT_EQ(grown(decide(policy, make_tick(five), {})), "small 5");
  const auto refused = decide(policy, make_tick({make_job("1")}), {});
  EXPECT_THAT(said(refused), HasSubstr("partition 'batch': 1 of 5 jobs have waited for 0 minutes"));
}

TEST(Classes, AreChosenByWhatTheWholeDemandCosts) {
  const Policy policy =
      make_policy({make_class("large", 16, 65536, 10, "0.30"), make_class("small", 4, 32768, 10, "0.10")});
  EXPECT_EQ(grown(decide(policy, make_tick({make_job("1")}), {})), "small 1");
  std::vector<PendingJob> many;
  for (int i = 0; i < 8; ++i) many.push_back(make_job(std::to_string(i)));
  EXPECT_EQ(grown(decide(policy, make_tick(many), {})), "large 2") << "0.60 an hour against 0.80";
}

TEST(Classes, AreJudgedByMemoryFeaturesAndPartition) {
  PoolClass gpu = make_class("gpu", 4, 32768, 10, "1.00");
  gpu.features = {"gpu", "a100"};
  PoolClass other = make_class("other");
  other.partitions = {"debug"};
  const Policy policy = make_policy({make_class("small"), gpu, other});
  auto large = make_job("1"), wants_gpu = make_job("2"), either = make_job("3"), none = make_job("4");
  large.memory_mb = 65536;
  wants_gpu.features = {"gpu"};
  either.features = {"h100|a100"};
  none.features = {"fpga"};
  EXPECT_EQ(grown(decide(policy, make_tick({wants_gpu}), {})), "gpu 1");
  EXPECT_EQ(grown(decide(policy, make_tick({either}), {})), "gpu 1");
  const auto decision = decide(policy, make_tick({large, none}), {});
  EXPECT_EQ(grown(decision), "");
  EXPECT_THAT(said(decision), HasSubstr("class 'small' has 32.0 GiB of memory, they need 64.0 GiB"));
  EXPECT_THAT(said(decision), HasSubstr("class 'gpu' lacks the feature 'fpga'"));
  EXPECT_THAT(said(decision), Not(HasSubstr("does not serve"))) << "other partitions are of no interest here";
}

TEST(Classes, FallOverWhenOneIsFullRefusedOrBroken) {
  const Policy policy = make_policy({make_class("small", 4, 32768, 2), make_class("dear", 4, 32768, 10, "0.50")});
  std::vector<PendingJob> five;
  for (int i = 0; i < 5; ++i) five.push_back(make_job(std::to_string(i)));
  const auto full = decide(policy, make_tick(five), {});
  EXPECT_EQ(grown(full), "small 2, dear 3");

  Tick refused = make_tick(five);
  refused.outcomes = {{"small", "", BootResult::refused, {}}};
  EXPECT_EQ(grown(decide(policy, refused, {})), "dear 5");

  Tick broken = make_tick(five);
  for (int i = 0; i < 5; ++i) broken.outcomes.push_back({"small", "", BootResult::failed, {}});
  const auto decision = decide(policy, broken, {});
  EXPECT_EQ(grown(decision), "dear 5");
  EXPECT_EQ(decision.state.classes.at("small").breaker, BreakerState::open);
}

TEST(Classes, ThatAreOnlySlowKeepTheirShare) {
  Policy policy = make_policy({make_class("small"), make_class("dear", 4, 32768, 10, "0.50")});
  policy.boot_burst = 2;
  std::vector<PendingJob> five;
  for (int i = 0; i < 5; ++i) five.push_back(make_job(std::to_string(i)));
  const auto decision = decide(policy, make_tick(five), {});
  EXPECT_EQ(grown(decision), "small 2");
  EXPECT_EQ(decision.look_again, kNow + 1s);
  EXPECT_THAT(said(decision), HasSubstr("3 of 5 jobs"));
}

TEST(Classes, ThatAreTriedAgainAreTriedWithOneNode) {
  Policy policy = make_policy();
  State state;
  state.classes["small"].breaker = BreakerState::open;
  state.classes["small"].opened_at = unix_nanos(kNow - policy.breaker.cooldown);
  const auto decision = decide(policy, make_tick({make_job("1"), make_job("2", 4, 3)}), state);
  EXPECT_EQ(grown(decision), "small 1");
  Tick next = make_tick({make_job("1"), make_job("2", 4, 3)}, {make_node("a", NodePhase::booting)});
  EXPECT_EQ(grown(decide(policy, next, decision.state)), "");
}

TEST(Limits, OfMoneyQuotaAndTotalHold) {
  std::vector<PendingJob> ten;
  for (int i = 0; i < 10; ++i) ten.push_back(make_job(std::to_string(i)));
  Policy budget = make_policy();
  budget.budget.day = "1.00";
  Tick spent = make_tick(ten, {make_node("a", NodePhase::busy)});
  spent.spent_today = 500'000;
  const auto by_money = decide(budget, spent, {});
  EXPECT_EQ(grown(by_money), "small 4") << "0.50 are spent, the busy node is bound for another 0.10";
  EXPECT_THAT(said(by_money), HasSubstr("of 1.00 a day, 1.00 are spent or bound"));

  Policy quota = make_policy({make_class("small"), make_class("big", 8, 32768, 10, "0.20")});
  quota.classes[0].provider = quota.classes[1].provider = "cloud";
  quota.quotas = {{"cloud", 0, 14, 0}};
  EXPECT_EQ(grown(decide(quota, make_tick(ten), {})), "small 3");
  Policy total = make_policy();
  total.max_nodes = 2;
  EXPECT_EQ(grown(decide(total, make_tick(ten, {make_node("a", NodePhase::busy)}), {})), "small 1");
}

TEST(Gang, IsAskedForAsAWholeOrNotAtAll) {
  const Policy policy = make_policy({make_class("small", 4, 32768, 4)});
  const auto decision = decide(policy, make_tick({make_job("7", 4, 4)}), {});
  EXPECT_EQ(grown(decision), "small 4 for 7/1");
  const auto too_large = decide(policy, make_tick({make_job("8", 4, 5), make_job("9")}), {});
  EXPECT_EQ(grown(too_large), "small 1") << "the job behind it is not starved";
  EXPECT_THAT(said(too_large), HasSubstr("class 'small' has room for 4 of 5 nodes at once"));
}

TEST(Gang, UsesNodesThatAreThere) {
  const auto decision = decide(make_policy(), make_tick({make_job("7", 4, 4)}, {make_node("a", NodePhase::idle)}), {});
  EXPECT_EQ(grown(decision), "small 3 for 7/1");
}

TEST(Gang, HoldsItsNodesUntilItIsComplete) {
  const Policy policy = make_policy();
  const auto first = decide(policy, make_tick({make_job("7", 4, 2)}), {});
  auto a = make_node("a", NodePhase::idle), b = make_node("b", NodePhase::booting);
  a.gang = b.gang = "7/1";
  const Tick half = make_tick({make_job("7", 4, 2, 200), make_job("8")}, {a, b});
  const auto second = decide(policy, half, first.state);
  EXPECT_EQ(grown(second), "small 1") << "for job 8, which does not count on a";
  b.phase = NodePhase::idle;
  const auto third = decide(policy, make_tick({make_job("7", 4, 2, 200)}, {a, b}), second.state);
  EXPECT_THAT(third.state.gangs, IsEmpty());
  EXPECT_EQ(grown(third), "");
}

TEST(Gang, ThatIsNotCompleteInTimeGivesItsNodesBackAndWaits) {
  Policy policy = make_policy();
  policy.gang_deadline = 5min;
  const auto first = decide(policy, make_tick({make_job("7", 4, 3)}), {});
  auto a = make_node("a", NodePhase::idle), b = make_node("b", NodePhase::booting);
  a.gang = b.gang = "7/1";
  Tick late = make_tick({make_job("7", 4, 3)}, {a, b});
  late.now = kNow + 6min;
  late.elapsed = 6min;
  const auto second = decide(policy, late, first.state);
  EXPECT_EQ(shrunk(second), "b a");
  EXPECT_EQ(grown(second), "");
  EXPECT_THAT(said(second), HasSubstr("Slurm job 7: 1 of 3 nodes of class 'small' were up in time"));
  EXPECT_THAT(said(second), HasSubstr("did not get all of its 3 nodes in 1 attempt, and waits"));
  Tick again = make_tick({make_job("7", 4, 3)});
  again.now = late.now + policy.backoff;
  const auto third = decide(policy, again, second.state);
  EXPECT_EQ(grown(third), "small 3 for 7/2");
  EXPECT_EQ(third.state.gangs.front().attempts, 1);
}

TEST(Gang, ThatIsGivenUpLeavesItsNodesToOthersWhoWait) {
  Policy policy = make_policy({make_class("small", 4, 32768, 3)});
  const auto first = decide(policy, make_tick({make_job("7", 4, 3)}), {});
  auto a = make_node("a", NodePhase::idle);
  a.gang = "7/1";
  Tick late = make_tick({make_job("7", 4, 3, 500), make_job("8")}, {a});
  late.now = kNow + 1h;
  const auto second = decide(policy, late, first.state);
  EXPECT_EQ(shrunk(second), "");
  EXPECT_EQ(grown(second), "");
}

TEST(Gang, OfAnArrayIsOnePerTask) {
  auto array = make_job("7", 4, 2);
  array.array_remaining = 3;
  const auto decision = decide(make_policy(), make_tick({array}), {});
  EXPECT_EQ(grown(decision), "small 2 for 7/1, small 2 for 7/2, small 2 for 7/3");
}

TEST(Shrink, LeavesWhatIsHeld) {
  auto tick =
      make_tick({}, {make_node("a", NodePhase::idle, "small", 2h), make_node("b", NodePhase::idle, "small", 2h)});
  tick.nodes[0].held = true;
  EXPECT_EQ(shrunk(decide(make_policy(), tick, {})), "b");
}

TEST(Shrink, KeepsAnIdleNodeAsLongAsItsBootTakes) {
  PoolClass type = make_class("small");
  type.start_time = 3min;
  const Policy policy = make_policy({type});
  const auto early = decide(policy, make_tick({}, {make_node("a", NodePhase::idle, "small", 2min)}), {});
  EXPECT_EQ(shrunk(early), "");
  EXPECT_EQ(early.look_again, kNow + 1min);
  EXPECT_EQ(shrunk(decide(policy, make_tick({}, {make_node("a", NodePhase::idle, "small", 3min)}), {})), "a");
  Policy longer = policy;
  longer.classes[0].keep_alive = "10m";
  EXPECT_EQ(shrunk(decide(longer, make_tick({}, {make_node("a", NodePhase::idle, "small", 9min)}), {})), "");
}

TEST(Shrink, NeverTakesANodeWithAJob) {
  auto busy = make_node("a", NodePhase::busy, "small", 10h), odd = make_node("b", NodePhase::idle, "small", 10h);
  odd.jobs = {"12"};  // Slurm has put a job on it between two looks
  auto draining = make_node("c", NodePhase::draining, "small", 10h);
  draining.jobs = {"13"};
  EXPECT_EQ(shrunk(decide(make_policy(), make_tick({}, {busy, odd, draining}), {})), "");
}

TEST(Shrink, LeavesWhatTheQueueNeedsAndTheLeast) {
  std::vector<NodeView> nodes;
  for (int i = 0; i < 4; ++i)
    nodes.push_back(make_node(fmt::format("n{}", i), NodePhase::idle, "small", std::chrono::hours(9 - i)));
  EXPECT_EQ(shrunk(decide(make_policy(), make_tick({make_job("1")}, nodes), {})), "n0 n1 n2");
  Policy policy = make_policy();
  policy.classes[0].min_nodes = 3;
  EXPECT_EQ(shrunk(decide(policy, make_tick({}, nodes), {})), "n0");
  EXPECT_EQ(grown(decide(policy, make_tick(), {})), "small 3");
}

TEST(Shrink, EndsABootThatTakesTooLongAndCountsItOnce) {
  const Policy policy = make_policy();
  const Tick tick = make_tick({make_job("1")}, {make_node("a", NodePhase::booting, "small", 11min)});
  const auto first = decide(policy, tick, {});
  EXPECT_EQ(shrunk(first), "a");
  EXPECT_EQ(grown(first), "small 1");
  EXPECT_EQ(decide(policy, tick, first.state).state.classes.at("small").failed_boots, 1);
}

TEST(Clock, ThatIsSetMovesNothing) {
  Policy policy = make_policy();
  policy.gang_deadline = 5min;
  const auto first = decide(policy, make_tick({make_job("7", 4, 2)}), {});
  auto a = make_node("a", NodePhase::booting), b = make_node("b", NodePhase::booting);
  a.gang = b.gang = "7/1";
  for (const Duration step : {Duration{10min}, Duration{-10min}}) {
    Tick next = make_tick({make_job("7", 4, 2)}, {a, b});
    next.now = kNow + step + 30s;
    next.elapsed = 30s;
    const auto second = decide(policy, next, first.state);
    EXPECT_EQ(shrunk(second), "") << "neither the gang's deadline nor the boots' has come";
    ASSERT_EQ(second.state.gangs.size(), 1u);
    EXPECT_EQ(second.state.gangs[0].deadline, first.state.gangs[0].deadline + step.count());
  }
}

TEST(Pack, EmptiesTheNodeThatIsFreeSoonest) {
  Policy policy = make_policy();
  policy.pack = true;
  Tick tick = make_tick();
  for (int i = 0; i < 3; ++i) {
    auto node = make_node(fmt::format("n{}", i), NodePhase::busy);
    node.jobs = {std::to_string(i)};
    node.cpus_free = 3;
    node.memory_free_mb = 30000;
    node.free_at = kNow + std::chrono::minutes(90 - 30 * i);
    tick.nodes.push_back(node);
    tick.running.push_back(make_running(std::to_string(i), {node.name}, 1));
  }
  const auto decision = decide(policy, tick, {});
  ASSERT_EQ(decision.drain.size(), 2u) << "the three jobs fit one node";
  EXPECT_EQ(decision.drain[0].node, "n2");
  EXPECT_EQ(decision.drain[1].node, "n1");
  EXPECT_THAT(decision.moves, IsEmpty()) << "not every job can be moved";
  for (auto& job : tick.running) job.suspendable = true;
  const auto moving = decide(policy, tick, {});
  ASSERT_EQ(moving.moves.size(), 2u);
  EXPECT_EQ(moving.moves[0].to, "n0");
  EXPECT_EQ(moving.moves[1].to, "n0");
}

TEST(Pack, TakesADrainBackWhenThereIsWork) {
  Policy policy = make_policy();
  policy.pack = true;
  auto node = make_node("a", NodePhase::draining);
  node.jobs = {"1"};
  node.cpus_free = 2;
  const auto decision = decide(policy, make_tick({make_job("2", 2)}, {node}), {});
  EXPECT_THAT(decision.undrain, ElementsAre("a"));
  EXPECT_EQ(grown(decision), "");
}

TEST(Opportunistic, NodesGoBackIdleOnesFirstThenTheLeastLost) {
  PoolClass type = make_class("spot");
  type.opportunistic = true;
  const Policy policy = make_policy({type});
  Tick tick = make_tick({}, {make_node("a", NodePhase::busy, "spot"), make_node("b", NodePhase::busy, "spot"),
                             make_node("c", NodePhase::idle, "spot")});
  tick.running = {make_running("on-a", {"a"}, 4, 5h), make_running("on-b", {"b"}, 4, 1h)};
  tick.recalls = {{"spot", 2}};
  const auto decision = decide(policy, tick, {});
  ASSERT_EQ(decision.take_back.size(), 2u);
  EXPECT_EQ(decision.take_back[0].node, "c");
  EXPECT_EQ(decision.take_back[1].node, "b");
  EXPECT_EQ(decision.take_back[1].at, kNow + policy.promises.notice);
  EXPECT_THAT(decision.take_back[1].jobs, ElementsAre("on-b"));
  EXPECT_EQ(decision.state.redone.at("on-b"), 1);
  EXPECT_THAT(decision.protect, ElementsAre("on-b"));
}

TEST(Opportunistic, AJobIsTakenBackOnceAndThenStaysAway) {
  PoolClass spot = make_class("spot", 4, 32768, 10, "0.01");
  spot.opportunistic = true;
  const Policy policy = make_policy({spot, make_class("small")});
  State state;
  state.redone["1"] = 1;
  EXPECT_EQ(grown(decide(policy, make_tick({make_job("1"), make_job("2")}), state)), "small 1, spot 1");
  auto node = make_node("a", NodePhase::busy, "spot");
  node.jobs = {"1"};
  Tick tick = make_tick({}, {node});
  tick.running = {make_running("1", {"a"})};
  tick.recalls = {{"spot", 1}};
  const auto decision = decide(policy, tick, state);
  EXPECT_THAT(decision.take_back, IsEmpty());
  EXPECT_THAT(said(decision), HasSubstr("1 of 1 recalled nodes stay"));
  EXPECT_THAT(decide(policy, make_tick(), state).state.redone, IsEmpty()) << "it has ended";
}

TEST(Opportunistic, NodesThatAreNamedGoOrStayForAReason) {
  PoolClass spot = make_class("spot");
  spot.opportunistic = true;
  const Policy policy = make_policy({spot});
  std::vector<NodeView> nodes;
  for (const auto* name : {"a", "b", "c", "d"}) nodes.push_back(make_node(name, NodePhase::busy, "spot"));
  nodes[3].phase = NodePhase::asleep;
  Tick tick = make_tick({}, nodes);
  tick.running = {make_running("1", {"a"}), make_running("2", {"b"}), make_running("3", {"c"})};
  tick.running[1].not_redone = "may not be requeued";
  tick.running[2].ending = true;
  for (std::size_t i = 0; i < 3; ++i) tick.nodes[i].jobs = {tick.running[i].id};
  tick.recalls = {{"spot", 0, "7", {"a", "b", "c", "d", "e"}}};
  const auto decision = decide(policy, tick, {});
  ASSERT_EQ(decision.take_back.size(), 2u);
  EXPECT_EQ(decision.take_back[0].node, "a");
  EXPECT_EQ(decision.take_back[0].recall, "7");
  EXPECT_EQ(decision.take_back[1].node, "c");
  EXPECT_EQ(decision.take_back[1].at, kNow) << "its job is over: nobody needs notice";
  EXPECT_THAT(decision.take_back[1].jobs, IsEmpty());
  std::vector<std::string> staying;
  for (const auto& it : decision.staying) staying.push_back(it.node + ": " + it.why);
  EXPECT_THAT(staying, ElementsAre("b: job 2 may not be requeued", "d: it sleeps",
                                   "e: it is not there, or somebody else holds it"));
}

TEST(Opportunistic, AJobThatBeganOnANodeThatGoesHasItsNoticeToo) {
  PoolClass spot = make_class("spot");
  spot.opportunistic = true;
  const Policy policy = make_policy({spot});
  auto node = make_node("a", NodePhase::draining, "spot");
  node.taken = true;
  node.jobs = {"1", "2", "3"};
  Tick tick = make_tick({make_job("9", 1)}, {node});
  tick.running = {make_running("1", {"a"}), make_running("2", {"a"}), make_running("3", {"a"})};
  tick.running[2].not_redone = "is interactive";
  State state;
  state.redone["1"] = 1;
  const auto decision = decide(policy, tick, state);
  ASSERT_EQ(decision.take_back.size(), 1u);
  EXPECT_THAT(decision.take_back[0].jobs, ElementsAre("2"));
  EXPECT_EQ(decision.take_back[0].at, kNow + policy.promises.notice);
  EXPECT_THAT(decision.undrain, IsEmpty()) << "whoever waits";
  EXPECT_EQ(decision.state.redone.at("1"), 1);
}

TEST(Explain, SaysHowManyOfHowManyWaitForWhat) {
  std::vector<PendingJob> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(make_job(fmt::format("m{}", i)));
    jobs.back().memory_mb = 65536;
  }
  for (int i = 0; i < 2; ++i) jobs.push_back(make_job(fmt::format("s{}", i)));
  const auto decision = decide(make_policy(), make_tick(jobs), {});
  EXPECT_THAT(
      render(decision.explanation),
      ElementsAre("class 'small': 0 of 10 nodes up, 0 booting; 2 more asked for",
                  "3 of 3 jobs of partition 'batch' (4 processors on 1 node, 64.0 GiB of memory; m0, m1, m2) wait: "
                  "class 'small' has 32.0 GiB of memory, they need 64.0 GiB",
                  "2 jobs of partition 'batch' (4 processors on 1 node; s0, s1): nodes are made for 2"));
}

TEST(Decision, IsTheSameForTheSameAndItsStateTravels) {
  Tick tick = make_tick({make_job("7", 4, 2), make_job("8")});
  tick.outcomes = {{"small", "x", BootResult::failed, {}}, {"small", "", BootResult::refused, {}}};
  const auto decision = decide(make_policy(), tick, {});
  EXPECT_EQ(json::encode(decision.state), json::encode(decide(make_policy(), tick, {}).state));
  EXPECT_EQ(json::encode(json::decode_text<State>(json::encode(decision.state))), json::encode(decision.state));
  EXPECT_THAT(json::encode(decision.explanation), HasSubstr("\"Obstacle\":\"backing_off\""));
}

}  // namespace
}  // namespace underway::elastic
