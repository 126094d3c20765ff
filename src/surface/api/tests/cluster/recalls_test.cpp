// Hosts that are taken back: what is asked for, what is refused, and who may.
#include <gmock/gmock.h>

#include "tables/recalls.hpp"
#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using ::testing::HasSubstr;

model::Cluster tide() {
  model::Cluster out;
  out.name = "tide";
  out.networks = {{.name = "lan", .cidr = "10.80.0.0/24"}};
  model::Pool spot{.name = "spot", .size = 0, .hostname = "s%d", .cpus = 1, .memory_mb = 1000};
  spot.slurm = model::SlurmJoin{.most = 4};
  spot.elastic = model::PoolElastic{.opportunistic = true};
  out.pools = {{.name = "login", .hostname = "login"}, spot};
  return out;
}

TEST(Recalls, AreAskedForReadAndEnded) {
  World world;
  world.apply(server::ApplyCluster{tide(), {}, {}});
  EXPECT_EQ(world.get("/v1/underway/recalls").body, "[]");
  const auto made = world.put("/v1/underway/recalls/tide", R"({"Pool":"spot","Count":2,"Reason":"monday"})");
  EXPECT_EQ(made.status, 200) << made.body;
  EXPECT_THAT(made.body, HasSubstr("\"Number\":1"));
  const auto read = world.get("/v1/underway/recall/tide/1");
  EXPECT_THAT(read.body, HasSubstr("\"Why\":\"monday\""));
  EXPECT_THAT(world.get("/v1/underway/recalls?cluster=tide").body, HasSubstr("monday"));
  EXPECT_EQ(world.get("/v1/underway/recalls?cluster=other").body, "[]");
  EXPECT_EQ(world.get("/v1/underway/recall/tide/2").status, 404);
  EXPECT_EQ(world.get("/v1/underway/recall/tide/x").status, 400);
  EXPECT_EQ(world.send("DELETE", "/v1/underway/recalls/tide?number=x").status, 400);
  EXPECT_THAT(world.send("DELETE", "/v1/underway/recalls/tide?number=1").body, HasSubstr("monday"));
  EXPECT_EQ(world.send("DELETE", "/v1/underway/recalls/tide").status, 404) << "there is none any more";
}

TEST(Recalls, OfWhatIsPromisedAreRefusedWithTheReason) {
  World world;
  world.apply(server::ApplyCluster{tide(), {}, {}});
  const auto refused = [&](const char* body, int status) {
    const auto answer = world.put("/v1/underway/recalls/tide", body);
    EXPECT_EQ(answer.status, status) << body << answer.body;
    return answer.body;
  };
  EXPECT_THAT(refused(R"({"Pool":"login","Count":1})", 409), HasSubstr("opportunistic are 'spot'"));
  EXPECT_THAT(refused(R"({"Hosts":["s9"]})", 404), HasSubstr("has no host 's9'"));
  refused(R"({"Pool":"spot","Count":0})", 400);
  refused(R"({"Pool":"none","Count":1})", 404);
  refused((R"({"Pool":"spot","Count":1,"Reason":")" + std::string(201, 'x') + "\"}").c_str(), 400);
  EXPECT_EQ(world.put("/v1/underway/recalls/lab", R"({"Pool":"spot","Count":1})").status, 404);
}

class RecallAccess : public AccessTest {};

TEST_F(RecallAccess, IsForWhoMayChangeHosts) {
  make_token("reader", "node { policy = \"read\" }");
  make_token("operator", "node { policy = \"write\" }");
  world.token = "reader";
  EXPECT_EQ(status("GET", "/v1/underway/recalls"), 200);
  EXPECT_EQ(status("PUT", "/v1/underway/recalls/tide"), 403);
  EXPECT_EQ(status("DELETE", "/v1/underway/recalls/tide"), 403);
  world.token = "operator";
  EXPECT_EQ(status("DELETE", "/v1/underway/recalls/tide"), 404) << "there is none";
}

}  // namespace
}  // namespace underway::api::testing
