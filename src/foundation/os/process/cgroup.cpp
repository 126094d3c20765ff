#include "os/process/cgroup.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::os {
namespace {

/// The v1 hierarchies in which a group is made; cpuset only when a set is asked for, since an empty one admits nobody.
constexpr std::string_view kUsedV1[] = {"pids", "memory", "cpu", "cpuacct", "freezer"};

std::uint64_t to_number(std::string_view text) { return leading_number_or<std::uint64_t>(trim(text), 0); }

/// One value out of "name value" lines, 0 when absent.
std::uint64_t keyed(const std::optional<std::string>& text, std::string_view key) {
  if (!text) return 0;
  for (const auto& line : split(*text, '\n')) {
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      return to_number(std::string_view(line).substr(key.size() + 1));
    }
  }
  return 0;
}

void put(const std::string& path, std::string_view value) {
  const Fd fd = open_file(path, O_WRONLY);
  if (::write(fd.get(), value.data(), value.size()) < 0) {
    throw errno_error(errno, fmt::format("cannot write '{}' into '{}'", value, path));
  }
}

/// For files that not every kernel or configuration has (swap accounting, say).
bool try_put(const std::string& path, std::string_view value) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), value.data(), value.size()) >= 0;
}

/// Those that a v2 group really has: its parents may have been unable to pass one on.
std::vector<std::string> controllers_in(const std::string& directory) {
  auto names = split(trim(find_file(directory + "/cgroup.controllers").value_or("")), ' ');
  std::erase(names, "");
  return names;
}

/// Lets `directory`'s children use every controller that it has itself.
void enable_controllers(const std::string& directory) {
  for (const auto& controller : controllers_in(directory)) {
    try_put(directory + "/cgroup.subtree_control", "+" + controller);
  }
}

void collect_processes(const std::string& directory, std::vector<pid_t>& pids) {
  const auto procs = find_file(directory + "/cgroup.procs");
  if (!procs) return;
  for (const auto& line : split(*procs, '\n')) {
    if (const auto pid = to_number(line); pid != 0) pids.push_back(static_cast<pid_t>(pid));
  }
  for (const auto& entry : list_directory(directory)) {
    if (entry.type == DT_DIR) collect_processes(directory + "/" + entry.name, pids);
  }
}

/// Removes the group and those below; false while the kernel still holds one.
bool try_remove(const std::string& directory) {
  if (!exists(directory)) return true;
  bool gone = true;
  for (const auto& entry : list_directory(directory)) {
    if (entry.type == DT_DIR) gone &= try_remove(directory + "/" + entry.name);
  }
  if (::rmdir(directory.c_str()) == 0 || errno == ENOENT) return gone;
  if (errno == EBUSY) return false;
  throw errno_error(errno, fmt::format("cannot remove the cgroup '{}'", directory));
}

/// Calls `done` until it is true; false when `within` passed. The kernel offers no event for most of these.
bool wait_until(Duration within, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  auto pause = std::chrono::milliseconds{1};
  while (!done()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds{20});
  }
  return true;
}

/// Parents may be pruned by others while we make our way down: then once more.
void make_level(const std::string& directory) {
  for (int attempt = 0;; ++attempt) {
    try {
      return make_directories(directory, 0755);
    } catch (const Error& e) {
      if (e.code() != Code::not_found || attempt == 20) throw;
    }
  }
}

void check_path(const std::string& path) {
  for (const auto& part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") {
      throw Error(Code::invalid, fmt::format("'{}' is no cgroup path", path)).because("it must be plain and relative");
    }
  }
}

}  // namespace

CgroupSystem CgroupSystem::probe(const std::string& root) {
  CgroupSystem system;
  for (const auto& mount : parse_mountinfo(find_file(root + "/proc/self/mountinfo").value_or(""))) {
    if (mount.type == "cgroup2" && system.v2_mount_.empty()) {
      system.v2_mount_ = root + mount.target;
      const auto controllers = find_file(system.v2_mount_ + "/cgroup.controllers").value_or("");
      for (const auto& name : split(trim(controllers), ' ')) {
        if (!name.empty()) system.v2_controllers_.push_back(name);
      }
    } else if (mount.type == "cgroup") {
      for (const auto& option : split(mount.super_options, ',')) {
        if (option != "rw" && option != "ro" && option.find('=') == std::string::npos) {
          system.v1_mounts_.emplace(option, root + mount.target);
        }
      }
    }
  }
  return system;
}

