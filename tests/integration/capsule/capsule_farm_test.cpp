// The Slurm controller moves between hosts, and at every phase of it somebody dies, while a farm of checksummed Slurm
// jobs runs that may notice nothing of it: no gap, no restart, no second start, and sacct says what was.
//
//     CAPSULE_FARM_ALL=1   each victim in each phase; without it each phase and each victim at least once
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "harness/capsule/held_move.hpp"
#include "harness/capsule/slurm_capsule.hpp"

namespace underway::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

struct Strike {
  std::string phase, victim;
};

/// Each phase and each victim at least once.
const std::vector<Strike>& covering() {
  static const std::vector<Strike> strikes = {
      {"stage", "server"},         {"copy", "source_agent"},  {"before_stop", "keeper"}, {"stop", "server"},
      {"transfer", "source_host"}, {"start", "target_agent"}, {"check", "keeper"},       {"check", "server"}};
  return strikes;
}

std::vector<Strike> strikes() {
  if (std::getenv("CAPSULE_FARM_ALL") == nullptr) return covering();
  std::vector<Strike> all;
  for (const auto* victim : kMoveVictims) {
    for (const auto* phase : kMovePhases) all.push_back({phase, victim});
  }
  return all;
}

class CapsuleFarm : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    capsule_.emplace();
  }

  /// SIGKILL ends slurmctld too: what it has not saved is lost.
  static bool is_hard(const Strike& strike) { return strike.victim == "keeper" || strike.victim == "source_host"; }
  /// It may end while nobody is there who hears of it; but not on a target that the move goes back from.
  static bool may_end_in(const Strike& strike) {
    return !is_hard(strike) && strike.phase != "start" && strike.phase != "check";
  }

  void prepare(Farm& farm, const Strike& strike, const std::string& to) {
    ASSERT_EQ(farm.plant(1), 1);
    if (may_end_in(strike)) ASSERT_EQ(farm.plant(1, seconds(6)), 1);
    if (!is_hard(strike)) return;
    ASSERT_TRUE(farm.settled());
    if (strike.victim != "source_host") return;
    const auto settled = std::chrono::system_clock::now().time_since_epoch();
    capsule_->keep_copies(to, 1);
    ASSERT_TRUE(eventually(seconds(30),
                           [&] { return capsule_->record().copied_at > std::chrono::nanoseconds(settled).count(); }))
        << "no copy is made\n"
        << capsule_->status();
  }

  void strike_once(Farm& farm, const Strike& strike) {
    const auto begun = Clock::now();
    const std::string from = capsule_->owner(), to = capsule_->other_than(from);
    prepare(farm, strike, to);
    if (HasFatalFailure()) return;
    auto struck = Clock::now();
    {
      HeldMove hold(*capsule_, strike.phase, to);
      const auto told =
          capsule_->cluster().underway({"capsule", "move", capsule_->name(), "-to", to, "-detach"}, seconds(20));
      ASSERT_EQ(told.exit_code, 0) << told.err << capsule_->status();
      ASSERT_TRUE(hold.reached(seconds(40))) << "it is not in " << strike.phase << "\n" << capsule_->status();
      struck = Clock::now();
      kill_in_move(*capsule_, strike.victim, from, to);
    }
    capsule_->up();
    ASSERT_TRUE(eventually(seconds(120), [&] { return capsule_->at_rest(); })) << capsule_->status();
    ASSERT_TRUE(capsule_->schedules()) << capsule_->on_login("sinfo; squeue").out << capsule_->status();
    expect_one_owner();
    const auto ms = [](Clock::duration time) { return std::chrono::duration_cast<milliseconds>(time).count(); };
    const auto record = capsule_->record();
    std::cerr << strike.victim << " in " << strike.phase << ": on "
              << (record.owner == to ? "the target" : "the source") << ", " << ms(Clock::now() - struck)
              << " ms after it was struck Slurm starts jobs; " << ms(Clock::now() - begun) << " ms in all"
              << (record.last_error.empty() ? "" : "; " + record.last_error) << "\n";
  }

  void expect_one_owner() {
    const std::string owner = capsule_->owner(), other = capsule_->other_than(owner);
    EXPECT_EQ(capsule_->controllers(owner).size(), 1U) << capsule_->status();
    EXPECT_TRUE(eventually(seconds(20),
                           [&] { return capsule_->controllers(other).empty() && capsule_->keepers(other).empty(); }))
        << "something of it is left on " << other << "\n"
        << capsule_->status();
  }

  std::optional<SlurmCapsule> capsule_;
};

TEST_F(CapsuleFarm, NoJobNoticesADeathInAnyPhaseOfAMoveOfItsController) {
  const OnlyOneController only(*capsule_);
  Farm farm(capsule_->cluster(), capsule_->farm_options());
  ASSERT_EQ(farm.plant(4), 4);
  ASSERT_TRUE(farm.settled());
  for (const auto& strike : strikes()) {
    SCOPED_TRACE(strike.victim + " in " + strike.phase);
    strike_once(farm, strike);
    if (HasFatalFailure()) return;
    EXPECT_FALSE(only.broken()) << "two controllers lived at once";
    if (HasFailure()) break;
  }
  const auto harvest = farm.harvest();
  EXPECT_THAT(harvest.problems, testing::IsEmpty());
  EXPECT_EQ(harvest.jobs, farm.planted().size());
  std::cerr << harvest.jobs << " jobs, " << harvest.ticks << " ticks, at most " << harvest.longest_gap
            << " s between two of one job\n";
}

}  // namespace
}  // namespace underway::harness
