#include "node/allocation/health.hpp"
#include "tests/runner_fixture.hpp"

namespace underway::node {
namespace {

using namespace std::chrono_literals;

/// Health as time goes by, without tasks.
class HealthTest : public ::testing::Test {
 protected:
  HealthTest() {
    job.id = "web";
    job.groups.emplace_back().name = "api";
    allocation.group = "api";
    rules({});
  }
  void rules(model::UpdateStrategy update) {
    job.update = update;
    allocation.deployment_id = "d1";
    allocation.job = std::make_shared<const model::Job>(job);
  }
  void measure() {
    monitor.emplace(runtime, health, stored, [this] { ++changes; });
    monitor->measure(allocation, {});
  }
  void see(bool work, std::string problem = "", Failures failures = {}) {
    monitor->observe({work, std::move(problem), std::move(failures)});
  }
  std::optional<bool> healthy() { return monitor->health().healthy; }

  FakeRuntime runtime;
  model::Job job;
  model::Allocation allocation;
  model::AllocHealth health;
  HealthMeasure stored;
  int changes = 0;
  std::optional<HealthMonitor> monitor;
};

TEST_F(HealthTest, ReadyAtOnceAndHealthyWhenThatLasted) {
  measure();
  see(false);
  EXPECT_FALSE(monitor->health().ready);
  see(true);
  EXPECT_TRUE(monitor->health().ready);
  runtime.advance(9s);
  EXPECT_EQ(healthy(), std::nullopt);
  runtime.advance(1s);
  EXPECT_EQ(healthy(), true);
  EXPECT_EQ(changes, 1);
}

TEST_F(HealthTest, AnInterruptionBeginsTheCountAnew) {
  measure();
  see(true);
  runtime.advance(9s);
  see(true, "check 'ping' of service 'web' was critical: connection refused");
  EXPECT_FALSE(monitor->health().ready);
  see(true);
  runtime.advance(9s);
  EXPECT_EQ(healthy(), std::nullopt);
  runtime.advance(1s);
  EXPECT_EQ(healthy(), true);
}

TEST_F(HealthTest, TheVerdictStandsWhileReadyFollowsWhatHappens) {
  measure();
  see(true);
  runtime.advance(10s);
  see(false, "", {{"main", {1, "exit code 1"}}});
  EXPECT_FALSE(monitor->health().ready);
  EXPECT_EQ(healthy(), true);
  see(true);
  EXPECT_TRUE(monitor->health().ready);
}

TEST_F(HealthTest, AFailureCondemnsTheVersionAtOnceAndForGood) {
  measure();
  see(true);
  runtime.advance(5s);
  see(false, "", {{"main", {1, "exit code 1"}}});
  EXPECT_EQ(healthy(), false);
  EXPECT_EQ(monitor->health().description, "task 'main' failed: exit code 1");
  see(true, "", {{"main", {1, "exit code 1"}}});
  runtime.advance(1h);
  EXPECT_EQ(healthy(), false);
  EXPECT_TRUE(monitor->health().ready);
}

TEST_F(HealthTest, TheDeadlineSaysWhatWasMissing) {
  struct Case {
    const char* name;
    bool work;
    const char* problem;
    const char* expect;
  };
  const std::vector<Case> cases = {
      {"tasks", false, "", "not healthy within 5m0s: its tasks do not run"},
      {"a check", true, "check 'ping' of service 'web' was critical: connection refused",
       "not healthy within 5m0s: check 'ping' of service 'web' was critical: connection refused"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    measure();
    see(c.work, c.problem);
    runtime.advance(4min + 59s);
    EXPECT_EQ(healthy(), std::nullopt);
    runtime.advance(1s);
    EXPECT_EQ(healthy(), false);
    EXPECT_EQ(monitor->health().description, c.expect);
  }
}

TEST_F(HealthTest, WhatWorksTooShortlyBeforeTheDeadlineIsToldSo) {
  measure();
  see(false);
  runtime.advance(4min + 55s);
  see(true);
  runtime.advance(5s);
  EXPECT_EQ(monitor->health().description,
            "not healthy within 5m0s: it has not yet worked for 10s without interruption");
}

TEST_F(HealthTest, AnotherVersionIsMeasuredAnewAndOldFailuresDoNotCount) {
  measure();
  see(false, "", {{"main", {2, "exit code 1"}}});
  EXPECT_EQ(healthy(), false);
  ++allocation.job_version;
  monitor->measure(allocation, {{"main", {2, "exit code 1"}}});
  EXPECT_EQ(healthy(), std::nullopt);
  EXPECT_EQ(monitor->health().description, "");
  see(true, "", {{"main", {2, "exit code 1"}}});
  runtime.advance(10s);
  EXPECT_EQ(healthy(), true);
  monitor->measure(allocation, {});
  EXPECT_EQ(healthy(), true) << "the same version again";
  allocation.deployment_id = "d2";
  monitor->measure(allocation, {});
  EXPECT_EQ(healthy(), std::nullopt) << "another rollout";
}

TEST_F(HealthTest, ManualIsNeverFoundButReadinessIs) {
  rules({.health_check = model::HealthCheck::manual});
  measure();
  see(true);
  runtime.advance(1h);
  EXPECT_EQ(healthy(), std::nullopt);
  EXPECT_TRUE(monitor->health().ready);
}

TEST_F(HealthTest, ByTaskStatesChecksDoNotDecideTheRollout) {
  rules({.health_check = model::HealthCheck::task_states, .min_healthy_time = 1s});
  measure();
  see(true, "check 'ping' of service 'web' was critical: refused");
  runtime.advance(1s);
  EXPECT_EQ(healthy(), true);
  EXPECT_FALSE(monitor->health().ready);
}

TEST_F(HealthTest, WithoutATimeToLastReadyIsHealthy) {
  rules({.min_healthy_time = 0s});
  measure();
  see(true);
  EXPECT_EQ(healthy(), true);
}

TEST_F(HealthTest, AnAgentThatComesBackKeepsTheVerdictAndTheDeadline) {
  measure();
  see(true, "check 'ping' of service 'web' was pending");
  runtime.advance(4min);
  health = monitor->health();
  stored = monitor->measured();
  measure();
  see(true, "check 'ping' of service 'web' was pending");
  runtime.advance(1min);
  EXPECT_EQ(healthy(), false);
  health = monitor->health();
  measure();
  see(true);
  runtime.advance(1h);
  EXPECT_EQ(healthy(), false);
}

TEST_F(HealthTest, AnAgentThatComesBackLateGivesTimeToShowWhatWorks) {
  measure();
  stored = monitor->measured();
  monitor.reset();
  runtime.advance(1h);
  measure();
  see(true);
  runtime.advance(10s);
  EXPECT_EQ(healthy(), true);
}

TEST_F(HealthTest, WhatIsStoppedIsNotReadyAndNotJudged) {
  measure();
  see(true);
  EXPECT_TRUE(monitor->stop());
  EXPECT_FALSE(monitor->health().ready);
  runtime.advance(1h);
  EXPECT_EQ(healthy(), std::nullopt);
}

TEST(HealthRules, AreThoseOfTheRolloutOrElseOfTheMove) {
  model::Job job;
  job.groups.emplace_back().name = "api";
  job.groups[0].update = model::UpdateStrategy{.min_healthy_time = 3s};
  job.groups[0].migrate = model::MigrateStrategy{.min_healthy_time = 7s};
  model::Allocation allocation;
  allocation.group = "api";
  allocation.job = std::make_shared<const model::Job>(job);
  EXPECT_EQ(health_rules(allocation).min_healthy_time, 7s);
  allocation.deployment_id = "d";
  EXPECT_EQ(health_rules(allocation).min_healthy_time, 3s);
}

// --- with an allocation's tasks

class RunnerHealthTest : public RunnerTest {
 protected:
  model::AllocHealth health() { return runner->update().health; }
};

TEST_F(RunnerHealthTest, AServiceThatDiesSoonAfterItsStartIsNotHealthy) {
  run(make_order({make_task("main")}));
  EXPECT_TRUE(health().ready);
  runtime.advance(5s);
  runner->unreported = false;
  end("main", {.exit_code = 1});
  EXPECT_EQ(health().healthy, false);
  EXPECT_EQ(health().description, "task 'main' failed: exit code 1");
  EXPECT_FALSE(health().ready);
  EXPECT_TRUE(runner->unreported);
  runtime.advance(15s);
  EXPECT_TRUE(health().ready) << "restarted by its policy";
  EXPECT_EQ(health().healthy, false);
}

TEST_F(RunnerHealthTest, TimeAloneMakesItHealthyAndIsReported) {
  run(make_order({make_task("main")}));
  runner->unreported = false;
  const int before = reports;
  runtime.advance(10s);
  EXPECT_EQ(health().healthy, true);
  EXPECT_TRUE(runner->unreported);
  EXPECT_GT(reports, before);
}

TEST_F(RunnerHealthTest, APersonsRestartInterruptsAndDoesNotCondemn) {
  run(make_order({make_task("main")}));
  runtime.advance(8s);
  runner->restart("");
  runtime.settle();
  runtime.advance(8s);
  EXPECT_EQ(health().healthy, std::nullopt);
  runtime.advance(2s);
  EXPECT_EQ(health().healthy, true);
}

TEST_F(RunnerHealthTest, ItIsNotLateWhileItWaitsForOthers) {
  auto order = make_order({make_task("main")});
  order.order.start = false;
  run(order);
  runtime.advance(1h);
  EXPECT_EQ(health().healthy, std::nullopt);
  order.order.start = true;
  runner->obey(order);
  runtime.settle();
  runtime.advance(10s);
  EXPECT_EQ(health().healthy, true);
}

TEST_F(RunnerHealthTest, AnUpdateInPlaceIsMeasuredAnewUnderItsOwnVersion) {
  run(make_order({make_task("main")}));
  runtime.advance(10s);
  auto order = make_order({make_task("main")});
  order.job.version = order.order.allocation.job_version = 1;
  order.order.allocation.deployment_id = "d1";
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  runner->obey(order);
  runtime.settle();
  EXPECT_EQ(health().healthy, std::nullopt);
  EXPECT_TRUE(health().ready);
  EXPECT_EQ(runner->update().job_version, 1);
  EXPECT_EQ(runner->update().deployment_id, "d1");
  runtime.advance(10s);
  EXPECT_EQ(health().healthy, true);
}

TEST_F(RunnerHealthTest, TheVerdictOutlivesTheAgent) {
  run(make_order({make_task("main")}));
  runtime.advance(5s);
  end("main", {.exit_code = 1});
  runtime.advance(15s);
  restart_agent();
  EXPECT_TRUE(health().ready);
  runtime.advance(1min);
  EXPECT_EQ(health().healthy, false);
  EXPECT_EQ(health().description, "task 'main' failed: exit code 1");
}

TEST_F(RunnerHealthTest, AStoppedAllocationIsNotReady) {
  drivers.end_when_stopped = false;
  run(make_order({make_task("main")}));
  runner->destroy();
  runtime.settle();
  EXPECT_FALSE(health().ready);
}

}  // namespace
}  // namespace underway::node