bool CgroupSystem::has(std::string_view controller) const {
  if (v1_mounts_.contains(controller)) return true;
  if (v2_mount_.empty()) return false;
  // Freezing and CPU accounting are part of the v2 core, no controllers.
  if (controller == "freezer" || controller == "cpuacct") return true;
  return std::find(v2_controllers_.begin(), v2_controllers_.end(), controller) != v2_controllers_.end();
}

std::string_view CgroupSystem::mode() const {
  if (v1_mounts_.empty()) return v2_mount_.empty() ? "none" : "v2";
  return v2_mount_.empty() ? "v1" : "hybrid";
}

bool Cgroup::take(const std::string& directory, std::string_view controller) {
  const auto known = std::ranges::find(directories_, directory, &Directory::path);
  if (known == directories_.end()) return false;
  known->controllers.emplace_back(controller);
  return true;
}

Cgroup Cgroup::create(const CgroupSystem& system, const std::string& path, const CgroupLimits& limits) {
  check_path(path);
  Cgroup group;
  group.path_ = path;
  const auto add = [&](const std::string& mount, std::string_view controller, bool v2) {
    const std::string directory = mount + "/" + path;
    if (group.take(directory, controller)) return;
    if (v2) {
      // On the way down, each level passes its controllers on.
      std::string level = mount;
      for (const auto& part : split(path, '/')) {
        enable_controllers(level);
        level += "/" + part;
        make_level(level);
      }
    } else {
      make_level(directory);
    }
    group.directories_.push_back({directory, {std::string(controller)}, v2});
  };
  if (!system.v2_mount().empty()) {
    add(system.v2_mount(), "core", true);
    for (const auto& controller : controllers_in(system.v2_mount() + "/" + path)) {
      add(system.v2_mount(), controller, true);
    }
  }
  for (const auto& controller : kUsedV1) {
    const auto mount = system.v1_mounts().find(controller);
    if (mount != system.v1_mounts().end()) add(mount->second, controller, false);
  }
  if (const auto mount = system.v1_mounts().find("cpuset"); limits.cpuset && mount != system.v1_mounts().end()) {
    add(mount->second, "cpuset", false);
    // A v1 cpuset begins empty; each level needs its parent's memory nodes and processors.
    std::string level = mount->second;
    for (const auto& part : split(path, '/')) {
      const std::string below = fmt::format("{}/{}", level, part);
      for (const auto* file : {"/cpuset.mems", "/cpuset.cpus"}) {
        if (trim(read_file(below + file)).empty()) put(below + file, trim(read_file(level + file)));
      }
      level = below;
    }
  }
  group.set(limits);
  return group;
}

std::optional<Cgroup> Cgroup::find(const CgroupSystem& system, const std::string& path) {
  check_path(path);
  Cgroup group;
  group.path_ = path;
  const auto add = [&](const std::string& mount, std::string_view controller, bool v2) {
    const std::string directory = mount + "/" + path;
    if (group.take(directory, controller)) return;
    if (exists(directory)) group.directories_.push_back({directory, {std::string(controller)}, v2});
  };
  if (!system.v2_mount().empty()) {
    add(system.v2_mount(), "core", true);
    for (const auto& controller : controllers_in(system.v2_mount() + "/" + path)) {
      add(system.v2_mount(), controller, true);
    }
  }
  for (const auto& [controller, mount] : system.v1_mounts()) add(mount, controller, false);
  if (group.directories_.empty()) return std::nullopt;
  return group;
}

Cgroup::Cgroup(Cgroup&& other) noexcept
    : directories_(std::exchange(other.directories_, {})), path_(std::move(other.path_)) {}
Cgroup& Cgroup::operator=(Cgroup other) noexcept {
  std::swap(directories_, other.directories_);
  std::swap(path_, other.path_);
  return *this;
}
Cgroup::~Cgroup() {
  try {
    remove();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): a destructor cannot report; the ledger still knows it
  }
}

const Cgroup::Directory* Cgroup::holding(std::string_view controller) const {
  for (const auto& directory : directories_) {
    for (const auto& name : directory.controllers) {
      if (name == controller) return &directory;
    }
  }
  return nullptr;
}

