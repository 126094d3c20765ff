#pragma once
/// @file
/// A node: a machine that runs the agent in the node role, with what its fingerprints found.

#include "model/job/job.hpp"
#include "model/node/device.hpp"

namespace underway::model {

enum class NodeStatus { initializing, ready, down, disconnected };
enum class Eligibility { eligible, ineligible };

struct DriverInfo {
  bool detected = false;
  bool healthy = false;
  std::string health_description;
  StringMap attributes;
  std::int64_t updated_at = 0;  ///< since when it is as it is, ns since the epoch; the server's to say
};

struct NodeNetwork {
  std::string name = "default";  ///< as in `port { host_network = … }`
  std::string device;
  std::string ip;
  std::string cidr;
};

/// What the node has, or what is kept back from it (reserved).
struct NodeResources {
  std::int64_t cpu = 0;  ///< MHz
  std::int64_t cores = 0;
  std::vector<std::int64_t> reservable_cores;  ///< ids; in reserved: those kept back
  std::int64_t memory_mb = 0;                  ///< MiB
  std::int64_t disk_mb = 0;
  std::vector<std::int64_t> ports;  ///< only in reserved: ports never given out
  std::vector<NodeDeviceGroup> devices;
  Topology topology;                      ///< where the reservable cores lie
  std::int64_t min_dynamic_port = 20000;  ///< ports given out to those who ask for any: this one
  std::int64_t max_dynamic_port = 32000;  ///< to this one
};

/// A drain under way: the node's allocations are moved away, within the deadline.
struct DrainStrategy {
  Duration deadline = std::chrono::hours(1);  ///< 0: none; negative: force, all at once
  bool ignore_system_jobs = false;
  bool ask_slurm = false;           ///< its Slurm jobs are waited for first
  std::int64_t force_deadline = 0;  ///< ns since the epoch, by the server's clock; 0: none
  std::int64_t started_at = 0;      ///< ns since the epoch

  /// Whether what is left goes at once.
  bool forced(std::int64_t now) const {
    return deadline < Duration{0} || (force_deadline > 0 && now >= force_deadline);
  }
};

/// How far Slurm is with a node that a drain took from it: `asked` until it was told, `draining` while its Slurm jobs
/// run, `drained` from then until the node is handed back.
enum class SlurmDrainStatus { asked, draining, drained };

struct SlurmDrain {
  SlurmDrainStatus status = SlurmDrainStatus::asked;
  std::string description;      ///< for people: "waits for 2 Slurm jobs on c3"
  std::int64_t updated_at = 0;  ///< ns since the epoch
};

enum class DrainStatus { draining, complete, canceled };

/// The newest drain, also when it is over.
struct DrainMetadata {
  DrainStatus status = DrainStatus::draining;
  std::int64_t started_at = 0;  ///< ns since the epoch
  std::int64_t updated_at = 0;
  StringMap meta;
  std::string accessor_id;  ///< of the token that asked for it
};

/// One line of a node's history.
struct NodeEvent {
  std::string message;
  std::string subsystem;  ///< "Cluster", "Drain", "Driver"
  StringMap details;
  std::int64_t timestamp = 0;  ///< ns since the epoch
  Revision create_index = 0;
};

struct Node {
  std::string id;
  std::string name;
  std::string datacenter = "dc1";
  std::string node_class;
  std::string node_pool = "default";
  StringMap attributes;  ///< fingerprints, under Nomad's attribute names without "attr."
  StringMap meta;
  NodeResources resources;
  NodeResources reserved;
  std::vector<NodeNetwork> networks;
  std::map<std::string, DriverInfo> drivers;
  std::map<std::string, NodeVolume> volumes;  ///< host volumes, by name
  std::string http_addr;
  std::string host;  ///< the host it runs on, when a provider of ours made it
  std::string cluster;
  NodeStatus status = NodeStatus::initializing;
  std::string status_description;
  Eligibility eligibility = Eligibility::eligible;
  std::optional<DrainStrategy> drain;  ///< present: draining
  std::optional<DrainMetadata> last_drain;
  std::optional<SlurmDrain> slurm_drain;  ///< present: Slurm was asked to keep off, and does not have it back yet
  std::int64_t status_updated_at = 0;     ///< seconds since the epoch
  std::int64_t last_start = 0;            ///< when its agent started, ns since the epoch
  std::vector<NodeEvent> events;          ///< the newest, oldest first; the server's to say
  std::string computed_class;             ///< hash of what placement may depend on, without `unique.` keys
  Revision create_index = 0;
  Revision modify_index = 0;

  bool ready() const { return status == NodeStatus::ready && eligibility == Eligibility::eligible; }
  /// Not heard of, whatever that means for what it runs.
  bool silent() const { return status == NodeStatus::down || status == NodeStatus::disconnected; }
};

/// Computes Node::computed_class: nodes with the same value are interchangeable for every constraint that names no
/// `unique.` attribute. Source: Nomad's computed node class (datacenter, pool, class, attributes, meta, drivers).
std::string compute_class(const Node& node);

/// Resolves a constraint target: "${attr.x}", "${meta.x}", "${node.class}", "${node.unique.id}", … Only a whole ${…} is
/// resolved; other text is itself. Nothing when the node lacks the property.
std::optional<std::string> resolve_target(const std::string& target, const Node& node);

const describe::Enumeration& description(describe::Tag<NodeStatus>);
const describe::Enumeration& description(describe::Tag<Eligibility>);
const describe::Enumeration& description(describe::Tag<DrainStatus>);
const describe::Structure& description(describe::Tag<DrainStrategy>);
const describe::Structure& description(describe::Tag<DrainMetadata>);
const describe::Enumeration& description(describe::Tag<SlurmDrainStatus>);
const describe::Structure& description(describe::Tag<SlurmDrain>);
const describe::Structure& description(describe::Tag<DriverInfo>);
const describe::Structure& description(describe::Tag<NodeEvent>);
const describe::Structure& description(describe::Tag<NodeNetwork>);
const describe::Structure& description(describe::Tag<NodeResources>);
const describe::Structure& description(describe::Tag<Node>);

}  // namespace underway::model
