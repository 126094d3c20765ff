#include "server/node/node_pool_decisions.hpp"

#include "base/error.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using namespace underway::server::testing;

void put_pool(Desk& desk, const model::NodePool& pool) { desk.run(PutNodePool{pool}); }
void remove(Desk& desk, const std::string& name) { desk.run(DeleteNodePool{name}); }

std::string pool_refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.one_line();
  }
  return "";
}

model::NodePool named(const std::string& name) {
  model::NodePool pool;
  pool.name = name;
  return pool;
}

TEST(NodePools, TwoAreBuiltInAndStay) {
  Desk desk;
  const auto pools = tables::node_pools(desk.tables);
  ASSERT_EQ(pools.size(), 2u);
  EXPECT_EQ(pools[0].name, "all");
  EXPECT_EQ(pools[1].name, "default");
  EXPECT_NE(pool_refusal([&] { remove(desk, "default"); }), "");
  EXPECT_NE(pool_refusal([&] { put_pool(desk, named("all")); }), "");
  EXPECT_NE(pool_refusal([&] { put_pool(desk, named("no blanks")); }), "");
}

TEST(NodePools, AreMadeByNodesThatJoinAndGoneOnlyWhenUnused) {
  Desk desk;
  model::Node node = make_node(1);
  node.node_pool = "gpu";
  desk.join(node);
  ASSERT_TRUE(tables::find_node_pool(desk.tables, "gpu"));
  EXPECT_NE(pool_refusal([&] { remove(desk, "gpu"); }).find("has nodes in it"), std::string::npos);
  put_pool(desk, named("big"));
  model::Job job = make_job("web");
  job.node_pool = "big";
  desk.register_job(job);
  EXPECT_NE(pool_refusal([&] { remove(desk, "big"); }).find("default/web"), std::string::npos);
  put_pool(desk, named("free"));
  remove(desk, "free");
  EXPECT_FALSE(tables::find_node_pool(desk.tables, "free"));
}

TEST(NodePools, SetTheAlgorithmOfTheirJobs) {
  Desk desk;
  model::Node big = make_node(1, 8000, 16'384), small = make_node(2, 1000, 1024);
  big.node_pool = small.node_pool = "web";
  desk.join(big);
  desk.join(small);
  model::Job job = make_job("first");
  job.node_pool = "web";
  desk.register_job(job);
  EXPECT_EQ(desk.only("first")->node_id, uuid(2)) << "packed";
  model::NodePool pool = *tables::find_node_pool(desk.tables, "web");
  pool.scheduling.algorithm = model::SchedulerAlgorithm::spread;
  put_pool(desk, pool);
  job.id = "second";
  desk.register_job(job);
  EXPECT_EQ(desk.only("second")->node_id, uuid(1)) << "spread";
}

}  // namespace
}  // namespace underway::server
