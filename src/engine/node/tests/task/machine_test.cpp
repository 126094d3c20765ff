// What is done to tasks that are virtual machines.
#include <gmock/gmock.h>

#include "tests/runner_fixture.hpp"

namespace underway::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Made = std::vector<protocol::TaskCheckpoint>;

class MachineVerbTest : public RunnerTest {
 protected:
  /// To its end, which must need no time.
  Made done(const std::string& task, MachineVerb verb) {
    Made made;
    runtime.run(ask(task, verb, made));
    return made;
  }
  awaitable<void> ask(std::string task, MachineVerb verb, Made& made) {
    made = co_await runner->do_to_machines(std::move(task), verb);
  }
  Error refusal(const std::string& task, MachineVerb verb) {
    try {
      done(task, verb);
    } catch (const Error& error) {
      return error;
    }
    return {Code::internal, "it was done"};
  }
  /// Beside the test; `result` when it has ended.
  void begin(MachineVerb verb) {
    asio::co_spawn(runtime.context, runner->do_to_machines("main", verb), [this](std::exception_ptr failed, Made) {
      begun_failed = failed != nullptr;
      ended = true;
    });
    runtime.settle();
  }
  void obey(StoredOrder order) {
    runner->obey(std::move(order));
    runtime.settle();
  }
  model::TaskEvent last(const std::string& task = "main") { return state(task).events.back(); }

  bool ended = false, begun_failed = false;
};

TEST_F(MachineVerbTest, ArePassedOnAndToldAsEventsOfTheTask) {
  run(make_order({make_task("main")}));
  EXPECT_THAT(done("main", MachineVerb::pause), IsEmpty());
  EXPECT_EQ(last().type, "Paused");
  EXPECT_THAT(done("main", MachineVerb::resume), IsEmpty());
  EXPECT_EQ(last().type, "Resumed");
  const auto made = done("main", MachineVerb::checkpoint);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].task, "main");
  EXPECT_EQ(made[0].id, "c1");
  EXPECT_EQ(made[0].bytes, 1 << 20);
  EXPECT_EQ(made[0].at, 5);
  EXPECT_EQ(last().type, "Checkpointed");
  EXPECT_THAT(last().message, HasSubstr("Checkpoint c1, 1.0 MiB"));
  EXPECT_EQ(last().details.at("checkpoint"), "c1");
  EXPECT_THAT(process().verbs, ElementsAre("pause", "resume", "checkpoint"));
}

TEST_F(MachineVerbTest, ReachEveryTaskThatRunsWhenNoneIsNamed) {
  run(make_order({make_task("db"), make_task("web"), make_task("gone")}));
  end("gone", {});
  EXPECT_THAT(done("", MachineVerb::checkpoint), ::testing::SizeIs(2));
  EXPECT_THAT(done("web", MachineVerb::pause), IsEmpty());
  EXPECT_THAT(process("web").verbs, ElementsAre("checkpoint", "pause"));
  EXPECT_THAT(process("db").verbs, ElementsAre("checkpoint"));
}

TEST_F(MachineVerbTest, AreRefusedWithTheCause) {
  run(make_order({make_task("main")}));
  EXPECT_EQ(refusal("other", MachineVerb::pause).code(), Code::not_found);
  process().is_machine = false;
  const auto none = refusal("main", MachineVerb::resume);
  EXPECT_EQ(none.code(), Code::unsupported);
  EXPECT_THAT(none.text(), HasSubstr("while: resumption of task 'main'"));
  EXPECT_EQ(last().type, "Started") << "nothing was done, and nothing is told";

  drivers.end_when_stopped = false;
  process().ends_when_stopped = false;
  runner->destroy();
  runtime.settle();
  const auto stopping = refusal("main", MachineVerb::checkpoint);
  EXPECT_EQ(stopping.code(), Code::invalid);
  EXPECT_EQ(stopping.message(), "task 'main' is being stopped");
  end("main", {});
  EXPECT_EQ(refusal("main", MachineVerb::pause).message(), "task 'main' is not running");
  EXPECT_THAT(refusal("", MachineVerb::pause).message(), HasSubstr("no task of allocation"));
}

TEST_F(MachineVerbTest, AreOneAtATimeAndHoldUpNoStop) {
  run(make_order({make_task("main")}));
  process().takes_long = true;
  begin(MachineVerb::checkpoint);
  EXPECT_FALSE(ended);
  const auto second = refusal("main", MachineVerb::pause);
  EXPECT_EQ(second.code(), Code::conflict);
  EXPECT_THAT(second.text(), HasSubstr("its checkpoint is not done yet"));
  EXPECT_THAT(process().verbs, ElementsAre("checkpoint"));

  // Its allocation goes meanwhile, but not before the call has ended that speaks of it.
  const auto machine = drivers.running.at("main");
  runner->destroy();
  runtime.settle();
  EXPECT_TRUE(runner->dead());
  bool let_go = false;
  asio::co_spawn(runtime.context, runner->let_go(), [&](std::exception_ptr) { let_go = true; });
  runtime.settle();
  EXPECT_FALSE(let_go);
  machine->takes_long = false;
  machine->changed.notify_all();
  runtime.settle();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(begun_failed);
  EXPECT_TRUE(let_go);
}

