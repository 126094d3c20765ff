#pragma once
/// @file
/// What a server asks of a node itself, not of its allocations (see messages.hpp):
///   call   "node.stats"           {} -> HostStats
///   call   "node.metrics"         {} -> ClientMetrics
///   call   "node.metadata"        {} -> NodeMetadata
///   call   "node.metadata.apply"  MetadataRequest -> NodeMetadata   durable on the node when it is answered
///   call   "node.gc"              {} -> {}                          removes the directories of all that has ended
///   call   "node.host"            {} -> Nomad's HostDataResponse
///   stream "node.monitor"         MonitorRequest   lines of the agent's log as they are written; ends when broken off

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json/describe.hpp"
#include "model/job/job.hpp"

namespace underway::protocol {

struct MetadataRequest {
  /// Null takes a key away, also one that the agent's configuration has.
  std::map<std::string, std::optional<std::string>> meta;
};

/// Nomad's NodeMetaResponse.
struct NodeMetadata {
  model::StringMap meta;                                      ///< what counts
  std::map<std::string, std::optional<std::string>> dynamic;  ///< set while the agent runs, and kept by it
  model::StringMap fixed;                                     ///< of the agent's configuration
};

struct MonitorRequest {
  std::string level = "info";
  bool json = false;
};

/// Nomad's HostStats and its parts.
struct HostMemory {
  std::int64_t total = 0, available = 0, used = 0, free = 0;  ///< bytes
};
struct HostCpu {
  std::string cpu;  ///< "cpu0"
  double user = 0, system = 0, idle = 0, total_percent = 0;
};
struct HostDisk {
  std::string device, mountpoint;
  std::int64_t size = 0, used = 0, available = 0;  ///< bytes
  double used_percent = 0, inodes_used_percent = 0;
};
struct HostStats {
  HostMemory memory;
  std::vector<HostCpu> cpu;  ///< percent of the time since it was asked last, or since the machine was started
  std::vector<HostDisk> disks;
  HostDisk alloc_dir;
  std::int64_t uptime = 0;  ///< s
  double cpu_ticks = 0;     ///< MHz that are used
  std::int64_t timestamp = 0;
};

/// What tasks were given, or could be.
struct ResourceSum {
  std::int64_t cpu = 0, memory_mb = 0, disk_mb = 0;  ///< MHz, MiB
};

/// How many allocations of a node are how far.
struct AllocationCounts {
  std::int64_t running = 0, pending = 0, terminal = 0;
  std::int64_t blocked = 0;    ///< wait for a predecessor on this node to end: not among the pending
  std::int64_t migrating = 0;  ///< fetch the disk of one on another node: not among the pending
};

/// A task of an allocation that is here, also when it has ended. What is used is that of this run alone.
struct TaskMetrics {
  std::string ns, job, group, alloc, task;
  bool running = false;
  double cpu_percent = 0, cpu_system = 0, cpu_user = 0, cpu_ticks = 0;  ///< of one core; MHz
  std::int64_t throttled_time = 0, throttled_periods = 0;               ///< ns
  std::int64_t cpu_allocated = 0;                                       ///< MHz
  std::int64_t memory_usage = 0, memory_max_usage = 0, memory_rss = 0, memory_cache = 0, memory_swap = 0,
               memory_kernel_usage = 0;                         ///< bytes
  std::int64_t memory_allocated = 0, memory_max_allocated = 0;  ///< bytes; 0: no such limit
  std::int64_t starts = 0, restarts = 0, oom_kills = 0;         ///< since the agent was started; restarts: ever
  bool complete = false, failed = false;                        ///< it has ended so
};

/// How a control loop of an agent goes (async/control_loop.hpp).
struct LoopMetrics {
  std::string name;
  double since_success = 0;   ///< s; since it started when it never succeeded
  double looking = 0;         ///< s; how long the look that is under way takes already
  std::int64_t failures = 0;  ///< in a row
};

/// What a node measures of itself, for /v1/metrics.
struct ClientMetrics {
  HostStats host;
  ResourceSum allocated, unallocated;
  AllocationCounts allocations;
  std::vector<TaskMetrics> tasks;
  std::vector<LoopMetrics> loops;
};

const describe::Structure& description(describe::Tag<ResourceSum>);
const describe::Structure& description(describe::Tag<AllocationCounts>);
const describe::Structure& description(describe::Tag<TaskMetrics>);
const describe::Structure& description(describe::Tag<LoopMetrics>);
const describe::Structure& description(describe::Tag<ClientMetrics>);
const describe::Structure& description(describe::Tag<MetadataRequest>);
const describe::Structure& description(describe::Tag<NodeMetadata>);
const describe::Structure& description(describe::Tag<MonitorRequest>);
const describe::Structure& description(describe::Tag<HostMemory>);
const describe::Structure& description(describe::Tag<HostCpu>);
const describe::Structure& description(describe::Tag<HostDisk>);
const describe::Structure& description(describe::Tag<HostStats>);

}  // namespace underway::protocol
