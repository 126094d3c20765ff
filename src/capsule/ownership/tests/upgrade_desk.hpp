#pragma once
/// @file
/// A capsule at a desk, and upgrades of it.

#include "desk.hpp"
#include "ownership/upgrade.hpp"

namespace underway::ownership::testing {

using model::CapsuleState;
using model::MoveKind;
using model::UpgradePhase;
using namespace std::chrono_literals;

inline model::Rehearsal verdict(bool passed) {
  model::Rehearsal rehearsal;
  rehearsal.image = "svc:2";
  rehearsal.digest = "sha256:new";
  rehearsal.findings = {{"start", true, 0, "", 2s}, {"sums", passed, passed ? 0 : 1, passed ? "" : "12 is not 42", 1s}};
  return rehearsal;
}

class UpgradeDesk : public CapsuleDesk {
 protected:
  std::string begin(UpgradeRequest request = {}) {
    request.name = "svc";
    if (request.image.empty()) request.image = "svc:2";
    return desk.run([&](const auto& t, const auto& c) { return decide(t, BeginUpgrade{request, limits}, c); });
  }
  std::string begin_restore(const std::string& snapshot) {
    const RestoreOrder request{.ns = "default", .name = "svc", .snapshot = snapshot};
    return desk.run([&](const auto& t, const auto& c) { return decide(t, BeginRestore{request, limits}, c); });
  }
  UpgradePhase phase() const { return capsule().upgrade->phase; }
  void done(UpgradeOutcome outcome = {}) {
    const auto row = capsule();
    desk.run([&](const auto& t, const auto& c) {
      return decide(t, EndUpgradeStep{"default/svc", row.upgrade->id, row.upgrade->phase, outcome, limits}, c);
    });
    reconcile();
  }
  void failed(const std::string& error, bool final = false) { done({.error = error, .final = final}); }
  static UpgradeOutcome looked() { return {.looked = {"sha256:old", "sha256:old", "sha256:new"}}; }
  static UpgradeOutcome rehearsed(bool passed = true) { return {.rehearsal = verdict(passed)}; }
  UpgradeOutcome saved(const std::string& id = "s1", const std::string& running = "sha256:old") {
    return {.saved = {id, unix_nanos(desk.clock.now()), running}};
  }
  std::string asked() const { return image_of(*desk.tables.find_job("default", "svc"), "g"); }
  std::int64_t version() const { return desk.tables.find_job("default", "svc")->version; }

  /// Until the old allocation was told to stop; returns its id.
  std::string up_to_the_stop() {
    run();
    const std::string old = capsule().allocation;
    begin();
    done(looked());
    done(rehearsed());
    done(looked());
    EXPECT_EQ(phase(), UpgradePhase::stop);
    return old;
  }
  void ends(const std::string& allocation, ClientStatus how = ClientStatus::complete) {
    desk.update(capsule().owner, {report(allocation, how)});
    reconcile();
  }
  void up_to_the_start() {
    ends(up_to_the_stop());
    done(saved());
    EXPECT_EQ(phase(), UpgradePhase::start);
  }
  /// The way back, from roll_back on, with nothing in its way.
  void goes_back() {
    EXPECT_EQ(asked(), "svc.capsule");
    if (!capsule().allocation.empty()) {
      EXPECT_EQ(phase(), UpgradePhase::roll_back);
      ends(capsule().allocation);
    }
    EXPECT_EQ(phase(), UpgradePhase::restore);
    EXPECT_EQ(todo().snapshot, "s1");
    done();
    EXPECT_EQ(phase(), UpgradePhase::restart);
    run_at_home();
    EXPECT_EQ(phase(), UpgradePhase::recheck);
    done();
    EXPECT_FALSE(capsule().upgrade);
    EXPECT_TRUE(capsule().last_upgrade->rolled_back);
    EXPECT_EQ(capsule().state, CapsuleState::held);
  }
};

}  // namespace underway::ownership::testing
