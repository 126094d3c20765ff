// Pools that grow: who may ask how they stand, what is said where none does, and what metrics and `status` make of it.
#include <gmock/gmock.h>

#include "api/cluster/troubles.hpp"
#include "api/operator/metrics_source.hpp"
#include "server/access/identities.hpp"
#include "tables/pool_hosts.hpp"
#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// One cluster with a pool that stands as it should, and one that cannot have what it needs.
growth::Status growing_cluster() {
  growth::Status out;
  out.cluster = "hpc";
  out.at = unix_nanos(from_unix_nanos(0) + std::chrono::hours(1));
  out.pending = 12;
  out.running = 30;
  growth::PoolStatus small, large;
  small.pool = "small";
  small.most = 8;
  small.booting = 1;
  small.idle = 2;
  small.busy = 3;
  small.leaving = 4;
  small.asleep = 5;
  small.cost_per_hour = "1.40";
  large.pool = "large";
  large.trouble = "of 120.00 a day, 119.80 are spent or bound";
  out.pools = {small, large};
  return out;
}

TEST(Elastic, ListsNothingWhereNoPoolGrows) {
  World world;
  EXPECT_EQ(world.get("/v1/underway/elastic").body, "[]");
}

TEST(Elastic, SaysWhyAClusterIsNotThereAndWhatToDo) {
  World world;
  model::Cluster cluster;
  cluster.name = "hpc";
  cluster.networks = {{.name = "lan", .cidr = "10.80.0.0/24"}};
  cluster.pools = {{.name = "compute"}};
  world.apply(server::ApplyCluster{cluster, {}, {}});
  for (const char* below : {"", "/job/17"}) {
    SCOPED_TRACE(below);
    const auto unknown = world.get(fmt::format("/v1/underway/elastic/lab{}", below));
    EXPECT_EQ(unknown.status, 404);
    EXPECT_THAT(unknown.body, HasSubstr("cluster 'lab' has no pool that grows: there is no such cluster\n"));
    EXPECT_THAT(unknown.body, HasSubstr("underway cluster list"));
    const auto rigid = world.get(fmt::format("/v1/underway/elastic/hpc{}", below));
    EXPECT_EQ(rigid.status, 404);
    EXPECT_THAT(rigid.body, HasSubstr("cluster 'hpc' has no pool that grows: this server lets no pool grow\n"));
    EXPECT_THAT(rigid.body, HasSubstr("block `elastic`"));
  }
}

TEST(Elastic, TakesOnlyIdsThatSlurmGives) {
  World world;
  const auto status = [&](const std::string& id) { return world.get("/v1/underway/elastic/lab/job/" + id).status; };
  const std::string longest(64, '1');
  for (const auto& id : {std::string("17"), std::string("17_3"), std::string("17%2B1"), longest})
    EXPECT_EQ(status(id), 404) << id << ": it is the cluster that is not there";
  for (const auto& id : {std::string("web"), std::string("17.batch"), std::string("17%3B"), std::string("17%20"),
                         std::string("-1"), std::string("17%0A"), longest + "1"})
    EXPECT_EQ(status(id), 400) << id;
  EXPECT_THAT(world.get("/v1/underway/elastic/lab/job/web").body, HasSubstr("squeue"));
}

class ElasticAccess : public AccessTest {};

TEST_F(ElasticAccess, IsForWhoeverMaySeeClustersAndHosts) {
  make_token("operator", "node { policy = \"read\" }");
  make_token("developer", "namespace \"default\" { policy = \"write\" }");
  const std::pair<const char*, int> asked[] = {
      {"/v1/underway/elastic", 200}, {"/v1/underway/elastic/hpc", 404}, {"/v1/underway/elastic/hpc/job/17", 404}};
  for (const auto& [target, answer] : asked) {
    SCOPED_TRACE(target);
    world.token = "operator";
    EXPECT_EQ(status("GET", target), answer);
    world.token = "developer";
    EXPECT_EQ(status("GET", target), 403);
    world.token.clear();
    EXPECT_EQ(status("GET", target), 403);
  }
}

TEST(ElasticOnTheWire, IsReadAgainAsItWasWritten) {
  const auto before = growing_cluster();
  const auto written = json::to_value(before);
  EXPECT_EQ(written.at("At").as_string(), "1970-01-01T01:00:00Z");
  EXPECT_EQ(written.at("Pools").at(0).at("CostPerHour").as_string(), "1.40");
  const auto after = json::decode<growth::Status>(written);
  EXPECT_EQ(after.at, before.at);
  ASSERT_EQ(after.pools.size(), 2U);
  EXPECT_EQ(after.pools[0].leaving, 4);
  EXPECT_EQ(after.pools[1].trouble, before.pools[1].trouble);
}

