// Capsules that move between real hosts: with what they wrote and the address that they have; back; away from a host
// that dies; and not to one that cannot run them.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "harness/capsule/counting_capsule.hpp"

namespace underway::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CapsuleMove : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs busybox-static";
    capsule_.emplace();
  }
  Finished move(const std::string& to, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"capsule", "move", "counter", "-to", to};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return capsule_->cluster().underway(std::move(arguments), seconds(60));
  }
  Reading reading(const Prober& client) const {
    auto all = client.readings();
    return all["counter"];
  }
  /// The client has had an answer just now, and never one of two at once or one that it had before.
  void expect_served(const Prober& client) const {
    EXPECT_TRUE(client.all_answer(seconds(20))) << client.report() << capsule_->status();
    EXPECT_EQ(capsule_->doubled(), "");
    EXPECT_EQ(reading(client).returned, 0) << "two of it answered in turn";
  }

  std::optional<CountingCapsule> capsule_;
};

TEST_F(CapsuleMove, TakesWhatItWroteAndItsAddressAlongAndComesBack) {
  for (int round = 0; round < 3; ++round) {
    const std::string from = capsule_->owner(), to = capsule_->other_than(from);
    const Prober client = capsule_->client("c1", milliseconds(5));
    ASSERT_TRUE(client.all_answer(seconds(10)));
    const auto moved = move(to);
    ASSERT_EQ(moved.exit_code, 0) << moved.out << moved.err << capsule_->status();
    EXPECT_EQ(capsule_->owner(), to);
    EXPECT_TRUE(moved.err.starts_with("Impact: brief: ")) << moved.err;
    EXPECT_NE(moved.err.find("it was away for"), std::string::npos) << moved.err;
    expect_served(client);
    EXPECT_EQ(reading(client).fell, 0) << "it forgot what it had said";
    EXPECT_TRUE(capsule_->services(from).empty()) << "something of it is left on " << from;
    std::cerr << "a client that connects every 5 ms was without an answer for " << reading(client).longest.count()
              << " ms; the server says " << capsule_->record().gap_ms << " ms\n";
  }
  const auto text = capsule_->status();
  EXPECT_NE(text.find("standby"), std::string::npos) << text;
  EXPECT_NE(text.find("(before move)"), std::string::npos) << "there is no snapshot of before the last move\n" << text;
}

TEST_F(CapsuleMove, IsRefusedByAHostThatCannotRunItAndNothingHappens) {
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  const Prober client = capsule_->client("c1", milliseconds(20));
  const auto rehearsed = move(to, {"-dry-run"});
  EXPECT_EQ(rehearsed.exit_code, 0) << rehearsed.err;
  ASSERT_EQ(capsule_->cluster().on(to, "ip link set br-cluster down; ip link set br-cluster name br-gone").exit_code,
            0);
  const auto refused = move(to);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("there is no bridge 'br-cluster'"), std::string::npos) << refused.err;
  EXPECT_EQ(capsule_->owner(), from);
  expect_served(client);
  EXPECT_EQ(reading(client).fell, 0);
}

