#include "server/variable/variables.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "server/server.hpp"
#include "server/testing/fake_node.hpp"
#include "store/memory_store.hpp"

namespace underway::server::testing {
namespace {

struct World {
  explicit World(Options options = {}) : server(loop.executor(), store, clock, ids, std::move(options)) {
    server.start();
  }
  ~World() {
    loop.run_until_done(server.stop());
    loop.context().restart();
    loop.context().poll();
  }
  VariableAnswer put(const std::string& path, model::StringMap items, std::optional<model::Revision> cas = {}) {
    return loop.run_until_done(server.variables().put({"default", path, cas, {}}, std::move(items)));
  }
  tables::Row<model::Variable> row(const std::string& path) {
    return server.writer().tables().find<model::Variable>("default/" + path);
  }
  model::StringMap items(const std::string& path) { return server.variables().open(*row(path)).items; }

  async::Loop loop;
  store::MemoryStore store;
  VirtualClock clock;
  SeededIds ids{1};
  Server server;
};

TEST(Variables, LieSealedInTheStore) {
  World world;
  world.put("db", {{"password", "hunter2hunter2"}});
  EXPECT_EQ(world.items("db").at("password"), "hunter2hunter2");
  for (const auto& kv : world.store.range(store::KeyRange::prefix(""), 1000).key_values) {
    EXPECT_EQ(kv.value.find("hunter2"), std::string::npos) << kv.key;
    EXPECT_EQ(kv.value.find(base64_encode("hunter2hunter2")), std::string::npos) << kv.key;
  }
}

TEST(Variables, RefuseWithoutQuotingWhatTheyRefuse) {
  World world;
  try {
    world.put("bad path", {{"password", "hunter2\xff"}});
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_EQ(error.reasons().size(), 2U);
    EXPECT_EQ(error.text().find("hunter2"), std::string::npos) << error.text();
  }
}

TEST(Variables, OfManyWritersAtOnceExactlyOneWinsEachRound) {
  World world;
  constexpr int kWriters = 20;
  constexpr int kRounds = 50;
  world.put("counter", {{"n", "0"}});
  int conflicts = 0;
  // Each reads, adds one and writes with what it read, until its write was the next.
  const auto writer = [&]() -> async::awaitable<void> {
    for (int i = 0; i < kRounds; ++i) {
      bool written = false;
      while (!written) {
        const auto* tables = co_await world.server.read();
        const auto row = tables->find<model::Variable>("default/counter");
        const int n = std::stoi(world.server.variables().open(*row).items.at("n"));
        co_await asio::post(world.loop.executor(), asio::use_awaitable);  // others read the same
        const VariableClaim claim{"default", "counter", row->modify_index, {}};
        const model::StringMap items{{"n", std::to_string(n + 1)}};
        const auto answer = co_await world.server.variables().put(claim, items);
        written = !answer.conflict;
        conflicts += answer.conflict ? 1 : 0;
      }
    }
  };
  async::TaskGroup writers(world.loop.executor(), "writers");
  for (int i = 0; i < kWriters; ++i) writers.spawn("writer", writer());
  world.loop.run_until_done(writers.wait());
  EXPECT_EQ(world.items("counter").at("n"), std::to_string(kWriters * kRounds)) << "no write was lost";
  EXPECT_GT(conflicts, 0) << "nobody ever met another: this tested nothing";
}

TEST(Variables, AreSealedAnewByAFullRotationAndTheOldKeyCanGo) {
  World world;
  world.put("a", {{"k", "one"}});
  const auto old = world.server.keyring().active_id();
  EXPECT_THROW(world.loop.run_until_done(world.server.variables().remove_key(old)), Error);
  world.loop.run_until_done(world.server.variables().rotate(false));
  EXPECT_EQ(world.row("a")->key_id, old);
  EXPECT_THROW(world.loop.run_until_done(world.server.variables().remove_key(old)), Error) << "'a' is under it";
  const auto fresh = world.loop.run_until_done(world.server.variables().rotate(true));
  EXPECT_EQ(world.row("a")->key_id, fresh);
  world.loop.run_until_done(world.server.variables().remove_key(old));
  EXPECT_EQ(world.items("a").at("k"), "one");
}

TEST(Variables, GetAKeyThatWasPrepublishedWhenItsTimeComes) {
  World world;
  auto& variables = world.server.variables();
  const auto first = world.server.keyring().active_id();
  EXPECT_THROW(world.loop.run_until_done(variables.prepublish(world.clock.now())), Error);
  const auto waiting =
      world.loop.run_until_done(variables.prepublish(world.clock.now() + std::chrono::milliseconds(20)));
  EXPECT_EQ(world.server.keyring().active_id(), first);
  world.clock.advance(std::chrono::milliseconds(20));
  run_until(world.loop, [&] { return world.server.keyring().active_id() == waiting; });
  world.put("a", {{"k", "one"}});
  EXPECT_EQ(world.row("a")->key_id, waiting);
}

TEST(Variables, GetAKeyBeforeTheActiveOneIsTooOldAndKnowItHalfItsLife) {
  World world(Options{.root_key_rotation = std::chrono::hours(720)});
  const auto& keyring = world.server.keyring();
  const auto begun = world.clock.now();
  const auto first = keyring.active_id();
  const auto look = [&] { world.loop.run_until_done(world.server.variables().rotate(false)); };
  EXPECT_EQ(keyring.keys().size(), 1U);
  world.clock.advance(std::chrono::hours(360));
  // Any change of the keys makes the server look again.
  const auto other =
      world.loop.run_until_done(world.server.variables().prepublish(world.clock.now() + std::chrono::hours(1)));
  world.loop.run_until_done(world.server.variables().remove_key(other));
  run_until(world.loop, [&] { return keyring.keys().size() == 2U; });
  ASSERT_NE(keyring.next_prepublished(), nullptr);
  EXPECT_EQ(from_unix_nanos(keyring.next_prepublished()->publish_time), begun + std::chrono::hours(720));
  EXPECT_EQ(keyring.active_id(), first);
  // Rotated by hand, the active key is young, and the one that waits is still there.
  look();
  EXPECT_NE(keyring.next_prepublished(), nullptr);
}

void apply_cluster(World& world, const ApplyCluster& request) {
  auto completed = world.loop.run_until_done(world.server.completed(request));
  world.loop.run_until_done(world.server.apply(std::move(completed)));
}

TEST(Variables, ThatAClusterDeclaresAreMadeWithItAndOnce) {
  World world;
  ApplyCluster request;
  request.cluster.name = "demo";
  request.cluster.networks.push_back({"net", "10.0.0.0/24"});
  request.cluster.pools.push_back({.name = "p"});
  request.cluster.secrets = {{"nomad/jobs/munge", {{"key", 128, "base64"}, {"id", 16, "hex"}}}};
  apply_cluster(world, request);
  const auto first = world.items("nomad/jobs/munge");
  EXPECT_EQ(base64_decode(first.at("key")).size(), 128U);
  EXPECT_EQ(first.at("id").size(), 32U);
  apply_cluster(world, request);
  EXPECT_EQ(world.items("nomad/jobs/munge"), first);

  request.cluster.secrets[0].generate[0].bytes = -1;
  EXPECT_THROW(apply_cluster(world, request), Error);
}

TEST(Variables, MovedToAnotherPathDoNotOpen) {
  World world;
  world.put("a", {{"k", "one"}});
  auto stolen = *world.row("a");
  stolen.path = "b";
  EXPECT_THROW(world.server.variables().open(stolen), Error);
}

TEST(Variables, WhoseLockRanOutAreFreedByTheServerItself) {
  World world;
  const VariableClaim claim{"default", "leader", {}, {}};
  world.loop.run_until_done(world.server.variables().acquire(claim, {{}, model::kShortestLock, Duration{0}}, {}));
  EXPECT_TRUE(world.row("leader")->lock);
  world.clock.advance(model::kShortestLock);
  // Any change of a lease makes the server look again.
  world.loop.run_until_done(
      world.server.variables().acquire({"default", "other", {}, {}}, {{}, model::kShortestLock, Duration{0}}, {}));
  run_until(world.loop, [&] { return !world.row("leader")->lock; });
}

}  // namespace
}  // namespace underway::server::testing
