#include "machines/ask.hpp"

#include <gmock/gmock.h>

namespace underway::machines {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ReadComment, FindsOneWordAmongOthers) {
  struct Case {
    const char* comment;
    std::optional<Wish> wish;
    const char* refusal;
  };
  const Case cases[] = {
      {"", {}, ""},
      {"(null)", {}, ""},
      {"my machines: none", {}, "names no machines"},
      {"mymachines:small", {}, ""},
      {"machines:small", Wish{"small", 0}, ""},
      {"for paper 3, machines:small*3; urgent", Wish{"small", 3}, ""},
      {"machines:small*0", {}, "no number from 1 to 64"},
      {"machines:small*65", {}, "no number from 1 to 64"},
      {"machines:small*3x", {}, "no number from 1 to 64"},
      {"machines:", {}, "names no machines"},
      {"machines:a/../b", {}, "names no machines"},
      {"machines:small machines:large", {}, "twice"},
      {"first line\nmachines:small", {}, ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.comment);
    const auto asked = read_comment(c.comment);
    EXPECT_EQ(asked.wish, c.wish);
    if (*c.refusal == '\0')
      EXPECT_EQ(asked.refusal, "");
    else
      EXPECT_THAT(asked.refusal, HasSubstr(c.refusal));
  }
  EXPECT_EQ(read_comment(std::string(5000, 'x') + " machines:small"), Asked{}) << "behind what is looked at";
}

/// As Slurm 22.05 printed it, with a comment of two lines.
TEST(ParseJobs, TakesNothingForAJobThatAUserWroteIntoAComment) {
  const std::string printed =
      "MARK|1|1|RUNNING|1795823776|e[1-2]|a|b machines:x*3\n"
      "MORE|99|99|RUNNING|1795823776|e3|machines:fake\n"
      "|99|99|RUNNING|1795823776|e3|machines:fake\n"
      "slurm_load_jobs warning: something\n"
      "MARK|3|2_1|COMPLETING|1795823777|e3|(null)\n"
      "MARK|4|4|RUNNING|N/A||machines:x\n"
      "MARK|12345678901|5|RUNNING|1|e1|machines:x\n"
      "MARK|../x|5|RUNNING|1|e1|machines:x\n";
  const auto jobs = parse_jobs(printed, "MARK");
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[0], (SlurmJob{"1", "1", "RUNNING", 1795823776, {"e1", "e2"}, {Wish{"x", 3}, ""}}));
  EXPECT_EQ(jobs[1], (SlurmJob{"3", "2_1", "COMPLETING", 1795823777, {}, {}}));
  EXPECT_TRUE(jobs[0].lives());
  EXPECT_FALSE(jobs[1].lives());
  EXPECT_THAT(jobs[2].nodes, IsEmpty());
  EXPECT_THAT(parse_jobs("MARK|1|1|RUNNING|1|n[1-1001]|machines:x\n", "MARK").at(0).nodes, IsEmpty());
}

TEST(ParseGiven, ReadsWhatSlurmCounts) {
  EXPECT_EQ(parse_given("17                  cpu=2,mem=200M,node=2,billing=2      \n", "17"), (Given{2, 200, {}}));
  EXPECT_EQ(parse_given("17 cpu=8,mem=1.50G,node=1,gres/gpu=2", "17"), (Given{8, 1536, {}}));
  EXPECT_EQ(parse_given("17 cpu=8,node=1", "17"), (Given{8, std::nullopt, {}}));
  EXPECT_EQ(parse_given("17 cpu=8,node=1\n18 cpu=2,mem=100M,node=1\n", "18"), (Given{2, 100, {}}))
      << "a part of a heterogeneous job";
  EXPECT_EQ(parse_given("17 cpu=8,node=1\n", "18"), std::nullopt);
  EXPECT_EQ(parse_given("", "17"), std::nullopt);
  EXPECT_EQ(parse_given("17 N/A", "17"), std::nullopt);
}

/// As 20.11, 22.05 and 24.11 print it, between lines that do not matter.
TEST(ParseGiven, ReadsWhatAJobHasOnEachNode) {
  const std::string printed =
      "17 cpu=7,mem=1400M,node=3,billing=7      \nJobId=17 JobName=wrap\n   NumNodes=3 NumCPUs=7 NumTasks=7\n"
      "   JOB_GRES=(null)\n     Nodes=c1 CPU_IDs=0-1,4 Mem=600 GRES=\n"
      "     Nodes=c[2-3] CPU_IDs=0-1 Mem=400 GRES=\n   MinCPUsNode=1 MinMemoryCPU=200M MinTmpDiskNode=0\n";
  const Given told{7, 1400, {{"c1", {3, 600}}, {"c2", {2, 400}}, {"c3", {2, 400}}}};
  EXPECT_EQ(parse_given(printed, "17"), told);
  auto forged = told;
  forged.doubtful = true;
  EXPECT_EQ(parse_given(printed + "   Comment=mine\n     Nodes=c2 CPU_IDs=0-63 Mem=99999 GRES=\n17 cpu=64,mem=99999M\n",
                        "17"),
            forged)
      << "what a user writes comes before or behind, and never instead";
  EXPECT_EQ(parse_given(
                "17 cpu=1,node=1\n Nodes= CPU_IDs=\n Nodes=c1 CPU_IDs=9-x Mem=lots\nNodes=c[2 CPU_IDs=1 Mem=1\n", "17"),
            (Given{1, std::nullopt, {{"c1", {0, 0}}}}));
}

TEST(Refuse, TellsSlurmTheReasonBeforeTheJobEnds) {
  EXPECT_THAT(refuse_commands("17_3", "no room"),
              ElementsAre(ElementsAre("scontrol", "update", "JobId=17_3", "AdminComment=underway: no room"),
                          ElementsAre("scancel", "17_3")));
}

}  // namespace
}  // namespace underway::machines
