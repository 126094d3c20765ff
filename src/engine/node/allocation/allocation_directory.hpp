#pragma once
/// @file
/// An allocation's directories, in Nomad's layout:
///     <data_dir>/alloc/<id>/alloc/{data,logs,tmp}                 shared by its tasks
///     <data_dir>/alloc/<id>/<task>/{local,secrets,tmp,private}    a task's own; `secrets` is a tmpfs
/// Nobody of the host but root and who is let pass gets further than <data_dir>/alloc, unless root itself walks there.
/// A task may replace what is its own; nothing here follows a link of its making. A tmpfs outlives the agent like
/// everything else here: who finds the directory of an allocation that nobody knows removes both (remove_strays).

#include <optional>
#include <set>
#include <string>

#include "node/task/environment.hpp"
#include "os/process/user.hpp"

namespace underway::node {

struct TaskUse {
  bool secrets_in_memory = false;  ///< mount a tmpfs there, if we may
  std::int64_t secrets_mb = 0;     ///< of that size; 0: 1
  /// It walks to its files from the host's root, as its user, so that one may pass. All others are shown theirs by
  /// their driver, which is root.
  bool by_path = false;
};

class AllocationDirectory {
 public:
  AllocationDirectory(const std::string& data_dir, std::string_view allocation_id);

  const std::string& root() const { return root_; }
  std::string shared() const { return root_ + "/alloc"; }
  std::string logs() const { return root_ + "/alloc/logs"; }
  std::string task(std::string_view name) const;
  /// As the task sees them when it shares the host's file tree.
  TaskPaths host_paths(std::string_view task_name) const;

  /// Idempotent. Blocks: yes (disk).
  void build() const;
  /// `owner`: the task's user, to whom its directories belong. Idempotent. Blocks: yes (disk).
  void build_task(std::string_view name, const os::User& owner, const TaskUse& use) const;
  /// Unmounts and removes everything. Idempotent. Blocks: yes (disk).
  void destroy() const;

 private:
  std::string root_;
};

/// Removes every directory below <data_dir>/alloc that is not in `known`; returns their names. Blocks: yes (disk).
std::vector<std::string> remove_strays(const std::string& data_dir, const std::set<std::string>& known);

}  // namespace underway::node
