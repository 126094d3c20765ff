#include "slurm/elastic/redo.hpp"

#include <gmock/gmock.h>

namespace underway::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kPrinted =
    "job|17|17|RUNNING|n1|\n"
    "job|18_2|20|PENDING|n/a|n[1,3]\n"
    "job|19|19|RUNNING|ctl|\n"
    "17                                      |1       |1       |\n"
    "18_2                                    |0       |1       |\n"
    "19                                      |1       |0       |\n";

TEST(SlurmRedo, TellsWhichJobsCanBeDoneAgain) {
  const auto jobs = parse_redo_facts(kPrinted);
  ASSERT_THAT(jobs, SizeIs(3));
  EXPECT_EQ(jobs[0], (RedoFacts{"17", "17", "RUNNING", "n1", {}, true, true}));
  EXPECT_EQ(jobs[1], (RedoFacts{"18_2", "20", "PENDING", "", {"n1", "n3"}, false, true}));
  EXPECT_EQ(why_not_redone("17", &jobs[0]), "");
  EXPECT_EQ(why_not_redone("18_2", &jobs[1]), "may not be requeued");
  EXPECT_EQ(why_not_redone("19", &jobs[2]), "is interactive");
  EXPECT_EQ(why_not_redone("17+1", &jobs[0]), "is a part of a heterogeneous one");
  EXPECT_EQ(why_not_redone("20", nullptr), "is none that Slurm tells of");
}

TEST(SlurmRedo, WhatMakesNoSenseIsLeftOut) {
  EXPECT_THAT(parse_redo_facts(""), IsEmpty());
  EXPECT_THAT(parse_redo_facts("slurm_load_jobs error: Unable to contact slurm controller\njob|17\njob|17|x|RUNNING||\n"
                               "17|1|1|\n"),
              IsEmpty());
  const auto jobs = parse_redo_facts("job|17|17|RUNNING|n1|n[1-\n");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(jobs[0].kept_off, IsEmpty());
  EXPECT_EQ(why_not_redone("17", &jobs[0]), "is interactive") << "who is not known to have a script";
}

TEST(SlurmRedo, OneIsAskedForAsSeveralAre) {
  EXPECT_EQ(redo_facts_command({"17"}).back(), "17,17") << "of one that it does not know squeue makes an error";
  EXPECT_EQ(redo_facts_command({"17", "18_2"}).back(), "17,18_2");
}

TEST(SlurmRedo, AListOfListenersIsWholeOrNone) {
  EXPECT_EQ(parse_listeners("17\n20\nlooked\n"), (std::set<std::string>{"17", "20"}));
  EXPECT_EQ(parse_listeners("looked\n"), std::set<std::string>());
  EXPECT_EQ(parse_listeners("17\n"), std::nullopt);
}

TEST(SlurmRedo, SaysItInSlurmsWords) {
  EXPECT_THAT(notice_command({"17", "18_2"}), ElementsAre("scancel", "--signal=TERM", "--full", "17", "18_2"));
  EXPECT_THAT(keep_off_command("17", {"n1", "n2"}),
              ElementsAre("scontrol", "update", "jobid=17", "excnodelist=n[1-2]"));
  const auto again = redo_command("17", {"n1"});
  ASSERT_THAT(again, SizeIs(6));
  EXPECT_EQ(again[4], "17");
  EXPECT_EQ(again[5], "n1");
  EXPECT_THAT(redo_command("17", {}), ElementsAre("scontrol", "requeue", "17"));
}

}  // namespace
}  // namespace underway::slurm