TEST(AttentionForGrowth, NamesPoolsThatShouldGrowAndClustersThatAreNotKnown) {
  auto blind = growing_cluster();
  blind.cluster = "lab";
  blind.pools.clear();
  blind.trouble = "squeue: Unable to contact slurm controller";
  auto never = blind;
  never.cluster = "new";
  never.at = 0;
  const TimePoint at = from_unix_nanos(0) + std::chrono::hours(24);
  const auto told = attention_for({growing_cluster(), blind, never}, at);
  never.trouble_since = unix_nanos(at - std::chrono::seconds(59));
  EXPECT_EQ(attention_for({growing_cluster(), never}, at).size(), 1U) << "slurmctld may be about to come back";
  ASSERT_EQ(told.size(), 3U) << "of what stands as it should nothing is told";
  EXPECT_EQ(told[0].what, "pool 'large' of cluster 'hpc' should grow and does not");
  EXPECT_EQ(told[0].why, "of 120.00 a day, 119.80 are spent or bound");
  EXPECT_EQ(told[0].advice, "underway elastic status hpc");
  EXPECT_EQ(told[1].what,
            "cluster 'lab' neither grows nor shrinks since 1970-01-01T01:00:00Z: Slurm does not tell its queue");
  EXPECT_EQ(told[1].why, "squeue: Unable to contact slurm controller");
  EXPECT_EQ(told[2].what, "cluster 'new' neither grows nor shrinks: Slurm does not tell its queue");
}

/// What Prometheus reads, of a server that lets pools grow.
std::string scraped(std::vector<growth::Status> growing) {
  ServerSnapshot snapshot;
  snapshot.now = from_unix_nanos(0) + std::chrono::hours(1) + std::chrono::seconds(3);
  snapshot.growing = std::move(growing);
  snapshot.growth = growth::Counters{.looks = 50,
                                     .failed_looks = 2,
                                     .hosts_asked_for = 9,
                                     .hosts_given_back = 7,
                                     .failed_boots = 1,
                                     .hosts_taken_back = 5,
                                     .jobs_redone = 4,
                                     .last_decision_ms = 1.5};
  Exposition all;
  add_server_metrics(all, snapshot, MetricsView{});
  return all.prometheus();
}

TEST(MetricsOfGrowth, CountHostsByPhaseAndWhatWasDone) {
  const auto text = scraped({growing_cluster()});
  const std::pair<const char*, int> phases[] = {
      {"booting", 1}, {"idle", 2}, {"busy", 3}, {"leaving", 4}, {"asleep", 5}};
  for (const auto& [phase, hosts] : phases)
    EXPECT_THAT(text,
                HasSubstr(fmt::format("\nunderway_elastic_hosts{{cluster=\"hpc\",phase=\"{}\",pool=\"small\"}} {}\n",
                                      phase, hosts)));
  for (const char* line : {"underway_elastic_pending_slurm_jobs{cluster=\"hpc\"} 12",
                           "underway_elastic_since_look_seconds{cluster=\"hpc\"} 3", "underway_elastic_decision_ms 1.5",
                           "underway_elastic_looks_total 50", "underway_elastic_failed_looks_total 2",
                           "underway_elastic_hosts_asked_for_total 9", "underway_elastic_hosts_given_back_total 7",
                           "underway_elastic_failed_boots_total 1", "underway_elastic_hosts_taken_back_total 5",
                           "underway_elastic_jobs_redone_total 4"})
    EXPECT_THAT(text, HasSubstr(fmt::format("\n{}\n", line)));
}

TEST(MetricsOfGrowth, TellNoNumberThatNobodyKnows) {
  auto never = growing_cluster();
  never.at = 0;
  const auto text = scraped({never});
  EXPECT_THAT(text, Not(HasSubstr("underway_elastic_since_look_seconds")));
  EXPECT_THAT(text, Not(HasSubstr("underway_elastic_pending_slurm_jobs")));
  World world;
  EXPECT_THAT(world.get("/v1/metrics?format=prometheus").body, Not(HasSubstr("elastic"))) << "no pool grows there";
}

