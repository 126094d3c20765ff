#include "slurm/reconcile.hpp"

#include <gtest/gtest.h>

#include "slurm/hold.hpp"

namespace underway::slurm {
namespace {

using Kind = Finding::Kind;
using Hosts = std::map<std::string, std::set<std::string>>;

const std::map<std::string, std::string> kHostOf = {{"c1", "c1"}, {"c2", "c2"}, {"m1", "farm"}, {"m2", "farm"}};

std::vector<Kind> kinds(const Reconciliation& made) {
  std::vector<Kind> out;
  for (const auto& finding : made.findings) out.push_back(finding.kind);
  return out;
}

TEST(Reconcile, WhatRunsOnBothSidesIsLeftAlone) {
  const auto made = reconcile({{"17", "RUNNING", "ann", {"c1", "c2"}}, {"18", "PENDING", "ann", {}}}, {"17"}, kHostOf,
                              {{"c1", {"17"}}, {"c2", {}}});
  EXPECT_TRUE(made.findings.empty());
  EXPECT_TRUE(made.commands.empty());
}

TEST(Reconcile, AGhostIsEnded) {
  const auto made = reconcile({{"17", "RUNNING", "ann", {"c1"}}}, {"17"}, kHostOf, Hosts{{"c1", {}}, {"c2", {}}});
  ASSERT_EQ(kinds(made), std::vector{Kind::ghost});
  EXPECT_EQ(made.commands, (std::vector<std::vector<std::string>>{{"scancel", "17"}}));
  EXPECT_NE(made.findings[0].text.find("c1"), std::string::npos);
}

TEST(Reconcile, AnAllocationWithoutStepsIsNoGhost) {
  const auto made = reconcile({{"17", "RUNNING", "ann", {"c1"}}}, {}, kHostOf, Hosts{{"c1", {}}});
  EXPECT_TRUE(made.findings.empty()) << "salloc runs nothing on its nodes";
}

TEST(Reconcile, WhatCannotBeSeenIsNotEnded) {
  const auto made = reconcile({{"17", "RUNNING", "ann", {"c1", "c2"}}}, {"17"}, kHostOf, Hosts{{"c1", {}}});
  ASSERT_EQ(kinds(made), std::vector{Kind::unseen});
  EXPECT_EQ(made.findings[0].hosts, std::vector<std::string>{"c2"});
  EXPECT_TRUE(made.commands.empty());
}

TEST(Reconcile, WhatRunsIsNotStartedAgain) {
  const auto made = reconcile({{"17", "PENDING", "ann", {}}}, {}, kHostOf, Hosts{{"farm", {"17"}}});
  ASSERT_EQ(kinds(made), std::vector{Kind::doubled});
  EXPECT_EQ(made.commands, (std::vector<std::vector<std::string>>{{"scontrol", "hold", "17"}}));
}

TEST(Reconcile, StrangersAreToldAndTheirIdsNotGivenOutAgain) {
  const auto made =
      reconcile({{"17", "COMPLETED", "ann", {}}}, {}, kHostOf, Hosts{{"c1", {"17", "21"}}, {"c2", {"21"}}});
  ASSERT_EQ(kinds(made), (std::vector{Kind::unknown, Kind::unknown}));
  EXPECT_EQ(made.unknown_up_to, 21);
  EXPECT_NE(made.findings[1].text.find("c[1-2]"), std::string::npos) << made.findings[1].text;
  EXPECT_TRUE(made.commands.empty());
}

TEST(Reconcile, WhatEndsJustNowMayBeThereOrNot) {
  EXPECT_TRUE(reconcile({{"17", "COMPLETING", "ann", {"c1"}}}, {"17"}, kHostOf, Hosts{{"c1", {}}}).findings.empty());
  EXPECT_TRUE(
      reconcile({{"17", "COMPLETING", "ann", {"c1"}}}, {"17"}, kHostOf, Hosts{{"c1", {"17"}}}).findings.empty());
}

TEST(Reconcile, ReadsWhatIsPrintedAsFarAsItMakesSense) {
  EXPECT_EQ(parse_beliefs("17|RUNNING|ann|c[1-2]\n18|PENDING|bob|\nnonsense\nx|RUNNING|ann|c1\n19|RUNNING|a|c[1\n"),
            (std::vector<Belief>{{"17", "RUNNING", "ann", {"c1", "c2"}}, {"18", "PENDING", "bob", {}}}));
  EXPECT_EQ(parse_steps("17.batch\n18.0\n18.1\nStepId\n.3\n"), (std::set<std::string>{"17", "18"}));
  EXPECT_EQ(parse_host_steps("17.batch\n18.0\nlooked\n"), (std::set<std::string>{"17", "18"}));
  EXPECT_EQ(parse_host_steps("looked"), std::set<std::string>{});
  EXPECT_EQ(parse_host_steps("17.batch\n"), std::nullopt) << "it did not get to its end";
}

TEST(Hold, SaysWhatSlurmConfUnderstands) {
  EXPECT_NE(hold_text({}).find("SlurmdTimeout=65533\nPartitionName=DEFAULT State=DOWN\n"), std::string::npos);
  EXPECT_EQ(hold_text({.partitions_down = false}).find("Partition"), std::string::npos);
  EXPECT_NE(hold_text({.first_job = 22}).find("FirstJobId=22\n"), std::string::npos);
  EXPECT_EQ(no_hold_text().front(), '#');
  EXPECT_EQ(parse_partitions("main|up\ndebug|down\nmain|up\n\n"),
            (std::vector<Partition>{{"main", true}, {"debug", false}}));
  EXPECT_EQ(parse_boot_time("Configuration data as of 2026\nBOOT_TIME               = 2026-11-21T23:00:00\n"),
            "2026-11-21T23:00:00");
}

}  // namespace
}  // namespace underway::slurm
