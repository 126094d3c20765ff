#include "cli/impact/standstill.hpp"

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

  wire::Status status;
  Standstill standstill;
  async::SteadyTime now = async::SteadyTime(std::chrono::hours(1));
};

TEST_F(StandstillTest, WhatNeedsSomebodyIsToldAfterAMomentAndOnce) {
  EXPECT_TRUE(standstill.untold(status, now).empty()) << "it may pass";
  ASSERT_EQ(standstill.untold(status, now + seconds(4)).size(), 1U);
  EXPECT_TRUE(standstill.untold(status, now + seconds(60)).empty());
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
