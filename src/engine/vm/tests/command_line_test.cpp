#include "vm/machine/command_line.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "harness/places.hpp"

namespace underway::vm {
namespace {

MachineSpec small() {
  MachineSpec spec;
  spec.name = "web";
  spec.kernel = "/images/vmlinuz";
  spec.initrd = "/images/initrd";
  spec.append = "console=ttyS0 quiet";
  return spec;
}

MachineSpec large() {
  MachineSpec spec;
  spec.name = "db,1";
  spec.accelerator = Accelerator::kvm;
  spec.vcpus = 4;
  spec.memory_mb = 8192;
  spec.huge_pages = true;
  spec.firmware = "/usr/share/ovmf/OVMF.fd";
  spec.guest_agent = true;
  spec.disks = {{"image", "/var/lib/a,b.qcow2", "qcow2", false, Bus::virtio},
                {"disk-old", "/images/old.img", "raw", false, Bus::ide},
                {"disk-older", "/images/older.img", "raw", true, Bus::ide},
                {"disk-fast", "/images/fast.qcow2", "qcow2", false, Bus::scsi},
                {"seed", "/var/lib/seed.iso", "raw", true, Bus::virtio}};
  spec.nics = {{"net0", "br-lan", "vm-1", "52:54:00:00:00:01"}, {"net1", "br-ib", "vm-2", "52:54:00:00:00:02"}};
  spec.forwards = {{22022, 22}};
  spec.uuid = "0c0ffee0-0000-8000-8000-000000000001";
  spec.generation = "0c0ffee0-0000-4000-8000-000000000002";
  spec.ports = 3;
  spec.shared_memory = {{"shm0", "/dev/shm/underway-machines/default+ring/memory", 64, 0}};
  spec.host_devices = {{"host0", "0000:3b:00.0", 1}};
  spec.args = {"-device", "pvpanic"};
  return spec;
}

/// A line for each argument that begins with a dash, with what belongs to it.
std::string lines(const std::vector<std::string>& argv) {
  std::string out;
  for (const auto& argument : argv) {
    if (argument.starts_with('-') && !out.empty()) out += '\n';
    if (!argument.starts_with('-')) out += ' ';
    out += argument;
  }
  return out + "\n";
}

TEST(CommandLine, IsAsTheGoldenFileHasIt) {
  std::string text = "# a small one that boots\n" + lines(command_line(small(), {.lease = "/machines/web/lease"}));
  text += "# a large one whose memory comes from elsewhere\n" +
          lines(command_line(large(), {.lease = "/machines/db/lease", .incoming = true, .console_log = {}}));
  const auto path = test_dir() + "/command_lines.txt";
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) std::ofstream(path) << text;
  std::stringstream committed;
  committed << std::ifstream(path).rdbuf();
  EXPECT_EQ(committed.str(), text) << path << " is out of date: run this test with UNDERWAY_ACCEPT=1";
}

TEST(CommandLine, TranslatesWithOneThreadIntoAMemoryThatIsBounded) {
  EXPECT_THAT(command_line(small(), {}), testing::Contains("tcg,thread=single,tb-size=64"));
}

TEST(CommandLine, EveryMachineStartsWithItsProcessorsStopped) {
  EXPECT_THAT(command_line(small(), {}), testing::Contains("-S"));
  EXPECT_THAT(command_line(large(), {.lease = {}, .incoming = true}), testing::Contains("-S"));
}

TEST(Hardware, IsTheSameOnAnotherHost) {
  auto there = large();
  there.disks[0].file = "/elsewhere/disk";
  there.nics[0].tap = "vm-9";
  there.nics[0].bridge = "br-other";
  there.forwards[0].host = 4711;
  there.firmware = "/opt/OVMF.fd";
  there.uuid = "another";
  there.generation = "another";
  // What was unplugged before it went there.
  there.shared_memory.clear();
  there.host_devices.clear();
  EXPECT_THAT(differences(large(), there), testing::IsEmpty());
}

TEST(Hardware, TheUuidFollowsFromTheName) {
  EXPECT_EQ(uuid_for("web"), uuid_for("web"));
  EXPECT_NE(uuid_for("web"), uuid_for("db"));
  EXPECT_EQ(uuid_for("web").size(), 36U);
  EXPECT_EQ(uuid_for("web")[14], '8');  // RFC 9562, version 8
}

TEST(Hardware, OfAnotherMachineIsToldInWords) {
  auto other = large();
  other.memory_mb = 4096;
  other.machine = "pc-q35-8.0";
  other.disks.pop_back();
  EXPECT_THAT(differences(large(), other),
              testing::ElementsAre("Machine is \"pc-q35-7.2\" and was \"pc-q35-8.0\"", "MemoryMB is 8192 and was 4096",
                                   testing::HasSubstr("Disks is [")));
}

}  // namespace
}  // namespace underway::vm
