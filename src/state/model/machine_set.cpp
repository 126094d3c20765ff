#include "model/machine_set.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::model {
namespace {

/// What a user writes behind "machines:", and what links and files are named after.
bool is_set_name(std::string_view name) {
  return !name.empty() && name.size() <= 32 && name.front() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

struct Range {
  std::uint32_t first = 0, last = 0;
  int prefix = 0;
};

/// Of "10.200.0.0/16"; nothing when it is no whole network of IPv4. Not by net::parse_cidr: with that library every
/// client of the model would link libnl and libpcap.
std::optional<Range> range_of(const std::string& text) {
  const auto halves = split(text, '/');
  if (halves.size() != 2) return std::nullopt;
  const auto prefix = parse_number<std::uint32_t>(halves[1]);
  const auto parts = split(halves[0], '.');
  if (!prefix || *prefix < 1 || *prefix > 31 || parts.size() != 4) return std::nullopt;
  std::uint32_t address = 0;
  for (const auto& part : parts) {
    const auto number = parse_number<std::uint32_t>(part);
    if (!number || *number > 255) return std::nullopt;
    address = address << 8 | *number;
  }
  const auto rest = 0xffffffffU >> *prefix;
  if ((address & rest) != 0) return std::nullopt;
  return Range{address, address | rest, static_cast<int>(*prefix)};
}

/// "0000:3b:00.0"
bool is_pci_address(std::string_view text) {
  constexpr std::string_view kShape = "xxxx:xx:xx.x";
  return text.size() == kShape.size() && std::equal(text.begin(), text.end(), kShape.begin(), [](char c, char shape) {
           return shape == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == shape;
         });
}

}  // namespace

bool overlap(const std::string& network, const std::string& other) {
  const auto one = range_of(network), two = range_of(other);
  return one && two && one->first <= two->last && two->first <= one->last;
}

std::vector<std::string> problems(const MachineSet& set) {
  std::vector<std::string> out;
  const auto say = [&](const std::string& what) { out.push_back(fmt::format("machines '{}': {}", set.name, what)); };
  if (!is_set_name(set.name)) say("the name must be of at most 32 letters, digits, '-' and '_'");
  if (set.image.empty() && set.kernel.empty()) say("they have neither an `image` nor a `kernel`");
  if (set.kernel.empty() && (!set.initrd.empty() || !set.append.empty()))
    say("`initrd` and `append` are of a `kernel`, which is not given");
  for (const auto& [key, path] : {std::pair{"image", &set.image}, {"kernel", &set.kernel}, {"initrd", &set.initrd}}) {
    if (!path->empty() && !path->starts_with('/')) say(fmt::format("{}: '{}' is no absolute path", key, *path));
  }
  if (set.cpus < 1 || set.cpus > 1024) say(fmt::format("cpus: {} is not between 1 and 1024", set.cpus));
  if (set.memory_mb < 32 || set.memory_mb > 16'000'000)
    say(fmt::format("memory: {} is not between 32 and 16000000 MiB", set.memory_mb));
  if (set.per_node < 1 || set.per_node > kMostMachinesPerNode)
    say(fmt::format("per_node: {} is not between 1 and {}", set.per_node, kMostMachinesPerNode));
  const auto network = range_of(set.network);
  if (!network || network->prefix < 8 || network->prefix > 28)
    say(fmt::format("network: '{}' is no network like 10.200.0.0/16, with a prefix from 8 to 28", set.network));
  // A PCI region is as large as a power of two.
  const auto shared = set.shared_memory_mb;
  if (shared < 0 || shared > (1 << 20) || (shared & (shared - 1)) != 0)
    say(fmt::format("shared_memory: {} is no power of two up to 1048576 MiB", shared));
  for (const auto& device : set.host_devices) {
    if (!is_pci_address(device))
      say(fmt::format("host_devices: '{}' is no PCI address like \"0000:3b:00.0\"", device));
    else if (std::count(set.host_devices.begin(), set.host_devices.end(), device) > 1)
      say(fmt::format("host_devices: '{}' is there twice", device));
  }
  return out;
}

const describe::Structure& description(describe::Tag<MachineSet>) {
  static const describe::Structure s =
      describe::Builder<MachineSet>(
          "machines",
          "Virtual machines that a Slurm job gets on each of its nodes, for as long as it has "
          "them, when its comment has the word `machines:NAME`, or `machines:NAME*3` for "
          "three on each node.")
          .label<&MachineSet::name>("name", "Name", "What a job asks for.")
          .attribute<&MachineSet::image>("image", "Image",
                                         "Their first disk: a file of the nodes, which stays as it is.")
          .attribute<&MachineSet::kernel>("kernel", "Kernel", "A kernel that is booted without a boot loader.")
          .attribute<&MachineSet::initrd>("initrd", "Initrd", "Its initial file system.")
          .attribute<&MachineSet::append>("append", "Append", "Its command line.")
          .attribute<&MachineSet::disk>("disk", "Disk",
                                        "Size of an empty disk of its own, as `8G`; none when not given.")
          .attribute<&MachineSet::cpus>("cpus", "CPUs", "Processors of one machine.")
          .attribute<&MachineSet::memory_mb>("memory", "MemoryMB", "Memory of one machine in MiB.")
          .required()
          .attribute<&MachineSet::per_node>("per_node", "PerNode",
                                            "How many on each node of a job that does not say how many.")
          .attribute<&MachineSet::network>(
              "network", "Network",
              "Of which each job has a part of its own, as large as it needs. Nothing else "
              "may have these addresses.")
          .attribute<&MachineSet::shared_memory_mb>(
              "shared_memory", "SharedMemoryMB",
              "Memory in MiB that the machines of a job on one node share, as a PCI "
              "device (ivshmem); a power of two, 0 for none.")
          .attribute<&MachineSet::host_devices>(
              "host_devices", "HostDevices",
              "PCI devices of each node that its first machine has for itself (vfio), "
              "as `\"0000:3b:00.0\"`; of one job at a time.")
          .done();
  return s;
}

}  // namespace underway::model
