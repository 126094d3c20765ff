#include "node/allocation/restart_tracker.hpp"
#include "tests/fixture.hpp"

namespace underway::node {
namespace {

using namespace std::chrono_literals;
using model::LifecycleHook;
using model::TaskRunState;

const TimePoint kBegun{std::chrono::seconds{1'700'000'000}};

TEST(RestartTracker, JitterAddsAtMostAQuarterOfTheDelay) {
  RestartTracker tracker({.attempts = 2, .interval = 30min, .delay = 20s});
  EXPECT_EQ(tracker.decide(EndKind::exited, false, true, kBegun, 0.0).delay, 20s);
  EXPECT_EQ(tracker.decide(EndKind::exited, false, true, kBegun, 1.0).delay, 25s);
}

TEST(RestartTracker, AttemptsAreCountedPerInterval) {
  RestartTracker tracker({.attempts = 2, .interval = 10min, .delay = 1s});
  EXPECT_EQ(tracker.decide(EndKind::exited, false, true, kBegun, 0).kind, RestartKind::after);
  EXPECT_EQ(tracker.decide(EndKind::exited, true, true, kBegun + 1min, 0).kind, RestartKind::after);
  EXPECT_EQ(tracker.decide(EndKind::exited, false, true, kBegun + 2min, 0).kind, RestartKind::refuse);
  EXPECT_EQ(tracker.decide(EndKind::exited, false, true, kBegun + 10min, 0).kind, RestartKind::after);
}

TEST(RestartTracker, ModeDelayWaitsForTheEndOfTheInterval) {
  RestartTracker tracker({.attempts = 1, .interval = 10min, .delay = 1s, .mode = model::RestartMode::delay});
  EXPECT_EQ(tracker.decide(EndKind::exited, false, true, kBegun, 0).delay, 1s);
  const auto decision = tracker.decide(EndKind::exited, false, true, kBegun + 4min, 0);
  EXPECT_EQ(decision.kind, RestartKind::after);
  EXPECT_EQ(decision.delay, 6min);
}

TEST(RestartTracker, OutcomesThatNeedNoRestart) {
  struct Case {
    const char* name;
    EndKind end;
    bool success, forever;
    std::int64_t attempts;
    RestartKind expect;
  };
  const std::vector<Case> cases = {
      {"a batch task that succeeded is done", EndKind::exited, true, false, 3, RestartKind::done},
      {"a service that ended well starts again", EndKind::exited, true, true, 3, RestartKind::after},
      {"no attempts are allowed", EndKind::exited, false, true, 0, RestartKind::refuse},
      {"a bad configuration gets no better", EndKind::invalid, false, true, 3, RestartKind::refuse},
      {"a check's restart costs an attempt", EndKind::unhealthy, true, true, 3, RestartKind::after},
      {"and there may be none", EndKind::unhealthy, true, true, 0, RestartKind::refuse},
      {"a person may always restart", EndKind::asked_restart, false, true, 0, RestartKind::after}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    RestartTracker tracker({.attempts = c.attempts});
    EXPECT_EQ(tracker.decide(c.end, c.success, c.forever, kBegun, 0).kind, c.expect);
  }
}

model::TaskState in(TaskRunState state, bool failed = false) {
  model::TaskState out;
  out.state = state;
  out.failed = failed;
  out.started_at = state == TaskRunState::pending ? 0 : 1;
  return out;
}

TEST(ClientState, IsThatOfNomad) {
  const auto pending = in(TaskRunState::pending), running = in(TaskRunState::running), done = in(TaskRunState::dead),
             failed = in(TaskRunState::dead, true);
  struct Case {
    const char* name;
    std::map<std::string, model::TaskState> tasks;
    model::ClientStatus expect;
  };
  const std::vector<Case> cases = {
      {"nothing has begun", {{"a", pending}, {"b", pending}}, model::ClientStatus::pending},
      {"one runs", {{"a", pending}, {"b", running}}, model::ClientStatus::running},
      {"prestart is done, main is to come", {{"a", done}, {"b", pending}}, model::ClientStatus::pending},
      {"one failed, one still runs", {{"a", failed}, {"b", running}}, model::ClientStatus::failed},
      {"all are done", {{"a", done}, {"b", done}}, model::ClientStatus::complete}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(client_state(c.tasks).status, c.expect);
  }
}

TEST(Lifecycle, SidecarsMustRunAndOthersBeDoneBeforeTheMainTask) {
  model::TaskGroup group;
  group.tasks = {make_hook("init", LifecycleHook::prestart), make_hook("proxy", LifecycleHook::prestart, true),
                 make_task("main"), make_hook("clean", LifecycleHook::poststop)};
  EXPECT_EQ(startable(group, {}), (std::vector<std::string>{"init", "proxy"}));
  EXPECT_TRUE(startable(group, {{"init", in(TaskRunState::dead)}, {"proxy", in(TaskRunState::dead)}}).empty());
  EXPECT_EQ(startable(group, {{"init", in(TaskRunState::dead)}, {"proxy", in(TaskRunState::running)}}),
            (std::vector<std::string>{"main"}));
  EXPECT_EQ(startable(group, {{"init", in(TaskRunState::dead)},
                              {"proxy", in(TaskRunState::dead)},
                              {"main", in(TaskRunState::dead)}}),
            (std::vector<std::string>{"clean"}));
}

TEST(TasksWork, WhenAllThatShouldRunRuns) {
  model::TaskGroup group;
  group.tasks = {make_hook("init", LifecycleHook::prestart), make_task("main"),
                 make_hook("clean", LifecycleHook::poststop)};
  EXPECT_FALSE(tasks_work(group, {{"init", in(TaskRunState::dead)}, {"main", in(TaskRunState::pending)}}));
  EXPECT_TRUE(tasks_work(group, {{"init", in(TaskRunState::dead)}, {"main", in(TaskRunState::running)}}));
  EXPECT_FALSE(tasks_work(group, {{"init", in(TaskRunState::dead, true)}, {"main", in(TaskRunState::running)}}));
}

TEST(Names, ThatCouldLeadElsewhereAreRefused) {
  EXPECT_NO_THROW(check_names(make_order({make_task("main")}).order.allocation));
  for (const char* name : {"alloc", "..", "a/b", "", ".hidden"}) {
    SCOPED_TRACE(name);
    EXPECT_THROW(check_names(make_order({make_task(name)}).order.allocation), Error);
  }
  auto order = make_order({make_task("main")});
  order.order.allocation.id = "../../etc";
  EXPECT_THROW(check_names(order.order.allocation), Error);
}

}  // namespace
}  // namespace underway::node
