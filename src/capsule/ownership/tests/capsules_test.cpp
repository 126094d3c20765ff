#include "ownership/capsules.hpp"

#include "desk.hpp"

namespace underway::ownership::testing {
namespace {

TEST(Names, AreTheJobsUnlessItHasSeveralOrSaysAnother) {
  model::Job job = capsule_job("web");
  EXPECT_EQ(capsule_name(job, job.groups[0]), "web");
  job.groups.push_back(job.groups[0]);
  job.groups[1].name = "db";
  EXPECT_EQ(capsule_name(job, job.groups[1]), "web.db.0");
  job.groups[1].tasks[0].config.as_object()["name"] = "accounts";
  EXPECT_EQ(capsule_name(job, job.groups[1]), "accounts");
  EXPECT_EQ(capsule_task(server::testing::make_job("plain").groups[0]), nullptr);
}

class GuardOfCapsules : public CapsuleDesk {};

TEST_F(GuardOfCapsules, AnAllocationWaitsForTheRecordAndIsNamedInIt) {
  desk.register_job(capsule_job());
  const auto row = desk.only("svc");
  EXPECT_TRUE(guard.concerns(*row));
  EXPECT_EQ(guard.holds(desk.tables, *row), "the record of the capsule");
  reconcile();
  EXPECT_EQ(guard.holds(desk.tables, *desk.only("svc")), std::nullopt);
  EXPECT_EQ(capsule().allocation, row->id);
  EXPECT_EQ(capsule().owner, row->node_id);
  EXPECT_EQ(capsule().epoch, 1);
  EXPECT_EQ(capsule().image, "svc.capsule");
  EXPECT_EQ(guard.home(desk.tables, *row->job, row->job->groups[0]), row->node_id);
}

TEST_F(GuardOfCapsules, OtherJobsAreNoneOfItsBusiness) {
  desk.register_job(server::testing::make_job("plain"));
  const auto row = desk.only("plain");
  EXPECT_FALSE(guard.concerns(*row));
  EXPECT_EQ(guard.holds(desk.tables, *row), std::nullopt);
  EXPECT_EQ(guard.home(desk.tables, *row->job, row->job->groups[0]), std::nullopt);
}

TEST_F(GuardOfCapsules, TwoJobsCannotBeOneCapsule) {
  run();
  model::Job other = capsule_job("other");
  other.groups[0].tasks[0].config.as_object()["name"] = "svc";
  desk.register_job(other);
  reconcile();
  const auto why = guard.holds(desk.tables, *desk.only("other"));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("job 'svc'"), std::string::npos) << *why;
}

TEST_F(GuardOfCapsules, OnlyTheFirstOfSeveralStarts) {
  model::Job job = capsule_job();
  job.groups[0].count = 2;
  desk.register_job(job);
  reconcile();
  int may = 0;
  for (const auto& row : desk.live("svc")) may += may_start(*row) ? 1 : 0;
  EXPECT_EQ(may, 1);
}

}  // namespace
}  // namespace underway::ownership::testing
