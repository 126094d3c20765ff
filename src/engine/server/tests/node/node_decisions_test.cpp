#include "server/node/node_decisions.hpp"

#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::ClientStatus;
using model::Eligibility;
using model::EvalTrigger;
using model::JobType;
using model::NodeStatus;

std::vector<tables::Row<model::Evaluation>> evaluations(const Desk& desk, const std::string& job, EvalTrigger trigger) {
  auto rows = desk.tables.evaluations_of_job("default", job);
  std::erase_if(rows, [&](const auto& row) { return row->triggered_by != trigger; });
  return rows;
}

void set_eligibility(Desk& desk, const std::string& id, Eligibility eligibility) {
  desk.run(SetEligibility{id, eligibility});
}

TEST(RegisterNode, MakesItReadyAndGivesItItsSystemJobs) {
  Desk desk;
  desk.register_job(make_job("munge", 1, JobType::system));
  EXPECT_EQ(desk.live("munge").size(), 0u);
  desk.join(make_node(1));
  const auto node = desk.tables.find_node(uuid(1));
  EXPECT_EQ(node->status, NodeStatus::ready);
  EXPECT_FALSE(node->computed_class.empty());
  EXPECT_EQ(node->status_updated_at, unix_nanos(desk.clock.now()) / 1'000'000'000);
  EXPECT_EQ(desk.only("munge")->node_id, uuid(1));
}

TEST(RegisterNode, RefusesAnIdThatIsNoUuid) {
  Desk desk;
  model::Node node = make_node(1);
  node.id = "c1";
  EXPECT_THROW(desk.join(node), Error);
}

TEST(RegisterNode, RefusesAnotherSecretAndLeavesTheNodeAlone) {
  Desk desk;
  desk.join(make_node(1), "right");
  model::Node other = make_node(1);
  other.name = "impostor";
  try {
    desk.join(other, "wrong");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::denied);
    EXPECT_FALSE(error.advice().empty());
  }
  EXPECT_EQ(desk.tables.find_node(uuid(1))->name, "c1");
  desk.join(make_node(1), "right");
}

TEST(RegisterNode, KeepsNoSecretInTheClear) {
  Desk desk;
  desk.join(make_node(1), "a-very-secret-text");
  for (const auto& kv : desk.store.range(store::KeyRange::prefix("")).key_values)
    EXPECT_EQ(kv.value.find("a-very-secret-text"), std::string::npos) << kv.key;
}

TEST(RegisterNode, AgainKeepsItsEligibilityAndEvaluatesNothing) {
  Desk desk;
  desk.register_job(make_job("munge", 1, JobType::system));
  desk.join(make_node(1));
  set_eligibility(desk, uuid(1), Eligibility::ineligible);
  const auto before = desk.tables.evaluations().size();
  desk.join(make_node(1));
  EXPECT_EQ(desk.tables.find_node(uuid(1))->eligibility, Eligibility::ineligible);
  EXPECT_EQ(desk.tables.evaluations().size(), before);
}

std::vector<std::string> history_of(const Desk& desk, int number) {
  std::vector<std::string> out;
  for (const auto& event : desk.tables.find_node(uuid(number))->events)
    out.push_back(event.subsystem + ": " + event.message);
  return out;
}

TEST(RegisterNode, RemembersWhatBecameOfIt) {
  using Lines = std::vector<std::string>;
  Desk desk;
  model::Node node = make_node(1);
  node.last_start = 1;
  node.events = {{"made up by the node", "Cluster", {}, 1, 1}};
  desk.join(node);
  const auto since = desk.tables.find_node(uuid(1))->drivers.at("raw_exec").updated_at;
  EXPECT_EQ(since, unix_nanos(desk.clock.now()));
  desk.clock.advance(std::chrono::minutes(1));
  desk.down({uuid(1)});
  desk.join(node);
  EXPECT_EQ(desk.tables.find_node(uuid(1))->drivers.at("raw_exec").updated_at, since) << "it is as it was";
  node.last_start = 2;
  node.drivers["raw_exec"] = {true, false, "no cgroups", {}};
  desk.join(node);
  EXPECT_EQ(desk.tables.find_node(uuid(1))->drivers.at("raw_exec").updated_at, unix_nanos(desk.clock.now()));
  EXPECT_EQ(history_of(desk, 1),
            (Lines{"Cluster: Node registered", "Cluster: Node heartbeat missed",
                   "Cluster: Node reregistered by heartbeat", "Driver: no cgroups", "Cluster: Node re-registered"}));
  for (int i = 0; i < 12; ++i)
    set_eligibility(desk, uuid(1), i % 2 == 0 ? Eligibility::ineligible : Eligibility::eligible);
  EXPECT_EQ(history_of(desk, 1).size(), 10u);
  EXPECT_EQ(history_of(desk, 1).back(), "Cluster: Node marked as eligible for scheduling");
}

