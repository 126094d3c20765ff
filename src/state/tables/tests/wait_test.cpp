#include "world.hpp"

namespace underway::tables {
namespace {

TEST(Wait, WakesAtPublishAndOnce) {
  World world;
  int woken = 0;
  const auto waiter = world.tables.wait({{Topic::jobs, "default/web"}}, [&] { ++woken; });
  world.tables.apply({PutJob{job("web"), {}}}, 1);
  EXPECT_EQ(woken, 0) << "it is not durable yet";
  world.tables.publish();
  EXPECT_EQ(woken, 1);
  world.tables.apply({PutJob{job("web"), {}}}, 2);
  world.tables.publish();
  EXPECT_EQ(woken, 1);
}

TEST(Wait, WakesExactlyTheTouchedScopes) {
  World world;
  world.put(PutJob{job("web"), {}}, PutEvaluation{evaluation("e1", "web")});
  const std::vector<Scope> scopes = {{Topic::jobs, ""},
                                     {Topic::jobs, "default/web"},
                                     {Topic::jobs, "default/db"},
                                     {Topic::nodes, ""},
                                     {Topic::nodes, "n1"},
                                     {Topic::evaluations, ""},
                                     {Topic::evaluations, "e2"},
                                     {Topic::evaluations, "job:default/db"},
                                     {Topic::allocations, ""},
                                     {Topic::allocations, "a1"},
                                     {Topic::allocations, "a2"},
                                     {Topic::allocations, "job:default/web"},
                                     {Topic::allocations, "job:default/db"},
                                     {Topic::allocations, "node:n1"},
                                     {Topic::allocations, "node:n2"},
                                     {Topic::allocations, "eval:e1"},
                                     {Topic::allocations, "eval:e2"},
                                     {Topic::clusters, "hpc"},
                                     {Topic::hosts, "hpc/c1"},
                                     {Topic::hosts, ""},
                                     {Topic::settings, "s"}};
  const auto woken_by = [&](Change change) {
    std::vector<std::string> woken;
    std::vector<std::unique_ptr<Tables::Waiter>> waiters;
    for (const auto& scope : scopes)
      waiters.push_back(world.tables.wait({scope}, [&woken, &scope] {
        woken.push_back(fmt::format("{}:{}", static_cast<int>(scope.topic), scope.key));
      }));
    world.put(std::move(change));
    std::sort(woken.begin(), woken.end());
    return woken;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(woken_by(PutAllocation{allocation("a1", "web", "n1", "e1")}),
            (Keys{"3:", "3:a1", "3:eval:e1", "3:job:default/web", "3:node:n1"}));
  EXPECT_EQ(woken_by(PutAllocation{allocation("a1", "web", "n1", "e2")}),
            (Keys{"3:", "3:a1", "3:eval:e1", "3:eval:e2", "3:job:default/web", "3:node:n1"}))
      << "also what it left";
  EXPECT_EQ(woken_by(PutEvaluation{evaluation("e2", "db")}), (Keys{"2:", "2:e2", "2:job:default/db"}));
  EXPECT_EQ(woken_by(PutNode{node("n1")}), (Keys{"1:", "1:n1"}));
  EXPECT_EQ(woken_by(PutJob{job("db"), {}}), (Keys{"0:", "0:default/db"}));
  EXPECT_EQ(woken_by(DeleteAllocation{"a1"}), (Keys{"3:", "3:a1", "3:eval:e2", "3:job:default/web", "3:node:n1"}));
  model::Host host;
  host.cluster = "hpc";
  host.name = "c1";
  EXPECT_EQ(woken_by(PutHost{host}), (Keys{"5:", "5:hpc/c1"}));
  EXPECT_EQ(woken_by(PutSetting{"s", 1}), (Keys{"6:s"}));
}

TEST(Wait, WakesOnceForManyScopes) {
  World world;
  int woken = 0;
  const auto waiter = world.tables.wait(
      {{Topic::nodes, ""}, {Topic::nodes, "n1"}, {Topic::jobs, ""}, {Topic::nodes, ""}}, [&] { ++woken; });
  world.put(PutNode{node("n1")}, PutNode{node("n2")}, PutJob{job("j"), {}});
  EXPECT_EQ(woken, 1);
}

TEST(Wait, IsTakenBackByItsDestruction) {
  World world;
  int woken = 0;
  auto before = world.tables.wait({{Topic::nodes, ""}}, [&] { ++woken; });
  before.reset();
  auto between = world.tables.wait({{Topic::nodes, ""}}, [&] { ++woken; });
  world.tables.apply({PutNode{node("n")}}, 1);
  between.reset();
  world.tables.publish();
  EXPECT_EQ(woken, 0);
}

TEST(Wait, LetsAWokenOneEndOthersAndBeginAgain) {
  World world;
  std::vector<std::string> log;
  std::unique_ptr<Tables::Waiter> first, second, again;
  first = world.tables.wait({{Topic::nodes, ""}}, [&] {
    log.emplace_back("first");
    second.reset();
    first.reset();
    again = world.tables.wait({{Topic::nodes, ""}}, [&] { log.emplace_back("again"); });
  });
  second = world.tables.wait({{Topic::nodes, "n"}}, [&] { log.emplace_back("second"); });
  world.put(PutNode{node("n")});
  EXPECT_THAT(log, ::testing::AnyOf(std::vector<std::string>{"first"}, std::vector<std::string>{"second", "first"}));
  log.clear();
  world.put(PutNode{node("n")});
  EXPECT_EQ(log, std::vector<std::string>{"again"});
}

TEST(Wait, CountsALoadAsAChange) {
  World world;
  int woken = 0;
  const auto waiter = world.tables.wait({{Topic::clusters, "hpc"}}, [&] { ++woken; });
  world.tables.load(world.store);
  world.tables.publish();
  EXPECT_EQ(woken, 1);
}

TEST(Wait, MayOutliveTheTables) {
  auto world = std::make_unique<World>();
  const auto waiting = world->tables.wait({{Topic::nodes, ""}, {Topic::jobs, ""}}, [] { FAIL(); });
  const auto touched = world->tables.wait({{Topic::nodes, "n"}}, [] { FAIL(); });
  world->tables.apply({PutNode{node("n")}}, 1);
  world.reset();
}

TEST(Wait, ServesManyOnOneScope) {
  World world;
  int woken = 0;
  std::vector<std::unique_ptr<Tables::Waiter>> waiters;
  for (int i = 0; i < 10'000; ++i)
    waiters.push_back(world.tables.wait({{Topic::nodes, ""}, {Topic::nodes, std::to_string(i)}}, [&] { ++woken; }));
  world.put(PutNode{node("7")});
  EXPECT_EQ(woken, 10'000);
}

}  // namespace
}  // namespace underway::tables
