#include "server/node/move_decisions.hpp"

#include <gmock/gmock.h>

#include "server/job/dependencies.hpp"
#include "server/node/drain_decisions.hpp"
#include "server/node/sleep_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using model::ArrivalPhase;
using model::ClientStatus;
using testing::Desk;
using ::testing::HasSubstr;
using testing::make_job;
using testing::make_node;
using testing::report;
using testing::uuid;

/// A machine on one of two nodes, each of which has room for one.
class Move : public ::testing::Test {
 protected:
  Move() {
    for (const int number : {1, 2}) join(number);
    desk.register_job(machine("vm"));
    first = desk.only("vm")->id;
    here = row(first)->node_id;
    there = here == uuid(1) ? uuid(2) : uuid(1);
    runs(first);
  }
  void join(int number) {
    auto node = make_node(number, 4000, 1024);
    node.drivers["qemu"] = {true, true, "", {}};
    node.attributes["driver.qemu"] = "1";
    desk.join(node);
  }
  static model::Job machine(const std::string& name) {
    auto job = make_job(name);
    auto& task = job.groups[0].tasks[0];
    task.driver = "qemu";
    task.config = boost::json::object{{"image", "/srv/image"}};
    task.resources.memory_mb = 600;
    return job;
  }
  tables::Row<model::Allocation> row(const std::string& id) const { return desk.tables.find_allocation(id); }
  void runs(const std::string& id) { desk.update(row(id)->node_id, {report(id, ClientStatus::running, true)}); }
  void ended(const std::string& id) { desk.update(row(id)->node_id, {report(id, ClientStatus::complete)}); }
  void slept(const std::string& id, bool asleep = true, const std::string& trouble = {}) {
    auto update = report(id, ClientStatus::running);
    update.sleep = model::AllocSleepReport{row(id)->sleep->since, asleep, trouble};
    desk.update(row(id)->node_id, {update});
  }
  void arrives(const std::string& id, ArrivalPhase phase, const std::string& trouble = {}) {
    auto update = report(id, ClientStatus::pending);
    update.arrival = model::AllocArrivalReport{phase, trouble};
    desk.update(row(id)->node_id, {update});
  }
  protocol::MoveFate fate(const std::string& id, const std::string& to) const {
    return fate_of(desk.tables, *row(id), to);
  }
  /// Where its machines go on.
  tables::Row<model::Allocation> next() const {
    for (const auto& row : desk.live("vm"))
      if (row->id != first) return row;
    return nullptr;
  }
  Gate gate(const std::string& id) {
    Dependents dependents(nullptr);
    return gate_of(desk.tables, dependents, *row(id));
  }
  void drain(Duration deadline = std::chrono::hours(1)) {
    DrainNode drain;
    drain.node_id = here;
    drain.drain.emplace().deadline = deadline;
    desk.run(drain);
    desk.run(AdvanceDrains{});
  }
  template <class Request>
  Error refusal(Request request) {
    try {
      decide(desk.tables, request, desk.context());
    } catch (const Error& error) {
      return error;
    }
    return {Code::internal, "it was done"};
  }

  Desk desk;
  std::string first, here, there;
};

TEST_F(Move, LetsItRunUntilItsNextNodeIsReadyAndStartsItThereWhenNothingOfItRuns) {
  desk.run(MoveAllocation{.id = first});
  ASSERT_TRUE(next());
  const auto second = next()->id;
  EXPECT_EQ(next()->node_id, there);
  EXPECT_EQ(next()->arrival->from, first);
  EXPECT_EQ(next()->arrival->origin, first);
  EXPECT_FALSE(gate(second).start);
  EXPECT_FALSE(gate(first).stop) << "it runs on while its next node looks";
  EXPECT_TRUE(gate(first).start);
  EXPECT_FALSE(gate(first).pause);

  arrives(second, ArrivalPhase::ready);
  EXPECT_TRUE(row(first)->sleep->wanted);
  EXPECT_FALSE(gate(first).stop);
  EXPECT_TRUE(gate(first).pause && gate(first).suspend);
  EXPECT_FALSE(gate(second).start);
  slept(first);
  EXPECT_TRUE(gate(first).stop) << "what sleeps may be taken away";
  EXPECT_FALSE(gate(second).start) << "its directory is not there yet";
  ended(first);
  arrives(second, ArrivalPhase::arrived);
  EXPECT_TRUE(gate(second).start);
  EXPECT_TRUE(row(first)->sleep->left) << "nothing of it is kept there";
  runs(second);
  EXPECT_EQ(desk.live("vm").size(), 1u);

  desk.run(MoveAllocation{.id = second, .to_node = here});
  const auto third = next()->id == second ? desk.live("vm")[0]->id : next()->id;
  EXPECT_EQ(row(third)->arrival->from, second);
  EXPECT_EQ(row(third)->arrival->origin, first) << "of whose id its name is made";
}

