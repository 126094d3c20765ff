// Seeded random moves of a capsule between two hosts, and deaths at random moments of them: agents, keepers, the
// server, now and then a whole host; some are cancelled. Held after each: one of it lives, where the record says, a
// client is answered, and what it was told is still so.
//
//     CAPSULE_ROUNDS   how many; 50
//     CAPSULE_SEED     which history
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>

#include "harness/capsule/counting_capsule.hpp"

namespace underway::harness {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

class Moves {
 public:
  explicit Moves(int seed) : random_(static_cast<unsigned>(seed)) {}

  void run(int rounds) {
    keep_copies();
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      if (!client_) client_.reset(new Prober(capsule_.client("c1", milliseconds(20))));
      begin();
      ::usleep(static_cast<useconds_t>(random_() % 350'000));
      const std::string what = strike();
      SCOPED_TRACE(what);
      ++counted_[what];
      look(what == "source host");
    }
    for (const auto& [what, times] : counted_) std::cerr << what << ": " << times << "\n";
    for (const auto& [how, times] : ended_) std::cerr << how << ": " << times << "\n";
  }

 private:
  /// A host that was made anew is another node.
  void keep_copies() const {
    const std::string node = capsule_.other_than(capsule_.owner());
    const auto said = capsule_.cluster().underway({"capsule", "standby", "counter", "-node", node, "-every", "1s"});
    ASSERT_EQ(said.exit_code, 0) << said.err;
    ASSERT_TRUE(eventually(seconds(30), [&] { return capsule_.status().find("standby") != std::string::npos; }));
  }

  void begin() {
    from_ = capsule_.owner();
    to_ = capsule_.other_than(from_);
    const auto said = capsule_.cluster().underway({"capsule", "move", "counter", "-to", to_, "-detach"}, seconds(20));
    ASSERT_EQ(said.exit_code, 0) << said.err << capsule_.status();
  }

  std::string strike() {
    const auto& cluster = capsule_.cluster();
    const unsigned what = random_() % 100;
    if (what < 40) return "nothing";
    if (what < 52) return end({agent_of(from_)}, "source agent");
    if (what < 64) return end({agent_of(to_)}, "target agent");
    if (what < 72) return end(capsule_.keepers(from_), "source keeper");
    if (what < 80) return end(capsule_.keepers(to_), "target keeper");
    if (what < 88) {
      cluster.underway({"capsule", "move", "-cancel", "counter"});  // it may be too late for that
      return "cancelled";
    }
    if (what < 98) {
      end(cluster.server_agents(), "");
      EXPECT_TRUE(eventually(seconds(10), [&] { return cluster.server_agents().empty(); }));
      capsule_.up();
      return "server";
    }
    capsule_.pull_the_plug(from_);
    return "source host";
  }
  /// One that was killed a moment ago is about to be started again.
  int agent_of(const std::string& host) const {
    int pid = 0;
    EXPECT_TRUE(eventually(seconds(30),
                           [&] {
                             try {
                               pid = capsule_.cluster().agent_of(host);
                             } catch (const std::runtime_error&) {
                               return false;
                             }
                             return true;
                           }))
        << "no agent on " << host;
    return pid;
  }
  static std::string end(const std::vector<int>& pids, const std::string& what) {
    for (const int pid : pids) {
      if (pid > 0) ::kill(pid, SIGKILL);
    }
    return what;
  }

  void look(bool host_died) {
    // The first look may come before the server knows that somebody is gone.
    if (host_died) {
      capsule_.up();
      EXPECT_TRUE(eventually(seconds(90), [&] { return capsule_.at_rest() && capsule_.owner() == to_; }))
          << capsule_.status();
    }
    EXPECT_TRUE(eventually(seconds(90), [&] { return capsule_.at_rest(); })) << capsule_.status();
    EXPECT_TRUE(client_->all_answer(seconds(30))) << client_->report() << capsule_.status();
    EXPECT_EQ(capsule_.doubled(), "");
    const auto reading = client_->readings()["counter"];
    EXPECT_EQ(reading.returned, 0) << "two of it answered in turn";
    // What is written after the last copy goes with a host, and what is written on a target with the way back from it.
    const auto record = capsule_.record();
    const long long may_be_lost = host_died ? 500 : record.rolled_back ? 50 : 0;
    EXPECT_LE(reading.fell, may_be_lost) << "it forgot what it had said\n" << capsule_.status();
    const std::string other = capsule_.other_than(record.owner);
    EXPECT_TRUE(eventually(seconds(20), [&] {
      return capsule_.services(record.owner).size() == 1 && capsule_.services(other).empty();
    })) << capsule_.status();
    ++ended_[record.last_error.empty() ? "moved" : "ended with: " + record.last_error];
    if (host_died || record.rolled_back) client_.reset();  // what it was told is not so any more
    if (host_died) keep_copies();
  }

  std::mt19937 random_;
  CountingCapsule capsule_;
  std::unique_ptr<Prober> client_;
  std::string from_, to_;
  std::map<std::string, int> counted_, ended_;
};

TEST(CapsuleMoves, AndDeathsLeaveOneOwnerAndLoseNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs busybox-static";
  const int seed = number_from("CAPSULE_SEED", 20261122);
  SCOPED_TRACE("CAPSULE_SEED=" + std::to_string(seed));
  Moves(seed).run(number_from("CAPSULE_ROUNDS", 50));
}

}  // namespace
}  // namespace underway::harness
