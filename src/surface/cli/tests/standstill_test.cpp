#include "cli/impact/standstill.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace underway::cli {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

wire::ServiceStatus service(const std::string& id, std::int64_t healthy, Names after = {}) {
  wire::ServiceStatus out;
  out.id = id;
  out.wanted = 1;
  out.healthy = healthy;
  out.depends_on = std::move(after);
  return out;
}

/// The agent was killed and is back; the capsule of one service cannot run until its host is there again.
class StandstillTest : public ::testing::Test {
 protected:
  StandstillTest() {
    wire::HostState host;
    host.name = "infra1";
    host.status = model::HostStatus::running;
    host.node_status = model::NodeStatus::ready;
    host.linked = true;
    status.hosts = {host};
    status.services = {service("munge", 1), service("gateway-b", 0), service("login", 0, {"gateway-b"})};
    status.attention = {
        {"capsule 'gateway-b' does not run", "it goes on when infra2 is back", "underway capsule status"}};
  }
  Names missing_after(seconds span) {
    standstill.find_missing_for_good(status, now);
    return standstill.find_missing_for_good(status, now += span);
  }
  /// How many lines somebody sees who follows for a minute, as one who asks every second.
  template <class Change>
  std::size_t told_in_a_minute(Change change) {
    std::size_t told = 0;
    for (int second = 0; second < 60; ++second) {
      change(status.attention.front(), second);
      told += standstill.untold(status, now += seconds(1)).size();
    }
    return told;
  }

  wire::Status status;
  Standstill standstill;
  async::SteadyTime now = async::SteadyTime(std::chrono::hours(1));
};

TEST_F(StandstillTest, WhatNeedsSomebodyIsToldAfterAMomentAndOnce) {
  EXPECT_TRUE(standstill.untold(status, now).empty()) << "it may pass";
  ASSERT_EQ(standstill.untold(status, now + seconds(4)).size(), 1U);
  EXPECT_TRUE(standstill.untold(status, now + seconds(60)).empty());
}

TEST_F(StandstillTest, ALoopThatFailsOnIsToldOnceUntilItFailsOfSomethingElse) {
  status.attention = {
      {"the control loop 'files' on n1 fails since 2026-11-21T11:40:00Z: files are not synchronized", {}, {}}};
  EXPECT_EQ(told_in_a_minute([](auto& told, int second) {
              told.why = fmt::format("the disk is full ({} times in a row)", 7 + second / 5);
            }),
            1U);
  EXPECT_EQ(told_in_a_minute([](auto& told, int second) {
              told.why = fmt::format("the disk is gone ({} times in a row)", 67 + second / 5);
            }),
            1U);
  EXPECT_EQ(told_in_a_minute([](auto& told, int second) {
              told.what = "the control loop 'files' on n1 fails since 2026-11-21T11:50:00Z: files are not synchronized";
              told.why = fmt::format("the disk is full ({} times in a row)", 2 + second / 5);
            }),
            0U)
      << "it was over for a while, and is as before";
}

TEST_F(StandstillTest, AStuckLoopIsToldThoughItsTextChangesEverySecond) {
  status.attention = {{"the control loop 'drains' is stuck since 2026-11-21T11:40:00Z: drains cannot go on", {}, {}}};
  EXPECT_EQ(told_in_a_minute([](auto& told, int second) {
              told.why = fmt::format("its look takes {} already, and should take less than 5m0s",
                                     human_duration(std::chrono::minutes(5) + seconds(second)));
            }),
            1U);
}

TEST_F(StandstillTest, HowOftenATaskWasRestartedIsNotToldEachTime) {
  EXPECT_EQ(told_in_a_minute([](auto& told, int second) {
              told = {
                  fmt::format("task 'd' of 'slurmd' on n1 was restarted {} times", 1 + second / 15), "exit code 1", {}};
            }),
            1U);
}

TEST_F(StandstillTest, NumbersThatTellCausesApartAreToldEach) {
  for (const char* what : {"node 'n1' is down", "node 'n2' is down", "task 'd' ended with exit code 1",
                           "task 'd' ended with exit code 137", "port 80 is taken", "port 81 is taken",
                           "the job '5m' does not run", "the job '6m' does not run"}) {
    SCOPED_TRACE(what);
    EXPECT_EQ(told_in_a_minute([what](auto& told, int) { told = {what, {}, {}}; }), 1U);
  }
}

TEST_F(StandstillTest, EndsWhenAllThatCanBeUpIsUp) {
  EXPECT_EQ(missing_after(seconds(20)), Names{}) << "something may still come of it";
  EXPECT_EQ(missing_after(seconds(25)), (Names{"gateway-b", "login"}));
}

TEST_F(StandstillTest, GoesOnWhileSomethingMoves) {
  standstill.find_missing_for_good(status, now);
  status.services[0].healthy = 0;
  standstill.find_missing_for_good(status, now += seconds(30));
  status.services[0].healthy = 1;
  EXPECT_EQ(missing_after(seconds(30)), Names{});
}

TEST_F(StandstillTest, EndsThoughALoopFailsAgainAndAgain) {
  status.attention.push_back(
      {"the control loop 'drains' fails since 2026-11-21T11:40:00Z: drains cannot go on", {}, {}});
  Names missing;
  for (int second = 0; second <= 45; ++second) {
    status.attention.back().why = fmt::format("the disk is full ({} times in a row)", second);
    missing = standstill.find_missing_for_good(status, now += seconds(1));
  }
  EXPECT_EQ(missing, (Names{"gateway-b", "login"}));
}

TEST_F(StandstillTest, GoesOnWhileATaskIsStartedAgain) {
  for (int second = 0; second <= 90; ++second) {
    status.attention.front().what = fmt::format("task 'c' of 'gateway-b' on n1 was restarted {} times", second / 20);
    EXPECT_EQ(standstill.find_missing_for_good(status, now += seconds(1)), Names{});
  }
}

TEST_F(StandstillTest, GoesOnWhileOneIsMissingWithoutAReason) {
  status.services.push_back(service("slurmd", 0));
  EXPECT_EQ(missing_after(seconds(90)), Names{}) << "it pulls its image, say";
}

TEST_F(StandstillTest, GoesOnWhileAHostIsNotThere) {
  status.hosts[0].linked = false;
  EXPECT_EQ(missing_after(seconds(90)), Names{});
}

TEST_F(StandstillTest, AnUpClusterHasNothingMissing) {
  status.services = {service("munge", 1)};
  EXPECT_EQ(missing_after(seconds(90)), Names{});
}

}  // namespace
}  // namespace underway::cli
