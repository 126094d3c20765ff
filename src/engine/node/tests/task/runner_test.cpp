#include <csignal>

#include "node/task/task_event.hpp"
#include "tests/runner_fixture.hpp"

namespace underway::node {
namespace {

using model::ClientStatus;
using model::LifecycleHook;
using model::TaskRunState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

TEST_F(RunnerTest, AServiceRunsAndTellsEachStep) {
  run(make_order({make_task("main")}));
  EXPECT_EQ(status(), ClientStatus::running);
  EXPECT_THAT(event_types(state()), ElementsAre("Received", "Task Setup", "Started"));
  EXPECT_GT(state().started_at, 0);
  EXPECT_TRUE(runner->update().health.ready);
  EXPECT_TRUE(os::exists(directory.path() + "/alloc/" + kAllocationId + "/main/local"));
  EXPECT_TRUE(os::exists(directory.path() + "/alloc/" + kAllocationId + "/alloc/logs"));
}

TEST_F(RunnerTest, ItsIntentionIsOnDiskBeforeTheDriverIsAsked) {
  drivers.before_start = [this] {
    std::vector<std::string> problems;
    const auto all = files.read_all(problems);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_TRUE(all[0].state.tasks.at("main").launched);
    EXPECT_EQ(all[0].state.tasks.at("main").attempt, 1);
  };
  run(make_order({make_task("main")}));
  EXPECT_EQ(drivers.order.size(), 1u);
}

TEST_F(RunnerTest, ABatchTaskThatSucceedsIsComplete) {
  run(make_order({make_task("main")}, model::JobType::batch));
  end("main", {});
  EXPECT_EQ(status(), ClientStatus::complete);
  EXPECT_FALSE(state().failed);
  EXPECT_EQ(state().events.back().message, "Exit Code: 0");
}

TEST_F(RunnerTest, AnAllocationThatRunsForLongerThanItMayIsStoppedAndHasFailed) {
  auto order = make_order({make_task("main"), make_hook("clean", LifecycleHook::poststop)}, model::JobType::batch);
  order.job.groups[0].max_run_duration = 1h;
  order.job.groups[0].tasks[0].restart = model::RestartPolicy{.attempts = 3, .interval = 24h, .delay = 1s};
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  run(order);
  runtime.advance(30min);
  end("main", {.exit_code = 3});  // a restart does not begin it anew
  runtime.advance(29min);
  EXPECT_EQ(status(), ClientStatus::running);
  runtime.advance(1min);
  EXPECT_EQ(state().state, TaskRunState::dead);
  EXPECT_EQ(drivers.order.back(), "clean");
  end("clean", {});
  EXPECT_EQ(status(), ClientStatus::failed);
  std::vector<std::string> messages;
  for (const auto& event : state().events) messages.push_back(event.message);
  EXPECT_THAT(messages, ::testing::Contains("The allocation ran for longer than max_run_duration, 1h0m0s"));
}

TEST_F(RunnerTest, TheTaskFindsThePayloadOfItsDispatch) {
  auto order = make_order({make_task("main")}, model::JobType::batch);
  order.job.payload = "eyJhIjoxfQ==";
  order.job.dispatched = true;
  order.job.groups[0].tasks[0].dispatch_payload = model::DispatchPayload{"in/data.json"};
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  run(order);
  const std::string local = directory.path() + "/alloc/" + kAllocationId + "/main/local";
  EXPECT_EQ(os::read_file(local + "/in/data.json"), "{\"a\":1}");
}

TEST_F(RunnerTest, TheTaskFindsAnEmptyPayloadOfADispatchThatBroughtNone) {
  auto order = make_order({make_task("main")}, model::JobType::batch);
  order.job.dispatched = true;
  order.job.groups[0].tasks[0].dispatch_payload = model::DispatchPayload{"data.json"};
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  run(order);
  EXPECT_EQ(os::read_file(directory.path() + "/alloc/" + kAllocationId + "/main/local/data.json"), "");
}

TEST_F(RunnerTest, MainsWaitForPrestartTasksAndPoststopRunsLast) {
  run(make_order({make_task("main"), make_hook("init", LifecycleHook::prestart),
                  make_hook("proxy", LifecycleHook::prestart, true), make_hook("after", LifecycleHook::poststart),
                  make_hook("clean", LifecycleHook::poststop)}));
  EXPECT_THAT(drivers.order, UnorderedElementsAre("init", "proxy"));
  EXPECT_FALSE(runner->update().health.ready);
  end("init", {});
  ASSERT_EQ(drivers.order.size(), 4u);
  EXPECT_EQ(drivers.order[2], "main");
  EXPECT_EQ(drivers.order[3], "after");
  end("after", {});
  EXPECT_TRUE(runner->update().health.ready);

  auto stop = make_order({});
  stop.order.allocation = runner->allocation();
  stop.job = *runner->allocation().job;
  stop.order.allocation.desired_status = model::DesiredStatus::stop;
  runner->obey(stop);
  runtime.settle();
  EXPECT_EQ(drivers.order.back(), "clean");
  EXPECT_EQ(state("proxy").state, TaskRunState::dead);
  end("clean", {});
  EXPECT_EQ(status(), ClientStatus::complete);
  EXPECT_TRUE(runner->dead());
}

TEST_F(RunnerTest, AFailedPrestartTaskFailsTheAllocationAndTheMainTaskNeverRuns) {
  auto init = make_hook("init", LifecycleHook::prestart);
  init.restart = model::RestartPolicy{.attempts = 0};
  run(make_order({make_task("main"), init}));
  end("init", {.exit_code = 1});
  EXPECT_EQ(status(), ClientStatus::failed);
  EXPECT_EQ(state("main").state, TaskRunState::dead);
  EXPECT_FALSE(state("main").failed);
  EXPECT_EQ(state("main").events[1].message, "Task's sibling 'init' failed");
  EXPECT_EQ(drivers.order, std::vector<std::string>{"init"});
}

TEST_F(RunnerTest, TheEndOfTheLeaderEndsTheOthers) {
  auto leader = make_task("leader");
  leader.leader = true;
  run(make_order({leader, make_task("main")}, model::JobType::batch));
  end("leader", {});
  EXPECT_EQ(state("main").state, TaskRunState::dead);
  EXPECT_THAT(event_types(state("main")), ::testing::Contains("Leader Task Dead"));
  EXPECT_EQ(status(), ClientStatus::complete);
}

TEST_F(RunnerTest, SidecarsEndWhenTheMainTasksAreDone) {
  run(make_order({make_task("main"), make_hook("proxy", LifecycleHook::prestart, true)}, model::JobType::batch));
  end("main", {});
  EXPECT_EQ(state("proxy").state, TaskRunState::dead);
  EXPECT_EQ(status(), ClientStatus::complete);
}

TEST_F(RunnerTest, StoppingSendsTheTasksSignalAndTellsSo) {
  drivers.end_when_stopped = false;
  auto task = make_task("main");
  task.kill_signal = "SIGTERM";
  task.kill_timeout = 120s;  // more than the node allows
  task.shutdown_delay = 3s;
  run(make_order({task}));
  runner->destroy();
  runtime.settle();
  EXPECT_TRUE(process().stops.empty());
  runtime.advance(3s);
  ASSERT_EQ(process().stops.size(), 1u);
  EXPECT_EQ(process().stops[0], (std::pair<int, Duration>{SIGTERM, 30s}));
  EXPECT_EQ(state().events.back().message, "Sent SIGTERM. Waiting 30s before force killing");
  end("main", {.signal = SIGTERM});
  EXPECT_THAT(event_types(state()),
              ElementsAre("Received", "Task Setup", "Started", "Waiting", "Killing", "Terminated", "Killed"));
  EXPECT_EQ(status(), ClientStatus::complete);
  runtime.run(runner->remove_directories());
  EXPECT_FALSE(os::exists(directory.path() + "/alloc/" + kAllocationId));
  EXPECT_FALSE(os::exists(directory.path() + "/node/allocations/" + kAllocationId));
}

TEST_F(RunnerTest, StoppingDoesNotWaitForAShutdownDelayThatIsToBeSkipped) {
  enum class Told { with_the_stop, while_it_waits, before_the_agent_died };
  for (const auto told : {Told::with_the_stop, Told::while_it_waits, Told::before_the_agent_died}) {
    for (const bool of_group : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(told), of_group));
      drop();
      files.remove(kAllocationId);
      drivers.end_when_stopped = false;
      auto task = make_task("main");
      if (!of_group) task.shutdown_delay = 1h;
      auto order = make_order({task});
      if (of_group) order.job.groups[0].shutdown_delay = 1h;
      order.order.allocation.job = std::make_shared<const model::Job>(order.job);
      run(order);
      order.order.allocation.desired_status = model::DesiredStatus::stop;
      if (told != Told::with_the_stop) {
        runner->obey(order);
        runtime.settle();
        EXPECT_TRUE(process().stops.empty()) << "it waits";
      }
      order.order.allocation.transition.no_shutdown_delay = true;
      if (told == Told::before_the_agent_died) {
        files.write_order(kAllocationId, order);
        restart_agent();
      } else {
        runner->obey(order);
        runtime.settle();
      }
      EXPECT_EQ(process().stops.size(), 1u);
      end("main", {.signal = SIGINT});
      EXPECT_EQ(status(), ClientStatus::complete);
    }
  }
}

