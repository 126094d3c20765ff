// A planned move of a capsule, and a death at every phase of it: of an agent, the server, the capsule's keeper, the
// whole source host. Then everything is brought back, and what must hold is looked at: the move has ended forwards or
// back, the service answers, there was never more than one of it, and what a client was told is still so.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "harness/capsule/counting_capsule.hpp"
#include "harness/capsule/held_move.hpp"

namespace underway::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

class CapsuleFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs busybox-static";
    capsule_.emplace();
  }

  /// At every phase.
  void strike_everywhere(const std::string& victim) {
    victim_ = victim;
    for (const std::string phase : kMovePhases) {
      SCOPED_TRACE(phase);
      strike_in(phase);
      if (HasFatalFailure()) return;
    }
  }

  void strike_in(const std::string& phase) {
    const std::string from = capsule_->owner(), to = capsule_->other_than(from);
    if (host_dies()) capsule_->keep_copies(to, 1);
    const std::string source = capsule_->row_of(from);
    const Prober client = capsule_->client("c1", milliseconds(20));
    ASSERT_TRUE(client.all_answer(seconds(20), 20)) << client.report() << capsule_->status();
    {
      HeldMove hold(*capsule_, phase, to);
      const auto begun =
          capsule_->cluster().underway({"capsule", "move", "counter", "-to", to, "-detach"}, seconds(20));
      ASSERT_EQ(begun.exit_code, 0) << begun.err << capsule_->status();
      ASSERT_TRUE(hold.reached()) << "it is not in " << phase << "\n" << capsule_->status();
      kill_in_move(*capsule_, victim_, from, to);
    }
    const auto struck = Clock::now();
    capsule_->up();
    ASSERT_TRUE(eventually(seconds(90), [&] { return capsule_->at_rest(); })) << capsule_->status();
    expect_one(client);
    const auto record = capsule_->record();
    std::cerr << victim_ << " in " << phase << ": on " << (record.owner == to ? "the target" : "the source")
              << " after " << std::chrono::duration_cast<milliseconds>(Clock::now() - struck).count()
              << " ms; without an answer for at most " << client.readings()["counter"].longest.count() << " ms"
              << (record.last_error.empty() ? "" : "; " + record.last_error) << "\n";
    if (host_dies())
      ASSERT_TRUE(eventually(seconds(30), [&] { return capsule_->made_anew(from, source); })) << capsule_->status();
  }

  bool host_dies() const { return victim_ == "source_host"; }

  void expect_one(const Prober& client) {
    EXPECT_TRUE(client.all_answer(seconds(30))) << client.report() << capsule_->status();
    EXPECT_EQ(capsule_->doubled(), "");
    const auto reading = client.readings()["counter"];
    EXPECT_EQ(reading.returned, 0) << "two of it answered in turn";
    // What was written since the last copy is gone with its host; copies are made each second.
    EXPECT_LE(reading.fell, host_dies() ? 250 : 0) << "it forgot what it had said\n" << capsule_->status();
    const std::string owner = capsule_->owner(), other = capsule_->other_than(owner);
    EXPECT_EQ(capsule_->services(owner).size(), 1U) << capsule_->status();
    EXPECT_TRUE(
        eventually(seconds(20), [&] { return capsule_->services(other).empty() && capsule_->keepers(other).empty(); }))
        << "something of it is left on " << other << "\n"
        << capsule_->status();
  }

  std::optional<CountingCapsule> capsule_;
  std::string victim_;  ///< who dies
};