TEST_F(Move, IsTakenBackWhenItsNextNodeCannotTakeIt) {
  desk.run(MoveAllocation{.id = first});
  const auto second = next()->id;
  arrives(second, ArrivalPhase::refused, "it has no such image");
  EXPECT_EQ(row(first)->desired_status, model::DesiredStatus::run);
  EXPECT_FALSE(row(first)->transition.migrate);
  EXPECT_EQ(row(first)->next_allocation, "");
  EXPECT_EQ(row(first)->sleep->trouble, "it has no such image");
  EXPECT_TRUE(gate(first).start && !gate(first).pause);
  EXPECT_TRUE(row(second)->server_terminal());
  EXPECT_EQ(desk.live("vm").size(), 1u);
  desk.run(MoveAllocation{.id = first});
  EXPECT_EQ(row(first)->sleep->trouble, "");
  EXPECT_TRUE(next()) << "it is tried again when it is asked for again";
}

TEST_F(Move, IsTakenBackWhenItCannotBePutToSleep) {
  desk.run(MoveAllocation{.id = first});
  const auto second = next()->id;
  arrives(second, ArrivalPhase::ready);
  slept(first, false, "the disk is full");
  EXPECT_EQ(row(first)->desired_status, model::DesiredStatus::run);
  EXPECT_EQ(row(first)->sleep->trouble, "the disk is full");
  EXPECT_TRUE(gate(first).start && !gate(first).pause);
  EXPECT_TRUE(row(second)->server_terminal());
  EXPECT_EQ(row(second)->arrival->phase, ArrivalPhase::refused);
  EXPECT_EQ(desk.live("vm").size(), 1u);
}

TEST_F(Move, GoesOnAtAnotherNodeWhenThatWhichItWentToIsLost) {
  desk.run(MoveAllocation{.id = first});
  const auto second = next()->id;
  arrives(second, ArrivalPhase::ready);
  slept(first);
  ended(first);
  desk.run(MarkNodesDown{.node_ids = {there}, .reason = "silent"});
  ASSERT_TRUE(next()) << "its old one has room";
  EXPECT_EQ(next()->node_id, here);
  EXPECT_EQ(next()->arrival->from, first);
  EXPECT_EQ(next()->arrival->phase, ArrivalPhase::expected);
}

TEST_F(Move, SleepsOnWhereItGoesUnlessItIsToWake) {
  desk.run(SleepAllocation{first});
  slept(first);
  desk.run(MoveAllocation{.id = first});
  ASSERT_TRUE(next());
  const auto second = next()->id;
  EXPECT_TRUE(row(second)->sleeps());
  arrives(second, ArrivalPhase::ready);
  EXPECT_TRUE(gate(first).stop) << "it sleeps already";
  EXPECT_TRUE(gate(second).suspend);
  ended(first);
  arrives(second, ArrivalPhase::arrived);
  EXPECT_FALSE(gate(second).start);
  desk.run(WakeAllocation{second});
  EXPECT_TRUE(gate(second).start);
}

TEST_F(Move, IsWokenByItWhenThatIsAskedFor) {
  desk.run(SleepAllocation{first});
  slept(first);
  desk.run(MoveAllocation{.id = first, .to_node = there, .wake = true});
  ASSERT_TRUE(next());
  EXPECT_FALSE(next()->sleep);
}

