#include "slurm/sleep/node_sleep.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "slurm/queue.hpp"

namespace underway::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NodeRecord node(const std::string& name, const std::string& address, const std::string& state = "MIXED") {
  return {.name = name, .address = address, .state = state};
}
NodeRecord held(NodeRecord record, const std::string& reason = kAsleepReason) {
  record.flags.insert("DRAIN");
  record.reason = reason;
  return record;
}

const Sleepers kAsleep{.to_sleep = {"v1"}, .away = {"v1"}};

TEST(NodeJobs, AreReadAsFarAsTheyMakeSense) {
  const auto jobs =
      parse_node_jobs("17|RUNNING|v[1-2]\n18|SUSPENDED|v1\n\nslurm_load_jobs error\nx|RUNNING|v1\n|R|v1\n");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].id, "17");
  EXPECT_THAT(jobs[0].nodes, ElementsAre("v1", "v2"));
  EXPECT_EQ(jobs[1].state, "SUSPENDED");
  EXPECT_THROW(parse_node_jobs("17|RUNNING|v[1-"), Error);
}

TEST(StandIn, AnswersAndHasNothingToSayOfWhoSleeps) {
  const std::vector<NodeRecord> all = {node("v1", "10.0.0.1"), node("v2", "10.0.0.2"), node("v3", "10.0.0.3"),
                                       node("v4", "10.0.0.4", "DOWN"), node("v5", kNowhere)};
  EXPECT_EQ(stand_in(all, {"v1"}, {}, "10.0.0.1"), "10.0.0.2");
  EXPECT_EQ(stand_in(all, {"v1"}, {}, "10.0.0.3"), "10.0.0.3") << "who does it already goes on";
  EXPECT_EQ(stand_in(all, {"v1"}, {}, "10.0.0.4"), "10.0.0.2") << "unless it is gone";
  const NodeJob both{"7", "RUNNING", {"v1", "v2"}};
  EXPECT_EQ(stand_in(all, {"v1"}, {both}, ""), "10.0.0.3") << "v2 has a job of v1";
  EXPECT_EQ(stand_in(all, {"v1", "v3"}, {both}, ""), "");
}

TEST(PlanSleep, GoesStepByStepAndWritesDownBeforeItActs) {
  auto v1 = node("v1", "10.0.0.1");
  const NodeJob runs{"7", "RUNNING", {"v1"}}, theirs{"8", "SUSPENDED", {"v1"}};
  auto next = plan_sleep("v1", &v1, {runs, theirs}, {}, "10.0.0.2", kAsleep);
  EXPECT_THAT(next.commands, ElementsAre(drain_command({"v1"}, kAsleepReason)));
  EXPECT_THAT(next.suspended, ElementsAre("7"));
  EXPECT_FALSE(next.done);

  v1 = held(v1);
  next = plan_sleep("v1", &v1, {runs, theirs}, {}, "10.0.0.2", kAsleep);
  EXPECT_THAT(next.commands, IsEmpty()) << "it came meanwhile, and is written down first";
  next = plan_sleep("v1", &v1, {runs, theirs}, {"7"}, "10.0.0.2", kAsleep);
  EXPECT_THAT(next.commands, ElementsAre(Command{"scontrol", "suspend", "7"}));
  EXPECT_THAT(next.why, HasSubstr("Slurm job 7 on v1 is not suspended yet"));

  const NodeJob sleeps{"7", "SUSPENDED", {"v1"}};
  next = plan_sleep("v1", &v1, {sleeps, theirs}, {"7"}, "10.0.0.2", kAsleep);
  EXPECT_THAT(next.commands, ElementsAre(address_command({{"v1", "10.0.0.2"}})));
  EXPECT_THAT(next.suspended, ElementsAre("7")) << "the other one is somebody else's";
  EXPECT_TRUE(next.done);
  v1.address = "10.0.0.2";
  EXPECT_THAT(plan_sleep("v1", &v1, {sleeps}, {"7"}, "10.0.0.2", kAsleep).commands, IsEmpty());
  EXPECT_THAT(plan_sleep("v1", &v1, {}, {"7"}, "10.0.0.2", kAsleep).suspended, IsEmpty()) << "it was cancelled";
}

TEST(PlanSleep, WaitsForWhatIsClearedAwayAndForSomebodyWhoAnswers) {
  auto v1 = held(node("v1", "10.0.0.1"));
  EXPECT_FALSE(plan_sleep("v1", &v1, {{"7", "COMPLETING", {"v1"}}}, {}, "10.0.0.2", kAsleep).done);
  const auto alone = plan_sleep("v1", &v1, {}, {"9"}, "", kAsleep);
  EXPECT_FALSE(alone.done);
  EXPECT_THAT(alone.suspended, ElementsAre("9"));
  EXPECT_THAT(alone.why, HasSubstr("no other node of Slurm answers"));
  EXPECT_TRUE(plan_sleep("v1", nullptr, {}, {}, "", kAsleep).done) << "Slurm has nothing there";
}

