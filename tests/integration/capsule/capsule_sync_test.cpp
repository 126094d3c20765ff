// With `sync` what a service has saved is on the standby before it goes on, and so before it tells anybody.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "harness/capsule/counting_capsule.hpp"

namespace underway::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A client that asks more often gives up before a copy has been made (prober.hpp).
constexpr milliseconds kOften{100};

class CapsuleSync : public testing::TestWithParam<CountingCapsule::Kind> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs busybox-static";
    capsule_.emplace(GetParam());
    ASSERT_TRUE(eventually(seconds(60), [&] { return capsule_->at_rest() && capsule_->record().copied_at > 0; }))
        << capsule_->status();
    if (GetParam() == CountingCapsule::Kind::synced) {
      ASSERT_TRUE(eventually(seconds(30), [&] { return in_sync(); })) << services() << capsule_->status();
    }
  }
  std::string services() const { return capsule_->cluster().underway({"capsule", "services", "counter"}).out; }
  bool in_sync() const { return services().find("on the standby before") != std::string::npos; }
  /// How far what is said after the death of its host, in the middle of its work, is below what was said before.
  long long forgotten() {
    const std::string from = capsule_->owner();
    const Prober client = capsule_->client("c1", kOften);
    EXPECT_TRUE(client.all_answer(seconds(30), 30)) << client.report() << capsule_->status();
    capsule_->pull_the_plug(from);
    EXPECT_TRUE(eventually(seconds(60), [&] { return capsule_->owner() != from && capsule_->at_rest(); }))
        << capsule_->status();
    EXPECT_TRUE(client.all_answer(seconds(30))) << client.report() << capsule_->status();
    const auto reading = client.readings()["counter"];
    EXPECT_GT(reading.value, 30);
    return reading.fell;
  }

  std::optional<CountingCapsule> capsule_;
};

using SyncedCapsule = CapsuleSync;
INSTANTIATE_TEST_SUITE_P(Kinds, SyncedCapsule, testing::Values(CountingCapsule::Kind::synced));

TEST_P(SyncedCapsule, HasOnItsStandbyWhatItToldWhenItsHostDies) { EXPECT_EQ(forgotten(), 0); }

TEST_P(SyncedCapsule, GoesOnWithoutItsStandbyAndSaysSo) {
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  const Prober client = capsule_->client("c1", kOften);
  ASSERT_TRUE(client.all_answer(seconds(30), 20)) << client.report();
  ASSERT_TRUE(in_sync());
  const int standby = capsule_->cluster().agent_of(to);
  ASSERT_EQ(::kill(standby, SIGSTOP), 0);
  EXPECT_TRUE(eventually(seconds(30), [&] { return !in_sync(); })) << services();
  EXPECT_NE(services().find("not on the standby"), std::string::npos) << services();
  const auto told = [&] { return capsule_->cluster().underway({"status"}).out; };
  EXPECT_TRUE(eventually(seconds(20), [&] { return told().find("is not in sync") != std::string::npos; })) << told();
  EXPECT_TRUE(client.all_answer(seconds(20), 50)) << client.report();
  EXPECT_LT(client.readings()["counter"].longest, seconds(9));
  ASSERT_EQ(::kill(standby, SIGCONT), 0);
  EXPECT_TRUE(eventually(seconds(60), [&] { return in_sync() && capsule_->at_rest(); }))
      << services() << capsule_->status();
  EXPECT_EQ(told().find("is not in sync"), std::string::npos) << told();
}

/// What came with the agent that died is held no longer than it takes the next one.
TEST_P(SyncedCapsule, GoesOnWhenTheAgentOfItsHostIsKilled) {
  const std::string from = capsule_->owner();
  const Prober client = capsule_->client("c1", kOften);
  ASSERT_TRUE(client.all_answer(seconds(30), 20)) << client.report();
  ASSERT_EQ(::kill(capsule_->cluster().agent_of(from), SIGKILL), 0);
  EXPECT_TRUE(client.all_answer(seconds(20), 50)) << client.report() << services();
  EXPECT_TRUE(eventually(seconds(60), [&] { return in_sync() && capsule_->at_rest(); }))
      << services() << capsule_->status();
  EXPECT_EQ(client.readings()["counter"].fell, 0);
  // And when it moves, which stops it.
  const auto moved =
      capsule_->cluster().underway({"capsule", "move", "counter", "-to", capsule_->other_than(from)}, seconds(60));
  EXPECT_EQ(moved.exit_code, 0) << moved.err << capsule_->status();
  EXPECT_TRUE(client.all_answer(seconds(20), 20)) << client.report() << services();
  EXPECT_TRUE(eventually(seconds(60), [&] { return in_sync(); })) << services() << capsule_->status();
  EXPECT_EQ(client.readings()["counter"].fell, 0);
}

}  // namespace
}  // namespace underway::harness
