#pragma once
/// @file
/// Control groups, v1 and v2 behind one face. On a hybrid machine a group is a directory in every v1 hierarchy that
/// we use and in the v2 tree, all at the same relative path; on a v2 machine it is one directory.
///
/// A cgroup outlives the process: record it in the ledger first.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace underway::os {

/// What this machine offers, found in /proc/self/mountinfo and cgroup.controllers.
class CgroupSystem {
 public:
  /// `root` is put before every path: a test gives a directory that imitates proc and sys.
  /// Nothing is mounted: a system without controllers, in which groups are made of nothing.
  static CgroupSystem probe(const std::string& root = "");

  /// Whether groups limit `controller`: "memory", "cpu", "pids", "cpuset", "freezer", "devices", "cpuacct".
  bool has(std::string_view controller) const;
  /// "v1", "v2", "hybrid" or "none".
  std::string_view mode() const;
  /// Where v2 is mounted; empty when it is not.
  const std::string& v2_mount() const { return v2_mount_; }
  /// v1 controller to mount point; those mounted together share one.
  const std::map<std::string, std::string, std::less<>>& v1_mounts() const { return v1_mounts_; }
  const std::vector<std::string>& v2_controllers() const { return v2_controllers_; }

 private:
  std::map<std::string, std::string, std::less<>> v1_mounts_;
  std::string v2_mount_;
  std::vector<std::string> v2_controllers_;
};

/// Absent means unlimited (or the kernel's default).
struct CgroupLimits {
  /// Bytes; beyond it the kernel kills inside the group.
  std::optional<std::uint64_t> memory_max;
  /// Bytes that reclaim leaves alone first (v2 memory.low, v1 soft limit).
  std::optional<std::uint64_t> memory_soft;
  /// Relative weight in v1's scale, 2 … 262144, default 1024; translated for v2.
  std::optional<std::uint64_t> cpu_shares;
  /// Hard ceiling in thousandths of a core.
  std::optional<std::uint64_t> cpu_quota_millicores;
  std::optional<std::uint64_t> pids_max;
  /// "0-3,8"; also sets cpuset.mems to the parent's.
  std::optional<std::string> cpuset;
};

struct CgroupStats {
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t memory_anonymous_bytes = 0, memory_file_bytes = 0, memory_kernel_bytes = 0, memory_swap_bytes = 0;
  Duration cpu_time{};
  Duration cpu_user{}, cpu_system{};  ///< of cpu_time
  Duration cpu_throttled{};
  std::uint64_t cpu_throttled_periods = 0;
  std::uint64_t pids = 0;
  /// Processes the kernel killed in this group for lack of memory.
  std::uint64_t oom_kills = 0;
};

class Cgroup {
 public:
  /// Makes the group at `path` relative to the hierarchies' mounts ("underway/alloc-7f3a/web"), with its parents, and
  /// sets `limits`; an existing group is taken over. A limit whose controller is missing is left out: ask `has`.
  static Cgroup create(const CgroupSystem& system, const std::string& path, const CgroupLimits& limits = {});
  /// An existing group; nothing when it is in no hierarchy.
  static std::optional<Cgroup> find(const CgroupSystem& system, const std::string& path);

  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup other) noexcept;
  /// Kills everything inside and removes the group, silently; call remove() where failure matters.
  ~Cgroup();
  /// Leaves the group as it is and forgets it.
  void release() noexcept { directories_.clear(); }

  const std::string& path() const { return path_; }
  void set(const CgroupLimits& limits);
  /// Moves a process in, with all of its threads.
  void add(pid_t pid);
  /// Files to which a process writes "0" to move itself in: what a LaunchPlan needs.
  std::vector<std::string> join_files() const;
  /// Processes inside, groups below included.
  std::vector<pid_t> processes() const;
  /// Stops or continues everything inside; returns when the kernel says so, throws timeout after one second.
  void freeze(bool on);
  /// SIGKILL to everything inside, groups below included, however fast it forks; returns when the group is empty.
  /// Errors: timeout when something does not die in `within` (uninterruptible I/O).
  void kill_all(Duration within = std::chrono::seconds{5});
  CgroupStats stats() const;
  /// kill_all, then removes the group and those below; nothing happens where it does not exist.
  void remove(Duration within = std::chrono::seconds{5});
  /// Removes the group and those below; false, and everything as it was, while a process is inside.
  bool remove_if_empty();

  /// Removes the groups above `path` that are empty, but never the topmost, which others may share.
  static void prune_parents(const CgroupSystem& system, const std::string& path);

  /// Plain paths, for a program that cannot link this library (the keeper); empty when there is none.
  struct Files {
    std::string kill;        ///< v2 cgroup.kill
    std::string procs;       ///< cgroup.procs of the hierarchy used for killing
    std::string oom_events;  ///< holds the line "oom_kill N"
  };
  Files files() const;

 private:
  Cgroup() = default;
  struct Directory {
    std::string path;
    std::vector<std::string> controllers;
    bool v2 = false;
  };
  const Directory* holding(std::string_view controller) const;
  /// Of a directory that it has already, one controller more; false: it has it not.
  bool take(const std::string& directory, std::string_view controller);
  std::vector<Directory> directories_;
  std::string path_;
};

}  // namespace underway::os
