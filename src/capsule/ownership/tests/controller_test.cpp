#include "controller_desk.hpp"

namespace underway::ownership::testing {
namespace {

TEST_F(ControllerTest, TellsRequestsTheLimitsThatItWasGiven) {
  EXPECT_EQ(controller->limits().lease, 100ms);
  EXPECT_NE(Limits{}.lease, controller->limits().lease);
}

TEST_F(ControllerTest, MovesACapsuleOverTheLinks) {
  const int to = other();
  begin_move(to);
  until([&] { return find()->last_move && at_rest(); });
  EXPECT_EQ(find()->last_move->error, "");
  EXPECT_EQ(owner(), to);
  EXPECT_EQ(rounds, 3) << "one while it ran, one with its writers held up, one after its end";
  EXPECT_EQ(find()->last_move->rounds.back().bytes, 200'000);
  EXPECT_EQ(installed, 1);
  EXPECT_EQ(steps, (std::vector<std::string>{"before_stop", "check"}));
  EXPECT_EQ(find()->last_snapshot, fmt::format("20261122-031500 on c{} (before move)", to == 1 ? 2 : 1));
  EXPECT_EQ(find()->last_move->note, "");
  EXPECT_GT(find()->last_move->gap, 0s);
  EXPECT_LT(find()->last_move->gap, 10s);
}

TEST_F(ControllerTest, WhatCannotBeSavedBeforeIsToldAndMovesAllTheSame) {
  no_snapshot = true;
  const int to = other();
  begin_move(to);
  until([&] { return find()->last_move && at_rest(); });
  EXPECT_EQ(owner(), to);
  EXPECT_EQ(find()->last_snapshot, "");
  EXPECT_EQ(find()->last_move->note, "there is no snapshot of before it: the disk is full");
}

TEST_F(ControllerTest, WhatTheTargetLacksEndsTheMoveAtOnce) {
  obstacle = "c2 cannot run capsule 'svc'";
  const int from = owner();
  begin_move(other());
  until([&] { return find()->last_move && at_rest(); });
  EXPECT_NE(find()->last_move->error.find(obstacle), std::string::npos);
  EXPECT_EQ(owner(), from);
  EXPECT_EQ(rounds, 0);
  try {
    loop.run_until_done(controller->check_move({"default", "svc", uuid(other()), false}));
    FAIL() << "the rehearsal finds the same";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
  }
}

TEST_F(ControllerTest, AMoveGoesOnAfterTheServerWasRestarted) {
  hold_first_round = true;
  const int to = other();
  begin_move(to);
  until([&] { return rounds == 1; });
  std::map<int, std::vector<model::AllocationUpdate>> running;
  for (auto& [number, node] : nodes) {
    for (const auto& [id, order] : node->orders)
      running[number].push_back(server::testing::report(id, model::ClientStatus::running, true));
    loop.run_until_done(node->stop());
  }
  nodes.clear();
  stop();
  start();
  for (const int number : {1, 2}) join(number, running[number]);
  until([&] { return find()->last_move && at_rest(); });
  EXPECT_EQ(find()->last_move->error, "");
  EXPECT_EQ(owner(), to);
}

TEST_F(ControllerTest, ADeadOwnerIsFencedAndItsStandbyTakesOver) {
  const int from = owner(), to = other();
  loop.run_until_done(server->apply(SetStandby{"default", "svc", uuid(to), 1h, Duration{0}, controller->limits()}));
  until([&] { return find()->find_replica(uuid(to)) != nullptr; });
  fence.fails = 1;
  loop.run_until_done(nodes.at(from)->stop());
  until([&] { return find()->last_move && at_rest(); });
  EXPECT_EQ(owner(), to);
  EXPECT_EQ(find()->last_move->kind, model::MoveKind::failover);
  EXPECT_EQ(find()->last_move->error, "");
  EXPECT_EQ(fence.asked.size(), 2u) << "the first time it failed";
  EXPECT_EQ(fence.asked.back(), uuid(from));
}

TEST_F(ControllerTest, WithoutAnybodyToAskItWaits) {
  const int from = owner(), to = other();
  loop.run_until_done(server->apply(SetStandby{"default", "svc", uuid(to), 1h, Duration{0}, controller->limits()}));
  until([&] { return find()->find_replica(uuid(to)) != nullptr; });
  fence.knows = false;
  loop.run_until_done(nodes.at(from)->stop());
  until([&] { return find()->state == CapsuleState::waiting_for_fence; });
  EXPECT_EQ(owner(), from);
  loop.run_until_done(server->apply(Vouch{"default", "svc", controller->limits()}));
  until([&] { return at_rest(); });
  EXPECT_EQ(owner(), to);
}

TEST_F(ControllerTest, ARehearsalThatFailsIsCountedWhateverItFailsWith) {
  rehearsal_fails = errno_error(EBUSY, "cannot remove what is left of the clone");
  ASSERT_EQ(rehearsal_fails->code(), Code::conflict);
  begin_upgrade();
  until([&] { return upgrade_is_over(); });
  EXPECT_NE(find()->last_upgrade->error.find("left of the clone: Device or resource busy"), std::string::npos)
      << find()->last_upgrade->error;
  EXPECT_EQ(rehearsals, 3);
}

TEST_F(ControllerTest, WhileSomebodyElseRehearsesItItWaitsButNotForEver) {
  rehearsal_fails = Error(Code::conflict, "the capsule is being rehearsed already").because("by pid 7");
  ASSERT_TRUE(rehearsal::is_under_way(*rehearsal_fails));
  begin_upgrade();
  until([&] { return rehearsals > 4; });
  EXPECT_TRUE(find()->upgrade) << "that is no attempt";
  EXPECT_NE(find()->description.find("rehearsed already: by pid 7"), std::string::npos) << find()->description;
  until([&] { return upgrade_is_over(); });
  EXPECT_EQ(find()->last_upgrade->error,
            "it could not be rehearsed within 300ms: the capsule is being rehearsed already: by pid 7");
}

TEST_F(ControllerTest, OfAnUpgradeThatIsCancelledTheRehearsalIsBrokenOff) {
  rehearses_for_ever = true;
  begin_upgrade();
  until([&] { return rehearsals == 1; });
  cancel();
  until([&] { return broken_off == 1; });
  EXPECT_EQ(find()->last_upgrade->error, "it was cancelled");
  rehearses_for_ever = false;
  begin_upgrade();
  until([&] { return upgrade_is_over() && at_rest(); });
  EXPECT_EQ(find()->last_upgrade->error, "");
}

}  // namespace
}  // namespace underway::ownership::testing
