#include "vm/machine/command_line.hpp"

#include <boost/json/serialize.hpp>

namespace underway::vm {
namespace {

namespace json = boost::json;
using Arguments = std::vector<std::string>;

/// In QEMU's lists of "key=value" a comma within a value is written twice.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    out += c;
    if (c == ',') out += c;
  }
  return out;
}

void add(Arguments& to, std::initializer_list<std::string> more) { to.insert(to.end(), more); }

void add_board(Arguments& out, const MachineSpec& spec) {
  const bool kvm = spec.accelerator == Accelerator::kvm;
  add(out, {"-name", "guest=" + escaped(spec.name)});
  add(out, {"-machine", spec.machine + ",dump-guest-core=off" + (spec.huge_pages ? ",memory-backend=ram" : "")});
  // Translating with several threads, memory was corrupted during a migration of a running guest in 4 of 7 runs, and in
  // none of 15 with one (QEMU 7.2). What is translated would be kept in up to 1 GiB, which no task's memory allows for.
  add(out, {"-accel", kvm ? "kvm" : "tcg,thread=single,tb-size=64"});
  add(out, {"-cpu", !spec.cpu.empty() ? spec.cpu : kvm ? "host" : "max"});
  add(out, {"-smp", std::to_string(spec.vcpus)});
  add(out, {"-m", fmt::format("{}M", spec.memory_mb)});
  if (spec.huge_pages)
    add(out, {"-object", fmt::format("memory-backend-memfd,id=ram,size={}M,hugetlb=on,prealloc=on", spec.memory_mb)});
  if (!spec.uuid.empty()) add(out, {"-uuid", spec.uuid});
  if (!spec.firmware.empty()) add(out, {"-bios", spec.firmware});
  if (!spec.kernel.empty()) add(out, {"-kernel", spec.kernel});
  if (!spec.initrd.empty()) add(out, {"-initrd", spec.initrd});
  if (!spec.append.empty()) add(out, {"-append", spec.append});
}

void add_disk(Arguments& out, const DiskSpec& disk, std::size_t index) {
  const std::string file = disk.name + "-file";
  // A disk that no guest writes to may be many machines'.
  add(out, {"-blockdev", json::serialize(json::object{{"driver", "file"},
                                                      {"node-name", file},
                                                      {"filename", disk.file},
                                                      {"read-only", disk.read_only},
                                                      {"auto-read-only", false},
                                                      {"locking", "on"},
                                                      {"discard", "unmap"}})});
  add(out, {"-blockdev", json::serialize(json::object{{"driver", disk.format},
                                                      {"node-name", disk.name},
                                                      {"file", file},
                                                      {"read-only", disk.read_only},
                                                      {"discard", "unmap"}})});
  switch (disk.bus) {
    case Bus::virtio:
      return add(out, {"-device", fmt::format("virtio-blk-pci,drive={0},id={0}-device", disk.name)});
    case Bus::ide:
      // q35 has an AHCI controller of six ports, each with one disk.
      return add(out, {"-device", fmt::format("ide-hd,drive={0},id={0}-device,bus=ide.{1}", disk.name, index)});
    case Bus::scsi:
      return add(out, {"-device", fmt::format("scsi-hd,drive={0},id={0}-device,bus=scsi.0", disk.name)});
  }
}

void add_network(Arguments& out, const MachineSpec& spec) {
  for (const auto& nic : spec.nics) {
    add(out, {"-netdev", fmt::format("tap,id={},ifname={},script=no,downscript=no", nic.name, nic.tap)});
    add(out, {"-device", fmt::format("virtio-net-pci,netdev={0},id={0}-device,mac={1}", nic.name, nic.mac)});
  }
  if (spec.forwards.empty()) return;
  std::string user = "user,id=user0";
  for (const auto& forward : spec.forwards) {
    // Nomad forwards both protocols of each port.
    for (const auto* protocol : {"tcp", "udp"})
      user += fmt::format(",hostfwd={}::{}-:{}", protocol, forward.host, forward.guest);
  }
  add(out, {"-netdev", user, "-device", "virtio-net-pci,netdev=user0,id=user0-device"});
}

/// Behind ports: what is on the root bus cannot be unplugged while the guest runs.
void add_ports(Arguments& out, const MachineSpec& spec) {
  for (std::int64_t i = 0; i < spec.ports; ++i)
    add(out, {"-device", fmt::format("pcie-root-port,id=port{},chassis={}", i, i + 1)});
  for (const auto& memory : spec.shared_memory) {
    add(out, {"-object", fmt::format("memory-backend-file,id={0}-memory,share=on,mem-path={1},size={2}M", memory.name,
                                     escaped(memory.file), memory.memory_mb)});
    add(out, {"-device",
              fmt::format("ivshmem-plain,memdev={0}-memory,id={0}-device,bus=port{1}", memory.name, memory.port)});
  }
  for (const auto& device : spec.host_devices)
    add(out,
        {"-device", fmt::format("vfio-pci,host={},id={}-device,bus=port{}", device.address, device.name, device.port)});
}

}  // namespace

Arguments command_line(const MachineSpec& spec, const Launch& launch) {
  Arguments out = {"-nodefaults", "-no-user-config", "-display", "none"};
  add_board(out, spec);
  add(out, {"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"});
  add(out, {"-pidfile", launch.lease});

  add(out, {"-chardev", fmt::format("socket,id=qmp,path={},server=on,wait=off", kControlSocket)});
  add(out, {"-mon", "chardev=qmp,mode=control"});
  std::string console = fmt::format("socket,id=console,path={},server=on,wait=off", kConsoleSocket);
  if (!launch.console_log.empty()) console += ",logappend=on,logfile=" + escaped(launch.console_log);
  add(out, {"-chardev", console, "-serial", "chardev:console"});

  add(out, {"-device", "virtio-rng-pci,id=rng0"});
  if (!spec.generation.empty()) add(out, {"-device", "vmgenid,id=generation,guid=" + spec.generation});
  if (spec.guest_agent) {
    add(out, {"-device", "virtio-serial-pci,id=serial0"});
    add(out, {"-chardev", fmt::format("socket,id=agent,path={},server=on,wait=off", kAgentSocket)});
    add(out, {"-device", "virtserialport,chardev=agent,id=agent0,name=org.qemu.guest_agent.0"});
  }
  const bool scsi = std::any_of(spec.disks.begin(), spec.disks.end(), [](const auto& d) { return d.bus == Bus::scsi; });
  if (scsi) add(out, {"-device", "virtio-scsi-pci,id=scsi"});
  std::size_t on_ide = 0;
  for (const auto& disk : spec.disks) add_disk(out, disk, disk.bus == Bus::ide ? on_ide++ : 0);
  add_network(out, spec);
  add_ports(out, spec);
  out.insert(out.end(), spec.args.begin(), spec.args.end());

  out.push_back("-S");
  if (launch.incoming) add(out, {"-incoming", "defer"});
  return out;
}

}  // namespace underway::vm
