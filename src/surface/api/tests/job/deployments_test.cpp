#include <gtest/gtest.h>

#include "api/testing/world.hpp"
#include "harness/places.hpp"
#include "tests/golden.hpp"

namespace underway::api::testing {
namespace {

using model::ClientStatus;

/// Two versions of a job: the first is everywhere and stable, the second has a canary.
class Deployments : public ::testing::Test {
 protected:
  Deployments() {
    world.join(make_node(1));
    world.run(version("a"));
    all_well();
    world.run(version("b"));
  }

  static model::Job version(const std::string& name) {
    model::Job job = make_job("web", 2);
    job.groups[0].tasks[0].env["VERSION"] = name;
    job.update.emplace();
    job.update->canary = 1;
    job.update->auto_revert = true;
    return job;
  }
  void all_well() {
    for (const auto& row : std::vector(world.tables().allocations_of_job("default", "web"))) {
      if (row->terminal() || row->health.healthy) continue;
      auto running = report(row->id, ClientStatus::running, true);
      running.health.timestamp = unix_nanos(world.clock.now());
      world.update(row->node_id, running);
    }
  }
  std::string id(std::size_t which = 0) { return world.tables().deployments_of_job("default", "web").at(which)->id; }
  boost::json::value put(const std::string& target, const std::string& body) {
    const auto response = world.put(target, body);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.status == 200 ? json::parse(response.body) : boost::json::value();
  }

