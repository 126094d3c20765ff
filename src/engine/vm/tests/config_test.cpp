#include "vm/config.hpp"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

#include "base/error.hpp"
#include "os/tests/temporary.hpp"
#include "vm/layout.hpp"
#include "vm/seed.hpp"

namespace underway::vm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

boost::json::value parsed(const char* text) { return boost::json::parse(text); }

TEST(Config, WhatNomadsDriverReadsIsRead) {
  const auto config = parse_config(parsed(R"({"image_path": "local/linux.img", "accelerator": "kvm",
      "drive_interface": "virtio", "graceful_shutdown": true, "guest_agent": true, "args": ["-nodefaults"],
      "port_map": [{"http": 8080}, {"ssh": "22"}]})"));
  EXPECT_EQ(config.image_path, "local/linux.img");
  EXPECT_EQ(config.accelerator, "kvm");
  EXPECT_EQ(config.port_map.at("http"), 8080);
  EXPECT_EQ(config.port_map.at("ssh"), 22);
}

TEST(Config, EveryProblemIsToldWithItsPlace) {
  EXPECT_THAT(
      problems(parsed(R"({"imag": "x", "accelerator": "hvf", "machine": "q35,usb=on", "vcpus": -1,
      "name": "../x", "append": "quiet", "checkpoints": 0, "resume": "maybe", "port_map": {"http": 70000},
      "disk": [{"data": [{"size": "many", "bus": "floppy"}]}, {"": [{}]}],
      "network": [{"lan": [{"mac": "1:2", "bridge": "a-name-that-is-too-long"}]}]})")),
      testing::UnorderedElementsAre(
          "config.imag: is not known; did you mean 'image'?", "config.accelerator: must be 'tcg' or 'kvm'",
          "config.machine: must be a machine type of QEMU, as 'pc-q35-7.2'", "config.vcpus: must be from 1 to 1024",
          "config.name: must be of letters, digits, '-', '_' and '.'",
          "config.append: is of `kernel`, which is not given", "config.checkpoints: must be at least 1",
          "config.resume: must be one of auto, or_boot, cold", "config.port_map[\"http\"]: must be from 1 to 65535",
          "config.disk \"data\".size: must be a size, as \"10G\"",
          HasSubstr("config.disk \"data\".bus: must be one of virtio, ide, scsi"),
          HasSubstr("config.disk \"\": must have a name"), "config.disk \"\": needs an `image` or a `size`",
          "config.network \"lan\".bridge: must be a link's name of at most 15 letters",
          "config.network \"lan\".mac: must be a hardware address, as \"52:54:00:12:34:56\""));
}

TEST(Config, DevicesAndClonesAreChecked) {
  EXPECT_THAT(problems(parsed(R"({"kernel": "k", "machine": "microvm", "host_devices": ["3b:00.0", "0000:3b:00.0"],
      "shared_memory": [{"ring": [{"memory": 3}]}],
      "clone": [{"machine": "../web", "addresses": {"lan": "10.0.0.7", "wan": "10.0.0.7/24"}}],
      "network": [{"lan": [{}]}]})")),
              testing::UnorderedElementsAre(
                  HasSubstr("config.machine: cannot be 'microvm'"),
                  "config.host_devices: '3b:00.0' must be a PCI address, as \"0000:3b:00.0\"",
                  "config.shared_memory \"ring\".memory: must be a power of two, from 1 to 1048576 MiB",
                  "config.clone.machine: must be the name of a machine",
                  "config.guest_agent: must be true for a clone: by it the guest is told who it is",
                  "config.clone.addresses[\"lan\"]: must be an address with the length of its network's, as "
                  "\"10.0.0.7/24\"",
                  "config.clone.addresses[\"wan\"]: names no `network` of the machine"));
}

TEST(Config, ThereIsSomethingToBoot) {
  EXPECT_THAT(problems(parsed("{}")), ElementsAre(HasSubstr("there is nothing to boot")));
  EXPECT_THAT(problems(parsed(R"({"image": "a", "image_path": "b"})")), ElementsAre(HasSubstr("both are the first")));
}

TEST(Config, WhatWaitsForAVariableIsNotJudged) {
  EXPECT_THAT(problems(parsed(R"({"image": "${NOMAD_META_image}", "vcpus": "${meta.n}", "name": "${NOMAD_JOB_NAME}",
      "network": [{"lan": [{"bridge": "${meta.bridge}", "mac": "${meta.mac}"}]}]})")),
              IsEmpty());
}

TEST(Config, SizesOfDisks) {
  EXPECT_EQ(parse_disk_size("10G"), 10ULL << 30);
  EXPECT_EQ(parse_disk_size("512MiB"), 512ULL << 20);
  EXPECT_EQ(parse_disk_size("2tb"), 2ULL << 40);
  EXPECT_EQ(parse_disk_size("4096"), 4096U);
  for (const auto* none : {"", "G", "1.5G", "0", "10X", "-1", "99999999999T"})
    EXPECT_FALSE(parse_disk_size(none)) << none;
}

class LayOut : public testing::Test {
 protected:
  LayOut() {
    spec_.alloc_id = "7f3a9c12-0000-4000-8000-000000000000";
    spec_.task = "web";
    spec_.node = "gpu-014";
    spec_.task_dir = place_ / "task";
    spec_.keeper_dir = place_ / "keeper";
    spec_.memory_mb = 700;
    spec_.cpuset = "4-7,9";
    os::make_directories(spec_.task_dir + "/local");
    os::write_file(spec_.task_dir + "/local/vmlinuz", "x");
  }
  Layout lay(const char* text) { return lay_out(parse_config(parsed(text)), spec_, "/machines", Accelerator::tcg); }

