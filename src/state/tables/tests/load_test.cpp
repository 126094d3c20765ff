/// load() rebuilds what apply() built: seeded histories, and everything that can be asked compared.

#include "world.hpp"

#include <random>

namespace underway::tables {
namespace {

constexpr int kNodes = 5, kJobs = 4, kAllocations = 40, kEvaluations = 15;

template <class T>
void dump_rows(std::string& out, std::string_view title, const std::vector<Row<T>>& rows) {
  out += fmt::format("{}:\n", title);
  for (const auto& row : rows) out += "  " + json::encode(*row) + "\n";
}

void dump_allocations(std::string& out, std::string_view title, const std::vector<Row<model::Allocation>>& rows) {
  dump_rows(out, title, rows);
  for (const auto& row : rows)
    out += fmt::format("  {} is of {}\n", row->id, row->job ? json::encode(*row->job) : "no job");
}

/// Everything that can be asked.
std::string dump(const Tables& tables) {
  std::string out = fmt::format("revision {}\n", tables.revision());
  const auto revision = [&](Topic topic, std::string key) {
    out += fmt::format("of {}:{} {}\n", static_cast<int>(topic), key, tables.revision_of({topic, key}));
  };
  dump_rows(out, "jobs", tables.jobs());
  for (std::size_t t = 0; t < kTopicCount; ++t) {
    // What is derived has no history of its own: after a load all of it is as young as the youngest allocation.
    if (static_cast<Topic>(t) != Topic::services) revision(static_cast<Topic>(t), "");
  }
  for (int j = 0; j < kJobs; ++j) {
    const std::string id = fmt::format("job{}", j);
    for (const auto& v : tables.job_versions("default", id))
      out += "  version " + json::encode(v->job) + json::encode(v->submission) + "\n";
    for (int v = 0; v < 40; ++v) {
      if (const auto old = tables.find_job_version("default", id, v)) out += "  kept " + json::encode(*old) + "\n";
    }
    dump_allocations(out, "allocations of " + id, tables.allocations_of_job("default", id));
    dump_rows(out, "evaluations of " + id, tables.evaluations_of_job("default", id));
    revision(Topic::jobs, "default/" + id);
    revision(Topic::allocations, "job:default/" + id);
    revision(Topic::evaluations, "job:default/" + id);
    dump_rows(out, "deployments of " + id, tables.deployments_of_job("default", id));
  }
  dump_rows(out, "nodes", tables.nodes());
  for (int n = 0; n < kNodes; ++n) {
    const std::string id = fmt::format("{}n", n);
    dump_allocations(out, "allocations on " + id, tables.allocations_on_node(id));
    revision(Topic::nodes, id);
    revision(Topic::allocations, "node:" + id);
    if (const auto found = tables.find_node_by_host("c", fmt::format("h{}", n))) out += "host has " + found->id + "\n";
  }
  dump_rows(out, "evaluations", tables.evaluations());
  dump_rows(out, "pending", tables.pending_evaluations());
  dump_rows(out, "blocked", tables.blocked_evaluations());
  for (int e = 0; e < kEvaluations; ++e) {
    const std::string id = fmt::format("{:x}e", e);
    dump_rows(out, "allocations of evaluation " + id, tables.allocations_of_evaluation(id));
    revision(Topic::evaluations, id);
    revision(Topic::allocations, "eval:" + id);
  }
  dump_allocations(out, "allocations", tables.allocations());
  for (int a = 0; a < kAllocations; ++a) revision(Topic::allocations, fmt::format("{:x}a", a));
  dump_rows(out, "clusters", tables.clusters());
  dump_rows(out, "hosts", tables.hosts());
  dump_rows(out, "deployments", tables.rows<model::Deployment>());
  for (const char* id : {"d0", "d1", "d2"}) revision(Topic::deployments, id);
  dump_rows(out, "join tokens", tables.rows<model::JoinToken>());
  for (const char* id : {"t0", "t1"}) revision(Topic::join_tokens, id);
  dump_rows(out, "namespaces", tables.rows<model::Namespace>());
  dump_rows(out, "policies", tables.rows<model::AclPolicy>());
  dump_rows(out, "roles", tables.rows<model::AclRole>());
  dump_rows(out, "records", tables.rows<model::Record>());
  dump_rows(out, "tokens", tables.rows<model::AclToken>());
  for (const char* hash : {"h0", "h1", "h2", "h3"}) {
    if (const auto token = tables.find_token_by_hash(hash))
      out += fmt::format("{} is of {}\n", hash, token->accessor_id);
  }
  for (const char* key : {"s0", "s1"}) {
    if (const auto value = tables.setting(key)) out += fmt::format("{} is {}\n", key, boost::json::serialize(*value));
    revision(Topic::settings, key);
  }
  return out;
}

/// Random changes, as decisions make them: of what there is, and of what there is not.
class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {}

