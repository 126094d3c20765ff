#pragma once
/// @file
/// How files stand everywhere: what targets report, against what they shall have.

#include <functional>

#include "files/masters/service.hpp"

namespace underway::files {

enum class TargetState {
  synced,
  pending,  ///< it does not have the newest manifest yet, or could not do all of it
  drifted,
  failed,
  refused,  ///< it does not believe the newest manifest
};

struct TargetStatus {
  std::string node_id, node, cluster;
  std::string capsule;  ///< empty: the node itself
  TargetState state = TargetState::pending;
  std::string reason;  ///< for people; empty when it is synced
  bool linked = false;
  std::int64_t files = 0;  ///< that it shall have
  std::int64_t epoch = 0;
  model::Revision revision = 0;  ///< of the manifest that it follows
  std::int64_t applied_at = 0;   ///< ns since the epoch: when something last changed
  std::vector<model::FileProblem> problems;
  std::vector<model::FileEvent> events;
};

/// What an administrator should look at.
struct FileAttention {
  std::string what, why, advice;
};

/// Of all targets that have files, or have said something; by node, then capsule. `cluster` empty: of all clusters.
std::vector<TargetStatus> target_states(const tables::Tables& tables, const FileService& service,
                                        const std::string& cluster,
                                        const std::function<bool(const std::string& node_id)>& linked);
/// Nodes that are merely behind are not told: that passes.
std::vector<FileAttention> attention(const std::vector<TargetStatus>& targets);
/// Masters on nodes that are not there: changes of them wait.
std::vector<FileAttention> waiting_masters(const tables::Tables& tables, const std::string& cluster,
                                           const std::function<bool(const std::string& node_id)>& linked);
/// A rotation of the key of manifests that waits for so long that somebody should look.
std::vector<FileAttention> waiting_rotation(const tables::Tables& tables, TimePoint now);

const describe::Enumeration& description(describe::Tag<TargetState>);
const describe::Structure& description(describe::Tag<TargetStatus>);

}  // namespace underway::files