TEST_F(CapsuleMove, ToAHostWithoutTheSpaceIsRefusedOrGoesBackAndLeavesNothingThere) {
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  const std::string place = "/var/lib/underway-node/capsules";
  const auto on_target = [&](const std::string& line) { return capsule_->cluster().on(to, line); };
  // No copies but those of moves lie there.
  ASSERT_EQ(capsule_->cluster().underway({"capsule", "standby", "counter", "-none"}).exit_code, 0);
  // Of its own, as its disk is everybody's here.
  ASSERT_EQ(on_target("mkdir -p " + place + " && mount -t tmpfs -o size=100m tmpfs " + place).exit_code, 0);
  const auto write = [&](int mebibytes, const std::string& file) {
    EXPECT_EQ(
        capsule_->inside("dd if=/dev/urandom of=/srv/" + file + " bs=1M count=" + std::to_string(mebibytes)).exit_code,
        0);
  };
  write(60, "much");
  const auto services = capsule_->services(from);
  const Prober client = capsule_->client("c1", milliseconds(20));
  const auto refused = move(to);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("MiB free for it, and it needs 124 MiB"), std::string::npos) << refused.err;
  EXPECT_EQ(capsule_->owner(), from);
  EXPECT_EQ(on_target("find " + place + " -type f | grep -v -e '\\.json$' -e '\\.lock$'").out, "");
  expect_served(client);
  EXPECT_EQ(capsule_->services(from), services) << "it was started anew";

  // There was space when it was looked at, and then there is not, at the worst moment.
  ASSERT_EQ(on_target("mount -o remount,size=130m " + place).exit_code, 0);
  capsule_->hold("before_stop");
  ASSERT_EQ(move(to, {"-detach"}).exit_code, 0);
  ASSERT_TRUE(eventually(seconds(30), [&] { return capsule_->in_phase("before_stop"); })) << capsule_->status();
  write(100, "more");
  capsule_->let_go("before_stop");
  EXPECT_TRUE(eventually(seconds(60), [&] { return capsule_->at_rest(); })) << capsule_->status();
  const auto record = capsule_->record();
  EXPECT_EQ(record.owner, from);
  EXPECT_TRUE(record.rolled_back);
  EXPECT_NE(record.last_error.find("pace"), std::string::npos) << record.last_error;
  std::cerr << "refused with: " << refused.err << "went back with: " << record.last_error << "\n";
  expect_served(client);
  EXPECT_EQ(reading(client).fell, 0) << "it forgot what it had said";
  EXPECT_TRUE(capsule_->services(to).empty());
  const long long left = std::atoll(on_target("du -sm " + place).out.c_str());
  EXPECT_LT(left, 70) << on_target("find " + place + " -type f | xargs ls -l").out;
  ASSERT_EQ(on_target("mount -o remount,size=500m " + place).exit_code, 0);
  EXPECT_EQ(move(to).exit_code, 0) << "with space it moves";
  expect_served(client);
}

TEST_F(CapsuleMove, IsOverOnlyWhenItsCheckPasses) {
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  const Prober client = capsule_->client("c1", milliseconds(20));
  capsule_->fail_check();
  ASSERT_EQ(move(to, {"-detach"}).exit_code, 0);
  ASSERT_TRUE(eventually(seconds(20), [&] { return capsule_->in_phase("check"); })) << capsule_->status();
  expect_served(client);  // it runs there, and answers: that does not make it healthy
  EXPECT_TRUE(eventually(seconds(10), [&] {
    const auto now = capsule_->record();
    return now.phase == "check" && now.description.find("the step check ended with 1") != std::string::npos;
  })) << capsule_->status();
  EXPECT_EQ(capsule_->record().state, "moving");
  capsule_->let_go("fail");
  EXPECT_TRUE(eventually(seconds(20), [&] { return capsule_->at_rest(); })) << capsule_->status();
  const auto record = capsule_->record();
  EXPECT_EQ(record.owner, to);
  EXPECT_EQ(record.last_error, "");
  EXPECT_GT(record.gap_ms, 3000) << "it was said to be back before its check had passed";
}

TEST_F(CapsuleMove, GoesBackWhenItIsCancelledBeforeItsCheckHasPassed) {
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  const Prober client = capsule_->client("c1", milliseconds(20));
  capsule_->fail_check();
  ASSERT_EQ(move(to, {"-detach"}).exit_code, 0);
  ASSERT_TRUE(eventually(seconds(20), [&] { return capsule_->in_phase("check"); })) << capsule_->status();
  const auto cancelled = capsule_->cluster().underway({"capsule", "move", "-cancel", "counter"});
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
  EXPECT_TRUE(eventually(seconds(20), [&] { return capsule_->at_rest(); })) << capsule_->status();
  const auto record = capsule_->record();
  EXPECT_EQ(record.owner, from);
  EXPECT_TRUE(record.rolled_back);
  EXPECT_EQ(record.last_error, "it was cancelled");
  expect_served(client);
  EXPECT_TRUE(capsule_->services(to).empty()) << "something of it is left on " << to;
}

