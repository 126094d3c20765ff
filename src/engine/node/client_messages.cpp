#include "node/client_messages.hpp"

namespace underway::node {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<MetadataRequest>) {
  static const Structure s = Builder<MetadataRequest>("metadata request", "Metadata that a node shall have.")
                                 .wire<&MetadataRequest::meta>("Meta", "Null takes a key away.")
                                 .done();
  return s;
}

const Structure& description(Tag<NodeMetadata>) {
  static const Structure s = Builder<NodeMetadata>("node metadata", "The metadata of a node.")
                                 .wire<&NodeMetadata::meta>("Meta", "What counts.")
                                 .wire<&NodeMetadata::dynamic>("Dynamic", "What was set while the agent ran.")
                                 .wire<&NodeMetadata::fixed>("Static", "Of the agent's configuration.")
                                 .done();
  return s;
}

const Structure& description(Tag<MonitorRequest>) {
  static const Structure s = Builder<MonitorRequest>("monitor request", "Which lines of an agent's log.")
                                 .wire<&MonitorRequest::level>("Level", "The lowest.")
                                 .wire<&MonitorRequest::json>("JSON", "One object a line.")
                                 .done();
  return s;
}

const Structure& description(Tag<HostMemory>) {
  static const Structure s = Builder<HostMemory>("host memory", "Bytes.")
                                 .wire<&HostMemory::total>("Total", "")
                                 .wire<&HostMemory::available>("Available", "")
                                 .wire<&HostMemory::used>("Used", "")
                                 .wire<&HostMemory::free>("Free", "")
                                 .done();
  return s;
}

const Structure& description(Tag<HostCpu>) {
  static const Structure s = Builder<HostCpu>("host cpu", "Percent of the time.")
                                 .wire<&HostCpu::cpu>("CPU", "")
                                 .wire<&HostCpu::user>("User", "")
                                 .wire<&HostCpu::system>("System", "")
                                 .wire<&HostCpu::idle>("Idle", "")
                                 .wire<&HostCpu::total_percent>("TotalPercent", "")
                                 .done();
  return s;
}

const Structure& description(Tag<HostDisk>) {
  static const Structure s = Builder<HostDisk>("host disk", "A file system.")
                                 .wire<&HostDisk::device>("Device", "")
                                 .wire<&HostDisk::mountpoint>("Mountpoint", "")
                                 .wire<&HostDisk::size>("Size", "Bytes.")
                                 .wire<&HostDisk::used>("Used", "Bytes.")
                                 .wire<&HostDisk::available>("Available", "Bytes.")
                                 .wire<&HostDisk::used_percent>("UsedPercent", "")
                                 .wire<&HostDisk::inodes_used_percent>("InodesUsedPercent", "")
                                 .done();
  return s;
}

const Structure& description(Tag<HostStats>) {
  static const Structure s = Builder<HostStats>("host statistics", "What a machine does.")
                                 .wire<&HostStats::memory>("Memory", "")
                                 .wire<&HostStats::cpu>("CPU", "")
                                 .wire<&HostStats::disks>("DiskStats", "")
                                 .wire<&HostStats::alloc_dir>("AllocDirStats", "")
                                 .wire<&HostStats::uptime>("Uptime", "Seconds.")
                                 .wire<&HostStats::cpu_ticks>("CPUTicksConsumed", "MHz.")
                                 .wire<&HostStats::timestamp>("Timestamp", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ResourceSum>) {
  static const Structure s = Builder<ResourceSum>("resource sum", "What tasks were given, or could be.")
                                 .wire<&ResourceSum::cpu>("CPU", "")
                                 .wire<&ResourceSum::memory_mb>("MemoryMB", "")
                                 .wire<&ResourceSum::disk_mb>("DiskMB", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocationCounts>) {
  static const Structure s = Builder<AllocationCounts>("allocation counts", "How many allocations are how far.")
                                 .wire<&AllocationCounts::running>("Running", "")
                                 .wire<&AllocationCounts::pending>("Pending", "")
                                 .wire<&AllocationCounts::terminal>("Terminal", "")
                                 .wire<&AllocationCounts::blocked>("Blocked", "")
                                 .wire<&AllocationCounts::migrating>("Migrating", "")
                                 .done();
  return s;
}

const Structure& description(Tag<TaskMetrics>) {
  static const Structure s = Builder<TaskMetrics>("task metrics", "What a task uses, and how it fared.")
                                 .wire<&TaskMetrics::ns>("Namespace", "")
                                 .wire<&TaskMetrics::job>("JobID", "")
                                 .wire<&TaskMetrics::group>("TaskGroup", "")
                                 .wire<&TaskMetrics::alloc>("AllocID", "")
                                 .wire<&TaskMetrics::task>("Task", "")
                                 .wire<&TaskMetrics::running>("Running", "")
                                 .wire<&TaskMetrics::cpu_percent>("CPUPercent", "")
                                 .wire<&TaskMetrics::cpu_system>("CPUSystem", "")
                                 .wire<&TaskMetrics::cpu_user>("CPUUser", "")
                                 .wire<&TaskMetrics::cpu_ticks>("CPUTicks", "")
                                 .wire<&TaskMetrics::throttled_time>("ThrottledTime", "")
                                 .wire<&TaskMetrics::throttled_periods>("ThrottledPeriods", "")
                                 .wire<&TaskMetrics::cpu_allocated>("CPUAllocated", "")
                                 .wire<&TaskMetrics::memory_usage>("MemoryUsage", "")
                                 .wire<&TaskMetrics::memory_max_usage>("MemoryMaxUsage", "")
                                 .wire<&TaskMetrics::memory_rss>("MemoryRSS", "")
                                 .wire<&TaskMetrics::memory_cache>("MemoryCache", "")
                                 .wire<&TaskMetrics::memory_swap>("MemorySwap", "")
                                 .wire<&TaskMetrics::memory_kernel_usage>("MemoryKernelUsage", "")
                                 .wire<&TaskMetrics::memory_allocated>("MemoryAllocated", "")
                                 .wire<&TaskMetrics::memory_max_allocated>("MemoryMaxAllocated", "")
                                 .wire<&TaskMetrics::starts>("Starts", "")
                                 .wire<&TaskMetrics::restarts>("Restarts", "")
                                 .wire<&TaskMetrics::oom_kills>("OOMKills", "")
                                 .wire<&TaskMetrics::complete>("Complete", "")
                                 .wire<&TaskMetrics::failed>("Failed", "")
                                 .done();
  return s;
}

const Structure& description(Tag<ClientMetrics>) {
  static const Structure s = Builder<ClientMetrics>("client metrics", "What a node measures of itself.")
                                 .wire<&ClientMetrics::host>("Host", "")
                                 .wire<&ClientMetrics::allocated>("Allocated", "")
                                 .wire<&ClientMetrics::unallocated>("Unallocated", "")
                                 .wire<&ClientMetrics::allocations>("Allocations", "")
                                 .wire<&ClientMetrics::tasks>("Tasks", "")
                                 .done();
  return s;
}

}  // namespace underway::node