/// A cluster with a pool that Slurm itself asks for.
class SlurmAsks : public AccessTest {
 protected:
  static model::Cluster tide(const std::string& name) {
    model::Cluster out;
    out.name = name;
    out.networks = {{.name = "lan", .cidr = name == "tide" ? "10.80.0.0/24" : "10.81.0.0/24"}};
    model::Pool burst{.name = "burst", .size = 1, .hostname = "b%d", .cpus = 4, .memory_mb = 1000};
    burst.slurm = model::SlurmJoin{.join = "cloud", .most = 4};
    burst.elastic = model::PoolElastic{.asked_by = model::AskedBy::slurm};
    out.pools = {burst};
    return out;
  }
  SlurmAsks() {
    make_token("boss", "");
    world.token = "boss";
    // There is a key then, by which identities are signed.
    EXPECT_EQ(world.put("/v1/var/nomad/jobs/slurmctld", R"({"Items":{"a":"1"}})").status, 200);
    world.link(1);
    world.apply(server::ApplyCluster{tide("tide"), {{runner("slurmctld"), {}, {}}, {runner("web"), {}, {}}}, {}});
    world.apply(server::ApplyCluster{tide("other"), {}, {}});
  }
  /// A job whose task has the job's name.
  static model::Job runner(const std::string& name) {
    auto job = make_job(name);
    job.groups[0].tasks[0].name = name;
    return job;
  }
  /// The token by which a task of the job shows who it is.
  std::string identity_of(const std::string& job) {
    server::testing::run_until(world.loop, [&] {
      const auto& rows = world.tables().allocations_of_job("default", job);
      return !rows.empty() && rows.front()->client_status == model::ClientStatus::running;
    });
    model::Allocation row = *world.tables().find_allocation(world.allocation_of(job));
    model::Job with = *row.job;
    with.groups[0].tasks[0].identities = {model::Identity{}};
    with.canonicalize();
    row.job = std::make_shared<const model::Job>(with);
    SystemIds random;
    return server::issue_identity(world.server.keyring(), row, job, "default", "", {world.clock.now(), random}).token;
  }
  http::Response ask(const std::string& program, const std::string& body, const std::string& cluster = "tide") {
    return world.put("/v1/underway/cluster/" + cluster + "/slurm/" + program, body);
  }
  std::vector<std::string> hosts() {
    const auto record = tables::find_record<model::PoolHosts>(world.tables(), "tide/burst");
    return record ? record->hosts : std::vector<std::string>{};
  }
};

TEST_F(SlurmAsks, ResumeAndSuspendAreAnsweredWithWhatIsMadeOfThem) {
  auto answer = ask("resume", R"({"Nodes":["b2","b3"],"Jobs":[{"ID":17,"Nodes":["b2","b3"]}]})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body).at("AskedFor"), boost::json::array({"b2", "b3"}));
  EXPECT_THAT(hosts(), ::testing::ElementsAre("b1", "b2", "b3"));
  answer = ask("suspend", R"({"Nodes":["b1","b2"]})");
  EXPECT_EQ(json::parse(answer.body).at("GivenBack"), boost::json::array({"b2"}));
  EXPECT_EQ(json::parse(answer.body).at("LeftAlone"), boost::json::array({"b1"}));
  EXPECT_EQ(ask("resume-fail", R"({"Nodes":["b3"]})").status, 200);
  EXPECT_THAT(hosts(), ::testing::ElementsAre("b1"));
  answer = ask("resume", R"({"Nodes":["b2","b9","x1"]})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("has no host b9,x1"));
  EXPECT_EQ(ask("resume", R"({"Nodes":["b2"]})", "lab").status, 404);
  EXPECT_EQ(ask("resume", "[]").status, 400);
  EXPECT_THAT(hosts(), ::testing::ElementsAre("b1"));
}

TEST_F(SlurmAsks, AreForWhoeverAppliesClustersAndForTheTaskThatRunsTheirSlurmctld) {
  make_token("operator", "operator { policy = \"write\" }");
  make_token("reader", "operator { policy = \"read\" }");
  const std::string body = R"({"Nodes":["b2"]})";
  for (const char* program : {"resume", "suspend", "resume-fail"}) {
    SCOPED_TRACE(program);
    world.token = "operator";
    EXPECT_EQ(ask(program, body).status, 200);
    world.token = "reader";
    EXPECT_EQ(ask(program, body).status, 403);
    world.token.clear();
    EXPECT_EQ(ask(program, body).status, 403);
    world.token = identity_of("slurmctld");
    EXPECT_EQ(ask(program, body).status, 200);
    EXPECT_EQ(ask(program, body, "other").status, 403) << "it is the controller of another cluster";
    world.token = identity_of("web");
    EXPECT_EQ(ask(program, body).status, 403) << "any task of the cluster could have hosts made";
  }
}

}  // namespace
}  // namespace underway::api::testing
