// What a capsule replaces is on its standby at once, whatever may wait there.
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/capsule/counting_capsule.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

class CapsuleCopies : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs busybox-static";
    capsule_.emplace();
  }
  /// As slurmctld does: a new file takes the place of the old.
  void save(const std::string& text) const {
    const auto saved = capsule_->inside("echo " + text + " >/srv/state.new; busybox mv /srv/state.new /srv/state");
    ASSERT_EQ(saved.exit_code, 0) << saved.out << saved.err;
  }
  /// What a host has of it, in its copy.
  std::string copied(const std::string& host, const std::string& file) const {
    return capsule_->cluster()
        .enter(host, "cat /var/lib/underway-node/capsules/default/counter/overlay/copy/tree/srv/" + file)
        .out;
  }

  std::optional<CountingCapsule> capsule_;
};

TEST_F(CapsuleCopies, FollowWhatIsReplacedWithoutWaitingForWhatIsWrittenInPlace) {
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  const auto chosen =
      capsule_->cluster().underway({"capsule", "standby", "counter", "-node", to, "-every", "2h", "-rpo", "4h"});
  ASSERT_EQ(chosen.exit_code, 0) << chosen.err;
  for (const std::string text : {"one", "two", "three", "four"}) {
    save(text);
    EXPECT_TRUE(eventually(seconds(20), [&] { return copied(to, "state") == text + "\n"; }))
        << copied(to, "state") << capsule_->status();
  }
  EXPECT_EQ(copied(to, "state.new"), "");

  capsule_->pull_the_plug(from);
  ASSERT_TRUE(eventually(seconds(60), [&] { return capsule_->owner() == to && capsule_->at_rest(); }))
      << capsule_->status();
  EXPECT_EQ(capsule_->inside("cat /srv/state").out, "four\n");
}

}  // namespace
}  // namespace underway::harness
