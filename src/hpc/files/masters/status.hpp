#pragma once
/// @file
/// How files stand everywhere: what targets report, against what they shall have.

#include <functional>

#include "files/masters/service.hpp"
#include "model/file_status.hpp"

namespace underway::files {

using model::TargetState;
using model::TargetStatus;

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

}  // namespace underway::files
