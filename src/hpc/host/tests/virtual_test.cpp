#include <gmock/gmock.h>

#include "base/error.hpp"
#include "crypto/digest.hpp"
#include "host/virtual/virtual_hosts.hpp"
#include "model/validate/validate.hpp"
#include "server/access/namespace_decisions.hpp"
#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"
#include "tables/slurm_members.hpp"
#include "vm/config.hpp"

namespace underway::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

model::Cluster declared(std::int64_t size) {
  model::Cluster cluster;
  cluster.name = "demo";
  cluster.networks = {{.name = "lan", .cidr = "10.78.0.0/24", .nat = true}};
  model::Pool metal{.name = "metal", .bridges = true};
  model::Pool burst{.name = "burst", .provider = "qemu", .size = size, .hostname = "v%d", .cpus = 2, .memory_mb = 512};
  burst.meta = {{"kind", "a \"quoted\" one"}};
  burst.machine = model::VirtualMachine{.on = "metal", .image = "/images/node.qcow2", .disk = "4G"};
  cluster.pools = {metal, burst};
  return cluster;
}

std::vector<model::Host> hosts_of(const model::Cluster& cluster) {
  auto added = compare(cluster, wanted_hosts(tables::Tables(), cluster), {}).added;
  std::erase_if(added, [](const auto& host) { return host.provider != "qemu"; });
  return added;
}

TEST(PoolJob, HasAGroupForEachHostThatStaysAsItIsWhenOthersComeAndGo) {
  const auto cluster = declared(3);
  const auto& pool = *cluster.find_pool("burst");
  auto hosts = hosts_of(cluster);
  const auto job = pool_job(cluster, pool, hosts);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->id, "demo-burst-hosts");
  EXPECT_EQ(job->node_pool, "metal");
  EXPECT_THAT(model::validate(*job), testing::IsEmpty());
  ASSERT_EQ(job->groups.size(), 3U);
  EXPECT_FALSE(model::disconnect_policy(*job, job->groups[1]).replaces())
      << "a machine whose node is silent may run there still";
  const auto& task = job->groups[1].tasks.at(0);
  EXPECT_EQ(job->groups[1].name, "v2");
  EXPECT_EQ(task.driver, "qemu");
  EXPECT_EQ(task.resources.cpu, 1000);
  EXPECT_EQ(task.resources.memory_mb, 512 + 58 + 160) << "the guest's kernel and QEMU itself need some";
  EXPECT_THAT(vm::problems(task.config), testing::IsEmpty());
  const auto config = vm::parse_config(task.config);
  EXPECT_EQ(config.name, "demo.v2");
  EXPECT_EQ(config.vcpus, 2);
  EXPECT_EQ(config.networks.at(0).bridge_name(), "br-lan");
  EXPECT_EQ(config.networks.at(0).mac,
            "52:54:0a:4e:00:" + fmt::format("{:02x}", net::parse_ip(hosts[1].addresses.at("lan"))->bytes()[3]));

  hosts.erase(hosts.begin());
  const auto fewer = pool_job(cluster, pool, hosts);
  EXPECT_EQ(boost::json::serialize(json::to_value(fewer->groups[0])),
            boost::json::serialize(json::to_value(job->groups[1])));
  EXPECT_FALSE(pool_job(cluster, pool, {}));
}