/// The wish of `since`, as the server orders it.
StoredOrder asleep(StoredOrder stored, bool wanted, std::int64_t since) {
  auto& order = stored.order;
  order.allocation.sleep = model::AllocSleep{.wanted = wanted, .since = since};
  order.start = !wanted;
  order.pause = order.suspend = wanted;
  order.waiting_for = wanted ? "being woken" : "";
  return stored;
}

TEST_F(MachineVerbTest, SleepWhileTheyAreToldToAndGoOnInTheSameTask) {
  const auto order = make_order({make_task("main")});
  run(order);
  obey(asleep(order, true, 10));
  EXPECT_THAT(drivers.order, ElementsAre("main"));
  auto update = runner->update();
  ASSERT_TRUE(update.sleep);
  EXPECT_EQ(update.sleep->of, 10);
  EXPECT_TRUE(update.sleep->asleep);
  EXPECT_EQ(update.client_status, model::ClientStatus::running);
  EXPECT_EQ(update.client_description, "Its machines sleep");
  EXPECT_EQ(state("main").state, model::TaskRunState::pending);
  EXPECT_EQ(state("main").restarts, 1) << "of its own will, which no policy counts";

  obey(asleep(order, false, 20));
  EXPECT_THAT(drivers.order, ElementsAre("main", "main"));
  update = runner->update();
  EXPECT_EQ(update.sleep->of, 20);
  EXPECT_FALSE(update.sleep->asleep);
  EXPECT_EQ(state("main").state, model::TaskRunState::running);
}

TEST_F(MachineVerbTest, RunOnWithTheReasonWhenTheyCannotSleep) {
  const auto order = make_order({make_task("main")});
  run(order);
  process().cannot_sleep = true;
  obey(asleep(order, true, 10));
  const auto update = runner->update();
  EXPECT_FALSE(update.sleep->asleep);
  EXPECT_THAT(update.sleep->trouble, HasSubstr("the disk is full"));
  EXPECT_EQ(state("main").state, model::TaskRunState::running);
  EXPECT_THAT(process().verbs, ElementsAre("suspend")) << "it is not tried again by itself";
  obey(asleep(order, false, 20));
  EXPECT_EQ(runner->update().sleep->trouble, "");
  process().cannot_sleep = false;
  obey(asleep(order, true, 30));
  EXPECT_TRUE(runner->update().sleep->asleep);
}

TEST_F(MachineVerbTest, AreNotAsleepBeforeTheyAre) {
  const auto order = make_order({make_task("main")});
  run(order);
  process().takes_long = true;
  obey(asleep(order, true, 10));
  EXPECT_FALSE(runner->update().sleep->asleep);
  obey(asleep(order, false, 20));
  EXPECT_THAT(process().verbs, ElementsAre("suspend"));
  process().takes_long = false;
  process().changed.notify_all();
  runtime.settle();
  EXPECT_EQ(state("main").state, model::TaskRunState::running) << "woken on the way, it begins again when it has slept";
  EXPECT_EQ(drivers.order.size(), 2u);
}

TEST_F(MachineVerbTest, SleepOnWhenTheAgentIsStartedAgain) {
  const auto order = asleep(make_order({make_task("main")}), true, 10);
  run(order);
  EXPECT_THAT(drivers.order, IsEmpty()) << "who sleeps is not started";
  EXPECT_TRUE(runner->update().sleep->asleep);
}

TEST_F(MachineVerbTest, AMachineGoesBackToACheckpointAtItsNextStartAlsoWhenTheAgentDies) {
  drivers.kept_in = directory.path() + "/machines/web";
  drivers.kept = {{{}, "c1", 7, 5}, {{}, "c2", 7, 6}};
  drivers.damaged = "c2";
  run(make_order({make_task("main")}));
  const auto restored = [&](const std::string& id) {
    std::optional<Error> failed;
    const auto ask = [&]() -> awaitable<void> {
      try {
        co_await runner->restore("", id);
      } catch (const Error& error) {
        failed = error;
      }
    };
    runtime.run(ask());
    runtime.settle();
    return failed;
  };
  const auto unknown = restored("c9");
  ASSERT_TRUE(unknown);
  EXPECT_THAT(unknown->text(), HasSubstr("has no checkpoint 'c9'"));
  const auto damaged = restored("c2");
  ASSERT_TRUE(damaged);
  EXPECT_THAT(damaged->text(), HasSubstr("a bit of it is wrong"));
  EXPECT_EQ(drivers.order.size(), 1u) << "it runs on";

  drivers.end_when_stopped = true;
  ASSERT_FALSE(restored("c1"));
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_EQ(process().spec.restore, "c1");
  EXPECT_EQ(state().state, model::TaskRunState::running);
  EXPECT_EQ(state().restarts, 1);
  runner->restart("main");
  runtime.settle();
  EXPECT_EQ(process().spec.restore, "") << "once";

  drivers.failures.emplace_back(Code::invalid, "its sha256 is another one");
  ASSERT_FALSE(restored("c1"));
  runtime.advance(std::chrono::seconds(1));
  EXPECT_EQ(state().state, model::TaskRunState::running) << "it goes on from its disk";
  EXPECT_EQ(process().spec.restore, "");

  process().ends_when_stopped = false;
  ASSERT_FALSE(restored("c1"));
  restart_agent();
  EXPECT_EQ(process().stops.back().first, SIGKILL) << "what had begun is finished";
}

}  // namespace
}  // namespace underway::node
