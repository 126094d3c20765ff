#include "api/job/shortfall.hpp"

#include <gtest/gtest.h>

#include "api/testing/world.hpp"
#include "model/validate/first_cause.hpp"

namespace underway::api::testing {
namespace {

using model::ClientStatus;

constexpr const char* kNoSlurmd = "cannot run '/nonexistent/slurmd': No such file or directory";

/// Six nodes with a system job, which rolls out node by node and does not go back.
class ShortfallTest : public ::testing::Test {
 protected:
  ShortfallTest() {
    for (int n = 1; n <= 6; ++n) world.join(make_node(n));
    run("good");
    settle();
  }
  static model::Job slurmd(const std::string& version) {
    model::Job job = make_job("slurmd", 1, model::JobType::system);
    job.update.emplace();
    job.update->max_parallel = 1;
    job.update->min_healthy_time = Duration{0};
    job.update->progress_deadline = Duration{0};
    job.groups[0].tasks[0].env["VERSION"] = version;
    return job;
  }
  void run(const std::string& version) { world.run(slurmd(version)); }
  std::vector<tables::Row<model::Allocation>> of_version(std::int64_t version) {
    std::vector<tables::Row<model::Allocation>> out;
    for (const auto& row : world.tables().allocations_of_job("default", "slurmd")) {
      if (row->job_version == version && !row->terminal()) out.push_back(row);
    }
    return out;
  }
  /// All that is of its version and has no verdict yet is healthy, until nothing new comes.
  void settle() {
    for (bool news = true; news;) {
      news = false;
      for (const auto& row : of_version(current().version)) {
        if (row->health.healthy) continue;
        auto update = report(row->id, ClientStatus::running, true);
        update.health.timestamp = unix_nanos(world.clock.now());
        update.deployment_id = row->deployment_id;
        update.job_version = row->job_version;
        world.update(row->node_id, update);
        news = true;
      }
    }
  }
  /// Returns the node.
  std::string fail_one() {
    const auto row = of_version(current().version).front();
    auto update = report(row->id, ClientStatus::failed);
    auto& state = update.task_states["t"];
    state.failed = true;
    state.state = model::TaskRunState::dead;
    state.events.push_back({"Driver Failure", 1, kNoSlurmd, {}, 0, 0, false});
    state.events.push_back({"Not Restarting", 2, std::string(model::kUnrecoverable), {}, 0, 0, true});
    update.deployment_id = row->deployment_id;
    update.job_version = row->job_version;
    world.update(row->node_id, update);
    return row->node_name;
  }
  model::Job current() { return *world.tables().find_job("default", "slurmd"); }
  std::optional<wire::Shortfall> shortfall() { return shortfall_of(world.tables(), current(), world.clock.now()); }
  World world;
};

TEST_F(ShortfallTest, IsNothingWhenAllRunsAsDeclared) { EXPECT_FALSE(shortfall()); }

TEST_F(ShortfallTest, OfARolloutThatGoesOnNeedsNobody) {
  run("new");
  const auto now = shortfall();
  ASSERT_TRUE(now);
  EXPECT_FALSE(now->needs_you);
  EXPECT_EQ(now->what, "version 1 is being rolled out: 0 of 6 healthy; 5 of 6 run version 0");
}

TEST_F(ShortfallTest, OfARolloutThatFailedSaysWhereWhyAndWhatRunsInstead) {
  run("bad");
  const auto node = fail_one();
  const auto now = shortfall();
  ASSERT_TRUE(now);
  EXPECT_TRUE(now->needs_you);
  EXPECT_EQ(now->what, fmt::format("version 1 failed on {}; 6 of 6 run version 0", node)) << "it was put back at once";
  EXPECT_EQ(now->why, kNoSlurmd);
  EXPECT_EQ(now->advice, "mend the file and apply it, or go back: underway job revert slurmd 0");
}

TEST_F(ShortfallTest, OfARolloutThatStandsStillSaysForHowLong) {
  run("new");
  // A copy, as each update changes the rows.
  const auto rows = world.tables().allocations_of_job("default", "slurmd");
  for (const auto& row : std::vector(rows.begin(), rows.end())) {
    if (row->server_terminal()) world.update(row->node_id, report(row->id, ClientStatus::complete));
  }
  world.clock.advance(std::chrono::minutes(3));
  EXPECT_FALSE(shortfall()->needs_you) << "healthy_deadline is 5m: " << shortfall()->why;
  world.clock.advance(std::chrono::minutes(4));
  const auto now = shortfall();
  ASSERT_TRUE(now);
  EXPECT_TRUE(now->needs_you);
  EXPECT_NE(now->what.find("the rollout of version 1 has stood still for "), std::string::npos) << now->what;
}

TEST_F(ShortfallTest, OfWhatFailedOnceAtItsFirstStartIsOverWhenItHasRunForMinutes) {
  World fresh;
  fresh.join(make_node(1));
  fresh.run(slurmd("first"));
  const auto job = [&] { return *fresh.tables().find_job("default", "slurmd"); };
  const auto row = fresh.tables().allocations_of_job("default", "slurmd").front();
  auto update = report(row->id, ClientStatus::running);
  update.health.healthy = false;
  update.health.description = "task 't' failed: signal 11 (SIGSEGV)";
  update.health.timestamp = unix_nanos(fresh.clock.now());
  update.deployment_id = row->deployment_id;
  fresh.update(row->node_id, update);
  update.health.ready = true;
  update.task_states["t"].restarts = 1;
  update.task_states["t"].last_restart = unix_nanos(fresh.clock.now());
  fresh.update(row->node_id, update);
  const auto told = [&] { return shortfall_of(fresh.tables(), job(), fresh.clock.now()); };
  ASSERT_TRUE(told());
  EXPECT_TRUE(told()->needs_you) << "it may crash again";
  fresh.clock.advance(std::chrono::minutes(4));
  EXPECT_TRUE(told());
  fresh.clock.advance(std::chrono::minutes(2));
  EXPECT_FALSE(told()) << told()->what;
  // What runs and does not answer has not recovered, however long it runs.
  update.health.ready = false;
  fresh.update(row->node_id, update);
  EXPECT_TRUE(told());
}

TEST_F(ShortfallTest, WhatFailedBeforeIsToldOfBeforeItIsBroughtAgain) {
  run("bad");
  const auto node = fail_one();
  run("good");
  const auto version = [&](std::int64_t number) {
    return *world.tables().find_job_version("default", "slurmd", number);
  };
  const auto before = failed_before(world.tables(), version(1));
  ASSERT_TRUE(before);
  EXPECT_EQ(before->what, fmt::format("version 1 failed on {}, and is what is declared here", node));
  EXPECT_EQ(before->why, kNoSlurmd);
  EXPECT_FALSE(failed_before(world.tables(), version(0)));
  EXPECT_FALSE(failed_before(world.tables(), slurmd("other")));
}

}  // namespace
}  // namespace underway::api::testing