TEST(PlanSleep, SuspendsAJobOfSeveralNodesOnceAllAreToSleep) {
  const auto v1 = held(node("v1", "10.0.0.1"));
  const NodeJob both{"7", "RUNNING", {"v1", "v2"}};
  auto next = plan_sleep("v1", &v1, {both}, {"7"}, "10.0.0.3", kAsleep);
  EXPECT_THAT(next.commands, IsEmpty());
  EXPECT_FALSE(next.done);
  EXPECT_EQ(next.why, "the Slurm job 7 is on v2, too, which is not to sleep");
  next = plan_sleep("v1", &v1, {both}, {"7"}, "10.0.0.3", {.to_sleep = {"v1", "v2"}});
  EXPECT_THAT(next.commands, ElementsAre(Command{"scontrol", "suspend", "7"}));
  next = plan_sleep("v1", &v1, {both}, {"7"}, "10.0.0.3", {}, true);
  EXPECT_THAT(next.commands, ElementsAre(Command{"scontrol", "suspend", "7"})) << "v2 waits while v1 moves";
  const NodeJob sleeps{"7", "SUSPENDED", {"v1", "v2"}};
  next = plan_sleep("v1", &v1, {sleeps}, {}, "10.0.0.3", {.to_sleep = {"v1", "v2"}, .suspended = {"7"}});
  EXPECT_THAT(next.suspended, ElementsAre("7")) << "v2 has written it down, so it is none of somebody else";
  EXPECT_TRUE(next.done);
}

TEST(PlanWaking, HasAJobOfSeveralNodesGoOnOnceAllAreAwake) {
  auto v1 = held(node("v1", "10.0.0.3"));
  const NodeJob sleeps{"7", "SUSPENDED", {"v1", "v2"}};
  auto next = plan_waking("v1", &v1, {sleeps}, {"7"}, "10.0.0.1", true, {.away = {"v2"}});
  EXPECT_THAT(next.commands, ElementsAre(address_command({{"v1", "10.0.0.1"}}), admit_command({"v1"})));
  EXPECT_THAT(next.suspended, ElementsAre("7"));
  v1 = node("v1", "10.0.0.1");
  next = plan_waking("v1", &v1, {sleeps}, {"7"}, "10.0.0.1", true, {.away = {"v2"}});
  EXPECT_TRUE(next.done) << "the node is as it was";
  EXPECT_THAT(next.suspended, ElementsAre("7")) << "and its job waits";
  EXPECT_EQ(next.why, "the Slurm job 7 goes on when v2 is awake, too");
  next = plan_waking("v1", &v1, {sleeps}, {"7"}, "10.0.0.1", true, {.away = {"v1"}});
  EXPECT_THAT(next.commands, ElementsAre(Command{"scontrol", "resume", "7"}));
}

TEST(Companions, AreAllThatJobsLeadTo) {
  const std::vector<NodeJob> jobs = {{"9", "RUNNING", {"v3", "v4"}},
                                     {"7", "SUSPENDED", {"v1", "v2"}},
                                     {"8", "RUNNING", {"v2", "v3"}},
                                     {"6", "RUNNING", {"v5", "v6"}}};
  using ::testing::Pair;
  EXPECT_THAT(companions(jobs, {"v1"}), ElementsAre(Pair("v2", "7"), Pair("v3", "8"), Pair("v4", "9")));
  EXPECT_THAT(companions(jobs, {"v5", "v6"}), IsEmpty());
  EXPECT_THAT(companions(jobs, {"v9"}), IsEmpty());
}

TEST(PlanWaking, HasTheNodeAnswerItselfBeforeItsJobsGoOn) {
  auto v1 = held(node("v1", "10.0.0.2"));
  const NodeJob sleeps{"7", "SUSPENDED", {"v1"}}, theirs{"8", "SUSPENDED", {"v1"}};
  auto next = plan_waking("v1", &v1, {sleeps, theirs}, {"7"}, "10.0.0.1", true, {});
  EXPECT_THAT(next.commands, ElementsAre(address_command({{"v1", "10.0.0.1"}}), Command{"scontrol", "resume", "7"},
                                         admit_command({"v1"})));
  EXPECT_FALSE(next.done);
  EXPECT_THAT(plan_waking("v1", &v1, {}, {}, "10.0.0.1", false, {}).commands, testing::SizeIs(1)) << "it is to go";
  v1 = node("v1", "10.0.0.1");
  EXPECT_TRUE(plan_waking("v1", &v1, {{"7", "RUNNING", {"v1"}}, theirs}, {"7"}, "10.0.0.1", true, {}).done);
  const auto of_others = held(node("v1", "10.0.0.1"), "broken fan");
  EXPECT_THAT(plan_waking("v1", &of_others, {}, {}, "10.0.0.1", true, {}).commands, IsEmpty())
      << "somebody else holds it";
}

}  // namespace
}  // namespace underway::slurm
