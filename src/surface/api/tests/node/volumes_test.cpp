#include <gtest/gtest.h>

#include "api/testing/world.hpp"
#include "api/tests/access.hpp"
#include "protocol/volume_messages.hpp"

namespace underway::api {
namespace {

using testing::make_job;
using testing::World;

constexpr const char* kCreate = "/v1/volume/host/create";

std::string specification(const std::string& name = "data", const std::string& more = {}) {
  return fmt::format(R"({{"Volume": {{"Name": "{}", "PluginID": "mkdir", "RequestedCapabilities":
      [{{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}}]{}}}}})",
                     name, more);
}

/// A node that makes every volume.
testing::FakeNode& link(World& world) {
  auto& node = world.link(1);
  node.answers["volume.create"] = [](const boost::json::value&) {
    return json::to_value(protocol::VolumeMade{"/srv/made", 7});
  };
  return node;
}

TEST(VolumesApi, MakesListsReadsAndDeletesInNomadsShape) {
  World world;
  link(world);
  const auto created = world.put(kCreate, specification());
  ASSERT_EQ(created.status, 200) << created.body;
  const auto volume = json::parse(created.body).at("Volume");
  const std::string id(volume.at("ID").as_string());
  EXPECT_EQ(volume.at("State"), "ready");
  EXPECT_EQ(volume.at("HostPath"), "/srv/made");
  EXPECT_EQ(volume.at("CapacityBytes"), 7);
  EXPECT_EQ(volume.at("Namespace"), "default");
  EXPECT_FALSE(volume.as_object().contains("Deleting"));

  const auto list = world.read("/v1/volumes?type=host");
  ASSERT_EQ(list.as_array().size(), 1u);
  EXPECT_EQ(list.at(0).at("Name"), "data");
  EXPECT_FALSE(list.at(0).as_object().contains("HostPath"));
  EXPECT_EQ(world.read("/v1/volumes?type=host&node_id=ffff").as_array().size(), 0u);
  EXPECT_EQ(world.read("/v1/volumes?type=host&filter=Name%20%3D%3D%20%22other%22").as_array().size(), 0u);
  EXPECT_EQ(world.read("/v1/volumes?type=csi").as_array().size(), 0u);
  EXPECT_EQ(world.get("/v1/volumes?type=tape").status, 400);

  model::Job job = make_job("db");
  job.groups[0].volumes["v"] = {.name = "v", .source = "data", .sticky = true};
  ASSERT_EQ(world.run(job).status, 200);
  const auto read = world.read("/v1/volume/host/" + id);
  ASSERT_EQ(read.at("Allocations").as_array().size(), 1u);
  EXPECT_EQ(read.at("Allocations").at(0).at("JobID"), "db");
  const auto refused = world.send("DELETE", "/v1/volume/host/" + id + "/delete");
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.body.find("in use by allocations"), std::string::npos);

  const auto claims = world.read("/v1/volumes/claims?job_id=db");
  ASSERT_EQ(claims.as_array().size(), 1u);
  EXPECT_EQ(std::string(claims.at(0).at("VolumeID").as_string()), id);
  EXPECT_EQ(claims.at(0).at("TaskGroupName"), "g");
  EXPECT_EQ(world.read("/v1/volumes/claims?job_id=web").as_array().size(), 0u);
  const std::string claim(claims.at(0).at("ID").as_string());
  EXPECT_EQ(world.send("DELETE", "/v1/volumes/claims/" + claim).status, 200);
  EXPECT_EQ(world.send("DELETE", "/v1/volumes/claims/" + claim).status, 404);

  ASSERT_EQ(world.send("DELETE", "/v1/job/db").status, 200);
  server::testing::run_until(
      world.loop, [&] { return world.tables().allocations_of_job("default", "db").front()->client_terminal(); });
  EXPECT_EQ(world.send("DELETE", "/v1/volume/host/" + id).status, 200);
  EXPECT_EQ(world.get("/v1/volume/host/" + id).status, 404);
}

TEST(VolumesApi, RefusesWhatIsNoVolume) {
  World world;
  link(world);
  EXPECT_EQ(world.put(kCreate, "{}").status, 400);
  EXPECT_EQ(world.put(kCreate, R"({"Volume": {"Name": "data"}})").status, 400);
  EXPECT_EQ(world.put(kCreate, specification("../etc")).status, 400);
  EXPECT_EQ(world.put(kCreate, specification("data", R"(, "NodePool": "none")")).status, 409);
  EXPECT_EQ(world.put(kCreate, specification("data", R"(, "Namespace": "none")")).status, 404);
  EXPECT_EQ(world.put("/v1/volume/host/register", specification()).status, 400);
  EXPECT_EQ(world.read("/v1/volumes?type=host").as_array().size(), 0u);
}

TEST(VolumesApi, SaysThatThereIsNoCsi) {
  World world;
  EXPECT_EQ(world.read("/v1/plugins").as_array().size(), 0u);
  EXPECT_EQ(world.get("/v1/plugin/csi/ebs").status, 404);
  EXPECT_NE(world.get("/v1/volume/csi/v").body.find("CSI"), std::string::npos);
  EXPECT_EQ(world.get("/v1/recommendations").status, 501);
  EXPECT_EQ(world.get("/v1/sentinel/policies").status, 501);
}

using VolumesAccess = testing::AccessTest;

TEST_F(VolumesAccess, AsksForTheCapabilityInTheVolumesNamespace) {
  link(world);
  make_token("root", "");
  make_token("writer", R"(namespace "default" { capabilities = ["host-volume-write"] })");
  make_token("creator", R"(namespace "default" { capabilities = ["host-volume-create"] })");
  make_token("elsewhere", R"(namespace "physics" { policy = "write" })");
  EXPECT_EQ(status("PUT", kCreate, specification()), 403);
  world.token = "elsewhere";
  EXPECT_EQ(status("PUT", kCreate, specification()), 403);
  world.token = "creator";
  const auto created = world.put(kCreate, specification());
  ASSERT_EQ(created.status, 200) << created.body;
  const std::string id(json::parse(created.body).at("Volume").at("ID").as_string());
  EXPECT_EQ(status("GET", "/v1/volume/host/" + id), 200);
  EXPECT_EQ(status("DELETE", "/v1/volume/host/" + id + "/delete"), 403);
  EXPECT_EQ(status("PUT", "/v1/volume/host/register", specification()), 403);
  world.token = "elsewhere";
  EXPECT_EQ(status("GET", "/v1/volume/host/" + id), 404) << "as one that is nowhere";
  EXPECT_EQ(world.read("/v1/volumes?type=host&namespace=*").as_array().size(), 0u);
  world.token = "writer";
  EXPECT_EQ(status("DELETE", "/v1/volume/host/" + id + "/delete"), 200);
}

}  // namespace
}  // namespace underway::api
