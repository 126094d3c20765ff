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
  EXPECT_EQ(made.spare, (Hosts{{"farm", {"17"}}})) << "slurmctld would have it killed";
  EXPECT_EQ(made.drain, (std::vector<std::string>{"m1", "m2"}));
}

TEST(Reconcile, WhatWaitedInAnOldStateIsHeld) {
  const std::vector<Belief> waiting = {{"17", "PENDING", "ann", {}},
                                       {"18", "PENDING", "ann", {}, true},
                                       {"19", "PENDING", "bob", {}},
                                       {"20", "PENDING", "bob", {}}};
  const Hosts hosts{{"farm", {"20"}}};
  EXPECT_EQ(reconcile(waiting, {}, kHostOf, hosts, kLongBehind).commands.size(), 1U) << "the queue goes on";
  const auto made = reconcile(waiting, {}, kHostOf, hosts, std::chrono::hours(21 * 24));
  EXPECT_EQ(made.commands,
            (std::vector<std::vector<std::string>>{{"scontrol", "hold", "20"}, {"scontrol", "hold", "17,19"}}))
      << "what somebody holds stays as it is";
  ASSERT_EQ(kinds(made), (std::vector{Kind::doubled, Kind::waited}));
  EXPECT_NE(made.findings[1].text.find("2 Slurm jobs (17 to 19)"), std::string::npos) << made.findings[1].text;
}

TEST(Reconcile, StrangersAreToldAndTheirIdsNotGivenOutAgain) {
  const auto made =
      reconcile({{"17", "COMPLETED", "ann", {}}}, {}, kHostOf, Hosts{{"c1", {"17", "21"}}, {"c2", {"21"}}});
  ASSERT_EQ(kinds(made), (std::vector{Kind::unknown, Kind::unknown}));
  EXPECT_EQ(made.unknown_up_to, 21);
  EXPECT_NE(made.findings[1].text.find("c[1-2]"), std::string::npos) << made.findings[1].text;
  EXPECT_TRUE(made.commands.empty());
  EXPECT_EQ(made.spare, (Hosts{{"c1", {"17", "21"}}, {"c2", {"21"}}}));
  EXPECT_EQ(made.drain, (std::vector<std::string>{"c1", "c2"}));
}

TEST(Reconcile, WhatEndsJustNowMayBeThereOrNot) {
  EXPECT_TRUE(reconcile({{"17", "COMPLETING", "ann", {"c1"}}}, {"17"}, kHostOf, Hosts{{"c1", {}}}).findings.empty());
  EXPECT_TRUE(
      reconcile({{"17", "COMPLETING", "ann", {"c1"}}}, {"17"}, kHostOf, Hosts{{"c1", {"17"}}}).findings.empty());
}

TEST(Reconcile, ReadsWhatIsPrintedAsFarAsItMakesSense) {
  EXPECT_EQ(
      parse_beliefs("17|RUNNING|ann|c[1-2]|None\n18|PENDING|bob||Resources\n20|PENDING|bob||JobHeldUser\nnonsense\n"
                    "x|RUNNING|ann|c1|None\n19|RUNNING|a|c[1|None\n"),
      (std::vector<Belief>{
          {"17", "RUNNING", "ann", {"c1", "c2"}}, {"18", "PENDING", "bob", {}}, {"20", "PENDING", "bob", {}, true}}));
  EXPECT_EQ(parse_steps("17.batch\n18.0\n18.1\nStepId\n.3\n"), (std::set<std::string>{"17", "18"}));
  EXPECT_EQ(parse_host_steps("17.batch\n18.0\nlooked\n"), (std::set<std::string>{"17", "18"}));
  EXPECT_EQ(parse_host_steps("looked"), std::set<std::string>{});
  EXPECT_EQ(parse_host_steps("17.batch\n"), std::nullopt) << "it did not get to its end";
}

TEST(Hold, SaysWhatSlurmConfUnderstands) {
  EXPECT_NE(hold_text({}).find("SlurmdTimeout=65533\nPartitionName=DEFAULT State=DOWN\n"), std::string::npos);
  EXPECT_EQ(hold_text({.partitions_down = false}).find("Partition"), std::string::npos);
  EXPECT_NE(hold_text({.first_job = 22}).find("FirstJobId=22\n"), std::string::npos);
  EXPECT_NE(hold_text({.timeout = kNeverTimeout}).find("SlurmdTimeout=0\n"), std::string::npos);
  EXPECT_EQ(hold_text({.timeout = {}}).find("SlurmdTimeout="), std::string::npos);
  EXPECT_EQ(no_hold_text().front(), '#');
  EXPECT_EQ(parse_partitions("main|up\ndebug|down\nmain|up\n\n"),
            (std::vector<Partition>{{"main", true}, {"debug", false}}));
  EXPECT_EQ(parse_partitions("main|up|mixed|c1\nmain|up|idle*|c2\nspare|down|n/a|\n"),
            (std::vector<Partition>{{"main", true}, {"spare", false}}));
  EXPECT_EQ(parse_boot_time("Configuration data as of 2026\nBOOT_TIME               = 2026-11-21T23:00:00\n"),
            "2026-11-21T23:00:00");
}