  std::vector<Change> some_changes() {
    std::vector<Change> changes;
    for (int i = pick(8); i >= 0; --i) changes.push_back(change());
    return changes;
  }

 private:
  int pick(int bound) { return std::uniform_int_distribution(0, bound - 1)(random_); }
  bool chance(int percent) { return pick(100) < percent; }
  std::string job_id() { return fmt::format("job{}", pick(kJobs)); }
  std::string node_id() { return fmt::format("{}n", pick(kNodes)); }
  std::string evaluation_id() { return fmt::format("{:x}e", pick(kEvaluations)); }

  Change change() {
    switch (pick(17)) {
      case 0:
      case 1:
      case 2:
        return some_job();
      case 3:
        return chance(30) ? Change(DeleteJob{"default", job_id()}) : some_job();
      case 4:
        return some_node();
      case 5:
        return chance(40) ? Change(DeleteNode{node_id()}) : some_node();
      case 6:
      case 7:
        return some_evaluation();
      case 8:
        return DeleteEvaluation{evaluation_id()};
      case 9:
      case 10:
      case 11:
      case 12:
        return some_allocation();
      case 13:
        return DeleteAllocation{fmt::format("{:x}a", pick(kAllocations))};
      case 14:
        if (chance(30)) return some_join_token_change();
        return chance(50) ? some_cluster_change() : some_deployment_change();
      case 15:
        return some_acl_change();
      default:
        return PutSetting{fmt::format("s{}", pick(2)),
                          chance(30) ? boost::json::value() : boost::json::value{{"x", pick(100)}, {"y", "ü\n"}}};
    }
  }

  Change some_job() {
    const std::string id = job_id();
    auto& version = versions_[id];
    if (chance(60)) ++version;
    if (chance(10)) version = 0;
    auto j = job(id, version);
    j.priority = pick(100);
    j.stable = chance(20);
    j.status = static_cast<model::JobStatus>(pick(3));
    j.job_modify_index = chance(50) ? Tables::kThisRevision : pick(5);
    j.groups[0].tasks.resize(1);
    j.groups[0].tasks[0].config = {{"command", "/bin/\"true\""}, {"args", {1, 2.5, nullptr, true}}};
    std::optional<model::JobSubmission> submission;
    if (chance(50)) submission = model::JobSubmission{fmt::format("job \"{}\" {{}}", id), "hcl2", "", {{"x", "y"}}};
    return PutJob{std::move(j), std::move(submission)};
  }

  Change some_node() {
    auto n = node(node_id());
    n.attributes = {{"kernel.name", "linux"}, {"unique.hostname", n.id}};
    n.drivers["exec"].healthy = chance(50);
    n.status = static_cast<model::NodeStatus>(pick(4));
    n.cluster = "c";
    if (chance(70)) n.host = fmt::format("h{}", pick(kNodes));
    return PutNode{std::move(n)};
  }

  Change some_evaluation() {
    auto e = evaluation(evaluation_id(), job_id(), pick(3));
    e.status = static_cast<model::EvalStatus>(pick(5));
    e.failed_groups["g"].constraint_filtered["kernel < 6"] = pick(9);
    e.job_modify_index = chance(50) ? Tables::kThisRevision : 0;
    return PutEvaluation{std::move(e)};
  }