TEST_F(CapsuleMove, WhatWasWrittenWhereItWentBackFromLiesInTheTrashThere) {
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  const auto in_trash = [&](const std::string& host) {
    return capsule_->cluster().on(host, "find /var/lib/underway-node/trash -type f -name only-here 2>&1").out;
  };
  ASSERT_EQ(move(to).exit_code, 0);
  ASSERT_EQ(move(from).exit_code, 0);
  capsule_->fail_check();
  ASSERT_EQ(move(to, {"-detach"}).exit_code, 0);
  ASSERT_TRUE(eventually(seconds(20), [&] { return capsule_->in_phase("check"); })) << capsule_->status();
  ASSERT_EQ(capsule_->inside("echo acknowledged > /srv/only-here").exit_code, 0);
  ASSERT_EQ(capsule_->cluster().underway({"capsule", "move", "-cancel", "counter"}).exit_code, 0);
  ASSERT_TRUE(eventually(seconds(20), [&] { return capsule_->at_rest(); })) << capsule_->status();
  EXPECT_EQ(capsule_->owner(), from);
  capsule_->let_go("fail");
  capsule_->keep_copies(to, 1);
  EXPECT_TRUE(eventually(seconds(20), [&] { return in_trash(to).find("only-here") != std::string::npos; }))
      << in_trash(to) << capsule_->status();
  // What a move took along is nowhere put aside: of all of them there is one.
  EXPECT_EQ(move(to).exit_code, 0);
  EXPECT_EQ(move(from).exit_code, 0);
  EXPECT_EQ(capsule_->cluster().on(to, "ls /var/lib/underway-node/trash | wc -l").out, "1\n");
  EXPECT_EQ(capsule_->cluster().on(from, "ls /var/lib/underway-node/trash 2>/dev/null | wc -l").out, "0\n");
}

TEST_F(CapsuleMove, GoesOnAfterTheServerWasKilledInIt) {
  const std::string to = capsule_->other_than(capsule_->owner());
  const Prober client = capsule_->client("c1", milliseconds(20));
  ASSERT_EQ(move(to, {"-detach"}).exit_code, 0);
  for (const int pid : capsule_->cluster().server_agents()) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually(seconds(10), [&] { return capsule_->cluster().server_agents().empty(); }));
  capsule_->up();
  EXPECT_TRUE(eventually(seconds(40), [&] { return capsule_->at_rest() && capsule_->owner() == to; }))
      << capsule_->status();
  expect_served(client);
  EXPECT_EQ(reading(client).fell, 0);
}

TEST_F(CapsuleMove, TheStandbyTakesOverWhenTheHostDies) {
  const std::string from = capsule_->owner(), to = capsule_->other_than(from);
  const auto standby = capsule_->cluster().underway({"capsule", "standby", "counter", "-node", to, "-every", "1s"});
  ASSERT_EQ(standby.exit_code, 0) << standby.err;
  const Prober client = capsule_->client("c1", milliseconds(20));
  ASSERT_TRUE(eventually(seconds(30), [&] { return capsule_->status().find("standby") != std::string::npos; }));
  ASSERT_TRUE(client.all_answer(seconds(10), 100));
  capsule_->pull_the_plug(from);
  EXPECT_TRUE(eventually(seconds(60), [&] { return capsule_->at_rest() && capsule_->owner() == to; }))
      << capsule_->status();
  expect_served(client);
  EXPECT_LE(reading(client).fell, 150) << "a copy is at most a second old, and takes a while";
  // Its pool makes the host anew, and copies go there from then on.
  EXPECT_TRUE(eventually(seconds(30), [&] {
    return capsule_->status().find("\nStandby    = " + from + "\n") != std::string::npos;
  })) << capsule_->status();
}

}  // namespace
}  // namespace underway::harness
