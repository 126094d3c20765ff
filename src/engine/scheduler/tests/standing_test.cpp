// What becomes of allocations because of their node: drains, silence, return.
#include <gtest/gtest.h>

#include "scheduler/reconcile/standing.hpp"
#include "tests/world.hpp"

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;
using namespace std::chrono_literals;
using model::NodeStatus;
using model::Reconcile;

constexpr std::int64_t kSecond = 1'000'000'000;

model::DisconnectStrategy lost_after(Duration span, bool replace = false, Reconcile reconcile = Reconcile::best_score) {
  return {.lost_after = span, .replace = replace, .reconcile = reconcile};
}

void set_status(World& world, const std::string& node_id, NodeStatus status) {
  Node node = *world.nodes().at(node_id);
  node.status = status;
  world.put_node(node);
}

void drain(World& world, const std::string& node_id, model::DrainStrategy strategy = {}) {
  Node node = *world.nodes().at(node_id);
  node.eligibility = model::Eligibility::ineligible;
  node.drain = strategy;
  world.put_node(node);
  for (const auto& [id, row] : std::map(world.allocations())) {
    if (row->node_id != node_id || row->terminal()) continue;
    Allocation marked = *row;
    marked.transition.migrate = true;
    world.put(marked);
  }
}

/// The node is heard of again, and tells that all runs.
void come_back(World& world, const std::string& node_id) {
  set_status(world, node_id, NodeStatus::ready);
  for (const auto& [id, row] : std::map(world.allocations())) {
    if (row->node_id == node_id && row->client_status == ClientStatus::unknown)
      world.set_client(id, ClientStatus::running);
  }
}

TEST(Standing, FollowsFromTheNodeThePolicyAndTheClock) {
  struct Case {
    const char* name;
    NodeStatus node;
    ClientStatus client;
    std::optional<model::DisconnectStrategy> policy;
    bool migrate = false;
    std::int64_t unknown_for = 0;  ///< seconds; 0: it is heard of
    Standing expect = Standing::stands;
    JobType type = JobType::service;
    bool forced = false;
  };
  const auto running = ClientStatus::running, unknown = ClientStatus::unknown, pending = ClientStatus::pending;
  const model::DisconnectStrategy none{}, hour = lost_after(1h), once = lost_after(Duration::max());
  model::DisconnectStrategy stops_itself;
  stops_itself.stop_on_client_after = 10min;
  const std::vector<Case> cases = {
      {"all is well", NodeStatus::ready, running, hour},
      {"an ineligible node is no reason", NodeStatus::ready, pending, hour},
      {"a drain", NodeStatus::ready, running, hour, true, 0, Standing::migrates},
      {"a drain before it started", NodeStatus::ready, pending, hour, true, 0, Standing::migrates},
      {"down", NodeStatus::down, running, hour, false, 0, Standing::lost},
      {"down while it is drained", NodeStatus::down, running, hour, true, 0, Standing::lost},
      {"silent, without a policy", NodeStatus::disconnected, running, none, false, 0, Standing::lost},
      {"silent, with a policy", NodeStatus::disconnected, running, hour, false, 0, Standing::silenced},
      {"silent before it was told to run", NodeStatus::disconnected, pending, hour, false, 0, Standing::lost},
      {"silent before it told that it runs, and must not run twice", NodeStatus::disconnected, pending, once, false, 0,
       Standing::silenced},
      {"and for ever", NodeStatus::disconnected, unknown, once, false, 86400 * 365, Standing::unknown},
      {"silent for a while", NodeStatus::disconnected, unknown, hour, false, 3599, Standing::unknown},
      {"silent for too long", NodeStatus::disconnected, unknown, hour, false, 3600, Standing::lost},
      {"the default of services", NodeStatus::disconnected, unknown, {}, false, 299, Standing::unknown},
      {"and its end", NodeStatus::disconnected, unknown, {}, false, 300, Standing::lost},
      {"system jobs wait for ever",
       NodeStatus::disconnected,
       unknown,
       {},
       false,
       86400 * 365,
       Standing::unknown,
       JobType::system},
      {"batch jobs do not", NodeStatus::disconnected, running, {}, false, 0, Standing::lost, JobType::batch},
      {"its node stops it: wait for that", NodeStatus::disconnected, unknown, stops_itself, false, 659,
       Standing::unknown},
      {"and then replace it", NodeStatus::disconnected, unknown, stops_itself, false, 660, Standing::lost},
      {"silent in a drain that has time", NodeStatus::disconnected, running, hour, true, 0, Standing::silenced},
      {"silent in a drain without time", NodeStatus::disconnected, unknown, hour, true, 1, Standing::migrates,
       JobType::service, true},
      {"back, not told of yet", NodeStatus::ready, unknown, hour, false, 5000, Standing::unknown},
      {"back", NodeStatus::ready, running, hour, false, 5000, Standing::returned},
      {"back into a drain", NodeStatus::ready, running, hour, true, 5000, Standing::migrates},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    World world(1, 1);
    Job job = make_job("web");
    job.type = c.type;
    job.groups[0].disconnect = c.policy;
    world.run(job);
    const std::int64_t now = unix_nanos(world.clock().now());
    Allocation allocation = *world.live("web").at(0);
    allocation.client_status = c.client;
    allocation.transition.migrate = c.migrate;
    if (c.unknown_for > 0) allocation.unknown_since = now - c.unknown_for * kSecond;
    Node node = *world.nodes().at(allocation.node_id);
    node.status = c.node;
    if (c.migrate) node.drain = model::DrainStrategy{.deadline = c.forced ? Duration(-1) : Duration(1h)};
    world.put_node(node);
    EXPECT_EQ(standing_of(allocation, world.fleet().index(), now), c.expect);
  }
}

