#include "tests/world.hpp"

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;
using Cores = std::vector<std::int64_t>;

/// Two NUMA nodes of four cores, with a GPU at each, and a network card at the second.
Node make_machine(const std::string& name = "gpu1") {
  Node node = make_node(name, 8 * 2000);
  for (std::int64_t id = 0; id < 8; ++id) {
    node.resources.topology.cores.push_back({id, id / 4, id / 4, 2000, false});
    node.resources.reservable_cores.push_back(id);
  }
  model::NodeDeviceGroup gpus{"nvidia", "gpu", "A100", {}, {}};
  gpus.attributes["memory"].integer = 40;
  gpus.attributes["memory"].unit = "GiB";
  for (std::int64_t i = 0; i < 2; ++i) {
    model::NodeDevice& gpu = gpus.instances.emplace_back();
    gpu.id = fmt::format("GPU-{}", i);
    gpu.numa_node = i;
  }
  model::NodeDeviceGroup cards{"mellanox", "nic", "cx6", {}, {}};
  model::NodeDevice& card = cards.instances.emplace_back();
  card.id = "mlx5_0";
  card.numa_node = 1;
  node.resources.devices = {gpus, cards};
  return node;
}

Job holding(const std::string& id, std::int64_t cores, std::vector<model::RequestedDevice> devices = {},
            std::int64_t count = 1) {
  Job job = make_job(id, count);
  model::Resources& resources = job.groups[0].tasks[0].resources;
  resources.devices = std::move(devices);
  if (cores > 0) {
    resources.cores = cores;
    resources.cpu = 0;
  }
  return job;
}

model::RequestedDevice device(const std::string& name, std::int64_t count = 1) {
  model::RequestedDevice request;
  request.name = name;
  request.count = count;
  return request;
}

const model::TaskResources& given(const Plan& plan, std::size_t i = 0) {
  return plan.created.at(i).resources.tasks.at("t");
}

std::string dimension(const Plan& plan) {
  return plan.evaluation.failed_groups.at("g").dimension_exhausted.begin()->first;
}