TEST(PoolJob, MachinesAreWhereTheirPoolSays) {
  auto cluster = declared(2);
  auto& machine = *cluster.pools[1].machine;
  machine.constraints = {{"${meta.rack}", "distinct_property", "2"}};
  machine.affinities = {{"${node.class}", "=", "new", 50}};
  machine.spreads = {{"${meta.rack}", 50, {}}};
  EXPECT_THAT(model::problems(cluster), testing::IsEmpty());
  const auto job = pool_job(cluster, cluster.pools[1], hosts_of(cluster));
  EXPECT_THAT(model::validate(*job), testing::IsEmpty());
  EXPECT_EQ(job->constraints.at(0).operand, "distinct_property") << "of the job: it counts all hosts";
  EXPECT_EQ(job->affinities.size(), 1U);
  EXPECT_TRUE(job->spreads.at(0).across_groups) << "each host is a group";
  for (const auto& group : job->groups) EXPECT_TRUE(model::runs_once(*job, group));

  machine.constraints = {{"${meta.rack}", "near", "r1"}};
  machine.affinities = {{"${node.class}", "=", "new", 0}};
  machine.spreads = {{"${meta.rack}", 200, {}}};
  EXPECT_THAT(model::problems(cluster),
              ElementsAre(HasSubstr("pool 'burst': machine: constraint: there is no operator 'near'"),
                          "pool 'burst': machine: affinity: weight = 0 would mean nothing",
                          "pool 'burst': machine: spread: weight = 200 is not between 1 and 100"));
}

TEST(PoolJob, MachinesThatSlurmJobsMayRunOnStayAsTheyWereMade) {
  auto cluster = declared(3);
  auto& pool = cluster.pools[1];
  auto hosts = hosts_of(cluster);
  const auto made = *pool_job(cluster, pool, hosts);
  pool.memory_mb = 1024;
  for (auto& host : hosts) host.status = model::HostStatus::running;
  hosts[2].status = model::HostStatus::pending;
  auto wish = *pool_job(cluster, pool, hosts);
  EXPECT_THAT(keep_made(wish, made, pool, hosts), testing::IsEmpty()) << "no Slurm job is on them";
  pool.slurm = model::SlurmJoin{};
  EXPECT_THAT(keep_made(wish, made, pool, hosts), ElementsAre("v1", "v2"));
  const auto memory = [&](std::size_t group) { return wish.groups[group].tasks[0].resources.memory_mb; };
  EXPECT_EQ(memory(0), memory(2) - 522);
  EXPECT_EQ(memory(1), memory(0));
  EXPECT_THAT(keep_made(wish, wish, pool, hosts), testing::IsEmpty()) << "nothing new was declared since";
}

TEST(PoolJob, PinsProcessorsToCoresOfTheirOwn) {
  auto cluster = declared(1);
  cluster.pools[1].machine->pin = true;
  const auto job = pool_job(cluster, cluster.pools[1], hosts_of(cluster));
  EXPECT_EQ(job->groups[0].tasks[0].resources.cores, 2);
  EXPECT_EQ(job->groups[0].tasks[0].resources.cpu, 0);
  EXPECT_THAT(model::validate(*job), testing::IsEmpty());
}

TEST(HostSeed, HasLinksNamesAndAnAgentThatJoins) {
  const auto cluster = declared(2);
  const auto hosts = hosts_of(cluster);
  model::Host controller{.name = "ctl", .cluster = "demo", .pool = "metal", .addresses = {{"lan", "10.78.0.9"}}};
  std::vector<tables::Row<model::Host>> all{std::make_shared<const model::Host>(controller)};
  for (const auto& host : hosts) all.push_back(std::make_shared<const model::Host>(host));
  AgentSeed agent{
      .server = "https://10.78.0.1:4646", .join_token = "the token", .hosts_file = hosts_file(cluster, all)};
  const auto seed = host_seed(cluster, cluster.pools[1], hosts[0], agent);
  EXPECT_EQ(seed.hostname, "v1");
  ASSERT_EQ(seed.links.size(), 1U);
  EXPECT_EQ(seed.links[0].gateway, net::parse_ip("10.78.0.1"));
  const auto config = vm::parse_config(pool_job(cluster, cluster.pools[1], hosts)->groups[0].tasks[0].config);
  EXPECT_EQ(seed.links[0].mac, config.networks[0].mac);
  std::map<std::string, std::string> files;
  for (const auto& file : seed.files) files[file.path] = file.content;
  EXPECT_THAT(files["/etc/hosts"], HasSubstr("10.78.0.9"));
  EXPECT_THAT(files["/etc/hosts"], HasSubstr(hosts[0].addresses.at("lan") + " v1\n"));
  EXPECT_THAT(files["/etc/hosts"], testing::Not(HasSubstr(hosts[1].addresses.at("lan"))))
      << "a pool of ten thousand would not fit";
  EXPECT_EQ(files["/etc/underway/join-token"], "the token\n");
  const auto said = boost::json::parse(files["/etc/underway/agent.json"]).as_object();
  EXPECT_EQ(said.at("client").at("servers").at(0), "https://10.78.0.1:4646");
  EXPECT_EQ(said.at("client").at("meta").at("kind"), "a \"quoted\" one");
  agent.join_token = "another";
  EXPECT_NE(host_seed(cluster, cluster.pools[1], hosts[0], agent).instance, seed.instance);
}

