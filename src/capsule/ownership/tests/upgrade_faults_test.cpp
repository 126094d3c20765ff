// Upgrades while hosts die, are drained, or somebody thinks better of it.
#include "server/node/drain_decisions.hpp"
#include "upgrade_desk.hpp"

namespace underway::ownership::testing {
namespace {

class UpgradeInTrouble : public UpgradeDesk {};

TEST_F(UpgradeInTrouble, AHostThatFallsSilentBeforeTheStopEndsIt) {
  run();
  begin();
  done(looked());
  silence(owner());
  EXPECT_EQ(phase(), UpgradePhase::rehearse) << "its lease stands";
  EXPECT_EQ(todo().action, Action::none);
  wait(limits.lease);
  EXPECT_FALSE(capsule().upgrade);
  EXPECT_NE(capsule().last_upgrade->error.find("not heard of"), std::string::npos);
  EXPECT_EQ(asked(), "svc.capsule");
}

TEST_F(UpgradeInTrouble, AHostThatDiesInItIsReplacedByACopyFromBeforeWithTheOldImage) {
  run();
  const int from = owner(), to = another_than(from);
  desk.run([&](const auto& t, const auto& c) {
    return decide(t,
                  NoteCopy{"default/svc",
                           uuid(to),
                           capsule().epoch,
                           {.begun_at = unix_nanos(desk.clock.now()), .consistent = true},
                           limits},
                  c);
  });
  const std::string old = capsule().allocation;
  begin();
  done(looked());
  done(rehearsed());
  done(looked());
  ends(old);
  done(saved());
  run_at_home();
  silence(from);
  wait(limits.lease);
  ASSERT_TRUE(capsule().move);
  EXPECT_EQ(capsule().move->kind, MoveKind::failover);
  EXPECT_EQ(phase(), UpgradePhase::roll_back);
  EXPECT_EQ(asked(), "svc.capsule");
  desk.run([&](const auto& t, const auto& c) {
    return decide(t, NoteFenced{uuid(from), *silence_of(t, uuid(from)), "its host was taken away", limits}, c);
  });
  reconcile();
  CapsuleDesk::done();  // transferred
  reconcile();
  EXPECT_EQ(owner(), to);
  EXPECT_FALSE(capsule().upgrade);
  EXPECT_TRUE(capsule().last_upgrade->rolled_back);
  EXPECT_EQ(capsule().find_replica(uuid(from)), nullptr) << "what it has left there nobody may start from";
  run_at_home();
  CapsuleDesk::done();  // checked
  EXPECT_EQ(capsule().state, CapsuleState::held);
}

TEST_F(UpgradeInTrouble, CopiesAreMadeAsEverUntilItStops) {
  run();
  const auto copied = [&] { return copies_go_on(desk.tables, capsule(), capsule().standby, capsule().epoch, limits); };
  ASSERT_TRUE(copied());
  const std::string old = capsule().allocation;
  begin();
  for (const auto expected : {UpgradePhase::stage, UpgradePhase::rehearse, UpgradePhase::before_stop}) {
    EXPECT_EQ(phase(), expected);
    EXPECT_TRUE(copied()) << describe::spell(expected);
    done(expected == UpgradePhase::rehearse ? rehearsed() : looked());
  }
  EXPECT_EQ(phase(), UpgradePhase::stop);
  EXPECT_FALSE(copied());
  ends(old);
  done(saved());
  run_at_home();
  EXPECT_EQ(phase(), UpgradePhase::check);
  EXPECT_FALSE(copied()) << "what the new image has written counts when its check has passed";
  done();
  EXPECT_TRUE(copied());
}

TEST_F(UpgradeInTrouble, OfFailuresTheFirstIsToldAndTheLast) {
  run();
  begin();
  done(looked());
  failed("the disk is slow");
  EXPECT_EQ(capsule().description, "tried 1 times: the disk is slow");
  failed("the clone of before is there");
  EXPECT_EQ(capsule().description, "tried 2 times: the disk is slow; then: the clone of before is there");
  failed("and is there still");
  EXPECT_EQ(capsule().last_upgrade->error, "the disk is slow; then: and is there still");
}

TEST_F(UpgradeInTrouble, AHostThatDiesInItAndComesBackGoesBack) {
  up_to_the_start();
  run_at_home();
  const int from = owner();
  silence(from);
  wait(limits.lease);
  EXPECT_EQ(phase(), UpgradePhase::roll_back);
  EXPECT_FALSE(capsule().move) << "no other node has a copy";
  EXPECT_EQ(capsule().state, CapsuleState::failed);
  model::Node node = *desk.tables.find_node(uuid(from));
  desk.join(node);
  reconcile();
  goes_back();
}

TEST_F(UpgradeInTrouble, IsCancelledForNothingBeforeTheStopAndTakenBackAfterIt) {
  run();
  begin();
  desk.run([this](const auto& t, const auto& c) { return decide(t, Cancel{"default", "svc", limits}, c); });
  EXPECT_FALSE(capsule().upgrade);
  EXPECT_FALSE(capsule().last_upgrade->rolled_back);
  const std::string old = capsule().allocation;
  begin();
  done(looked());
  done(rehearsed());
  done(looked());
  ends(old);
  done(saved());
  run_at_home();
  desk.run([this](const auto& t, const auto& c) { return decide(t, Cancel{"default", "svc", limits}, c); });
  EXPECT_EQ(refusal([&] {
              desk.run([this](const auto& t, const auto& c) { return decide(t, Cancel{"default", "svc", limits}, c); });
            }).code(),
            Code::conflict);
  goes_back();
  EXPECT_EQ(capsule().last_upgrade->error, "it was cancelled");
}

TEST_F(UpgradeInTrouble, ADrainedHostIsNotUpgradedAndMovesWaitForTheEnd) {
  run();
  begin();
  done(looked());
  server::DrainNode drain;
  drain.node_id = capsule().owner;
  drain.drain.emplace();
  desk.run(drain);
  done(rehearsed());
  done(looked());
  EXPECT_FALSE(capsule().upgrade);
  EXPECT_NE(capsule().last_upgrade->error.find("drained"), std::string::npos);
  EXPECT_EQ(asked(), "svc.capsule");
}

TEST_F(UpgradeInTrouble, WhatDoesNotRunIsUpgradedWithoutItsStep) {
  run();
  begin();
  done(looked());
  desk.update(capsule().owner, {report(capsule().allocation, ClientStatus::failed)});
  reconcile();
  done(rehearsed());
  EXPECT_EQ(phase(), UpgradePhase::snapshot);
}

}  // namespace
}  // namespace underway::ownership::testing
