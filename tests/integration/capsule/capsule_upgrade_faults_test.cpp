// An upgrade of a capsule, and a death in each phase of it: of the owner's agent, of the server, of the capsule's
// keeper, each a process of its own. It ends forwards or back, with the data that belong to the image; and one of the
// Slurm controller, that no Slurm job notices.
//
//     CAPSULE_UPGRADE_ALL=1   each of them in each phase; without it each phase once
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "harness/capsule/counting_capsule.hpp"
#include "harness/capsule/held_upgrade.hpp"
#include "harness/capsule/slurm_capsule.hpp"

namespace underway::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

struct Strike {
  std::string phase, victim;
};

std::vector<Strike> strikes() {
  static const std::vector<Strike> once = {{"stage", "agent"},   {"rehearse", "server"}, {"before_stop", "keeper"},
                                           {"stop", "agent"},    {"snapshot", "server"}, {"install", "agent"},
                                           {"start", "keeper"},  {"check", "server"},    {"roll_back", "agent"},
                                           {"restore", "agent"}, {"restart", "server"},  {"recheck", "keeper"}};
  if (std::getenv("CAPSULE_UPGRADE_ALL") == nullptr) return once;
  std::vector<Strike> all;
  for (const auto* phase : kUpgradePhases) {
    for (const auto* victim : {"agent", "server", "keeper"}) all.push_back({phase, victim});
  }
  return all;
}

class CapsuleUpgradeFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs busybox-static";
    capsule_.emplace();
    capsule_->push("2");
    capsule_->write_much();
  }

  Finished upgrade(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"capsule", "upgrade", "counter", "-yes"});
    return capsule_->cluster().underway(std::move(arguments), seconds(60));
  }
  /// Whether what is struck is that the last upgrade is taken back: that is an upgrade too, without a rehearsal.
  bool takes_back(const std::string& phase) const {
    const bool newer = capsule_->schema() == "2\n";
    if (phase == "install" && !newer) bring({"-image", "counter:2"});
    if (phase == "rehearse" && newer) bring({"-revert"});
    return phase == "install" || (newer && phase != "rehearse");
  }
  void bring(std::vector<std::string> arguments) const {
    const auto done = upgrade(std::move(arguments));
    EXPECT_EQ(done.exit_code, 0) << done.out << done.err << capsule_->status();
    EXPECT_TRUE(eventually(seconds(20), [&] { return capsule_->at_rest(); })) << capsule_->status();
  }
  long long count() const { return std::atoll(capsule_->inside("cat /srv/count").out.c_str()); }

  /// Between the end of one image and the start of the other there is no keeper.
  static bool has_keeper(const std::string& phase) {
    return phase != "snapshot" && phase != "install" && phase != "restore";
  }
  void kill(const std::string& victim, const std::string& phase) const {
    const auto& cluster = capsule_->cluster();
    if (victim == "agent") ::kill(cluster.agent_of(owner_), SIGKILL);
    if (victim == "keeper" && has_keeper(phase)) {
      EXPECT_TRUE(eventually(seconds(10), [&] { return !capsule_->keepers(owner_).empty(); })) << "it has no keeper";
      for (const int pid : capsule_->keepers(owner_)) ::kill(pid, SIGKILL);
    }
    if (victim == "server") {
      for (const int pid : cluster.server_agents()) ::kill(pid, SIGKILL);
      EXPECT_TRUE(eventually(seconds(10), [&] { return cluster.server_agents().empty(); }));
    }
  }

  /// Some phases are over in milliseconds, and now and then before anybody saw them: what went by is tried anew.
  void strike_once(const Strike& strike, int attempts = 3) {
    const bool back = takes_back(strike.phase);
    const std::string from = back ? "2" : "1", to = back ? "1" : "2";
    owner_ = capsule_->owner();
    const long long before = count();
    bool reached = false;
    {
      HeldUpgrade held(*capsule_, strike.phase);
      reached =
          held.reached(back ? std::vector<std::string>{"-revert"} : std::vector<std::string>{"-image", "counter:2"});
      if (reached) kill(strike.victim, strike.phase);
    }
    if (!reached) {
      ASSERT_TRUE(eventually(seconds(60), [&] { return capsule_->at_rest() && capsule_->schema() == to + "\n"; }))
          << "it is neither in " << strike.phase << " nor over\n"
          << capsule_->status();
      ASSERT_GT(attempts, 1) << strike.phase << " was never seen";
      return strike_once(strike, attempts - 1);
    }
    const auto struck = Clock::now();
    capsule_->up();
    ASSERT_TRUE(eventually(seconds(90), [&] { return capsule_->at_rest() && !capsule_->schema().empty(); }))
        << capsule_->status();
    const std::string error = capsule_->record().upgrade_error;
    EXPECT_EQ(capsule_->schema(), (error.empty() ? to : from) + "\n") << error << capsule_->status();
    // A way back loses what was counted since; nothing else does.
    if (!(back && error.empty())) EXPECT_GE(count(), before) << "it forgot what it had said\n" << capsule_->status();
    EXPECT_EQ(capsule_->doubled(), "");
    EXPECT_TRUE(eventually(seconds(20), [&] { return capsule_->services(owner_).size() == 1; })) << capsule_->status();
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - struck).count();
    std::cerr << strike.victim << " in " << strike.phase << ": schema " << (error.empty() ? to : from) << " after "
              << took << " ms" << (error.empty() ? "" : "; " + error) << "\n";
  }

  std::optional<CountingCapsule> capsule_;
  std::string owner_;
};

TEST_F(CapsuleUpgradeFaults, InAnyPhaseLeaveTheImageAndTheDataThatBelongTogether) {
  const Prober client = capsule_->client("c1", milliseconds(20));
  for (const auto& strike : strikes()) {
    SCOPED_TRACE(strike.victim + " in " + strike.phase);
    strike_once(strike);
    if (HasFailure()) return;
    EXPECT_TRUE(client.all_answer(seconds(30))) << client.report() << capsule_->status();
  }
  EXPECT_EQ(client.readings()["counter"].returned, 0) << "two of it answered in turn";
}

TEST(CapsuleUpgradeFarm, NoJobNoticesThatTheControllerIsUpgradedAndTakenBack) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const SlurmCapsule capsule;
  const OnlyOneController only(capsule);
  Farm farm(capsule.cluster(), capsule.farm_options());
  ASSERT_EQ(farm.plant(6), 6);
  ASSERT_TRUE(farm.settled());
  const std::string image = capsule.build_version("next");
  for (const std::vector<std::string>& how : {std::vector<std::string>{"-image", image}, {"-revert", "-lose"}}) {
    std::vector<std::string> arguments = {"capsule", "upgrade", "slurm-services", "-yes"};
    arguments.insert(arguments.end(), how.begin(), how.end());
    const auto done = capsule.cluster().underway(std::move(arguments), seconds(120));
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err << capsule.status();
    std::cerr << done.err;
    EXPECT_TRUE(capsule.schedules()) << capsule.on_login("sinfo; squeue").out << capsule.status();
  }
  EXPECT_FALSE(only.broken()) << "two controllers lived at once";
  EXPECT_EQ(farm.plant(2), 2);
  const auto harvest = farm.harvest();
  EXPECT_THAT(harvest.problems, testing::IsEmpty());
  EXPECT_EQ(harvest.jobs, 8U);
}

}  // namespace
}  // namespace underway::harness
