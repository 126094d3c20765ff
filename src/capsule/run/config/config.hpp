#pragma once
/// @file
/// What a task with `driver = "capsule"` says in its `config`. Blocks arrive as JSON lists of objects, labels as keys
/// (hcl::decode_any); every problem is told at once, each naming its place: "config.network \"cluster\".gateway".

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/json/describe.hpp"
#include "image/manifest.hpp"
#include "net/address.hpp"
#include "os/process/capability.hpp"
#include "overlay/overlay.hpp"
#include "overlay/snapshot_store.hpp"

namespace underway::run {

struct OverlayConfig {
  overlay::Kind kind = overlay::Kind::directory;
  std::string size;  ///< "1G", "512MiB"; empty: the overlay's default
  std::vector<std::string> paths;
};

struct NetworkConfig {
  std::string name;
  std::string bridge;     ///< on the host; empty: "br-<name>"
  std::string interface;  ///< in the capsule; empty: eth0, eth1, … in the order of the blocks
  std::vector<std::string> addresses;
  std::string gateway;
  std::map<std::string, std::string> routes;  ///< network to gateway
  std::int64_t vlan = 0;
  std::string mac;  ///< empty: follows from the first address
  std::int64_t mtu = 0;

  std::string bridge_name() const;
};

struct DnsConfig {
  std::vector<std::string> servers, search;
  std::map<std::string, std::string> hosts;  ///< name to address
  bool host_file = false;                    ///< also what the host's /etc/hosts holds at the start
};

struct BindConfig {
  std::string path;    ///< in the capsule
  std::string source;  ///< on the host; empty: the same path
  bool read_only = false;
};

/// What becomes of it when its host dies. Without the block: as it stands here.
struct ProtectConfig {
  /// Another node of the pool has a copy of the overlay, and takes over.
  bool standby = true;
  Duration every = std::chrono::milliseconds(500);  ///< for what is written in place; the rest at once
  Duration loss = std::chrono::seconds(5);          ///< that a copy is older is told
  Duration rpo = std::chrono::minutes(5);           ///< from an older one, before the loss, nothing is started
  /// A service goes on with what it has saved when that is on the standby.
  bool sync = false;
  /// It keeps nothing that could be missed, and starts elsewhere with nothing.
  bool keeps_nothing = false;
};

struct Config {
  std::string image;
  std::string name;
  std::string hostname;
  std::optional<OverlayConfig> overlay;
  std::vector<NetworkConfig> networks;
  std::optional<DnsConfig> dns;
  std::vector<BindConfig> binds;
  std::vector<image::Service> services;
  std::vector<image::Step> steps;
  std::optional<ProtectConfig> protect;
  std::optional<overlay::SnapshotSchedule> snapshot;
  std::optional<overlay::BackupSchedule> backup;
  std::vector<std::string> capabilities, cap_add;
  std::map<std::string, std::string> sysctl;
  std::int64_t attempts = 10;  ///< failures of a service in a row, after which the capsule fails; 0: no limit

  os::Capabilities bounding() const;
};

const describe::Structure& description(describe::Tag<OverlayConfig>);
const describe::Structure& description(describe::Tag<NetworkConfig>);
const describe::Structure& description(describe::Tag<DnsConfig>);
const describe::Structure& description(describe::Tag<BindConfig>);
const describe::Structure& description(describe::Tag<ProtectConfig>);
const describe::Structure& description(describe::Tag<Config>);

/// All that is wrong; values with variables that are not replaced yet ("${…}") are taken as they come. Pure.
std::vector<std::string> problems(const boost::json::value& config);
/// Throws Error(invalid) with all problems.
Config parse_config(const boost::json::value& config);

/// Of a config that was accepted; of another what can be read. Pure.
ProtectConfig protection_of(const boost::json::value& config);

/// The image's services and steps with those of the job file: a service of the same name is changed where the block
/// says something, others are added; steps of a moment replace the image's of that moment.
struct Program {
  std::vector<image::Service> services;
  std::vector<image::Step> steps;
};
/// `config` is what `parse_config` accepted. Throws Error(invalid): depends_on of nobody, no service at all.
Program program_of(const boost::json::value& config, const image::Manifest& manifest);

/// What a capsule may do unless it says otherwise: as other tasks, without mknod, with its network in its hands.
os::Capabilities default_capabilities();

/// The name that its data have on a node: `given`, else the job's id when it has no other capsule (`sole`), else
/// "<job>.<group>.<index>".
std::string capsule_name(const std::string& given, const std::string& job, const std::string& group,
                         const std::string& index, bool sole);

}  // namespace underway::run