void Cgroup::set(const CgroupLimits& limits) {
  if (const auto* d = holding("memory")) {
    if (limits.memory_max) {
      const std::string bytes = std::to_string(*limits.memory_max);
      put(d->path + (d->v2 ? "/memory.max" : "/memory.limit_in_bytes"), bytes);
      // Without swap the limit is the limit; absent where the kernel does not account swap.
      try_put(d->path + (d->v2 ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes"), d->v2 ? "0" : bytes);
    }
    if (limits.memory_soft) {
      put(d->path + (d->v2 ? "/memory.low" : "/memory.soft_limit_in_bytes"), std::to_string(*limits.memory_soft));
    }
  }
  if (const auto* d = holding("cpu")) {
    if (limits.cpu_shares) {
      const std::uint64_t shares = std::clamp<std::uint64_t>(*limits.cpu_shares, 2, 262144);
      // The mapping that systemd, runc and Kubernetes use (KEP-2254).
      const std::uint64_t weight = 1 + (shares - 2) * 9999 / 262142;
      put(d->path + (d->v2 ? "/cpu.weight" : "/cpu.shares"), std::to_string(d->v2 ? weight : shares));
    }
    if (limits.cpu_quota_millicores) {
      constexpr std::uint64_t kPeriod = 100'000;  // microseconds, the kernel's default
      const std::uint64_t quota = std::max<std::uint64_t>(*limits.cpu_quota_millicores * kPeriod / 1000, 1000);
      if (d->v2) {
        put(d->path + "/cpu.max", fmt::format("{} {}", quota, kPeriod));
      } else {
        put(d->path + "/cpu.cfs_period_us", std::to_string(kPeriod));
        put(d->path + "/cpu.cfs_quota_us", std::to_string(quota));
      }
    }
  }
  if (const auto* d = holding("pids"); d != nullptr && limits.pids_max) {
    put(d->path + "/pids.max", std::to_string(*limits.pids_max));
  }
  if (const auto* d = holding("cpuset"); d != nullptr && limits.cpuset) put(d->path + "/cpuset.cpus", *limits.cpuset);
}

void Cgroup::add(pid_t pid) {
  for (const auto& file : join_files()) put(file, std::to_string(pid));
}

std::vector<std::string> Cgroup::join_files() const {
  std::vector<std::string> files;
  files.reserve(directories_.size());
  for (const auto& directory : directories_) files.push_back(directory.path + "/cgroup.procs");
  return files;
}

std::vector<pid_t> Cgroup::processes() const {
  std::vector<pid_t> pids;
  for (const auto& directory : directories_) collect_processes(directory.path, pids);
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

void Cgroup::freeze(bool on) {
  const auto* v1 = holding("freezer");
  const auto* v2 = holding("core");
  bool done = true;
  if (v2 != nullptr) {
    put(v2->path + "/cgroup.freeze", on ? "1" : "0");
    done = wait_until(std::chrono::seconds{1},
                      [&] { return (keyed(find_file(v2->path + "/cgroup.events"), "frozen") == 1) == on; });
  } else if (v1 != nullptr) {
    const std::string file = v1->path + "/freezer.state";
    put(file, on ? "FROZEN" : "THAWED");
    done = wait_until(std::chrono::seconds{1}, [&] {
      const std::string state = read_file(file);
      if (trim(state) == "FREEZING") put(file, "FROZEN");  // v1 gives up on a process that forks meanwhile: ask again
      return trim(state) == (on ? "FROZEN" : "THAWED");
    });
  } else {
    throw Error(Code::unsupported, fmt::format("cannot freeze the cgroup '{}'", path_))
        .because("this machine has neither cgroup v2 nor the v1 freezer");
  }
  if (!done) {
    throw Error(Code::timeout, fmt::format("cannot {} the cgroup '{}'", on ? "freeze" : "thaw", path_))
        .because("not done after 1s");
  }
}

void Cgroup::kill_all(Duration within) {
  const auto* v2 = holding("core");
  const bool atomic = v2 != nullptr && try_put(v2->path + "/cgroup.kill", "1");
  const auto* freezer = holding("freezer");
  const bool empty = wait_until(within, [&] {
    auto pids = processes();
    if (pids.empty()) return true;
    // Held still while it is killed, a fork bomb cannot outrun us.
    const bool hold = !atomic && freezer != nullptr && try_put(freezer->path + "/freezer.state", "FROZEN");
    if (hold) pids = processes();
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
    if (hold) try_put(freezer->path + "/freezer.state", "THAWED");
    return false;
  });
  if (!empty) {
    const auto left = processes();
    throw Error(Code::timeout, fmt::format("cannot kill everything in the cgroup '{}'", path_))
        .because(fmt::format("{} processes left after {}, the first is {}", left.size(), human_duration(within),
                             left.empty() ? 0 : left.front()));
  }
}

CgroupStats Cgroup::stats() const {
  CgroupStats stats;
  const auto number = [](const std::string& path) { return to_number(find_file(path).value_or("")); };
  if (const auto* d = holding("memory")) {
    stats.memory_bytes = number(d->path + (d->v2 ? "/memory.current" : "/memory.usage_in_bytes"));
    stats.memory_peak_bytes = number(d->path + (d->v2 ? "/memory.peak" : "/memory.max_usage_in_bytes"));
    stats.oom_kills = keyed(find_file(files().oom_events), "oom_kill");
    const auto parts = find_file(d->path + "/memory.stat");
    stats.memory_anonymous_bytes = keyed(parts, d->v2 ? "anon" : "rss");
    stats.memory_file_bytes = keyed(parts, d->v2 ? "file" : "cache");
    stats.memory_kernel_bytes = d->v2 ? keyed(parts, "kernel") : number(d->path + "/memory.kmem.usage_in_bytes");
    stats.memory_swap_bytes = d->v2 ? number(d->path + "/memory.swap.current") : keyed(parts, "swap");
  }
  if (const auto* v2 = holding("core")) {
    const auto cpu = find_file(v2->path + "/cpu.stat");
    stats.cpu_time = std::chrono::microseconds(keyed(cpu, "usage_usec"));
    stats.cpu_user = std::chrono::microseconds(keyed(cpu, "user_usec"));
    stats.cpu_system = std::chrono::microseconds(keyed(cpu, "system_usec"));
    stats.cpu_throttled = std::chrono::microseconds(keyed(cpu, "throttled_usec"));
    stats.cpu_throttled_periods = keyed(cpu, "nr_throttled");
  }
  if (const auto* d = holding("cpuacct"); d != nullptr && !d->v2) {
    stats.cpu_time = Duration(number(d->path + "/cpuacct.usage"));
    stats.cpu_user = Duration(number(d->path + "/cpuacct.usage_user"));
    stats.cpu_system = Duration(number(d->path + "/cpuacct.usage_sys"));
  }
  if (const auto* d = holding("cpu"); d != nullptr && !d->v2) {
    const auto cpu = find_file(d->path + "/cpu.stat");
    stats.cpu_throttled = Duration(keyed(cpu, "throttled_time"));
    stats.cpu_throttled_periods = keyed(cpu, "nr_throttled");
  }
  if (const auto* d = holding("pids")) stats.pids = number(d->path + "/pids.current");
  return stats;
}

void Cgroup::remove(Duration within) {
  if (directories_.empty()) return;
  kill_all(within);
  const bool gone = wait_until(within, [&] {
    bool all = true;
    for (const auto& directory : directories_) all &= try_remove(directory.path);
    return all;
  });
  if (!gone) throw Error(Code::timeout, fmt::format("cannot remove the cgroup '{}'", path_)).because("it stays busy");
  directories_.clear();
}

bool Cgroup::remove_if_empty() {
  if (!processes().empty()) return false;
  remove();  // nobody can come in any more; the kernel may need a moment to let go
  return true;
}

void Cgroup::prune_parents(const CgroupSystem& system, const std::string& path) {
  check_path(path);
  std::vector<std::string> mounts;
  if (!system.v2_mount().empty()) mounts.push_back(system.v2_mount());
  for (const auto& [controller, mount] : system.v1_mounts()) mounts.push_back(mount);
  for (auto slash = path.rfind('/'); slash != std::string::npos && path.find('/') < slash;) {
    for (const auto& mount : mounts) ::rmdir((mount + "/" + path.substr(0, slash)).c_str());  // full ones refuse
    slash = path.rfind('/', slash - 1);
  }
}

Cgroup::Files Cgroup::files() const {
  Files files;
  if (const auto* v2 = holding("core")) files.kill = v2->path + "/cgroup.kill";
  if (!directories_.empty()) files.procs = directories_.front().path + "/cgroup.procs";
  if (const auto* d = holding("memory"))
    files.oom_events = d->path + (d->v2 ? "/memory.events" : "/memory.oom_control");
  return files;
}

}  // namespace underway::os