TEST(Disconnect, AServiceIsUnknownForAWhileThenGivenUpAndReplaced) {
  World world(1, 3);
  Job job = make_job("web", 2);
  job.constraints = {{"", "distinct_hosts", "true"}};
  world.run(job);
  world.start_all();
  const auto victim = world.live("web")[0];
  set_status(world, victim->node_id, NodeStatus::disconnected);
  Plan plan = world.again("web");
  EXPECT_FALSE(plan.changes_allocations());
  ASSERT_EQ(plan.noted.size(), 1u);
  EXPECT_EQ(plan.noted[0].client_status, ClientStatus::unknown);
  EXPECT_EQ(plan.noted[0].desired_status, model::DesiredStatus::run);
  EXPECT_EQ(plan.noted[0].unknown_since, unix_nanos(world.clock().now()));
  ASSERT_EQ(plan.evaluations.size(), 1u);
  EXPECT_EQ(plan.evaluations[0].triggered_by, EvalTrigger::max_disconnect_timeout);
  EXPECT_EQ(plan.evaluations[0].wait_until - unix_nanos(world.clock().now()), Duration(5min).count());
  EXPECT_EQ(plan.noted[0].follow_up_eval, plan.evaluations[0].id);
  EXPECT_EQ(plan.job_status.value_or(model::JobStatus::running), model::JobStatus::running);
  plan = world.again("web");
  EXPECT_TRUE(plan.noted.empty() && plan.evaluations.empty()) << "it is known already";
  world.clock().advance(299s);
  EXPECT_EQ(world.work(), 0u);
  world.clock().advance(1s);
  EXPECT_EQ(world.work(), 1u);
  EXPECT_EQ(world.alloc(victim->id)->client_status, ClientStatus::lost);
  EXPECT_EQ(world.live_names("web"), (std::vector<std::string>{"web.g[0]", "web.g[1]"}));
}

TEST(Disconnect, ANewVersionWaitsForTheNodeThatCannotBeTold) {
  World world(1, 2);
  Job job = make_job("web");
  world.run(job);
  world.start_all();
  const auto before = world.live("web")[0];
  set_status(world, before->node_id, NodeStatus::disconnected);
  world.again("web");
  job.groups[0].tasks[0].env["V"] = "2";
  EXPECT_FALSE(world.run(job).changes_allocations());
  come_back(world, before->node_id);
  const Plan plan = world.again("web", EvalTrigger::reconnect);
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.stopped.at(0).id, before->id);
  EXPECT_EQ(plan.stopped.at(0).unknown_since, 0);
}

TEST(Disconnect, AReplacementRunsMeanwhileWhereTheJobWantsOne) {
  World world(1, 2);
  Job job = make_job("web");
  job.groups[0].disconnect = lost_after(1h, true);
  world.run(job);
  world.start_all();
  const auto original = world.live("web")[0];
  set_status(world, original->node_id, NodeStatus::disconnected);
  Plan plan = world.again("web");
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_TRUE(plan.stopped.empty());
  EXPECT_EQ(plan.created[0].name, original->name);
  EXPECT_EQ(plan.created[0].previous_allocation, original->id);
  EXPECT_FALSE(world.again("web").changes_allocations()) << "one replacement is enough";
  world.clock().advance(1h);
  world.work();
  EXPECT_EQ(world.alloc(original->id)->client_status, ClientStatus::lost);
  EXPECT_EQ(world.live("web").size(), 1u) << "its replacement was there already";
}

