// Copies that follow what a capsule writes.
#include <stdlib.h>

#include <filesystem>

#include "controller_desk.hpp"
#include "ownership/node/detail/change_listeners.hpp"

namespace underway::ownership::testing {
namespace {

class FollowingTest : public ControllerTest {
 protected:
  FollowingTest() : ControllerTest({{"every", "100ms"}}) {}
};

TEST_F(FollowingTest, CopiesFollowWhatIsWrittenWithoutBeingAskedFor) {
  until([&] { return find()->find_replica(uuid(other())) != nullptr; });
  const int first = rounds;
  const auto noted = find()->find_replica(uuid(other()))->at;
  until([&] {  // that it has not changed makes the copy newer
    auto capsule = *find();
    controller->complete(capsule);
    return capsule.find_replica(uuid(other()))->at > noted;
  });
  EXPECT_LE(rounds, first + 1) << "nothing was written";

  for (int times = 0; times < 3; ++times) {
    const int before = rounds;
    ++written;
    until([&] { return rounds > before; });
  }
}

TEST_F(FollowingTest, ACopyIsAsOldAsTheLookThatFoundItTheSameHoweverLateThatIsTold) {
  until([&] { return find()->find_replica(uuid(other())) != nullptr; });
  const auto at = [&] {
    auto capsule = *find();
    controller->complete(capsule);
    return capsule.find_replica(uuid(other()))->at;
  };
  reply_after = 500ms;
  const int before = rounds;
  ++written;
  until([&] { return rounds > before; });
  const auto older = at();
  until([&] { return at() > older; });  // the copy is complete
  const auto copied = at();
  until([&] { return at() > copied; });  // and was found the same
  EXPECT_GE(unix_nanos(clock.now()) - at(), std::chrono::nanoseconds(reply_after).count());
}

TEST_F(FollowingTest, CopiesGoOnUntilAnUpgradeStopsIt) {
  until([&] { return find()->find_replica(uuid(other())) != nullptr; });
  hold_rehearsal = true;
  begin_upgrade();
  until([&] { return rehearsals == 1; });
  for (int times = 0; times < 3; ++times) {
    const int before = rounds;
    ++written;
    until([&] { return rounds > before; });
  }
  EXPECT_EQ(find()->upgrade->phase, model::UpgradePhase::rehearse);
  hold_rehearsal = false;
  until([&] { return upgrade_is_over() && at_rest(); });
  EXPECT_EQ(find()->last_upgrade->error, "");
  const int before = rounds;
  ++written;
  until([&] { return rounds > before; });
}

TEST_F(FollowingTest, AnUpgradeTellsThatItWaitsForACopyAndDoesNotWaitForEver) {
  until([&] { return find()->find_replica(uuid(other())) != nullptr; });
  hold_copies = true;
  const int before = rounds;
  ++written;
  until([&] { return rounds > before; });
  begin_upgrade();
  until([&] { return find()->description == "a copy of it is being made on its standby"; });
  EXPECT_EQ(find()->upgrade->phase, model::UpgradePhase::rehearse);
  until([&] { return upgrade_is_over(); });
  EXPECT_EQ(find()->last_upgrade->error,
            "it could not be rehearsed within 300ms: a copy of it is being made on its standby");
  EXPECT_EQ(rehearsals, 0);
  hold_copies = false;
}

TEST_F(FollowingTest, WhatIsTooMuchToStandStillForIsSentBeforeThat) {
  until([&] { return find()->find_replica(uuid(other())) != nullptr; });
  too_much = true;
  asked.clear();
  ++written;
  until([&] { return asked.size() > 2 && asked.back() == "consistent"; });
  EXPECT_EQ(asked[0], "consistent, brief");
  for (std::size_t n = 1; n + 1 < asked.size(); ++n) EXPECT_EQ(asked[n], "running");
}

/// What is written in place may wait for long.
class FollowingSeldomTest : public ControllerTest {
 protected:
  FollowingSeldomTest() : ControllerTest({{"every", "1h"}, {"loss", "1h"}, {"rpo", "1h"}}) {}
};

TEST_F(FollowingSeldomTest, WhatIsReplacedDoesNotWaitForThat) {
  until([&] { return find()->find_replica(uuid(other())) != nullptr; });
  for (int times = 0; times < 3; ++times) {
    const int before = rounds;
    until([&] { return watched_for > 59min; });
    ++written;  // the node has heard of it
    until([&] { return rounds > before; });
    watched_for = 0s;
  }
}

/// What a failover may start from is not much older than the last copy.
class FollowingBrieflyTest : public ControllerTest {
 protected:
  FollowingBrieflyTest() : ControllerTest({{"every", "100ms"}, {"loss", "600ms"}, {"rpo", "600ms"}}) {}
};

TEST_F(FollowingBrieflyTest, HoweverDearACopyIsTheNextIsNotPutOffForLongerThanThat) {
  cost = 1h;
  until([&] { return find()->find_replica(uuid(other())) != nullptr; });
  for (int times = 0; times < 3; ++times) {
    const int before = rounds;
    ++written;
    until([&] { return rounds > before; });
  }
}

TEST(ChangeListeners, ListenAnewWhereAnotherLayerHasThePlace) {
  namespace fs = std::filesystem;
  std::string directory = "/tmp/underway-ears-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const auto upper = directory + "/upper";
  fs::create_directory(upper);
  detail::ChangeListeners change_listeners;
  const auto before = change_listeners.at(upper);
  ASSERT_TRUE(before);
  EXPECT_EQ(change_listeners.at(upper), before);
  fs::rename(upper, directory + "/old");
  fs::create_directory(upper);
  const auto after = change_listeners.at(upper);
  ASSERT_TRUE(after);
  EXPECT_NE(after->id, before->id);
  const auto heard = after->listener.hear();
  fs::create_directory(upper + "/new");
  EXPECT_GT(after->listener.hear(), heard);
  change_listeners.give_up(upper, Error(Code::exhausted, "no watches are left"));
  EXPECT_FALSE(change_listeners.at(upper)) << "for a minute it is looked at";
  fs::remove_all(directory);
}

TEST_F(FollowingTest, AMoveDoesNotWaitUntilThereIsSomethingToCopy) {
  until([&] { return find()->find_replica(uuid(other())) != nullptr; });
  const int to = other();
  begin_move(to);
  until([&] { return find()->last_move && at_rest(); });
  EXPECT_EQ(owner(), to);
  EXPECT_EQ(find()->last_move->error, "");
  until([&] { return find()->standby == uuid(other()) && find()->find_replica(uuid(other())) != nullptr; });
}

}  // namespace
}  // namespace underway::ownership::testing
