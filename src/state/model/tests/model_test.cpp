#include "model/cluster.hpp"
#include "model/elastic/growth.hpp"
#include "model/elastic/promised.hpp"
#include "model/evaluation.hpp"
#include "model/node/node.hpp"

#include <gmock/gmock.h>

#include "base/json/json.hpp"
#include "model/job/spelled_policies.hpp"

namespace underway::model {
namespace {

Task task(std::string name, std::int64_t cpu, std::optional<Lifecycle> lifecycle = {}) {
  Task t;
  t.name = std::move(name);
  t.resources.cpu = cpu;
  t.resources.memory_mb = cpu;
  t.lifecycle = lifecycle;
  return t;
}

TEST(TaskGroup, CountsOnlyTheLargestPhaseAndEverySidecar) {
  TaskGroup group;
  group.tasks = {task("init", 500, Lifecycle{LifecycleHook::prestart, false}), task("a", 100), task("b", 200),
                 task("proxy", 50, Lifecycle{LifecycleHook::prestart, true}),
                 task("clean", 10, Lifecycle{LifecycleHook::poststop, false})};
  EXPECT_EQ(group.total_resources().cpu, 550);
  EXPECT_EQ(group.total_resources().memory_mb, 550);
}

TEST(Job, FindsItsGroupsAlsoWhenTheyWereChangedSinceTheyWereIndexed) {
  Job job;
  for (int i = 0; i < 100; ++i) job.groups.emplace_back().name = "g" + std::to_string(i);
  job.index_groups();
  auto changed = job;
  changed.groups.erase(changed.groups.begin() + 10);
  changed.groups.emplace_back().name = "new";
  changed.groups[3].name = "renamed";
  for (int i = 0; i < 100; ++i) {
    const auto name = "g" + std::to_string(i);
    EXPECT_EQ(job.find_group(name), &job.groups[static_cast<std::size_t>(i)]);
    const auto* found = changed.find_group(name);
    EXPECT_EQ(found != nullptr, i != 10 && i != 3) << name;
    EXPECT_TRUE(found == nullptr || found->name == name);
  }
  EXPECT_EQ(changed.find_group("new"), &changed.groups.back());
  EXPECT_EQ(changed.find_group("renamed"), &changed.groups[3]);
  EXPECT_EQ(job.find_group("new"), nullptr);
  const auto before = job.positions;
  job.status = JobStatus::running;
  job.index_groups();
  EXPECT_EQ(job.positions, before) << "what has not changed is not indexed anew";
  changed.index_groups();
  EXPECT_NE(changed.positions, before);
  EXPECT_EQ(changed.positions->at("renamed"), 3U);
}

TEST(Job, FillsRestartPoliciesByType) {
  Job job;
  job.id = "j";
  job.type = JobType::batch;
  job.groups.resize(1);
  job.groups[0].tasks.resize(1);
  job.canonicalize();
  EXPECT_EQ(job.name, "j");
  EXPECT_EQ(job.groups[0].restart->attempts, 3);
  EXPECT_EQ(job.groups[0].tasks[0].restart->interval, 24h);
}

TEST(Job, SpeaksNomadsNamesOnTheWire) {
  Job job;
  job.id = "j";
  const auto value = json::to_value(job).as_object();
  for (const char* name : {"ID", "TaskGroups", "Datacenters", "NodePool", "JobModifyIndex"})
    EXPECT_TRUE(value.contains(name)) << name;
  EXPECT_EQ(value.at("Type").as_string(), "service");
  EXPECT_EQ(value.at("Namespace").as_string(), "default");
}

TEST(Job, SurvivesTheStoreUnchanged) {
  Job job;
  job.id = "slurm";
  job.type = JobType::system;
  job.depends_on = {{"munge", DependencyScope::node}};
  job.groups.resize(1);
  job.groups[0].networks.resize(1);
  job.groups[0].networks[0].reserved_ports = {{"slurmd", 6818}};
  job.groups[0].tasks = {task("slurmd", 100)};
  job.groups[0].tasks[0].config = {{"command", "/usr/sbin/slurmd"}, {"args", {"-D"}}};
  job.canonicalize();
  EXPECT_TRUE(describe::equal(json::decode_text<Job>(json::encode(job, json::Encoding::compact)), job));
}

TEST(Node, ClassIgnoresWhatIsUnique) {
  Node a, b;
  a.attributes = {{"kernel.name", "linux"}, {"unique.hostname", "a"}};
  b.attributes = {{"kernel.name", "linux"}, {"unique.hostname", "b"}};
  EXPECT_EQ(compute_class(a), compute_class(b));
  b.attributes["kernel.name"] = "other";
  EXPECT_NE(compute_class(a), compute_class(b));
}

TEST(Node, ResolvesOnlyWholeTargets) {
  Node node;
  node.name = "c1";
  node.attributes = {{"cpu.arch", "amd64"}};
  node.meta = {{"rack", "r1"}};
  EXPECT_EQ(resolve_target("${attr.cpu.arch}", node), "amd64");
  EXPECT_EQ(resolve_target("${meta.rack}", node), "r1");
  EXPECT_EQ(resolve_target("${node.unique.name}", node), "c1");
  EXPECT_EQ(resolve_target("x-${meta.rack}", node), "x-${meta.rack}");
  EXPECT_EQ(resolve_target("${attr.missing}", node), std::nullopt);
}

TEST(Allocation, KnowsTheNumberInItsName) {
  Allocation alloc;
  alloc.name = allocation_name("web", "api", 12);
  EXPECT_EQ(alloc.name, "web.api[12]");
  EXPECT_EQ(alloc.index(), 12);
}

TEST(Cluster, NamesHostsFromThePattern) {
  Pool pool;
  pool.name = "compute";
  pool.size = 3;
  pool.hostname = "c%d";
  EXPECT_EQ(pool.host_names(), (std::vector<std::string>{"c1", "c2", "c3"}));
  pool.hostname.clear();
  pool.size = 1;
  EXPECT_EQ(pool.host_names(), std::vector<std::string>{"compute"});
}

Cluster one_that_grows() {
  Pool pool{.name = "compute", .size = 2, .hostname = "c%d", .cpus = 4, .memory_mb = 1000};
  pool.slurm = SlurmJoin{.most = 6};
  pool.elastic = PoolElastic{};
  Cluster cluster;
  cluster.name = "tide";
  cluster.networks = {{.name = "lan", .cidr = "10.80.0.0/24"}};
  cluster.pools = {pool};
  cluster.elastic = ElasticPolicy{};
  return cluster;
}

TEST(GrowingPool, NeedsToKnowHowFarItGrowsAndWhatAHostHas) {
  auto cluster = one_that_grows();
  EXPECT_EQ(problems(cluster), std::vector<std::string>());
  cluster.pools[0].cpus = 0;
  cluster.pools[0].slurm->most = 2;
  cluster.pools[0].elastic->keep_alive = "a while";
  cluster.elastic->budget.day = "much";
  EXPECT_EQ(problems(cluster),
            (std::vector<std::string>{
                "pool 'compute': elastic: the pool needs `cpus` and `memory`, to which what jobs ask for is compared",
                "pool 'compute': elastic: keep_alive is 'a while'; write ski_rental, or a duration as 10m",
                "pool 'compute': elastic: it grows up to `slurm.most`, which has to be more than its size, 2: slurm { "
                "most = 10 }",
                "elastic: budget: day is 'much', which is no amount: write it as 120.50"}));
  cluster = one_that_grows();
  cluster.pools[0].elastic.reset();
  EXPECT_EQ(problems(cluster), std::vector<std::string>{"elastic: no pool has a block `elastic`, so none grows"});
}

TEST(GrowingPool, ThatSlurmAsksForJoinsAsCloud) {
  auto cluster = one_that_grows();
  cluster.pools[0].elastic->asked_by = AskedBy::slurm;
  for (const char* join : {"auto", "cloud"}) {
    cluster.pools[0].slurm->join = join;
    EXPECT_EQ(problems(cluster), std::vector<std::string>()) << join;
  }
  cluster.pools[0].slurm->join = "dynamic";
  EXPECT_EQ(problems(cluster),
            std::vector<std::string>{
                "pool 'compute': elastic: asked_by = \"slurm\" needs pools that join as cloud, and pool 'compute' has "
                "join = \"dynamic\": write \"cloud\", or \"auto\""});
}

TEST(GrowingPool, ThatSlurmAsksForHasItsFirstHostsAlways) {
  auto pool = one_that_grows().pools[0];
  const PoolHosts decided{.cluster = "tide", .pool = "compute", .hosts = {"c5"}};
  EXPECT_EQ(hosts_to_have(pool, decided), (std::vector<std::string>{"c5", "c1"})) << "two, whichever";
  pool.elastic->asked_by = AskedBy::slurm;
  EXPECT_EQ(hosts_to_have(pool, decided), (std::vector<std::string>{"c1", "c2", "c5"}));
}

TEST(GrowingPool, IsRefusedWhatNobodyWouldDo) {
  auto cluster = one_that_grows();
  cluster.elastic->promises.max_suspensions = 1;
  cluster.elastic->promises.notice = std::chrono::seconds{1};
  const auto wrong = problems(cluster);
  ASSERT_EQ(wrong.size(), 2U);
  for (std::size_t i = 0; const auto* key : {"promises: ", "promises: notice: "})
    EXPECT_NE(wrong[i++].find(std::string("elastic: ") + key), std::string::npos) << key;
}

TEST(GrowingPool, ThatSlurmAsksForIsNoAccounts) {
  auto cluster = one_that_grows();
  cluster.pools[0].elastic->owner = "physics";
  EXPECT_TRUE(problems(cluster).empty());
  cluster.pools[0].elastic->asked_by = AskedBy::slurm;
  const auto wrong = problems(cluster);
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_NE(wrong[0].find("owner, qos, up_to_nodes, asked_by: "), std::string::npos) << wrong[0];
}

TEST(MachineSets, TellAllThatIsWrongAtOnce) {
  Cluster cluster{.name = "demo", .networks = {{.name = "lan", .cidr = "10.80.0.0/24"}}, .pools = {{.name = "c"}}};
  cluster.machines = {{.name = "small", .kernel = "/vmlinuz", .append = "quiet", .memory_mb = 64}};
  EXPECT_THAT(problems(cluster), testing::IsEmpty());
  MachineSet bad{.name = "a/b", .initrd = "initrd", .cpus = 0, .memory_mb = 16, .per_node = 65};
  bad.network = "10.80.0.0/16";
  bad.shared_memory_mb = 48;
  bad.host_devices = {"3b:00.0", "0000:3b:00.0", "0000:3b:00.0"};
  cluster.machines = {bad, cluster.machines[0], cluster.machines[0]};
  const auto found = problems(cluster);
  for (const auto* wrong : {"the name must be", "neither an `image`", "are of a `kernel`", "no absolute path",
                            "cpus: 0", "memory: 16", "per_node: 65", "overlaps network 'lan'", "no power of two",
                            "'3b:00.0' is no PCI", "is there twice", "declared twice"})
    EXPECT_THAT(found, testing::Contains(testing::HasSubstr(wrong)));
  for (const auto* network :
       {"10.200.0.0", "10.200.0.1/16", "10.200.0.0/29", "300.0.0.0/16", "10.0.0.0/33", "fd00::/64"}) {
    cluster.machines = {{.name = "small", .kernel = "/vmlinuz", .memory_mb = 64, .network = network}};
    EXPECT_THAT(problems(cluster), testing::ElementsAre(testing::HasSubstr("is no network like"))) << network;
  }
}

TEST(GrowingPool, ThatIsTakenBackAtAnyTimePromisesNothing) {
  auto cluster = one_that_grows();
  auto& pool = cluster.pools[0];
  pool.elastic->opportunistic = true;
  cluster.elastic->promises.notice = std::chrono::seconds{30};
  auto wrong = problems(cluster);
  ASSERT_EQ(wrong.size(), 1U) << wrong.back();
  EXPECT_NE(wrong[0].find("hosts that are always there are not taken back: write size = 0"), std::string::npos)
      << wrong[0];
  pool.size = 0;
  EXPECT_TRUE(problems(cluster).empty());
  pool.slurm->join = "dynamic";
  pool.elastic->asked_by = AskedBy::slurm;
  wrong = problems(cluster);
  ASSERT_EQ(wrong.size(), 3U) << wrong.back();
  EXPECT_NE(wrong[0].find("Slurm would ask for hosts again"), std::string::npos) << wrong[0];
  EXPECT_NE(wrong[1].find("opportunistic needs pools that join as cloud"), std::string::npos) << wrong[1];
  pool.slurm->join = "auto";
  pool.elastic->asked_by = AskedBy::queue;
  pool.elastic->urgent = pool.elastic->yields = true;
  wrong = problems(cluster);
  for (const auto* why : {"who cannot wait has to be sure of its hosts", "and do not sleep"})
    EXPECT_TRUE(std::any_of(wrong.begin(), wrong.end(), [&](const auto& it) {
      return it.find(why) != std::string::npos;
    })) << why;
  pool.elastic->urgent = pool.elastic->yields = false;
  cluster.elastic->promises.notice = std::chrono::hours{25};
  wrong = problems(cluster);
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_NE(wrong[0].find("promises: notice is"), std::string::npos) << wrong[0];
}

TEST(GrowingPool, OfVirtualMachinesMayYieldOrBeUrgentButNotBoth) {
  auto cluster = one_that_grows();
  auto& pool = cluster.pools[0];
  pool.elastic->yields = true;
  pool.elastic->asked_by = AskedBy::slurm;
  cluster.elastic->promises.max_suspensions = 1;
  auto wrong = problems(cluster);
  ASSERT_EQ(wrong.size(), 2U) << "and what sleepers are promised is nothing that nobody would do";
  EXPECT_NE(wrong[0].find("its hosts are no virtual machines, which alone can sleep"), std::string::npos) << wrong[0];
  EXPECT_NE(wrong[1].find("Slurm would power down who sleeps"), std::string::npos) << wrong[1];
  pool.elastic->asked_by = AskedBy::queue;
  pool.elastic->urgent = true;
  pool.provider = "qemu";
  pool.machine = VirtualMachine{.on = "metal", .image = "/srv/image"};
  cluster.pools.push_back({.name = "metal", .size = 1, .hostname = "m%d", .bridges = true});
  cluster.elastic->promises.notice = std::chrono::seconds{1};
  wrong = problems(cluster);
  ASSERT_EQ(wrong.size(), 2U) << wrong.back();
  EXPECT_NE(wrong[0].find("one that yields has nobody sleep"), std::string::npos) << wrong[0];
  EXPECT_NE(wrong[1].find("notice: no pool is opportunistic"), std::string::npos) << wrong[1];
}

/// Two nodes that hold machines, and a pool of one department.
Cluster sold(std::int64_t most) {
  Cluster out{.name = "tide", .networks = {{.name = "lan", .cidr = "10.80.0.0/24"}}};
  out.pools = {{.name = "metal", .size = 2, .hostname = "m%d", .bridges = true}};
  Pool physics{.name = "physics", .provider = "qemu", .size = 0, .hostname = "p%d", .cpus = 1, .memory_mb = 1000};
  physics.machine = VirtualMachine{.on = "metal", .image = "/srv/image"};
  physics.slurm = SlurmJoin{.most = most};
  physics.elastic = PoolElastic{.urgent = true, .owner = "physics"};
  out.pools.push_back(physics);
  return out;
}

TEST(SoldHosts, AreRefusedWhenTheNodesOfTheFileNeverHaveRoomForThem) {
  auto cluster = sold(5);
  EXPECT_THAT(problems(cluster), testing::IsEmpty()) << "what the nodes have is not declared";
  const auto size = machine_size(cluster.pools[1]);
  EXPECT_EQ(size.cpu, 500);
  EXPECT_EQ(size.memory_mb, 1000 + 48 + 20 + kQemuMb);
  cluster.pools[0].memory_total_mb = 3 * size.memory_mb - 1;
  EXPECT_THAT(
      problems(cluster),
      testing::ElementsAre(testing::AllOf(
          testing::HasSubstr("pool 'metal': owners are promised 5 hosts (physics 5) on its 2 nodes"),
          testing::HasSubstr("has room for 2 that hold 1228 or more, so there is room for 4, and 5 are wanted"))));
  cluster.pools[0].size = 3;
  EXPECT_THAT(problems(cluster), testing::IsEmpty());
  cluster.pools[0].cpu_total_compute = 900;
  EXPECT_THAT(problems(cluster), testing::ElementsAre(testing::HasSubstr("a node of 900 MHz has room for 1")));
  cluster.pools[1].machine->pin = true;
  EXPECT_THAT(problems(cluster), testing::IsEmpty()) << "how many cores a node has the file does not say";
}

TEST(SoldHosts, ShareTheirNodesWithWhomeverMakesWayForNobody) {
  auto cluster = sold(3);
  cluster.pools[0].cpu_total_compute = 1000;
  Pool other = cluster.pools[1];
  other.name = "other";
  other.hostname = "o%d";
  other.size = 2;
  other.slurm->most = 4;
  other.elastic = PoolElastic{.yields = true};
  cluster.pools.push_back(other);
  EXPECT_THAT(problems(cluster), testing::IsEmpty()) << "they sleep";
  cluster.pools[2].elastic->yields = false;
  EXPECT_THAT(problems(cluster), testing::ElementsAre(testing::HasSubstr("so there is room for 4, and 5 are wanted")));
  cluster.pools[2].size = 1;
  EXPECT_THAT(problems(cluster), testing::IsEmpty());
  // Each would have room alone; two that hold more than half of a node are on no node together.
  cluster.pools[1].machine->cpu = 400;
  cluster.pools[2].machine->cpu = 700;
  cluster.pools[2].elastic->owner = "chemistry";
  cluster.pools[2].slurm->most = 2;
  EXPECT_THAT(problems(cluster), testing::ElementsAre(testing::HasSubstr("5 hosts (physics 3, other 2)")));
  cluster.pools[2].machine->cpu = 200;
  EXPECT_THAT(problems(cluster), testing::IsEmpty());
  cluster.elastic.emplace().max_nodes = 4;
  EXPECT_THAT(problems(cluster), testing::ElementsAre("elastic: max_nodes: owners are promised 5 hosts, and all pools "
                                                      "together have 4 at most"));
  cluster.pools[1].machine->on = cluster.pools[2].machine->on = "elsewhere";
  cluster.elastic.reset();
  EXPECT_THAT(problems(cluster), testing::IsEmpty()) << "the file does not say what is there";
}

TEST(Cluster, ReportsAllProblemsAtOnce) {
  Cluster cluster;
  cluster.name = "bad name";
  cluster.networks = {{"a", "10.0.0.0/24"}, {"a", "10.0.1.0/24"}};
  Pool one, two;
  one.name = "p";
  one.size = 2;
  one.hostname = "fixed";
  two.name = "p";
  two.networks = {"missing"};
  cluster.pools = {one, two};
  EXPECT_EQ(problems(cluster),
            (std::vector<std::string>{"cluster 'bad name': the name must be of letters, digits and hyphens",
                                      "network 'a' is declared twice",
                                      "pool 'p': hostname 'fixed' needs a %d, as the pool has 2 hosts",
                                      "pool 'p' is declared twice", "pool 'p': network 'missing' is not declared"}));
}

TEST(Evaluation, SpellsTriggersAsClientsExpect) {
  Evaluation eval;
  eval.triggered_by = EvalTrigger::queued_allocs;
  EXPECT_EQ(json::to_value(eval).as_object().at("TriggeredBy").as_string(), "queued-allocs");
}

TEST(Policies, AreSpelledOutAndTakenBackAgain) {
  for (const auto type : {JobType::service, JobType::batch, JobType::system, JobType::sysbatch}) {
    Job job;
    job.type = type;
    job.groups.resize(2);
    job.groups[0].reschedule = RescheduleStrategy{};
    job.groups[0].reschedule->attempts = 2;
    job.groups[0].reschedule->interval = std::chrono::hours(1);
    if (type == JobType::service || type == JobType::system) {
      job.groups[1].update = UpdateStrategy{};
      job.groups[1].update->canary = 1;
    }
    const Job whole = with_policies(job);
    EXPECT_EQ(whole.groups[0].update.has_value(), type == JobType::service);
    EXPECT_EQ(whole.groups[1].reschedule.has_value(), type == JobType::service || type == JobType::batch);
    EXPECT_TRUE(describe::equal(with_policies(whole), whole));
    const Job back = without_policies(whole);
    EXPECT_FALSE(back.update);
    EXPECT_FALSE(back.groups[0].update);
    EXPECT_FALSE(back.groups[1].migrate);
    EXPECT_FALSE(back.groups[1].reschedule);
    EXPECT_TRUE(describe::equal(with_policies(back), whole)) << "something else holds now";
    EXPECT_TRUE(describe::equal(back, without_policies(job))) << "read and written back, it is another job";
  }
}

TEST(Policies, OfOneMeaningAreWrittenInOneWay) {
  Job job;
  job.groups.resize(1);
  auto& group = job.groups[0];
  job.update = UpdateStrategy{};
  job.update->max_parallel = 1;  // as if it were not written
  job.update->canary = 2;
  group.update = UpdateStrategy{};
  group.update->canary = 2;  // as its job says
  group.update->auto_revert = true;
  group.reschedule = RescheduleStrategy{};
  group.reschedule->attempts = 0;  // who counts attempts has an end of them
  group.migrate = MigrateStrategy{};
  const auto written = [](const auto& stanza) {
    return boost::json::serialize(json::to_value(stanza, json::Encoding::compact));
  };
  const Job back = without_policies(job);
  ASSERT_TRUE(back.update && back.groups[0].update && back.groups[0].reschedule);
  EXPECT_EQ(written(*back.update), R"({"Canary":2})");
  EXPECT_EQ(written(*back.groups[0].update), R"({"AutoRevert":true})");
  EXPECT_EQ(written(*back.groups[0].reschedule), R"({"Unlimited":false})");
  EXPECT_FALSE(back.groups[0].migrate);
  EXPECT_TRUE(describe::equal(back, without_policies(with_policies(job))));

  // What the type has not is not for us to take away: it is refused.
  job.type = JobType::batch;
  EXPECT_TRUE(without_policies(job).update);
  EXPECT_TRUE(without_policies(job).groups[0].migrate);
}

}  // namespace
}  // namespace underway::model
