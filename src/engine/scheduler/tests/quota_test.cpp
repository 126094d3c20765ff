// What a quota leaves: counted as allocations come and go, and told in the words of Nomad's metrics.
#include "tests/world.hpp"

#include <gmock/gmock.h>

#include "scheduler/fleet/fleet_index.hpp"

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Bounded : ::testing::Test {
  void SetUp() override {
    world.put_node(make_node("c1"));
    world.put_node(make_node("c2"));
    bound.name = "physics";
    bound.namespaces = {"default"};
  }
  void limit(model::QuotaResources resources) {
    bound.limit = std::move(resources);
    world.quota = bound;
  }
  World world{1};
  QuotaBound bound;
};

TEST_F(Bounded, PlacesWhatTheQuotaLeavesAndBlocksTheRestThoughNodesHaveRoom) {
  limit({.cpu = 1200});
  const Plan plan = world.run(make_job("web", 3, 500));
  EXPECT_EQ(plan.created.size(), 2u);
  const auto blocked = world.with_status("web", EvalStatus::blocked);
  ASSERT_EQ(blocked.size(), 1u);
  EXPECT_EQ(blocked[0]->quota_limit_reached, "physics");
  EXPECT_THAT(blocked[0]->failed_groups.at("g").quota_exhausted,
              ElementsAre("cpu exhausted (1500 needed > 1200 limit)"));
  EXPECT_EQ(blocked[0]->queued.at("g"), 1);
  EXPECT_THAT(explain(blocked[0]->failed_groups.at("g")),
              ElementsAre("* Quota limit hit \"cpu exhausted (1500 needed > 1200 limit)\""));
}

TEST_F(Bounded, NoNodeWakesWhatOnlyTheQuotaHoldsBack) {
  limit({.cpu = 1200});
  world.run(make_job("web", 3, 500));
  const auto blocked = world.with_status("web", EvalStatus::blocked).at(0);
  EXPECT_FALSE(could_unblock(*blocked, make_node("c3")));
  EXPECT_FALSE(could_unblock(*blocked, "chemistry"));
  EXPECT_TRUE(could_unblock(*blocked, "physics"));
}

TEST_F(Bounded, MemoryWithoutALimitIsMoreThanAnyLimit) {
  limit({.memory_max_mb = 100'000});
  auto job = make_job("web", 1, 100, 300);
  job.groups[0].tasks[0].resources.memory_max_mb = -1;
  EXPECT_TRUE(world.run(job).created.empty());
  limit({.memory_mb = 1000});
  const Plan plan = world.run(job);
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.created[0].resources.tasks.at("t").memory_max_mb, -1);
}

TEST_F(Bounded, WhatEndsGivesItsShareBack) {
  limit({.memory_mb = 600});
  const Plan first = world.run(make_job("web", 2, 100, 300));
  EXPECT_EQ(first.created.size(), 2u);
  EXPECT_TRUE(world.run(make_job("db", 1, 100, 300)).created.empty());
  world.stop("web");
  EXPECT_EQ(world.run(make_job("cache", 2, 100, 300)).created.size(), 2u);
}

TEST_F(Bounded, AnUpdateMayUseTheShareOfWhatItReplaces) {
  limit({.cpu = 500});
  Job job = make_job("web", 1, 500);
  EXPECT_EQ(world.run(job).created.size(), 1u);
  job.groups[0].tasks[0].env["A"] = "b";
  EXPECT_EQ(world.run(job).created.size(), 1u);
}

TEST_F(Bounded, SystemJobsStopAtTheQuotaToo) {
  limit({.cpu = 500});
  Job job = make_job("exporter", 1, 500);
  job.type = JobType::system;
  job.canonicalize();
  EXPECT_EQ(world.run(job).created.size(), 1u);
  const auto blocked = world.with_status("exporter", EvalStatus::blocked);
  ASSERT_EQ(blocked.size(), 1u);
  EXPECT_EQ(blocked[0]->quota_limit_reached, "physics");
}

TEST_F(Bounded, NobodyIsPushedAsideForWhatTheQuotaForbids) {
  limit({.cpu = 4000});
  world.rules.preempts = true;
  Job low = make_job("low", 1, 3500);
  low.priority = 10;
  world.run(low);
  Job high = make_job("high", 1, 1000);
  high.priority = 90;
  const Plan plan = world.run(high);
  EXPECT_THAT(plan.preempted, IsEmpty());
  EXPECT_THAT(plan.created, IsEmpty());
}

TEST_F(Bounded, CountsDevicesByTypeVendorAndModel) {
  QuotaUse used;
  used.devices = {{"nvidia/gpu/a100", 2}, {"intel/gpu/max", 1}};
  EXPECT_EQ(used.count("gpu"), 3);
  EXPECT_EQ(used.count("nvidia/gpu"), 2);
  EXPECT_EQ(used.count("nvidia/gpu/h100"), 0);
  QuotaUse wanted;
  wanted.devices = {{"gpu", 1}};  // may turn out to be any
  EXPECT_THAT(exceeded({.devices = {{"nvidia/gpu", 2}}}, used, wanted),
              ElementsAre("nvidia/gpu exhausted (3 needed > 2 limit)"));
}

TEST_F(Bounded, ZeroBoundsNothingAndLessThanZeroForbids) {
  EXPECT_THAT(exceeded({}, {.cpu = 1 << 20}, {.cpu = 1}), IsEmpty());
  EXPECT_THAT(exceeded({.cores = -1}, {}, {.cores = 1}), ElementsAre("cores exhausted (1 needed > 0 limit)"));
  EXPECT_THAT(exceeded({.cores = -1}, {}, {.cpu = 100}), IsEmpty());
}

TEST(QuotaCount, FollowsWhateverHappensToAllocations) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    World world{seed, 3};
    std::mt19937_64 random(seed);
    const auto count = [&](const std::string& ns) { return world.quota_use(ns); };
    for (int step = 0; step < 60; ++step) {
      const std::string id = fmt::format("j{}", random() % 5);
      if (random() % 3 == 0)
        world.stop(world.run(make_job(id)).job->id);
      else
        world.run(
            make_job(id, static_cast<std::int64_t>(random() % 4), static_cast<std::int64_t>(100 + random() % 900)));
      if (random() % 2 == 0) world.start_all();
      const QuotaUse& kept = world.fleet().index().quota_use("default", count);
      const QuotaUse fresh = world.quota_use("default");
      ASSERT_EQ(kept.cpu, fresh.cpu) << "seed " << seed << " step " << step;
      ASSERT_EQ(kept.memory_mb, fresh.memory_mb) << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace underway::scheduler
