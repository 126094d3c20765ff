#include "node/fingerprint/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "node/fingerprint/core_partition.hpp"
#include "os/file.hpp"

namespace underway::node {
namespace {

using Cores = std::vector<std::int64_t>;

/// Two sockets with two NUMA nodes each, whose cores have two threads. The kernel counts first threads first.
constexpr const char* kTwoSockets = "pack:2 numa:2 core:2 pu:2(indexes=2*8:8*1)";

/// A machine in hwloc's XML: what it holds, and what follows it.
std::string machine_of(const std::string& sets, const std::string& parts, const std::string& rest = "") {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" "
      "gp_index=\"1\" {}>{}</object>{}</topology>",
      sets, parts, rest);
}

/// `object` of a type with its number and sets, as hwloc writes them.
std::string object(const std::string& type, int id, unsigned cores, unsigned nodes, const std::string& parts = "") {
  static int last = 1;
  return fmt::format(
      "<object type=\"{0}\" os_index=\"{1}\" cpuset=\"{2:#x}\" complete_cpuset=\"{2:#x}\" nodeset=\"{3:#x}\" "
      "complete_nodeset=\"{3:#x}\" gp_index=\"{4}\">{5}</object>",
      type, id, cores, nodes, ++last, parts);
}

std::string sets(unsigned cores, unsigned nodes, unsigned allowed) {
  return fmt::format(
      "cpuset=\"{0:#x}\" complete_cpuset=\"{0:#x}\" allowed_cpuset=\"{2:#x}\" nodeset=\"{1:#x}\" "
      "complete_nodeset=\"{1:#x}\" allowed_nodeset=\"{1:#x}\"",
      cores, nodes, allowed);
}

std::string threads(unsigned cores, unsigned nodes) {
  std::string all;
  for (int id = 0; id < 32; ++id)
    if ((cores >> id & 1) != 0) all += object("PU", id, 1U << id, nodes);
  return all;
}

std::string device(const char* bus_id) {
  static int last = 1000;
  return fmt::format(
      "<object type=\"PCIDev\" gp_index=\"{}\" pci_busid=\"{}\" pci_type=\"0302 [10de:20b0] [10de:1450] a1\" "
      "pci_link_speed=\"0.000000\"/>",
      ++last, bus_id);
}

class Topology : public ::testing::Test {
 protected:
  Topology() : machine_{(std::filesystem::temp_directory_path() / fmt::format("topology-{}", ::getpid())).string()} {}
  ~Topology() override { std::filesystem::remove_all(machine_.root); }
  void put(const std::string& path, const std::string& text) {
    const std::string file = machine_.path(path);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    os::write_file(file, text + "\n", 0644, {}, os::Durability::cached);
  }
  void put_speed(int id, const std::string& max_khz, const std::string& base_khz = "") {
    const std::string core = fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/", id);
    put(core + "cpuinfo_max_freq", max_khz);
    if (!base_khz.empty()) put(core + "base_frequency", base_khz);
  }
  model::Node node(const Options& options) {
    return fingerprint(machine_, options, "00000000-0000-4000-8000-000000000001", TimePoint{}, &usable_);
  }
  Cores ids() {
    Cores found;
    for (const auto& core : read_processors(machine_, 1000).cores.cores) found.push_back(core.id);
    return found;
  }

