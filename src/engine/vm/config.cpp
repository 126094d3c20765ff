#include "vm/config.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "driver/block_reader.hpp"
#include "net/address.hpp"

namespace underway::vm {
namespace {

bool is_open(std::string_view text) { return text.find("${") != std::string_view::npos; }

/// Of a directory, of a node in QEMU, of a link: nothing that any of them would read otherwise.
bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name.front() != '-' && name.front() != '.' &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; });
}

bool is_mac(std::string_view text) {
  const auto parts = split(text, ':');
  return parts.size() == 6 && std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           return part.size() == 2 && unhex(part).has_value();
         });
}

/// "0000:3b:00.0": domain, bus, slot and function, in hexadecimal.
bool is_pci_address(std::string_view text) {
  constexpr std::string_view kShape = "xxxx:xx:xx.x";
  return text.size() == kShape.size() && std::equal(text.begin(), text.end(), kShape.begin(), [](char c, char shape) {
           return shape == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == shape;
         });
}

/// Several blocks are one map.
boost::json::value joined(const boost::json::value& config) {
  auto out = config;
  auto* object = out.if_object();
  auto* ports = object != nullptr ? object->if_contains("port_map") : nullptr;
  if (ports == nullptr || !ports->is_array()) return out;
  boost::json::object all;
  for (const auto& block : ports->get_array()) {
    if (!block.is_object()) return out;
    for (const auto& [label, port] : block.get_object()) all[label] = port;
  }
  *ports = all;
  return out;
}

class Checks {
 public:
  explicit Checks(const Config& config, std::vector<std::string>& found) : config_(config), found_(found) {}

  void run() {
    what_it_boots();
    hardware();
    disks();
    networks();
    devices();
    clone();
    if (!config_.name.empty() && !is_open(config_.name) && !is_plain(config_.name))
      say("name", "must be of letters, digits, '-', '_' and '.'");
    for (const auto& [label, port] : config_.port_map) {
      if (port < 1 || port > 65535) say(fmt::format("port_map[\"{}\"]", label), "must be from 1 to 65535");
    }
    if (config_.checkpoints < 1) say("checkpoints", "must be at least 1");
  }

 private:
  void say(const std::string& key, const std::string& what) {
    found_.push_back(fmt::format("config.{}: {}", key, what));
  }

  void what_it_boots() {
    const bool disk = !config_.image.empty() || !config_.image_path.empty() || !config_.disks.empty();
    if (!disk && config_.kernel.empty())
      say("image", "is required, or `kernel`, `image_path`, or a `disk`: there is nothing to boot");
    if (!config_.image.empty() && !config_.image_path.empty())
      say("image_path", "cannot be beside `image`: both are the first disk");
    if (config_.kernel.empty() && (!config_.initrd.empty() || !config_.append.empty()))
      say(config_.initrd.empty() ? "append" : "initrd", "is of `kernel`, which is not given");
    if (!config_.drive_interface.empty() && config_.image_path.empty())
      say("drive_interface", "is of `image_path`; a `disk` has a `bus`");
    static const std::set<std::string> kInterfaces = {"", "ide", "scsi", "virtio"};
    if (!kInterfaces.contains(config_.drive_interface) && !is_open(config_.drive_interface))
      say("drive_interface", "must be one of ide, scsi, virtio");
  }

  void hardware() {
    static const std::set<std::string> kAccelerators = {"", "tcg", "kvm"};
    if (!kAccelerators.contains(config_.accelerator) && !is_open(config_.accelerator))
      say("accelerator", "must be 'tcg' or 'kvm'");
    // What follows a comma would be further settings of the machine.
    if (!is_open(config_.machine) && !is_plain(config_.machine))
      say("machine", "must be a machine type of QEMU, as 'pc-q35-7.2'");
    else if (config_.machine.starts_with("microvm"))
      say("machine", "cannot be 'microvm': its devices are no PCI devices, and translated it hangs; use 'pc-q35-7.2'");
    if (config_.vcpus < 0 || config_.vcpus > 1024) say("vcpus", "must be from 1 to 1024");
    if (config_.memory != 0 && (config_.memory < 32 || config_.memory > 16'000'000))
      say("memory", "must be from 32 to 16000000 MiB");
  }

  void disks() {
    std::set<std::string> names;
    for (const auto& disk : config_.disks) {
      const auto place = fmt::format("disk \"{}\"", disk.name);
      if (!is_plain(disk.name) || disk.name.size() > 20)
        say(place, "must have a name of at most 20 letters, digits, '-', '_' and '.'");
      if (!names.insert(disk.name).second) say(place, "is there twice");
      if (disk.image.empty() && disk.size.empty()) say(place, "needs an `image` or a `size`");
      if (disk.read_only && disk.image.empty()) say(place + ".read_only", "needs an `image`");
      if (!disk.size.empty() && !is_open(disk.size) && !parse_disk_size(disk.size))
        say(place + ".size", "must be a size, as \"10G\"");
    }
  }

