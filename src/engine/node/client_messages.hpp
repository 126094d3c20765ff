#pragma once
/// @file
/// What a server asks of a node itself, not of its allocations (see messages.hpp):
///   call   "node.stats"           {} -> HostStats
///   call   "node.metadata"        {} -> NodeMetadata
///   call   "node.metadata.apply"  MetadataRequest -> NodeMetadata   durable on the node when it is answered
///   call   "node.gc"              {} -> {}                          removes the directories of all that has ended
///   call   "node.host"            {} -> Nomad's HostDataResponse
///   stream "node.monitor"         MonitorRequest    lines of the agent's log as they are written, until it is broken
///   off

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/describe.hpp"
#include "model/job.hpp"

namespace underway::node {

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

const describe::Structure& description(describe::Tag<MetadataRequest>);
const describe::Structure& description(describe::Tag<NodeMetadata>);
const describe::Structure& description(describe::Tag<MonitorRequest>);
const describe::Structure& description(describe::Tag<HostMemory>);
const describe::Structure& description(describe::Tag<HostCpu>);
const describe::Structure& description(describe::Tag<HostDisk>);
const describe::Structure& description(describe::Tag<HostStats>);

}  // namespace underway::node
