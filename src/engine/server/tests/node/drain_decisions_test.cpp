#include "server/node/drain_decisions.hpp"

#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::ClientStatus;
using model::DrainStatus;
using model::Eligibility;
using model::JobType;
using model::NodeStatus;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Names = std::vector<std::string>;

constexpr Duration kForce = Duration(-1);

DrainNode request(int node, Duration deadline) {
  DrainNode drain;
  drain.node_id = uuid(node);
  drain.drain.emplace().deadline = deadline;
  return drain;
}

DrainNode end(int node, bool eligible = true) {
  DrainNode drain;
  drain.node_id = uuid(node);
  drain.mark_eligible = eligible;
  return drain;
}

void ask(Desk& desk, const DrainNode& drain) { desk.run(drain); }

/// One step of the drains; whether it changed anything.
bool step(Desk& desk) {
  const auto before = desk.store.revision();
  desk.run(AdvanceDrains{});
  return desk.store.revision() != before;
}

/// The nodes do what they are told: what shall run does, and is healthy; what shall stop has.
void obey(Desk& desk, bool healthy = true) {
  for (const auto& row : desk.tables.allocations()) {
    if (row->client_terminal()) continue;
    if (row->server_terminal())
      desk.update(row->node_id, {report(row->id, ClientStatus::complete)});
    else if (row->client_status == ClientStatus::pending)
      desk.update(row->node_id, {report(row->id, ClientStatus::running, healthy)});
  }
}

