#pragma once
/// @file
/// The cgroups of a host: one directory at the same relative path in every hierarchy that the machine has mounted,
/// because a batch system in the host expects every controller that the machine has.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace underway::host {

struct Hierarchy {
  std::string mount;  ///< "/sys/fs/cgroup/memory"
  std::string name;   ///< relative to /sys/fs/cgroup: "memory"; "" for a pure v2 machine
  bool v2 = false;
  bool operator==(const Hierarchy&) const = default;
};

/// The hierarchies mounted below /sys/fs/cgroup, from the text of mountinfo(5).
std::vector<Hierarchy> find_hierarchies(std::string_view mountinfo);
std::vector<Hierarchy> find_hierarchies();

class HostGroups {
 public:
  /// `path` is relative to every mount: "underway/demo/c1".
  HostGroups(std::vector<Hierarchy> hierarchies, std::string path);

  const std::vector<Hierarchy>& hierarchies() const { return hierarchies_; }
  std::string directory(const Hierarchy& in) const { return in.mount + "/" + path_; }
  /// Makes the directories and their parents; cpuset groups get their parent's processors and memory nodes, without
  /// which no process may join.
  void create() const;
  void limit(std::optional<std::int64_t> cpus, std::optional<std::int64_t> memory_mb) const;
  /// Where a process writes "0" to join before its cgroup namespace is made.
  std::vector<std::string> join_files() const;
  /// The file through which pid 1 then leaves the host's own group on a pure v2 machine; else empty.
  std::string leaf_file() const;
  /// Where another process joins later (exec).
  std::vector<std::string> late_join_files() const;
  /// Kills what is inside, then removes the groups and those below; fine when they do not exist.
  /// Errors: timeout when something in it does not die within `within`.
  void remove(Duration within) const;
  /// Removes the directory only if nothing is in it.
  void remove_if_empty() const;

 private:
  void create_once() const;
  bool pure_v2() const;
  std::vector<Hierarchy> hierarchies_;
  std::string path_;
};

}  // namespace underway::host