TEST_F(Move, WaitsForRoomAndCanBeTakenBackAsLong) {
  auto other = machine("other");
  desk.register_job(other);
  desk.run(MoveAllocation{.id = first});
  EXPECT_FALSE(next());
  EXPECT_TRUE(gate(first).start);
  EXPECT_TRUE(row(first)->transition.with_machines);
  desk.run(MoveAllocation{.id = first, .cancel = true});
  EXPECT_FALSE(row(first)->transition.migrate);
  desk.run(DeregisterJob{.ns = "default", .id = "other"});
  EXPECT_FALSE(next());
  desk.run(MoveAllocation{.id = first});
  EXPECT_TRUE(next());
  EXPECT_THAT(refusal(MoveAllocation{.id = first, .cancel = true}).text(), HasSubstr("it is on its way already"));
}

TEST_F(Move, IsRefusedWithTheCause) {
  EXPECT_EQ(refusal(MoveAllocation{.id = uuid(9)}).code(), Code::not_found);
  EXPECT_EQ(refusal(MoveAllocation{.id = first, .to_node = uuid(9)}).code(), Code::not_found);
  EXPECT_THAT(refusal(MoveAllocation{.id = first, .to_node = here}).text(), HasSubstr("it is there"));
  desk.register_job(make_job("web"));
  const auto web = desk.only("web");
  desk.update(web->node_id, {report(web->id, ClientStatus::running, true)});
  const auto no_machine = refusal(MoveAllocation{.id = web->id});
  EXPECT_EQ(no_machine.code(), Code::unsupported);
  EXPECT_THAT(no_machine.text(), HasSubstr("only virtual machines can"));
}

TEST_F(Move, IsWhatADrainDoesAndWhatCannotMoveStaysUntilItIsAskedAgain) {
  drain();
  ASSERT_TRUE(next());
  arrives(next()->id, ArrivalPhase::refused, "it has no such image");
  desk.run(AdvanceDrains{});
  EXPECT_FALSE(next()) << "not again and again";
  EXPECT_EQ(row(first)->desired_status, model::DesiredStatus::run);
  desk.clock.advance(std::chrono::seconds(1));
  drain();
  ASSERT_TRUE(next());
  EXPECT_EQ(next()->arrival->phase, ArrivalPhase::expected);
}

TEST_F(Move, EndsWithTheDeadlineOfADrain) {
  drain(std::chrono::minutes(1));
  const auto second = next()->id;
  arrives(second, ArrivalPhase::ready);
  desk.clock.advance(std::chrono::minutes(2));
  desk.run(AdvanceDrains{});
  EXPECT_EQ(row(second)->arrival->phase, ArrivalPhase::lost);
  EXPECT_THAT(row(second)->arrival->trouble, HasSubstr("deadline"));
  EXPECT_TRUE(gate(first).stop) << "it is stopped as it is";
  EXPECT_TRUE(gate(second).start) << "and begins anew";
}

TEST_F(Move, IsOverForOneThatIsStoppedWhileItWaitsForRoom) {
  desk.register_job(machine("other"));
  desk.run(MoveAllocation{.id = first});
  ASSERT_FALSE(next());
  desk.run(StopAllocation{first});
  EXPECT_FALSE(is_leaving(*row(first)));
  EXPECT_TRUE(gate(first).stop);
}

TEST_F(Move, IsOverForOneThatIsReplacedByAnotherVersionWhileItWaitsForRoom) {
  desk.register_job(machine("other"));
  desk.run(MoveAllocation{.id = first});
  ASSERT_FALSE(next());
  auto changed = machine("vm");
  changed.groups[0].tasks[0].config = boost::json::object{{"image", "/srv/newer"}};
  desk.register_job(changed);
  ASSERT_TRUE(row(first)->server_terminal());
  EXPECT_TRUE(gate(first).stop);
  ASSERT_TRUE(next());
  EXPECT_FALSE(next()->arrival) << "it begins with its own image";
}