  Machine machine_;
  Cores usable_;
};

TEST_F(Topology, CoresLieInSocketsAndAtNumaNodes) {
  machine_.hardware = kTwoSockets;
  put_speed(2, "3500000", "2400000");
  put_speed(3, "3500000");
  const auto found = read_processors(machine_, 1000);
  EXPECT_EQ(found.numa_nodes, 4);
  const auto& cores = found.cores.cores;
  ASSERT_EQ(cores.size(), 16U) << "each thread of a core is one";
  for (std::int64_t id = 0; id < 16; ++id) {
    SCOPED_TRACE(id);
    const auto& core = cores[static_cast<std::size_t>(id)];
    EXPECT_EQ(core.id, id);
    EXPECT_EQ(core.socket, id % 8 / 4);
    EXPECT_EQ(core.numa_node, id % 8 / 2) << "siblings lie at the same";
    EXPECT_FALSE(core.efficiency);
  }
  EXPECT_EQ(cores[2].base_mhz, 2400) << "as it is sold";
  EXPECT_EQ(cores[3].base_mhz, 3500);
  EXPECT_EQ(cores[4].base_mhz, 1000) << "a virtual machine's says nothing";
}

TEST_F(Topology, MemoryWithoutCoresIsANumaNodeToo) {
  // Fast memory that is as near as the usual one, and memory that is near to nobody, with the lowest number.
  machine_.hardware =
      machine_of(sets(0xf, 0xf, 0xf),
                 object("NUMANode", 0, 0, 1) +
                     object("Package", 0, 0x3, 0x5, object("NUMANode", 2, 0x3, 0x4) + threads(0x3, 0x5)) +
                     object("Package", 1, 0xc, 0xb,
                            object("NUMANode", 1, 0xc, 0x2) + object("NUMANode", 3, 0xc, 0x8) + threads(0xc, 0xb)));
  const auto found = read_processors(machine_, 1000);
  EXPECT_EQ(found.numa_nodes, 4);
  ASSERT_EQ(found.cores.cores.size(), 4U);
  EXPECT_EQ(found.cores.cores[0].numa_node, 2);
  EXPECT_EQ(found.cores.cores[3].numa_node, 1);
  EXPECT_EQ(found.cores.cores[3].socket, 1);
}

std::string kind(unsigned cores, int efficiency, const std::string& details) {
  return fmt::format("<cpukind cpuset=\"{:#x}\" forced_efficiency=\"{}\">{}</cpukind>", cores, efficiency, details);
}
std::string detail_of_kind(const char* name, const char* value) {
  return fmt::format("<info name=\"{}\" value=\"{}\"/>", name, value);
}

TEST_F(Topology, HybridProcessorsHaveTwoKindsOfCores) {
  const std::string atom = detail_of_kind("CoreType", "IntelAtom"), big = detail_of_kind("CoreType", "IntelCore");
  // One of the big ones is favoured: it may become faster than its equals.
  machine_.hardware =
      machine_of(sets(0x3f, 1, 0x3f), object("Package", 0, 0x3f, 1, object("NUMANode", 0, 0x3f, 1) + threads(0x3f, 1)),
                 kind(0x3c, 0, atom) + kind(0x1, 1, big + detail_of_kind("LinuxCapacity", "1009")) +
                     kind(0x2, 2, big + detail_of_kind("LinuxCapacity", "1024")));
  for (int id = 0; id < 6; ++id) put_speed(id, id < 2 ? "5000000" : "3600000");
  const auto found = node({});
  EXPECT_EQ(found.attributes.at("cpu.numcores.efficiency"), "4");
  EXPECT_EQ(found.attributes.at("cpu.numcores.performance"), "2");
  EXPECT_EQ(found.attributes.at("cpu.frequency.performance"), "5000");
  EXPECT_EQ(found.resources.cpu, 2 * 5000 + 4 * 3600);
  EXPECT_FALSE(found.resources.topology.cores[0].efficiency);
  EXPECT_FALSE(found.resources.topology.cores[1].efficiency);
  EXPECT_TRUE(found.resources.topology.cores[2].efficiency);
}

TEST_F(Topology, CoresThatDifferInSpeedAloneAreOfOneKind) {
  machine_.hardware = machine_of(
      sets(0x3, 1, 0x3), object("Package", 0, 0x3, 1, object("NUMANode", 0, 0x3, 1) + threads(0x3, 1)),
      kind(0x1, 0, detail_of_kind("LinuxCapacity", "900")) + kind(0x2, 1, detail_of_kind("LinuxCapacity", "1024")));
  for (const auto& core : read_processors(machine_, 1000).cores.cores) EXPECT_FALSE(core.efficiency) << core.id;
}

TEST_F(Topology, CoresThatAreKeptFromUsAreNotCounted) {
  machine_.hardware = machine_of(sets(0xf, 0x3, 0x6),
                                 object("Package", 0, 0x3, 0x1, object("NUMANode", 0, 0x3, 1) + threads(0x3, 0x1)) +
                                     object("Package", 1, 0xc, 0x2, object("NUMANode", 1, 0xc, 2) + threads(0xc, 0x2)));
  EXPECT_EQ(ids(), (Cores{1, 2}));
  EXPECT_EQ(read_processors(machine_, 1000).numa_nodes, 2);
  EXPECT_EQ(node({}).attributes.at("cpu.numcores"), "2");
}

TEST_F(Topology, DevicesLieAtTheNumaNodeOfTheirBus) {
  machine_.hardware = machine_of(
      sets(0xf, 0x7, 0xf),
      object("NUMANode", 2, 0, 4) +
          object("Package", 0, 0x3, 0x5, object("NUMANode", 0, 0x3, 1) + threads(0x3, 0x5) + device("0000:17:00.0")) +
          object("Package", 1, 0xc, 0x6, object("NUMANode", 1, 0xc, 2) + threads(0xc, 0x6) + device("0000:5e:00.0")) +
          device("0000:00:1f.2"));
  EXPECT_EQ(read_pci_numa_nodes(machine_), (PciNumaNodes{{"0000:17:00.0", 0}, {"0000:5e:00.0", 1}}))
      << "that of no single one is left out";
}

TEST_F(Topology, ADescriptionThatIsNoneIsNamed) {
  for (const char* wrong : {"sockets:many", "<topology"}) {
    machine_.hardware = wrong;
    try {
      read_processors(machine_, 1000);
      FAIL() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid) << wrong;
      EXPECT_THAT(error.what(), ::testing::HasSubstr(wrong));
    }
  }
}