TEST(Hold, KnowsTheNodesThatDoNotAnswerAndAreNotTakenForDead) {
  EXPECT_EQ(
      parse_silent("main|up|mixed*|c[1-2]\nmain|up|idle|c3\nlong|up|mixed*|c2\nmain|up|down*|c4\nx|up|idle*|c[\n"),
      (std::set<std::string>{"c1", "c2"}));
  EXPECT_TRUE(parse_silent("main|up\nnonsense*\n\n").empty());
}

TEST(Reconcile, ANodeThatDoesNotAnswerIsCutOffWhenItsJobsRun) {
  const std::vector<Belief> beliefs = {
      {"17", "RUNNING", "ann", {"c1", "c2"}}, {"18", "RUNNING", "ann", {"c3"}}, {"19", "COMPLETING", "ann", {"c4"}}};
  const std::map<std::string, std::string> host_of = {{"c1", "c1"}, {"c2", "c2"}, {"c3", "c3"}, {"c4", "c4"}};
  const std::set<std::string> all = {"c1", "c2", "c3", "c4"};
  EXPECT_EQ(cut_off(all, beliefs, host_of, {{"c1", {"17"}}, {"c2", {"17"}}, {"c3", {"18"}}, {"c4", {"19"}}}),
            (std::set<std::string>{"c1", "c2", "c3"}));
  EXPECT_EQ(cut_off({"c2", "c3"}, beliefs, host_of, {{"c2", {"17"}}, {"c3", {"16"}}}), (std::set<std::string>{"c2"}))
      << "on c3 runs something else: it may have been booted anew";
  EXPECT_TRUE(cut_off(all, beliefs, host_of, {}).empty()) << "nobody sees them: they may be dead";
  EXPECT_TRUE(cut_off({}, beliefs, host_of, {{"c1", {"17"}}}).empty());
}

TEST(Hold, NoJobNumberIsGivenTwice) {
  EXPECT_EQ(parse_next_job("NEXT_JOB_ID             = 330\nNodeFeaturesPlugins     = (null)\n"), 330);
  EXPECT_EQ(parse_next_job("ClusterName = apart\n"), 0);
  EXPECT_EQ(first_job_after(330, 330, 1000), 0) << "it moved, and has what it had";
  EXPECT_EQ(first_job_after(264, 330, 1000), 1330) << "it is from a snapshot; some may have come since the last look";
  // The server was started anew since: it knows the bound only.
  EXPECT_EQ(first_job_after(264, 0, 1000), 1000);
  EXPECT_EQ(first_job_after(264, 0, 5000), 6000);
  EXPECT_EQ(first_job_after(1000, 0, 1000), 0);
  EXPECT_EQ(first_job_after(1, 0, 0), 0);
  EXPECT_EQ(job_bound(330), 1000);
  EXPECT_EQ(job_bound(1000), 2000);
}

TEST(Hold, KnowsHowOldAStateIs) {
  const TimePoint state{std::chrono::seconds{1000}}, look = state + std::chrono::hours(1),
                                                     now = look + std::chrono::hours(1);
  EXPECT_EQ(parse_state_time("# state of 1000\nSlurmdTimeout=65533\n"), state);
  EXPECT_EQ(parse_state_time("# state of 0\n"), std::nullopt) << "there was none";
  EXPECT_EQ(parse_state_time("# state of 1e9\n# state of\n"), std::nullopt);
  EXPECT_EQ(parse_state_time("# state of 99999999999999999999\n"), std::nullopt);
  EXPECT_EQ(behind(state, look, now, 1, 0), std::chrono::hours(1));
  EXPECT_EQ(behind(look, state, now, 1, 0), Duration{0});
  EXPECT_EQ(behind(std::nullopt, look, now, 1, 0), Duration{0});
  EXPECT_EQ(behind(state, std::nullopt, now, 264, 1000), Duration{0}) << "it stood still, as far as anybody knows";
  EXPECT_EQ(behind(state, std::nullopt, now, 264, 5000), std::chrono::hours(2));
}

TEST(Hold, IsKnownByATimeoutThatNoSiteHas) {
  EXPECT_TRUE(is_held("SlurmdSyslogDebug       = (null)\nSlurmdTimeout           = 65533 sec\n"));
  EXPECT_FALSE(is_held("SlurmdTimeout           = 300 sec\nSlurmctldTimeout        = 65533 sec\n"));
  EXPECT_FALSE(is_held(""));
  EXPECT_FALSE(is_held("SlurmdTimeout           = 0 sec\n")) << "that is a site's own, or for the sake of some nodes";
  EXPECT_FALSE(gives_nodes_up("SlurmdTimeout           = 0 sec\n"));
  EXPECT_TRUE(gives_nodes_up("SlurmdTimeout           = 300 sec\n"));
}

}  // namespace
}  // namespace underway::slurm
