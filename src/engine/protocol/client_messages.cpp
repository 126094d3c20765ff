#include "protocol/client_messages.hpp"

namespace underway::protocol {

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
                                 .wire<&HostMemory::total>("Total", "Memory of the machine.")
                                 .wire<&HostMemory::available>("Available", "What programs can have.")
                                 .wire<&HostMemory::used>("Used", "All but what is available.")
                                 .wire<&HostMemory::free>("Free", "What nothing is in, not even a cache.")
                                 .done();
  return s;
}

const Structure& description(Tag<HostCpu>) {
  static const Structure s =
      Builder<HostCpu>("host cpu", "Percent of the time.")
          .wire<&HostCpu::cpu>("CPU", "The processor: `cpu0`.")
          .wire<&HostCpu::user>("User", "In programs, since it was last asked, or since the machine's start.")
          .wire<&HostCpu::system>("System", "In the kernel, with interrupts.")
          .wire<&HostCpu::idle>("Idle", "With nothing to do, or waiting for a disk.")
          .wire<&HostCpu::total_percent>("TotalPercent", "User and System together.")
          .done();
  return s;
}

const Structure& description(Tag<HostDisk>) {
  static const Structure s =
      Builder<HostDisk>("host disk", "A file system.")
          .wire<&HostDisk::device>("Device", "The device; empty: of the agent's data directory.")
          .wire<&HostDisk::mountpoint>("Mountpoint", "Where it is mounted.")
          .wire<&HostDisk::size>("Size", "Bytes.")
          .wire<&HostDisk::used>("Used", "Bytes.")
          .wire<&HostDisk::available>("Available", "Bytes.")
          .wire<&HostDisk::used_percent>("UsedPercent", "Of what users can have, the part that is taken.")
          .wire<&HostDisk::inodes_used_percent>("InodesUsedPercent", "Of its inodes, the part that is taken.")
          .done();
  return s;
}

const Structure& description(Tag<HostStats>) {
  static const Structure s =
      Builder<HostStats>("host statistics", "What a machine does.")
          .wire<&HostStats::memory>("Memory", "Memory of the machine.")
          .wire<&HostStats::cpu>("CPU", "Its processors, one by one.")
          .wire<&HostStats::disks>("DiskStats", "File systems on disks of the machine.")
          .wire<&HostStats::alloc_dir>("AllocDirStats", "The file system of the agent's data directory.")
          .wire<&HostStats::uptime>("Uptime", "Seconds.")
          .wire<&HostStats::cpu_ticks>("CPUTicksConsumed", "MHz.")
          .wire<&HostStats::timestamp>("Timestamp", "Unix time in nanoseconds at which it was measured.")
          .done();
  return s;
}

const Structure& description(Tag<ResourceSum>) {
  static const Structure s = Builder<ResourceSum>("resource sum", "What tasks were given, or could be.")
                                 .wire<&ResourceSum::cpu>("CPU", "MHz.")
                                 .wire<&ResourceSum::memory_mb>("MemoryMB", "MiB.")
                                 .wire<&ResourceSum::disk_mb>("DiskMB", "MiB.")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocationCounts>) {
  static const Structure s =
      Builder<AllocationCounts>("allocation counts", "How many allocations are how far.")
          .wire<&AllocationCounts::running>("Running", "Those that run.")
          .wire<&AllocationCounts::pending>("Pending", "Those that do not run yet, and wait for no disk.")
          .wire<&AllocationCounts::terminal>("Terminal", "Those that are over and still on the node's disk.")
          .wire<&AllocationCounts::blocked>("Blocked", "Those that wait for a predecessor on this node to end.")
          .wire<&AllocationCounts::migrating>("Migrating",
                                              "Those that fetch the disk of a predecessor on another node.")
          .done();
  return s;
}

