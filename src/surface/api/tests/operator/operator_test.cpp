#include <gtest/gtest.h>

#include "api/testing/world.hpp"
#include "api/tests/access.hpp"

namespace underway::api {
namespace {

using testing::make_job;
using testing::World;

constexpr const char* kScheduler = "/v1/operator/scheduler/configuration";

TEST(SchedulerConfigurationApi, IsReadAndWrittenInNomadsShape) {
  World world;
  const auto fresh = world.read(kScheduler);
  EXPECT_EQ(fresh.at("SchedulerConfig").at("SchedulerAlgorithm"), "binpack");
  EXPECT_TRUE(fresh.at("SchedulerConfig").at("PreemptionConfig").at("SystemSchedulerEnabled").as_bool());
  const auto put = world.put(kScheduler, R"({"SchedulerAlgorithm": "spread", "MemoryOversubscriptionEnabled": true})");
  ASSERT_EQ(put.status, 200) << put.body;
  const auto answer = json::parse(put.body);
  EXPECT_TRUE(answer.at("Updated").as_bool());
  const auto index = answer.at("Index").to_number<std::int64_t>();
  EXPECT_EQ(world.read(kScheduler).at("Index"), index);
  EXPECT_EQ(world.read(kScheduler).at("SchedulerConfig").at("SchedulerAlgorithm"), "spread");
  const auto late = json::parse(world.send("POST", fmt::format("{}?cas={}", kScheduler, index + 5), "{}").body);
  EXPECT_FALSE(late.at("Updated").as_bool());
  EXPECT_TRUE(json::parse(world.put(fmt::format("{}?cas={}", kScheduler, index), "{}").body).at("Updated").as_bool());
  EXPECT_EQ(world.put(kScheduler, R"({"SchedulerAlgorithm": "best"})").status, 400);
}

TEST(SchedulerConfigurationApi, RefusesJobsWhenRegistrationIsDisabled) {
  World world;
  ASSERT_EQ(world.put(kScheduler, R"({"RejectJobRegistration": true})").status, 200);
  const auto refused = world.run(make_job("web"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("Job registration, dispatch, and scale are disabled"), std::string::npos);
  ASSERT_EQ(world.put(kScheduler, "{}").status, 200);
  EXPECT_EQ(world.run(make_job("web")).status, 200);
}

TEST(SchedulerConfigurationApi, RefusesToDispatchScaleAndRevertWhenRegistrationIsDisabled) {
  World world;
  auto report = make_job("report");
  report.type = model::JobType::batch;
  report.parameterized.emplace();
  ASSERT_EQ(world.run(report).status, 200);
  for (const int count : {1, 2}) {
    auto web = make_job("web");
    web.groups.front().count = count;
    web.groups.front().update = model::UpdateStrategy{.max_parallel = 0};  // a rollout would hold it up
    ASSERT_EQ(world.run(web).status, 200);
  }
  ASSERT_EQ(world.put(kScheduler, R"({"RejectJobRegistration": true})").status, 200);
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"/v1/job/report/dispatch", "{}"},
      {"/v1/job/web/scale", R"({"Target": {"Group": "g"}, "Count": 3})"},
      {"/v1/job/web/revert", R"({"JobID": "web", "JobVersion": 0})"}};
  for (const auto& [path, body] : changes) {
    const auto refused = world.put(path, body);
    EXPECT_EQ(refused.status, 403) << path;
    EXPECT_NE(refused.body.find("Job registration, dispatch, and scale are disabled"), std::string::npos) << path;
  }
  ASSERT_EQ(world.put(kScheduler, "{}").status, 200);
  for (const auto& [path, body] : changes) EXPECT_EQ(world.put(path, body).status, 200) << path;
}

TEST(SchedulerConfigurationApi, KeepsEvaluationsWhileTheBrokerIsPaused) {
  World world;
  world.join(testing::make_node(1));
  ASSERT_EQ(world.put(kScheduler, R"({"PauseEvalBroker": true})").status, 200);
  ASSERT_EQ(world.run(make_job("web")).status, 200);
  EXPECT_TRUE(world.tables().allocations_of_job("default", "web").empty());
  EXPECT_FALSE(world.tables().pending_evaluations().empty());
  ASSERT_EQ(world.put(kScheduler, "{}").status, 200);
  EXPECT_EQ(world.tables().allocations_of_job("default", "web").size(), 1u);
  EXPECT_TRUE(world.tables().pending_evaluations().empty());
}

TEST(SchedulerConfigurationApi, KeepsNomadsBoundOnNodesForItsClients) {
  World world;
  ASSERT_EQ(world.put(kScheduler, R"({"NodeLimitForFeasibilityChecks": 123})").status, 200);
  EXPECT_EQ(world.read(kScheduler).at("SchedulerConfig").at("NodeLimitForFeasibilityChecks"), 123);
  EXPECT_EQ(world.put(kScheduler, R"({"NodeLimitForFeasibilityChecks": -1})").status, 400);
}

TEST(OperatorApi, AnswersForOneServerInTheShapesThatClientsRead) {
  World world;
  const auto raft = world.read("/v1/operator/raft/configuration");
  EXPECT_EQ(raft.at("Servers").at(0).at("Leader"), true);
  EXPECT_EQ(world.send("DELETE", "/v1/operator/raft/peer?id=test").status, 501);
  EXPECT_EQ(world.put("/v1/operator/raft/transfer-leadership", "").status, 501);
  EXPECT_EQ(world.read("/v1/operator/autopilot/health").at("Healthy"), true);
  EXPECT_EQ(world.read("/v1/operator/autopilot/configuration").at("LastContactThreshold"), "200ms");
  EXPECT_EQ(world.put("/v1/operator/autopilot/configuration?cas=9", "{}").body, "false");
  EXPECT_EQ(world.put("/v1/operator/autopilot/configuration?cas=0", R"({"ServerStabilizationTime": "30s"})").body,
            "true");
  EXPECT_EQ(world.read("/v1/operator/autopilot/configuration").at("ServerStabilizationTime"), "30s");
  EXPECT_EQ(world.get("/v1/operator/license").status, 501);
  EXPECT_EQ(world.put("/v1/system/reconcile/summaries", "").status, 200);
}

}  // namespace
}  // namespace underway::api