TEST_F(Topology, WhatIsKeptBackIsNeitherHeldNorShared) {
  machine_.hardware = "pack:1 core:8 pu:1";
  Options options;
  options.reserved.reservable_cores = {0, 1};
  options.reservable_cores = {1, 2, 3};
  const auto found = node(options);
  EXPECT_EQ(found.resources.reservable_cores, (Cores{2, 3}));
  EXPECT_EQ(found.attributes.at("cpu.reservablecores"), "2");
  EXPECT_EQ(found.reserved.cpu, found.resources.cpu / 4) << "what the two are worth";
  EXPECT_EQ(usable_, (Cores{2, 3, 4, 5, 6, 7}));
}

std::string of_kernel(const std::string& path) { return std::string(trim(os::find_file(path, 1U << 16).value_or(""))); }

/// Which cores this thread may run on; given back when it goes.
class Affinity {
 public:
  Affinity() { ::sched_getaffinity(0, sizeof before_, &before_); }
  ~Affinity() { ::sched_setaffinity(0, sizeof before_, &before_); }
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;
  Cores cores() const {
    Cores found;
    for (std::size_t id = 0; id < CPU_SETSIZE; ++id)
      if (CPU_ISSET(id, &before_)) found.push_back(static_cast<std::int64_t>(id));
    return found;
  }
  static void set(std::int64_t core) {
    cpu_set_t only_this;
    CPU_ZERO(&only_this);
    CPU_SET(static_cast<std::size_t>(core), &only_this);
    ::sched_setaffinity(0, sizeof only_this, &only_this);
  }

 private:
  cpu_set_t before_{};
};

TEST_F(Topology, OfThisMachineIsWhatItsKernelTells) {
  if (!os::exists("/sys/devices/system/node")) GTEST_SKIP() << "the kernel was built without NUMA";
  const Affinity affinity;
  const auto found = read_processors(Machine{}, 1000);
  EXPECT_EQ(ids(), affinity.cores());
  std::map<std::int64_t, std::int64_t> numa;
  const auto nodes = parse_cores(of_kernel("/sys/devices/system/node/online"));
  for (const auto node : nodes)
    for (const auto core : parse_cores(of_kernel(fmt::format("/sys/devices/system/node/node{}/cpulist", node))))
      numa[core] = node;
  EXPECT_EQ(found.numa_nodes, std::ssize(nodes));
  const auto slow = parse_cores(of_kernel("/sys/devices/cpu_atom/cpus"));
  for (const auto& core : found.cores.cores) {
    SCOPED_TRACE(core.id);
    const std::string file = fmt::format("/sys/devices/system/cpu/cpu{}/topology/physical_package_id", core.id);
    EXPECT_EQ(std::to_string(core.socket), of_kernel(file));
    EXPECT_EQ(core.numa_node, numa[core.id]);
    EXPECT_EQ(core.efficiency, std::binary_search(slow.begin(), slow.end(), core.id));
  }
}

TEST_F(Topology, IsOfTheCoresThatThisProcessMayRunOn) {
  const Affinity affinity;
  const std::int64_t last = affinity.cores().back();
  const auto nodes = read_processors(Machine{}, 1000).numa_nodes;
  Affinity::set(last);
  EXPECT_EQ(ids(), Cores{last});
  EXPECT_EQ(read_processors(Machine{}, 1000).numa_nodes, nodes) << "memory stays where it is";
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