TEST_F(RunnerTest, TheLeaderIsStoppedBeforeTheOthersAndSidecarsLast) {
  drivers.end_when_stopped = false;
  auto leader = make_task("leader");
  leader.leader = true;
  run(make_order({leader, make_task("main"), make_hook("proxy", LifecycleHook::prestart, true)}));
  runner->destroy();
  runtime.settle();
  EXPECT_EQ(process("leader").stops.size(), 1u);
  EXPECT_EQ(process("main").stops.size(), 0u);
  end("leader", {});
  EXPECT_EQ(process("main").stops.size(), 1u);
}

TEST_F(RunnerTest, AnAllocationThatMayNotStartTellsWhatItWaitsFor) {
  auto order = make_order({make_task("main")});
  order.order.start = false;
  order.order.waiting_for = "munge on this node";
  run(order);
  runner->obey(order);
  runtime.settle();
  EXPECT_TRUE(drivers.order.empty());
  EXPECT_EQ(state().events.back().message, "Waiting for munge on this node");
  order.order.start = true;
  runner->obey(order);
  runtime.settle();
  EXPECT_EQ(status(), ClientStatus::running);
}

TEST_F(RunnerTest, WhatRunsIsNotStartedAgainWhileItsDependencyFails) {
  auto order = make_order({make_task("main")});
  run(order);
  ASSERT_EQ(status(), ClientStatus::running);
  order.order.start = false;
  order.order.waiting_for = "munge on this node";
  runner->obey(order);
  runtime.settle();
  EXPECT_EQ(status(), ClientStatus::running);
  end("main", {.exit_code = 1});
  runtime.advance(1h);
  EXPECT_EQ(drivers.order.size(), 1u);
  EXPECT_EQ(state().events.back().message, "Waiting for munge on this node");
  order.order.start = true;
  runner->obey(order);
  runtime.settle();
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(status(), ClientStatus::running);
}

