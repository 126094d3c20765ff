#pragma once
/// @file
/// What runs on this node, by capsule: a record in the directory that holds the capsule's data,
///
///     <agent data_dir>/capsules/<namespace>/<name>/run.json      the last run
///     <agent data_dir>/capsules/<namespace>/<name>/overlay/…     capsule/overlay
///
/// so that a capsule is found by its name, by whoever may read there. The record stays when the run has ended.

#include <optional>
#include <string>
#include <vector>

#include "base/json/describe.hpp"
#include "os/process/process.hpp"

namespace underway::run {

struct Run {
  std::string ns, name;
  std::string job, group;
  std::string allocation, task;
  std::string image;   ///< "name:version"
  std::string digest;  ///< "sha256:…"
  std::string image_path;
  std::string keeper_dir;  ///< Control::connect takes it
  std::string upper;       ///< of the overlay
  std::string cgroup;      ///< os::Cgroup::find takes it: all of its processes
  std::vector<std::string> addresses;
  std::int64_t pid = 0;         ///< of its init, as the host numbers it
  std::int64_t start_time = 0;  ///< of that process
  std::int64_t started = 0;     ///< ns since the epoch
  std::int64_t ended = 0;       ///< 0: nobody has seen its end

  /// Its first process lives.
  bool running() const;
};
const describe::Structure& description(describe::Tag<Run>);

/// Stops all of its processes (true), or lets them go on; one that has ended has none. Who stops must see to it that
/// they go on when he dies. Errors: unsupported when they have no group of their own.
void freeze(const Run& run, bool on);

/// <capsules>/<namespace>/<name>. Errors: invalid for names that are none.
std::string capsule_directory(const std::string& capsules, const std::string& ns, const std::string& name);
void write_run(const std::string& capsules, const Run& run);
/// The last run of a capsule; nothing when it never ran here.
std::optional<Run> find_run(const std::string& capsules, const std::string& ns, const std::string& name);
/// The last run of each, by namespace and name.
std::vector<Run> list_runs(const std::string& capsules);

}  // namespace underway::run
