// What nobody hears of: the node's silence, its return, and what is kept for it meanwhile.
#include "server/storage/collect_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::ClientStatus;
using model::EvalTrigger;
using model::JobType;
using model::NodeStatus;
using std::chrono::hours;
using std::chrono::minutes;

std::string run(Desk& desk, model::Job job) {
  const std::string id = job.id;
  desk.register_job(std::move(job));
  const auto row = desk.only(id);
  desk.update(row->node_id, {report(row->id, ClientStatus::running, true)});
  return row->id;
}

void come_back(Desk& desk, int number, const std::vector<model::AllocationUpdate>& running) {
  desk.run(RegisterNode{make_node(number), "secret", running});
}

/// What the server does when something about a disconnected node changed.
void reconcile(Desk& desk, const std::string& node_id) { desk.run(GiveNodesUp{{node_id}}); }

void collect_losses(Desk& desk) { desk.run(Collect{Retention{}}); }

model::Job pinned(model::Job job, const std::string& host) {
  job.constraints.push_back({"${attr.unique.hostname}", "=", host});
  return job;
}

TEST(Loss, MakesANodeDisconnectedIfSomethingMayGoOnThereElseDown) {
  struct Case {
    const char* name;
    JobType type;
    ClientStatus status;
    NodeStatus expect;
  };
  const std::vector<Case> cases = {
      {"a service that runs", JobType::service, ClientStatus::running, NodeStatus::disconnected},
      {"a service that never said so", JobType::service, ClientStatus::pending, NodeStatus::down},
      {"a service that failed", JobType::service, ClientStatus::failed, NodeStatus::down},
      {"a system job", JobType::system, ClientStatus::running, NodeStatus::disconnected},
      {"a batch job", JobType::batch, ClientStatus::running, NodeStatus::down},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Desk desk;
    desk.join(make_node(1));
    desk.register_job(make_job("job", 1, c.type));
    desk.update(uuid(1), {report(desk.only("job")->id, c.status, true)});
    desk.down({uuid(1)});
    EXPECT_EQ(desk.tables.find_node(uuid(1))->status, c.expect);
    EXPECT_EQ(desk.tables.find_node(uuid(1))->status_description, "gone");
  }
}

TEST(Loss, OfADayRestartsNothingThatIsRight) {
  Desk desk;
  desk.join(make_node(1));
  desk.join(make_node(2));
  const auto munge = [&](int node) {
    for (const auto& row : desk.live("munge")) {
      if (row->node_id == uuid(node)) return row->id;
    }
    return std::string();
  };
  desk.register_job(make_job("munge", 1, JobType::system));
  const std::string here = munge(1), there = munge(2);
  desk.update(uuid(1), {report(here, ClientStatus::running, true)});
  desk.update(uuid(2), {report(there, ClientStatus::running, true)});
  const std::string ctld = run(desk, pinned(make_job("slurmctld"), "c1"));

  desk.down({uuid(1)});
  EXPECT_EQ(desk.tables.find_allocation(ctld)->client_status, ClientStatus::unknown);
  EXPECT_FALSE(desk.tables.find_allocation(here)->is_healthy()) << "nobody knows that it is";
  for (int hour = 0; hour < 30; ++hour) {
    desk.clock.advance(hours(1));
    desk.schedule();
    reconcile(desk, uuid(1));
    collect_losses(desk);
  }
  ASSERT_TRUE(desk.tables.find_node(uuid(1)));
  ASSERT_TRUE(desk.tables.find_allocation(ctld)) << "kept for the node that may come back with it";
  come_back(desk, 1, {report(here, ClientStatus::running, true), report(ctld, ClientStatus::running, true)});
  EXPECT_EQ(desk.only("slurmctld")->id, ctld);
  EXPECT_EQ(munge(1), here);
  EXPECT_EQ(munge(2), there);
  for (const auto& id : {ctld, here}) {
    const auto row = desk.tables.find_allocation(id);
    EXPECT_TRUE(row->is_healthy());
    EXPECT_EQ(row->unknown_since, 0);
    EXPECT_EQ(row->desired_status, model::DesiredStatus::run);
  }
  EXPECT_TRUE(desk.tables.blocked_evaluations().empty());
}

TEST(Loss, OfAServiceThatMovedMeanwhileStopsTheOneThatCameBackLate) {
  Desk desk;
  desk.join(make_node(1));
  const std::string first = run(desk, make_job("web"));
  desk.join(make_node(2));
  desk.down({uuid(1)});
  EXPECT_EQ(desk.only("web")->id, first) << "not replaced at once";
  desk.clock.advance(model::kServiceLostAfter);
  desk.schedule();
  const auto second = desk.only("web");
  EXPECT_EQ(second->node_id, uuid(2));
  reconcile(desk, uuid(1));
  EXPECT_EQ(desk.tables.find_node(uuid(1))->status, NodeStatus::down) << "nothing there is counted with";
  come_back(desk, 1, {report(first, ClientStatus::running, true)});
  EXPECT_EQ(desk.only("web")->id, second->id);
  EXPECT_TRUE(desk.tables.find_allocation(first)->server_terminal());
}