  void networks() {
    std::set<std::string> names;
    for (const auto& network : config_.networks) {
      const auto place = fmt::format("network \"{}\"", network.name);
      if (!is_plain(network.name)) say(place, "must have a name of letters, digits, '-', '_' and '.'");
      if (!names.insert(network.name).second) say(place, "is there twice");
      // IFNAMSIZ, without the terminating zero.
      if (!is_open(network.bridge) && (!is_plain(network.bridge_name()) || network.bridge_name().size() > 15))
        say(place + ".bridge", "must be a link's name of at most 15 letters");
      if (!network.mac.empty() && !is_open(network.mac) && !is_mac(network.mac))
        say(place + ".mac", "must be a hardware address, as \"52:54:00:12:34:56\"");
    }
  }

  void devices() {
    std::set<std::string> names;
    for (const auto& memory : config_.shared_memory) {
      const auto place = fmt::format("shared_memory \"{}\"", memory.name);
      if (!is_open(memory.name) && !is_plain(memory.name))
        say(place, "must have a name of letters, digits, '-', '_' and '.'");
      if (!names.insert(memory.name).second) say(place, "is there twice");
      // A PCI region is as large as a power of two.
      if (memory.memory < 1 || memory.memory > (1 << 20) || (memory.memory & (memory.memory - 1)) != 0)
        say(place + ".memory", "must be a power of two, from 1 to 1048576 MiB");
    }
    for (const auto& address : config_.host_devices) {
      if (!is_open(address) && !is_pci_address(address))
        say("host_devices", fmt::format("'{}' must be a PCI address, as \"0000:3b:00.0\"", address));
    }
  }

  void clone() {
    if (!config_.clone) return;
    if (config_.clone->machine.empty() || (!is_open(config_.clone->machine) && !is_plain(config_.clone->machine)))
      say("clone.machine", "must be the name of a machine");
    if (!config_.guest_agent) say("guest_agent", "must be true for a clone: by it the guest is told who it is");
    for (const auto& [network, address] : config_.clone->addresses) {
      const auto place = fmt::format("clone.addresses[\"{}\"]", network);
      if (std::none_of(config_.networks.begin(), config_.networks.end(),
                       [&](const NetworkConfig& known) { return known.name == network; }))
        say(place, "names no `network` of the machine");
      if (!is_open(address) && (address.find('/') == std::string::npos || !net::parse_cidr(address)))
        say(place, "must be an address with the length of its network's, as \"10.0.0.7/24\"");
    }
  }

  const Config& config_;
  std::vector<std::string>& found_;
};

Config read(const boost::json::value& json, std::vector<std::string>& found) {
  Config config;
  driver::BlockReader reader;
  reader.read(json.is_null() ? boost::json::value(boost::json::object()) : joined(json),
              describe::structure_of<Config>(), &config, "config");
  found = reader.problems();
  Checks(config, found).run();
  return config;
}

}  // namespace

std::vector<std::string> problems(const boost::json::value& config) {
  std::vector<std::string> found;
  static_cast<void>(read(config, found));
  return found;
}

Config parse_config(const boost::json::value& json) {
  std::vector<std::string> found;
  auto config = read(json, found);
  if (!found.empty()) throw Error(Code::invalid, "the task's config is wrong").because(found);
  return config;
}

std::optional<std::uint64_t> parse_disk_size(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789");
  const auto number = parse_number<std::uint64_t>(text.substr(0, end));
  if (!number) return std::nullopt;
  auto unit = end == std::string_view::npos ? std::string() : lower(text.substr(end));
  if (unit.ends_with("ib"))
    unit.resize(unit.size() - 2);
  else if (unit.size() == 2 && unit.ends_with('b'))
    unit.resize(1);
  static const std::map<std::string, int> kShifts = {{"", 0}, {"b", 0}, {"k", 10}, {"m", 20}, {"g", 30}, {"t", 40}};
  const auto shift = kShifts.find(unit);
  if (shift == kShifts.end() || *number == 0 || *number > (std::uint64_t{1} << (62 - shift->second)))
    return std::nullopt;
  return *number << shift->second;
}

std::string mac_for(std::string_view of) {
  // 52:54:00 is what QEMU and libvirt use; three bytes are left.
  const auto digest = hex(crypto::sha256(of)).substr(0, 6);
  return fmt::format("52:54:00:{}:{}:{}", digest.substr(0, 2), digest.substr(2, 2), digest.substr(4, 2));
}

}  // namespace underway::vm
