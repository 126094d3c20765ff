// What slurmd's log says of ends, as Slurm 20.11.4, 22.05.8 and 24.11.5 write it.
#include "slurm/reconcile/ends.hpp"

#include <gtest/gtest.h>

namespace underway::slurm {
namespace {

/// What kEndsScript prints of these lines, the first one written at 101, the next at 102.
Ends read(const std::vector<std::string>& lines) {
  std::string times, text;
  int at = 100;
  for (const auto& line : lines) {
    times += std::to_string(++at) + "\n";
    text += "[2026-11-23T19:40:03.499] " + line + "\n";
  }
  auto ends = parse_ends(times + "--\n" + text + "looked\n");
  EXPECT_TRUE(ends);
  return ends.value_or(Ends{});
}
const End kOk{.state = "COMPLETED", .status = 0, .start = 101, .end = 102, .of_batch = true};
const End kThree{.state = "FAILED", .status = 768, .start = 101, .end = 102, .of_batch = true};

TEST(Ends, AreReadAsEachVersionWritesThem) {
  struct Case {
    const char* name;
    std::vector<std::string> lines;
    End expect;
  };
  const std::string launch = "Launching batch job 20 for UID 0";
  const End unknown{.state = "", .status = 0, .start = 101, .end = 102, .of_batch = true};
  const End segv{.state = "FAILED", .status = 11, .start = 101, .end = 102, .of_batch = true};
  const std::vector<Case> cases = {
      {"20.11, verbose",
       {launch, "[20.batch] job 20 completed with slurm_rc = 0, job_rc = 0",
        "[20.batch] sending REQUEST_COMPLETE_BATCH_SCRIPT, error:0 status:0", "[20.batch] done with job"},
       kOk},
      {"20.11, info",
       {launch, "[20.batch] sending REQUEST_COMPLETE_BATCH_SCRIPT, error:0 status:768", "[20.batch] done with job"},
       kThree},
      {"22.05, verbose",
       {launch, "[20.batch] job 20 completed with slurm_rc = 0, job_rc = 768", "[20.batch] done with job"},
       kThree},
      {"22.05, info", {launch, "[20.batch] done with job"}, unknown},
      {"22.05, a signal, info",
       {launch, "[20.batch] get_exit_code task 0 died by signal: 11", "[20.batch] done with job"},
       segv},
      {"24.11, verbose",
       {launch, "[20.batch] job 20 completed with slurm_rc = 0, job_rc = 768",
        "[20.batch] stepd_cleanup: done with step (rc[0x300]:Unknown error 768, cleanup_rc[0x0]:No error)"},
       kThree},
      {"24.11, info",
       {launch, "[20.batch] stepd_cleanup: done with step (rc[0x300]:Unknown error 768, cleanup_rc[0x0]:No error)"},
       kThree},
      {"24.11, info, a success", {launch, "[20.batch] done with step"}, kOk}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto ends = read(c.lines);
    ASSERT_TRUE(ends.contains("20"));
    EXPECT_EQ(ends.at("20"), c.expect) << ends.at("20").state << " " << ends.at("20").status;
  }
}

TEST(Ends, KnowWhyAJobWasStopped) {
  const auto stopped = [](const std::string& why) {
    return read({"Launching batch job 27 for UID 0",
                 "[27.batch] error: *** JOB 27 ON h CANCELLED AT 2026-11-23T19:41:06" + why + " ***",
                 "[27.batch] job 27 completed with slurm_rc = 0, job_rc = 15", "[27.batch] done with job"})
        .at("27");
  };
  EXPECT_EQ(stopped(" DUE TO TIME LIMIT").state, "TIMEOUT");
  EXPECT_EQ(stopped("").state, "CANCELLED");
  EXPECT_TRUE(stopped(" DUE TO JOB REQUEUE").sent_back);
  EXPECT_EQ(stopped(" DUE TO TIME LIMIT").end, 103);
}

TEST(Ends, AJobWithoutMemoryIsSoAndNoFailure) {
  const auto ends = read({"Launching batch job 20 for UID 0",
                          "[20.batch] job 20 completed with slurm_rc = 0, job_rc = 253", "[20.batch] done with job"});
  EXPECT_EQ(ends.at("20").state, "OUT_OF_MEMORY");
  EXPECT_EQ(ends.at("20").status, 253);
}

TEST(Ends, WhoDumpedItsCoreEndedByItsSignal) {
  const auto ends = read({"Launching batch job 20 for UID 0",
                          "[20.batch] job 20 completed with slurm_rc = 0, job_rc = 139", "[20.batch] done with job"});
  EXPECT_EQ(ends.at("20").state, "FAILED");
  EXPECT_EQ(ends.at("20").status, 11);
}

TEST(Ends, AnAllocationEndsWithItsSteps) {
  const auto ends = read({"launch task StepId=29.0 request from UID:0 GID:0 HOST:10.0.0.1 PORT:49432",
                          "[29.0] task 1 (1087) exited with exit code 4.",
                          "[29.0] task 0 (1086) exited. Killed by signal 9.", "[29.0] done with job"});
  EXPECT_EQ(ends.at("29"), (End{.state = "FAILED", .status = 1024, .start = 101, .end = 104}));
  // Steps of a batch job say nothing of it.
  const auto batch =
      read({"Launching batch job 23 for UID 0", "launch task StepId=23.0 request from UID:0 GID:0 HOST:h PORT:1",
            "[23.0] task 0 (1) exited with exit code 7.", "[23.0] done with job",
            "[23.batch] task 0 (2) exited with exit code 0.",
            "[23.batch] job 23 completed with slurm_rc = 0, job_rc = 0", "[23.batch] done with job"});
  EXPECT_EQ(batch.at("23").state, "COMPLETED");
  EXPECT_EQ(batch.at("23").end, 106);
  EXPECT_FALSE(
      read({"Launching batch job 23 for UID 0", "[23.0] task 0 (1) exited with exit code 7."}).at("23").of_batch);
}

TEST(Ends, ALaterRunIsAnotherOne) {
  EXPECT_TRUE(read({"Launching batch job 20 for UID 0", "[20.batch] job 20 completed with slurm_rc = 0, job_rc = 0",
                    "Launching batch job 20 for UID 0"})
                  .empty());
  EXPECT_EQ(parse_ends("101\n--\nlooked"), std::nullopt) << "a time too many";
  EXPECT_EQ(parse_ends("--\n"), std::nullopt) << "it did not get to its end";
  EXPECT_EQ(parse_ends("--\n\nlooked"), Ends{});
}

TEST(Ends, TheNodeOfTheBatchScriptKnows) {
  Ends ends = {{"20", {.state = "FAILED", .status = 9, .start = 5, .end = 8}}};
  merge_ends(ends, {{"20", kOk}});
  EXPECT_EQ(ends.at("20"), kOk);
  merge_ends(ends, {{"20", {.state = "FAILED", .status = 9, .start = 5, .end = 900}}});
  EXPECT_EQ(ends.at("20"), kOk);
}

TEST(Ends, AreReadFromTheAccounting) {
  const auto ends = parse_accounts(
      "23|1795462799|1795462802|FAILED|5:0\n25|1795462799|1795462805|CANCELLED by "
      "0|0:0\n26|Unknown|Unknown|PENDING|0:0\n"
      "22|1795462799|1795462802|FAILED|0:11\n21|1795462799|Unknown|RUNNING|0:0\nnonsense\n");
  EXPECT_EQ(ends.size(), 3U);
  EXPECT_EQ(ends.at("23").status, 5 << 8);
  EXPECT_EQ(ends.at("22").status, 11);
  EXPECT_EQ(ends.at("25").state, "CANCELLED");
}

TEST(Ends, TheAccountingKnowsTasksOfArraysByTheirNames) {
  const std::string text =
      "104|1795462799|1795462802|FAILED|5:0|100_3\n105|Unknown|Unknown|RUNNING|0:0|105\nnonsense\n";
  EXPECT_EQ(parse_names(text), (std::map<std::string, std::string>{{"104", "100_3"}, {"105", "105"}}));
  EXPECT_EQ(parse_accounts(text).at("104").status, 5 << 8);
}

TEST(Ends, WhatTheAccountingLacksIsToldUntilNothingIsLeft) {
  const auto failed = parse_settled("failed ERROR 1064 at line 1\n2 left\n");
  EXPECT_FALSE(failed.all);
  EXPECT_EQ(failed.problem, "ERROR 1064 at line 1");
  EXPECT_TRUE(parse_settled("0 left\n").all);
  EXPECT_TRUE(parse_settled("").all) << "no script";
  EXPECT_FALSE(parse_settled("2 left\n").all);
  const auto some = parse_settled("no row 17\nno row 21\n1 left\n");
  EXPECT_FALSE(some.all);
  EXPECT_EQ(some.unrecorded, (std::set<std::string>{"17", "21"}));
  EXPECT_TRUE(parse_settled("no row 17\n0 left\n").all);
}

TEST(Ends, TheLogIsWhereSlurmdWritesIt) {
  EXPECT_EQ(slurmd_log("SlurmdLogFile           = /var/log/slurm/slurmd.%n.log\n", "farm", "c7"),
            "/var/log/slurm/slurmd.c7.log");
  EXPECT_EQ(slurmd_log("SlurmdLogFile           = (null)\n", "c1", "c1"), "");
}

}  // namespace
}  // namespace underway::slurm
