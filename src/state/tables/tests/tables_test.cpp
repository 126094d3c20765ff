#include "world.hpp"

namespace underway::tables {
namespace {

using Ids = std::vector<std::string>;

TEST(Tables, StampTheIndexesOfTheCommit) {
  World world;
  auto first = job("web");
  first.job_modify_index = Tables::kThisRevision;
  world.put(PutJob{first, {}});
  const auto made = world.tables.find_job("default", "web");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->create_index, 1);
  EXPECT_EQ(made->modify_index, 1);
  EXPECT_EQ(made->job_modify_index, 1);

  model::Job running = *made;
  running.status = model::JobStatus::running;
  world.put(PutJob{running, {}});
  const auto now = world.tables.find_job("default", "web");
  EXPECT_EQ(now->create_index, 1);
  EXPECT_EQ(now->modify_index, 2);
  EXPECT_EQ(now->job_modify_index, 1) << "a change of status is none of the specification";
  EXPECT_EQ(made->status, model::JobStatus::pending) << "who holds a row keeps it as it was";
}

TEST(Tables, StampAllocationsThatTheServerChanged) {
  World world;
  world.put(PutJob{job("web"), {}}, PutAllocation{allocation("a1", "web", "n1")});
  EXPECT_EQ(world.tables.find_allocation("a1")->alloc_modify_index, 1);
  auto reported = *world.tables.find_allocation("a1");
  reported.client_status = model::ClientStatus::running;
  world.put(PutAllocation{reported});
  EXPECT_EQ(world.tables.find_allocation("a1")->alloc_modify_index, 1);
  auto stopped = *world.tables.find_allocation("a1");
  stopped.alloc_modify_index = Tables::kThisRevision;
  world.put(PutAllocation{stopped});
  EXPECT_EQ(world.tables.find_allocation("a1")->alloc_modify_index, 3);
}

TEST(Tables, ListJobsByNamespaceAndId) {
  World world;
  auto other = job("b");
  other.ns = "a-team";
  world.put(PutJob{job("web2"), {}}, PutJob{other, {}}, PutJob{job("web1"), {}}, PutJob{job("db/x"), {}});
  EXPECT_EQ(ids(world.tables.jobs()), (Ids{"b", "db/x", "web1", "web2"}));
  EXPECT_EQ(ids(world.tables.jobs("default", "web")), (Ids{"web1", "web2"}));
  EXPECT_EQ(ids(world.tables.jobs("*", "b")), (Ids{"b"}));
  EXPECT_TRUE(world.tables.jobs("absent").empty());
}

TEST(Tables, KeepTheNewestVersionsWithTheirSubmissions) {
  World world;
  for (int v = 0; v < 9; ++v) {
    model::JobSubmission submission;
    submission.source = fmt::format("source {}", v);
    world.put(PutJob{job("web", v), submission});
  }
  const auto versions = world.tables.job_versions("default", "web");
  ASSERT_EQ(versions.size(), Tables::kJobVersions);
  EXPECT_EQ(versions.front()->job.version, 8);
  EXPECT_EQ(versions.back()->job.version, 3);
  EXPECT_EQ(versions.back()->submission.source, "source 3");
  EXPECT_EQ(versions.back()->job.create_index, 1);
  EXPECT_EQ(versions.back()->job.modify_index, 4);
  EXPECT_FALSE(world.tables.find_job_version("default", "web", 2));
  EXPECT_EQ(world.store.range(store::KeyRange::prefix("v/")).key_values.size(), Tables::kJobVersions);
}

TEST(Tables, KeepTheSubmissionWhenOnlyTheStatusChanges) {
  World world;
  model::JobSubmission submission;
  submission.source = "job {}";
  world.put(PutJob{job("web"), submission});
  auto changed = *world.tables.find_job("default", "web");
  changed.status = model::JobStatus::running;
  world.put(PutJob{changed, {}});
  changed.stable = true;
  world.put(PutJob{changed, {}});
  const auto versions = world.tables.job_versions("default", "web");
  ASSERT_EQ(versions.size(), 1u);
  EXPECT_EQ(versions[0]->submission.source, "job {}");
  EXPECT_TRUE(versions[0]->job.stable);
}

TEST(Tables, KeepAVersionAsLongAsAnAllocationIsOfIt) {
  World world;
  world.put(PutJob{job("web", 0), {}}, PutAllocation{allocation("a1", "web", "n1")});
  for (int v = 1; v < 9; ++v) world.put(PutJob{job("web", v), {}});
  EXPECT_TRUE(world.tables.find_job_version("default", "web", 0));
  EXPECT_EQ(world.tables.find_allocation("a1")->job->version, 0);
  EXPECT_EQ(world.tables.job_versions("default", "web").back()->job.version, 3);
  world.put(DeleteAllocation{"a1"});
  EXPECT_FALSE(world.tables.find_job_version("default", "web", 0));
}

TEST(Tables, ShareOneJobAmongItsAllocations) {
  World world;
  world.put(PutJob{job("web"), {}}, PutAllocation{allocation("a1", "web", "n1")},
            PutAllocation{allocation("a2", "web", "n1")});
  EXPECT_EQ(world.tables.find_allocation("a1")->job, world.tables.find_allocation("a2")->job);
  EXPECT_EQ(world.tables.find_allocation("a1")->job, world.tables.find_job_version("default", "web", 0));
}

TEST(Tables, LetAPurgedJobsAllocationsKeepTheirVersion) {
  World world;
  world.put(PutJob{job("web"), {}}, PutAllocation{allocation("a1", "web", "n1")});
  world.put(DeleteJob{"default", "web"});
  EXPECT_FALSE(world.tables.find_job("default", "web"));
  EXPECT_TRUE(world.tables.job_versions("default", "web").empty());
  EXPECT_TRUE(world.tables.find_allocation("a1")->job);
  auto again = job("web");
  again.priority = 70;
  world.put(PutJob{again, {}});
  EXPECT_EQ(world.tables.find_job("default", "web")->create_index, 3);
  EXPECT_EQ(world.tables.find_allocation("a1")->job->priority, 70) << "the same version number: the new record";
  EXPECT_EQ(world.tables.find_allocation("a1")->modify_index, 1);
  world.put(DeleteJob{"default", "web"}, DeleteAllocation{"a1"});
  for (const auto& kv : world.store.range(store::KeyRange::prefix("")).key_values)
    EXPECT_EQ(kv.key.substr(0, 2), "t/") << "nothing is left but when it went";
}

TEST(Tables, OrderEvaluationsByPriorityAndAge) {
  World world;
  world.put(PutEvaluation{evaluation("low", "j", 10)}, PutEvaluation{evaluation("b", "j")});
  world.put(PutEvaluation{evaluation("a", "j")}, PutEvaluation{evaluation("high", "k", 90)});
  auto blocked = evaluation("blocked", "j");
  blocked.status = model::EvalStatus::blocked;
  world.put(PutEvaluation{blocked});
  EXPECT_EQ(ids(world.tables.pending_evaluations()), (Ids{"high", "b", "a", "low"}));
  EXPECT_EQ(ids(world.tables.blocked_evaluations()), (Ids{"blocked"}));
  EXPECT_EQ(ids(world.tables.evaluations()), (Ids{"blocked", "high", "a", "b", "low"}));
  EXPECT_EQ(ids(world.tables.evaluations_of_job("default", "j")), (Ids{"blocked", "a", "b", "low"}));

  blocked.status = model::EvalStatus::pending;
  blocked.priority = 20;
  auto done = evaluation("high", "k", 90);
  done.status = model::EvalStatus::complete;
  world.put(PutEvaluation{blocked}, PutEvaluation{done}, DeleteEvaluation{"b"});
  EXPECT_EQ(ids(world.tables.pending_evaluations()), (Ids{"a", "blocked", "low"}));
  EXPECT_TRUE(world.tables.blocked_evaluations().empty());
}

TEST(Tables, KeepTheEvaluationsOfOneRevisionInTheOrderOfTheirMaking) {
  World world;
  auto registered = evaluation("f", "j"), blocked = evaluation("a", "j"), again = evaluation("c", "j");
  for (auto* row : {&registered, &blocked, &again}) row->create_time = 1000;
  world.commit(
      {{PutEvaluation{registered}}, {PutEvaluation{registered}, PutEvaluation{blocked}}, {PutEvaluation{again}}});
  const Ids newest_first{"c", "a", "f"};
  EXPECT_EQ(ids(world.tables.evaluations_of_job("default", "j")), newest_first) << "whatever their ids are";
  EXPECT_EQ(ids(world.tables.evaluations()), newest_first);
  EXPECT_EQ(ids(world.tables.pending_evaluations()), (Ids{"f", "a", "c"}));
  EXPECT_EQ(world.tables.find_evaluation("c")->create_index, world.tables.find_evaluation("f")->create_index);
  EXPECT_EQ(world.tables.find_evaluation("f")->create_time, 1000);

  auto moved = *world.tables.find_evaluation("c");
  moved.create_time = 5;
  world.put(PutEvaluation{moved});
  EXPECT_EQ(ids(world.tables.evaluations_of_job("default", "j")), newest_first) << "each keeps its place";
  world.tables.load(world.store);
  EXPECT_EQ(ids(world.tables.evaluations_of_job("default", "j")), newest_first);

  auto later = evaluation("b", "j");
  later.create_time = 7;  // the clock was set back
  world.put(PutEvaluation{later});
  EXPECT_EQ(world.tables.evaluations().front()->id, "b");
  EXPECT_EQ(world.tables.find_evaluation("b")->create_time, 7);
}

TEST(Tables, GroupAllocationsByJobNodeAndEvaluation) {
  World world;
  world.put(PutEvaluation{evaluation("e1", "web")}, PutEvaluation{evaluation("e2", "db")},
            PutAllocation{allocation("c", "web", "n1", "e1")}, PutAllocation{allocation("a", "web", "n2", "e1")});
  world.put(PutAllocation{allocation("b", "web", "n1", "e1")}, PutAllocation{allocation("d", "db", "n1", "e2")});
  EXPECT_EQ(ids(world.tables.allocations_of_job("default", "web")), (Ids{"a", "c", "b"}));
  EXPECT_EQ(ids(world.tables.allocations_on_node("n1")), (Ids{"c", "b", "d"}));
  EXPECT_EQ(ids(world.tables.allocations_of_evaluation("e1")), (Ids{"a", "c", "b"}));
  world.put(DeleteEvaluation{"e1"}, DeleteAllocation{"c"});
  EXPECT_EQ(ids(world.tables.allocations_of_evaluation("e1")), (Ids{"a", "b"}));
  EXPECT_EQ(ids(world.tables.allocations_of_job("default", "web")), (Ids{"a", "b"}));
  EXPECT_TRUE(world.tables.allocations_on_node("absent").empty());
  EXPECT_TRUE(world.tables.allocations_of_job("other", "web").empty());
}

TEST(Tables, FindAndWalkIdsOfAnyShape) {
  World world;
  SeededIds uuids(7);
  std::vector<Change> changes;
  Ids all = {"",  "-",   "0",  "9", "9:", "9f", ":",  ":0",        "A",
             "a", "a-b", "ab", "f", "fg", "g",  "zz", "ffffffff-", "00000000"};
  for (int i = 0; i < 500; ++i) all.push_back(uuids.uuid());
  for (int i = 0; i < 200; ++i) all.push_back(fmt::format("alloc-{}", i));
  for (const auto& id : all) changes.emplace_back(PutAllocation{allocation(id, "j", "n")});
  world.commit({std::move(changes)});
  std::sort(all.begin(), all.end());
  EXPECT_EQ(ids(world.tables.allocations()), all);
  for (const auto& id : all) ASSERT_TRUE(world.tables.find_allocation(id)) << id;
  for (const std::string prefix : {"a", "9", "9:", "alloc-1", "f", "0", "7", "7a", "g", ":", "none"}) {
    Ids expected;
    std::copy_if(all.begin(), all.end(), std::back_inserter(expected),
                 [&](const auto& id) { return id.starts_with(prefix); });
    EXPECT_EQ(ids(world.tables.allocations(prefix)), expected) << prefix;
  }
  changes.clear();
  for (std::size_t i = 0; i < all.size(); i += 2) changes.emplace_back(DeleteAllocation{all[i]});
  world.commit({std::move(changes)});
  EXPECT_EQ(world.tables.allocations().size(), all.size() / 2);
  EXPECT_EQ(world.tables.allocations_of_job("default", "j").size(), all.size() / 2);
  EXPECT_FALSE(world.tables.find_allocation(all[0]));
}

TEST(Tables, FindTheNewestNodeOfAHost) {
  World world;
  auto n1 = node("n1"), n2 = node("n2");
  n1.cluster = n2.cluster = "c";
  n1.host = n2.host = "login";
  world.put(PutNode{n2});
  world.put(PutNode{n1});
  EXPECT_EQ(world.tables.find_node_by_host("c", "login")->id, "n1");
  world.put(DeleteNode{"n1"});
  EXPECT_EQ(world.tables.find_node_by_host("c", "login")->id, "n2");
  n2.host = "other";
  world.put(PutNode{n2});
  EXPECT_FALSE(world.tables.find_node_by_host("c", "login"));
}

TEST(Tables, KeepClustersHostsAndSettings) {
  World world;
  model::Cluster cluster;
  cluster.name = "hpc";
  model::Host h1, h2;
  h1.cluster = "hpc";
  h1.name = "c2";
  h2.cluster = "dev";
  h2.name = "c1";
  world.put(PutCluster{cluster}, PutHost{h1}, PutHost{h2}, PutSetting{"a", 42});
  EXPECT_EQ(world.tables.clusters().size(), 1u);
  EXPECT_EQ(world.tables.find_cluster("hpc")->create_index, 1);
  EXPECT_EQ(world.tables.hosts().size(), 2u);
  ASSERT_EQ(world.tables.hosts("hpc").size(), 1u);
  EXPECT_TRUE(world.tables.find_host("dev", "c1"));
  EXPECT_EQ(world.tables.setting("a"), boost::json::value(42));
  world.put(DeleteCluster{"hpc"}, DeleteHost{"dev/c1"}, PutSetting{"a", nullptr});
  EXPECT_TRUE(world.tables.clusters().empty());
  EXPECT_FALSE(world.tables.find_host("dev", "c1"));
  EXPECT_FALSE(world.tables.setting("a"));
}

TEST(Tables, MakeNoRevisionOfDeletingWhatIsNotThere) {
  World world;
  world.put(PutNode{node("n")});
  EXPECT_TRUE(world.tables
                  .apply({DeleteJob{"default", "x"}, DeleteNode{"x"}, DeleteEvaluation{"x"}, DeleteAllocation{"x"},
                          DeleteCluster{"x"}, DeleteHost{"x/x"}, PutSetting{"x", nullptr}},
                         2)
                  .empty());
  EXPECT_EQ(world.tables.revision(), 1);
}

TEST(Tables, TellWhenAScopeChangedLast) {
  World world;
  EXPECT_EQ(world.tables.revision_of({Topic::jobs, ""}), 1) << "clients refuse index 0";
  world.put(PutNode{node("n1")});                                 // 1
  world.put(PutJob{job("web"), {}}, PutJob{job("db"), {}});       // 2
  world.put(PutEvaluation{evaluation("e1", "web")});              // 3
  world.put(PutAllocation{allocation("a1", "web", "n1", "e1")});  // 4
  world.put(PutAllocation{allocation("a2", "db", "n2", "e2")});   // 5
  world.put(PutNode{node("n2")});                                 // 6
  const auto of = [&](Topic topic, std::string key) { return world.tables.revision_of({topic, std::move(key)}); };
  EXPECT_EQ(of(Topic::nodes, ""), 6);
  EXPECT_EQ(of(Topic::nodes, "n1"), 1);
  EXPECT_EQ(of(Topic::jobs, "default/web"), 2);
  EXPECT_EQ(of(Topic::evaluations, "job:default/web"), 3);
  EXPECT_EQ(of(Topic::evaluations, "job:default/db"), 1);
  EXPECT_EQ(of(Topic::allocations, ""), 5);
  EXPECT_EQ(of(Topic::allocations, "a1"), 4);
  EXPECT_EQ(of(Topic::allocations, "job:default/web"), 4);
  EXPECT_EQ(of(Topic::allocations, "node:n1"), 4);
  EXPECT_EQ(of(Topic::allocations, "node:n2"), 5);
  EXPECT_EQ(of(Topic::allocations, "eval:e1"), 4);
  world.put(DeleteAllocation{"a1"}, DeleteEvaluation{"e1"});  // 7
  EXPECT_EQ(of(Topic::allocations, "job:default/web"), 7);
  EXPECT_EQ(of(Topic::allocations, "a1"), 7);
  EXPECT_EQ(of(Topic::allocations, "a2"), 5);
  EXPECT_EQ(of(Topic::evaluations, ""), 7);
}

struct RecordingFollower final : Tables::Follower {
  void reset() override { log.emplace_back("reset"); }
  void node_changed(const Row<model::Node>& before, const Row<model::Node>& after) override {
    log.push_back(fmt::format("node {}{}", before ? "-" : "", after ? "+" + after->id : before->id));
  }
  void allocation_changed(const Row<model::Allocation>& before, const Row<model::Allocation>& after) override {
    log.push_back(fmt::format("allocation {}{}", before ? "-" : "", after ? "+" + after->id : before->id));
  }
  std::vector<std::string> log;
};

TEST(Tables, LetAFollowerSeeEveryChangeOnce) {
  World world;
  world.put(PutNode{node("n1")}, PutAllocation{allocation("a1", "web", "n1")});
  RecordingFollower follower;
  world.tables.follow(&follower);
  EXPECT_EQ(std::exchange(follower.log, {}), (Ids{"reset", "node +n1", "allocation +a1"}));
  world.put(PutNode{node("n1")}, PutAllocation{allocation("a2", "web", "n1")}, DeleteAllocation{"a1"},
            DeleteNode{"n1"});
  EXPECT_EQ(std::exchange(follower.log, {}), (Ids{"node -+n1", "allocation +a2", "allocation -a1", "node -n1"}));
  world.tables.load(world.store);
  EXPECT_EQ(follower.log, (Ids{"reset", "allocation +a2"}));
}

}  // namespace
}  // namespace underway::tables