  World world;
};

TEST_F(Deployments, AreReadAsNomadWritesThem) {
  const auto response = world.get("/v1/deployment/" + id());
  EXPECT_EQ(response.status, 200) << response.body;
  expect_golden_json(test_dir() + "/golden/deployment.json", response.body);
}

TEST_F(Deployments, AreListedByPrefixByJobAndByTheirAllocations) {
  EXPECT_EQ(world.read("/v1/deployments").as_array().size(), 2u);
  EXPECT_EQ(world.read("/v1/deployments?prefix=" + id().substr(0, 8)).as_array().size(), 1u);
  EXPECT_EQ(world.read("/v1/deployments?namespace=other").as_array().size(), 0u);
  const auto of_job = world.read("/v1/job/web/deployments");
  EXPECT_EQ(of_job.at(0).at("JobVersion"), 1) << "newest first";
  EXPECT_EQ(of_job.at(1).at("Status"), "successful");
  EXPECT_EQ(world.read("/v1/job/web/deployment").at("ID"), of_job.at(0).at("ID"));
  const auto canaries = world.read("/v1/deployment/allocations/" + id());
  ASSERT_EQ(canaries.as_array().size(), 1u);
  EXPECT_EQ(canaries.at(0).at("DeploymentStatus").at("Canary"), true);
  EXPECT_EQ(world.get("/v1/job/other/deployment").body, "null");
  EXPECT_EQ(world.get("/v1/job/other/deployments").body, "[]");
}

TEST_F(Deployments, ArePromotedPausedAndResumed) {
  EXPECT_EQ(world.put("/v1/deployment/promote/" + id(), R"({"All":true})").status, 400) << "the canary is not well yet";
  all_well();
  const auto promoted =
      put("/v1/deployment/promote/" + id(), fmt::format(R"({{"DeploymentID":"{}","All":true}})", id()));
  EXPECT_TRUE(is_uuid(std::string_view(promoted.at("EvalID").as_string())));
  EXPECT_GT(promoted.at("DeploymentModifyIndex").as_int64(), 0);
  EXPECT_TRUE(promoted.at("RevertedJobVersion").is_null());
  EXPECT_EQ(world.read("/v1/deployment/" + id()).at("TaskGroups").at("g").at("Promoted"), true);
  put("/v1/deployment/pause/" + id(), R"({"Pause":true})");
  EXPECT_EQ(world.read("/v1/deployment/" + id()).at("Status"), "paused");
  put("/v1/deployment/pause/" + id(), R"({"Pause":false})");
  all_well();
  EXPECT_EQ(world.read("/v1/deployment/" + id()).at("Status"), "successful");
}

TEST_F(Deployments, TakeTheJobBackWhenTheyFail) {
  const auto failed = put("/v1/deployment/fail/" + id(), "{}");
  EXPECT_EQ(failed.at("RevertedJobVersion"), 0);
  EXPECT_EQ(world.read("/v1/job/web").at("Version"), 2);
  EXPECT_EQ(world.read("/v1/deployment/" + id(1)).at("StatusDescription"),
            "Deployment marked as failed - rolling back to job version 0");
}

TEST_F(Deployments, TakeAPersonsVerdict) {
  const auto canary = world.read("/v1/deployment/allocations/" + id()).at(0).at("ID");
  const boost::json::object body{{"HealthyAllocationIDs", boost::json::array{canary}}};
  put("/v1/deployment/allocation-health/" + id(), boost::json::serialize(body));
  EXPECT_EQ(world.read("/v1/deployment/" + id()).at("TaskGroups").at("g").at("HealthyAllocs"), 1);
}

TEST_F(Deployments, JobsGoBackAndAreCalledStable) {
  put("/v1/job/web/revert", R"({"JobID":"web","JobVersion":0})");
  EXPECT_EQ(world.read("/v1/job/web").at("Version"), 2);
  EXPECT_EQ(world.read("/v1/deployment/" + id(1)).at("Status"), "cancelled");
  put("/v1/job/web/stable", R"({"JobID":"web","JobVersion":2,"Stable":true})");
  EXPECT_EQ(world.read("/v1/job/web").at("Stable"), true);
}

TEST_F(Deployments, EarlierVersionsAreCalledStableToo) {
  const auto stable = [&](int version) {
    const auto list = world.read("/v1/job/web/versions");
    for (const auto& told : list.at("Versions").as_array()) {
      if (told.at("Version") == version) return told.at("Stable").as_bool();
    }
    throw Error(Code::not_found, "no such version");
  };
  ASSERT_TRUE(stable(0));
  put("/v1/job/web/stable", R"({"JobID":"web","JobVersion":0,"Stable":false})");
  EXPECT_FALSE(stable(0));
  EXPECT_EQ(world.read("/v1/job/web").at("Version"), 1) << "the current one is as it was";
  put("/v1/job/web/stable", R"({"JobID":"web","JobVersion":0,"Stable":true})");
  EXPECT_TRUE(stable(0));
  EXPECT_EQ(world.put("/v1/job/web/stable", R"({"JobID":"web","JobVersion":7,"Stable":true})").status, 404);
}

TEST_F(Deployments, AreRefusedInWords) {
  struct Case {
    const char* name;
    std::string target, body;
    int status;
    std::string text;
  };
  const std::string gone = uuid(99), over = id(1);
  const std::vector<Case> cases = {
      {"promote none", "/v1/deployment/promote/" + gone, "{}", 404, "deployment not found"},
      {"promote what is over", "/v1/deployment/promote/" + over, "{}", 400, "can't promote terminal deployment"},
      {"promote an unknown group", "/v1/deployment/promote/" + id(), R"({"Groups":["x"]})", 400, "no group 'x'"},
      {"promote too early", "/v1/deployment/promote/" + id(), "{}", 400, "has 0/1 healthy allocations"},
      {"fail what is over", "/v1/deployment/fail/" + over, "{}", 400, "can't fail terminal deployment"},
      {"pause what is over", "/v1/deployment/pause/" + over, R"({"Pause":true})", 400, "can't pause terminal"},
      {"resume what is over", "/v1/deployment/pause/" + over, R"({"Pause":false})", 400, "can't resume terminal"},
      {"judge what is over", "/v1/deployment/allocation-health/" + over,
       fmt::format(R"({{"HealthyAllocationIDs":["{}"]}})", gone), 400,
       "can't set health of allocations for a terminal deployment"},
      {"unblock", "/v1/deployment/unblock/" + id(), "{}", 400, "can't unblock running deployment"},
      {"unblock what is over", "/v1/deployment/unblock/" + over, "{}", 400, "can't unblock terminal deployment"},
      {"no verdict", "/v1/deployment/allocation-health/" + id(), "{}", 400, "at least one"},
      {"a verdict on another's", "/v1/deployment/allocation-health/" + id(),
       fmt::format(R"({{"HealthyAllocationIDs":["{}"]}})", gone), 400, "not part of the deployment"},
      {"revert to the current version", "/v1/job/web/revert", R"({"JobVersion":1})", 400, "can't revert to current"},
      {"revert to no version", "/v1/job/web/revert", R"({"JobVersion":7})", 404, "at version 7 not found"},
      {"revert without a version", "/v1/job/web/revert", "{}", 400, "JobVersion"},
      {"revert when another version is current", "/v1/job/web/revert", R"({"JobVersion":0,"EnforcePriorVersion":5})",
       400, "enforcing version 5"},
      {"revert no job", "/v1/job/nope/revert", R"({"JobVersion":0})", 404, "job not found"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto response = world.put(c.target, c.body);
    EXPECT_EQ(response.status, c.status) << response.body;
    EXPECT_NE(response.body.find(c.text), std::string::npos) << response.body;
  }
  EXPECT_EQ(world.get("/v1/deployment/" + gone).status, 404);
  EXPECT_EQ(world.put("/v1/deployment/fail/" + over, "{}").body, "can't fail terminal deployment")
      << "clients compare the whole of it";
}

}  // namespace
}  // namespace underway::api::testing