const Structure& description(Tag<TaskMetrics>) {
  static const Structure s =
      Builder<TaskMetrics>("task metrics", "What a task uses, and how it fared.")
          .wire<&TaskMetrics::ns>("Namespace", "Namespace of the job.")
          .wire<&TaskMetrics::job>("JobID", "ID of the job.")
          .wire<&TaskMetrics::group>("TaskGroup", "The job's group.")
          .wire<&TaskMetrics::alloc>("AllocID", "ID of the allocation.")
          .wire<&TaskMetrics::task>("Task", "Name of the task.")
          .wire<&TaskMetrics::running>("Running", "Whether it runs.")
          .wire<&TaskMetrics::cpu_percent>("CPUPercent", "Of one core, since it was last asked.")
          .wire<&TaskMetrics::cpu_system>("CPUSystem", "Of that, in the kernel.")
          .wire<&TaskMetrics::cpu_user>("CPUUser", "Of that, in the program.")
          .wire<&TaskMetrics::cpu_ticks>("CPUTicks", "The same in MHz.")
          .wire<&TaskMetrics::throttled_time>("ThrottledTime",
                                              "Nanoseconds in which it was kept waiting by its limit, in this run.")
          .wire<&TaskMetrics::throttled_periods>("ThrottledPeriods",
                                                 "How often it was kept waiting by its limit, in this run.")
          .wire<&TaskMetrics::cpu_allocated>("CPUAllocated", "MHz that it was given.")
          .wire<&TaskMetrics::memory_usage>("MemoryUsage", "Bytes that it has taken, caches of files with them.")
          .wire<&TaskMetrics::memory_max_usage>("MemoryMaxUsage", "The most of that, in this run.")
          .wire<&TaskMetrics::memory_rss>("MemoryRSS", "Bytes that are no file's.")
          .wire<&TaskMetrics::memory_cache>("MemoryCache", "Bytes that are files'.")
          .wire<&TaskMetrics::memory_swap>("MemorySwap", "Bytes that were moved out to disk.")
          .wire<&TaskMetrics::memory_kernel_usage>("MemoryKernelUsage", "Bytes that the kernel keeps for it.")
          .wire<&TaskMetrics::memory_allocated>("MemoryAllocated", "Bytes that it was given; 0: no such limit.")
          .wire<&TaskMetrics::memory_max_allocated>(
              "MemoryMaxAllocated", "Bytes that it may take at most, by `memory_max`; 0: no such limit.")
          .wire<&TaskMetrics::starts>("Starts", "How often it was started since the agent was.")
          .wire<&TaskMetrics::restarts>("Restarts", "How often it was ever restarted.")
          .wire<&TaskMetrics::oom_kills>("OOMKills",
                                         "How often it ended for lack of memory since the agent was started.")
          .wire<&TaskMetrics::complete>("Complete", "Whether it has ended as it should.")
          .wire<&TaskMetrics::failed>("Failed", "Whether it has ended, and failed.")
          .done();
  return s;
}

const Structure& description(Tag<LoopMetrics>) {
  static const Structure s =
      Builder<LoopMetrics>("loop metrics", "How a control loop of an agent goes.")
          .wire<&LoopMetrics::name>("Name", "What it is called.")
          .wire<&LoopMetrics::since_success>("SinceSuccess",
                                             "Seconds since it last succeeded, or since it started if it never did.")
          .wire<&LoopMetrics::looking>("Looking", "How many seconds its present look takes already; 0: it waits.")
          .wire<&LoopMetrics::failures>("Failures", "How often it has failed in a row.")
          .done();
  return s;
}

const Structure& description(Tag<ClientMetrics>) {
  static const Structure s =
      Builder<ClientMetrics>("client metrics", "What a node measures of itself.")
          .wire<&ClientMetrics::host>("Host", "What the machine does.")
          .wire<&ClientMetrics::allocated>("Allocated", "What allocations were given.")
          .wire<&ClientMetrics::unallocated>("Unallocated", "What is left to give.")
          .wire<&ClientMetrics::allocations>("Allocations", "How many allocations are how far.")
          .wire<&ClientMetrics::tasks>("Tasks", "Each task of an allocation that is here, also when it has ended.")
          .wire<&ClientMetrics::loops>("Loops", "What goes on in its agent without being asked.")
          .done();
  return s;
}

}  // namespace underway::protocol
