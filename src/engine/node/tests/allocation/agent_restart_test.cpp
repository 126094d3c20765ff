#include <csignal>

#include "tests/runner_fixture.hpp"

namespace underway::node {
namespace {

using model::ClientStatus;
using model::LifecycleHook;
using ::testing::ElementsAre;
using namespace std::chrono_literals;

class AgentRestart : public RunnerTest {};

TEST_F(AgentRestart, AfterARestartOfTheAgentTheSameProcessIsAttachedAndNothingStartedTwice) {
  run(make_order({make_task("main"), make_hook("init", LifecycleHook::prestart)}));
  end("init", {});
  ASSERT_EQ(drivers.order.size(), 2u);
  restart_agent();
  EXPECT_THAT(drivers.recovered, ElementsAre("main"));
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(status(), ClientStatus::running);
  end("main", {.exit_code = 1});
  EXPECT_EQ(state().restarts, 1);
}

TEST_F(AgentRestart, ATaskThatEndedWhileTheAgentWasAwayIsRestartedByItsPolicy) {
  run(make_order({make_task("main")}));
  drop();
  process().result = TaskEnd{.exit_code = 7};
  restart_agent();
  EXPECT_EQ(state().restarts, 1);
  EXPECT_EQ(state().events[state().events.size() - 2].message, "Exit Code: 7");
  runtime.advance(15s);
  EXPECT_EQ(drivers.order.size(), 2u);
}

TEST_F(AgentRestart, AnAgentThatDiedBeforeTheForkStartsTheTaskOnce) {
  run(make_order({make_task("main")}));
  drop();
  drivers.running.clear();  // the driver knows nothing of it
  restart_agent();
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(state().restarts, 0);
  EXPECT_EQ(status(), ClientStatus::running);
}

TEST_F(AgentRestart, TheAttemptsUsedAreNotForgottenOverARestartOfTheAgent) {
  auto order = make_order({make_task("main")});
  order.job.groups[0].tasks[0].restart = model::RestartPolicy{.attempts = 1, .interval = 10min, .delay = 1s};
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  run(order);
  end("main", {.exit_code = 1});
  runtime.advance(1s);
  restart_agent();
  end("main", {.exit_code = 1});
  EXPECT_EQ(status(), ClientStatus::failed);
}

TEST_F(AgentRestart, AnAgentThatComesBackGoesOnStoppingWhatItWasStopping) {
  drivers.end_when_stopped = false;
  run(make_order({make_task("main"), make_hook("late", LifecycleHook::poststart)}));
  auto stop = make_order({make_task("main"), make_hook("late", LifecycleHook::poststart)});
  stop.order.allocation.desired_status = model::DesiredStatus::stop;
  files.write_order(kAllocationId, stop);
  runner->obey(stop);
  runtime.settle();
  restart_agent();
  EXPECT_EQ(process("main").stops.size(), 2u);
  end("main", {.signal = SIGINT});
  end("late", {.signal = SIGINT});
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(status(), ClientStatus::complete);
}

}  // namespace
}  // namespace underway::node
