#include "slurm/reconcile/reconcile.hpp"

#include <gtest/gtest.h>

#include "slurm/reconcile/hold.hpp"

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

const std::vector<SlurmJob> kRan = {{"17", "RUNNING", "ann", {"c1"}, false, 1000}};

Known known_end(End end) {
  Known known;
  known.nodes = {{"17", std::move(end)}};
  known.can_enter = true;
  known.state_time = 1100;
  return known;
}

TEST(Reconcile, AGhostWhoseEndIsKnownIsEnteredSo) {
  const Hosts hosts{{"c1", {}}};
  auto known = known_end({.state = "FAILED", .status = 768, .start = 1000, .end = 1200, .of_batch = true});
  const auto made = reconcile(kRan, {"17"}, kHostOf, hosts, {}, known);
  EXPECT_EQ(kinds(made), std::vector{Kind::ended});
  EXPECT_TRUE(made.commands.empty()) << "nothing is cancelled";
  ASSERT_EQ(made.entries.size(), 1U);
  EXPECT_EQ(made.entries[0].command, (std::vector<std::string>{kEnterEnd, "17", "FAILED", "768", "1000", "1200"}));
  EXPECT_EQ(made.entries[0].otherwise, (std::vector<std::string>{"scancel", "17"}));
  // Slurm's own word counts more.
  known.accounts = {{"17", {.state = "TIMEOUT", .status = 0, .start = 1000, .end = 1199, .of_accounts = true}}};
  EXPECT_EQ(reconcile(kRan, {"17"}, kHostOf, hosts, {}, known).entries[0].command,
            (std::vector<std::string>{kEnterEnd, "17", "TIMEOUT", "0", "1000", "1199"}));
  known.accounts["17"].start = 500;
  EXPECT_EQ(reconcile(kRan, {"17"}, kHostOf, hosts, {}, known).entries[0].command[2], "FAILED")
      << "that was another run";
}

TEST(Reconcile, NothingIsGuessed) {
  const Hosts hosts{{"c1", {}}};
  const auto cancelled = std::vector<std::vector<std::string>>{{"scancel", "17"}};
  const auto unsaid = reconcile(kRan, {"17"}, kHostOf, hosts, {}, known_end({.end = 1200, .of_batch = true}));
  EXPECT_EQ(unsaid.commands, cancelled);
  EXPECT_NE(unsaid.findings[0].text.find("SlurmdDebug=verbose"), std::string::npos);
  const auto old = reconcile(kRan, {"17"}, kHostOf, hosts, {}, known_end({.state = "COMPLETED", .end = 900}));
  EXPECT_EQ(old.commands, cancelled) << "another job of that number";
  auto without = known_end({.state = "COMPLETED", .end = 1200});
  without.can_enter = false;
  const auto bare = reconcile(kRan, {"17"}, kHostOf, hosts, {}, without);
  EXPECT_EQ(bare.commands, cancelled);
  EXPECT_NE(bare.findings[0].text.find("COMPLETED, at 1970-01-01T00:20:00Z"), std::string::npos)
      << bare.findings[0].text;
  const auto back = reconcile(kRan, {"17"}, kHostOf, hosts, {}, known_end({.end = 1200, .sent_back = true}));
  EXPECT_EQ(back.commands, (std::vector<std::vector<std::string>>{{"scontrol", "requeuehold", "17"}}));
}

TEST(Reconcile, WhatItsNodesWereNeverToldOfWaitsAgain) {
  const Hosts hosts{{"c1", {}}};
  Known known;
  known.state_time = 1030;
  known.logged = {"c1"};
  const auto made = reconcile(kRan, {"17"}, kHostOf, hosts, {}, known);
  EXPECT_EQ(made.commands, (std::vector<std::vector<std::string>>{
                               {"scontrol", "requeue", "17"}, {"scontrol", "update", "JobId=17", "StartTime=now"}}));
  ASSERT_EQ(made.findings.size(), 1U);
  EXPECT_EQ(made.findings[0].kind, Finding::Kind::returned);
  const auto cancelled = std::vector<std::vector<std::string>>{{"scancel", "17"}};
  auto launched = known;
  launched.nodes["17"] = {.start = 1000};
  EXPECT_EQ(reconcile(kRan, {"17"}, kHostOf, hosts, {}, launched).commands, cancelled) << "it began there";
  auto unread = known;
  unread.logged.clear();
  EXPECT_EQ(reconcile(kRan, {"17"}, kHostOf, hosts, {}, unread).commands, cancelled) << "nobody can say";
  auto long_ago = known;
  long_ago.state_time = 5000;
  EXPECT_EQ(reconcile(kRan, {"17"}, kHostOf, hosts, {}, long_ago).commands, cancelled) << "logs are not kept for ever";
}