TEST(VirtualPools, AreCheckedWithTheirCluster) {
  EXPECT_THAT(model::problems(declared(2)), testing::IsEmpty());
  auto wrong = declared(2);
  wrong.pools[0].bridges = false;
  wrong.pools[1].cpus = 0;
  wrong.pools[1].machine->image = "node.qcow2";
  EXPECT_THAT(model::problems(wrong),
              testing::UnorderedElementsAre("pool 'burst': machine.image: 'node.qcow2' is no absolute path",
                                            "pool 'burst': a virtual machine has `cpus` and `memory`",
                                            "pool 'burst': machine.on: pool 'metal' has no `bridges`, which the "
                                            "machines join"));
  wrong.pools[1].machine.reset();
  wrong.pools[0].provider = "aws";
  EXPECT_THAT(model::problems(wrong),
              ElementsAre("pool 'metal': no provider 'aws'; there are local and qemu",
                          HasSubstr("pool 'burst': provider \"qemu\" needs a block `machine`")));
}

class VirtualHostsTest : public testing::Test {
 protected:
  VirtualHostsTest() {
    server_.start();
    model::Namespace trusted;
    trusted.name = model::kDefaultNamespace;
    trusted.raw_exec_as_root = true;
    loop_.run_until_done(server_.apply(server::PutNamespace{trusted}));
    hosts_.start();
  }
  ~VirtualHostsTest() override {
    loop_.run_until_done(hosts_.stop());
    loop_.run_until_done(server_.stop());
    loop_.context().restart();
    loop_.context().poll();
  }
  void put(tables::Change change) {
    loop_.run_until_done(server_.apply(server::testing::PutChanges{{std::move(change)}}));
  }
  /// As the host controller does.
  void declare(const model::Cluster& cluster) {
    put(tables::PutCluster{cluster});
    loop_.run_until_done(server_.apply(FollowPools{[](const auto&, const auto&) { return true; }}));
  }
  const tables::Tables& tables() { return server_.writer().tables(); }
  std::vector<std::string> groups() {
    std::vector<std::string> out;
    const auto job = tables().find_job("default", "demo-burst-hosts");
    if (!job || job->stop) return out;
    for (const auto& group : job->groups) out.push_back(group.name);
    return out;
  }
  void slurm_is(const std::string& name, model::SlurmMembership status) {
    put(tables::put_record(model::SlurmMember{.cluster = "demo", .host = name, .status = status}));
  }
  model::HostStatus status(const std::string& name) { return tables().find_host("demo", name)->status; }
  /// The node's word about the host's machine.
  void report(const std::string& host, model::ClientStatus status, const std::string& node = "node") {
    model::Allocation allocation;
    allocation.id = "alloc-" + host + "-" + node;
    allocation.job_id = "demo-burst-hosts";
    allocation.group = host;
    allocation.node_id = node;
    allocation.node_name = node == "node" ? "m1" : "m2";
    allocation.client_status = status;
    if (status == model::ClientStatus::complete) allocation.desired_status = model::DesiredStatus::stop;
    put(tables::PutAllocation{allocation});
  }
  /// That the machines' allocations are on: without it the scheduler would take them for lost.
  void add_node(const std::string& id = "node") {
    model::Node node;
    node.id = id;
    node.name = id == "node" ? "m1" : "m2";
    node.status = model::NodeStatus::ready;
    put(tables::PutNode{node});
  }
  template <class Condition>
  void until(Condition condition) {
    server::testing::run_until(loop_, condition);
  }

