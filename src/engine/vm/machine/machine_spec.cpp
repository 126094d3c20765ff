#include "vm/machine/machine_spec.hpp"

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::vm {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const describe::Enumeration& description(Tag<Accelerator>) {
  static const auto e = describe::enumeration<Accelerator>("accelerator");
  return e;
}

const describe::Enumeration& description(Tag<Bus>) {
  static const auto e = describe::enumeration<Bus>("bus");
  return e;
}

const Structure& description(Tag<DiskSpec>) {
  static const Structure s = Builder<DiskSpec>("disk", "A disk of the machine.")
                                 .wire<&DiskSpec::name>("Name", "Its node in QEMU.")
                                 .wire<&DiskSpec::file>("File", "Where it lies on the host.")
                                 .wire<&DiskSpec::format>("Format", "qcow2 or raw.")
                                 .wire<&DiskSpec::read_only>("ReadOnly", "Whether the guest cannot write to it.")
                                 .wire<&DiskSpec::bus>("Bus", "How the guest sees it.")
                                 .done();
  return s;
}

const Structure& description(Tag<NicSpec>) {
  static const Structure s = Builder<NicSpec>("nic", "A network interface of the machine.")
                                 .wire<&NicSpec::name>("Name", "Its name in QEMU.")
                                 .wire<&NicSpec::bridge>("Bridge", "The bridge of the host that it is on.")
                                 .wire<&NicSpec::tap>("Tap", "Its other end, on the host.")
                                 .wire<&NicSpec::mac>("MAC", "Its hardware address.")
                                 .done();
  return s;
}

const Structure& description(Tag<ForwardSpec>) {
  static const Structure s = Builder<ForwardSpec>("forward", "A port of the host that leads to one of the guest.")
                                 .wire<&ForwardSpec::host>("Host", "The host's.")
                                 .wire<&ForwardSpec::guest>("Guest", "The guest's.")
                                 .done();
  return s;
}

const Structure& description(Tag<SharedMemorySpec>) {
  static const Structure s = Builder<SharedMemorySpec>("shared_memory", "Memory that several machines share.")
                                 .wire<&SharedMemorySpec::name>("Name", "Its name in QEMU.")
                                 .wire<&SharedMemorySpec::file>("File", "Where it lies on the host.")
                                 .wire<&SharedMemorySpec::memory_mb>("MemoryMB", "Its size, in MiB.")
                                 .wire<&SharedMemorySpec::port>("Port", "The port that it is in.")
                                 .done();
  return s;
}

const Structure& description(Tag<HostDeviceSpec>) {
  static const Structure s = Builder<HostDeviceSpec>("host_device", "A PCI device of the host.")
                                 .wire<&HostDeviceSpec::name>("Name", "Its name in QEMU.")
                                 .wire<&HostDeviceSpec::address>("Address", "Where it is on the host's bus.")
                                 .wire<&HostDeviceSpec::port>("Port", "The port that it is in.")
                                 .done();
  return s;
}

const Structure& description(Tag<MachineSpec>) {
  static const Structure s =
      Builder<MachineSpec>("machine", "A virtual machine.")
          .wire<&MachineSpec::name>("Name", "Its name on this host.")
          .wire<&MachineSpec::uuid>("UUID", "SMBIOS' UUID.")
          .wire<&MachineSpec::instance>("Instance", "Which it is of those that have had its name; empty: the only one.")
          .wire<&MachineSpec::generation>("Generation", "Another one whenever an earlier state is gone back to.")
          .wire<&MachineSpec::machine>("Machine", "QEMU's machine type, with its version.")
          .wire<&MachineSpec::accelerator>("Accelerator", "tcg or kvm.")
          .wire<&MachineSpec::cpu>("CPU", "Model of its processors.")
          .wire<&MachineSpec::vcpus>("VCPUs", "How many processors it has.")
          .wire<&MachineSpec::memory_mb>("MemoryMB", "Its memory, in MiB.")
          .wire<&MachineSpec::huge_pages>("HugePages", "Whether that is of huge pages of the host.")
          .wire<&MachineSpec::firmware>("Firmware", "File with its firmware; QEMU's BIOS when empty.")
          .wire<&MachineSpec::kernel>("Kernel", "Kernel that is booted directly.")
          .wire<&MachineSpec::initrd>("Initrd", "Its initial file system.")
          .wire<&MachineSpec::append>("Append", "Its command line.")
          .wire<&MachineSpec::disks>("Disks", "Its disks.")
          .wire<&MachineSpec::nics>("NICs", "Its network interfaces.")
          .wire<&MachineSpec::forwards>("Forwards", "Ports of the host that lead into it.")
          .wire<&MachineSpec::guest_agent>("GuestAgent", "Whether it has a port for an agent.")
          .wire<&MachineSpec::ports>("Ports", "Ports for what can be unplugged.")
          .wire<&MachineSpec::shared_memory>("SharedMemory", "Memory that it shares with other machines.")
          .wire<&MachineSpec::host_devices>("HostDevices", "PCI devices of the host that are the guest's.")
          .wire<&MachineSpec::args>("Args", "Further arguments for QEMU.")
          .done();
  return s;
}

std::string uuid_for(std::string_view name) {
  auto bytes = crypto::sha256(fmt::format("machine {}", name)).substr(0, 16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x80);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  const auto text = hex(bytes);
  return fmt::format("{}-{}-{}-{}-{}", text.substr(0, 8), text.substr(8, 4), text.substr(12, 4), text.substr(16, 4),
                     text.substr(20));
}

MachineSpec hardware_of(MachineSpec spec) {
  spec.name.clear();
  spec.uuid.clear();
  if (!spec.generation.empty()) spec.generation = "given";
  for (auto* path : {&spec.firmware, &spec.kernel, &spec.initrd}) {
    // Read once, at the boot: that there is one is hardware (a device of QEMU's), which one it is, is not.
    if (!path->empty()) *path = "given";
  }
  spec.append.clear();
  for (auto& disk : spec.disks) {
    disk.file.clear();
    disk.format.clear();
  }
  for (auto& nic : spec.nics) nic.bridge = nic.tap = "";
  for (auto& forward : spec.forwards) forward.host = 0;
  // Neither sleeps nor moves: they are unplugged before.
  spec.shared_memory.clear();
  spec.host_devices.clear();
  return spec;
}

std::vector<std::string> differences(const MachineSpec& now, const MachineSpec& then) {
  std::vector<std::string> found;
  const MachineSpec here = hardware_of(now), there = hardware_of(then);
  for (const auto& field : describe::structure_of<MachineSpec>().fields) {
    if (describe::equal(*field.type, field.in(&here), field.in(&there))) continue;
    const auto text = [&](const MachineSpec& of) {
      std::string out;
      underway::json::append(out, *field.type, field.in(&of), underway::json::Encoding::compact);
      return out;
    };
    found.push_back(fmt::format("{} is {} and was {}", field.json, text(here), text(there)));
  }
  return found;
}

}  // namespace underway::vm
