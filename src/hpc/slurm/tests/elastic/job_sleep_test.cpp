#include "slurm/sleep/job_sleep.hpp"

#include <gmock/gmock.h>

namespace underway::slurm {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;

TEST(SlurmSpan, IsReadAsSqueueWritesIt) {
  EXPECT_EQ(parse_slurm_span("0:05"), seconds(5));
  EXPECT_EQ(parse_slurm_span("11:00"), minutes(11));
  EXPECT_EQ(parse_slurm_span("1-02:03:04"), hours(26) + minutes(3) + seconds(4));
  EXPECT_EQ(parse_slurm_span("365-00:00:00"), hours(24 * 365));
  for (const char* none : {"UNLIMITED", "INVALID", "NOT_SET", "", "5", "-1:00", "1:-2", "1:2:3:4", "1-5:00", "a:b",
                           "99999999999-00:00:00", "1:99"})
    EXPECT_EQ(parse_slurm_span(none), std::nullopt) << none;
}

TEST(SlurmSleep, ReadsWhatSqueuePrints) {
  const auto times = parse_times(
      "1|RUNNING|11:00|0:02|1795700443\n2|PENDING|UNLIMITED|0:00|N/"
      "A\n3|RUNNING|x|y|z\nnonsense\n|RUNNING|1:00|0:00|5\n");
  EXPECT_THAT(times, ElementsAre(JobTime{"1", "RUNNING", minutes(11), seconds(2), TimePoint{seconds(1795700443)}},
                                 JobTime{"2", "PENDING", std::nullopt, {}, std::nullopt}));
  EXPECT_EQ(times[0].left(), minutes(11) - seconds(2));
}

TEST(SlurmSleep, OwesWhatIsMissingOfTheTimeThatWasLeft) {
  const JobTime asleep{"1", "RUNNING", minutes(10), minutes(4), {}};
  JobTime awake = asleep;
  EXPECT_EQ(owed(asleep, awake), Duration{}) << "Slurm knew of it";
  awake.used = minutes(4) + seconds(65);
  EXPECT_EQ(owed(asleep, awake), seconds(65)) << "it did not";
  awake.limit = minutes(12);
  EXPECT_EQ(owed(asleep, awake), Duration{}) << "it has been given more";
  awake.limit = std::nullopt;
  EXPECT_EQ(owed(asleep, awake), Duration{});
  EXPECT_THAT(extend_command("1", seconds(65)), ElementsAre("scontrol", "update", "jobid=1", "timelimit=+2"));
  EXPECT_THAT(extend_command("1", seconds(1)).back(), "timelimit=+1");
}

TEST(SlurmSleep, GoesStepByStep) {
  const auto at = [](const char* state, Duration used = minutes(4)) {
    return JobTime{"1", state, minutes(10), used, {}};
  };
  struct Case {
    const char* state;
    SleepStep sleep, wake;
  };
  for (const auto& c : std::vector<Case>{{"RUNNING", SleepStep::command, SleepStep::done},
                                         {"SUSPENDED", SleepStep::done, SleepStep::command},
                                         {"COMPLETING", SleepStep::over, SleepStep::over},
                                         {"COMPLETED", SleepStep::over, SleepStep::over},
                                         {"TIMEOUT", SleepStep::over, SleepStep::over},
                                         {"PENDING", SleepStep::refused, SleepStep::over},
                                         {"CONFIGURING", SleepStep::wait, SleepStep::wait},
                                         {"SIGNALING", SleepStep::wait, SleepStep::wait}}) {
    SCOPED_TRACE(c.state);
    const auto time = at(c.state);
    EXPECT_EQ(decide_sleep("1", &time).step, c.sleep);
    EXPECT_EQ(decide_wake("1", &time, at("RUNNING")).step, c.wake);
  }
  EXPECT_EQ(decide_sleep("1", nullptr).step, SleepStep::over);
  EXPECT_EQ(decide_wake("1", nullptr, at("RUNNING")).step, SleepStep::over);
  // More time comes before it is awake.
  const auto late = at("SUSPENDED", minutes(6));
  const auto first = decide_wake("1", &late, at("RUNNING"));
  EXPECT_EQ(first.step, SleepStep::command);
  EXPECT_THAT(first.command.back(), "timelimit=+2");
}

}  // namespace
}  // namespace underway::slurm