  async::Loop loop_;
  store::MemoryStore store_;
  VirtualClock clock_;
  SeededIds ids_{1};
  server::Server server_{loop_.executor(), store_, clock_, ids_, {}};
  async::Pool pool_{1};
  int tokens_ = 0;
  int asked_ = 0;
  VirtualHosts hosts_{
      server_,
      pool_,
      loop_.executor(),
      {.join_token = [this](std::string, std::string host, std::string) -> async::awaitable<std::string> {
         ++tokens_;
         co_return "token of " + host;
       },
       .server_address =
           [this](const model::Cluster&) {
             ++asked_;
             return std::string("https://10.78.0.1:4646");
           }}};
};

TEST_F(VirtualHostsTest, KeepTheJobAsTheHostsAreAndTellHowMachinesStand) {
  add_node();
  declare(declared(2));
  until([&] { return groups() == std::vector<std::string>{"v1", "v2"}; });
  EXPECT_EQ(tokens_, 2);
  EXPECT_EQ(status("v1"), model::HostStatus::creating);
  const auto seed = tables().find<model::Variable>(model::variable_key("default", "nomad/jobs/demo-burst-hosts/v1"));
  ASSERT_TRUE(seed);
  EXPECT_THAT(server_.variables().open(*seed).items.at("user-data"), HasSubstr("#cloud-config"));
  until([&] { return tables().find_host("demo", "v1")->status_description == "no node has room for it yet"; });

  report("v1", model::ClientStatus::running);
  until([&] { return status("v1") == model::HostStatus::running; });
  EXPECT_EQ(status("v2"), model::HostStatus::creating);
  report("v1", model::ClientStatus::failed);
  until([&] { return status("v1") == model::HostStatus::creating; });
  EXPECT_THAT(tables().find_host("demo", "v1")->status_description, HasSubstr("its machine is failed on node m1"));
  report("v1", model::ClientStatus::running);
  report("v2", model::ClientStatus::running);
  until([&] { return status("v1") == model::HostStatus::running && status("v2") == model::HostStatus::running; });
  EXPECT_EQ(tokens_, 2) << "a machine that is placed anew is the host that it was";

  declare(declared(1));
  until([&] { return groups() == std::vector<std::string>{"v1"}; });
  EXPECT_EQ(status("v2"), model::HostStatus::stopping) << "its machine shuts down";
  report("v2", model::ClientStatus::complete);
  until([&] { return !tables().find_host("demo", "v2"); });
  EXPECT_FALSE(tables().find<model::Variable>(model::variable_key("default", "nomad/jobs/demo-burst-hosts/v2")))
      << "nor what it was told";
  EXPECT_EQ(status("v1"), model::HostStatus::running);
}

TEST_F(VirtualHostsTest, APoolThatIsDeclaredNoMoreGoesWithItsJob) {
  declare(declared(1));
  until([&] { return groups().size() == 1; });
  report("v1", model::ClientStatus::running);
  until([&] { return status("v1") == model::HostStatus::running; });
  auto without = declared(1);
  without.pools.pop_back();
  declare(without);
  until([&] { return groups().empty(); });
  report("v1", model::ClientStatus::complete);
  until([&] { return !tables().find_host("demo", "v1"); });
}

/// Its disk is on the first one.
TEST_F(VirtualHostsTest, AMachineThatIsPlacedOnAnotherNodeJoinsAnew) {
  add_node();
  add_node("other");
  declare(declared(1));
  until([&] { return groups().size() == 1; });
  report("v1", model::ClientStatus::running);
  until([&] { return status("v1") == model::HostStatus::running; });
  EXPECT_EQ(tables().find_host("demo", "v1")->machine_node, "node");
  report("v1", model::ClientStatus::lost);
  report("v1", model::ClientStatus::pending, "other");
  until([&] { return tokens_ == 2; });
  report("v1", model::ClientStatus::running, "other");
  until([&] { return status("v1") == model::HostStatus::running; });
  EXPECT_EQ(tables().find_host("demo", "v1")->machine_node, "other");
  EXPECT_EQ(tokens_, 2);
}

