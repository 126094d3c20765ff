#include "ownership/move_decisions.hpp"

#include "desk.hpp"
#include "server/storage/collect_decisions.hpp"

namespace underway::ownership::testing {
namespace {

using model::CapsuleState;
using model::MovePhase;
using namespace std::chrono_literals;

class Move : public CapsuleDesk {
 protected:
  /// Until the source was told to stop.
  void up_to_the_stop(int to) {
    begin_move(to);
    done();  // staged
    done();  // one round, of nothing
    done({.begun_at = unix_nanos(desk.clock.now()), .consistent = true});
    done();  // before_stop
    reconcile();
    ASSERT_EQ(capsule().move->phase, MovePhase::stop);
  }
  void source_stops(int from, const std::string& allocation) {
    desk.update(uuid(from), {report(allocation, ClientStatus::complete)});
    reconcile();
  }
};

TEST_F(Move, GoesThroughItsPhasesAndMeasuresTheGap) {
  const int from = run();
  const int to = another_than(from);
  const auto first = desk.only("svc");
  begin_move(to);
  EXPECT_EQ(todo().action, Action::stage);
  EXPECT_EQ(home_of(capsule()), uuid(from));
  done();
  EXPECT_EQ(todo().action, Action::copy);
  done({.begun_at = 1, .round = {.bytes = 100 << 20}});
  EXPECT_EQ(todo().action, Action::copy) << "100 MiB are too much to be sent while it stands";
  done({.begun_at = 2, .round = {.bytes = 1000}});
  EXPECT_EQ(todo().action, Action::copy) << "one more, that it could be started from";
  EXPECT_TRUE(todo().consistent);
  done({.begun_at = 3, .round = {.bytes = 10}, .consistent = true});
  EXPECT_EQ(todo().action, Action::before_stop);
  EXPECT_EQ(desk.only("svc")->id, first->id) << "nothing has happened to it";
  done();
  reconcile();
  const auto second = desk.only("svc");
  EXPECT_EQ(second->node_id, uuid(to));
  EXPECT_FALSE(may_start(*second)) << "the first has not ended";
  EXPECT_TRUE(desk.tables.find_allocation(first->id)->server_terminal());
  desk.clock.advance(2s);
  source_stops(from, first->id);
  EXPECT_EQ(todo().action, Action::transfer);
  EXPECT_FALSE(may_start(*desk.only("svc"))) << "the last difference is missing";
  done({.consistent = true});
  EXPECT_EQ(capsule().owner, uuid(to));
  EXPECT_EQ(capsule().epoch, 2);
  EXPECT_TRUE(may_start(*desk.only("svc")));
  run_at_home();
  EXPECT_EQ(todo().action, Action::check);
  desk.clock.advance(1s);
  done();
  const auto end = capsule();
  EXPECT_FALSE(end.move);
  EXPECT_EQ(end.state, CapsuleState::held);
  EXPECT_EQ(end.last_move->gap, 3s);
  EXPECT_EQ(end.last_move->error, "");
  EXPECT_EQ(end.last_move->rounds.size(), 4u);
  EXPECT_EQ(end.standby, uuid(from));
}

TEST_F(Move, WhatFailsBeforeTheStopCostsNothing) {
  const int from = run();
  const auto first = desk.only("svc");
  begin_move(another_than(from));
  done({.error = "c2 has no bridge 'br-cluster'", .final = true});
  EXPECT_FALSE(capsule().move);
  EXPECT_EQ(capsule().last_move->error, "c2 has no bridge 'br-cluster'");
  EXPECT_EQ(capsule().epoch, 1);
  EXPECT_EQ(desk.only("svc")->id, first->id);
  EXPECT_FALSE(desk.only("svc")->transition.migrate);
  begin_move(another_than(from));
  for (int i = 0; i < 3; ++i) done({.error = "the link broke"});
  EXPECT_EQ(capsule().last_move->error, "the link broke") << "it was tried three times";
}

TEST_F(Move, ATargetThatDoesNotStartGivesItBack) {
  const int from = run();
  const int to = another_than(from);
  const auto first = desk.only("svc")->id;
  up_to_the_stop(to);
  source_stops(from, first);
  done({.consistent = true});
  const auto second = desk.only("svc")->id;
  desk.update(uuid(to), {report(second, ClientStatus::failed)});
  reconcile();
  const auto back = capsule();
  EXPECT_EQ(back.move->phase, MovePhase::restore);
  EXPECT_EQ(back.owner, uuid(from));
  EXPECT_EQ(back.epoch, 4) << "there, back, and the word for a new allocation";
  EXPECT_EQ(desk.only("svc")->node_id, uuid(from));
  EXPECT_TRUE(may_start(*desk.only("svc")));
  run_at_home();
  EXPECT_FALSE(capsule().move);
  EXPECT_TRUE(capsule().last_move->rolled_back);
  EXPECT_NE(capsule().last_move->error.find("did not start"), std::string::npos);
}

TEST_F(Move, ACheckThatNeverPassesStopsTheTargetBeforeTheSourceStarts) {
  const int from = run();
  const int to = another_than(from);
  const auto first = desk.only("svc")->id;
  up_to_the_stop(to);
  source_stops(from, first);
  done({.consistent = true});
  run_at_home();
  const auto second = capsule().allocation;
  done({.error = "port 6817 is closed"});
  wait(limits.check);
  EXPECT_EQ(capsule().move->phase, MovePhase::roll_back);
  EXPECT_NE(capsule().move->error.find("port 6817 is closed"), std::string::npos);
  EXPECT_EQ(desk.only("svc")->node_id, uuid(from));
  EXPECT_FALSE(may_start(*desk.only("svc"))) << "the target's has not ended";
  desk.update(uuid(to), {report(second, ClientStatus::complete)});
  reconcile();
  EXPECT_TRUE(may_start(*desk.only("svc")));
}

TEST_F(Move, ASourceThatFallsSilentInTheStopIsFenced) {
  const int from = run();
  const int to = another_than(from);
  up_to_the_stop(to);
  silence(from);
  EXPECT_EQ(todo().action, Action::none) << "its lease stands";
  wait(limits.lease);
  EXPECT_EQ(todo().action, Action::fence);
  EXPECT_EQ(todo().node, uuid(from));
  desk.run([&](const auto& t, const auto& c) {
    return decide(t, NoteFenced{uuid(from), *silence_of(t, uuid(from)), "its host was taken away", limits}, c);
  });
  reconcile();
  EXPECT_TRUE(todo().alone);
  done();
  EXPECT_EQ(capsule().owner, uuid(to));
  EXPECT_TRUE(may_start(*desk.only("svc")));
  EXPECT_NE(capsule().move->note.find("lost"), std::string::npos);
}

TEST_F(Move, IsRefusedWithTheReason) {
  EXPECT_EQ(refusal([&] { begin_move(1); }).code(), Code::not_found);
  const int from = run();
  EXPECT_NE(refusal([&] { begin_move(from); }).one_line().find("already"), std::string::npos);
  EXPECT_EQ(refusal([&] { begin_move(another_than(from), true); }).code(), Code::conflict);
  EXPECT_EQ(refusal([&] { begin_move(9); }).code(), Code::not_found);
  silence(another_than(from));
  EXPECT_NE(refusal([&] { begin_move(another_than(from)); }).one_line().find("not heard of"), std::string::npos);
  begin_move(3);
  EXPECT_NE(refusal([&] { begin_move(3); }).one_line().find("moves to"), std::string::npos);
}

TEST_F(Move, CanBeCancelledUntilItGoesBack) {
  const int from = run();
  begin_move(another_than(from));
  const auto cancel = [&] {
    desk.run([this](const auto& t, const auto& c) { return decide(t, Cancel{"default", "svc", limits}, c); });
  };
  cancel();
  EXPECT_FALSE(capsule().move);
  EXPECT_EQ(refusal(cancel).code(), Code::conflict);
}

TEST_F(Move, AStoppedJobEndsIt) {
  const int from = run();
  begin_move(another_than(from));
  desk.run(server::DeregisterJob{"default", "svc", false});
  reconcile();
  EXPECT_FALSE(capsule().move);
  EXPECT_EQ(capsule().state, CapsuleState::held) << "its allocation has not ended";
  desk.update(uuid(from), {report(capsule().allocation, ClientStatus::complete)});
  reconcile();
  EXPECT_EQ(capsule().state, CapsuleState::free);
  EXPECT_EQ(capsule().owner, uuid(from)) << "its overlay is there";
  // A day later its row is collected, and the job is run again.
  desk.clock.advance(24h);
  desk.run(server::Collect{server::Retention::none()});
  desk.register_job(capsule_job());
  reconcile();
  EXPECT_EQ(desk.only("svc")->node_id, uuid(from));
  EXPECT_TRUE(may_start(*desk.only("svc")));
}

class Failover : public CapsuleDesk {
 protected:
  void replicate(int to) {
    desk.run([&](const auto& t, const auto& c) {
      return decide(
          t, NoteCopy{"default/svc", uuid(to), capsule().epoch, {.begun_at = unix_nanos(desk.clock.now())}, limits}, c);
    });
  }
  void fenced(int node) {
    desk.run([&](const auto& t, const auto& c) {
      return decide(t, NoteFenced{uuid(node), *silence_of(t, uuid(node)), "its host was taken away", limits}, c);
    });
    reconcile();
  }
};

TEST_F(Failover, TheStandbyTakesOverAfterTheFenceAndNotBefore) {
  const int from = run();
  const int to = another_than(from);
  replicate(to);
  silence(from);
  EXPECT_FALSE(capsule().move) << "its lease stands";
  wait(limits.lease);
  EXPECT_EQ(todo().action, Action::fence);
  EXPECT_EQ(capsule().owner, uuid(from));
  fenced(from);
  EXPECT_EQ(capsule().owner, uuid(from)) << "the copy is not its overlay yet";
  done();
  reconcile();
  EXPECT_EQ(capsule().owner, uuid(to));
  EXPECT_EQ(desk.only("svc")->node_id, uuid(to));
  EXPECT_TRUE(may_start(*desk.only("svc")));
  run_at_home();
  done();
  EXPECT_EQ(capsule().state, CapsuleState::held);
  EXPECT_EQ(capsule().last_move->kind, model::MoveKind::failover);
}

TEST_F(Failover, ANodeThatLacksWhatItIsSaidToHaveIsNotAskedAgain) {
  const int from = run();
  const int to = another_than(from);
  replicate(to);
  silence(from);
  wait(limits.lease);
  fenced(from);
  ASSERT_EQ(todo().action, Action::transfer);
  done({.error = "what it wrote there is there no more", .lacks_copy = true});
  reconcile();
  EXPECT_FALSE(capsule().move);
  EXPECT_EQ(capsule().find_replica(uuid(to)), nullptr);
  EXPECT_EQ(capsule().owner, uuid(from));
  EXPECT_EQ(capsule().state, CapsuleState::failed);
  EXPECT_NE(capsule().description.find("-without-overlay"), std::string::npos) << capsule().description;
}

TEST_F(Failover, AnOwnerThatIsHeardOfAgainKeepsIt) {
  const int from = run();
  replicate(another_than(from));
  silence(from);
  wait(limits.lease);
  ASSERT_TRUE(capsule().move);
  const auto silence = silence_of(desk.tables, uuid(from));
  model::Node node = *desk.tables.find_node(uuid(from));
  desk.run(server::RegisterNode{node, "secret", {report(capsule().allocation, ClientStatus::running, true)}});
  // The fence's answer comes late.
  desk.run(
      [&](const auto& t, const auto& c) { return decide(t, NoteFenced{uuid(from), *silence, "late", limits}, c); });
  reconcile();
  EXPECT_FALSE(capsule().move);
  EXPECT_EQ(capsule().owner, uuid(from));
  EXPECT_FALSE(capsule().fenced);
  EXPECT_EQ(desk.only("svc")->client_status, ClientStatus::running);
}

TEST_F(Failover, WithoutACopyNothingIsStartedUntilSomebodySaysSo) {
  const int from = run();
  silence(from);
  wait(1h);
  EXPECT_FALSE(capsule().move);
  EXPECT_EQ(capsule().state, CapsuleState::failed);
  EXPECT_NE(capsule().description.find("-without-overlay"), std::string::npos);
  EXPECT_EQ(refusal([&] { begin_move(another_than(from)); }).code(), Code::conflict);
  begin_move(another_than(from), true);
  reconcile();
  EXPECT_EQ(todo().action, Action::fence);
  fenced(from);
  done();
  EXPECT_EQ(capsule().owner, uuid(another_than(from)));
}

TEST_F(Failover, ACopyThatIsTooOldIsNone) {
  const int from = run();
  replicate(another_than(from));
  wait(1h);
  silence(from);
  wait(limits.lease);
  EXPECT_FALSE(capsule().move);
  EXPECT_EQ(capsule().state, CapsuleState::failed);
}

TEST_F(Failover, WithoutAProviderItWaitsForAPersonsWord) {
  const int from = run();
  replicate(another_than(from));
  const auto vouch = [&] {
    desk.run([this](const auto& t, const auto& c) { return decide(t, Vouch{"default", "svc", limits}, c); });
    reconcile();
  };
  EXPECT_EQ(refusal(vouch).code(), Code::conflict) << "its agent is heard of";
  silence(from);
  wait(limits.lease);
  desk.run([this](const auto& t, const auto& c) {
    return decide(t, NoteNotFenced{"default/svc", true, "the host of c1 has no provider", limits}, c);
  });
  reconcile();
  EXPECT_EQ(capsule().state, CapsuleState::waiting_for_fence);
  EXPECT_NE(capsule().description.find("underway capsule fence svc -host-is-off"), std::string::npos);
  EXPECT_EQ(todo().action, Action::none);
  vouch();
  done();
  EXPECT_EQ(capsule().owner, uuid(another_than(from)));
}

TEST_F(Failover, WhatNeverRanMayBeginAnywhereAfterTheFence) {
  desk.register_job(capsule_job());
  reconcile();
  const int from = owner();
  silence(from);
  wait(limits.lease);
  EXPECT_EQ(todo().action, Action::fence);
  fenced(from);
  reconcile();
  EXPECT_NE(capsule().owner, uuid(from));
  EXPECT_FALSE(capsule().owner.empty());
}

TEST_F(Failover, TheDeadNodeIsTheStandbyAgainWhenItIsBackAndNotBefore) {
  const auto successor = [&] {
    const auto next = successor_of(desk.tables, capsule(), desk.clock.now());
    return std::pair(next.node, next.why);
  };
  const int from = run({{"standby", false}}), to = another_than(from);
  EXPECT_EQ(successor(), std::pair(std::string(), std::string("no node is chosen to keep copies")));
  desk.run([&](const auto& t, const auto& c) {
    return decide(t, SetStandby{"default", "svc", uuid(to), 30s, Duration{0}, limits}, c);
  });
  EXPECT_EQ(successor(), std::pair(std::string(), fmt::format("c{} has no copy yet", to)));
  replicate(to);
  EXPECT_EQ(successor(), std::pair(uuid(to), std::string()));
  silence(from);
  wait(limits.lease);
  fenced(from);
  done();
  reconcile();
  run_at_home();
  done();
  ASSERT_EQ(capsule().owner, uuid(to));
  EXPECT_EQ(capsule().standby, uuid(from));
  EXPECT_EQ(todo().action, Action::none) << "it cannot be copied to";
  EXPECT_EQ(successor(), std::pair(std::string(), fmt::format("c{} is not heard of", from)));
  replicate(3);
  EXPECT_EQ(successor(), std::pair(uuid(3), fmt::format("c{} is not heard of", from)));

  // Its host is made anew: a node of the same name.
  desk.commit({tables::DeleteNode{uuid(from)}});
  reconcile();
  EXPECT_EQ(capsule().standby, uuid(from)) << "nothing has taken its place";
  model::Node anew = server::testing::make_node(9);
  anew.name = fmt::format("c{}", from);
  desk.join(anew);
  reconcile();
  EXPECT_EQ(capsule().standby, uuid(9));
  EXPECT_EQ(todo().action, Action::replicate);
  EXPECT_EQ(successor(), std::pair(uuid(3), fmt::format("c{} has no copy yet", from)));
  wait(1s);
  replicate(9);
  EXPECT_EQ(successor(), std::pair(uuid(9), std::string()));
  wait(6min);
  EXPECT_EQ(successor().second, fmt::format("the copy on c{} is 6m0s old, and no more than 5m0s may be lost", from));
}

TEST_F(Failover, TheStandbyIsCopiedToWhenItIsTime) {
  const int from = run();
  const int to = another_than(from);
  desk.run([&](const auto& t, const auto& c) {
    return decide(t, SetStandby{"default", "svc", uuid(to), 30s, Duration{0}, limits}, c);
  });
  EXPECT_EQ(todo().action, Action::replicate);
  EXPECT_TRUE(time_matters(desk.tables));
  replicate(to);
  EXPECT_EQ(todo().action, Action::none);
  wait(30s);
  EXPECT_EQ(todo().action, Action::replicate);
}

TEST_F(Failover, AnotherNodeOfThePoolKeepsCopiesWithoutBeingAsked) {
  const int from = run();
  const std::string standby = capsule().standby;
  ASSERT_FALSE(standby.empty());
  EXPECT_NE(standby, uuid(from));
  EXPECT_EQ(todo().action, Action::replicate);
  EXPECT_EQ(todo().node, standby);
  EXPECT_EQ(capsule().replicate_every, 500ms);
  const int to = std::stoi(standby.substr(0, 8));
  replicate(to);

  // It dies: the third one keeps copies until it is back.
  silence(to);
  wait(limits.lease);
  EXPECT_NE(capsule().standby, standby);
  EXPECT_NE(capsule().standby, uuid(from));
  EXPECT_EQ(todo().node, capsule().standby);
}

TEST_F(Failover, ANodeOfAnotherPoolKeepsNoCopies) {
  const int from = run();
  for (int number = 1; number <= 3; ++number) {
    if (number != from) desk.commit({tables::DeleteNode{uuid(number)}});
  }
  model::Node other = server::testing::make_node(9);
  other.attributes["driver.capsule"] = "1";
  other.drivers["capsule"] = {true, true, "", {}};
  other.node_pool = "compute";
  desk.join(other);
  reconcile();
  EXPECT_EQ(capsule().standby, "");
  EXPECT_EQ(todo().action, Action::none);
  auto row = capsule();
  row.successor = successor_of(desk.tables, row, desk.clock.now());
  EXPECT_EQ(row.successor->why, "no other node of its pool can keep copies");
  EXPECT_EQ(exposed(row, desk.clock.now()), "") << "it has just begun";
  wait(2min);
  EXPECT_EQ(exposed(row, desk.clock.now()),
            fmt::format("all that it keeps would be lost with c{}: no other node of its pool can keep copies", from));
}

TEST_F(Failover, TheJobFileSaysThatThereIsNoStandbyAndSomebodySaysOtherwise) {
  const int from = run({{"standby", false}});
  EXPECT_EQ(capsule().standby, "");
  EXPECT_EQ(todo().action, Action::none);
  auto row = capsule();
  row.successor = successor_of(desk.tables, row, desk.clock.now());
  wait(2min);
  EXPECT_EQ(exposed(row, desk.clock.now()), "") << "it is as it was declared";
  const int to = another_than(from);
  desk.run([&](const auto& t, const auto& c) {
    return decide(t, SetStandby{"default", "svc", uuid(to), 30s, Duration{0}, limits}, c);
  });
  reconcile();
  EXPECT_EQ(todo().node, uuid(to));
  EXPECT_EQ(capsule().replicate_every, 30s);
}

TEST_F(Failover, ThatACopyIsOlderThanDeclaredIsTold) {
  run({{"loss", "2s"}});
  wait(2min);
  replicate(std::stoi(capsule().standby.substr(0, 8)));
  auto row = capsule();
  const auto told = [&] {
    row.successor = successor_of(desk.tables, row, desk.clock.now());
    return exposed(row, desk.clock.now());
  };
  EXPECT_EQ(told(), "");
  desk.clock.advance(3s);
  EXPECT_EQ(row.successor->loses, 0s);
  EXPECT_EQ(told(),
            fmt::format("what it wrote in the last 3s would be lost with {}; 2s were declared", row.owner_name));
}

TEST_F(Failover, WhatKeepsNothingStartsWithNothingAfterTheFenceAndNotBefore) {
  const int from = run({{"keeps_nothing", true}});
  EXPECT_EQ(todo().action, Action::none) << "there is nothing to be copied";
  silence(from);
  wait(limits.lease);
  EXPECT_EQ(todo().action, Action::fence);
  EXPECT_EQ(capsule().owner, uuid(from));
  fenced(from);
  reconcile();
  EXPECT_NE(capsule().owner, uuid(from));
  EXPECT_FALSE(capsule().owner.empty());
}

TEST_F(Failover, WhatKeepsNothingStartsOnTheHostThatItsPoolMadeAnew) {
  const int from = run({{"keeps_nothing", true}});
  for (int number = 1; number <= 3; ++number) {
    if (number != from) desk.commit({tables::DeleteNode{uuid(number)}});
  }
  silence(from);
  wait(limits.lease);
  fenced(from);
  reconcile();
  desk.commit({tables::DeleteNode{uuid(from)}});
  model::Node anew = server::testing::make_node(9);
  anew.attributes["driver.capsule"] = "1";
  anew.drivers["capsule"] = {true, true, "", {}};
  anew.name = fmt::format("c{}", from);
  desk.join(anew);
  reconcile();
  EXPECT_EQ(capsule().owner, uuid(9)) << "its place is the host of that name";
}

}  // namespace
}  // namespace underway::ownership::testing
