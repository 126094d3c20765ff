#pragma once
/// @file
/// A namespace: what keeps the jobs of several parties apart, and what their tasks may do to the machines. `default`
/// always is, with or without a row.

#include "model/job/job.hpp"
#include "model/validate/task_rights.hpp"

namespace underway::model {

/// Nomad's.
struct NamespaceCapabilities {
  std::vector<std::string> enabled_task_drivers;  ///< empty: all
  std::vector<std::string> disabled_task_drivers;
  std::vector<std::string> enabled_network_modes;  ///< of groups, as they say it: "bridge", "cni/storage"; empty: all
  std::vector<std::string> disabled_network_modes;
};

struct Namespace {
  std::string name;
  std::string description;
  StringMap meta;
  NamespaceCapabilities capabilities;
  /// Users that its tasks may run as, each with `*` for any run of characters; empty: all.
  std::vector<std::string> allowed_users;
  /// Words of listed_rights(): what its tasks may do to their hosts.
  std::vector<std::string> host_rights;
  /// Whether its tasks may run as root by raw_exec: such a task owns the node, so this holds every other right.
  bool raw_exec_as_root = false;
  std::string quota;  ///< name of the quota that bounds it; empty: none
  Revision create_index = 0;
  Revision modify_index = 0;
};

inline constexpr const char* kDefaultNamespace = "default";

/// All problems of the namespace itself, in words.
std::vector<std::string> problems(const Namespace& ns);

/// What its tasks may do to their hosts. `root_by_raw_exec`: everything, everywhere (`agent -dev`).
HostRights rights_of(const Namespace& ns, bool root_by_raw_exec);

/// Why the tasks of `job` may not run in `ns`, in words, each with the command that allows it; empty when they may.
/// `root_by_raw_exec`: raw_exec as root needs no permission here (`agent -dev`).
std::vector<std::string> refusals(const Namespace& ns, const Job& job, bool root_by_raw_exec);

const describe::Structure& description(describe::Tag<NamespaceCapabilities>);
const describe::Structure& description(describe::Tag<Namespace>);

}  // namespace underway::model