TEST(RegisterNode, WithMoreThanBeforeLetsWaitingJobsIn) {
  Desk desk;
  desk.join(make_node(1, 100));
  desk.register_job(make_job("web"));
  EXPECT_EQ(desk.live("web").size(), 0u);
  desk.join(make_node(1, 4000));
  EXPECT_EQ(desk.live("web").size(), 1u);
}

TEST(RegisterNode, AdoptsTheHostThatItRunsOn) {
  Desk desk;
  model::Host host;
  host.name = "c1";
  host.cluster = "hpc";
  std::vector<Change> changes;
  changes.push_back(tables::PutHost{host});
  desk.commit(std::move(changes));
  model::Node node = make_node(1);
  node.host = "c1";
  node.cluster = "hpc";
  desk.join(node);
  EXPECT_EQ(desk.tables.find_host("hpc", "c1")->node_id, uuid(1));
}

TEST(NodesDown, LoseTheirAllocationsToTheOthers) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto first = desk.only("web");
  desk.join(make_node(2));
  desk.down({uuid(1)});
  EXPECT_EQ(desk.tables.find_node(uuid(1))->status, NodeStatus::down);
  EXPECT_EQ(desk.tables.find_node(uuid(1))->status_description, "gone");
  EXPECT_EQ(desk.tables.find_allocation(first->id)->client_status, ClientStatus::lost);
  EXPECT_EQ(desk.only("web")->node_id, uuid(2));
  EXPECT_EQ(desk.only("web")->previous_allocation, first->id);
}

TEST(NodesDown, EvaluateEachJobOnceHoweverManyFall) {
  Desk desk;
  desk.register_job(make_job("munge", 1, JobType::system));
  std::vector<std::string> ids;
  for (int i = 1; i <= 5; ++i) {
    desk.join(make_node(i));
    ids.push_back(uuid(i));
  }
  const auto before = evaluations(desk, "munge", EvalTrigger::node_update).size();
  desk.down(ids);
  EXPECT_EQ(evaluations(desk, "munge", EvalTrigger::node_update).size(), before + 1);
  EXPECT_EQ(desk.live("munge").size(), 0u);
}

TEST(NodesDown, PassesOverWhatIsDownOrUnknown) {
  Desk desk;
  desk.join(make_node(1));
  desk.down({uuid(1)});
  const auto decision = decide(desk.tables, MarkNodesDown{{uuid(1), uuid(9)}, "again"}, desk.context());
  EXPECT_TRUE(decision.changes.empty());
  EXPECT_TRUE(decision.result.empty());
}

TEST(RegisterNode, TakesBackWhatItStillRunsAndNothingHasReplaced) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("munge", 1, JobType::system));
  desk.register_job(make_job("web"));
  const auto munge = desk.only("munge")->id, web = desk.only("web")->id;
  const std::vector<model::AllocationUpdate> running{report(munge, ClientStatus::running, true),
                                                     report(web, ClientStatus::running, true)};
  desk.update(uuid(1), running);
  desk.down({uuid(1)});
  // Long enough for the service to be given up, with nowhere else to go.
  desk.clock.advance(model::kServiceLostAfter);
  desk.schedule();
  EXPECT_EQ(desk.tables.find_allocation(web)->client_status, ClientStatus::lost);
  EXPECT_EQ(desk.tables.find_allocation(munge)->client_status, ClientStatus::unknown);
  const RegisterNode back{make_node(1), "secret", running};
  desk.run(back);
  EXPECT_EQ(desk.only("munge")->id, munge);
  EXPECT_EQ(desk.only("web")->id, web);
  EXPECT_TRUE(desk.only("web")->is_ready());
  EXPECT_TRUE(desk.tables.blocked_evaluations().empty());
}

TEST(RegisterNode, LetsGoOfWhatHasBeenReplacedOrStopped) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  desk.register_job(make_job("stopped"));
  const auto web = desk.only("web")->id, stopped = desk.only("stopped")->id;
  desk.join(make_node(2));
  desk.down({uuid(1)});
  desk.run(DeregisterJob{"default", "stopped", false});
  const std::vector<model::AllocationUpdate> running{report(web, ClientStatus::running, true),
                                                     report(stopped, ClientStatus::running, true)};
  const RegisterNode back{make_node(1), "secret", running};
  desk.run(back);
  EXPECT_EQ(desk.only("web")->node_id, uuid(2));
  EXPECT_TRUE(desk.tables.find_allocation(web)->server_terminal());
  EXPECT_FALSE(desk.tables.find_allocation(web)->client_terminal());  // it runs, and is to stop
  EXPECT_TRUE(desk.live("stopped").empty());
}