TEST(Loss, IsMeasuredByTheServersClockAlone) {
  for (const int skew : {-10, 0, 10}) {
    SCOPED_TRACE(skew);
    Desk desk;
    desk.join(make_node(1));
    desk.join(make_node(2));
    desk.register_job(make_job("web"));
    const auto row = desk.only("web");
    auto update = report(row->id, ClientStatus::running, true);
    const std::int64_t node_now = unix_nanos(desk.clock.now() + minutes(skew));
    update.task_states["t"].started_at = node_now;
    update.health.timestamp = node_now;
    desk.update(row->node_id, {update});
    desk.down({row->node_id});
    desk.clock.advance(model::kServiceLostAfter - std::chrono::seconds(2));
    desk.schedule();
    EXPECT_EQ(desk.only("web")->id, row->id);
    desk.clock.advance(std::chrono::seconds(2));
    desk.schedule();
    EXPECT_NE(desk.only("web")->id, row->id);
  }
}

TEST(Loss, OfTwoThatRunWhenTheNodeReturnsOneIsChosen) {
  Desk desk;
  desk.join(make_node(1));
  model::Job job = make_job("web");
  job.groups[0].disconnect =
      model::DisconnectStrategy{.lost_after = hours(1), .replace = true, .reconcile = model::Reconcile::keep_original};
  const std::string original = run(desk, job);
  desk.join(make_node(2));
  desk.down({uuid(1)});
  ASSERT_EQ(desk.live("web").size(), 2u);
  std::string replacement;
  for (const auto& row : desk.live("web")) {
    if (row->id != original) replacement = row->id;
  }
  desk.update(uuid(2), {report(replacement, ClientStatus::running, true)});
  come_back(desk, 1, {report(original, ClientStatus::running, true)});
  EXPECT_EQ(desk.only("web")->id, original);
  EXPECT_EQ(desk.only("web")->unknown_since, 0);
  EXPECT_TRUE(desk.tables.find_allocation(replacement)->server_terminal());
  const auto evaluations = desk.tables.evaluations_of_job("default", "web");
  EXPECT_TRUE(std::any_of(evaluations.begin(), evaluations.end(),
                          [](const auto& e) { return e->triggered_by == EvalTrigger::reconnect; }));
}

TEST(Loss, OfWhatEndedMeanwhileIsAnEnd) {
  Desk desk;
  desk.join(make_node(1));
  const std::string id = run(desk, make_job("web"));
  desk.down({uuid(1)});
  come_back(desk, 1, {});
  EXPECT_EQ(desk.tables.find_allocation(id)->client_status, ClientStatus::unknown) << "it has not been told of yet";
  desk.update(uuid(1), {report(id, ClientStatus::failed)});
  EXPECT_EQ(desk.tables.find_allocation(id)->client_status, ClientStatus::failed);
  EXPECT_EQ(desk.tables.find_allocation(id)->unknown_since, 0);
  desk.clock.advance(minutes(1));
  desk.schedule();
  EXPECT_EQ(desk.only("web")->previous_allocation, id);
}

TEST(Loss, OfWhatSomebodyHasTakenThePortOfIsNotUndone) {
  for (const bool taken : {false, true}) {
    Desk desk;
    desk.join(make_node(1));
    const auto listening = [](const std::string& id) {
      model::Job job = make_job(id, 1, JobType::batch);
      job.groups[0].networks.resize(1);
      job.groups[0].networks[0].reserved_ports.push_back({.label = "http", .value = 8080});
      return job;
    };
    const auto old = run(desk, listening("old"));
    desk.down({uuid(1)});
    EXPECT_EQ(desk.tables.find_allocation(old)->client_status, ClientStatus::lost);
    come_back(desk, 1, {});  // it does not say yet what it runs
    desk.run(DeregisterJob{"default", "old", false});
    if (taken) desk.register_job(listening("new"));
    desk.register_job(listening("old"));  // its evaluation waits for the port, or places another one
    come_back(desk, 1, {report(old, ClientStatus::running, true)});
    const auto row = desk.tables.find_allocation(old);
    std::size_t holders = 0;
    for (const auto& other : desk.tables.allocations_on_node(uuid(1))) holders += other->terminal() ? 0 : 1;
    EXPECT_EQ(holders, 1u) << (taken ? "taken" : "free");
    EXPECT_TRUE(row->server_terminal());
  }
}

TEST(Loss, EndsTheWaitForWhatWasToStopThere) {
  Desk desk;
  desk.join(make_node(1));
  const std::string id = run(desk, make_job("web"));
  desk.down({uuid(1)});
  desk.run(DeregisterJob{"default", "web", false});
  EXPECT_FALSE(desk.tables.find_allocation(id)->client_terminal());
  reconcile(desk, uuid(1));
  EXPECT_EQ(desk.tables.find_node(uuid(1))->status, NodeStatus::down);
  EXPECT_EQ(desk.tables.find_allocation(id)->client_status, ClientStatus::lost);
  EXPECT_EQ(desk.tables.find_job("default", "web")->status, model::JobStatus::dead);
}

TEST(Loss, OfANodeThatIsForgottenIsFinal) {
  Desk desk;
  desk.join(make_node(1));
  const std::string id = run(desk, make_job("web"));
  desk.join(make_node(2));
  desk.down({uuid(1)});
  desk.run(PurgeNode{uuid(1)});
  EXPECT_FALSE(desk.tables.find_allocation(id));
  EXPECT_EQ(desk.only("web")->node_id, uuid(2));
}

}  // namespace
}  // namespace underway::server::testing
