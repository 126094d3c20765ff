#include "tables/restore.hpp"

#include "world.hpp"

namespace underway::tables {
namespace {

std::vector<store::KeyValue> all_of(World& world) { return world.store.range(store::KeyRange::prefix("")).key_values; }

std::function<std::optional<store::KeyValue>()> yielding(std::vector<store::KeyValue> all) {
  for (const auto& key : deletion_marks()) all.push_back({key, "", 1, 1, 1});
  std::map<std::string, store::KeyValue> by_key;
  for (auto& kv : all) by_key[kv.key] = kv;
  all.clear();
  for (auto& [key, kv] : by_key) all.push_back(kv);
  return [all, at = std::size_t{0}]() mutable { return at < all.size() ? std::optional(all[at++]) : std::nullopt; };
}

TEST(Restore, ChecksThatEveryRowCanBeRead) {
  World world;
  world.put(PutJob{job("web"), {}}, PutNode{node("n1")}, PutAllocation{allocation("a1", "web", "n1")},
            PutSetting{"x", 5});
  auto rows = all_of(world);
  EXPECT_NO_THROW(check_rows(rows));
  EXPECT_NO_THROW(check_rows({rows.begin(), rows.begin() + 1})) << "an allocation whose job is in another part";
  for (auto& row : rows) {
    if (row.key == "n/n1") row.value = "{";
  }
  EXPECT_THROW(check_rows(rows), Error);
}

TEST(Restore, MakesEveryIndexGrowAlsoOfWhatIsGone) {
  World old;
  old.put(PutJob{job("web"), {}});
  const auto saved = all_of(old);

  World world;
  for (int i = 0; i < 9; ++i) world.put(PutNode{node(fmt::format("n{}", i))});
  world.put(PutJob{job("later"), {}}, PutEvaluation{evaluation("e1", "later")});
  std::vector<Scope> scopes{
      {Topic::nodes, ""},           {Topic::nodes, "n3"},           {Topic::jobs, "default/later"},
      {Topic::jobs, "default/web"}, {Topic::evaluations, "e1"},     {Topic::clusters, ""},
      {Topic::records, "any/row"},  {Topic::allocations, "node:n3"}};
  const Revision before = world.tables.revision();
  int woken = 0;
  std::vector<std::unique_ptr<Tables::Waiter>> waiters;
  for (const auto& scope : scopes) waiters.push_back(world.tables.wait({scope}, [&] { ++woken; }));
  const Revision made = world.store.replace(1, yielding(saved));
  world.tables.load(world.store);
  world.tables.publish();
  EXPECT_GT(made, before);
  EXPECT_EQ(woken, static_cast<int>(scopes.size()));
  for (const auto& scope : scopes) EXPECT_EQ(world.tables.revision_of(scope), made) << scope.key;
  ASSERT_TRUE(world.tables.find_job("default", "web"));
  EXPECT_EQ(world.tables.find_job("default", "web")->create_index, 1);
  EXPECT_FALSE(world.tables.find_job("default", "later"));
  EXPECT_EQ(world.tables.job_versions("default", "web").size(), 1u);
}

}  // namespace
}  // namespace underway::tables