TEST(SetEligibility, KeepsNewAllocationsAwayAndLetsThemInAgain) {
  Desk desk;
  desk.join(make_node(1));
  set_eligibility(desk, uuid(1), Eligibility::ineligible);
  desk.register_job(make_job("web"));
  desk.register_job(make_job("munge", 1, JobType::system));
  EXPECT_EQ(desk.live("web").size() + desk.live("munge").size(), 0u);
  set_eligibility(desk, uuid(1), Eligibility::eligible);
  EXPECT_EQ(desk.live("web").size(), 1u);
  EXPECT_EQ(desk.live("munge").size(), 1u);
  EXPECT_TRUE(decide(desk.tables, SetEligibility{uuid(1), Eligibility::eligible}, desk.context()).changes.empty());
  EXPECT_THROW(decide(desk.tables, SetEligibility{uuid(9), Eligibility::eligible}, desk.context()), Error);
}

TEST(PurgeNode, ForgetsWhatIsDownWithAllThatItHad) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  EXPECT_THROW(decide(desk.tables, PurgeNode{uuid(1)}, desk.context()), Error);
  desk.down({uuid(1)});
  desk.run(PurgeNode{uuid(1)});
  EXPECT_FALSE(desk.tables.find_node(uuid(1)));
  EXPECT_TRUE(desk.tables.allocations_on_node(uuid(1)).empty());
  desk.join(make_node(1), "another secret");  // whoever comes now is a new node
}

TEST(AllocationUpdates, SayWhatRunsAndWhatIsHealthy) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  desk.update(uuid(1), {report(id, ClientStatus::running, true)});
  const auto row = desk.tables.find_allocation(id);
  EXPECT_EQ(row->client_status, ClientStatus::running);
  EXPECT_TRUE(row->is_ready());
  EXPECT_EQ(row->task_states.at("t").state, model::TaskRunState::running);
  EXPECT_EQ(row->alloc_modify_index, row->create_index);  // only the server's own changes count there
}

TEST(AllocationUpdates, OfAnOlderVersionsHealthSayNothingOfThePresentOne) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  model::Allocation row = *desk.only("web");
  row.health.canary = true;
  row.deployment_id = "d2";
  desk.commit({tables::PutAllocation{row}});
  model::AllocationUpdate late = report(row.id, ClientStatus::running, true);
  late.job_version = row.job_version;
  late.deployment_id = "d1";
  desk.update(uuid(1), {late});
  EXPECT_EQ(desk.only("web")->health.healthy, std::nullopt);
  EXPECT_TRUE(desk.only("web")->is_ready());
  late.deployment_id = "d2";
  late.health = {.healthy = false, .timestamp = 7, .description = "task 't' failed: exit code 1"};
  desk.update(uuid(1), {late});
  const auto& health = desk.only("web")->health;
  EXPECT_EQ(health.healthy, false);
  EXPECT_EQ(health.description, "task 't' failed: exit code 1");
  EXPECT_FALSE(health.ready);
  EXPECT_TRUE(health.canary) << "the server's own";
  late.health = {.ready = true};
  desk.update(uuid(1), {late});
  EXPECT_EQ(desk.only("web")->health.healthy, false) << "a verdict is not taken back by silence";
}

TEST(AllocationUpdates, OfOthersOrOfNothingArePassedOver) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  const auto decision =
      decide(desk.tables,
             UpdateAllocations{uuid(2), {report(id, ClientStatus::failed), report(uuid(77), ClientStatus::running)}},
             desk.context());
  EXPECT_TRUE(decision.changes.empty());
}

TEST(AllocationUpdates, RepeatedChangeNothing) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  desk.update(uuid(1), {report(id, ClientStatus::running, true)});
  desk.clock.advance(std::chrono::seconds(5));
  const auto revision = desk.store.revision();
  desk.update(uuid(1), {report(id, ClientStatus::running, true)});
  EXPECT_EQ(desk.store.revision(), revision);
}

TEST(AllocationUpdates, OfAFailureBringsAReplacementAfterAWhile) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  desk.update(uuid(1), {report(id, ClientStatus::failed)});
  EXPECT_EQ(desk.live("web").size(), 0u);
  EXPECT_EQ(evaluations(desk, "web", EvalTrigger::alloc_failure).size(), 2u);  // now, and one that waits
  desk.clock.advance(std::chrono::minutes(2));
  desk.schedule();
  EXPECT_EQ(desk.only("web")->previous_allocation, id);
}

