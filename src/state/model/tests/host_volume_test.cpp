#include "model/node/host_volume.hpp"

#include <gtest/gtest.h>

#include "base/json/json.hpp"

namespace underway::model {
namespace {

HostVolume good() {
  HostVolume volume;
  volume.name = "data[0]";
  volume.plugin_id = kMkdirPlugin;
  volume.capabilities = {{kFileSystem, kSingleWriter}};
  return volume;
}

TEST(HostVolume, NamesAllThatIsWrongWithIt) {
  EXPECT_TRUE(problems(good(), false).empty());
  struct Case {
    const char* why;
    std::function<void(HostVolume&)> change;
    bool registering;
    std::size_t problems;
  };
  const std::vector<Case> cases = {
      {"no name", [](auto& v) { v.name = ""; }, false, 1},
      {"a name that leads elsewhere", [](auto& v) { v.name = "../x"; }, false, 1},
      {"no capability", [](auto& v) { v.capabilities.clear(); }, false, 1},
      {"modes that are none", [](auto& v) { v.capabilities = {{"tape", "all"}}; }, false, 2},
      {"a block device", [](auto& v) { v.capabilities[0].attachment_mode = "block-device"; }, false, 1},
      {"bounds that cross", [](auto& v) { v.capacity_min = 9, v.capacity_max = 5; }, false, 1},
      {"a plugin that is a path", [](auto& v) { v.plugin_id = "../sh"; }, false, 1},
      {"registered nowhere", [](auto&) {}, true, 2},
      {"registered", [](auto& v) { v.node_id = "n", v.host_path = "/srv"; }, true, 0},
  };
  for (const auto& test_case : cases) {
    SCOPED_TRACE(test_case.why);
    HostVolume volume = good();
    test_case.change(volume);
    EXPECT_EQ(problems(volume, test_case.registering).size(), test_case.problems);
  }
}

TEST(HostVolume, TravelsInNomadsShape) {
  HostVolume volume = good();
  volume.capacity_min = 10;
  const auto value = json::to_value(volume);
  EXPECT_EQ(value.at("RequestedCapacityMinBytes"), 10);
  EXPECT_EQ(value.at("RequestedCapabilities").at(0).at("AccessMode"), kSingleWriter);
  EXPECT_EQ(value.at("State"), "pending");
  EXPECT_EQ(json::decode<HostVolume>(value).capabilities.size(), 1u);
}

TEST(HostVolume, IsToldOfInTheRowOfItsNode) {
  const NodeVolume row = as_node_volume(good());
  const auto again = json::decode<NodeVolume>(json::to_value(row));
  EXPECT_TRUE(describe::equal(again, row));
  EXPECT_EQ(again.ns, "default");
  ASSERT_EQ(again.capabilities.size(), 1u);
  EXPECT_EQ(again.capabilities[0].access_mode, kSingleWriter);
  const auto before = json::decode<NodeVolume>(json::parse(R"({"Name": "data", "Path": "/srv", "ID": "v1"})"));
  EXPECT_EQ(before.id, "v1");
  EXPECT_TRUE(before.ns.empty());
  EXPECT_TRUE(before.capabilities.empty());
}

}  // namespace
}  // namespace underway::model
