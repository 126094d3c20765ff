#include "upgrade_desk.hpp"

namespace underway::ownership::testing {
namespace {

class Upgrade : public UpgradeDesk {};

TEST_F(Upgrade, GoesThroughItsPhasesAndKeepsTheWayBack) {
  run();
  const auto first = desk.only("svc");
  begin();
  EXPECT_EQ(capsule().state, CapsuleState::upgrading);
  EXPECT_EQ(todo().action, Action::look);
  done(looked());
  EXPECT_EQ(todo().action, Action::rehearse);
  done(rehearsed());
  EXPECT_EQ(todo().action, Action::before_stop);
  EXPECT_EQ(asked(), "svc.capsule") << "nothing has happened to it";
  EXPECT_EQ(desk.only("svc")->id, first->id);
  done(looked());
  EXPECT_EQ(asked(), "svc:2");
  EXPECT_EQ(version(), 1) << "`job history` shows it";
  const auto second = desk.only("svc");
  EXPECT_NE(second->id, first->id);
  EXPECT_EQ(second->node_id, first->node_id) << "where its overlay is";
  EXPECT_FALSE(may_start(*second)) << "the first has not ended";
  desk.clock.advance(2s);
  ends(first->id);
  EXPECT_EQ(todo().action, Action::snapshot);
  EXPECT_FALSE(may_start(*desk.only("svc"))) << "what it was before is not saved yet";
  done(saved());
  EXPECT_TRUE(may_start(*desk.only("svc")));
  EXPECT_EQ(capsule().allocation, second->id);
  run_at_home();
  EXPECT_EQ(todo().action, Action::check);
  desk.clock.advance(1s);
  done();
  const auto end = capsule();
  EXPECT_FALSE(end.upgrade);
  EXPECT_EQ(end.state, CapsuleState::held);
  EXPECT_EQ(end.image, "svc:2");
  EXPECT_EQ(end.last_upgrade->error, "");
  EXPECT_EQ(end.last_upgrade->gap, 3s);
  EXPECT_TRUE(end.last_upgrade->rehearsal->passed());
  ASSERT_TRUE(end.way_back);
  EXPECT_EQ(end.way_back->image, "svc.capsule");
  EXPECT_EQ(end.way_back->snapshot, "s1");
}

TEST_F(Upgrade, IsRefusedByTheRehearsalAndNothingHappens) {
  run();
  const auto first = desk.only("svc");
  begin({.scripts = {{"sums", "#!/bin/sh\nsacct\n"}}});
  done(looked());
  done(rehearsed(false));
  const auto end = capsule();
  EXPECT_FALSE(end.upgrade);
  EXPECT_EQ(end.last_upgrade->error, "in the rehearsal sums failed (1): 12 is not 42");
  EXPECT_FALSE(end.last_upgrade->rolled_back);
  EXPECT_EQ(end.last_upgrade->rehearsal->findings.size(), 2u);
  EXPECT_TRUE(end.last_upgrade->scripts.empty()) << "they are not kept";
  EXPECT_FALSE(end.way_back);
  EXPECT_EQ(desk.only("svc")->id, first->id);
  EXPECT_EQ(version(), 0);
  EXPECT_EQ(end.epoch, 1);
}

TEST_F(Upgrade, OnlyRehearsedStopsAtTheVerdict) {
  run();
  begin({.rehearse_only = true});
  done(looked());
  done(rehearsed());
  EXPECT_FALSE(capsule().upgrade);
  EXPECT_EQ(capsule().last_upgrade->error, "");
  EXPECT_FALSE(capsule().last_upgrade->took_place());
  EXPECT_EQ(version(), 0);
  EXPECT_FALSE(capsule().way_back);
}

TEST_F(Upgrade, WhatIsAskedForTwiceOrInVainIsRefused) {
  run();
  begin();
  EXPECT_EQ(refusal([&] { begin(); }).code(), Code::conflict);
  EXPECT_EQ(refusal([&] { begin_move(another_than(owner())); }).code(), Code::conflict) << "not both at once";
  failed("it has no room", true);
  EXPECT_EQ(capsule().last_upgrade->error, "it has no room");
  EXPECT_EQ(refusal([&] { begin({.image = "svc.capsule"}); }).code(), Code::conflict) << "it has that image";
  EXPECT_EQ(refusal([&] { begin({.back = true}); }).code(), Code::conflict) << "there is no way back";
  EXPECT_EQ(refusal([&] { begin({.scripts = {{"check", "#!/bin/sh\n"}}}); }).code(), Code::invalid);
  EXPECT_EQ(refusal([&] { begin({.scripts = {{"a", "echo\n"}}}); }).code(), Code::invalid);
  EXPECT_EQ(refusal([&] { begin({.scripts = {{"a", "#!" + std::string(2 << 20, 'x')}}}); }).code(), Code::invalid);
  begin_move(another_than(owner()));
  EXPECT_EQ(refusal([&] { begin(); }).code(), Code::conflict);
}

TEST_F(Upgrade, AnImageThatDoesNotStartGivesWayToTheOldOne) {
  up_to_the_start();
  const std::string second = capsule().allocation;
  desk.update(capsule().owner, {report(second, ClientStatus::failed)});
  reconcile();
  EXPECT_NE(capsule().upgrade->error.find("did not start"), std::string::npos);
  EXPECT_EQ(version(), 2) << "the old image is the newest version";
  for (const auto& row : desk.live("svc")) EXPECT_FALSE(may_start(*row)) << "the overlay is not restored yet";
  goes_back();
}

TEST_F(Upgrade, ACheckThatNeverPassesIsTakenBackWithTheOldData) {
  up_to_the_start();
  run_at_home();
  failed("sacct shows no jobs");
  EXPECT_EQ(phase(), UpgradePhase::check);
  wait(limits.check);
  EXPECT_NE(capsule().upgrade->error.find("sacct shows no jobs"), std::string::npos);
  for (const auto& row : desk.live("svc")) {
    if (row->id != capsule().allocation) EXPECT_FALSE(may_start(*row)) << "the new one has not ended";
  }
  goes_back();
  EXPECT_FALSE(capsule().way_back);
}

TEST_F(Upgrade, ACheckMayTakeAsLongAsItTookInTheRehearsal) {
  run();
  const std::string old = capsule().allocation;
  begin();
  done(looked());
  auto slow = rehearsed();
  slow.rehearsal->findings[0].took = 5min;
  done(slow);
  done(looked());
  ends(old);
  done(saved());
  run_at_home();
  wait(limits.check);
  EXPECT_EQ(phase(), UpgradePhase::check);
  wait(15min);
  EXPECT_EQ(phase(), UpgradePhase::roll_back);
}

TEST_F(Upgrade, WhatIsMissingForASnapshotStartsTheOldOneAgain) {
  ends(up_to_the_stop());
  for (int i = 0; i < 3; ++i) failed("no space left on device");
  EXPECT_EQ(phase(), UpgradePhase::restore);
  EXPECT_EQ(todo().snapshot, "") << "nothing is to be restored, but nothing may go on either";
  done();
  run_at_home();
  done();
  EXPECT_EQ(capsule().last_upgrade->error, "no space left on device");
  EXPECT_EQ(asked(), "svc.capsule");
}

TEST_F(Upgrade, ARestoreIsTriedUntilItIsDone) {
  up_to_the_start();
  run_at_home();
  wait(limits.check);
  ends(capsule().allocation);
  for (int i = 0; i < 10; ++i) failed("no space left on device");
  EXPECT_EQ(phase(), UpgradePhase::restore);
  EXPECT_EQ(capsule().state, CapsuleState::failed);
  EXPECT_NE(capsule().description.find("no space"), std::string::npos);
  for (const auto& row : desk.live("svc")) EXPECT_FALSE(may_start(*row));
  done();
  EXPECT_EQ(phase(), UpgradePhase::restart);
  EXPECT_EQ(capsule().state, CapsuleState::upgrading);
}

TEST_F(Upgrade, AnImageWithoutAVersionGoesBackToWhatRan) {
  ends([&] {
    run();
    const std::string old = capsule().allocation;
    begin();
    // What the job asks for means the new image since that was pushed.
    const UpgradeOutcome found{.looked = {"sha256:old", "sha256:new", "sha256:new"}};
    done(found);
    done(rehearsed());
    done(found);
    return old;
  }());
  done(saved());
  run_at_home();
  wait(limits.check);
  EXPECT_EQ(asked(), "sha256:old");
}

TEST_F(Upgrade, WithoutASnapshotItGoesBackToWhatRanLast) {
  run();
  const std::string old = capsule().allocation;
  begin();
  const UpgradeOutcome found{.looked = {"sha256:old", "sha256:new", "sha256:new"}};
  done(found);
  done(rehearsed());
  done(found);
  ends(old);
  failed("no space left on device", true);
  EXPECT_EQ(asked(), "sha256:old");
  done({.saved = {.running = "sha256:other"}});
  EXPECT_EQ(asked(), "sha256:other") << "it had been started anew meanwhile";
}

TEST_F(Upgrade, AnImageThatWasPushedAnewMeanwhileIsNotStarted) {
  run();
  begin();
  done(looked());
  done(rehearsed());
  auto other = looked();
  other.looked.to = "sha256:other";
  done(other);
  EXPECT_FALSE(capsule().upgrade);
  EXPECT_NE(capsule().last_upgrade->error.find("another image"), std::string::npos);
  EXPECT_EQ(version(), 0);
}

TEST_F(Upgrade, AJobThatSomebodyChangesKeepsWhatHeWantsAndTheDataFromBefore) {
  up_to_the_start();
  run_at_home();
  auto other = capsule_job();
  other.groups[0].tasks[0].config.get_object()["image"] = "svc:3";
  desk.register_job(other);
  reconcile();
  EXPECT_EQ(phase(), UpgradePhase::roll_back);
  EXPECT_EQ(asked(), "svc:3");
  ends(capsule().allocation);
  EXPECT_EQ(todo().snapshot, "s1");
  done();
  run_at_home();
  done();
  EXPECT_NE(capsule().last_upgrade->error.find("asks for 'svc:3'"), std::string::npos);
  EXPECT_EQ(capsule().image, "svc:3");
}

TEST_F(Upgrade, AJobThatIsStoppedGetsItsDataBack) {
  up_to_the_start();
  run_at_home();
  desk.run(server::DeregisterJob{"default", "svc", false});
  reconcile();
  ends(capsule().allocation);
  EXPECT_EQ(phase(), UpgradePhase::restore);
  done();
  EXPECT_FALSE(capsule().upgrade);
  EXPECT_TRUE(capsule().last_upgrade->rolled_back);
  EXPECT_EQ(capsule().state, CapsuleState::free);
}

TEST_F(Upgrade, IsTakenBackWithImageAndOverlay) {
  up_to_the_start();
  run_at_home();
  done();
  const auto after = desk.only("svc")->id;
  desk.run([&](const auto& t, const auto& c) {
    return decide(t,
                  NoteCopy{"default/svc",
                           uuid(another_than(owner())),
                           capsule().epoch,
                           {.begun_at = unix_nanos(desk.clock.now()), .consistent = true},
                           limits},
                  c);
  });
  EXPECT_EQ(capsule().replicas.size(), 1u);
  begin({.back = true});
  done({.looked = {"sha256:new", "sha256:new", "sha256:old"}});
  EXPECT_EQ(phase(), UpgradePhase::before_stop) << "it has worked before: nobody has to try";
  done({.looked = {"sha256:new", "sha256:new", "sha256:old"}});
  EXPECT_EQ(asked(), "svc.capsule");
  ends(after);
  done(saved("s2", "sha256:new"));
  EXPECT_EQ(phase(), UpgradePhase::install);
  EXPECT_EQ(todo().snapshot, "s1");
  for (const auto& row : desk.live("svc")) EXPECT_FALSE(may_start(*row));
  done();
  run_at_home();
  done();
  EXPECT_EQ(capsule().last_upgrade->error, "");
  EXPECT_FALSE(capsule().way_back) << "there is nothing more to be taken back";
  EXPECT_TRUE(capsule().replicas.empty()) << "what they hold the old image cannot read";
}

TEST_F(Upgrade, ARestoreKeepsTheImageAndStopsWhatRuns) {
  run();
  const auto first = desk.only("svc");
  desk.run([&](const auto& t, const auto& c) {
    return decide(t,
                  NoteCopy{"default/svc",
                           uuid(another_than(owner())),
                           capsule().epoch,
                           {.begun_at = unix_nanos(desk.clock.now()), .consistent = true},
                           limits},
                  c);
  });
  const UpgradeOutcome same{.looked = {"sha256:old", "sha256:old", "sha256:old"}};
  begin_restore("s7");
  EXPECT_EQ(todo().action, Action::look);
  done(same);
  EXPECT_EQ(todo().action, Action::before_stop) << "what has been saved is not tried first: a drill does that";
  done(same);
  EXPECT_EQ(phase(), UpgradePhase::stop);
  EXPECT_EQ(version(), 0) << "the job stays as it is";
  EXPECT_TRUE(desk.tables.find_allocation(first->id)->server_terminal());
  for (const auto& row : desk.live("svc")) EXPECT_FALSE(may_start(*row)) << "the first has not ended";
  ends(first->id);
  EXPECT_EQ(todo().action, Action::snapshot);
  done(saved("before"));
  EXPECT_EQ(todo().action, Action::restore);
  EXPECT_EQ(todo().snapshot, "s7");
  for (const auto& row : desk.live("svc")) EXPECT_FALSE(may_start(*row)) << "its data are not there yet";
  done();
  EXPECT_NE(capsule().allocation, first->id);
  EXPECT_TRUE(may_start(*desk.only("svc")));
  EXPECT_EQ(desk.only("svc")->node_id, first->node_id);
  run_at_home();
  done();
  EXPECT_FALSE(capsule().upgrade);
  EXPECT_EQ(capsule().last_upgrade->error, "");
  EXPECT_EQ(capsule().last_upgrade->snapshot, "before");
  EXPECT_TRUE(capsule().replicas.empty()) << "a failover must not bring back what was undone";
}

TEST_F(Upgrade, ARestoreWhoseCheckFailsGoesBackToWhatWas) {
  run();
  const auto first = desk.only("svc")->id;
  const UpgradeOutcome same{.looked = {"sha256:old", "sha256:old", "sha256:old"}};
  begin_restore("s7");
  done(same);
  done(same);
  ends(first);
  done(saved("before"));
  done();
  run_at_home();
  const auto second = capsule().allocation;
  failed("sacct shows no jobs");
  wait(limits.check);
  EXPECT_EQ(phase(), UpgradePhase::roll_back);
  EXPECT_TRUE(desk.tables.find_allocation(second)->server_terminal());
  ends(second);
  EXPECT_EQ(phase(), UpgradePhase::restore);
  EXPECT_EQ(todo().snapshot, "before");
  done();
  EXPECT_EQ(phase(), UpgradePhase::restart);
  run_at_home();
  EXPECT_EQ(phase(), UpgradePhase::recheck);
  done();
  EXPECT_TRUE(capsule().last_upgrade->rolled_back);
  EXPECT_EQ(version(), 0);
}

TEST_F(Upgrade, ARestoreIsRefusedWhereItsImageWouldChange) {
  run();
  begin_restore("s7");
  done({.looked = {"sha256:old", "sha256:new", "sha256:new"}});
  EXPECT_FALSE(capsule().upgrade);
  EXPECT_NE(capsule().last_upgrade->error.find("means another image"), std::string::npos);
  EXPECT_EQ(refusal([&] { begin_restore(""); }).code(), Code::invalid);
}

TEST_F(Upgrade, AWayBackThatFailsComesBackToTheNewImage) {
  up_to_the_start();
  run_at_home();
  done();
  const auto after = desk.only("svc")->id;
  begin({.back = true});
  const UpgradeOutcome found{.looked = {"sha256:new", "sha256:new", "sha256:old"}};
  done(found);
  done(found);
  ends(after);
  done(saved("s2", "sha256:new"));
  failed("the snapshot is damaged", false);
  failed("the snapshot is damaged", false);
  failed("the snapshot is damaged", false);
  EXPECT_EQ(asked(), "svc:2");
  EXPECT_EQ(phase(), UpgradePhase::restore);
  EXPECT_EQ(todo().snapshot, "s2");
  done();
  run_at_home();
  done();
  EXPECT_TRUE(capsule().last_upgrade->rolled_back);
  EXPECT_TRUE(capsule().way_back) << "it can be tried again";
}

TEST_F(Upgrade, IsTakenBackOnlyWhereTheSnapshotIsAndWhileTheJobAsksForIt) {
  up_to_the_start();
  run_at_home();
  done();
  auto other = capsule_job();
  other.groups[0].tasks[0].config.get_object()["image"] = "svc:3";
  desk.register_job(other);
  reconcile();
  const auto error = refusal([&] { begin({.back = true}); });
  EXPECT_EQ(error.code(), Code::conflict);
  EXPECT_NE(error.one_line().find("svc:3"), std::string::npos);
}

}  // namespace
}  // namespace underway::ownership::testing