TEST_F(Move, GoesWhileItRunsAndIsTheOthersFromTheMomentThatIsEntered) {
  desk.run(MoveAllocation{.id = first});
  const auto second = next()->id;
  arrives(second, ArrivalPhase::coming);
  EXPECT_TRUE(gate(first).start && !gate(first).pause && !gate(first).stop) << "it runs on";
  EXPECT_FALSE(row(first)->sleep && row(first)->sleep->wanted);
  EXPECT_FALSE(gate(second).start);
  EXPECT_EQ(fate(first, second), protocol::MoveFate::open);
  arrives(second, ArrivalPhase::arrived);
  EXPECT_TRUE(row(second)->arrival->live);
  EXPECT_TRUE(gate(second).start) << "although the other has not ended";
  EXPECT_TRUE(gate(first).stop);
  EXPECT_EQ(fate(first, second), protocol::MoveFate::left);
}

TEST_F(Move, SleepsOnTheWayWhenItCannotGoWhileItRuns) {
  desk.run(MoveAllocation{.id = first});
  const auto second = next()->id;
  arrives(second, ArrivalPhase::coming);
  arrives(second, ArrivalPhase::ready, "its memory did not arrive");
  EXPECT_EQ(fate(first, second), protocol::MoveFate::stays) << "nobody else has it";
  EXPECT_TRUE(row(first)->sleep->wanted);
  EXPECT_FALSE(row(second)->arrival->live);
  slept(first);
  ended(first);
  arrives(second, ArrivalPhase::arrived);
  EXPECT_TRUE(gate(second).start);
}

TEST_F(Move, StaysWhenItsNextNodeIsNotHeardOfBeforeThat) {
  desk.run(MoveAllocation{.id = first});
  const auto second = next()->id;
  arrives(second, ArrivalPhase::coming);
  desk.run(MarkNodesDown{.node_ids = {there}, .reason = "silent"});
  EXPECT_EQ(fate(first, second), protocol::MoveFate::stays);
  // What that node says afterwards of what it had comes too late.
  arrives(second, ArrivalPhase::arrived);
  EXPECT_FALSE(row(second)->desired_status == model::DesiredStatus::run);
  EXPECT_NE(row(second)->arrival->phase, ArrivalPhase::arrived);
  EXPECT_FALSE(row(first)->sleep && row(first)->sleep->left);
  EXPECT_EQ(fate(first, second), protocol::MoveFate::stays);
}

TEST_F(Move, WhatWasSentToOneThatIsNotTheNextAnyMoreStays) {
  desk.run(MoveAllocation{.id = first});
  arrives(next()->id, ArrivalPhase::coming);
  EXPECT_EQ(fate(first, uuid(7)), protocol::MoveFate::stays);
}

TEST_F(Move, EndsWithItsJob) {
  desk.run(MoveAllocation{.id = first});
  arrives(next()->id, ArrivalPhase::ready);
  slept(first);
  desk.run(DeregisterJob{.ns = "default", .id = "vm"});
  EXPECT_TRUE(desk.live("vm").empty());
  EXPECT_TRUE(gate(first).stop);
}

TEST_F(Move, IsRefusedWhereAConstraintOfItsJobIsAgainstTheNode) {
  auto job = machine("vm");
  job.constraints = {{"${node.unique.id}", "!=", there}};
  desk.register_job(job);
  runs(first);
  auto refused = refusal(MoveAllocation{.id = first, .to_node = there});
  EXPECT_EQ(refused.code(), Code::conflict);
  EXPECT_THAT(refused.one_line(), HasSubstr("the constraint ${node.unique.id} != " + there + " does not hold there"));

  job.constraints = {{"", "distinct_hosts", "true"}};
  job.groups.push_back(job.groups[0]);
  job.groups[1].name = "second";
  desk.register_job(job);
  ASSERT_EQ(desk.live("vm").size(), 2u);
  refused = refusal(MoveAllocation{.id = first, .to_node = there});
  EXPECT_THAT(refused.one_line(), HasSubstr("another allocation of the job is there already (distinct_hosts)"));
}

}  // namespace
}  // namespace underway::server
