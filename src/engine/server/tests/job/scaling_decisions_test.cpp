#include "server/job/scaling_decisions.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "server/job/deployment_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using testing::Desk;
using testing::make_job;
using testing::make_node;

model::Job scalable(std::int64_t count = 2) {
  model::Job job = make_job("web", count);
  // Without rollouts, which hold a scaling up.
  job.groups[0].update = model::UpdateStrategy{.max_parallel = 0};
  job.groups[0].scaling = model::Scaling{};
  job.groups[0].scaling->min = 1;
  job.groups[0].scaling->max = 4;
  return job;
}

class Scales : public ::testing::Test {
 protected:
  Scales() { desk.join(make_node(1)); }
  Registered scale(ScaleJob request) { return desk.run(request); }
  std::string refusal(ScaleJob request) {
    try {
      scale(std::move(request));
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  std::vector<model::ScalingEvent> events() const {
    const auto row = tables::find_record<model::ScalingEvents>(desk.tables, "default/web");
    return row ? row->groups.at("g") : std::vector<model::ScalingEvent>{};
  }
  Desk desk;
};

TEST_F(Scales, ACountMakesANewVersionAnEvaluationAndAnEvent) {
  desk.register_job(scalable());
  const auto done = scale({.ns = "default", .id = "web", .group = "g", .count = 3, .message = "more of it"});
  EXPECT_FALSE(done.eval_id.empty());
  EXPECT_EQ(desk.tables.find_job("default", "web")->groups[0].count, 3);
  EXPECT_EQ(desk.tables.find_job("default", "web")->version, 1);
  EXPECT_EQ(desk.tables.find_evaluation(done.eval_id)->triggered_by, model::EvalTrigger::job_scaling);
  EXPECT_EQ(desk.tables.allocations_of_job("default", "web").size(), 3u);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(events()[0].count, 3);
  EXPECT_EQ(events()[0].previous_count, 2);
  EXPECT_EQ(events()[0].message, "more of it");
  EXPECT_EQ(events()[0].eval_id, done.eval_id);
}

TEST_F(Scales, AMessageAloneChangesNothing) {
  desk.register_job(scalable());
  const auto done = scale({.ns = "default", .id = "web", .group = "g", .message = "no metrics", .error = true});
  EXPECT_EQ(done.eval_id, "");
  EXPECT_EQ(desk.tables.find_job("default", "web")->version, 0);
  EXPECT_TRUE(events().at(0).error);
  for (int i = 0; i < 30; ++i) scale({.ns = "default", .id = "web", .group = "g", .message = std::to_string(i)});
  EXPECT_EQ(events().size(), model::kScalingEvents);
  EXPECT_EQ(events()[0].message, "29");
}

TEST_F(Scales, WhatIsOutsideOfTheBoundsIsRefused) {
  desk.register_job(scalable());
  const auto ask = [&](std::int64_t count) {
    return refusal({.ns = "default", .id = "web", .group = "g", .count = count});
  };
  EXPECT_NE(ask(0).find("less than scaling policy minimum: 0 < 1"), std::string::npos);
  EXPECT_NE(ask(5).find("greater than scaling policy maximum: 5 > 4"), std::string::npos);
  EXPECT_NE(ask(-1).find("can't be negative"), std::string::npos);
  EXPECT_NE(refusal({.ns = "default", .id = "web", .group = "x", .count = 2}).find("does not exist in job"),
            std::string::npos);
  EXPECT_NE(refusal({.ns = "default", .id = "web", .group = "g", .count = 2, .error = true}).find("error is true"),
            std::string::npos);
  EXPECT_NE(refusal({.ns = "default", .id = "no", .group = "g", .count = 2}).find("job not found"), std::string::npos);
  desk.register_job(make_job("everywhere", 1, model::JobType::system));
  EXPECT_NE(refusal({.ns = "default", .id = "everywhere", .group = "g", .count = 2}).find("of type system"),
            std::string::npos);
  EXPECT_TRUE(events().empty());
}

TEST_F(Scales, NotWhileADeploymentIsActive) {
  model::Job job = scalable();
  job.groups[0].update = model::UpdateStrategy{};
  desk.register_job(job);
  ASSERT_TRUE(desk.tables.deployments_of_job("default", "web").front()->active());
  EXPECT_NE(refusal({.ns = "default", .id = "web", .group = "g", .count = 3}).find("blocked due to active deployment"),
            std::string::npos);
}

TEST_F(Scales, CountsAndResourcesArePreservedAtARegistrationThatAsksForIt) {
  desk.register_job(scalable());
  scale({.ns = "default", .id = "web", .group = "g", .count = 4});
  model::Job file = scalable(2);
  file.meta["release"] = "2";
  file.groups[0].tasks[0].resources.memory_mb = 512;
  RegisterJob request{file, {}, {}};
  request.preserve_counts = request.preserve_resources = true;
  request.eval_priority = 77;
  const auto done = desk.run(request);
  const auto job = desk.tables.find_job("default", "web");
  EXPECT_EQ(job->meta.at("release"), "2");
  EXPECT_EQ(job->groups[0].count, 4);
  EXPECT_EQ(job->groups[0].tasks[0].resources.memory_mb, 256);
  EXPECT_EQ(desk.tables.find_evaluation(done.eval_id)->priority, 77);
  request.eval_priority = 101;
  EXPECT_THROW(desk.run(request), Error);
}

TEST_F(Scales, PoliciesKeepTheirIdsFromVersionToVersion) {
  desk.register_job(scalable());
  const auto before = scaling_policies(desk.tables, "*");
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].id.size(), 36u);
  scale({.ns = "default", .id = "web", .group = "g", .count = 4});
  EXPECT_EQ(scaling_policies(desk.tables, "default").at(0).id, before[0].id);
  EXPECT_TRUE(scaling_policies(desk.tables, "other").empty());
}

TEST_F(Scales, EventsGoWithTheJob) {
  desk.register_job(scalable());
  scale({.ns = "default", .id = "web", .group = "g", .count = 4});
  desk.run(DeregisterJob{"default", "web", true});
  EXPECT_TRUE(events().empty());
}

}  // namespace
}  // namespace underway::server