Names on(const Desk& desk, int node) {
  Names names;
  for (const auto& row : desk.tables.allocations_on_node(uuid(node))) {
    if (!row->terminal()) names.push_back(row->name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::int64_t healthy(const Desk& desk, const std::string& job) {
  const auto rows = desk.live(job);
  return std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row->is_healthy(); });
}

tables::Row<model::Node> node(const Desk& desk, int number) { return desk.tables.find_node(uuid(number)); }

/// Everything on node 1, then room on node 2 and 3.
Desk& filled(Desk& desk, const std::vector<model::Job>& jobs) {
  desk.join(make_node(1, 8000, 16384));
  for (const auto& job : jobs) desk.register_job(job);
  obey(desk);
  desk.join(make_node(2, 8000, 16384));
  desk.join(make_node(3, 8000, 16384));
  obey(desk);
  return desk;
}

TEST(Drain, IsWrittenDownAndKeepsNewAllocationsAway) {
  Desk desk;
  filled(desk, {make_job("web")});
  DrainNode drain = request(1, hours(1));
  drain.meta = {{"message", "new cooling"}};
  drain.accessor_id = "someone";
  ask(desk, drain);
  const std::int64_t now = unix_nanos(desk.clock.now());
  EXPECT_EQ(node(desk, 1)->eligibility, Eligibility::ineligible);
  EXPECT_EQ(node(desk, 1)->drain->force_deadline, now + Duration(hours(1)).count());
  EXPECT_EQ(node(desk, 1)->drain->started_at, now);
  EXPECT_EQ(node(desk, 1)->last_drain->status, DrainStatus::draining);
  EXPECT_EQ(node(desk, 1)->last_drain->meta.at("message"), "new cooling");
  EXPECT_EQ(node(desk, 1)->last_drain->accessor_id, "someone");
  desk.clock.advance(minutes(10));
  ask(desk, request(1, hours(2)));
  EXPECT_EQ(node(desk, 1)->drain->started_at, now) << "it is the same drain";
  EXPECT_EQ(node(desk, 1)->drain->force_deadline, now + Duration(minutes(130)).count());
  EXPECT_THROW(decide(desk.tables, request(9, hours(1)), desk.context()), Error);
  EXPECT_THROW(decide(desk.tables, SetEligibility{uuid(1), Eligibility::eligible}, desk.context()), Error);
}

TEST(Drain, MovesAServiceWithoutEverHavingTooFewOfIt) {
  for (const std::int64_t parallel : {1, 2}) {
    SCOPED_TRACE(parallel);
    Desk desk;
    model::Job job = make_job("web", 4);
    job.groups[0].migrate = model::MigrateStrategy{.max_parallel = parallel};
    filled(desk, {job});
    ask(desk, request(1, Duration{0}));
    int steps = 0;
    for (; node(desk, 1)->drain && steps < 20; ++steps) {
      step(desk);
      EXPECT_GE(healthy(desk, "web"), 4 - parallel);
      EXPECT_FALSE(step(desk)) << "without news it changes nothing";
      obey(desk);
    }
    EXPECT_EQ(steps, 4 / parallel + 1);
    EXPECT_EQ(on(desk, 1), Names{});
    EXPECT_EQ(healthy(desk, "web"), 4);
    EXPECT_EQ(node(desk, 1)->last_drain->status, DrainStatus::complete);
    EXPECT_EQ(node(desk, 1)->eligibility, Eligibility::ineligible) << "until somebody says otherwise";
  }
}

TEST(Drain, OfARackCountsWhatAllItsNodesHaveOfAGroup) {
  Desk desk;
  model::Job job = make_job("web", 4);
  job.constraints.push_back({"", "distinct_hosts", "true"});
  for (int i = 1; i <= 8; ++i) desk.join(make_node(i));
  desk.register_job(job);
  obey(desk);
  for (const auto& row : desk.live("web")) {
    DrainNode drain = request(1, Duration{0});
    drain.node_id = row->node_id;
    ask(desk, drain);
  }
  for (int i = 0; i < 12; ++i) {
    step(desk);
    EXPECT_GE(healthy(desk, "web"), 3);
    obey(desk);
  }
  for (const auto& row : desk.live("web")) EXPECT_FALSE(desk.tables.find_node(row->node_id)->last_drain);
}

TEST(Drain, WaitsForAReplacementThatIsNotHealthyAndMovesFirstWhatIsNot) {
  Desk desk;
  filled(desk, {make_job("web", 3)});
  const auto sick = desk.live("web")[1];
  auto unhealthy = report(sick->id, ClientStatus::running);
  unhealthy.health.healthy = false;
  desk.update(uuid(1), {unhealthy});
  ask(desk, request(1, hours(1)));
  step(desk);
  EXPECT_TRUE(desk.tables.find_allocation(sick->id)->transition.migrate);
  EXPECT_EQ(on(desk, 1).size(), 2u) << "nothing but that one";
  obey(desk, false);
  EXPECT_FALSE(step(desk)) << "what replaces it is not healthy yet";
  for (const auto& row : desk.live("web")) desk.update(row->node_id, {report(row->id, ClientStatus::running, true)});
  step(desk);
  EXPECT_EQ(on(desk, 1).size(), 1u);
}

TEST(Drain, LetsBatchJobsEndAndTakesSystemJobsLast) {
  Desk desk;
  filled(desk, {make_job("munge", 1, JobType::system), make_job("web"), make_job("sim", 1, JobType::batch)});
  ask(desk, request(1, hours(1)));
  step(desk);
  obey(desk);
  step(desk);
  EXPECT_EQ(on(desk, 1), (Names{"munge.g[0]", "sim.g[0]"}));
  const auto sim = desk.only("sim")->id;
  desk.update(uuid(1), {report(sim, ClientStatus::complete)});
  step(desk);
  EXPECT_EQ(on(desk, 1), Names{});
  EXPECT_TRUE(node(desk, 1)->drain) << "the system job has not stopped yet";
  obey(desk);
  step(desk);
  EXPECT_FALSE(node(desk, 1)->drain);
  EXPECT_EQ(desk.live("sim").size(), 0u) << "what had ended is not run again";
  ask(desk, end(1));
  EXPECT_EQ(on(desk, 1), Names{"munge.g[0]"}) << "and it comes back with the node";
}

TEST(Drain, LeavesSystemJobsAloneWhenAskedTo) {
  Desk desk;
  filled(desk, {make_job("munge", 1, JobType::system)});
  DrainNode drain = request(1, hours(1));
  drain.drain->ignore_system_jobs = true;
  ask(desk, drain);
  step(desk);
  EXPECT_FALSE(node(desk, 1)->drain);
  EXPECT_EQ(on(desk, 1), Names{"munge.g[0]"});
}

TEST(Drain, AtItsDeadlineTakesEverythingThatIsLeft) {
  Desk desk;
  model::Job pinned = make_job("pinned");
  pinned.constraints.push_back({"${attr.unique.hostname}", "=", "c1"});
  filled(desk, {make_job("munge", 1, JobType::system), make_job("sim", 1, JobType::batch), pinned});
  ask(desk, request(1, hours(1)));
  step(desk);
  EXPECT_EQ(on(desk, 1), (Names{"munge.g[0]", "pinned.g[0]", "sim.g[0]"})) << "it has no other place";
  EXPECT_EQ(next_drain_deadline(desk.tables, desk.clock.now()), desk.clock.now() + hours(1));
  desk.clock.advance(hours(1) - seconds(1));
  EXPECT_FALSE(step(desk));
  desk.clock.advance(seconds(1));
  step(desk);
  EXPECT_EQ(on(desk, 1), Names{});
  EXPECT_NE(desk.only("sim")->node_id, uuid(1)) << "it begins anew elsewhere";
  EXPECT_EQ(desk.tables.blocked_evaluations().size(), 1u) << "the pinned one waits for its node";
  EXPECT_EQ(next_drain_deadline(desk.tables, desk.clock.now()), std::nullopt);
  EXPECT_FALSE(step(desk));
  obey(desk);
  step(desk);
  EXPECT_EQ(node(desk, 1)->last_drain->status, DrainStatus::complete);
}

TEST(Drain, ByForceTakesEverythingAtOnce) {
  Desk desk;
  filled(desk, {make_job("munge", 1, JobType::system), make_job("web", 4)});
  ask(desk, request(1, kForce));
  step(desk);
  EXPECT_EQ(on(desk, 1), Names{});
  EXPECT_EQ(desk.live("web").size(), 4u);
}

TEST(Drain, ThatIsEndedLeavesWhatHasNotMoved) {
  Desk desk;
  filled(desk, {make_job("web", 4), make_job("munge", 1, JobType::system)});
  ask(desk, request(1, hours(1)));
  step(desk);
  obey(desk);
  const auto stayed = on(desk, 1);
  ASSERT_EQ(stayed.size(), 4u);
  ask(desk, end(1));
  EXPECT_EQ(node(desk, 1)->last_drain->status, DrainStatus::canceled);
  EXPECT_EQ(node(desk, 1)->eligibility, Eligibility::eligible);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(step(desk));
    obey(desk);
  }
  EXPECT_EQ(on(desk, 1), stayed);
}

