#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "elastic/preemption/resume.hpp"
#include "elastic/preemption/sleep.hpp"
#include "tests/support.hpp"

namespace underway::elastic {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Sleeper sleeper(std::string job, std::string host, Duration asleep = 1min) {
  Sleeper out;
  out.job = std::move(job);
  out.host = std::move(host);
  out.cpus = 4;
  out.memory_mb = 4096;
  out.image_bytes = 1'250'000'000;  // ten seconds by 1 Gb/s
  out.since = kNow - asleep;
  out.asleep = asleep;
  return out;
}

ResumeHost host(std::string name, TimePoint free_at = kNow, std::int64_t cpus = 4) {
  return {std::move(name), cpus, cpus * 1024, free_at, {}};
}

std::string text(const std::vector<Resume>& plan) {
  std::string out;
  for (const auto& it : plan)
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", it.job,
                       it.migrates() ? fmt::format(" from {} to {}", it.from, it.to) : " at " + it.to);
  return out;
}

// The poster's first two timelines: low runs, sleeps while high runs, and goes on where it was.
TEST(Resume, IsAtHomeWhenTheUrgentJobHasEnded) {
  const std::vector<Sleeper> low = {sleeper("low", "h1")};
  EXPECT_EQ(text(plan_resumes(low, {host("h1", kNow + 1h)}, {}, {}, kNow)), "") << "the urgent job still runs";
  const auto plan = plan_resumes(low, {host("h1")}, {}, {}, kNow);
  EXPECT_EQ(text(plan), "low at h1");
  EXPECT_EQ(plan[0].works_at, kNow + 1s);
}

// The third: another host becomes free while high still runs. Low moves there, and is done before it could have begun.
TEST(Resume, IsOnAHostThatIsFreedWhileTheUrgentJobRuns) {
  const std::vector<Sleeper> low = {sleeper("low", "h1")};
  const auto plan = plan_resumes(low, {host("h1", kNow + 1h), host("h2")}, {}, {}, kNow);
  EXPECT_EQ(text(plan), "low from h1 to h2");
  EXPECT_EQ(plan[0].works_at, kNow + 11s) << "the transfer, and a second";
  EXPECT_EQ(plan[0].instead, kNow + 1h + 1s);
}

// The fourth: of two that sleep one moves, the other waits for its own host, which is free before a transfer would end.
TEST(Resume, IsWhereItIsSooner) {
  const std::vector<Sleeper> low = {sleeper("low1", "h1", 3h), sleeper("low2", "h3", 1h)};
  const auto plan =
      plan_resumes(low, {host("h1", kNow + 1h), host("h2", kNow, 8), host("h3", kNow + 5s)}, {}, {}, kNow);
  EXPECT_EQ(text(plan), "low1 from h1 to h2");
  const auto later = plan_resumes({low[1]}, {host("h3")}, {}, {}, kNow + 5s);
  EXPECT_EQ(text(later), "low2 at h3");
}

TEST(Resume, IsAtHomeWhenThatIsAsSoon) {
  auto small = sleeper("low", "h2");
  small.image_bytes = 0;
  EXPECT_EQ(text(plan_resumes({small}, {host("h1"), host("h2")}, {}, {}, kNow)), "low at h2");
}

TEST(Resume, IsFirstForWhosePromiseEndsFirst) {
  Promises promises;
  promises.max_asleep = 4h;
  const std::vector<Sleeper> two = {sleeper("a", "h1", 1h), sleeper("b", "h1", 3h)};
  EXPECT_EQ(text(plan_resumes(two, {host("h1")}, {}, promises, kNow)), "b at h1");
  EXPECT_THAT(due(two, promises, 30min), IsEmpty());
  EXPECT_THAT(due(two, promises, 1h), ElementsAre("b"));
}

TEST(Resume, GoesOnlyWhereItFits) {
  auto picky = sleeper("low", "h1");
  picky.features = {"avx512"};
  ResumeHost with = host("h3");
  with.features = {"avx512"};
  EXPECT_EQ(text(plan_resumes({picky}, {host("h2"), host("h4", kNow, 2), with}, {}, {}, kNow)), "low from h1 to h3");
  EXPECT_EQ(text(plan_resumes({sleeper("low", "h1")}, {host("h2", kNow, 2)}, {}, {}, kNow)), "");
}

TEST(Resume, DoesNotGiveAwayRoomThatSomebodyWaitsFor) {
  // The longer sleeper has its room at home in two seconds; the other does not get it meanwhile.
  const std::vector<Sleeper> two = {sleeper("long", "h1", 3h), sleeper("short", "h2", 1h)};
  EXPECT_EQ(text(plan_resumes(two, {host("h1", kNow + 2s)}, {}, {}, kNow)), "");
}

Sleep sleep_of(std::string job, std::string account, std::string for_account, std::int64_t cpus = 4) {
  return {std::move(job), std::move(account), "99", std::move(for_account), cpus, 0, 0};
}

TEST(Sleep, IsCountedForJobsAndAccounts) {
  SleepLedger ledger;
  ledger.fall_asleep(sleep_of("1", "biology", "physics"), kNow);
  ledger.fall_asleep(sleep_of("2", "physics", "physics"), kNow);
  EXPECT_THROW(ledger.fall_asleep(sleep_of("1", "biology", "physics"), kNow), Error);
  EXPECT_EQ(ledger.wake("1", kNow + 10min), Duration{10min});
  EXPECT_THROW(ledger.wake("1", kNow + 10min), Error);
  ledger.fall_asleep(sleep_of("1", "biology", "physics"), kNow + 20min);
  const auto total = ledger.total("1", kNow + 25min);
  EXPECT_EQ(total.suspensions, 2);
  EXPECT_EQ(Duration{total.asleep}, Duration{15min});
  EXPECT_TRUE(total.sleeps);
  const auto accounts = ledger.accounts(kNow + 25min);
  EXPECT_EQ(accounts.at("biology").given, 15 * 60 * 4);
  EXPECT_EQ(accounts.at("physics").taken, 15 * 60 * 4);
  EXPECT_EQ(accounts.at("physics").given, 0) << "what it sleeps for itself is given to nobody";
  EXPECT_EQ(extended_limit(1h, Duration{total.asleep}), Duration{1h + 15min});
  EXPECT_EQ(extended_limit(Duration{0}, Duration{total.asleep}), Duration{0});
}

TEST(Sleep, ThatIsForgottenStaysInTheAccounts) {
  SleepLedger ledger;
  ledger.fall_asleep(sleep_of("1", "biology", "physics"), kNow);
  ledger.wake("1", kNow + 1min);
  ledger.forget("1");
  EXPECT_EQ(ledger.total("1", kNow).suspensions, 0);
  EXPECT_EQ(ledger.accounts(kNow).at("biology").given, 240);
}

TEST(Sleep, UnderAClockThatWasSetBackIsNoTime) {
  SleepLedger ledger;
  ledger.fall_asleep(sleep_of("1", "biology", "physics"), kNow);
  EXPECT_LT(ledger.wake("1", kNow - 10min), Duration{1s});
  EXPECT_FALSE(ledger.total("1", kNow).sleeps);
}

}  // namespace
}  // namespace underway::elastic