TEST_F(CapsuleFaults, OfTheSourcesAgentAtAnyPhaseLeaveOneOwnerAndLoseNothing) { strike_everywhere("source_agent"); }
TEST_F(CapsuleFaults, OfTheTargetsAgentAtAnyPhaseLeaveOneOwnerAndLoseNothing) { strike_everywhere("target_agent"); }
TEST_F(CapsuleFaults, OfTheServerAtAnyPhaseLeaveOneOwnerAndLoseNothing) { strike_everywhere("server"); }
TEST_F(CapsuleFaults, OfTheKeeperAtAnyPhaseLeaveOneOwnerAndLoseNothing) { strike_everywhere("keeper"); }
TEST_F(CapsuleFaults, OfTheSourceHostAtAnyPhaseLeaveOneOwnerAndLoseASecondAtMost) { strike_everywhere("source_host"); }

/// Data go over the server: the two need not see each other.
TEST_F(CapsuleFaults, TwoHostsThatDoNotReachEachOtherMoveItAllTheSame) {
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  for (const auto& [host, away] : {std::pair("sms1", "10.78.0.11"), std::pair("sms2", "10.78.0.10")}) {
    const std::string cut = std::string("ip route add blackhole ") + away + "/32; ! ping -c 1 -W 1 " + away;
    ASSERT_EQ(capsule_->cluster().on(host, cut).exit_code, 0) << host << " reaches " << away;
  }
  const Prober client = capsule_->client("c1", milliseconds(20));
  const auto moved = capsule_->cluster().underway({"capsule", "move", "counter", "-to", to}, seconds(40));
  EXPECT_EQ(moved.exit_code, 0) << moved.err << capsule_->status();
  EXPECT_EQ(capsule_->owner(), to);
  expect_one(client);
}

TEST_F(CapsuleFaults, AnOwnerThatTheServerDoesNotHearIsOffBeforeAnotherOneStarts) {
  victim_ = "source_host";  // what is written on it after the last copy is lost
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  capsule_->keep_copies(to, 1);
  const Prober client = capsule_->client("c1", milliseconds(20));
  ASSERT_TRUE(client.all_answer(seconds(10)));
  ::kill(capsule_->cluster().agent_of(from), SIGSTOP);
  // It lives and answers, and nobody else may begin: until its host is taken away.
  EXPECT_TRUE(eventually(seconds(60), [&] {
    const bool elsewhere = !capsule_->services(to).empty();
    EXPECT_FALSE(elsewhere && !capsule_->services(from).empty()) << "it runs twice";
    return elsewhere && capsule_->at_rest() && capsule_->owner() == to;
  })) << capsule_->status();
  EXPECT_TRUE(client.all_answer(seconds(20))) << client.report() << capsule_->status();
  EXPECT_EQ(capsule_->doubled(), "");
  EXPECT_EQ(client.readings()["counter"].returned, 0);
}

TEST_F(CapsuleFaults, AnOwnerThatIsHeardAgainBeforeItsLeaseHasRunOutKeepsIt) {
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  capsule_->keep_copies(to, 1);
  const auto epoch = capsule_->record().epoch;
  const auto services = capsule_->services(from);
  const Prober client = capsule_->client("c1", milliseconds(20));
  const int agent = capsule_->cluster().agent_of(from);
  const auto all_ready = [&] {
    const std::string nodes = capsule_->cluster().underway({"node", "status"}).out;
    std::size_t ready = 0;
    for (auto at = nodes.find(" ready"); at != std::string::npos; at = nodes.find(" ready", at + 1)) ++ready;
    return ready == 4;
  };
  ASSERT_TRUE(all_ready());
  ::kill(agent, SIGSTOP);
  const bool silent = eventually(seconds(15), [&] { return !all_ready(); });
  ::kill(agent, SIGCONT);
  EXPECT_TRUE(silent);
  EXPECT_TRUE(eventually(seconds(30), [&] { return all_ready() && capsule_->at_rest(); })) << capsule_->status();
  EXPECT_EQ(capsule_->owner(), from);
  EXPECT_EQ(capsule_->record().epoch, epoch);
  expect_one(client);
  EXPECT_EQ(capsule_->services(from), services) << "it was started anew";
}

}  // namespace
}  // namespace underway::harness
