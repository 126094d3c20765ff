// From a queue, nodes and hosts to what pools are to have.
#include "growth/look.hpp"

#include <gmock/gmock.h>

namespace underway::growth {
namespace {

using elastic::NodePhase;
using model::HostStatus;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr TimePoint kNow{std::chrono::hours(500'000)};

class Looking : public testing::Test {
 protected:
  Looking() {
    facts_.name = "tide";
    PoolFacts pool;
    pool.type.name = "compute";
    pool.type.vcpus = 4;
    pool.type.memory_mb = 1000;
    pool.type.min_nodes = 2;
    pool.type.max_nodes = 6;
    pool.type.keep_alive = "60s";
    pool.type.features = {"compute"};
    pool.hosts = {.cluster = "tide", .pool = "compute", .hosts = {"c1", "c2"}};
    for (int i = 1; i <= 6; ++i) pool.all_names.push_back("c" + std::to_string(i));
    facts_.pools.push_back(pool);
    facts_.memory.cluster = "tide";
    for (const auto* name : {"c1", "c2"}) up(name);
  }

  void up(const std::string& name) {
    facts_.hosts.push_back({.name = name, .pool = "compute", .status = HostStatus::running, .admitted = true});
    slurm_.records.push_back({.name = name, .state = "IDLE", .cpus = 4, .memory_mb = 1000, .partitions = {"batch"}});
  }
  slurm::NodeRecord& record(const std::string& name) {
    return *std::find_if(slurm_.records.begin(), slurm_.records.end(), [&](const auto& it) { return it.name == name; });
  }
  HostFacts& host(const std::string& name) {
    return *std::find_if(facts_.hosts.begin(), facts_.hosts.end(), [&](const auto& it) { return it.name == name; });
  }
  void waits(const std::string& id, std::int64_t nodes, std::int64_t cpus) {
    slurm_.queue.push_back({.id = id,
                            .state = "PENDING",
                            .reason = "Resources",
                            .partitions = {"batch"},
                            .priority = 1,
                            .nodes_min = nodes,
                            .cpus = cpus,
                            .submitted = now_ - seconds(5)});
  }
  void runs(const std::string& id, std::vector<std::string> nodes) {
    for (const auto& name : nodes) {
      record(name).state = "ALLOCATED";
      record(name).cpus_given = 4;
    }
    slurm_.queue.push_back({.id = id,
                            .state = "RUNNING",
                            .partitions = {"batch"},
                            .nodes_min = static_cast<std::int64_t>(nodes.size()),
                            .cpus = 4 * static_cast<std::int64_t>(nodes.size()),
                            .nodes = nodes});
  }
  /// A look, and all of it in force for the next.
  Outlook look(Duration after = seconds(1)) {
    now_ += after;
    auto out = think(facts_, slurm_, before_, now_, after);
    before_ = out.hosts;
    facts_.memory = out.memory;
    for (const auto& hosts : out.pools) facts_.pools[0].hosts = hosts;
    return out;
  }
  JobExplanation explained(const Outlook& out, const std::string& job) const {
    return explain("tide", out.explanation, slurm_.queue, job);
  }
  const std::vector<std::string>& wanted() const { return facts_.pools[0].hosts.hosts; }

  ClusterFacts facts_;
  SlurmLook slurm_;
  std::map<std::string, Seen> before_;
  TimePoint now_ = kNow;
};

TEST_F(Looking, HostsAreAskedForOnceForAJobThatWaits) {
  waits("17", 4, 16);
  auto out = look();
  EXPECT_THAT(wanted(), ElementsAre("c1", "c2", "c3", "c4")) << "two are there";
  EXPECT_EQ(out.asked_for, 2);
  EXPECT_FALSE(out.settled);
  EXPECT_EQ(out.status.pools[0].booting, 0) << "as of the look";
  out = look();
  EXPECT_EQ(out.asked_for, 0);
  EXPECT_EQ(out.status.pools[0].booting, 2);
  EXPECT_THAT(out.pools, IsEmpty());
}

TEST_F(Looking, AnIdleHostIsGivenBackWhenItsTimeIsUpAndABusyOneNever) {
  facts_.pools[0].hosts.hosts = {"c1", "c2", "c3", "c4"};
  up("c3");
  up("c4");
  runs("5", {"c1", "c3"});
  look();
  look(seconds(59));
  EXPECT_THAT(wanted(), SizeIs(4));
  auto out = look(seconds(2));
  EXPECT_THAT(wanted(), UnorderedElementsAre("c1", "c3")) << "there are always two, whichever";
  EXPECT_EQ(out.given_back, 2);
  look(minutes(10));
  EXPECT_THAT(wanted(), UnorderedElementsAre("c1", "c3"));
}

TEST_F(Looking, AServerThatWasStartedAgainKeepsIdleHostsForAsLongAgain) {
  facts_.pools[0].hosts.hosts = {"c1", "c2", "c3"};
  up("c3");
  look();
  look(seconds(59));
  before_.clear();
  look(seconds(30));
  EXPECT_THAT(wanted(), SizeIs(3));
  look(seconds(61));
  EXPECT_THAT(wanted(), SizeIs(2));
}

TEST_F(Looking, NamesOfHostsThatStillGoAreNotGivenAgain) {
  facts_.hosts.push_back({.name = "c3", .pool = "compute", .status = HostStatus::stopping});
  facts_.hosts.push_back({.name = "c4", .pool = "compute", .status = HostStatus::stopped});
  waits("17", 3, 12);
  look();
  EXPECT_THAT(wanted(), ElementsAre("c1", "c2", "c5"));
}

TEST_F(Looking, AHostThatCannotBeMadeIsGivenBackAndCounts) {
  waits("17", 3, 12);
  look();
  ASSERT_THAT(wanted(), ElementsAre("c1", "c2", "c3"));
  facts_.hosts.push_back({.name = "c3", .pool = "compute", .status = HostStatus::failed});
  const auto out = look();
  EXPECT_EQ(out.failed_boots, 1);
  EXPECT_EQ(facts_.memory.state.classes["compute"].failed_boots, 1);
  EXPECT_THAT(wanted(), testing::Not(testing::Contains("c3")));
}

TEST_F(Looking, APoolWithoutRoomIsLeftAloneForAWhile) {
  waits("17", 3, 12);
  look();
  facts_.hosts.push_back({.name = "c3",
                          .pool = "compute",
                          .status = HostStatus::creating,
                          .placed = false,
                          .created_at = unix_nanos(now_)});
  look(seconds(14));
  EXPECT_THAT(wanted(), ElementsAre("c1", "c2", "c3")) << "a node may be about to have room";
  const auto out = look(seconds(2));
  EXPECT_THAT(wanted(), ElementsAre("c1", "c2"));
  EXPECT_THAT(out.status.pools[0].trouble, HasSubstr("refused"));
  facts_.hosts.pop_back();
  EXPECT_EQ(look().asked_for, 0);
  EXPECT_EQ(look(minutes(1)).asked_for, 1);
}

TEST_F(Looking, OneThatIsAlwaysThereIsNotGivenBackWhenItFails) {
  host("c2").status = HostStatus::failed;
  host("c2").admitted = false;
  slurm_.records.pop_back();
  for (int i = 0; i < 10; ++i) look();
  EXPECT_THAT(wanted(), ElementsAre("c1", "c2"));
}

TEST_F(Looking, ANodeThatAnAdministratorHoldsIsNeitherCountedNorTakenAway) {
  facts_.pools[0].hosts.hosts = {"c1", "c2", "c3"};
  up("c3");
  record("c3").flags.insert("DRAIN");
  record("c3").reason = "disk is full";
  look();
  look(minutes(5));
  EXPECT_THAT(wanted(), ElementsAre("c1", "c2", "c3"));
}

TEST_F(Looking, WhatMoreNodesDoNotCureAsksForNone) {
  waits("17", 1, 64);
  waits("18", 9, 36);
  waits("19", 3, 12);
  slurm_.queue.back().reason = "Dependency";
  const auto out = look();
  EXPECT_EQ(out.asked_for, 0);
  EXPECT_EQ(out.status.pending, 3);
  EXPECT_THAT(explained(out, "17").lines, ElementsAre(HasSubstr("has 4 processors, they need 64")));
  EXPECT_THAT(explained(out, "18").lines, ElementsAre(HasSubstr("class 'compute'")));
  const auto third = explained(out, "19");
  EXPECT_EQ(third.reason, "Dependency");
  EXPECT_THAT(third.lines, ElementsAre(HasSubstr("Dependency, which more nodes do not cure")));
  EXPECT_EQ(explained(out, "20").state, "");
}

TEST_F(Looking, WhatNoHostHasAsksForNone) {
  for (int i = 0; i < 3; ++i) waits(std::to_string(17 + i), 3, 12);
  slurm_.queue[0].gres = "gres:gpu:1";
  slurm_.queue[1].named_nodes = "gpu[1-3]";
  slurm_.queue[2].reservation = "maintenance";
  const auto out = look();
  EXPECT_EQ(out.asked_for, 0);
  EXPECT_THAT(explained(out, "17").lines, ElementsAre(HasSubstr("'gres:gpu:1'")));
  EXPECT_THAT(explained(out, "18").lines, ElementsAre(HasSubstr("'node:gpu[1-3]'")));
  EXPECT_THAT(explained(out, "19").lines, ElementsAre(HasSubstr("'reservation:maintenance'")));
}

TEST_F(Looking, OfManyKindsOfJobsSomeAreInTheStatusAndAllAreExplained) {
  const int kinds = static_cast<int>(kMostShapesTold) + 20;
  for (int i = 0; i < kinds; ++i) waits(std::to_string(100 + i), 1, 5 + i);
  const auto out = look();
  EXPECT_EQ(out.status.explanation.shapes.size(), kMostShapesTold);
  EXPECT_EQ(out.status.lines.back(), "and 20 more kinds of jobs");
  for (int i = 0; i < kinds; ++i) EXPECT_THAT(explained(out, std::to_string(100 + i)).lines, SizeIs(1)) << i;
}

TEST_F(Looking, OfAnArrayAsManyAsMayRunAtOnce) {
  waits("30_[2-9%3]", 1, 4);
  slurm_.queue.back().array_remaining = 8;
  slurm_.queue.back().array_limit = 3;
  runs("30_1", {"c1"});
  runs("31", {"c2"});
  look();
  EXPECT_THAT(wanted(), SizeIs(4)) << "two more may run beside the one that does";
  EXPECT_EQ(explained(look(), "30_7").state, "PENDING");
}

TEST_F(Looking, AJobThatNamesSeveralPartitionsIsServedByTheOneThatGrows) {
  facts_.pools[0].type.partitions = {"batch"};
  waits("17", 3, 12);
  slurm_.queue.back().partitions = {"debug", "batch"};
  look();
  EXPECT_THAT(wanted(), SizeIs(3));
}

TEST_F(Looking, ANodeThatFallsSilentIsABootThatMayTakeTooLong) {
  facts_.pools[0].hosts.hosts = {"c1", "c2", "c3"};
  up("c3");
  runs("5", {"c1", "c2"});
  look();
  record("c3").flags.insert("NOT_RESPONDING");
  auto out = look();
  EXPECT_EQ(out.hosts["c3"].phase, NodePhase::booting);
  EXPECT_EQ(out.failed_boots, 1) << "it was lost";
  look(minutes(9));
  EXPECT_THAT(wanted(), SizeIs(3));
  look(minutes(2));
  EXPECT_THAT(wanted(), ElementsAre("c1", "c2"));
}

TEST_F(Looking, HostsCostMoneyByTheDayAndTheMonth) {
  facts_.pools[0].type.cost_per_hour = "0.50";
  look();
  facts_.memory.spending = {};
  const auto out = look(std::chrono::hours(1));
  EXPECT_EQ(out.status.spent_today, "1.00");
  EXPECT_EQ(out.status.pools[0].cost_per_hour, "1.00");
  Spending spending{.day = "2027-01-18", .month = "2027-01", .today = 5, .this_month = 7};
  spend(spending, 0, seconds(1), *parse_time("2027-01-19T00:00:01Z"));
  EXPECT_EQ(spending.today, 0);
  EXPECT_EQ(spending.this_month, 7);
  spend(spending, 0, seconds(1), *parse_time("2027-02-01T00:00:01Z"));
  EXPECT_EQ(spending.this_month, 0);
}

TEST_F(Looking, ABudgetThatIsSpentAsksForNone) {
  facts_.pools[0].type.cost_per_hour = "10";
  facts_.policy.budget.day = "1.00";
  waits("17", 3, 12);
  look();
  const auto out = look(minutes(10));
  EXPECT_EQ(out.asked_for, 0);
  EXPECT_THAT(explained(out, "17").lines, ElementsAre(HasSubstr("are spent or bound")));
}

}  // namespace
}  // namespace underway::growth
