#include "node/fingerprint/host_stats.hpp"

#include <sys/statvfs.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/json/json.hpp"
#include "os/file.hpp"

namespace underway::node {
namespace {

/// Those on a disk of this machine: one whose servers do not answer would hold us up.
bool is_storage(std::string_view type) {
  static const std::set<std::string_view> kStorage = {"ext2", "ext3", "ext4", "xfs",     "btrfs",
                                                      "zfs",  "vfat", "f2fs", "bcachefs"};
  return kStorage.contains(type);
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// Nothing when it cannot be asked: a server of files that is gone, a mount that is somebody else's.
std::optional<protocol::HostDisk> disk_at(const std::string& device, const std::string& mountpoint) {
  struct statvfs fs{};
  if (::statvfs(mountpoint.c_str(), &fs) != 0 || fs.f_blocks == 0) return std::nullopt;
  protocol::HostDisk disk;
  disk.device = device;
  disk.mountpoint = mountpoint;
  disk.size = static_cast<std::int64_t>(fs.f_blocks * fs.f_frsize);
  disk.available = static_cast<std::int64_t>(fs.f_bavail * fs.f_frsize);
  const std::uint64_t used = fs.f_blocks - fs.f_bfree;
  disk.used = static_cast<std::int64_t>(used * fs.f_frsize);
  disk.used_percent = percent(used, used + fs.f_bavail);
  disk.inodes_used_percent = percent(fs.f_files - fs.f_ffree, fs.f_files);
  return disk;
}

protocol::HostMemory memory_of(const Machine& machine) {
  std::ifstream file(machine.path("/proc/meminfo"));
  std::map<std::string, std::int64_t> bytes;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kib = 0;
    if (words >> name >> kib) bytes[name] = kib * 1024;
  }
  protocol::HostMemory out;
  out.total = bytes["MemTotal:"];
  out.available = bytes["MemAvailable:"];
  out.free = bytes["MemFree:"];
  out.used = out.total - out.available;
  return out;
}

std::vector<protocol::HostDisk> disks_of(const Machine& machine) {
  std::vector<protocol::HostDisk> out;
  std::set<std::string> seen;
  std::ifstream file(machine.path("/proc/self/mounts"));
  std::string device, mountpoint, type, rest;
  while (file >> device >> mountpoint >> type && std::getline(file, rest)) {
    // A device that is mounted twice is one file system.
    if (!is_storage(type) || !seen.insert(device).second) continue;
    if (auto disk = disk_at(device, mountpoint)) out.push_back(std::move(*disk));
  }
  return out;
}

}  // namespace

protocol::HostStats HostSampler::sample(const Machine& machine, const std::string& data_dir, std::int64_t core_mhz,
                                        TimePoint now) {
  const std::lock_guard lock(mutex_);
  protocol::HostStats out;
  out.timestamp = unix_nanos(now);
  out.memory = memory_of(machine);
  out.disks = disks_of(machine);
  if (auto disk = disk_at("", data_dir)) out.alloc_dir = std::move(*disk);
  std::ifstream uptime(machine.path("/proc/uptime"));
  double seconds = 0;
  uptime >> seconds;
  out.uptime = static_cast<std::int64_t>(seconds);

  std::ifstream stat(machine.path("/proc/stat"));
  std::string line;
  while (std::getline(stat, line)) {
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] == ' ') continue;  // "cpu " is all of them
    std::istringstream words(line);
    protocol::HostCpu cpu;
    std::uint64_t user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
    words >> cpu.cpu >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal;
    const Ticks ticks{user + nice, system + irq + soft + steal, idle + wait};
    const auto before = std::exchange(last_[cpu.cpu], ticks);
    // The kernel's counters of idle time may step back (proc(5)).
    const auto since = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
    const auto u = since(ticks.user, before.user), s = since(ticks.system, before.system),
               i = since(ticks.idle, before.idle);
    cpu.user = percent(u, u + s + i);
    cpu.system = percent(s, u + s + i);
    cpu.idle = percent(i, u + s + i);
    cpu.total_percent = cpu.user + cpu.system;
    out.cpu_ticks += cpu.total_percent / 100.0 * static_cast<double>(core_mhz);
    out.cpu.push_back(std::move(cpu));
  }
  return out;
}

boost::json::object host_data(const Machine& machine, const std::string& data_dir) {
  const auto text = [&](const char* path) { return os::find_file(machine.path(path)).value_or(""); };
  boost::json::object disks;
  for (const auto& disk : disks_of(machine)) disks[disk.mountpoint] = json::to_value(disk);
  if (const auto disk = disk_at("", data_dir)) disks[data_dir] = json::to_value(*disk);
  return {{"OS", text("/etc/os-release")},
          {"Kernel", text("/proc/sys/kernel/osrelease")},
          {"ResolvConf", text("/etc/resolv.conf")},
          {"Hosts", text("/etc/hosts")},
          // Secrets are handed to programs in it.
          {"Environment", boost::json::object{}},
          {"Disk", std::move(disks)}};
}

}  // namespace underway::node
