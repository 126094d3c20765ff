#include <gmock/gmock.h>

#include "api/tests/access.hpp"

namespace underway::api {
namespace {

using testing::AccessTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::make_job;
using testing::make_node;
using testing::World;

using Names = std::vector<std::string>;

Names names(const boost::json::value& list, const char* key = "Name") {
  Names out;
  for (const auto& row : list.as_array()) out.emplace_back(row.at(key).as_string());
  return out;
}

constexpr const char* kQuota = R"({"Name": "physics", "Limits": [{"Region": "global", "RegionLimit": {"CPU": 1200}}]})";

TEST(NodePoolsApi, AreWrittenReadAndDeletedInNomadsShape) {
  World world;
  ASSERT_EQ(world
                .put("/v1/node/pools", R"({"Name": "gpu", "Description": "with cards", "Meta": {"rack": "r1"},
      "SchedulerConfiguration": {"SchedulerAlgorithm": "spread", "MemoryOversubscriptionEnabled": true}})")
                .status,
            200);
  EXPECT_EQ(names(world.read("/v1/node/pools")), (Names{"all", "default", "gpu"}));
  EXPECT_EQ(names(world.read("/v1/node/pools?prefix=g")), (Names{"gpu"}));
  const auto pool = world.read("/v1/node/pool/gpu");
  EXPECT_EQ(pool.at("SchedulerConfiguration").at("SchedulerAlgorithm"), "spread");
  EXPECT_EQ(pool.at("Meta").at("rack"), "r1");
  EXPECT_GT(pool.at("ModifyIndex").as_int64(), 0);
  EXPECT_EQ(world.get("/v1/node/pool/none").status, 404);
  EXPECT_EQ(world.put("/v1/node/pool/gpu", R"({"Name": "cpu"})").status, 400);
  EXPECT_EQ(world.send("DELETE", "/v1/node/pool/gpu").status, 200);
  EXPECT_EQ(world.get("/v1/node/pool/gpu").status, 404);
}

TEST(NodePoolsApi, SayHowLongTheIdentitiesOfTheirNodesAreGood) {
  World world;
  ASSERT_EQ(world.put("/v1/node/pools", R"({"Name": "gpu", "NodeIdentityTTL": "1h"})").status, 200);
  EXPECT_EQ(world.read("/v1/node/pool/gpu").at("NodeIdentityTTL"), 3'600'000'000'000);
  ASSERT_EQ(world.put("/v1/node/pools", R"({"Name": "cpu", "NodeIdentityTTL": ""})").status, 200);
  const auto refused = world.put("/v1/node/pools", R"({"Name": "cpu", "NodeIdentityTTL": "1s"})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("at least 1m"));
}

TEST(NamespacesApi, RefuseByNameWhatOnlyEnterpriseHas) {
  World world;
  const auto refused = world.put("/v1/namespace", R"({"Name": "hpc", "NodePoolConfiguration": {"Default": "gpu"}})");
  EXPECT_EQ(refused.status, 501);
  EXPECT_THAT(refused.body, HasSubstr("NodePoolConfiguration is not supported"));
  EXPECT_EQ(world.get("/v1/namespace/hpc").status, 404);
  EXPECT_EQ(world.put("/v1/namespace", R"({"Name": "hpc", "NodePoolConfiguration": null})").status, 200);
}

TEST(NodePoolsApi, ListWhatIsInThem) {
  World world;
  model::Node node = make_node(1);
  node.node_pool = "gpu";
  world.join(node);
  world.join(make_node(2));
  model::Job job = make_job("train");
  job.node_pool = "gpu";
  ASSERT_EQ(world.run(job).status, 200);
  ASSERT_EQ(world.run(make_job("web")).status, 200);
  EXPECT_EQ(names(world.read("/v1/node/pool/gpu/nodes")), (Names{"c1"}));
  EXPECT_EQ(names(world.read("/v1/node/pool/all/nodes")), (Names{"c1", "c2"}));
  EXPECT_EQ(names(world.read("/v1/node/pool/gpu/jobs")), (Names{"train"}));
  const auto refused = world.send("DELETE", "/v1/node/pool/gpu");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("c1"));
}

TEST(QuotasApi, TellWhatIsUsedAndWhatIsHeldBack) {
  World world;
  world.join(make_node(1));
  ASSERT_EQ(world.put("/v1/quota", kQuota).status, 200);
  ASSERT_EQ(world.put("/v1/namespace/default", R"({"Name": "default", "Quota": "physics"})").status, 200);
  ASSERT_EQ(world.run(make_job("web", 3)).status, 200);
  const auto quota = world.read("/v1/quota/physics");
  const std::string hash(quota.at("Limits").at(0).at("Hash").as_string());
  const auto usage = world.read("/v1/quota/usage/physics");
  EXPECT_EQ(usage.at("Used").at(hash).at("RegionLimit").at("CPU"), 1000);
  EXPECT_EQ(names(world.read("/v1/quota-usages")), (Names{"physics"}));
  Names reached;
  const auto evaluations = world.read("/v1/job/web/evaluations");
  for (const auto& evaluation : evaluations.as_array()) {
    if (evaluation.at("Status") == "blocked") reached.emplace_back(evaluation.at("QuotaLimitReached").as_string());
  }
  EXPECT_THAT(reached, ElementsAre("physics"));
  EXPECT_EQ(world.send("DELETE", "/v1/quota/physics").status, 409);
  EXPECT_EQ(world.put("/v1/quota", R"({"Name": "x", "Limits": [{"Region": "eu"}]})").status, 400);
}

TEST(QuotasApi, AreFoundBySearch) {
  World world;
  ASSERT_EQ(world.put("/v1/quota", kQuota).status, 200);
  const auto found = json::parse(world.put("/v1/search", R"({"Prefix": "phy", "Context": "quotas"})").body);
  EXPECT_EQ(found.at("Matches").at("quotas").as_array().size(), 1u);
}

struct PoolAccess : AccessTest {};

TEST_F(PoolAccess, IsByThePoolsOwnRules) {
  make_token("root", "");
  make_token("gpu", R"(node_pool "gpu" { policy = "write" })");
  world.token = "root";
  ASSERT_EQ(status("PUT", "/v1/node/pools", R"({"Name": "gpu"})"), 200);
  ASSERT_EQ(status("PUT", "/v1/node/pools", R"({"Name": "big"})"), 200);
  world.token = "gpu";
  EXPECT_EQ(names(world.read("/v1/node/pools")), (Names{"gpu"}));
  EXPECT_EQ(status("GET", "/v1/node/pool/big"), 403);
  EXPECT_EQ(status("PUT", "/v1/node/pool/big", R"({"Name": "big"})"), 403);
  EXPECT_EQ(status("PUT", "/v1/node/pool/gpu", R"({"Name": "gpu", "Description": "mine"})"), 200);
  EXPECT_EQ(status("DELETE", "/v1/node/pool/big"), 403);
}

TEST_F(PoolAccess, OfQuotasIsByQuotaRulesAndByTheNamespacesThatTheyBound) {
  make_token("root", "");
  make_token("reader", R"(quota { policy = "read" })");
  make_token("user", R"(namespace "default" { policy = "read" })");
  world.token = "root";
  ASSERT_EQ(status("PUT", "/v1/quota", kQuota), 200);
  world.token = "user";
  EXPECT_EQ(status("GET", "/v1/quota/physics"), 404);
  world.token = "root";
  ASSERT_EQ(status("PUT", "/v1/namespace/default", R"({"Name": "default", "Quota": "physics"})"), 200);
  world.token = "user";
  EXPECT_EQ(status("GET", "/v1/quota/physics"), 200);
  EXPECT_EQ(status("PUT", "/v1/quota", kQuota), 403);
  world.token = "reader";
  EXPECT_EQ(names(world.read("/v1/quotas")), (Names{"physics"}));
  EXPECT_EQ(status("DELETE", "/v1/quota/physics"), 403);
}

}  // namespace
}  // namespace underway::api