  Change some_allocation() {
    auto a = allocation(fmt::format("{:x}a", pick(kAllocations)), job_id(), node_id(), evaluation_id());
    a.job_version = std::max<std::int64_t>(0, versions_[a.job_id] - pick(4));
    a.client_status = static_cast<model::ClientStatus>(pick(6));
    a.task_states["t"].events.push_back({"Started", 7, "odd \x01 \xff bytes", {{"k", "v"}}});
    if (chance(50)) a.health.healthy = chance(50);
    a.metrics.scores.push_back({"n", 0.75, {{"binpack", 0.5}}});
    a.alloc_modify_index = chance(50) ? Tables::kThisRevision : pick(5);
    return PutAllocation{std::move(a)};
  }

  Change some_deployment_change() {
    model::Deployment deployment;
    deployment.id = fmt::format("d{}", pick(3));
    if (chance(30)) return DeleteDeployment{deployment.id};
    deployment.job_id = job_id();
    deployment.job_version = pick(4);
    deployment.groups["g"].placed_canaries = {"a1"};
    deployment.groups["g"].require_progress_by = 1'700'000'000'123'456'789;
    return PutDeployment{deployment};
  }

  Change some_join_token_change() {
    model::JoinToken token;
    token.id = fmt::format("t{}", pick(2));
    if (chance(30)) return DeleteJoinToken{token.id};
    token.hash = "salt$hash";
    token.use_time = std::int64_t{pick(3)} * 1'000'000'007;
    return PutJoinToken{token};
  }

  /// A token's secret may be changed, and one of another accessor never has the same.
  Change some_acl_change() {
    const int number = pick(2);
    switch (pick(7)) {
      case 6:
        return chance(30)
                   ? Change(DeleteRecord{"capsule/ns/c"})
                   : PutRecord{
                         {.kind = "capsule", .name = "ns/c", .body = {{"Owner", pick(9)}, {"More", {1, nullptr}}}}};
      case 0:
        return chance(30) ? Change(DeleteNamespace{"n"}) : PutNamespace{{.name = "n", .allowed_users = {"slurm"}}};
      case 1:
        return chance(30) ? Change(DeleteAclPolicy{"p"}) : PutAclPolicy{{.name = "p", .rules = "node {}"}};
      case 2:
        return chance(30) ? Change(DeleteAclRole{"r"}) : PutAclRole{{.id = "r", .policies = {{"p"}}}};
      case 3:
        return DeleteAclToken{fmt::format("t{}", number)};
      default:
        return PutAclToken{{.accessor_id = fmt::format("t{}", number),
                            .secret_hash = fmt::format("h{}", number * 2 + pick(2)),
                            .expiration_time = 1'700'000'000'123'456'789}};
    }
  }

  Change some_cluster_change() {
    model::Cluster cluster;
    cluster.name = fmt::format("c{}", pick(2));
    cluster.jobs = {"x"};
    model::Host host;
    host.cluster = cluster.name;
    host.name = fmt::format("h{}", pick(3));
    switch (pick(4)) {
      case 0:
        return DeleteCluster{cluster.name};
      case 1:
        return DeleteHost{host.cluster + "/" + host.name};
      case 2:
        return PutHost{host};
      default:
        return PutCluster{cluster};
    }
  }

  std::mt19937_64 random_;
  std::map<std::string, std::int64_t> versions_;
};

TEST(Load, RebuildsExactlyWhatApplyBuilt) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    History history(seed);
    World world;
    for (int i = 0; i < 60; ++i) {
      std::vector<std::vector<Change>> lists(1 + i % 3);
      for (auto& list : lists) list = history.some_changes();
      world.commit(std::move(lists));
      if (i % 15 != 14) continue;
      SCOPED_TRACE(i);
      Tables loaded;
      loaded.load(world.store);
      ASSERT_EQ(dump(loaded), dump(world.tables));
    }
  }
}

