#include "vm/layout.hpp"

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "driver/local_task.hpp"
#include "net/netlink.hpp"
#include "os/file.hpp"
#include "vm/state/disk_image.hpp"

namespace underway::vm {
namespace {

/// Of "0-3,8".
std::int64_t count_cores(const std::string& cpuset) {
  std::int64_t count = 0;
  for (const auto& part : split_list(cpuset)) {
    const auto dash = part.find('-');
    const auto first = parse_number<std::int64_t>(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_number<std::int64_t>(part.substr(dash + 1));
    if (first && last && *last >= *first) count += *last - *first + 1;
  }
  return count;
}

class Making {
 public:
  Making(const Config& config, const driver::TaskSpec& spec) : config_(config), spec_(spec) {}

  Layout run(const std::string& machines, Accelerator accelerator) {
    auto& machine = out_.machine;
    machine.name = machine_name(config_, spec_);
    out_.named = !config_.name.empty();
    out_.directory = out_.named ? machines + "/" + config_.name : spec_.task_dir + "/machine";
    machine.machine = config_.machine;
    machine.accelerator = accelerator;
    machine.cpu = config_.cpu;
    machine.vcpus = config_.vcpus > 0 ? config_.vcpus
                    : config_.pin     ? std::max<std::int64_t>(1, count_cores(spec_.cpuset))
                                      : 1;
    machine.memory_mb = config_.memory > 0 ? config_.memory : static_cast<std::int64_t>(spec_.memory_mb);
    if (machine.memory_mb == 0) machine.memory_mb = MachineSpec().memory_mb;
    machine.huge_pages = config_.huge_pages;
    machine.firmware = file(config_.firmware, "firmware");
    machine.kernel = file(config_.kernel, "kernel");
    machine.initrd = file(config_.initrd, "initrd");
    machine.append = append_for(accelerator);
    machine.guest_agent = config_.guest_agent;
    machine.args = config_.args;
    // A firmware without ACPI's tables of QEMU, or another board, has no place for it.
    if (machine.machine.starts_with("pc")) machine.generation = std::string(kNoGeneration);
    machine.uuid = uuid_for(machine.name);
    machine.instance = config_.instance;
    disks();
    networks();
    ports();
    devices();
    return std::move(out_);
  }

 private:
  /// A translated processor counts the host's cycles, and the guest measures how quick that is while it is translated.
  /// On a host that is busy it found a seventh of the truth, and its clock was 15 s ahead before the kernel noticed by
  /// itself.
  std::string append_for(Accelerator accelerator) const {
    constexpr std::string_view kNoCounter = "tsc=unstable";
    const auto& own = config_.append;
    if (config_.kernel.empty() || accelerator != Accelerator::tcg || own.find("tsc=") != std::string::npos) return own;
    return own.empty() ? std::string(kNoCounter) : fmt::format("{} {}", own, kNoCounter);
  }

  /// Absolute, or in the task's directory. It is there.
  std::string file(const std::string& named, const std::string& key) const {
    if (named.empty()) return {};
    const auto path = named.starts_with('/') ? named : spec_.task_dir + "/" + named;
    if (os::exists(path)) return path;
    throw Error(Code::not_found, fmt::format("machine '{}' cannot start", out_.machine.name))
        .because(fmt::format("config.{}: node '{}' has no '{}'", key, spec_.node, path));
  }

  void layer(const std::string& node, const std::string& image, const std::string& size, Bus bus) {
    const auto path = fmt::format("{}/{}.qcow2", out_.directory, node);
    out_.to_make.push_back({path, image, parse_disk_size(size).value_or(0)});
    out_.machine.disks.push_back({node, path, "qcow2", false, bus});
  }

  void disks() {
    if (!config_.image.empty()) layer("image", file(config_.image, "image"), {}, Bus::virtio);
    if (!config_.image_path.empty()) {
      static const std::map<std::string, Bus> kInterfaces = {
          {"", Bus::ide}, {"ide", Bus::ide}, {"scsi", Bus::scsi}, {"virtio", Bus::virtio}};
      const auto path = file(config_.image_path, "image_path");
      out_.machine.disks.push_back({"image", path, disk_format(path), false, kInterfaces.at(config_.drive_interface)});
    }
    for (const auto& disk : config_.disks) {
      const auto node = "disk-" + disk.name;
      const auto image = file(disk.image, fmt::format("disk \"{}\".image", disk.name));
      if (disk.read_only)
        out_.machine.disks.push_back({node, image, disk_format(image), true, disk.bus});
      else
        layer(node, image, disk.size, disk.bus);
    }
    if (!config_.cloud_init) return;
    out_.seed = out_.directory + "/seed.iso";
    out_.machine.disks.push_back({"seed", out_.seed, "raw", true, Bus::virtio});
  }

  void networks() {
    for (const auto& network : config_.networks) {
      const auto name = fmt::format("net{}", out_.machine.nics.size());
      // Of this run: the machine that it is to replace may still be there.
      const auto tap = net::link_name(fmt::format("vm-{}-{}-{}", spec_.alloc_id, spec_.keeper_dir, name));
      const auto mac =
          network.mac.empty() ? mac_for(fmt::format("{}/{}", out_.machine.name, network.name)) : lower(network.mac);
      out_.machine.nics.push_back({name, network.bridge_name(), tap, mac});
    }
  }

  void ports() {
    for (const auto& [label, guest] : config_.port_map) {
      std::string variable = "NOMAD_HOST_PORT_" + label;
      for (char& c : variable) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      }
      const auto found = spec_.env.find(variable);
      const auto host = found != spec_.env.end() ? parse_number<std::int64_t>(found->second) : std::nullopt;
      if (!host)
        throw Error(Code::invalid, "the task's config is wrong")
            .because(fmt::format("config.port_map: the group's network has no port '{}'", label));
      out_.machine.forwards.push_back({*host, guest});
    }
  }

  void devices() {
    auto& machine = out_.machine;
    const auto space = spec_.env.find("NOMAD_NAMESPACE");
    for (const auto& memory : config_.shared_memory) {
      out_.shared_names.push_back(
          fmt::format("{}+{}", space == spec_.env.end() ? "default" : space->second, memory.name));
      machine.shared_memory.push_back(
          {fmt::format("shm{}", machine.shared_memory.size()), {}, memory.memory, machine.ports++});
    }
    for (const auto& address : config_.host_devices)
      machine.host_devices.push_back(
          {fmt::format("host{}", machine.host_devices.size()), lower(address), machine.ports++});
  }

  const Config& config_;
  const driver::TaskSpec& spec_;
  Layout out_;
};

}  // namespace

std::string machine_name(const Config& config, const driver::TaskSpec& spec) {
  return !config.name.empty()
             ? config.name
             : fmt::format("{}-{}", (spec.origin.empty() ? spec.alloc_id : spec.origin).substr(0, 8), spec.task);
}

Layout lay_out(const Config& config, const driver::TaskSpec& spec, const std::string& machines,
               Accelerator accelerator) {
  return Making(config, spec).run(machines, accelerator);
}

}  // namespace underway::vm