  os::Temporary place_;
  driver::TaskSpec spec_;
};

TEST_F(LayOut, WhatIsNotSaidIsTheTasks) {
  const auto layout = lay(R"({"kernel": "local/vmlinuz", "pin": true, "network": [{"lan": [{}]}]})");
  EXPECT_EQ(layout.machine.name, "7f3a9c12-web");
  EXPECT_EQ(layout.directory, spec_.task_dir + "/machine");
  EXPECT_FALSE(layout.named);
  EXPECT_EQ(layout.machine.memory_mb, 700);
  EXPECT_EQ(layout.machine.vcpus, 5);
  EXPECT_EQ(layout.machine.kernel, spec_.task_dir + "/local/vmlinuz");
  ASSERT_EQ(layout.machine.nics.size(), 1U);
  EXPECT_EQ(layout.machine.nics[0].bridge, "br-lan");
  EXPECT_LE(layout.machine.nics[0].tap.size(), 15U);
}

TEST_F(LayOut, WhereItIsTranslatedAGuestDoesNotMeasureItsCounter) {
  const auto append = [&](const char* said, Accelerator accelerator) {
    const auto text = fmt::format(R"({{"kernel": "local/vmlinuz"{}}})", said);
    return lay_out(parse_config(parsed(text.c_str())), spec_, "/machines", accelerator).machine.append;
  };
  EXPECT_EQ(append("", Accelerator::tcg), "tsc=unstable");
  EXPECT_EQ(append(R"(, "append": "quiet")", Accelerator::tcg), "quiet tsc=unstable");
  EXPECT_EQ(append(R"(, "append": "quiet tsc=reliable")", Accelerator::tcg), "quiet tsc=reliable");
  EXPECT_EQ(append(R"(, "append": "quiet")", Accelerator::kvm), "quiet");
}

TEST_F(LayOut, AMachineWithANameHasTheSameAddressesInEveryRunAndAnotherTap) {
  const char* text = R"({"kernel": "local/vmlinuz", "name": "db", "network": [{"lan": [{}]}]})";
  const auto first = lay(text);
  spec_.alloc_id = "00000000-0000-4000-8000-000000000000";
  const auto second = lay(text);
  EXPECT_EQ(first.directory, "/machines/db");
  EXPECT_EQ(first.machine.nics[0].mac, second.machine.nics[0].mac);
  EXPECT_NE(first.machine.nics[0].tap, second.machine.nics[0].tap);
}

TEST_F(LayOut, WhatCanBeUnpluggedHasAPortEach) {
  spec_.env["NOMAD_NAMESPACE"] = "physics";
  const auto layout = lay(R"({"kernel": "local/vmlinuz", "host_devices": ["0000:3B:00.0"],
      "shared_memory": [{"ring": [{"memory": 4}]}, {"ledger": [{"memory": 64}]}]})");
  EXPECT_EQ(layout.machine.ports, 3);
  EXPECT_THAT(layout.shared_names, ElementsAre("physics+ring", "physics+ledger"));
  EXPECT_EQ(layout.machine.shared_memory[1].port, 1);
  EXPECT_EQ(layout.machine.host_devices[0].address, "0000:3b:00.0");
  EXPECT_EQ(layout.machine.host_devices[0].port, 2);
}

TEST_F(LayOut, AFileThatIsNotThereIsNamed) {
  try {
    lay(R"({"kernel": "local/vmlinux"})");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.text(), HasSubstr("config.kernel: node 'gpu-014' has no"));
  }
}

TEST_F(LayOut, PortsAreThoseOfTheGroup) {
  spec_.env["NOMAD_HOST_PORT_http"] = "24680";
  const auto layout = lay(R"({"kernel": "local/vmlinuz", "port_map": {"http": 80}})");
  ASSERT_EQ(layout.machine.forwards.size(), 1U);
  EXPECT_EQ(layout.machine.forwards[0].host, 24680);
  EXPECT_THROW(lay(R"({"kernel": "local/vmlinuz", "port_map": {"ssh": 22}})"), Error);
}

TEST_F(LayOut, TheDiskForCloudInitHasItsLabelAndItsFiles) {
  const auto layout = lay(R"({"kernel": "local/vmlinuz", "name": "db",
      "cloud_init": [{"user_data": "#cloud-config\n", "hostname": "db1"}]})");
  EXPECT_EQ(layout.seed, "/machines/db/seed.iso");
  ASSERT_EQ(layout.machine.disks.size(), 1U);
  EXPECT_TRUE(layout.machine.disks[0].read_only);
  const auto path = place_ / "seed.iso";
  write_seed(path, {"#cloud-config\n", "", "", "db1", ""}, "db");
  const auto image = os::read_file(path);
  // ECMA-119, 8.4: the volume descriptor is in sector 16, its name at offset 40.
  EXPECT_EQ(image.substr(16 * 2048 + 40, 6), "CIDATA");
  EXPECT_THAT(image, HasSubstr("#cloud-config\n"));
  EXPECT_THAT(image, HasSubstr("instance-id: db\nlocal-hostname: db1\n"));
}

}  // namespace
}  // namespace underway::vm
