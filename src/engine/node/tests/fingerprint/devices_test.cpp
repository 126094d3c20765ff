#include "node/fingerprint/devices.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::node {
namespace {

using Paths = std::vector<std::string>;

class Devices : public ::testing::Test {
 protected:
  Devices() : root_((std::filesystem::temp_directory_path() / fmt::format("devices-{}", ::getpid())).string()) {
    std::filesystem::create_directories(root_);
  }
  ~Devices() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text = "") {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    os::write_file(root_ + path, text, 0644, {}, os::Durability::cached);
  }
  std::string root_;
};

TEST_F(Devices, OfTheConfigurationAreTheFilesThatItsPathsMean) {
  put("/dev/infiniband/uverbs0");
  put("/dev/infiniband/uverbs1");
  put("/dev/infiniband/rdma_cm");
  ConfiguredDevice card{"mellanox/nic/cx6",
                        {root_ + "/dev/infiniband/uverbs*", root_ + "/dev/infiniband/uverbs0", root_ + "/dev/gone"},
                        {root_ + "/dev/infiniband/rdma_cm"},
                        {{"speed", "25 GB/s"}}};
  const auto found = find_configured({card});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id(), "mellanox/nic/cx6");
  EXPECT_EQ(found[0].attributes.at("speed").unit, "GB/s");
  ASSERT_EQ(found[0].instances.size(), 3U);
  EXPECT_EQ(found[0].instances[1].id, "uverbs1");
  EXPECT_EQ(found[0].instances[1].paths, (Paths{root_ + "/dev/infiniband/uverbs1", root_ + "/dev/infiniband/rdma_cm"}));
  EXPECT_FALSE(found[0].instances[2].healthy);
  EXPECT_EQ(found[0].instances[2].health_description, fmt::format("'{}/dev/gone' is not there", root_));
  for (const char* wrong : {"nic", "mellanox/nic", "/nic/cx6", "mellanox//cx6", "mellanox/nic/"}) {
    card.name = wrong;
    EXPECT_THROW(find_configured({card}), Error) << wrong;
  }
}

TEST_F(Devices, OfNvidiaAreWhatItsLibraryTells) {
  put("/dev/nvidiactl");
  put("/dev/nvidia-caps/nvidia-cap12");
  put("/proc/driver/nvidia/capabilities/gpu2/mig/gi1/access", "DeviceFileMinor: 12\nDeviceFileMode: 292\n");
  const auto locate = [] { return PciNumaNodes{{"0000:5e:00.0", 1}}; };
  const auto nvidia = Nvidia::load(UNDERWAY_FAKE_NVML, locate, root_);
  ASSERT_TRUE(nvidia);
  const auto found = nvidia->find();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].id(), "nvidia/gpu/Test A100");
  ASSERT_EQ(found[0].instances.size(), 2U);
  EXPECT_EQ(found[0].instances[1].id, "GPU-bbbb");
  EXPECT_EQ(found[0].instances[0].numa_node, -1) << "nobody knows where it lies";
  EXPECT_EQ(found[0].instances[1].numa_node, 1);
  EXPECT_EQ(found[0].instances[1].paths, (Paths{"/dev/nvidia1", "/dev/nvidiactl"}));
  const auto& attributes = found[0].attributes;
  EXPECT_EQ(attributes.at("memory").integer, 40 * 1024);
  EXPECT_EQ(attributes.at("memory").unit, "MiB");
  EXPECT_EQ(attributes.at("power").integer, 400);
  EXPECT_EQ(attributes.at("bar1").integer, 64 * 1024);
  EXPECT_EQ(attributes.at("cores_clock").integer, 1410);
  EXPECT_EQ(attributes.at("memory_clock").integer, 1215);
  EXPECT_EQ(attributes.at("pci_bandwidth").integer, 31'504);
  EXPECT_EQ(attributes.at("display_state").text, "Disabled");
  EXPECT_EQ(attributes.at("persistence_mode").text, "Enabled");
  EXPECT_EQ(attributes.at("driver_version").text, "535.104.05");
  EXPECT_EQ(attributes.at("cuda_version").text, "12.2");
  EXPECT_EQ(found[1].name, "Test H100 MIG 1g.10gb") << "a divided GPU is offered in parts";
  EXPECT_EQ(found[1].instances.at(0).id, "MIG-1111");
  EXPECT_EQ(found[1].instances[0].paths, (Paths{"/dev/nvidia2", "/dev/nvidia-caps/nvidia-cap12", "/dev/nvidiactl"}));
}

TEST_F(Devices, AreNoneWithoutTheLibrary) {
  const auto locate = []() -> PciNumaNodes { throw Error(Code::internal, "nobody needs to know"); };
  EXPECT_FALSE(Nvidia::load(root_ + "/libnvidia-ml.so.1", locate));
}

TEST_F(Devices, OfATaskAreItsFilesAndItsEnvironment) {
  put("/dev/a");
  put("/dev/b");
  model::Node node;
  node.name = "n1";
  node.resources.devices = find_configured({{"nvidia/gpu/T4", {root_ + "/dev/?"}, {"/dev/null"}, {}}});
  const auto use = devices_of(node, {{"nvidia", "gpu", "T4", {"a", "b"}}});
  EXPECT_EQ(use.paths, (Paths{root_ + "/dev/a", "/dev/null", root_ + "/dev/b"}));
  EXPECT_EQ(use.environment,
            (model::StringMap{
                {"NVIDIA_VISIBLE_DEVICES", "a,b"}, {"CUDA_VISIBLE_DEVICES", "a,b"}, {"UNDERWAY_DEVICE_GPU", "a,b"}}));
  EXPECT_THROW(devices_of(node, {{"nvidia", "gpu", "T4", {"c"}}}), Error);
  EXPECT_TRUE(devices_of(node, {}).environment.empty());
}

}  // namespace
}  // namespace underway::node
