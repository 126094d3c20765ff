#include "node/topology.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "node/core_partition.hpp"
#include "os/file.hpp"

namespace underway::node {
namespace {

using Cores = std::vector<std::int64_t>;

class Topology : public ::testing::Test {
 protected:
  Topology() : machine_{(std::filesystem::temp_directory_path() / fmt::format("topology-{}", ::getpid())).string()} {}
  ~Topology() override { std::filesystem::remove_all(machine_.root); }
  void put(const std::string& path, const std::string& text) {
    const std::string file = machine_.path(path);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    os::write_file(file, text + "\n", 0644, {}, os::Durability::cached);
  }
  void put_core(int id, int package, const std::string& max_khz, const std::string& base_khz = "") {
    const std::string core = fmt::format("/sys/devices/system/cpu/cpu{}", id);
    put(core + "/topology/physical_package_id", std::to_string(package));
    put(core + "/cpufreq/cpuinfo_max_freq", max_khz);
    if (!base_khz.empty()) put(core + "/cpufreq/base_frequency", base_khz);
  }
  model::Node node(const Options& options) {
    return fingerprint(machine_, options, "00000000-0000-4000-8000-000000000001", TimePoint{}, &usable_);
  }

  Machine machine_;
  Cores usable_;
};

TEST_F(Topology, CoresLieWhereSysfsSays) {
  put("/sys/devices/system/cpu/online", "0-3");
  for (int id = 0; id < 4; ++id) put_core(id, id / 2, "3500000", "2400000");
  put("/sys/devices/system/node/node0/cpulist", "0-1");
  put("/sys/devices/system/node/node1/cpulist", "2-3");
  const auto topology = read_topology(machine_, 1000);
  ASSERT_EQ(topology.cores.size(), 4U);
  EXPECT_EQ(topology.cores[2].id, 2);
  EXPECT_EQ(topology.cores[2].socket, 1);
  EXPECT_EQ(topology.cores[2].numa_node, 1);
  EXPECT_EQ(topology.cores[2].base_mhz, 2400);
  EXPECT_EQ(count_numa_nodes(machine_), 2);
}

TEST_F(Topology, HybridProcessorsHaveTwoKindsOfCores) {
  put("/sys/devices/system/cpu/online", "0-5");
  put("/sys/devices/cpu_atom/cpus", "2-5");
  for (int id = 0; id < 6; ++id) put_core(id, 0, id < 2 ? "5000000" : "3600000");
  const auto found = node({});
  EXPECT_EQ(found.attributes.at("cpu.numcores.efficiency"), "4");
  EXPECT_EQ(found.attributes.at("cpu.frequency.performance"), "5000");
  EXPECT_EQ(found.resources.cpu, 2 * 5000 + 4 * 3600);
  EXPECT_TRUE(found.resources.topology.cores[2].efficiency);
}

TEST_F(Topology, WhatIsKeptBackIsNeitherHeldNorShared) {
  put("/sys/devices/system/cpu/online", "0-7");
  Options options;
  options.reserved.reservable_cores = {0, 1};
  options.reservable_cores = {1, 2, 3};
  const auto found = node(options);
  EXPECT_EQ(found.resources.reservable_cores, (Cores{2, 3}));
  EXPECT_EQ(found.attributes.at("cpu.reservablecores"), "2");
  EXPECT_EQ(found.reserved.cpu, found.resources.cpu / 4) << "what the two are worth";
  EXPECT_EQ(usable_, (Cores{2, 3, 4, 5, 6, 7}));
}

TEST(SetsOfCores, AreWrittenAsTheKernelWritesThem) {
  EXPECT_EQ(parse_cores("0-3,8"), (Cores{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cores("3,1-2,2"), (Cores{1, 2, 3}));
  EXPECT_EQ(parse_cores(""), Cores{});
  EXPECT_EQ(to_text({8, 0, 1, 2, 3}), "0-3,8");
  EXPECT_EQ(to_text({}), "");
  for (const char* wrong : {"a", "3-1", "-1", "1-", "1,,2", "70000", "0-99999999999"})
    EXPECT_THROW(parse_cores(wrong), Error) << wrong;
}

TEST(CorePartition, LeavesToOthersWhatNobodyHolds) {
  CorePartition cores(parse_cores("0-7"));
  EXPECT_EQ(cores.shared(), "0-7");
  EXPECT_TRUE(cores.hold("a", {2, 3}));
  EXPECT_FALSE(cores.hold("b", {}));
  EXPECT_EQ(cores.shared(), "0-1,4-7");
  EXPECT_TRUE(cores.hold("c", {0, 1, 4, 5, 6, 7}));
  EXPECT_EQ(cores.shared(), "0-7") << "a task without a core could not even end";
  EXPECT_TRUE(cores.let_go("a"));
  EXPECT_FALSE(cores.let_go("a"));
  EXPECT_EQ(cores.shared(), "2-3");
}

}  // namespace
}  // namespace underway::node
