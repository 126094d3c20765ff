#include "tests/world.hpp"

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;
using Lines = std::vector<std::string>;

Lines reasons(const Plan& plan) { return explain(plan.evaluation.failed_groups.at("g")); }

Job pinned(const std::string& id, const std::string& host) {
  Job job = make_job(id);
  job.constraints = {{"${attr.unique.hostname}", "=", host}};
  return job;
}

Job with_port(Job job, std::int64_t port) {
  job.groups[0].networks.resize(1);
  job.groups[0].networks[0].reserved_ports = {{"slurmctl", port}};
  return job;
}

TEST(Placement, PacksTightly) {
  World world(1);
  world.put_node(make_node("big", 8000, 16'384));
  world.put_node(make_node("small", 1000, 1024));
  const Plan plan = world.run(make_job("web", 1, 500, 512));
  EXPECT_EQ(plan.created.at(0).node_name, "small");
  // 20 - 10^0.5 - 10^0.5, of 18.
  EXPECT_NEAR(plan.created[0].metrics.scores.at(0).norm_score, (20 - 2 * std::sqrt(10.0)) / 18, 1e-12);
}

TEST(Placement, SpreadsOneServiceOverNodes) {
  World world(1, 4);
  world.run(make_job("web", 4));
  std::set<std::string> nodes;
  for (const auto& row : world.live("web")) nodes.insert(row->node_id);
  EXPECT_EQ(nodes.size(), 4u);
}

TEST(Placement, TellsWhichConstraintKeptNodesAway) {
  World world(1, 3);
  Job job = make_job("web");
  job.constraints = {{"${attr.kernel.name}", "=", "windows"}};
  EXPECT_EQ(reasons(world.run(job)),
            Lines{"* Constraint \"${attr.kernel.name} = windows\": 3 nodes excluded by filter"});
  job.constraints = {{"${attr.unique.hostname}", "=", "nowhere"}};
  EXPECT_EQ(reasons(world.run(job)),
            Lines{"* Constraint \"${attr.unique.hostname} = nowhere\": 3 nodes excluded by filter"});
}

TEST(Placement, NamesTheDriverThatNoNodeHas) {
  World world(1, 2);
  Node sick = make_node("sick");
  sick.drivers["podman"] = {true, false, "no socket", {}};
  world.put_node(sick);
  Job job = make_job("web");
  job.groups[0].tasks[0].driver = "podman";
  EXPECT_EQ(reasons(world.run(job)),
            (Lines{"* Driver \"podman\" is missing on 2 nodes", "* Driver \"podman\" is unhealthy on 1 nodes"}));
}

TEST(Placement, TellsWhatIsExhausted) {
  World world(1, 2);
  world.run(make_job("hog", 2, 100, 8000));
  EXPECT_EQ(reasons(world.run(make_job("web", 1, 100, 1000))),
            (Lines{"* Resources exhausted on 2 nodes", "* Dimension \"memory\" exhausted on 2 nodes"}));
}

TEST(Placement, TellsOfDatacentersWithoutNodes) {
  World world(1, 2);
  Job job = make_job("web");
  job.datacenters = {"mars"};
  const Plan plan = world.run(job);
  EXPECT_EQ(reasons(plan),
            (Lines{"* No nodes were eligible for evaluation", "* No nodes are available in datacenter \"mars\""}));
  job.datacenters = {"d*"};
  EXPECT_EQ(world.run(job).created.size(), 1u);
}

Job with_volume(Job job, model::VolumeRequest volume) {
  volume.name = "data";
  job.groups[0].volumes["data"] = std::move(volume);
  return job;
}

Node with_volumes(Node node, const std::vector<model::NodeVolume>& volumes) {
  for (const auto& volume : volumes) node.volumes[volume.name] = volume;
  return node;
}

TEST(Placement, GoesWhereItsVolumesAre) {
  World world(1, 2);
  const Job writer = with_volume(make_job("writer"), {.source = "scratch"});
  const Plan waiting = world.run(writer);
  EXPECT_EQ(reasons(waiting), Lines{"* Constraint \"missing compatible host volumes\": 2 nodes excluded by filter"});
  ASSERT_FALSE(waiting.evaluations.empty());
  EXPECT_TRUE(waiting.evaluations.back().escaped_class) << "a volume is no property of a class";

  world.put_node(with_volumes(make_node("reader"), {{"scratch", "/scratch", true, ""}}));
  EXPECT_TRUE(world.run(writer).created.empty());
  const Plan read = world.run(with_volume(make_job("reader"), {.source = "scratch", .read_only = true}));
  EXPECT_EQ(read.created.at(0).node_name, "reader");
  world.put_node(with_volumes(make_node("both"), {{"scratch", "/scratch", false, ""}}));
  EXPECT_EQ(world.run(writer).created.at(0).node_name, "both");
}

TEST(Placement, GivesEachAllocationTheVolumeOfItsNumber) {
  World world(1);
  world.put_node(with_volumes(make_node("a"), {{"data[1]", "/d1", false, ""}}));
  world.put_node(with_volumes(make_node("b"), {{"data[0]", "/d0", false, ""}, {"data[3]", "/d3", false, ""}}));
  const Plan plan = world.run(with_volume(make_job("db", 4), {.source = "data", .per_alloc = true}));
  std::map<std::string, std::string> nodes;
  for (const auto& row : plan.created) nodes[row.name] = row.node_name;
  EXPECT_EQ(nodes, (std::map<std::string, std::string>{{"db.g[0]", "b"}, {"db.g[1]", "a"}, {"db.g[3]", "b"}}));
  EXPECT_EQ(plan.evaluation.queued.at("g"), 1);
  EXPECT_EQ(reasons(plan), Lines{"* Constraint \"missing compatible host volumes\": 2 nodes excluded by filter"});
}

TEST(Placement, KeepsToItsNodePool) {
  World world(1, 2);
  Node login = make_node("login");
  login.node_pool = "login";
  world.put_node(login);
  Job job = make_job("web", 3);
  job.node_pool = "login";
  for (const auto& row : world.run(job).created) EXPECT_EQ(row.node_name, "login");
  Job everywhere = make_job("all", 1);
  everywhere.type = JobType::system;
  everywhere.node_pool = "all";
  EXPECT_EQ(world.run(everywhere).created.size(), 3u);
}

TEST(Placement, SaysWhoHoldsThePortThatIsTaken) {
  World world(1, 1);
  const Plan first = world.run(with_port(make_job("ctl"), 6817));
  const Plan plan = world.run(with_port(make_job("other"), 6817));
  EXPECT_EQ(plan.evaluation.failed_groups.at("g").dimension_exhausted,
            (std::map<std::string, std::int64_t>{{"network: reserved port collision slurmctl=6817", 1}}));
  EXPECT_EQ(plan.evaluation.status_description,
            fmt::format("group g: port 6817 (slurmctl) on node c1 is taken by allocation {} (ctl.g[0])",
                        first.created[0].id.substr(0, 8)));
}

TEST(Placement, RespectsReservedPortsAndIgnoreCollision) {
  World world(1);
  Node node = make_node("c1");
  node.reserved.ports = {22};
  world.put_node(node);
  EXPECT_FALSE(world.run(with_port(make_job("ssh"), 22)).evaluation.failed_groups.empty());
  Job careless = with_port(make_job("careless", 2), 22);
  careless.groups[0].networks[0].reserved_ports[0].ignore_collision = true;
  EXPECT_EQ(world.run(careless).created.size(), 2u);
}

TEST(Placement, TellsAddressesApart) {
  World world(1);
  Node node = make_node("c1");
  node.networks.push_back({"storage", "eth1", "10.1.0.1", "10.1.0.0/24"});
  world.put_node(node);
  world.run(with_port(make_job("a"), 6817));
  Job other = with_port(make_job("b"), 6817);
  other.groups[0].networks[0].reserved_ports[0].host_network = "storage";
  const Plan plan = world.run(other);
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.created[0].resources.ports[0].host_ip, "10.1.0.1");
  other.id = "c";
  other.groups[0].networks[0].reserved_ports[0].host_network = "ib";
  EXPECT_EQ(
      reasons(world.run(other)),
      Lines{"* Constraint \"missing host network \\\"ib\\\" for port \\\"slurmctl\\\"\": 1 nodes excluded by filter"});
}

TEST(Placement, FindsNodesThatMakeTheGroupsNetwork) {
  World world(1, 2);
  Job job = make_job("web");
  job.groups[0].networks.resize(1);
  job.groups[0].networks[0].mode = "cni/lab";
  EXPECT_EQ(reasons(world.run(job)), Lines{"* Constraint \"missing network\": 2 nodes excluded by filter"});
  Node node = make_node("c3");
  node.attributes["network.cni.lab"] = "1";
  world.put_node(node);
  const Plan plan = world.again("web");
  ASSERT_EQ(plan.created.size(), 1u);
  EXPECT_EQ(plan.created[0].node_name, "c3");
}

TEST(Placement, GivesDynamicPortsUntilTheRangeIsUsedUp) {
  World world(1);
  Node node = make_node("c1", 100'000, 100'000);
  node.resources.min_dynamic_port = 20'000;
  node.resources.max_dynamic_port = 20'009;
  world.put_node(node);
  Job job = make_job("web", 6);
  job.groups[0].networks.resize(1);
  job.groups[0].networks[0].dynamic_ports = {{"http"}, {"admin", 0, -1}};
  const Plan plan = world.run(job);
  EXPECT_EQ(plan.created.size(), 5u);
  std::set<std::int64_t> given;
  for (const auto& row : plan.created) {
    for (const auto& port : row.resources.ports) given.insert(port.value);
    EXPECT_EQ(row.resources.ports[1].to, row.resources.ports[1].value);
  }
  EXPECT_EQ(given.size(), 10u);
  EXPECT_EQ(*given.begin(), 20'000);
  EXPECT_EQ(reasons(plan).back(), "* Dimension \"network: dynamic port selection failed\" exhausted on 1 nodes");
}

TEST(Placement, KeepsHostsDistinctWithinAJob) {
  World world(1, 3);
  Job job = make_job("web", 2, 10, 10);
  job.constraints = {{"", "distinct_hosts", "true"}};
  job.groups.push_back(job.groups[0]);
  job.groups[1].name = "h";
  const Plan plan = world.run(job);
  EXPECT_EQ(plan.created.size(), 3u);
  EXPECT_EQ(explain(plan.evaluation.failed_groups.at("h")),
            Lines{"* Constraint \"distinct_hosts\": 3 nodes excluded by filter"});
}

TEST(Placement, LimitsHowManyShareAProperty) {
  World world(1);
  for (int i = 0; i < 6; ++i) {
    Node node = make_node(fmt::format("c{}", i));
    if (i > 0) node.meta["rack"] = i < 4 ? "r1" : "r2";
    world.put_node(node);
  }
  Job job = make_job("web", 5, 10, 10);
  job.groups[0].constraints = {{"${meta.rack}", "distinct_property", "2"}};
  const Plan plan = world.run(job);
  std::map<std::string, int> racks;
  for (const auto& row : plan.created) ++racks[world.nodes().at(row.node_id)->meta.at("rack")];
  EXPECT_EQ(racks, (std::map<std::string, int>{{"r1", 2}, {"r2", 2}}));
  EXPECT_EQ(plan.evaluation.failed_groups.at("g").constraint_filtered,
            (std::map<std::string, std::int64_t>{{"distinct_property: ${meta.rack}=r1 used by 2 allocs", 3},
                                                 {"distinct_property: ${meta.rack}=r2 used by 2 allocs", 2},
                                                 {"missing property ${meta.rack}", 1}}));
}

TEST(Placement, RefusesAPartWhenAllIsWantedAtOnce) {
  World world(1, 1);
  Job job = make_job("mpi", 5, 1000);
  job.all_at_once = true;
  const Plan plan = world.run(job);
  EXPECT_FALSE(plan.changes_allocations());
  EXPECT_EQ(plan.evaluation.queued.at("g"), 5);
  EXPECT_EQ(world.fleet().usage(world.nodes().begin()->first)->used, Amount{});
  job.groups[0].count = 4;
  EXPECT_EQ(world.run(job).created.size(), 4u);
}

TEST(Blocked, WakesForNodesThatCouldHelpOnly) {
  World world(1, 1);
  Job job = make_job("web", 1, 100);
  job.constraints = {{"${meta.gpu}", "=", "yes"}};
  const Plan plan = world.run(job);
  ASSERT_EQ(plan.evaluations.size(), 1u);
  const Evaluation& blocked = plan.evaluations[0];
  EXPECT_EQ(blocked.status, EvalStatus::blocked);
  EXPECT_EQ(blocked.triggered_by, EvalTrigger::queued_allocs);
  EXPECT_EQ(plan.evaluation.blocked_eval, blocked.id);
  EXPECT_EQ(plan.job_status.value_or(job.status), model::JobStatus::pending);
  EXPECT_FALSE(could_unblock(blocked, *world.nodes().begin()->second));
  Node gpu = make_node("gpu");
  gpu.meta["gpu"] = "yes";
  gpu.computed_class = model::compute_class(gpu);
  EXPECT_TRUE(could_unblock(blocked, gpu)) << "an unknown class may be what it waits for";
  gpu.status = model::NodeStatus::down;
  EXPECT_FALSE(could_unblock(blocked, gpu));
  gpu.status = model::NodeStatus::ready;
  world.put_node(gpu);
  EXPECT_EQ(world.work(&gpu), 1u);
  EXPECT_TRUE(world.with_status("web", EvalStatus::blocked).empty());
}

TEST(Blocked, WakesForAnyNodeWhenAConstraintNamesOneNode) {
  World world(1, 1);
  const Plan plan = world.run(pinned("web", "c9"));
  EXPECT_TRUE(plan.evaluations.at(0).escaped_class);
  EXPECT_TRUE(could_unblock(plan.evaluations[0], make_node("c9")));
}

TEST(Blocked, IsOnePerJobAndGoesWhenNotNeeded) {
  World world(1, 1);
  world.run(make_job("web", 20, 1000));
  world.run(make_job("web", 21, 1000));
  EXPECT_EQ(world.with_status("web", EvalStatus::blocked).size(), 1u);
  EXPECT_EQ(world.work(world.nodes().begin()->second.get()), 0u);
  EXPECT_EQ(world.with_status("web", EvalStatus::blocked).size(), 1u) << "blocked again under its own id";
  world.run(make_job("web", 1, 1000));
  EXPECT_TRUE(world.with_status("web", EvalStatus::blocked).empty());
}

}  // namespace
}  // namespace underway::scheduler