TEST(Reconcile, WhatWasSubmittedAfterAnEndIsAnotherJobOfThatNumber) {
  std::vector<SlurmJob> waits = {{"17", "PENDING", "ann", {}}};
  waits[0].submitted = 1300;
  const auto end = known_end({.state = "COMPLETED", .start = 1100, .end = 1200, .of_batch = true});
  const auto made = reconcile(waits, {}, kHostOf, Hosts{{"c1", {}}}, {}, end);
  EXPECT_TRUE(made.entries.empty());
  EXPECT_TRUE(made.commands.empty());
  waits[0].submitted = 1000;
  EXPECT_EQ(reconcile(waits, {}, kHostOf, Hosts{{"c1", {}}}, {}, end).entries.size(), 1U);
  waits[0].is_array = true;
  const auto array = reconcile(waits, {}, kHostOf, Hosts{{"c1", {}}}, {}, end);
  EXPECT_TRUE(array.entries.empty()) << "what ended is its last task, and others wait";
  EXPECT_EQ(array.commands, (std::vector<std::vector<std::string>>{{"scontrol", "hold", "17"}}));
}

TEST(Reconcile, AStepThatOnlyWaitsForSlurmctldIsNone) {
  EXPECT_EQ(parse_steps("17.extern\n18.extern\n18.batch\n3_2.extern\n"), (std::set<std::string>{"18"}));
}

TEST(Reconcile, WhatIsStillToBeReportedGetsItsOwnEnd) {
  const auto made =
      reconcile(kRan, {"17"}, kHostOf, Hosts{{"c1", {"17"}}}, {},
                known_end({.state = "FAILED", .status = 768, .start = 1000, .end = 1200, .of_batch = true}));
  EXPECT_TRUE(made.findings.empty());
  ASSERT_EQ(made.entries.size(), 1U);
  EXPECT_EQ(made.entries[0].command[1], "-reported");
  EXPECT_TRUE(made.entries[0].otherwise.empty());
}

TEST(Reconcile, WhatWaitedAndHasRunSinceDoesNotRunAgain) {
  const std::vector<SlurmJob> waits = {{"17", "PENDING", "ann", {}}};
  const auto made = reconcile(waits, {}, kHostOf, Hosts{{"c1", {}}}, {},
                              known_end({.state = "COMPLETED", .start = 1150, .end = 1200, .of_batch = true}));
  ASSERT_EQ(made.entries.size(), 1U);
  EXPECT_EQ(made.entries[0].command, (std::vector<std::string>{kEnterEnd, "17", "COMPLETED", "0", "1150", "1200"}));
  EXPECT_EQ(made.entries[0].otherwise, (std::vector<std::string>{"scontrol", "hold", "17"}));
  const auto before = reconcile(waits, {}, kHostOf, Hosts{{"c1", {}}}, {},
                                known_end({.state = "COMPLETED", .start = 1000, .end = 1050, .of_batch = true}));
  EXPECT_TRUE(before.entries.empty()) << "it was queued again after that";
}