TEST(Reconnect, ChoosesByPolicyWhichOfTheTwoGoesOn) {
  struct Case {
    const char* name;
    Reconcile policy;
    double original_score, replacement_score;
    std::int64_t original_started, replacement_started;  ///< seconds; 0: not yet
    bool newer_version;
    bool keeps_original;
  };
  const std::vector<Case> cases = {
      {"the original", Reconcile::keep_original, 0.1, 0.9, 9, 1, false, true},
      {"the replacement", Reconcile::keep_replacement, 0.9, 0.1, 1, 9, false, false},
      {"the better score", Reconcile::best_score, 0.9, 0.1, 9, 1, false, true},
      {"the better score, there", Reconcile::best_score, 0.1, 0.9, 1, 9, false, false},
      {"an equal score moves nothing", Reconcile::best_score, 0.5, 0.5, 9, 1, false, true},
      {"the longer run", Reconcile::longest_running, 0.1, 0.9, 1, 9, false, true},
      {"the longer run, there", Reconcile::longest_running, 0.9, 0.1, 9, 1, false, false},
      {"one that has not started has not run", Reconcile::longest_running, 0.1, 0.9, 9, 0, false, true},
      {"a newer version, whatever the policy", Reconcile::keep_original, 0.9, 0.1, 1, 9, true, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    World world(1, 2);
    Job job = make_job("web");
    job.groups[0].disconnect = lost_after(1h, true, c.policy);
    world.run(job);
    world.start_all();
    const std::string original = world.live("web")[0]->id;
    set_status(world, world.alloc(original)->node_id, NodeStatus::disconnected);
    if (c.newer_version) job.groups[0].tasks[0].env["V"] = "2";
    const Plan plan = c.newer_version ? world.run(job) : world.again("web");
    ASSERT_EQ(plan.created.size(), 1u);
    const std::string replacement = plan.created[0].id;
    world.start_all();
    for (const auto& [id, score, started] : {std::tuple(original, c.original_score, c.original_started),
                                             std::tuple(replacement, c.replacement_score, c.replacement_started)}) {
      Allocation row = *world.alloc(id);
      row.metrics.scores = {{row.node_id, score, {}}};
      row.task_states["t"].started_at = started * kSecond;
      world.put(row);
    }
    come_back(world, world.alloc(original)->node_id);
    world.again("web", EvalTrigger::reconnect);
    const auto live = world.live("web");
    ASSERT_EQ(live.size(), 1u);
    EXPECT_EQ(live[0]->id, c.keeps_original ? original : replacement);
    EXPECT_EQ(live[0]->unknown_since, 0);
    EXPECT_FALSE(world.again("web").changes_allocations());
  }
}

TEST(System, RunsOnThroughALossOfItsNodeHoweverLong) {
  World world(1, 2);
  Job job = make_job("munge");
  job.type = JobType::system;
  world.run(job);
  world.start_all();
  const auto row = world.live("munge")[0];
  set_status(world, row->node_id, NodeStatus::disconnected);
  Plan plan = world.again("munge");
  EXPECT_FALSE(plan.changes_allocations());
  EXPECT_EQ(world.alloc(row->id)->client_status, ClientStatus::unknown);
  EXPECT_TRUE(plan.evaluations.empty()) << "nothing will be given up";
  world.clock().advance(24h * 30);
  EXPECT_FALSE(world.again("munge").changes_allocations());
  come_back(world, row->node_id);
  plan = world.again("munge");
  EXPECT_FALSE(plan.changes_allocations()) << "what is right is not restarted";
  EXPECT_EQ(world.alloc(row->id)->client_status, ClientStatus::running);
  EXPECT_EQ(world.alloc(row->id)->unknown_since, 0);
  EXPECT_EQ(world.live("munge").size(), 2u);
}

TEST(Drain, MovesWhatIsMarkedAndOnlyThat) {
  World world(1, 3);
  Job job = make_job("web", 3);
  job.constraints = {{"", "distinct_hosts", "true"}};
  job.groups[0].count = 2;
  world.run(job);
  world.start_all();
  const auto going = world.live("web")[0], staying = world.live("web")[1];
  drain(world, going->node_id);
  const Plan plan = world.again("web", EvalTrigger::node_drain);
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.created[0].name, going->name);
  EXPECT_EQ(plan.created[0].previous_allocation, going->id);
  EXPECT_NE(plan.created[0].node_id, going->node_id);
  EXPECT_EQ(plan.stopped.at(0).desired_description, "alloc is being migrated");
  EXPECT_EQ(plan.stopped.at(0).next_allocation, plan.created[0].id);
  EXPECT_EQ(plan.groups.at("g").migrate, 1);
  EXPECT_EQ(world.live("web").size(), 2u);
  EXPECT_FALSE(world.alloc(staying->id)->terminal());
}

