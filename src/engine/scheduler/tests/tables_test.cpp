/// @file
/// The scheduler over the real tables: the fleet follows them, plans are applied to them.

#include "tests/world.hpp"

#include "base/json/json.hpp"
#include "store/memory_store.hpp"

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;

class OverTables : public ::testing::Test {
 protected:
  OverTables() {
    tables_.follow(&fleet_);
    for (const char* name : {"c1", "c2", "c3"}) commit({tables::PutNode{make_node(name)}});
  }

  void commit(std::vector<tables::Change> changes) {
    store::Transaction transaction;
    transaction.then = tables_.apply(std::move(changes), store_.revision() + 1);
    store_.commit_and_wait(std::move(transaction));
    tables_.publish();
  }

  Evaluation evaluation_of(const Job& job) {
    Evaluation evaluation;
    evaluation.id = ids_.uuid();
    evaluation.job_id = job.id;
    evaluation.type = job.type;
    return evaluation;
  }

  Plan run(const Job& job) {
    const Evaluation evaluation = evaluation_of(job);
    commit({tables::PutJob{job, std::nullopt}, tables::PutEvaluation{evaluation}});
    Plan plan = schedule(tables_, fleet_, evaluation, Context{clock_.now(), ids_});
    const Plan kept = plan;
    commit(std::move(plan).take_changes());
    return kept;
  }

  std::int64_t used_cpu() {
    std::int64_t sum = 0;
    for (const auto& node : tables_.nodes()) sum += fleet_.usage(node->id)->used.cpu;
    return sum;
  }

  SeededIds ids_{1};
  VirtualClock clock_;
  store::MemoryStore store_;
  Fleet fleet_;
  tables::Tables tables_;
};

TEST_F(OverTables, PlansAreAppliedAndFollowed) {
  Job job = make_job("web", 4);
  EXPECT_EQ(run(job).created.size(), 4u);
  EXPECT_EQ(tables_.allocations_of_job("default", "web").size(), 4u);
  EXPECT_EQ(used_cpu(), 4 * 500);
  EXPECT_EQ(tables_.find_job("default", "web")->status, model::JobStatus::running);
  // The others follow when the first one works.
  job.version = 1;
  job.groups[0].tasks[0].env["A"] = "1";
  EXPECT_EQ(run(job).groups.at("g").destructive, 1);
  EXPECT_EQ(used_cpu(), 4 * 500);
  const auto newest = [&] { return tables_.deployments_of_job("default", "web").front(); };
  EXPECT_EQ(newest()->job_version, 1);
  EXPECT_EQ(newest()->status, model::DeploymentStatus::running);
  job.version = 2;
  job.groups[0].tasks[0].env["A"] = "2";
  job.update.emplace().max_parallel = 0;
  EXPECT_EQ(run(job).groups.at("g").destructive, 4);
  EXPECT_EQ(used_cpu(), 4 * 500);
  EXPECT_EQ(newest()->job_version, 1);
  EXPECT_EQ(newest()->status, model::DeploymentStatus::cancelled);
  job.version = 3;
  job.stop = true;
  run(job);
  EXPECT_EQ(used_cpu(), 0);
}

TEST_F(OverTables, APreviewChangesNothing) {
  run(make_job("web", 2));
  const Plan plan =
      preview(tables_, fleet_, std::make_shared<const Job>(make_job("web", 5)), Context{clock_.now(), ids_});
  EXPECT_EQ(plan.created.size(), 3u);
  EXPECT_EQ(tables_.allocations_of_job("default", "web").size(), 2u);
  EXPECT_EQ(used_cpu(), 2 * 500);
}

TEST_F(OverTables, AfterALoadThePlanIsTheSame) {
  run(make_job("web", 5));
  run(make_job("db", 3, 700));
  tables::Tables loaded;
  Fleet fleet;
  loaded.follow(&fleet);
  loaded.load(store_);
  const auto more = std::make_shared<const Job>(make_job("more", 6, 300));
  SeededIds a(9), b(9);
  const Plan here = preview(tables_, fleet_, more, Context{clock_.now(), a});
  const Plan there = preview(loaded, fleet, more, Context{clock_.now(), b});
  EXPECT_EQ(json::encode(here.created), json::encode(there.created));
  EXPECT_EQ(here.created.size(), 6u);
  for (const auto& node : tables_.nodes()) EXPECT_EQ(fleet.usage(node->id)->used, fleet_.usage(node->id)->used);
}

}  // namespace
}  // namespace underway::scheduler
