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

}  // namespace underway::node