TEST(Reconcile, WhatWasAcceptedAndIsForgottenIsTold) {
  Known known = known_end({.state = "FAILED", .status = 9, .start = 1150, .end = 1200, .of_batch = true});
  known.accepted = {{"17", "ann"}, {"57", "bob"}, {"58", ""}, {"59", "eve"}};
  const auto made = reconcile({{"59", "PENDING", "eve", {}}}, {}, kHostOf, Hosts{{"c1", {"58"}}}, {}, known);
  EXPECT_EQ(kinds(made), (std::vector{Kind::unknown, Kind::row, Kind::accepted}));
  EXPECT_NE(made.findings[1].text.find("FAILED, signal 9"), std::string::npos) << made.findings[1].text;
  EXPECT_NE(made.findings[2].text.find("hash.7/job.57"), std::string::npos) << made.findings[2].text;
  EXPECT_EQ(made.entries.at(0).command[1], "-row");
  EXPECT_EQ(made.kept, std::set<std::string>{"57"});
  EXPECT_EQ(made.unknown_up_to, 58);
  EXPECT_EQ(parse_accepted("57|bob\n58|\nx|y\n"), (std::map<std::string, std::string>{{"57", "bob"}, {"58", ""}}));
}

TEST(Reconcile, WhatRanOnIsEnteredAtItsEnd) {
  const End end{.state = "FAILED", .status = 256, .start = 5, .end = 9, .of_batch = true};
  EXPECT_EQ(enter_spared("7", std::nullopt, end)->at(1), "-row");
  EXPECT_EQ(enter_spared("7", SlurmJob{"7", "PENDING", "ann", {}, true}, end)->at(1), "7") << "else it would run again";
  EXPECT_EQ(enter_spared("7", std::nullopt, End{.end = 9}), std::nullopt);
  EXPECT_EQ(enter_spared("7", std::nullopt, std::nullopt), std::nullopt);
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
  const std::vector<SlurmJob> waiting = {{"17", "PENDING", "ann", {}},
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
  EXPECT_EQ(parse_slurm_jobs("17|RUNNING|ann|c[1-2]|None|17|1000\n18|PENDING|bob||Resources|18|N/A\n"
                             "20|PENDING|bob||JobHeldUser|20\nnonsense\n"
                             "x|RUNNING|ann|c1|None|x|7\n19|RUNNING|a|c[1|None|19|7\n"),
            (std::vector<SlurmJob>{{"17", "RUNNING", "ann", {"c1", "c2"}, false, 1000},
                                   {"18", "PENDING", "bob", {}},
                                   {"20", "PENDING", "bob", {}, true}}));
  EXPECT_EQ(parse_steps("17_1.batch\n17_1.0\n10.0\n17_.1\n_1.batch\n1_x.0\n"), (std::set<std::string>{"10", "17_1"}));
  EXPECT_EQ(parse_steps("17.batch\n18.0\n18.1\nStepId\n.3\n"), (std::set<std::string>{"17", "18"}));
  EXPECT_EQ(parse_host_steps("17.batch\n18.0\nlooked\n"), (std::set<std::string>{"17", "18"}));
  EXPECT_EQ(parse_host_steps("looked"), std::set<std::string>{});
  EXPECT_EQ(parse_host_steps("17.batch\n"), std::nullopt) << "it did not get to its end";
}

// As 20.11, 22.05 and 24.11 print them (integration.slurm_versions). The last task has the array's own number.
TEST(Reconcile, TasksOfAnArrayAreEndedByTheirNames) {
  const auto slurm_jobs = parse_slurm_jobs(
      "4|PENDING|ann||JobArrayTaskLimit|4_[3-6%2]\n5|RUNNING|ann|c1|None|4_1\n6|RUNNING|ann|c2|None|4_2\n"
      "9|RUNNING|bob|c2|None|9_7\n10|RUNNING|bob|c1|None|10+0\n11|RUNNING|bob|c2|None|10+1\n");
  std::vector<std::string> names;
  for (const auto& slurm_job : slurm_jobs) names.push_back(slurm_job.name);
  EXPECT_EQ(names, (std::vector<std::string>{"4", "4_1", "4_2", "9_7", "10", "11"}));
  const auto steps = parse_steps("4_1.batch\n4_2.batch\n9_7.batch\n10.batch\n11.0\n");
  const auto made = reconcile(slurm_jobs, steps, kHostOf, Hosts{{"c1", {"5", "10"}}, {"c2", {"6", "11"}}});
  ASSERT_EQ(kinds(made), std::vector{Kind::ghost});
  EXPECT_EQ(made.commands, (std::vector<std::vector<std::string>>{{"scancel", "9_7"}}))
      << "`scancel 9` would end all tasks of array 9";
}

/// Tasks 0 to 2 of array 100 run, and its last one waits under the number of the array.
const char* const kLastTaskWaits =
    "100|PENDING|ann||None|100_[3]\n101|RUNNING|ann|c1|None|100_0\n102|RUNNING|ann|c1|None|100_1\n"
    "103|RUNNING|ann|c1|None|100_2\n";

TEST(Reconcile, TheLastTaskOfAnArrayIsNotEndedByTheArraysNumber) {
  const auto slurm_jobs = parse_slurm_jobs(kLastTaskWaits);
  ASSERT_EQ(slurm_jobs.size(), 4U);
  const Hosts hosts{{"c1", {"100", "101", "102", "103"}}};
  const auto made = reconcile(slurm_jobs, {"100_0", "100_1", "100_2"}, kHostOf, hosts);
  ASSERT_EQ(kinds(made), std::vector{Kind::doubled});
  EXPECT_EQ(made.commands, (std::vector<std::vector<std::string>>{{"scontrol", "hold", "100"}}));
  EXPECT_NE(made.findings[0].text.find("`scancel 100_3` (not 100"), std::string::npos) << made.findings[0].text;
  const End end{.state = "COMPLETED", .start = 5, .end = 9, .of_batch = true};
  EXPECT_EQ(enter_spared("100", slurm_jobs[0], end)->at(1), "-row") << "`scancel 100` would end 101 to 103";
  // A look at it before it could be started has it named as a task.
  const auto named = parse_slurm_jobs("100|PENDING|ann||Resources|100_3\n");
  EXPECT_EQ(enter_spared("100", named[0], end)->at(1), "-row");
  auto known = known_end({});
  known.nodes = {{"100", {.state = "COMPLETED", .start = 1100, .end = 1200, .of_batch = true}}};
  EXPECT_TRUE(reconcile(named, {}, kHostOf, Hosts{{"c1", {}}}, {}, known).entries.empty());
  const auto several = parse_slurm_jobs("100|PENDING|ann||None|100_[3-9%2]\n");
  EXPECT_NE(reconcile(several, {}, kHostOf, Hosts{{"c1", {"100"}}}).findings[0].text.find("`scancel 100_[3-9]`"),
            std::string::npos);
  const auto many = parse_slurm_jobs("100|PENDING|ann||None|100_[3,5,7,...]\n");
  EXPECT_EQ(reconcile(many, {}, kHostOf, Hosts{{"c1", {"100"}}}).findings[0].text.find("..."), std::string::npos);
}

TEST(Reconcile, AnArrayWhoseTasksRunUnknownIsHeld) {
  using Commands = std::vector<std::vector<std::string>>;
  const auto slurm_jobs = parse_slurm_jobs(
      "100|PENDING|ann||None|100_[3-9]\n200|PENDING|bob||None|200_[0-9%2]\n300|PENDING|bob||None|300_[1]\n"
      "400|PENDING|eve||JobHeldUser|400_[1-2]\n");
  Known known = known_end({});
  known.nodes = {{"105", {.state = "COMPLETED", .start = 1110, .end = 1200, .of_batch = true}}};
  known.accounts = {{"105", {.state = "COMPLETED", .start = 1110, .end = 1200, .of_accounts = true}}};
  known.names = {{"104", "100_3"}, {"105", "100_4"}, {"106", "106"}, {"100", "100_[5-9]"}};
  const Hosts hosts{{"c1", {"104", "106"}}};
  const auto made = reconcile(slurm_jobs, {}, kHostOf, hosts, {}, known);
  EXPECT_EQ(made.commands, (Commands{{"scontrol", "hold", "100"}})) << "the accounting knows whose they are";
  EXPECT_EQ(made.held, std::set<std::string>{"100"});
  ASSERT_EQ(made.findings.back().kind, Kind::waited);
  EXPECT_NE(made.findings.back().text.find("`scancel 100_3 100_4`"), std::string::npos) << made.findings.back().text;
  // One that it does not know may be a task of any array, except of one whose last task waits: that has its number.
  known.names.erase("104");
  EXPECT_EQ(reconcile(slurm_jobs, {}, kHostOf, hosts, {}, known).commands,
            (Commands{{"scontrol", "hold", "100"}, {"scontrol", "hold", "200"}}));
  known.nodes.clear();
  known.names.clear();
  known.accepted = {{"104", "ann"}, {"106", "ann"}};
  EXPECT_TRUE(reconcile(slurm_jobs, {}, kHostOf, hosts, {}, known).commands.empty()) << "they had scripts of their own";
}

TEST(Reconcile, AJobThatASignalIsOnItsWayToRuns) {
  const auto slurm_jobs = parse_slurm_jobs(
      "17|SIGNALING|ann|c1|None|17\n18|STOPPED|ann|c2|None|18\n17|RUNNING|ann|c1|None|17\n"
      "19|SIGNALING|ann|c1|None|19\n");
  ASSERT_EQ(slurm_jobs.size(), 3U) << "it was asked for twice";
  EXPECT_EQ(slurm_jobs[0].state, "RUNNING");
  const auto made = reconcile(slurm_jobs, {"17", "18", "19"}, kHostOf, Hosts{{"c1", {"17", "19"}}, {"c2", {"18"}}});
  EXPECT_TRUE(made.findings.empty()) << made.findings.front().text;
  EXPECT_EQ(cut_off({"c1"}, slurm_jobs, kHostOf, {{"c1", {"19"}}}), (std::set<std::string>{"c1"}));
}

TEST(Reconcile, KnowsWhatWasNotHeldWhenAskedFor) {
  const auto made =
      reconcile({{"4", "PENDING", "ann", {}}, {"7", "PENDING", "ann", {}}}, {}, kHostOf, {}, std::chrono::hours(1));
  EXPECT_EQ(made.held, (std::set<std::string>{"4", "7"}));
  EXPECT_EQ(
      not_held(made.held, parse_slurm_jobs("4|PENDING|ann||JobHeldAdmin|4_[2-6]\n5|RUNNING|ann|c1|JobHeldAdmin|4_1\n"
                                           "7|PENDING|ann||Priority|7\n8|PENDING|ann||Priority|8\n")),
      std::vector<std::string>{"7"});
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
  const std::vector<SlurmJob> slurm_jobs = {
      {"17", "RUNNING", "ann", {"c1", "c2"}}, {"18", "RUNNING", "ann", {"c3"}}, {"19", "COMPLETING", "ann", {"c4"}}};
  const std::map<std::string, std::string> host_of = {{"c1", "c1"}, {"c2", "c2"}, {"c3", "c3"}, {"c4", "c4"}};
  const std::set<std::string> all = {"c1", "c2", "c3", "c4"};
  EXPECT_EQ(cut_off(all, slurm_jobs, host_of, {{"c1", {"17"}}, {"c2", {"17"}}, {"c3", {"18"}}, {"c4", {"19"}}}),
            (std::set<std::string>{"c1", "c2", "c3"}));
  EXPECT_EQ(cut_off({"c2", "c3"}, slurm_jobs, host_of, {{"c2", {"17"}}, {"c3", {"16"}}}), (std::set<std::string>{"c2"}))
      << "on c3 runs something else: it may have been booted anew";
  EXPECT_TRUE(cut_off(all, slurm_jobs, host_of, {}).empty()) << "nobody sees them: they may be dead";
  EXPECT_TRUE(cut_off({}, slurm_jobs, host_of, {{"c1", {"17"}}}).empty());
}

TEST(Hold, NoJobNumberIsGivenTwice) {
  EXPECT_EQ(parse_next_job("NEXT_JOB_ID             = 330\nNodeFeaturesPlugins     = (null)\n"), 330);
  EXPECT_EQ(parse_next_job("ClusterName = apart\n"), 0);
  EXPECT_EQ(parse_first_job("FirstJobId              = 5000\n"), 5000);
  EXPECT_EQ(parse_first_job("FirstJobId              = 1\n"), 0) << "Slurm's default";
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