TEST(Drain, ThatIsEndedTakesBackTheMarkOfWhatFoundNoPlace) {
  Desk desk;
  model::Job pinned = make_job("pinned");
  pinned.constraints.push_back({"${attr.unique.hostname}", "=", "c1"});
  filled(desk, {pinned});
  const auto id = desk.only("pinned")->id;
  ask(desk, request(1, hours(1)));
  step(desk);
  EXPECT_TRUE(desk.only("pinned")->transition.migrate);
  EXPECT_EQ(desk.tables.blocked_evaluations().size(), 1u);
  ask(desk, end(1, false));
  EXPECT_EQ(node(desk, 1)->eligibility, Eligibility::ineligible) << "-keep-ineligible";
  EXPECT_FALSE(desk.only("pinned")->transition.migrate);
  EXPECT_EQ(desk.only("pinned")->id, id);
  EXPECT_TRUE(desk.tables.blocked_evaluations().empty());
  ask(desk, end(1));
  EXPECT_EQ(node(desk, 1)->eligibility, Eligibility::eligible) << "also when nothing is drained any more";
}

TEST(Drain, SurvivesTheServerAndTheAgent) {
  Desk desk;
  filled(desk, {make_job("web", 2)});
  ask(desk, request(1, hours(1)));
  step(desk);
  obey(desk);
  const auto drain = node(desk, 1)->drain;
  desk.join(make_node(1, 8000, 16384));
  ASSERT_TRUE(node(desk, 1)->drain) << "an agent that registers again knows nothing of it";
  EXPECT_EQ(node(desk, 1)->drain->force_deadline, drain->force_deadline);
  EXPECT_EQ(node(desk, 1)->last_drain->status, DrainStatus::draining);
  tables::Tables reloaded;
  reloaded.load(desk.store);
  const auto decision = decide(reloaded, AdvanceDrains{}, desk.context());
  EXPECT_FALSE(decision.changes.empty()) << "the next server goes on where this one was";
}

TEST(Drain, OfANodeThatFallsSilentIsDoneWhenNothingThereIsCountedWith) {
  Desk desk;
  filled(desk, {make_job("munge", 1, JobType::system), make_job("web")});
  ask(desk, request(1, hours(1)));
  desk.down({uuid(1)});
  EXPECT_EQ(node(desk, 1)->status, NodeStatus::disconnected);
  step(desk);
  EXPECT_TRUE(node(desk, 1)->drain);
  desk.clock.advance(hours(1));
  desk.schedule();
  step(desk);
  desk.run(GiveNodesUp{{uuid(1)}});
  step(desk);
  EXPECT_EQ(node(desk, 1)->status, NodeStatus::down);
  EXPECT_FALSE(node(desk, 1)->drain);
  EXPECT_NE(desk.only("web")->node_id, uuid(1));
}

TEST(Drain, ThatAsksSlurmMovesNothingUntilSlurmLetsGo) {
  Desk desk;
  filled(desk, {make_job("web")});
  DrainNode drain = request(1, hours(1));
  drain.drain->ask_slurm = true;
  ask(desk, drain);
  ASSERT_TRUE(node(desk, 1)->slurm_drain);
  EXPECT_FALSE(step(desk));
  const auto let_go = [](const Tables& t, const Context&) {
    Decision<Nothing> decision;
    model::Node row = *t.find_node(uuid(1));
    row.slurm_drain->status = model::SlurmDrainStatus::drained;
    decision.changes.push_back(tables::PutNode{std::move(row)});
    return decision;
  };
  desk.run(let_go);
  EXPECT_TRUE(step(desk));
  EXPECT_EQ(on(desk, 1), Names{});
  obey(desk);
  step(desk);
  EXPECT_FALSE(node(desk, 1)->drain);
  EXPECT_TRUE(node(desk, 1)->slurm_drain) << "Slurm gets it back with the node's eligibility";
}

TEST(Drain, ThatAsksSlurmGoesOnAtItsDeadlineWhateverSlurmSays) {
  Desk desk;
  filled(desk, {make_job("web")});
  DrainNode drain = request(1, hours(1));
  drain.drain->ask_slurm = true;
  ask(desk, drain);
  desk.clock.advance(hours(1));
  EXPECT_TRUE(step(desk));
  EXPECT_EQ(on(desk, 1), Names{});
}

}  // namespace
}  // namespace underway::server::testing
