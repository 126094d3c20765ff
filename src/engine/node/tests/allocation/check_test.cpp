#include "tests/runner_fixture.hpp"

namespace underway::node {
namespace {

using namespace std::chrono_literals;
using model::CheckStatus;
using ::testing::ElementsAre;

const TimePoint kNow{std::chrono::seconds{1'700'000'000}};

CheckPlan make_plan(model::Check check, model::CheckRestart restart = {}) {
  CheckPlan plan;
  plan.id = "c1";
  plan.name = "ping";
  plan.service = "web";
  plan.check = std::move(check);
  plan.on_update = "require_healthy";
  plan.restart = restart;
  return plan;
}

TEST(CheckState, ChangesAfterAsManyInARowAsAsked) {
  const CheckPlan plan = make_plan({.success_before_passing = 2, .failures_before_critical = 3});
  CheckState state(plan, std::nullopt);
  EXPECT_EQ(state.result().status, CheckStatus::pending);
  struct Step {
    bool passed;
    CheckStatus expect;
  };
  const std::vector<Step> steps = {{true, CheckStatus::pending},  {true, CheckStatus::success},
                                   {false, CheckStatus::success}, {false, CheckStatus::success},
                                   {true, CheckStatus::success},  {false, CheckStatus::success},
                                   {false, CheckStatus::success}, {false, CheckStatus::failure},
                                   {true, CheckStatus::failure},  {true, CheckStatus::success}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const CheckStatus before = state.result().status;
    EXPECT_EQ(state.take({.passed = steps[i].passed}, false, kNow).changed, before != steps[i].expect) << i;
    EXPECT_EQ(state.result().status, steps[i].expect) << i;
  }
}

TEST(CheckState, BeginsAsItIsTold) {
  for (const auto& [word, expect] : std::map<std::string, CheckStatus>{
           {"", CheckStatus::pending}, {"passing", CheckStatus::success}, {"critical", CheckStatus::failure}}) {
    const CheckPlan plan = make_plan({.initial_status = word});
    EXPECT_EQ(CheckState(plan, std::nullopt).result().status, expect) << word;
  }
}

TEST(CheckState, AsksForARestartAtTheLimitAndNotInTheGrace) {
  const CheckPlan plan = make_plan({}, {.limit = 2});
  CheckState state(plan, std::nullopt);
  EXPECT_FALSE(state.take({}, true, kNow).restart);
  EXPECT_FALSE(state.take({}, true, kNow).restart);
  EXPECT_FALSE(state.take({}, false, kNow).restart);
  EXPECT_FALSE(state.take({.passed = true}, false, kNow).restart);
  EXPECT_FALSE(state.take({}, false, kNow).restart) << "not in a row";
  EXPECT_TRUE(state.take({}, false, kNow).restart);
  EXPECT_FALSE(state.take({}, false, kNow).restart) << "counted anew";
}

TEST(CheckState, AWarningIsTakenAsTheServiceSays) {
  CheckPlan plan = make_plan({}, {.limit = 1, .ignore_warnings = true});
  const ProbeAnswer warning{.warning = true, .code = 1};
  CheckState strict(plan, std::nullopt);
  EXPECT_FALSE(strict.take(warning, false, kNow).restart);
  EXPECT_FALSE(strict.passes());
  plan.on_update = "ignore_warnings";
  CheckState lenient(plan, std::nullopt);
  EXPECT_FALSE(lenient.take(warning, false, kNow).restart);
  EXPECT_TRUE(lenient.passes());
  EXPECT_TRUE(lenient.take({.code = 2}, false, kNow).restart);
  EXPECT_FALSE(lenient.passes());
}

TEST(CheckState, KeepsTheBeginningOfTheOutput) {
  const CheckPlan plan = make_plan({});
  CheckState state(plan, std::nullopt);
  state.take({.output = std::string(10'000, 'x')}, false, kNow);
  EXPECT_EQ(state.result().output.size(), 3u << 10);
  EXPECT_EQ(state.result().timestamp, 1'700'000'000);
}

// --- as part of an allocation

class CheckTest : public RunnerTest {
 protected:
  CheckTest() {
    node.attributes["unique.network.ip-address"] = "10.0.0.1";
    service.name = "web";
    service.port = "http";
    service.task = "main";
    check.name = "ping";
    check.type = "tcp";
    check.interval = 10s;
    check.timeout = 2s;
    check.port.clear();
  }
  StoredOrder order(std::int64_t version = 0) {
    auto made = make_order({make_task("main")});
    service.checks = {check};
    made.job.groups[0].services = {service};
    made.job.version = made.order.allocation.job_version = version;
    made.order.allocation.resources.ports = {{"http", 20001, 0, "192.168.0.7"}};
    made.order.allocation.job = std::make_shared<const model::Job>(made.job);
    return made;
  }
  void script() {
    check.type = "script";
    check.command = "/bin/is-well";
    check.args = {"${NOMAD_TASK_NAME}", "${NOMAD_PORT_http}"};
  }
  model::CheckResult result() { return runner->check_results().at(0); }
  model::AllocHealth health() { return runner->update().health; }
  FakeSession& session(std::size_t number) { return *process().sessions.at(number); }

  model::Service service;
  model::Check check;
};

TEST_F(CheckTest, IsAskedAtTheAddressOfItsPortAgainAndAgain) {
  run(order());
  runtime.advance(25s);
  ASSERT_EQ(runtime.probes.size(), 3u);
  EXPECT_EQ(runtime.probes[0].address, "192.168.0.7");
  EXPECT_EQ(runtime.probes[0].port, 20001);
  EXPECT_FALSE(runtime.probes[0].http);
  EXPECT_EQ(result().status, CheckStatus::success);
  EXPECT_EQ(result().task, "main");
  EXPECT_EQ(result().service, "web");
}

TEST_F(CheckTest, AnHttpCheckAsksForItsPathWithItsHeaders) {
  check.type = "http";
  check.path = "/status/${NOMAD_ALLOC_INDEX}";
  check.protocol = "https";
  check.tls_skip_verify = true;
  check.headers = {{"X-Group", {"${NOMAD_GROUP_NAME}"}}};
  run(order());
  ASSERT_EQ(runtime.probes.size(), 1u);
  const ProbeRequest& request = runtime.probes[0];
  EXPECT_TRUE(request.http && request.tls && !request.verify);
  EXPECT_EQ(request.path, "/status/3");
  EXPECT_THAT(request.headers, ElementsAre(std::pair<std::string, std::string>("X-Group", "api")));
}

TEST_F(CheckTest, TheFirstAttemptsOfManyAreSpreadOverASecond) {
  runtime.jitter_value = 0.5;
  run(order());
  EXPECT_TRUE(runtime.probes.empty());
  EXPECT_FALSE(health().ready) << "not before its check has passed";
  runtime.advance(500ms);
  EXPECT_EQ(runtime.probes.size(), 1u);
  EXPECT_TRUE(health().ready);
}

TEST_F(CheckTest, AFailingCheckTakesReadinessAwayAndGivesTheReason) {
  run(order());
  EXPECT_TRUE(health().ready);
  runtime.advance(11s);
  runtime.answer = {.output = "connection refused\nmore"};
  runner->unreported = false;
  runtime.advance(10s);
  EXPECT_FALSE(health().ready);
  EXPECT_TRUE(runner->unreported);
  EXPECT_EQ(health().healthy, true) << "it had lasted for 10s";
  runtime.answer = {.passed = true};
  runtime.advance(10s);
  EXPECT_TRUE(health().ready);
}

TEST_F(CheckTest, AVersionWhoseCheckNeverPassesIsNotHealthyInTime) {
  runtime.answer = {.output = "connection refused\nmore"};
  run(order());
  runtime.advance(5min);
  EXPECT_EQ(health().healthy, false);
  EXPECT_EQ(health().description,
            "not healthy within 5m0s: check 'ping' of service 'web' was critical: connection refused");
}

TEST_F(CheckTest, AVersionThatPassesItsCheckAndThenDiesIsNotHealthy) {
  run(order());
  runtime.advance(9s);
  EXPECT_TRUE(health().ready);
  end("main", {.exit_code = 1});
  EXPECT_EQ(health().healthy, false);
  EXPECT_EQ(health().description, "task 'main' failed: exit code 1");
  EXPECT_EQ(result().status, CheckStatus::pending) << "what was found is void";
}

TEST_F(CheckTest, AnIgnoredCheckDecidesNothing) {
  service.on_update = "ignore";
  runtime.answer = {.output = "no"};
  run(order());
  EXPECT_TRUE(health().ready);
  EXPECT_EQ(result().status, CheckStatus::failure);
}

TEST_F(CheckTest, APortThatIsNotThereIsAFailureInWords) {
  service.port = "other";
  run(order());
  EXPECT_EQ(result().status, CheckStatus::failure);
  EXPECT_EQ(result().output, "the allocation has no port 'other'");
  EXPECT_TRUE(runtime.probes.empty());
}

TEST_F(CheckTest, CheckRestartRestartsTheTaskAsAFailure) {
  check.check_restart = model::CheckRestart{.limit = 2, .grace = 15s};
  runtime.answer = {.output = "no"};
  run(order());
  runtime.advance(20s);  // the attempts at 0s and 10s fall into the grace
  EXPECT_TRUE(process().stops.empty());
  EXPECT_EQ(health().healthy, std::nullopt);
  runtime.advance(10s);
  EXPECT_EQ(state().restarts, 1);
  EXPECT_THAT(event_types(state()),
              ElementsAre("Received", "Task Setup", "Started", "Restart Signaled", "Terminated", "Restarting"));
  EXPECT_EQ(state().events[3].message, "healthcheck: check \"ping\" unhealthy");
  EXPECT_EQ(health().description, "task 'main' failed: healthcheck: check \"ping\" unhealthy");
  runtime.advance(15s);
  EXPECT_EQ(drivers.order.size(), 2u) << "after the delay of its restart policy";
}

TEST_F(CheckTest, NothingIsAskedWhileTheTaskDoesNotRunOrIsBeingStopped) {
  run(order());
  end("main", {.exit_code = 1});
  const auto asked = runtime.probes.size();
  runtime.advance(14s);
  EXPECT_EQ(runtime.probes.size(), asked);
  runtime.advance(1s);
  EXPECT_EQ(runtime.probes.size(), asked + 1) << "it runs again";
  drivers.running.at("main")->ends_when_stopped = false;
  runner->destroy();
  runtime.advance(1min);
  EXPECT_EQ(runtime.probes.size(), asked + 1);
}

TEST_F(CheckTest, AScriptRunsInTheTaskAndItsExitCodeDecides) {
  script();
  run(order());
  ASSERT_EQ(process().sessions.size(), 1u);
  EXPECT_THAT(session(0).command, ElementsAre("/bin/is-well", "main", "20001"));
  EXPECT_FALSE(health().ready);
  session(0).end(0, "all is well");
  runtime.settle();
  EXPECT_TRUE(health().ready);
  EXPECT_EQ(result().output, "all is well");
  runtime.advance(10s);
  session(1).end(2);
  runtime.settle();
  EXPECT_EQ(result().status, CheckStatus::failure);
  EXPECT_EQ(result().status_code, 2);
  EXPECT_EQ(result().output, "exit code 2");
}

TEST_F(CheckTest, AScriptThatHangsIsKilledAtItsTimeoutAndCountsAsFailed) {
  script();
  run(order());
  runtime.advance(2s);
  EXPECT_EQ(session(0).kills, 1);
  EXPECT_EQ(result().status, CheckStatus::failure);
  EXPECT_EQ(result().output, "'/bin/is-well' did not end within 2s and was killed");
  runtime.advance(8s);
  EXPECT_EQ(process().sessions.size(), 2u) << "the next one comes at its time";
}

TEST_F(CheckTest, AScriptThatDoesNotEvenDieNeverPilesUp) {
  script();
  run(order());
  session(0).dies_when_killed = false;
  runtime.advance(1h);
  EXPECT_EQ(process().sessions.size(), 1u);
  EXPECT_EQ(result().status, CheckStatus::failure);
  session(0).end(137);
  runtime.settle();
  EXPECT_EQ(process().sessions.size(), 2u);
  session(1).end(0);
  runtime.settle();
  EXPECT_EQ(result().status, CheckStatus::success);
}

TEST_F(CheckTest, WhatAScriptOfTheOldProcessSaysIsOfNoInterest) {
  script();
  run(order());
  const auto old = process().sessions.at(0);
  old->dies_when_killed = false;
  end("main", {.exit_code = 1});
  runtime.advance(15s);
  old->end(0, "of the old one");
  runtime.settle();
  EXPECT_NE(result().output, "of the old one");
}

TEST_F(CheckTest, AnAgentThatComesBackKnowsWhatTheChecksHadSaid) {
  run(order());
  EXPECT_TRUE(health().ready);
  runtime.jitter_value = 0.9;
  restart_agent();
  EXPECT_TRUE(health().ready) << "nobody is told that it is not";
  EXPECT_EQ(result().status, CheckStatus::success);
  runtime.answer = {.output = "no"};
  runtime.advance(1s);
  EXPECT_FALSE(health().ready);
}

TEST_F(CheckTest, AnUpdateInPlaceBringsItsOwnChecksAndKeepsThoseThatStay) {
  run(order());
  const auto asked = runtime.probes.size();
  runner->obey(order(1));
  runtime.settle();
  EXPECT_EQ(runtime.probes.size(), asked) << "the same check goes on as it was";
  EXPECT_TRUE(health().ready);
  check.type = "http";
  check.path = "/new";
  runner->obey(order(2));
  runtime.settle();
  EXPECT_TRUE(runtime.probes.back().http);
  runtime.advance(30s);
  EXPECT_TRUE(std::all_of(runtime.probes.begin() + static_cast<std::ptrdiff_t>(asked), runtime.probes.end(),
                          [](const ProbeRequest& probe) { return probe.http; }))
      << "the old one has ended";
}

}  // namespace
}  // namespace underway::node