/// A server that was started again has to listen again, though no machine is made.
TEST_F(VirtualHostsTest, AsksWhereTheServerIsWhileThereAreMachines) {
  declare(declared(1));
  until([&] { return groups().size() == 1; });
  VirtualHosts next(server_, pool_, loop_.executor(),
                    {.join_token = [](std::string, std::string, std::string) -> async::awaitable<std::string> {
                       ADD_FAILURE() << "no machine is new";
                       co_return "";
                     },
                     .server_address =
                         [this](const model::Cluster&) {
                           asked_ = -1;
                           return std::string("https://10.78.0.1:4646");
                         }});
  loop_.run_until_done(hosts_.stop());
  next.start();
  until([&] { return asked_ == -1; });
  loop_.run_until_done(next.stop());
}

TEST_F(VirtualHostsTest, APoolInANamespaceThatDoesNotAllowItIsRefusedWithItsCluster) {
  loop_.run_until_done(server_.apply(server::PutNamespace{{.name = model::kDefaultNamespace}}));
  server::ApplyCluster request;
  request.cluster = declared(1);
  try {
    loop_.run_until_done(server_.apply(std::move(request)));
    ADD_FAILURE() << "it was applied";
  } catch (const Error& error) {
    EXPECT_THAT(error.one_line(), HasSubstr("namespace 'default' does not allow job 'demo-burst-hosts'"));
    EXPECT_THAT(error.one_line(), HasSubstr("namespace apply -raw-exec-as-root"));
  }
  EXPECT_FALSE(tables().find_cluster("demo"));
}

/// Slurm knows of v1 and v2, and not of v3.
TEST_F(VirtualHostsTest, AMachineEndsWhenSlurmHasLetItGo) {
  declare(declared(3));
  until([&] { return groups().size() == 3; });
  slurm_is("v1", model::SlurmMembership::admitted);
  slurm_is("v2", model::SlurmMembership::leaving);
  declare(declared(1));
  until([&] { return groups().size() < 3; });
  EXPECT_THAT(groups(), ElementsAre("v1", "v2")) << "jobs of Slurm run there";
  EXPECT_EQ(status("v2"), model::HostStatus::stopping);
  slurm_is("v2", model::SlurmMembership::released);
  until([&] { return groups().size() == 1; });
  until([&] { return status("v2") == model::HostStatus::stopped; });
  EXPECT_FALSE(tables().find_host("demo", "v3"));
}

TEST_F(VirtualHostsTest, MachinesOfAPoolThatIsDeclaredNoMoreEndWhenSlurmHasLetThemGo) {
  declare(declared(3));
  until([&] { return groups().size() == 3; });
  slurm_is("v1", model::SlurmMembership::admitted);
  slurm_is("v2", model::SlurmMembership::leaving);
  auto without = declared(0);
  without.pools.pop_back();
  declare(without);
  until([&] { return groups().size() < 3; });
  EXPECT_THAT(groups(), ElementsAre("v1", "v2"));
  slurm_is("v2", model::SlurmMembership::released);
  until([&] { return groups().size() == 1; });
  slurm_is("v1", model::SlurmMembership::gone);
  until([&] { return groups().empty() && !tables().find_host("demo", "v1"); });
}

TEST_F(VirtualHostsTest, AHostThatIsLostIsAnotherInstance) {
  declare(declared(1));
  until([&] { return groups().size() == 1; });
  until([&] { return status("v1") == model::HostStatus::creating; });
  HostLost lost{"demo", "v1", "its disk is gone"};
  loop_.run_until_done(server_.apply(std::move(lost)));
  until([&] { return tokens_ == 2; });
  until([&] { return tokens_ == 2; });
  until([&] { return status("v1") == model::HostStatus::creating; });
}

}  // namespace
}  // namespace underway::host
