#include "api/cluster/troubles.hpp"

#include <gmock/gmock.h>

#include "async/testing/simulated_time.hpp"
#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

async::LoopPlan drains(std::function<async::awaitable<void>()> reconcile) {
  return {.area = "server",
          .name = "drains",
          .trouble = "drains cannot go on",
          .wait = [] { return async::sleep_for(1s); },
          .reconcile = std::move(reconcile)};
}

async::awaitable<void> fail() {
  throw Error(Code::exhausted, "the disk is full");
  co_return;
}

class LoopTroubles : public ::testing::Test {
 protected:
  ~LoopTroubles() override {
    tasks_.cancel();
    time_.run_for(0s);
  }
  async::Loop loop_;
  async::SimulatedTime time_{loop_};
  async::LoopRegistry loops_{time_, 7};
  async::TaskGroup tasks_{loop_.executor(), "test"};
};

TEST_F(LoopTroubles, TellOfALoopThatFailsForMoreThanAMinute) {
  loops_.start(tasks_, drains(fail));
  time_.run_for(1s);
  const TimePoint first = time_.now();
  time_.run_for(55s);
  EXPECT_TRUE(attention_for(loops_).empty()) << "it may pass by itself";
  time_.run_for(10s);
  const auto told = attention_for(loops_);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].what,
            fmt::format("the control loop 'drains' fails since {}: drains cannot go on", format_time(first)));
  EXPECT_THAT(told[0].why, ::testing::MatchesRegex("the disk is full \\([0-9]+ times in a row\\)"));
  EXPECT_THAT(told[0].advice, HasSubstr("it tries again by itself"));
}

TEST_F(LoopTroubles, TellOfALoopThatDoesNotComeBack) {
  loops_.start(tasks_, drains([] { return async::sleep_for(10h); }));
  time_.run_for(4min);
  EXPECT_TRUE(attention_for(loops_).empty());
  time_.run_for(2min);
  const auto told = attention_for(loops_);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].what, HasSubstr("the control loop 'drains' is stuck since "));
  EXPECT_THAT(told[0].why, HasSubstr("its look takes 5m5"));
  EXPECT_THAT(told[0].why, HasSubstr("should take less than 5m"));
  EXPECT_THAT(told[0].advice, HasSubstr("underway operator debug"));
}

/// The status of a server with a loop that began to fail two minutes ago.
class StatusOfLoops : public AccessTest {
 protected:
  StatusOfLoops() {
    world.server.loops().start(tasks_, drains(fail));
    server::testing::run_until(world.loop, [this] {
      const auto& health = world.server.loops().health();
      return !health.empty() && health.back().failures > 0;
    });
    later_.now = std::chrono::steady_clock::now() + 2min;
    async::LoopClock::simulate(&later_);
  }
  ~StatusOfLoops() override {
    async::LoopClock::simulate(nullptr);
    world.loop.run_until_done(tasks_.stop());
  }
  std::string attention() { return boost::json::serialize(world.read("/v1/underway/status").at("Attention")); }

  async::TaskGroup tasks_{world.loop.executor(), "test"};
  async::LoopClock::Simulation later_;
};

TEST_F(StatusOfLoops, TellsOperatorsOfItAndNobodyElse) {
  make_token("operator", "node { policy = \"read\" }");
  make_token("developer", "namespace \"default\" { capabilities = [\"read-job\"] }");
  world.token = "operator";
  EXPECT_THAT(attention(), HasSubstr("the control loop 'drains' fails since"));
  EXPECT_THAT(attention(), HasSubstr("the disk is full"));
  world.token = "developer";
  EXPECT_EQ(attention(), "[]");
}

TEST(NodeTroubles, AreOneEntryForALoopHoweverManyNodesItFailsOn) {
  std::map<std::string, std::vector<protocol::LoopTrouble>> nodes;
  for (int i = 1; i <= 9; ++i) {
    const auto since = unix_nanos(from_unix_nanos(0) + std::chrono::hours(i == 3 ? 1 : 2));
    nodes[fmt::format("n{}", i)] = {{"files", "files are not synchronized", fmt::format("n{} is full", i), since}};
  }
  nodes["n2"].push_back({"saving", "capsules are not saved", "its look takes 6m already", 0, true});
  const auto told = attention_for(nodes);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].what,
            "the control loop 'files' on n1, n2, n3, n4, n5 and 4 more fails since 1970-01-01T01:00:00Z: files are not "
            "synchronized");
  EXPECT_EQ(told[0].why, "n3 is full") << "that of the one that began";
  EXPECT_THAT(told[1].what, HasSubstr("the control loop 'saving' on n2 is stuck since"));
}

class StatusOfNodes : public ::testing::Test {
 protected:
  FakeNode& linked_node(std::vector<protocol::LoopTrouble> troubles) {
    auto& node = world.link(1);
    node.troubles = std::move(troubles);
    world.loop.run_until_done(node.send_heartbeat());
    return node;
  }
  std::string attention() { return boost::json::serialize(world.read("/v1/underway/status").at("Attention")); }

  World world;
};

TEST_F(StatusOfNodes, TellsWhatANodeCannotDoUntilItCan) {
  auto& node = linked_node({{"files", "files are not synchronized", "the disk is full", 1}});
  const std::string told = "the control loop 'files' on c1 fails since";
  server::testing::run_until(world.loop, [&] { return attention().find(told) != std::string::npos; });
  EXPECT_THAT(attention(), HasSubstr("the disk is full"));
  node.troubles.clear();
  world.loop.run_until_done(node.send_heartbeat());
  server::testing::run_until(world.loop, [&] { return attention().find(told) == std::string::npos; });
}

TEST_F(StatusOfNodes, KeepsLittleOfANodeThatTellsMuch) {
  std::vector<protocol::LoopTrouble> many;
  for (int i = 0; i < 1000; ++i) many.push_back({fmt::format("loop{}", i), "", std::string(10'000, 'x'), 1});
  many[0].why = std::string(499, 'x') + "é";
  auto& node = linked_node(std::move(many));
  server::testing::run_until(world.loop, [&] { return !world.server.node_troubles().empty(); });
  const auto kept = world.server.node_troubles().at(node.id());
  EXPECT_EQ(kept.size(), 16U);
  EXPECT_EQ(kept[0].why, std::string(499, 'x')) << "no half of a character";
  EXPECT_EQ(kept[1].why.size(), 500U);
}

}  // namespace
}  // namespace underway::api::testing