TEST(Holdings, CoresAreGivenToOneTaskEachAndCountTheirMegahertz) {
  World world(1);
  world.put_node(make_machine());
  const Plan plan = world.run(holding("a", 3, {}, 2));
  EXPECT_EQ(given(plan, 0).cores, (Cores{0, 1, 2}));
  EXPECT_EQ(given(plan, 1).cores, (Cores{3, 4, 5}));
  EXPECT_EQ(given(plan).cpu, 6000);
  EXPECT_EQ(world.fleet().usage(plan.created[0].node_id)->used.cpu, 12'000);
  EXPECT_EQ(dimension(world.run(holding("b", 3))), "cores");
  EXPECT_EQ(dimension(world.run(make_job("shared", 1, 4001))), "cpu") << "what others share is less by the cores";
  world.stop("a");
  EXPECT_EQ(given(world.run(holding("c", 8))).cores.size(), 8U);
}

TEST(Holdings, CoresKeptBackAreNeverGiven) {
  World world(1);
  Node node = make_machine();
  node.reserved.reservable_cores = {0, 1};
  world.put_node(node);
  EXPECT_EQ(given(world.run(holding("a", 2))).cores, (Cores{2, 3}));
  EXPECT_EQ(dimension(world.run(holding("b", 5))), "cores");
}

TEST(Holdings, OneNumaNodeIsPreferredOrRequired) {
  World world(1);
  world.put_node(make_machine());
  world.run(holding("first", 2));
  Job required = holding("required", 3);
  required.groups[0].tasks[0].resources.numa = model::Numa{model::NumaAffinity::require, {}};
  EXPECT_EQ(given(world.run(required)).cores, (Cores{4, 5, 6}));
  required.id = required.name = "again";
  EXPECT_EQ(dimension(world.run(required)), "numa: no node has the cores and devices together");
  Job preferred = holding("preferred", 3);
  preferred.groups[0].tasks[0].resources.numa = model::Numa{model::NumaAffinity::prefer, {}};
  EXPECT_EQ(given(world.run(preferred)).cores, (Cores{2, 3, 7})) << "together is not to be had";
}

TEST(Holdings, DevicesLieAtTheNumaNodeOfTheCores) {
  World world(1);
  world.put_node(make_machine());
  Job job = holding("a", 2, {device("nvidia/gpu"), device("nic")});
  job.groups[0].tasks[0].resources.numa = model::Numa{model::NumaAffinity::require, {"nvidia/gpu", "nic"}};
  const Plan plan = world.run(job);
  EXPECT_EQ(given(plan).cores, (Cores{4, 5})) << "only there is a card";
  EXPECT_EQ(given(plan).devices.at(0).ids, std::vector<std::string>{"GPU-1"});
}

TEST(Holdings, ADeviceIsGivenOnceAndOnlyWhileItIsHealthy) {
  World world(1);
  Node node = make_machine();
  world.put_node(node);
  const Plan plan = world.run(holding("a", 0, {device("gpu")}, 3));
  ASSERT_EQ(plan.created.size(), 2U);
  EXPECT_NE(given(plan, 0).devices[0].ids, given(plan, 1).devices[0].ids);
  EXPECT_EQ(dimension(plan), "devices: no devices match request");
  world.stop("a");
  node.resources.devices[0].instances[0].healthy = false;
  world.put_node(node);
  EXPECT_EQ(given(world.run(holding("b", 0, {device("nvidia/gpu/A100")}))).devices[0].ids,
            std::vector<std::string>{"GPU-1"});
}

TEST(Holdings, NodesWithoutTheDevicesAreFiltered) {
  World world(1, 2);
  world.put_node(make_machine());
  EXPECT_EQ(explain(world.run(holding("a", 0, {device("amd/gpu")})).evaluation.failed_groups.at("g")),
            std::vector<std::string>{"* Constraint \"missing devices\": 3 nodes excluded by filter"});
  model::RequestedDevice large = device("gpu");
  large.constraints = {{"${device.attr.memory}", ">", "40 GB"}};
  EXPECT_EQ(world.run(holding("b", 0, {large})).created.size(), 1U) << "40 GiB are more";
  large.constraints = {{"${device.attr.memory}", ">", "40 GiB"}};
  EXPECT_TRUE(world.run(holding("c", 0, {large})).created.empty());
  large.constraints = {{"${device.model}", "regexp", "^A1"}, {"${device.ids}", "set_contains", "GPU-1"}};
  EXPECT_EQ(given(world.run(holding("d", 0, {large}))).devices[0].ids, std::vector<std::string>{"GPU-1"});
}

TEST(Holdings, AttractiveDevicesAreATermOfTheScore) {
  World world(1);
  world.put_node(make_machine("a100"));
  Node other = make_machine("h100");
  other.resources.devices[0].name = "H100";
  world.put_node(other);
  model::RequestedDevice request = device("gpu");
  request.affinities = {{"${device.model}", "=", "H100", 100}};
  const Plan plan = world.run(holding("a", 0, {request}));
  EXPECT_EQ(plan.created.at(0).node_name, "h100");
  EXPECT_EQ(plan.created[0].metrics.scores.at(0).scores.at("devices"), 1.0);
}

/// Random histories against a model that is plain: what lives holds what it was given, and nothing twice.
TEST(Holdings, NothingIsEverHeldTwiceWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    World world(seed);
    for (int i = 0; i < 3; ++i) world.put_node(make_machine(fmt::format("gpu{}", i)));
    for (int step = 0; step < 60; ++step) {
      const std::string id = fmt::format("job{}", random() % 8);
      if (random() % 3 == 0) {
        if (world.jobs().contains(id)) world.stop(id);
      } else {
        std::vector<model::RequestedDevice> devices;
        if (random() % 2 == 0) devices.push_back(device("gpu", 1 + static_cast<std::int64_t>(random() % 2)));
        Job job =
            holding(id, static_cast<std::int64_t>(random() % 5), devices, 1 + static_cast<std::int64_t>(random() % 3));
        if (job.groups[0].tasks[0].resources.cores > 0 && random() % 2 == 0)
          job.groups[0].tasks[0].resources.numa = model::Numa{model::NumaAffinity(random() % 3), {}};
        world.run(job);
      }
      std::map<std::string, std::set<std::string>> held;
      std::map<std::string, std::int64_t> used;
      for (const auto& [alloc, row] : world.allocations()) {
        if (row->terminal()) continue;
        used[row->node_id] += amount_of(*row).cpu;
        for (const auto& [task, resources] : row->resources.tasks) {
          for (const auto core : resources.cores)
            EXPECT_TRUE(held[row->node_id].insert(std::to_string(core)).second) << "core " << core;
          for (const auto& devices : resources.devices)
            for (const auto& device_id : devices.ids)
              EXPECT_TRUE(held[row->node_id].insert(device_id).second) << device_id;
        }
      }
      for (const auto& [node, cpu] : used) EXPECT_EQ(world.fleet().usage(node)->used.cpu, cpu);
    }
  }
}

}  // namespace
}  // namespace underway::scheduler
