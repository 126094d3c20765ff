#include "cli/volume/text.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::cli {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_volume(text, "v.hcl");
  } catch (const Error& error) {
    return error.one_line();
  }
  return {};
}

TEST(VolumeFile, IsReadAsDocumented) {
  const auto volume = parse_volume(R"(
name      = "database"
type      = "host"
plugin_id = "lvm"
namespace = "physics"
node_pool = "prod"
capacity_min = "80G"
capacity_max = "100GiB"
capability {
  access_mode     = "single-node-reader-only"
  attachment_mode = "file-system"
}
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}
constraint {
  attribute = "${attr.kernel.name}"
  value     = "linux"
}
parameters {
  skuname = "Premium"
}
)",
                                   "v.hcl");
  EXPECT_EQ(volume.name, "database");
  EXPECT_EQ(volume.plugin_id, "lvm");
  EXPECT_EQ(volume.ns, "physics");
  EXPECT_EQ(volume.capacity_min, 80'000'000'000);
  EXPECT_EQ(volume.capacity_max, 107'374'182'400);
  ASSERT_EQ(volume.capabilities.size(), 2u);
  EXPECT_EQ(volume.capabilities[1].access_mode, "single-node-writer");
  ASSERT_EQ(volume.constraints.size(), 1u);
  EXPECT_EQ(volume.constraints[0].ltarget, "${attr.kernel.name}");
  EXPECT_EQ(volume.constraints[0].operand, "=");
  EXPECT_EQ(volume.parameters, (model::StringMap{{"skuname", "Premium"}}));
}

TEST(VolumeFile, IsReadAsJson) {
  const auto volume = parse_volume(
      R"({"name": "scratch", "type": "host", "node_id": "n", "host_path": "/srv", "capacity": 4096,
          "capability": [{"access_mode": "single-node-writer", "attachment_mode": "file-system"}]})",
      "v.json");
  EXPECT_EQ(volume.host_path, "/srv");
  EXPECT_EQ(volume.capacity, 4096);
  EXPECT_EQ(volume.capabilities.size(), 1u);
}

TEST(VolumeFile, SaysWhatIsWrongWithIt) {
  EXPECT_NE(refusal("name = \"v\"\ntype = \"csi\"\n").find("only volumes of hosts"), std::string::npos);
  EXPECT_NE(refusal("name = \"v\"\nsize = 5\n"), "");
  EXPECT_NE(refusal("name = \"v\"\ncapacity_min = \"much\"\n").find("is no capacity"), std::string::npos);
  EXPECT_NE(refusal("name ="), "");
}

TEST(VolumeCapacity, IsReadWithUnitsAndWritten) {
  EXPECT_EQ(parse_capacity("0"), 0);
  EXPECT_EQ(parse_capacity("4096"), 4096);
  EXPECT_EQ(parse_capacity("50MB"), 50'000'000);
  EXPECT_EQ(parse_capacity("1.5 GiB"), 1'610'612'736);
  EXPECT_EQ(parse_capacity("2t"), 2'000'000'000'000);
  for (const char* wrong : {"", "GiB", "-5", "5XB", "5 i", "1e300"})
    EXPECT_THROW(parse_capacity(wrong), Error) << wrong;
  EXPECT_EQ(capacity_text(0), "0 B");
  EXPECT_EQ(capacity_text(1536), "1.5 KiB");
  EXPECT_EQ(capacity_text(53'687'091'200), "50 GiB");
}

TEST(VolumeStatus, IsShownAsDocumented) {
  model::HostVolume volume;
  volume.id = "02eb1d8e-945e-50ee-7640-68b92f622870";
  volume.name = "example";
  volume.plugin_id = "mkdir";
  volume.node_id = "d87c86d7-d22b-f811-c329-09e263995e86";
  volume.node_pool = "default";
  volume.state = model::HostVolumeState::ready;
  volume.host_path = "/srv/volumes/02eb1d8e";
  volume.capabilities = {{"file-system", "single-node-single-writer"}};
  EXPECT_EQ(volume_text(volume, false), R"(ID        = 02eb1d8e
Name      = example
Namespace = default
Plugin ID = mkdir
Node ID   = d87c86d7
Node Pool = default
Capacity  = 0 B
State     = ready
Host Path = /srv/volumes/02eb1d8e

Capabilities
Access Mode                Attachment Mode
single-node-single-writer  file-system
)");
  EXPECT_NE(volume_text(volume, true).find(volume.id), std::string::npos);
}

}  // namespace
}  // namespace underway::cli