TEST(Load, MakesTheSameOperationsOfTheSameChanges) {
  const auto operations = [](std::uint64_t seed) {
    History history(seed);
    Tables tables;
    std::string text;
    for (Revision revision = 1; revision <= 50; ++revision) {
      for (const auto& operation : tables.apply(history.some_changes(), revision)) {
        if (const auto* put = std::get_if<store::Put>(&operation))
          text += put->key + " = " + put->value + "\n";
        else
          text += "- " + std::get<store::Delete>(operation).range.begin + "\n";
      }
    }
    return text;
  };
  EXPECT_EQ(operations(3), operations(3));
  EXPECT_NE(operations(3), operations(4));
}

/// Follows by difference, and is compared with what there is.
struct CountingFollower final : Tables::Follower {
  void reset() override {
    nodes.clear();
    allocations.clear();
  }
  void node_changed(const Row<model::Node>& before, const Row<model::Node>& after) override {
    move(nodes, before, after);
  }
  void allocation_changed(const Row<model::Allocation>& before, const Row<model::Allocation>& after) override {
    move(allocations, before, after);
  }
  template <class T>
  static void move(std::map<std::string, Row<T>>& rows, const Row<T>& before, const Row<T>& after) {
    if (before) {
      ASSERT_TRUE(rows.contains(before->id));
      EXPECT_EQ(rows.at(before->id), before);
      rows.erase(before->id);
    }
    if (after) {
      EXPECT_TRUE(rows.emplace(after->id, after).second);
    }
  }
  std::map<std::string, Row<model::Node>> nodes;
  std::map<std::string, Row<model::Allocation>> allocations;
};

TEST(Load, IsFollowedExactly) {
  History history(5);
  World world;
  CountingFollower follower;
  world.tables.follow(&follower);
  for (int i = 0; i < 100; ++i) {
    world.commit({history.some_changes()});
    if (i == 60) world.tables.load(world.store);
    std::vector<Row<model::Allocation>> followed;
    for (const auto& [id, row] : follower.allocations) followed.push_back(row);
    ASSERT_EQ(followed, world.tables.allocations());
    ASSERT_EQ(follower.nodes.size(), world.tables.nodes().size());
  }
}

TEST(Load, TakesBackWhatAFailedCommitApplied) {
  World world;
  world.put(PutNode{node("n1")}, PutJob{job("web"), {}});
  const std::string before = dump(world.tables);
  world.tables.apply({PutNode{node("n2")}, DeleteJob{"default", "web"}, PutSetting{"s0", 1}}, 2);
  EXPECT_NE(dump(world.tables), before);
  world.tables.load(world.store);
  EXPECT_EQ(dump(world.tables), before);
}

TEST(Load, ReadsMoreRowsThanAPage) {
  World world;
  std::vector<Change> changes;
  for (int i = 0; i < 9000; ++i)
    changes.emplace_back(PutAllocation{allocation(fmt::format("{:08x}", i * 7919), "j", "n")});
  world.commit({std::move(changes)});
  Tables loaded;
  loaded.load(world.store);
  EXPECT_EQ(ids(loaded.allocations()), ids(world.tables.allocations()));
}

TEST(Load, NamesTheKeyThatCannotBeRead) {
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"n/n1", "{not json"},
                                   {"a/a1", R"({"ID":"a1","JobVersion":"seven"})"},
                                   {"j/default/web", R"({"ID":"other"})"},
                                   {"v/default/web/0", R"({"Submission":{}})"}}) {
    SCOPED_TRACE(key);
    World world;
    store::Transaction transaction;
    transaction.then.push_back(store::Put{key, value});
    world.store.commit(std::move(transaction), [](store::Store::CommitResult) {});
    world.store.step();
    try {
      world.tables.load(world.store);
      FAIL() << "it was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::internal);
      EXPECT_THAT(error.text(), ::testing::HasSubstr(key));
    }
    EXPECT_TRUE(world.tables.nodes().empty()) << "half of a state is none";
  }
}

}  // namespace
}  // namespace underway::tables