TEST_F(RunnerTest, APauseStopsWhatRunsUntilItMayStartAgainAndCountsAsNoFailure) {
  auto order = make_order({make_task("main")});
  run(order);
  order.order.start = false;
  order.order.pause = true;
  order.order.waiting_for = "munge on this node";
  runner->obey(order);
  runner->obey(order);  // orders are repeated
  runtime.settle();
  EXPECT_EQ(process("main").stops.size(), 1u);
  if (!drivers.end_when_stopped) end("main", {});
  runtime.advance(1h);
  EXPECT_EQ(drivers.order.size(), 1u);
  EXPECT_EQ(status(), ClientStatus::pending);
  order.order.start = true;
  order.order.pause = false;
  order.order.waiting_for.clear();
  runner->obey(order);
  runtime.settle();
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(status(), ClientStatus::running);
  EXPECT_FALSE(state().failed);
}

TEST_F(RunnerTest, AMissingCommandFailsAtOnceAndNamesPathAndNode) {
  drivers.failures.push_back(Error(Code::not_found, "cannot run '/opt/none'").because("on node 'n1'"));
  run(make_order({make_task("main")}));
  EXPECT_EQ(status(), ClientStatus::failed);
  const auto& events = state().events;
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events[events.size() - 2].type, "Driver Failure");
  EXPECT_THAT(events[events.size() - 2].message, HasSubstr("/opt/none"));
  EXPECT_THAT(events[events.size() - 2].message, HasSubstr("n1"));
  EXPECT_EQ(events.back().message, "Error was unrecoverable");
}

