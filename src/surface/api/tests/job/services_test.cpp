// The catalogue and the checks as Nomad's clients see them.
#include "api/testing/world.hpp"

#include <gtest/gtest.h>

namespace underway::api::testing {
namespace {

using server::testing::run_until;

class ServicesApiTest : public ::testing::Test {
 protected:
  ServicesApiTest() : node(world.link(1)) {
    model::Job job = make_job("web", 2);
    job.groups[0].services.push_back({.name = "front", .tags = {"a", "b"}});
    world.run(job);
    run_until(world.loop, [&] { return world.read("/v1/service/front").as_array().size() == 2; });
    id = world.allocation_of("web");
  }
  World world;
  FakeNode& node;
  std::string id;
};

TEST_F(ServicesApiTest, ServicesAreListedByNamespace) {
  const auto list = world.read("/v1/services");
  ASSERT_EQ(list.as_array().size(), 1u);
  EXPECT_EQ(list.at(0).at("Namespace"), "default");
  EXPECT_EQ(list.at(0).at("Services").at(0).at("ServiceName"), "front");
  EXPECT_EQ(list.at(0).at("Services").at(0).at("Tags").as_array().size(), 2u);
  EXPECT_EQ(world.read("/v1/services?namespace=other").as_array().size(), 0u);
}

TEST_F(ServicesApiTest, AServiceIsEveryInstanceThatRuns) {
  const auto list = world.read("/v1/service/front").as_array();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].at("JobID"), "web");
  EXPECT_EQ(std::string_view(list[0].at("NodeID").as_string()), uuid(1));
  EXPECT_EQ(list[0].at("Ready"), true);
  const auto nothing = world.get("/v1/service/none");
  EXPECT_EQ(nothing.status, 200);
  EXPECT_EQ(nothing.body, "[]");
  EXPECT_TRUE(nothing.headers.find("X-Nomad-Index"));
}

TEST_F(ServicesApiTest, TheSameKeyChoosesTheSameInstances) {
  const auto chosen = world.read("/v1/service/front?choose=1%7Cme").as_array();
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(world.read("/v1/service/front?choose=1%7Cme").as_array(), chosen);
  for (const char* bad : {"1", "%7Cme", "0%7Cme", "x%7Cme", "1%7C"}) {
    SCOPED_TRACE(bad);
    EXPECT_EQ(world.get(std::string("/v1/service/front?choose=") + bad).status, 400);
  }
}

TEST_F(ServicesApiTest, AllocationsAndJobsTellWhatTheyProvide) {
  EXPECT_EQ(world.read("/v1/allocation/" + id + "/services").as_array().size(), 1u);
  EXPECT_EQ(world.read("/v1/job/web/services").as_array().size(), 2u);
  EXPECT_EQ(world.get("/v1/job/none/services").status, 404);
  EXPECT_EQ(world.get("/v1/allocation/" + uuid(99) + "/services").status, 404);
}

TEST_F(ServicesApiTest, AnEntryIsNotRemovedByItself) {
  const std::string entry(world.read("/v1/service/front").at(0).at("ID").as_string());
  const auto response = world.send("DELETE", "/v1/service/front/" + entry);
  EXPECT_EQ(response.status, 409);
  EXPECT_NE(response.body.find("computed from the allocations"), std::string::npos) << response.body;
  EXPECT_EQ(world.send("DELETE", "/v1/service/front/stale").status, 404);
}

TEST_F(ServicesApiTest, AStoppedJobIsGoneBeforeItsTasksAre) {
  node.obedient = false;
  world.send("DELETE", "/v1/job/web");
  run_until(world.loop, [&] { return world.read("/v1/services").as_array().empty(); });
  EXPECT_EQ(world.tables().find_allocation(id)->client_status, model::ClientStatus::running);
}

TEST_F(ServicesApiTest, ChecksAreAskedOfTheNode) {
  node.answers["alloc.checks"] = [](const boost::json::value& body) {
    return boost::json::value(boost::json::object{{"c1", boost::json::object{{"of", body.at("id")}}}});
  };
  for (const char* prefix : {"/v1/allocation/", "/v1/client/allocation/"})
    EXPECT_EQ(std::string_view(world.read(prefix + id + "/checks").at("c1").at("of").as_string()), id) << prefix;
}

}  // namespace
}  // namespace underway::api::testing
