#include "server/storage/collect_decisions.hpp"

#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::ClientStatus;
using model::JobType;

Collected collect(Desk& desk, Retention keep = {}) { return desk.run(Collect{keep}); }

void stop(Desk& desk, const std::string& job) { desk.run(DeregisterJob{"default", job, false}); }

TEST(Collect, LeavesAloneWhatRunsOrHasJustEnded) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  desk.update(uuid(1), {report(desk.only("web")->id, ClientStatus::running, true)});
  desk.register_job(make_job("gone"));
  const auto ended = desk.only("gone")->id;
  stop(desk, "gone");
  desk.update(uuid(1), {report(ended, ClientStatus::complete)});
  const auto collected = collect(desk);
  EXPECT_EQ(collected.jobs + collected.evaluations + collected.allocations + collected.nodes, 0);
}

TEST(Collect, KeepsAJobThatRanForDaysForAWhileAfterItsEnd) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  desk.clock.advance(std::chrono::hours(72));
  stop(desk, "web");
  desk.update(uuid(1), {report(id, ClientStatus::complete)});
  desk.clock.advance(std::chrono::minutes(30));
  EXPECT_EQ(collect(desk).jobs, 0);
  desk.clock.advance(std::chrono::hours(4));
  EXPECT_EQ(collect(desk).jobs, 1);
  EXPECT_FALSE(desk.tables.find_job("default", "web"));
}

TEST(Collect, TakesAFinishedBatchJobAndEverythingOfIt) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("once", 2, JobType::batch));
  for (const auto& row : desk.live("once")) desk.update(uuid(1), {report(row->id, ClientStatus::complete)});
  EXPECT_EQ(desk.tables.find_job("default", "once")->status, model::JobStatus::dead);
  desk.clock.advance(std::chrono::hours(2));
  // While the job is there its finished allocations are: without them it would run again.
  EXPECT_EQ(collect(desk).allocations, 0);
  desk.clock.advance(std::chrono::hours(3));
  const auto collected = collect(desk);
  EXPECT_EQ(collected.jobs, 1);
  EXPECT_EQ(collected.allocations, 2);
  EXPECT_TRUE(desk.tables.allocations().empty());
  EXPECT_TRUE(desk.tables.evaluations().empty());
}

TEST(Collect, TakesReplacedAllocationsOfAJobThatRunsOn) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto failed = desk.only("web")->id;
  desk.update(uuid(1), {report(failed, ClientStatus::failed)});
  desk.clock.advance(std::chrono::minutes(2));
  desk.schedule();
  const auto now = desk.only("web")->id;
  desk.update(uuid(1), {report(now, ClientStatus::running, true)});
  desk.clock.advance(std::chrono::hours(2));
  collect(desk);
  EXPECT_FALSE(desk.tables.find_allocation(failed));
  EXPECT_TRUE(desk.tables.find_allocation(now));
}

TEST(Collect, OnRequestTakesAllThatIsOverAtOnce) {
  Desk desk;
  desk.join(make_node(1));
  desk.join(make_node(2));
  desk.down({uuid(2)});
  desk.register_job(make_job("web"));
  const auto id = desk.only("web")->id;
  stop(desk, "web");
  desk.update(uuid(1), {report(id, ClientStatus::complete)});
  const auto collected = collect(desk, Retention::none());
  EXPECT_EQ(collected.jobs, 1);
  EXPECT_EQ(collected.allocations, 1);
  EXPECT_EQ(collected.nodes, 1);
  EXPECT_TRUE(desk.tables.evaluations().empty());
  EXPECT_FALSE(desk.tables.setting("node-secret/" + uuid(2)));
}

TEST(Collect, WaitsForAStoppedAllocationThatStillRuns) {
  Desk desk;
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  desk.update(uuid(1), {report(desk.only("web")->id, ClientStatus::running, true)});
  stop(desk, "web");
  const auto collected = collect(desk, Retention::none());
  EXPECT_EQ(collected.jobs + collected.allocations, 0);
}

}  // namespace
}  // namespace underway::server::testing