TEST(AllocationUpdates, NeverBringWhatEndedBackToLife) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  desk.update(uuid(1), {report(id, ClientStatus::failed)});
  desk.update(uuid(1), {report(id, ClientStatus::running, true)});  // an older message, come late
  EXPECT_EQ(desk.tables.find_allocation(id)->client_status, ClientStatus::failed);
}

TEST(AllocationUpdates, CorrectTheGuessThatAnAllocationWasLost) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  desk.down({uuid(1)});
  EXPECT_EQ(desk.tables.find_allocation(id)->client_status, ClientStatus::lost);
  desk.join(make_node(1));
  desk.update(uuid(1), {report(id, ClientStatus::running, true)});
  EXPECT_EQ(desk.tables.find_allocation(id)->client_status, ClientStatus::running);
  EXPECT_TRUE(desk.tables.find_allocation(id)->terminal());  // it is not wanted any more, and will be stopped
}

TEST(AllocationUpdates, OfAFinishedBatchJobAskForNothing) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("once", 1, JobType::batch));
  desk.update(uuid(1), {report(desk.only("once")->id, ClientStatus::complete)});
  EXPECT_TRUE(evaluations(desk, "once", EvalTrigger::alloc_failure).empty());
}

TEST(AllocationUpdates, OfAnEndMakeRoomForWhoWaits) {
  Desk desk;
  desk.join(make_node(1, 600));
  desk.register_job(make_job("first", 1, JobType::batch));
  desk.register_job(make_job("second", 1, JobType::batch));
  EXPECT_EQ(desk.live("second").size(), 0u);
  ASSERT_EQ(desk.tables.blocked_evaluations().size(), 1u);
  desk.update(uuid(1), {report(desk.only("first")->id, ClientStatus::complete)});
  EXPECT_EQ(desk.live("second").size(), 1u);
  EXPECT_TRUE(desk.tables.blocked_evaluations().empty());
}

TEST(EvaluateNode, LooksAtTheJobsOnItAndAtSystemJobs) {
  Desk desk;
  desk.join(make_node(1));
  desk.join(make_node(2));
  desk.register_job(make_job("web"));
  desk.register_job(make_job("everywhere", 1, model::JobType::system));
  const auto there = desk.only("web")->node_id;
  const auto elsewhere = there == uuid(1) ? uuid(2) : uuid(1);
  const auto evaluate = [&](const std::string& node) { return desk.run(EvaluateNode{node}); };
  const auto both = evaluate(there);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(desk.tables.find_evaluation(both[0])->triggered_by, EvalTrigger::node_update);
  EXPECT_EQ(evaluate(elsewhere).size(), 1u);
  EXPECT_THROW(decide(desk.tables, EvaluateNode{uuid(9)}, desk.context()), Error);
}

TEST(StopAllocation, BringsAReplacement) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  const auto eval = desk.run(StopAllocation{id});
  EXPECT_EQ(desk.tables.find_evaluation(eval)->triggered_by, EvalTrigger::alloc_stop);
  EXPECT_EQ(desk.tables.find_allocation(id)->desired_status, model::DesiredStatus::stop);
  EXPECT_EQ(desk.only("web")->previous_allocation, id);
  EXPECT_EQ(desk.tables.find_allocation(id)->next_allocation, desk.only("web")->id);
  EXPECT_THROW(decide(desk.tables, StopAllocation{uuid(5)}, desk.context()), Error);
}

TEST(StopAllocation, LeavesWorkThatIsDoneDone) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("sim", 1, model::JobType::batch));
  const auto id = desk.only("sim")->id;
  desk.update(uuid(1), {report(id, ClientStatus::complete)});
  desk.run(StopAllocation{id});
  EXPECT_TRUE(desk.live("sim").empty());
}

TEST(StopAllocation, TellsTheNodeNotToWaitWhenItIsToldSo) {
  for (const bool skip : {false, true}) {
    Desk desk;
    desk.join(make_node(1));
    desk.register_job(make_job("web"));
    const auto id = desk.only("web")->id;
    const auto stop = [&](bool now) {
      desk.run(StopAllocation{id, now});
      return desk.tables.find_allocation(id);
    };
    EXPECT_EQ(stop(skip)->transition.no_shutdown_delay, skip);
    EXPECT_EQ(desk.only("web")->transition.no_shutdown_delay, false);
    const auto before = desk.tables.find_allocation(id)->alloc_modify_index;
    EXPECT_TRUE(stop(true)->transition.no_shutdown_delay) << "it waits already";
    EXPECT_GT(desk.tables.find_allocation(id)->alloc_modify_index, before) << "so that its node is told";
  }
}

}  // namespace
}  // namespace underway::server::testing
