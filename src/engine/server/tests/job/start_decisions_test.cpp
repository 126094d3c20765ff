#include "server/job/start_decisions.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "server/storage/collect_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using testing::Desk;
using testing::make_job;
using testing::make_node;
using testing::report;
using testing::uuid;

model::Job periodic_job(const std::string& cron, bool prohibit_overlap = false) {
  model::Job job = make_job("backup", 1, model::JobType::batch);
  job.periodic = model::Periodic{};
  job.periodic->specs = {cron};
  job.periodic->prohibit_overlap = prohibit_overlap;
  return job;
}

model::Job parameterized_job() {
  model::Job job = make_job("report", 1, model::JobType::batch);
  job.meta = {{"site", "north"}};
  job.parameterized = model::Parameterized{};
  job.parameterized->meta_required = {"user"};
  job.parameterized->meta_optional = {"colour"};
  return job;
}

/// The virtual clock starts at 2023-11-14T22:13:20Z.
class Starts : public ::testing::Test {
 protected:
  Starts() { desk.join(make_node(1)); }

  Launches tick(Duration after = Duration{0}) {
    desk.clock.advance(after);
    return desk.run(StartDueJobs{});
  }
  Started dispatch(DispatchJob request) { return desk.run(request); }
  Started force() { return desk.run(ForcePeriodic{"default", "backup"}); }
  std::string refusal(DispatchJob request) {
    try {
      dispatch(std::move(request));
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  std::size_t jobs() const { return desk.tables.jobs().size(); }
  tables::Row<model::Job> parent() const { return desk.tables.find_job("default", "backup"); }

  Desk desk;
};

using namespace std::chrono_literals;

TEST_F(Starts, ByTheClockAChildThatIsAJobOfItsOwn) {
  EXPECT_EQ(desk.register_job(periodic_job("*/5 * * * *")).eval_id, "");
  EXPECT_EQ(parent()->status, model::JobStatus::running);
  EXPECT_TRUE(desk.tables.allocations_of_job("default", "backup").empty());
  EXPECT_EQ(next_launch(desk.tables, desk.clock.now()), TimePoint(1'700'000'100s));
  EXPECT_TRUE(tick(99s).started.empty());
  EXPECT_EQ(tick(1s).started, std::vector<std::string>{"backup/periodic-1700000100"});
  EXPECT_TRUE(tick().started.empty()) << "once is enough";
  const auto child = desk.tables.find_job("default", "backup/periodic-1700000100");
  ASSERT_TRUE(child);
  EXPECT_EQ(child->parent_id, "backup");
  EXPECT_EQ(child->name, child->id);
  EXPECT_FALSE(child->periodic);
  EXPECT_EQ(child->version, 0);
  EXPECT_EQ(desk.tables.allocations_of_job("default", child->id).size(), 1u);
  const auto evaluations = desk.tables.evaluations_of_job("default", child->id);
  ASSERT_EQ(evaluations.size(), 1u);
  EXPECT_EQ(evaluations[0]->triggered_by, model::EvalTrigger::periodic_job);
  EXPECT_EQ(tick(5min).started.size(), 1u);
  EXPECT_EQ(count_children(desk.tables, *parent()).pending, 0);
  EXPECT_EQ(count_children(desk.tables, *parent()).running, 2);
}

TEST_F(Starts, WhatWasMissedIsCaughtUpOnce) {
  desk.register_job(periodic_job("*/5 * * * *"));
  EXPECT_EQ(tick(24h + 170s).started, std::vector<std::string>{"backup/periodic-1700086500"});
  EXPECT_TRUE(tick(1s).started.empty());
  EXPECT_EQ(tick(5min).started.size(), 1u);
}

TEST_F(Starts, NothingTwiceWhenTheClockIsSetBack) {
  desk.register_job(periodic_job("*/5 * * * *"));
  ASSERT_EQ(tick(100s).started.size(), 1u);
  ASSERT_EQ(tick(5min).started.size(), 1u);
  EXPECT_TRUE(tick(-30s).started.empty());
  EXPECT_TRUE(tick(30s).started.empty());
  // By more: from there on the same times come again, and their children are there already.
  EXPECT_EQ(tick(-6min).trouble.size(), 1u);
  EXPECT_TRUE(tick(6min).started.empty());
  EXPECT_EQ(tick(5min).started.size(), 1u);
  EXPECT_EQ(jobs(), 4u);
}

TEST_F(Starts, AClockThatWasFarAheadHoldsUpNothing) {
  desk.register_job(periodic_job("@hourly"));
  ASSERT_EQ(tick(24h * 365).started.size(), 1u);
  EXPECT_EQ(next_launch(desk.tables, desk.clock.now() - 24h * 365), desk.clock.now() - 24h * 365);
  EXPECT_EQ(tick(-24h * 365).trouble.size(), 1u);
  EXPECT_EQ(tick(1h).started.size(), 1u);
}

TEST_F(Starts, NotWhileTheLastOneRunsWhenOverlapIsProhibited) {
  desk.register_job(periodic_job("*/5 * * * *", true));
  const auto first = tick(100s).started;
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(tick(5min).skipped, std::vector<std::string>{"backup"});
  EXPECT_THROW(force(), Error);
  const auto allocation = desk.tables.allocations_of_job("default", first[0]).front();
  desk.update(uuid(1), {report(allocation->id, model::ClientStatus::complete)});
  EXPECT_EQ(count_children(desk.tables, *parent()).dead, 1);
  EXPECT_TRUE(tick(1min).started.empty()) << "what was skipped is not caught up";
  EXPECT_EQ(tick(4min).started.size(), 1u);
}

TEST_F(Starts, TheHourThatIsSkippedAndTheHourThatIsRepeated) {
  model::Job job = periodic_job("30 1 * * *");
  job.periodic->time_zone = "America/New_York";
  desk.clock.advance(std::chrono::seconds(1793491200 - 1700000000));  // 2026-11-01T00:00:00Z
  desk.register_job(job);
  std::size_t started = 0;
  for (int i = 0; i < 24 * 4; ++i) started += tick(15min).started.size();
  EXPECT_EQ(started, 2u);
  desk.clock.advance(std::chrono::seconds(1804982400 - 1793491200 - 86400));  // 2027-03-14T00:00:00Z
  tick();
  job.periodic->specs = {"30 2 * * *"};
  desk.register_job(job);
  started = 0;
  for (int i = 0; i < 24 * 4; ++i) started += tick(15min).started.size();
  EXPECT_EQ(started, 0u);
}

TEST_F(Starts, NothingOnceItIsStoppedOrDisabled) {
  desk.register_job(periodic_job("*/5 * * * *"));
  auto off = periodic_job("*/5 * * * *");
  off.periodic->enabled = false;
  desk.register_job(off);
  EXPECT_FALSE(next_launch(desk.tables, desk.clock.now()));
  EXPECT_TRUE(tick(1h).started.empty());
  EXPECT_THROW(force(), Error);
  desk.register_job(periodic_job("*/5 * * * *"));
  EXPECT_TRUE(tick().started.empty()) << "it counts from now on";
  desk.run(DeregisterJob{"default", "backup"});
  EXPECT_TRUE(tick(1h).started.empty());
  EXPECT_EQ(parent()->status, model::JobStatus::dead);
  EXPECT_TRUE(tables::records<model::PeriodicLaunch>(desk.tables).empty());
}

TEST_F(Starts, ByForceAtOnceAndUnderNamesOfTheirOwn) {
  desk.register_job(periodic_job("@yearly"));
  const auto one = force(), two = force();
  EXPECT_EQ(one.job_id, "backup/periodic-1700000000");
  EXPECT_EQ(two.job_id, "backup/periodic-1700000001");
  EXPECT_FALSE(one.eval_id.empty());
  EXPECT_THROW(desk.run(ForcePeriodic{"default", "no"}), Error);
}

TEST_F(Starts, AJobDoesNotBecomePeriodicWhileItRuns) {
  auto plain = periodic_job("@daily");
  plain.periodic.reset();
  desk.register_job(plain);
  EXPECT_THROW(desk.register_job(periodic_job("@daily")), Error);
}

TEST_F(Starts, ByDispatchWithMetaAndPayload) {
  EXPECT_EQ(desk.register_job(parameterized_job()).eval_id, "");
  const auto started = dispatch({.ns = "default", .id = "report", .payload = "42", .meta = {{"user", "ada"}}});
  EXPECT_TRUE(started.job_id.starts_with("report/dispatch-1700000000-")) << started.job_id;
  const auto child = desk.tables.find_job("default", started.job_id);
  ASSERT_TRUE(child);
  EXPECT_TRUE(child->dispatched);
  EXPECT_EQ(base64_decode(child->payload.value_or("")), "42");
  EXPECT_EQ(child->meta, (model::StringMap{{"site", "north"}, {"user", "ada"}}));
  EXPECT_EQ(child->parent_id, "report");
  EXPECT_EQ(desk.tables.allocations_of_job("default", child->id).size(), 1u);
  const auto named = dispatch(
      {.ns = "default", .id = "report", .meta = {{"user", "bob"}}, .id_prefix_template = "bob", .priority = 80});
  EXPECT_TRUE(named.job_id.starts_with("report/dispatch-bob-1700000000-")) << named.job_id;
  EXPECT_EQ(desk.tables.find_job("default", named.job_id)->priority, 80);
}

TEST_F(Starts, TheSameTokenIsTheSameChild) {
  desk.register_job(parameterized_job());
  const DispatchJob request{.ns = "default", .id = "report", .meta = {{"user", "ada"}}, .idempotency_token = "run-7"};
  const auto one = dispatch(request), two = dispatch(request);
  EXPECT_EQ(one.job_id, two.job_id);
  EXPECT_EQ(two.eval_id, "");
  EXPECT_EQ(jobs(), 2u);
}

TEST_F(Starts, ADispatchIsHeldToWhatTheJobAllows) {
  desk.register_job(parameterized_job());
  auto strict = parameterized_job();
  strict.id = strict.name = "strict";
  strict.parameterized = model::Parameterized{};
  strict.parameterized->payload = model::PayloadRule::required;
  desk.register_job(strict);
  strict.id = strict.name = "closed";
  strict.parameterized->payload = model::PayloadRule::forbidden;
  desk.register_job(strict);
  desk.register_job(make_job("plain", 1, model::JobType::batch));
  const model::StringMap ada{{"user", "ada"}};
  EXPECT_NE(refusal({.ns = "default", .id = "report"}).find("required meta keys: [user]"), std::string::npos);
  EXPECT_NE(refusal({.ns = "default", .id = "report", .meta = {{"user", "ada"}, {"shoe", "44"}}})
                .find("unpermitted metadata keys: [shoe]"),
            std::string::npos);
  EXPECT_NE(refusal({.ns = "default", .id = "report", .payload = std::string(16385, 'x'), .meta = ada})
                .find("Payload exceeds maximum size; 16385 > 16384"),
            std::string::npos);
  EXPECT_EQ(refusal({.ns = "default", .id = "report", .payload = std::string(16384, 'x'), .meta = ada}), "none");
  EXPECT_NE(refusal({.ns = "default", .id = "strict"}).find("Payload is not provided"), std::string::npos);
  EXPECT_NE(refusal({.ns = "default", .id = "closed", .payload = "x"}).find("Payload is not allowed"),
            std::string::npos);
  EXPECT_NE(refusal({.ns = "default", .id = "plain"}).find("is not a parameterized job"), std::string::npos);
  EXPECT_NE(refusal({.ns = "default", .id = "none"}).find("job not found"), std::string::npos);
}

TEST_F(Starts, APeriodicJobWithParametersIsStartedByTheClockOnceItIsDispatched) {
  auto job = parameterized_job();
  job.periodic = model::Periodic{};
  job.periodic->specs = {"*/5 * * * *"};
  desk.register_job(job);
  EXPECT_FALSE(next_launch(desk.tables, desk.clock.now()));
  const auto middle = dispatch({.ns = "default", .id = "report", .meta = {{"user", "ada"}}});
  EXPECT_EQ(middle.eval_id, "");
  const auto started = tick(100s).started;
  ASSERT_EQ(started, std::vector<std::string>{middle.job_id + "/periodic-1700000100"});
  EXPECT_EQ(desk.tables.find_job("default", started[0])->meta.at("user"), "ada");
  EXPECT_EQ(desk.tables.allocations_of_job("default", started[0]).size(), 1u);
}

TEST_F(Starts, DeadChildrenAreForgottenAndTheirParentIsNot) {
  desk.register_job(periodic_job("*/5 * * * *"));
  const auto started = tick(100s).started;
  const auto allocation = desk.tables.allocations_of_job("default", started[0]).front();
  desk.update(uuid(1), {report(allocation->id, model::ClientStatus::complete)});
  desk.clock.advance(24h * 30);
  desk.run(Collect{Retention{}});
  EXPECT_FALSE(desk.tables.find_job("default", started[0]));
  EXPECT_TRUE(parent());
}

}  // namespace
}  // namespace underway::server
