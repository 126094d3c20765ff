// Slurm jobs that sleep while others have their place, by the words of src/hpc/slurm/sleep/job_sleep.hpp, with the
// real daemons of each release and their accounts.
#include <gmock/gmock.h>

#include <filesystem>

#include "harness/places.hpp"
#include "harness/slurm/slurm_site.hpp"
#include "slurm/sleep/job_sleep.hpp"

namespace underway::harness {
namespace {

using slurm::SleepStep;
using std::chrono::minutes;
using std::chrono::seconds;

class SlurmSleeps : public testing::TestWithParam<SlurmRelease> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(GetParam().root + "/usr/sbin/slurmctld"))
      GTEST_SKIP() << "needs Slurm " << GetParam().version << " below " << GetParam().root
                   << ": packaging/slurm-roots makes it";
    site_ = std::make_unique<SlurmSite>(GetParam());
  }

  std::string line(const std::string& text) const { return site_->shell(text).out; }
  slurm::JobTime time_of(const std::string& job) const {
    for (auto& time : slurm::parse_times(site_->run(slurm::times_command({job})).out)) {
      if (time.id == job) return time;
    }
    return {};
  }
  void tell(const slurm::Command& command) const {
    const auto said = site_->run(command);
    EXPECT_EQ(said.exit_code, 0) << testing::PrintToString(command) << ": " << said.err;
  }
  /// Until the job sleeps; what it had when it was asked first is returned.
  slurm::JobTime put_to_sleep(const std::string& job) const {
    const auto before = time_of(job);
    EXPECT_TRUE(eventually(seconds(20), [&] {
      const auto now = time_of(job);
      const auto verdict = slurm::decide_sleep(job, &now);
      if (verdict.step == SleepStep::command) tell(verdict.command);
      return verdict.step == SleepStep::done;
    })) << line("squeue");
    return before;
  }
  /// Until it is awake; how many commands that took.
  int wake(const std::string& job, const slurm::JobTime& asleep) const {
    int commands = 0;
    EXPECT_TRUE(eventually(seconds(20), [&] {
      const auto now = time_of(job);
      const auto verdict = slurm::decide_wake(job, &now, asleep);
      if (verdict.step == SleepStep::command) {
        const auto missing = slurm::owed(asleep, now);
        EXPECT_EQ(verdict.command,
                  missing > Duration{} ? slurm::extend_command(job, missing) : slurm::wake_command(job));
        tell(verdict.command);
        ++commands;
      }
      return verdict.step == SleepStep::done;
    })) << line("squeue");
    return commands;
  }
  std::string running(const std::string& words) const {
    const auto job = site_->submit(words);
    EXPECT_TRUE(eventually(seconds(20), [&] { return time_of(job).state == "RUNNING"; })) << line("squeue");
    return job;
  }
  bool completes(const std::string& job) const {
    return eventually(seconds(60), [&] { return line("sacct -n -X -P -o State -j " + job) == "COMPLETED\n"; });
  }

  std::unique_ptr<SlurmSite> site_;
};

TEST_P(SlurmSleeps, AJobThatSlurmSuspendsKeepsTheTimeThatItHadLeft) {
  const auto job = running("-w n1 -t 2 --wrap 'for i in 1 2 3 4 5 6 7 8; do echo $i >> /srv/ticks; sleep 1; done'");
  const auto before = time_of(job);
  EXPECT_EQ(before.limit, minutes(2));
  const auto asleep = put_to_sleep(job);
  EXPECT_EQ(time_of(job).state, "SUSPENDED");
  const auto ticks = line("wc -l < /srv/ticks");
  EXPECT_TRUE(stays(seconds(5), [&] { return line("wc -l < /srv/ticks") == ticks; })) << "it does nothing";
  EXPECT_EQ(wake(job, asleep), 1) << "Slurm itself does not count the time";
  const auto awake = time_of(job);
  EXPECT_EQ(awake.state, "RUNNING");
  EXPECT_EQ(slurm::owed(asleep, awake), Duration{}) << line("squeue -o '%A %T %l %M %e'");
  ASSERT_TRUE(before.ends && awake.ends);
  EXPECT_GE(*awake.ends - *before.ends, seconds(4)) << "and ends it later by as much";
  EXPECT_TRUE(completes(job)) << line("sacct -X");
  EXPECT_EQ(line("cat /srv/ticks | xargs"), "1 2 3 4 5 6 7 8\n") << "it went on where it was";
}

TEST_P(SlurmSleeps, AJobWhoseMachineSleptIsGivenTheTimeBack) {
  const auto job =
      running("-w n2 -t 2 --wrap 'echo $$ > /srv/script; for i in 1 2 3 4; do echo $i >> /srv/ticks; sleep 1; done'");
  ASSERT_TRUE(eventually(seconds(20), [&] { return site_->shell("test -s /srv/ticks").exit_code == 0; }));
  const auto asleep = time_of(job);
  // Slurm does not know of it, as when the machine below is suspended.
  line("kill -STOP $(cat /srv/script)");
  EXPECT_TRUE(stays(seconds(5), [&] { return time_of(job).state == "RUNNING"; })) << "what users see";
  const auto now = time_of(job);
  EXPECT_GE(slurm::owed(asleep, now), seconds(4));
  EXPECT_EQ(wake(job, asleep), 1);
  EXPECT_EQ(time_of(job).limit, minutes(3)) << "whole minutes";
  ASSERT_TRUE(now.ends && time_of(job).ends);
  EXPECT_EQ(*time_of(job).ends - *now.ends, minutes(1));
  line("kill -CONT $(cat /srv/script)");
  EXPECT_TRUE(completes(job)) << line("sacct -X");
  EXPECT_EQ(line("cat /srv/ticks | xargs"), "1 2 3 4\n");
  EXPECT_EQ(line("sacct -n -X -P -o Timelimit -j " + job), "00:03:00\n");
}

TEST_P(SlurmSleeps, WhatCannotSleepSaysSo) {
  const auto waits = site_->submit("--hold --wrap true");
  const auto time = time_of(waits);
  EXPECT_EQ(slurm::decide_sleep(waits, &time).step, SleepStep::refused);
  EXPECT_NE(site_->run(slurm::suspend_command(waits)).exit_code, 0) << "nor does Slurm do it";
  const auto job = running("-w n3 --wrap 'sleep 600'");
  const auto asleep = put_to_sleep(job);
  line("scancel " + job);
  ASSERT_TRUE(eventually(seconds(20), [&] {
    const auto now = time_of(job);
    return slurm::decide_wake(job, &now, asleep).step == SleepStep::over;
  })) << line("squeue -t all");
}

INSTANTIATE_TEST_SUITE_P(Releases, SlurmSleeps, testing::ValuesIn(slurm_releases()), [](const auto& made) {
  auto name = "Slurm" + made.param.version;
  std::erase(name, '.');
  return name;
});

}  // namespace
}  // namespace underway::harness
