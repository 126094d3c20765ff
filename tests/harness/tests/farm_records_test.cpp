#include "harness/farm_records.hpp"

#include <gmock/gmock.h>

namespace underway::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Job 7: (0*1000003+1+7), (8*1000003+2+7), (8000033*1000003+3+7) modulo 4294967291.
constexpr const char* kWell =
    "c1 7 start 0 1000 50.0\n"
    "c1 7 1 8 50.1\n"
    "c1 7 2 8000033 50.3\n"
    "c1 7 3 2827904267 50.4\n"
    "c1 7 end 0 1010\n";
constexpr const char* kTold = "7|COMPLETED|0:0|c1|999|1011\n";

std::vector<std::string> compare(const std::string& written, const std::string& told, int exit_code = 0) {
  return differences({{"7", exit_code}}, parse_records(written), parse_accounting(told), 10);
}

std::string with(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

TEST(FarmRecords, AJobThatNoticedNothingHasNoDifferences) {
  const auto records = parse_records(kWell);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].ticks, 3);
  EXPECT_NEAR(records[0].longest_gap, 0.2, 0.001);
  EXPECT_THAT(compare(kWell, kTold), IsEmpty());
}

TEST(FarmRecords, EveryKindOfHarmIsNamed) {
  struct Case {
    const char* name;
    std::string written, told, expect;
  };
  const std::string well = kWell, told = kTold;
  const std::vector<Case> cases = {
      {"a tick is missing", with(well, "c1 7 2 8000033 50.3\n", ""), told, "wrote '3 2827904267 50.4'"},
      {"a sum is wrong", with(well, "2827904267", "2827904268"), told, "wrote '3 2827904268 50.4'"},
      {"a signal came", with(well, "c1 7 end", "c1 7 signal TERM\nc1 7 end"), told, "wrote 'signal TERM'"},
      {"it stood still", with(well, "50.4", "61.4"), told, "stood still for 11.1 s"},
      {"it was started twice on one host", well + well, told, "started 2 times"},
      {"it was started on two hosts", well + with(well, "c1 7 1 8 50.1\n", "c2 7 start 0 1000 50.0\n"), told,
       "ran on c1, c2"},
      {"Slurm started it again", with(well, "start 0", "start 1"), told, "started again by Slurm (restart 1)"},
      {"it never ended", with(well, "c1 7 end 0 1010\n", ""), told, "ended without saying so"},
      {"it never ran", "", told, "acknowledged and never ran"},
      {"the accounting lost it", well, "", "0 times in the accounting"},
      {"the accounting has it twice", well, told + told, "2 times in the accounting"},
      {"another state", well, with(told, "COMPLETED", "NODE_FAIL"),
       "sacct has state NODE_FAIL, the truth is COMPLETED"},
      {"another exit code", well, with(told, "0:0", "0:9"), "exit code 0:9"},
      {"another node", well, with(told, "c1", "c4"), "node c4, the truth is c1"},
      {"a start after the first line", well, with(told, "|999|", "|1005|"), "start 5 s after the truth"},
      {"an end before the last line", well, with(told, "1011", "1009"), "end 1 s before the truth"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(compare(c.written, c.told), testing::Contains(HasSubstr(c.expect)));
  }
}

TEST(FarmRecords, AJobThatIsToFailMustFail) {
  EXPECT_THAT(compare(with(kWell, "end 0", "end 3"), "7|FAILED|3:0|c1|999|1011\n", 3), IsEmpty());
  EXPECT_THAT(compare(kWell, kTold, 3), testing::SizeIs(3));
}

TEST(FarmRecords, AJobThatNobodyWasToldOfIsFoundUnlessItsSubmissionFailed) {
  const auto records = parse_records(kWell);
  const auto rows = parse_accounting(kTold);
  EXPECT_THAT(differences({}, records, rows, 10), ElementsAre("job 7 exists, and nobody was told of it"));
  EXPECT_THAT(differences({}, records, rows, 10, 1), IsEmpty());
}

TEST(FarmRecords, ACancelledJobIsOverAndOneThatRunsOrWhoseEndWasNotToldIsNot) {
  const auto rows =
      parse_accounting("8|CANCELLED by 0|0:15|c1|5|7\n9|RUNNING|0:0|c1|5|Unknown\n10|COMPLETED|0:0|c1|5|Unknown\n");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_TRUE(is_over(rows[0]));
  EXPECT_FALSE(is_over(rows[1]));
  EXPECT_FALSE(is_over(rows[2])) << "the accounting is told late";
  EXPECT_EQ(rows[1].end, std::nullopt);
}

}  // namespace
}  // namespace underway::harness
