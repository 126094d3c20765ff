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
  EXPECT_EQ(parse_given("cpu=2,mem=200M,node=2,billing=2      \n"), (Given{2, 200}));
  EXPECT_EQ(parse_given("cpu=8,mem=1.50G,node=1,gres/gpu=2"), (Given{8, 1536}));
  EXPECT_EQ(parse_given("cpu=8,node=1"), (Given{8, std::nullopt}));
  EXPECT_EQ(parse_given(""), std::nullopt);
  EXPECT_EQ(parse_given("N/A"), std::nullopt);
}

TEST(Refuse, TellsSlurmTheReasonBeforeTheJobEnds) {
  EXPECT_THAT(refuse_commands("17_3", "no room"),
              ElementsAre(ElementsAre("scontrol", "update", "JobId=17_3", "AdminComment=underway: no room"),
                          ElementsAre("scancel", "17_3")));
}

}  // namespace
}  // namespace underway::machines
