// The tables of phases say all of it: every phase has its row, every way leads to an end, nothing is shown that is not
// there.
#include "ownership/phases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/json/enumerators.hpp"
#include "ownership/detail/ownership.hpp"

namespace underway::ownership {
namespace {

using detail::Ownership;
using model::CapsuleMove;
using model::CapsuleUpgrade;
using model::MoveKind;
using model::MovePhase;
using model::UpgradePhase;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

/// What must be true of any table. `record`: some move or upgrade.
template <class Phase, class Works, class Record>
void check_table(const Works& works, Record record) {
  ASSERT_EQ(works.size(), kEnumerators<Phase>);
  std::set<std::string> shown;
  for (std::size_t i = 0; i < works.size(); ++i) {
    const auto& work = works[i];
    const auto& row = work.row;
    SCOPED_TRACE(name_of(row.phase));
    EXPECT_EQ(row.phase, static_cast<Phase>(i)) << "one row for each, in the order of the enumeration";
    EXPECT_EQ(&row, &row_of(row.phase));
    record.phase = row.phase;
    ASSERT_TRUE(row.shown != nullptr);
    EXPECT_THAT(row.shown(record), Not(IsEmpty()));
    EXPECT_TRUE(shown.insert(row.shown(record)).second) << row.shown(record) << ": of another phase, too";
    const bool over = row.phase == Phase::done;
    EXPECT_EQ(row.stretch == Stretch::over, over);
    if (over) continue;
    EXPECT_TRUE(work.look != nullptr) << "nobody would see that its node is gone";
    EXPECT_NE(row.then, row.phase);
    EXPECT_EQ(name_of(row.then).empty(), false);
    EXPECT_EQ(name_of(row.otherwise).empty(), false);
    // Before the stop nothing has happened, and who goes back does not turn around once more.
    const auto otherwise = row_of(row.otherwise).stretch;
    EXPECT_TRUE(otherwise == Stretch::over || (row.stretch == Stretch::away && otherwise == Stretch::back));
    EXPECT_LE(row.stretch, row_of(row.then).stretch) << "what is stopped is not ahead of its stop again";
    // Somebody does it, or the engine; what the engine does ends in time, or somebody's end is waited for.
    const bool asks_a_node = row.who != Who::engine && row.who != Who::provider;
    EXPECT_EQ(row.does != Action::none, row.who != Who::engine);
    EXPECT_EQ(work.done != nullptr, asks_a_node) << "how it went has to be taken note of";
    if (row.effort == Effort::until_late) EXPECT_TRUE(row.within != nullptr);
    if (row.effort == Effort::until_done) EXPECT_TRUE(row.within == nullptr);
    // It is over after as many steps as there are phases.
    std::size_t steps = 0;
    for (auto phase = row.phase; phase != Phase::done && steps <= works.size(); ++steps) phase = row_of(phase).then;
    EXPECT_LE(steps, works.size()) << "its way leads in a circle";
  }
}

TEST(Phases, OfAMoveHaveOneRowEach) {
  check_table<MovePhase>(Ownership::move_phases(), CapsuleMove{.source_name = "sms1", .target_name = "sms2"});
}

TEST(Phases, OfAnUpgradeHaveOneRowEach) {
  check_table<UpgradePhase>(Ownership::upgrade_phases(), CapsuleUpgrade{.node_name = "sms1", .to_image = "svc:2"});
}

TEST(Phases, AreGoneThroughInTheOrderOfTheirKind) {
  EXPECT_THAT(path_of(CapsuleMove{.kind = MoveKind::planned}),
              ElementsAre(MovePhase::stage, MovePhase::copy, MovePhase::before_stop, MovePhase::stop,
                          MovePhase::transfer, MovePhase::start, MovePhase::check, MovePhase::done));
  EXPECT_THAT(path_of(CapsuleMove{.kind = MoveKind::failover}),
              ElementsAre(MovePhase::fence, MovePhase::transfer, MovePhase::start, MovePhase::check, MovePhase::done));
  EXPECT_THAT(path_of(CapsuleUpgrade{}),
              ElementsAre(UpgradePhase::stage, UpgradePhase::rehearse, UpgradePhase::before_stop, UpgradePhase::stop,
                          UpgradePhase::snapshot, UpgradePhase::start, UpgradePhase::check, UpgradePhase::done));
  EXPECT_THAT(path_of(CapsuleUpgrade{.data = "before-upgrade"}),
              ElementsAre(UpgradePhase::stage, UpgradePhase::before_stop, UpgradePhase::stop, UpgradePhase::snapshot,
                          UpgradePhase::install, UpgradePhase::start, UpgradePhase::check, UpgradePhase::done));
}

TEST(Phases, LetNothingBeginWhileAnEndIsAwaitedOrTheOverlayIsAtWork) {
  std::set<std::string_view> moves, upgrades;
  for (const auto& work : Ownership::move_phases()) {
    if (work.row.held) moves.insert(name_of(work.row.phase));
  }
  for (const auto& work : Ownership::upgrade_phases()) {
    if (work.row.held) upgrades.insert(name_of(work.row.phase));
  }
  EXPECT_THAT(moves, ElementsAre("roll_back", "stop", "transfer"));
  EXPECT_THAT(upgrades, ElementsAre("install", "restore", "roll_back", "snapshot", "stop"));
}

TEST(Phases, SayWhereTheCapsuleIsAtHome) {
  model::Capsule capsule;
  capsule.owner = "1";
  EXPECT_EQ(home_of(capsule), "1");
  capsule.move = CapsuleMove{.source = "1", .target = "2"};
  std::set<std::string_view> away;
  for (const auto& work : Ownership::move_phases()) {
    capsule.move->phase = work.row.phase;
    if (home_of(capsule) == "2") away.insert(name_of(work.row.phase));
  }
  EXPECT_THAT(away, ElementsAre("check", "start", "stop", "transfer"));
  capsule.owner = "2";  // it had started there, and did not work
  capsule.move->phase = MovePhase::roll_back;
  EXPECT_EQ(home_of(capsule), "1");
}

}  // namespace
}  // namespace underway::ownership
