#include <csignal>

#include "tests/runner_fixture.hpp"

namespace underway::node {
namespace {

using model::ClientStatus;
using namespace std::chrono_literals;

model::Task with_template(model::ChangeMode mode, const std::string& data) {
  auto task = make_task("main");
  task.templates.push_back({.destination = "local/x.conf", .data = data, .change_mode = mode, .splay = Duration{0}});
  return task;
}

class TemplateChangeTest : public RunnerTest {
 protected:
  void update(const std::string& data) {
    auto order = make_order({with_template(mode, data)});
    order.job.version = 1;
    order.order.allocation.job_version = 1;
    order.order.allocation.job = std::make_shared<const model::Job>(order.job);
    runner->obey(order);
    runtime.settle();
  }
  std::string content() { return os::read_file(directory.path() + "/alloc/" + kAllocationId + "/main/local/x.conf"); }
  model::ChangeMode mode = model::ChangeMode::restart;
};

TEST_F(TemplateChangeTest, ARewrittenTemplateRestartsTheTaskWithoutCountingAsFailure) {
  run(make_order({with_template(mode, "a ${NOMAD_TASK_NAME}")}));
  EXPECT_EQ(content(), "a main");
  update("b ${NOMAD_TASK_NAME}");
  EXPECT_EQ(content(), "b main");
  EXPECT_EQ(drivers.order.size(), 2u);
  EXPECT_THAT(event_types(state()), ::testing::Contains("Restart Signaled"));
  EXPECT_EQ(status(), ClientStatus::running);
}

TEST_F(TemplateChangeTest, ARewrittenTemplateSignalsTheTask) {
  mode = model::ChangeMode::signal;
  run(make_order({with_template(mode, "a")}));
  update("b");
  EXPECT_EQ(process().signals, std::vector<int>{SIGHUP});
  EXPECT_EQ(drivers.order.size(), 1u);
}

TEST_F(TemplateChangeTest, WithNoopOnlyTheFileChanges) {
  mode = model::ChangeMode::noop;
  run(make_order({with_template(mode, "a")}));
  update("b");
  EXPECT_EQ(content(), "b");
  EXPECT_EQ(drivers.order.size(), 1u);
  EXPECT_TRUE(process().signals.empty());
}

TEST_F(TemplateChangeTest, TheSameTextChangesNothing) {
  run(make_order({with_template(mode, "a")}));
  update("a");
  EXPECT_EQ(drivers.order.size(), 1u);
}

TEST_F(TemplateChangeTest, AnUpdateThatTheAgentDidNotLiveToApplyIsAppliedWhenItComesBack) {
  mode = model::ChangeMode::signal;
  run(make_order({with_template(mode, "a")}));
  auto order = make_order({with_template(mode, "b")});
  files.write_order(kAllocationId, order);
  restart_agent();
  EXPECT_EQ(content(), "b");
  EXPECT_EQ(process().signals, std::vector<int>{SIGHUP});
}

TEST_F(TemplateChangeTest, TheSplayIsWaited) {
  mode = model::ChangeMode::signal;
  runtime.jitter_value = 0.5;
  auto first = with_template(mode, "a");
  run(make_order({first}));
  auto second = with_template(mode, "b");
  second.templates[0].splay = 10s;
  auto order = make_order({second});
  order.job.version = order.order.allocation.job_version = 1;
  order.order.allocation.job = std::make_shared<const model::Job>(order.job);
  runner->obey(order);
  runtime.settle();
  EXPECT_TRUE(process().signals.empty());
  runtime.advance(5s);
  EXPECT_EQ(process().signals.size(), 1u);
}

TEST_F(TemplateChangeTest, AnUpdateThatComesDuringTheSetupIsAppliedAfterTheStart) {
  mode = model::ChangeMode::signal;
  auto order = make_order({with_template(mode, "a")});
  add(order);
  drivers.before_start = [this] {
    drivers.before_start = nullptr;
    auto newer = make_order({with_template(mode, "b")});
    newer.job.version = newer.order.allocation.job_version = 1;
    newer.order.allocation.job = std::make_shared<const model::Job>(newer.job);
    runner->obey(newer);
  };
  runner->start();
  runtime.settle();
  EXPECT_EQ(content(), "b");
  EXPECT_EQ(process().signals, std::vector<int>{SIGHUP});
}

}  // namespace
}  // namespace underway::node