TEST(Drain, LeavesRunningWhatHasNoOtherPlaceUntilItsTimeIsUp) {
  World world(1, 2);
  Job job = make_job("web");
  job.constraints = {{"${attr.unique.hostname}", "=", "c1"}};
  world.run(job);
  world.start_all();
  const auto row = world.live("web")[0];
  drain(world, row->node_id);
  Plan plan = world.again("web", EvalTrigger::node_drain);
  EXPECT_FALSE(plan.changes_allocations());
  EXPECT_FALSE(plan.evaluation.blocked_eval.empty()) << "it is moved once there is room";
  drain(world, row->node_id, {.deadline = 1h, .force_deadline = unix_nanos(world.clock().now())});
  plan = world.again("web", EvalTrigger::node_drain);
  EXPECT_EQ(plan.stopped.at(0).id, row->id);
  EXPECT_TRUE(plan.created.empty());
  EXPECT_EQ(plan.evaluation.queued.at("g"), 1);
}

TEST(Drain, ShrinksByWhatWouldMove) {
  World world(1, 3);
  world.run(make_job("web", 3));
  const auto going = world.live("web")[0];
  drain(world, going->node_id);
  std::set<std::string> marked;
  for (const auto& row : world.live("web")) {
    if (row->transition.migrate) marked.insert(row->id);
  }
  const Plan plan = world.run(make_job("web", 3 - static_cast<std::int64_t>(marked.size())));
  EXPECT_TRUE(plan.created.empty()) << "nothing is moved that is not needed";
  for (const auto& row : plan.stopped) EXPECT_TRUE(marked.contains(row.id));
}

TEST(Drain, StopsSystemJobsThatAreMarkedAndBringsThemBackAfterwards) {
  World world(1, 2);
  Job job = make_job("munge");
  job.type = JobType::system;
  world.run(job);
  world.start_all();
  const auto row = world.live("munge")[0];
  drain(world, row->node_id);
  Plan plan = world.again("munge", EvalTrigger::node_drain);
  EXPECT_EQ(plan.stopped.at(0).id, row->id);
  EXPECT_TRUE(plan.created.empty());
  Node node = *world.nodes().at(row->node_id);
  node.drain.reset();
  node.eligibility = model::Eligibility::eligible;
  world.put_node(node);
  plan = world.again("munge");
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.created[0].node_id, row->node_id);
}

TEST(StickyDisk, DrawsTheReplacementToItsNodeUnlessThatCannotTakeIt) {
  for (const bool sticky : {true, false}) {
    SCOPED_TRACE(sticky);
    World world(1, 5);
    Job job = make_job("db");
    job.groups[0].ephemeral_disk.sticky = sticky;
    job.groups[0].reschedule = model::RescheduleStrategy{.delay = 0s, .unlimited = true};
    world.run(job);
    world.start_all();
    const auto first = world.live("db")[0];
    world.set_client(first->id, ClientStatus::failed);
    Plan plan = world.again("db");
    ASSERT_EQ(plan.created.size(), 1u);
    EXPECT_EQ(plan.created[0].node_id == first->node_id, sticky) << "a failure elsewhere draws away";

    world.start_all();
    const auto second = world.live("db")[0];
    drain(world, second->node_id);
    plan = world.again("db");
    ASSERT_EQ(plan.created.size(), 1u);
    EXPECT_NE(plan.created[0].node_id, second->node_id);
  }
}

TEST(StickyDisk, StaysWhenAPersonStopsItsAllocation) {
  World world(1, 5);
  Job job = make_job("db");
  job.groups[0].ephemeral_disk.sticky = true;
  world.run(job);
  world.start_all();
  Allocation asked = *world.live("db")[0];
  asked.transition.migrate = true;
  world.put(asked);
  const Plan plan = world.again("db");
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.created[0].node_id, asked.node_id);
}

}  // namespace
}  // namespace underway::scheduler
