#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "host/detail/groups.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::host {
namespace {

constexpr std::string_view kBase = "/sys/fs/cgroup";

/// Files of cgroupfs are written in place and in one go.
void write_group_file(const std::string& path, const std::string& text) {
  const os::Fd file = os::open_file(path, O_WRONLY);
  os::write_all(file, text, fmt::format("'{}' to '{}'", text, path));
}

std::string read_group_file(const std::string& path) { return std::string(trim(os::find_file(path).value_or(""))); }

void make_group(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    throw errno_error(errno, fmt::format("cannot make cgroup '{}'", path));
  }
}

/// An empty cpuset takes no process (ENOSPC): a new one starts with what its parent has.
void inherit_cpuset(const std::string& parent, const std::string& child) {
  for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
    if (read_group_file(child + file).empty()) write_group_file(child + file, read_group_file(parent + file));
  }
}

void kill_inside(const std::string& directory) {
  for (const auto& line : split(os::find_file(directory + "/cgroup.procs").value_or(""), '\n')) {
    if (const auto pid = parse_number<pid_t>(line)) ::kill(*pid, SIGKILL);
  }
}

/// Children first. False while something is still inside.
bool remove_groups(const std::string& directory) {
  if (!os::exists(directory)) return true;
  bool gone = true;
  for (const auto& entry : os::list_directory(directory)) {
    if (entry.type == DT_DIR) gone = remove_groups(directory + "/" + entry.name) && gone;
  }
  kill_inside(directory);
  return gone && (::rmdir(directory.c_str()) == 0 || errno == ENOENT);
}

}  // namespace

std::vector<Hierarchy> find_hierarchies(std::string_view mountinfo) {
  std::vector<Hierarchy> found;
  for (const auto& mount : os::parse_mountinfo(mountinfo)) {
    if (mount.type != "cgroup" && mount.type != "cgroup2") continue;
    if (mount.target != kBase && !mount.target.starts_with(std::string(kBase) + "/")) continue;
    const auto name = mount.target == kBase ? "" : mount.target.substr(kBase.size() + 1);
    const Hierarchy hierarchy{mount.target, name, mount.type == "cgroup2"};
    if (std::find(found.begin(), found.end(), hierarchy) == found.end()) found.push_back(hierarchy);
  }
  return found;
}

std::vector<Hierarchy> find_hierarchies() { return find_hierarchies(os::read_file("/proc/self/mountinfo")); }

HostGroups::HostGroups(std::vector<Hierarchy> hierarchies, std::string path)
    : hierarchies_(std::move(hierarchies)), path_(std::move(path)) {}

bool HostGroups::pure_v2() const { return hierarchies_.size() == 1 && hierarchies_[0].v2; }

void HostGroups::create() const {
  // Another cluster's removal may take an empty parent away between two of our steps.
  for (int attempt = 1;; ++attempt) {
    try {
      create_once();
      return;
    } catch (const Error& e) {
      if (e.code() != Code::not_found || attempt == 3) throw;
    }
  }
}

void HostGroups::create_once() const {
  for (const auto& hierarchy : hierarchies_) {
    std::string parent = hierarchy.mount;
    for (const auto& part : split(path_, '/')) {
      // A v2 group hands down only the controllers that are switched on above it; those that cannot be are not there.
      if (pure_v2()) {
        for (const auto& controller : split(read_group_file(parent + "/cgroup.controllers"), ' ')) {
          try {
            if (!controller.empty()) write_group_file(parent + "/cgroup.subtree_control", "+" + controller);
          } catch (
              const Error&) {  // the machine's own processes sit in its root's group: domain controllers stay there
          }
        }
      }
      const auto child = parent + "/" + part;
      make_group(child);
      if (os::exists(child + "/cpuset.cpus") && !hierarchy.v2) inherit_cpuset(parent, child);
      parent = child;
    }
    if (pure_v2()) make_group(parent + "/init");
  }
}

void HostGroups::limit(std::optional<std::int64_t> cpus, std::optional<std::int64_t> memory_mb) const {
  constexpr std::int64_t kPeriodUs = 100'000;
  const auto set = [](const std::string& path, const std::string& text) {
    if (os::exists(path)) write_group_file(path, text);
  };
  for (const auto& hierarchy : hierarchies_) {
    const auto group = directory(hierarchy);
    if (cpus) {
      set(group + "/cpu.cfs_quota_us", std::to_string(*cpus * kPeriodUs));
      set(group + "/cpu.max", fmt::format("{} {}", *cpus * kPeriodUs, kPeriodUs));
    }
    if (memory_mb) {
      set(group + "/memory.limit_in_bytes", std::to_string(*memory_mb << 20));
      set(group + "/memory.max", std::to_string(*memory_mb << 20));
    }
  }
}

std::vector<std::string> HostGroups::join_files() const {
  std::vector<std::string> files;
  for (const auto& hierarchy : hierarchies_) files.push_back(directory(hierarchy) + "/cgroup.procs");
  return files;
}

std::string HostGroups::leaf_file() const {
  return pure_v2() ? directory(hierarchies_[0]) + "/init/cgroup.procs" : std::string();
}

std::vector<std::string> HostGroups::late_join_files() const {
  return pure_v2() ? std::vector<std::string>{leaf_file()} : join_files();
}

void HostGroups::remove(Duration within) const {
  const auto deadline = std::chrono::steady_clock::now() + within;
  for (const auto& hierarchy : hierarchies_) {
    const auto group = directory(hierarchy);
    while (!remove_groups(group)) {
      if (std::chrono::steady_clock::now() > deadline) {
        throw Error(Code::timeout, fmt::format("cannot remove cgroup '{}'", group))
            .because(fmt::format("processes stay inside: {}", read_group_file(group + "/cgroup.procs")));
      }
      // The kernel leaves a group a little after the last process has died in it; nothing tells when.
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

void HostGroups::remove_if_empty() const {
  for (const auto& hierarchy : hierarchies_) ::rmdir(directory(hierarchy).c_str());
}

}  // namespace underway::host
