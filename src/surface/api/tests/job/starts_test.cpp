#include <gtest/gtest.h>

#include "api/testing/world.hpp"

namespace underway::api::testing {
namespace {

model::Job batch_job(const std::string& id) { return make_job(id, 1, model::JobType::batch); }

std::string text(const boost::json::value& value, const char* key) {
  return std::string(std::string_view(value.at(key).as_string()));
}

TEST(Starts, APeriodicJobIsForcedAndItsChildrenAreCounted) {
  World world;
  world.join(make_node(1));
  auto job = batch_job("backup");
  job.periodic = model::Periodic{};
  job.periodic->specs = {"@daily"};
  const auto registered = json::parse(world.run(job).body);
  EXPECT_EQ(text(registered, "EvalID"), "");
  EXPECT_EQ(registered.at("EvalCreateIndex").as_int64(), 0);
  const auto plan = json::parse(world.put("/v1/job/backup/plan", World::job_body(job)).body);
  EXPECT_EQ(text(plan, "NextPeriodicLaunch"), "2023-11-15T00:00:00Z");
  const auto forced = json::parse(world.put("/v1/job/backup/periodic/force", "{}").body);
  EXPECT_TRUE(is_uuid(text(forced, "EvalID")));
  EXPECT_EQ(text(world.read("/v1/job/backup/periodic-1700000000"), "ParentID"), "backup");
  EXPECT_EQ(world.read("/v1/job/backup/summary").at("Children").at("Running").as_int64(), 1);
  const auto jobs = world.read("/v1/jobs").as_array();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_TRUE(jobs[0].at("Periodic").as_bool());
  EXPECT_EQ(text(jobs[1], "ParentID"), "backup");
  EXPECT_EQ(world.put("/v1/job/nope/periodic/force", "{}").status, 404);
  world.run(batch_job("plain"));
  EXPECT_EQ(world.put("/v1/job/plain/periodic/force", "{}").status, 400);
  EXPECT_EQ(world.put("/v1/job/backup/evaluate", "{}").status, 400);
}

TEST(Starts, AParameterizedJobIsDispatched) {
  World world;
  world.join(make_node(1));
  auto job = batch_job("report");
  job.parameterized = model::Parameterized{};
  job.parameterized->meta_required = {"user"};
  world.run(job);
  const auto response = world.put("/v1/job/report/dispatch?idempotency_token=a",
                                  R"({"JobID":"report","Payload":"NDI=","Meta":{"user":"ada"}})");
  ASSERT_EQ(response.status, 200) << response.body;
  const auto dispatched = json::parse(response.body);
  const std::string id = text(dispatched, "DispatchedJobID");
  EXPECT_TRUE(id.starts_with("report/dispatch-1700000000-")) << id;
  EXPECT_GT(dispatched.at("JobCreateIndex").as_int64(), 0);
  EXPECT_EQ(text(world.read("/v1/job/" + id + "/dispatch/payload"), "Payload"), "NDI=");
  EXPECT_EQ(text(world.read("/v1/job/" + id).at("Meta"), "user"), "ada");
  const auto again =
      json::parse(world.put("/v1/job/report/dispatch?idempotency_token=a", R"({"Meta":{"user":"ada"}})").body);
  EXPECT_EQ(text(again, "DispatchedJobID"), id);
  EXPECT_EQ(world.put("/v1/job/report/dispatch", "").status, 400) << "user is missing";
  EXPECT_EQ(world.put("/v1/job/report/dispatch", R"({"Payload":"*"})").status, 400);
}

TEST(Scale, SetsACountAndTellsOfIt) {
  World world;
  world.join(make_node(1));
  auto job = make_job("web", 1);
  job.groups[0].scaling = model::Scaling{};
  job.groups[0].scaling->max = 3;
  job.groups[0].update = model::UpdateStrategy{.max_parallel = 0};  // a rollout would hold it up
  world.run(job);
  const std::string body = R"({"Target":{"Job":"web","Group":"g"},"Count":2,"Message":"busy","Meta":{"by":"me"}})";
  const auto scaled = world.put("/v1/job/web/scale", body);
  ASSERT_EQ(scaled.status, 200) << scaled.body;
  const auto group = world.read("/v1/job/web/scale").at("TaskGroups").at("g");
  EXPECT_EQ(group.at("Desired").as_int64(), 2);
  EXPECT_EQ(text(group.at("Events").at(0), "Message"), "busy");
  EXPECT_EQ(text(group.at("Events").at(0).at("Meta"), "by"), "me");
  EXPECT_EQ(world.put("/v1/job/web/scale", R"({"Target":{"Group":"g"},"Count":4})").status, 400);
  EXPECT_EQ(world.put("/v1/job/web/scale", R"({"Count":2})").status, 400);
  const auto policies = world.read("/v1/scaling/policies").as_array();
  ASSERT_EQ(policies.size(), 1u);
  const auto policy = world.read("/v1/scaling/policy/" + text(policies[0], "ID"));
  EXPECT_EQ(policy.at("Max").as_int64(), 3);
  EXPECT_EQ(text(policy.at("Target"), "Group"), "g");
  EXPECT_EQ(world.get("/v1/scaling/policy/none").status, 404);
  EXPECT_TRUE(world.read("/v1/scaling/policies?type=vertical").as_array().empty());
}

TEST(Versions, AreNamedAndCompared) {
  World world;
  for (int count = 1; count <= 3; ++count) world.run(make_job("web", count));
  EXPECT_EQ(world.put("/v1/job/web/versions/golden/tag", R"({"Version":0,"Description":"first"})").status, 200);
  EXPECT_EQ(world.put("/v1/job/web/versions/golden/tag", R"({"Version":1})").status, 400);
  const auto plain = world.read("/v1/job/web/versions?diffs=true");
  EXPECT_EQ(plain.at("Diffs").as_array().size(), 2u);
  EXPECT_EQ(text(plain.at("Versions").at(2).at("VersionTag"), "Name"), "golden");
  EXPECT_EQ(world.read("/v1/job/web/versions?diff_tag=golden").at("Diffs").as_array().size(), 2u);
  EXPECT_EQ(world.read("/v1/job/web/versions?diff_version=1").at("Diffs").as_array().size(), 2u);
  EXPECT_EQ(world.get("/v1/job/web/versions?diff_tag=none").status, 404);
  EXPECT_EQ(world.get("/v1/job/web/versions?diff_version=x").status, 400);
  EXPECT_EQ(world.send("DELETE", "/v1/job/web/versions/golden/tag").status, 200);
  EXPECT_EQ(world.send("DELETE", "/v1/job/web/versions/golden/tag").status, 404);
}

TEST(Actions, OfAJobAreListed) {
  World world;
  auto job = make_job("web", 1);
  job.groups[0].tasks[0].actions = {{"flush", "/bin/flush", {"-all"}}};
  world.run(job);
  const auto actions = world.read("/v1/job/web/actions").as_array();
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(text(actions[0], "Name"), "flush");
  EXPECT_EQ(text(actions[0], "TaskName"), "t");
  EXPECT_EQ(world.get("/v1/job/web/action?action=flush").status, 404) << "nothing runs";
}

TEST(RegisterJob, KeepsCountsWhenItIsAskedTo) {
  World world;
  world.run(make_job("web", 3));
  world.put("/v1/jobs", World::job_body(make_job("web", 1), R"(,"PreserveCounts":true,"EvalPriority":90)"));
  EXPECT_EQ(world.tables().find_job("default", "web")->groups[0].count, 3);
}

}  // namespace
}  // namespace underway::api::testing
