#include "slurm/elastic/join.hpp"

#include <gmock/gmock.h>

namespace underway::slurm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Version k2011{20, 11, 4}, k2205{22, 5, 8}, k2411{24, 11, 5};

ElasticPool pool(const std::string& name, std::vector<std::string> hosts) {
  return {.name = name, .hosts = std::move(hosts), .cpus = 8, .sockets = 2, .memory_mb = 16000, .features = {"ib"}};
}

TEST(SlurmJoin, IsChosenByReleaseAndTopologyWithTheReason) {
  struct Case {
    const char* name;
    JoinConditions conditions;
    JoinMode mode;
    const char* why;
  };
  const std::vector<Case> cases = {
      {"too old", {k2011, "", "select/cons_tres"}, JoinMode::cloud, "20.11 has no dynamic nodes"},
      {"the usual one", {k2205, "", "select/cons_tres"}, JoinMode::dynamic, "no topology"},
      {"no topology by name", {k2205, "topology/none", "select/cons_tres"}, JoinMode::dynamic, "no topology"},
      {"the newer name", {k2205, "topology/default", "select/cons_tres"}, JoinMode::dynamic, "no topology"},
      {"a tree", {k2205, "topology/tree", "select/cons_tres"}, JoinMode::cloud, "topology/tree"},
      {"24.11", {k2411, "", ""}, JoinMode::cloud, "may refuse a job of several nodes"},
      {"whole nodes", {k2411, "", "select/linear"}, JoinMode::cloud, "slurm.conf has select/linear"},
      {"the default of its time", {k2205, "", ""}, JoinMode::cloud, "Slurm's default, select/cons_res"},
      {"the same nodes always", {k2205, "", "select/cons_tres", false}, JoinMode::fixed, "same nodes"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto choice = choose_join(c.conditions);
    EXPECT_EQ(choice.mode, c.mode) << to_string(choice.mode);
    EXPECT_THAT(choice.why, HasSubstr(c.why));
  }
}

TEST(SlurmJoin, DynamicNodesAreKnownByTheirFeature) {
  const auto made = render_join(JoinMode::dynamic, k2205, {pool("burst", {"b1", "b2", "b3"}), pool("gpu", {})}, {},
                                {.slurmctld = "enable_configless", .other_nodes = 12});
  EXPECT_THAT(made.problems, IsEmpty());
  EXPECT_EQ(made.text(),
            "MaxNodeCount=15\n"
            "SelectType=select/cons_tres\n"
            "TreeWidth=65533\n"
            "ReturnToService=2\n"
            "SlurmctldParameters=enable_configless,cloud_reg_addrs\n"
            "CommunicationParameters=NoAddrCache\n"
            "NodeSet=burst Feature=burst\n"
            "PartitionName=burst Nodes=burst\n"
            "NodeSet=gpu Feature=gpu\n"
            "PartitionName=gpu Nodes=gpu\n");
  EXPECT_THAT(slurmd_words(JoinMode::dynamic, pool("burst", {}), "b2"),
              ElementsAre("-b", "-Z", "-N", "b2", "--conf",
                          "CPUs=8 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=16000 "
                          "Feature=burst,ib"));
}

TEST(SlurmJoin, WhatALaterReleaseDoesByItselfIsNotWritten) {
  const auto made = render_join(JoinMode::dynamic, k2411, {pool("burst", {"b1"})}, {}, {});
  EXPECT_THAT(made.options, ElementsAre("MaxNodeCount=1", "SelectType=select/cons_tres", "ReturnToService=2"));
  const auto cloud = render_join(JoinMode::cloud, k2411, {pool("burst", {"b1"})}, {}, {});
  EXPECT_THAT(cloud.options, ElementsAre("ReturnToService=2"));
}

TEST(SlurmJoin, CloudNodesStandInTheOrderOfTheLeavesWithTheSameWeight) {
  const std::vector<Leaf> leaves = {{"s2", {"b5", "b6", "x1"}}, {"s1", {"b1", "b2", "b3"}}};
  const auto made = render_join(JoinMode::cloud, k2011, {pool("burst", {"b1", "b2", "b3", "b5", "b6"})}, leaves,
                                {.private_data = "jobs"});
  EXPECT_THAT(made.problems, IsEmpty());
  EXPECT_THAT(made.lines,
              ElementsAre("NodeName=b[5-6] CPUs=8 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=1 "
                          "RealMemory=16000 Feature=burst,ib Weight=1 State=CLOUD",
                          "NodeName=b[1-3] CPUs=8 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=1 "
                          "RealMemory=16000 Feature=burst,ib Weight=1 State=CLOUD",
                          "PartitionName=burst Nodes=b[1-3,5-6]"));
  EXPECT_THAT(made.options, Contains("PrivateData=jobs,cloud"));
  EXPECT_THAT(made.options, Contains("TreeWidth=65533"));
  EXPECT_THAT(made.options, Not(Contains(HasSubstr("MaxNodeCount"))));

  const auto outside = render_join(JoinMode::cloud, k2411, {pool("burst", {"b1", "b7", "b8"})}, leaves, {});
  EXPECT_THAT(outside.problems, ElementsAre(HasSubstr("b[7-8] of the pool 'burst' are on no switch")));
}

TEST(SlurmJoin, SaysAtOnceWhyAConfigurationCannotWork) {
  const auto made = render_join(JoinMode::dynamic, k2011, {pool("burst", {"b1"})}, {},
                                {.slurmctld = "cloud_dns,enable_configless"}, AskPrograms{.resume = "/r"});
  EXPECT_THAT(made.problems,
              ElementsAre(HasSubstr("20.11 has no dynamic nodes"), HasSubstr("cloud_dns"), HasSubstr("State=CLOUD")));
  EXPECT_THAT(made.options, Not(Contains(HasSubstr("ResumeProgram"))));
}

TEST(SlurmJoin, SlurmAsksByItsProgramsWhereTheSiteWantsThat) {
  const AskPrograms asks{.resume = "/usr/bin/r", .suspend = "/usr/bin/s", .resume_fail = "/usr/bin/f"};
  const auto made = render_join(JoinMode::cloud, k2205, {pool("burst", {"b1"})}, {}, {}, asks);
  EXPECT_THAT(made.problems, IsEmpty());
  for (const char* option : {"ResumeProgram=/usr/bin/r", "SuspendProgram=/usr/bin/s", "ResumeFailProgram=/usr/bin/f",
                             "ResumeTimeout=600", "SuspendTimeout=30", "SuspendTime=600", "ResumeRate=0"})
    EXPECT_THAT(made.options, Contains(option));
  EXPECT_THAT(made.options, Contains("SlurmctldParameters=cloud_reg_addrs,idle_on_node_suspend"));
  EXPECT_THAT(made.options, Not(Contains(HasSubstr("SuspendExcNodes"))));
}

TEST(SlurmJoin, PowerSavingLeavesOtherNodesAlone) {
  const AskPrograms asks{.resume = "/r", .suspend = "/s", .left_alone = {"b1", "c1", "c2"}};
  const auto made =
      render_join(JoinMode::cloud, k2411, {pool("burst", {"b1", "b2"})}, {}, {.slurmctld = "enable_configless"}, asks);
  EXPECT_THAT(made.options, Contains("SuspendExcNodes=b1,c[1-2]"));
  EXPECT_THAT(made.options, Contains("SlurmctldParameters=enable_configless,idle_on_node_suspend"));
}

}  // namespace
}  // namespace underway::slurm
