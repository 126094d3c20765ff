#pragma once
/// @file
/// What a task with `driver = "qemu"` says in its `config`. The keys of Nomad's driver are read as there; the others
/// are ours. Pure.

#include <boost/json/value.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json/describe.hpp"
#include "vm/machine/machine_spec.hpp"

namespace underway::vm {

struct DiskConfig {
  std::string name;
  std::string image;  ///< below the layer that the guest writes to; empty: an empty disk
  std::string size;   ///< "10G"
  Bus bus = Bus::virtio;
  bool read_only = false;  ///< `image` itself, without a layer
};

struct NetworkConfig {
  std::string name;
  std::string bridge;  ///< empty: "br-<name>"
  std::string mac;     ///< empty: follows from the machine's name
  std::string bridge_name() const { return bridge.empty() ? "br-" + name : bridge; }
};

struct SharedMemoryConfig {
  std::string name;
  std::int64_t memory = 0;  ///< MiB
};

/// It begins as another machine of this node was.
struct CloneConfig {
  std::string machine;     ///< its name
  std::string checkpoint;  ///< empty: its newest
  std::string hostname;    ///< empty: the clone's own name
  /// Name of a network to the address in it: "10.0.0.7/24".
  std::map<std::string, std::string> addresses;
};

struct CloudInitConfig {
  std::string user_data, meta_data, network_config;
  std::string hostname;   ///< in a meta_data that is not given
  std::string directory;  ///< of the task: files of these names, for those that are not given
};

/// What a start does with what the machine saved.
enum class Resume : std::uint8_t {
  automatic,  ///< goes on from it; refused when it is not whole
  or_boot,    ///< goes on from it; boots when it is not whole, or another instance's
  cold        ///< boots, and what was saved is removed
};

/// How the machine goes to another node.
enum class Migrate : std::uint8_t {
  automatic,  ///< while it runs, where that is as safe as asleep: with real KVM on both nodes, and the same processors
  live,       ///< while it runs, also where it is translated
  stop        ///< asleep
};

struct Config {
  // Nomad's.
  std::string image_path;       ///< as it is, written to
  std::string drive_interface;  ///< empty: "ide", as there
  std::string accelerator;      ///< empty: what works here
  bool graceful_shutdown = true;
  bool guest_agent = false;
  std::map<std::string, std::int64_t> port_map;
  std::vector<std::string> args;

  /// With a name: one that is another instance does not go on with the memory that this one saved.
  std::string instance;
  std::string name;  ///< empty: the machine is this allocation's and goes with it
  std::string image;
  std::string kernel, initrd, append, firmware;
  std::string machine = MachineSpec().machine;
  std::string cpu;
  std::int64_t vcpus = 0;   ///< 0: as many cores as the task has for itself, or one
  std::int64_t memory = 0;  ///< MiB; 0: the task's
  bool huge_pages = false;
  bool pin = false;  ///< each processor on a core of its own
  std::vector<DiskConfig> disks;
  std::vector<NetworkConfig> networks;
  std::optional<CloudInitConfig> cloud_init;
  std::optional<CloneConfig> clone;
  std::vector<SharedMemoryConfig> shared_memory;
  std::vector<std::string> host_devices;  ///< PCI addresses
  Resume resume = Resume::automatic;
  Migrate migrate = Migrate::automatic;
  std::int64_t checkpoints = 3;  ///< how many are kept
};

const describe::Enumeration& description(describe::Tag<Resume>);
const describe::Enumeration& description(describe::Tag<Migrate>);
const describe::Structure& description(describe::Tag<DiskConfig>);
const describe::Structure& description(describe::Tag<NetworkConfig>);
const describe::Structure& description(describe::Tag<SharedMemoryConfig>);
const describe::Structure& description(describe::Tag<CloneConfig>);
const describe::Structure& description(describe::Tag<CloudInitConfig>);
const describe::Structure& description(describe::Tag<Config>);

/// All that is wrong, each naming its place ("config.network \"lan\".mac"); values with variables that are not replaced
/// yet ("${…}") are taken as they come.
std::vector<std::string> problems(const boost::json::value& config);
/// Throws Error(invalid) with all problems.
Config parse_config(const boost::json::value& config);

/// "10G", "512MiB", "1073741824"; nothing when it is none.
std::optional<std::uint64_t> parse_disk_size(std::string_view text);
/// One of the locally administered ones (IEEE 802, bit 1 of the first byte) with QEMU's prefix, that follows from `of`.
std::string mac_for(std::string_view of);

}  // namespace underway::vm
