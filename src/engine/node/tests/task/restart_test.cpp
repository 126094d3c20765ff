// Whether a task begins again, and when.
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

TEST_F(RunnerTest, AFailingServiceIsRestartedAfterItsDelayAndGivenUpAfterItsAttempts) {
  auto order = make_order({make_task("main")});
  order.job.groups[0].tasks[0].restart = model::RestartPolicy{.attempts = 1, .interval = 10min, .delay = 15s};
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  run(order);
  end("main", {.exit_code = 3});
  EXPECT_EQ(state().state, TaskRunState::pending);
  EXPECT_EQ(state().events.back().message, "Restart within policy - Task restarting in 15s");
  EXPECT_TRUE(process().forgotten);
  runtime.advance(14s);
  EXPECT_EQ(drivers.order.size(), 1u);
  runtime.advance(1s);
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(state().restarts, 1);
  end("main", {.exit_code = 3});
  EXPECT_EQ(status(), ClientStatus::failed);
  EXPECT_EQ(state().events.back().message, "Exceeded allowed attempts 1 in interval 10m0s and mode is \"fail\"");
  EXPECT_EQ(runner->update().health.healthy, false);
  runtime.advance(1h);
  EXPECT_EQ(drivers.order.size(), 2u);
}

TEST_F(RunnerTest, APersonsRestartCostsNoAttempt) {
  run(make_order({make_task("main")}));
  runner->restart("");
  runtime.settle();
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(status(), ClientStatus::running);
  for (const char* task : {"main", ""}) {
    EXPECT_THROW(
        try { runner->signal(task, "SIGNOPE"); } catch (const Error& error) {
          EXPECT_TRUE(error.text().find("invalid signal 'SIGNOPE'") != std::string::npos) << error.text();
          throw;
        },
        Error);
  }
  EXPECT_THROW(runner->restart("other"), Error);
}

TEST_F(RunnerTest, AllTasksBeginAnewInTheOrderOfTheirLifecycle) {
  drivers.end_when_stopped = false;
  run(make_order({make_task("main"), make_hook("init", LifecycleHook::prestart),
                  make_hook("proxy", LifecycleHook::prestart, true), make_hook("after", LifecycleHook::poststart),
                  make_hook("clean", LifecycleHook::poststop)}));
  end("init", {});
  end("after", {});
  ASSERT_EQ(drivers.order.size(), 4u);
  drivers.order.clear();

  runner->restart_all();
  runner->restart_all();  // the same, while the first is under way
  runtime.settle();
  EXPECT_TRUE(drivers.order.empty()) << "nothing begins before the old ones have ended";
  EXPECT_EQ(state("init").state, TaskRunState::pending);
  EXPECT_EQ(process("main").stops.size(), 1u);
  EXPECT_EQ(process("proxy").stops.size(), 1u);
  end("main", {.signal = SIGINT});
  EXPECT_TRUE(drivers.order.empty());
  end("proxy", {.signal = SIGINT});
  EXPECT_THAT(drivers.order, UnorderedElementsAre("init", "proxy"));
  end("init", {});
  ASSERT_EQ(drivers.order.size(), 4u);
  EXPECT_EQ(drivers.order[2], "main");
  EXPECT_EQ(drivers.order[3], "after");
  EXPECT_EQ(status(), ClientStatus::running);
  EXPECT_EQ(state("clean").state, TaskRunState::pending);
  for (const char* task : {"main", "init", "proxy", "after"}) {
    EXPECT_EQ(state(task).restarts, 1) << task;
    EXPECT_FALSE(state(task).failed) << task;
  }
}

TEST_F(RunnerTest, AnAgentThatDiedWhileAllTasksBeganAnewGoesOnWithIt) {
  drivers.end_when_stopped = false;
  run(make_order({make_task("main"), make_hook("init", LifecycleHook::prestart)}));
  end("init", {});
  drivers.order.clear();
  runner->restart_all();
  runtime.settle();
  restart_agent();
  EXPECT_EQ(process("main").stops.size(), 2u);
  EXPECT_TRUE(drivers.order.empty());
  end("main", {.signal = SIGINT});
  EXPECT_EQ(drivers.order, std::vector<std::string>{"init"});
  end("init", {});
  EXPECT_EQ(drivers.order.back(), "main");
  restart_agent();
  EXPECT_EQ(process("main").stops.size(), 0u) << "that is done with";
}

TEST_F(RunnerTest, WhatEndedWithItsNodeBeginsAgainAtOnceAndHasAllOfItsAttempts) {
  context.boot = "one";
  auto task = make_task("main");
  task.restart = model::RestartPolicy{.attempts = 1, .interval = 30min, .delay = 15s};
  run(make_order({task}));
  drivers.order.clear();
  context.boot = "two";
  restart_agent();
  end("main", {.exit_code = 1});
  EXPECT_EQ(drivers.order, std::vector<std::string>{"main"}) << "without a delay";
  EXPECT_EQ(status(), ClientStatus::running);
  EXPECT_FALSE(state().failed);

  // In the same boot it is a failure.
  restart_agent();
  end("main", {.exit_code = 1});
  EXPECT_EQ(drivers.order.size(), 1U);
  runtime.advance(20s);
  EXPECT_EQ(drivers.order.size(), 2U);
  EXPECT_EQ(status(), ClientStatus::running) << "its one attempt was there still";
}

TEST_F(RunnerTest, AllTasksBeginAnewAlsoWhileOneIsBeingStarted) {
  run(make_order({make_task("main"), make_hook("init", LifecycleHook::prestart)}));
  drivers.before_start = [this] {
    drivers.before_start = nullptr;
    runner->restart_all();
  };
  end("init", {});
  EXPECT_EQ(drivers.order, (std::vector<std::string>{"init", "main", "init"}));
  end("init", {});
  EXPECT_EQ(drivers.order.back(), "main");
  EXPECT_EQ(status(), ClientStatus::running);
}

TEST_F(RunnerTest, NothingBeginsAnewThatHasEndedOrIsBeingStopped) {
  drivers.end_when_stopped = false;
  auto order = make_order({make_task("main"), make_hook("init", LifecycleHook::prestart)}, model::JobType::batch);
  run(order);
  end("init", {});
  order.order.allocation.desired_status = model::DesiredStatus::stop;
  runner->obey(order);
  runtime.settle();
  EXPECT_THROW(runner->restart_all(), Error);
  end("main", {});
  EXPECT_THROW(runner->restart_all(), Error);
  EXPECT_EQ(drivers.order.size(), 2u);
}

}  // namespace
}  // namespace underway::node