TEST_F(RunnerTest, AMissingUserFailsAtOnceAndNamesUserAndNode) {
  auto task = make_task("main");
  task.user = "no-such-user-here";
  run(make_order({task}));
  EXPECT_EQ(status(), ClientStatus::failed);
  EXPECT_THAT(state().events[2].message, HasSubstr("user 'no-such-user-here' does not exist on node 'n1'"));
}

TEST_F(RunnerTest, AnUnknownDriverFailsAtOnce) {
  auto task = make_task("main");
  task.driver = "docker";
  run(make_order({task}));
  EXPECT_EQ(status(), ClientStatus::failed);
  EXPECT_THAT(state().events[2].message, HasSubstr("driver 'docker' cannot run on node 'n1'"));
}

TEST_F(RunnerTest, MemoryOverItsLimitIsToldAsSuch) {
  run(make_order({make_task("main")}, model::JobType::batch));
  end("main", {.signal = SIGKILL, .oom_killed = true});
  EXPECT_EQ(state().events[3].message, "Exit Code: 137, Signal: 9, Exit Message: \"OOM Killed\"");
  EXPECT_EQ(state().events[3].details.at("oom_killed"), "true");
}

TEST_F(RunnerTest, WhatATaskLeavesRunningIsTold) {
  run(make_order({make_task("main")}, model::JobType::batch));
  TaskEnd over;
  over.left_running = {{"bash", 1}, {"slurmstepd", 2}};
  end("main", over);
  EXPECT_EQ(status(), ClientStatus::complete);
  EXPECT_EQ(state().events.back().type, "Left Running");
  EXPECT_EQ(state().events.back().message, "Left 3 processes running: bash, slurmstepd (2)");
}

TEST_F(RunnerTest, ArtifactsAreFetchedBeforeTheStartAndAFailureIsTriedAgain) {
  auto task = make_task("main");
  task.artifacts.push_back({.source = "https://example.org/${NOMAD_TASK_NAME}.tar.gz"});
  run(make_order({task}));
  ASSERT_EQ(runtime.programs.size(), 1u);
  EXPECT_THAT(runtime.programs[0]->input, HasSubstr("https://example.org/main.tar.gz"));
  EXPECT_TRUE(drivers.order.empty());
  runtime.programs[0]->end({.exit_code = 1, .output = "the server answered 404\n"});
  runtime.settle();
  EXPECT_THAT(event_types(state()),
              ElementsAre("Received", "Task Setup", "Downloading Artifacts", "Failed Artifact Download", "Restarting"));
  EXPECT_THAT(state().events[3].message, HasSubstr("the server answered 404"));
  runtime.advance(15s);
  ASSERT_EQ(runtime.programs.size(), 2u);
  runtime.programs[1]->end({});
  runtime.settle();
  EXPECT_EQ(status(), ClientStatus::running);
}

TEST_F(RunnerTest, StoppingWhileAnArtifactComesKillsTheFetch) {
  auto task = make_task("main");
  task.artifacts.push_back({.source = "https://example.org/x"});
  run(make_order({task}));
  runner->destroy();
  runtime.settle();
  EXPECT_EQ(runtime.programs[0]->result->signal, 9);
  EXPECT_TRUE(runner->dead());
  EXPECT_TRUE(drivers.order.empty());
}

TEST_F(RunnerTest, TheConfigIsInterpolatedWithEnvironmentAndNode) {
  node.attributes["unique.hostname"] = "c1";
  auto task = make_task("main");
  task.env["NAME"] = "${attr.unique.hostname}";
  task.config = boost::json::object{{"args", boost::json::array{"-N", "${NAME}", "${unknown}"}}};
  run(make_order({task}));
  EXPECT_EQ(process().spec.config.at("args").at(1), "c1");
  EXPECT_EQ(process().spec.config.at("args").at(2), "${unknown}");
}

TEST_F(RunnerTest, OnlyTheNewestTenEventsAreKept) {
  auto order = make_order({make_task("main")});
  order.job.groups[0].tasks[0].restart = model::RestartPolicy{.attempts = 100, .delay = 1s};
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  run(order);
  for (int i = 0; i < 6; ++i) {
    end("main", {.exit_code = 1});
    runtime.advance(2s);
  }
  EXPECT_EQ(state().events.size(), 10u);
  EXPECT_EQ(state().restarts, 6);
}

}  // namespace
}  // namespace underway::node
