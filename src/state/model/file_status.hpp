#pragma once
/// @file
/// How synchronised files stand: on each target (a node or a capsule), after files were declared, and the key that
/// signs their manifests.

#include "model/file.hpp"

namespace underway::model {

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
  Revision revision = 0;        ///< of the manifest that it follows
  std::int64_t applied_at = 0;  ///< ns since the epoch: when something last changed
  std::vector<FileProblem> problems;
  std::vector<FileEvent> events;
};

/// What became of declared files.
struct FilesPut {
  std::vector<std::string> added, changed, removed;  ///< names
  std::int64_t unchanged = 0;
};

/// How the key that signs manifests stands, for people. Keys are said by their thumbprints.
struct FileKeyState {
  std::string key;
  std::int64_t since = 0;  ///< ns since the epoch; 0: from the beginning
  std::string next;        ///< that nodes learn to believe; empty: no rotation is under way
  std::int64_t next_since = 0;
  std::int64_t serial = 0;           ///< of the newest step
  std::vector<std::string> waiting;  ///< nodes that are alive and have not taken it
  std::vector<std::string> behind;   ///< nodes that are not, and will when they are back
};

/// A file as it is on a target.
struct FoundFile {
  bool exists = false;
  std::string data;  ///< base64
  std::string owner, group, mode;
};

const describe::Enumeration& description(describe::Tag<TargetState>);
const describe::Structure& description(describe::Tag<TargetStatus>);
const describe::Structure& description(describe::Tag<FilesPut>);
const describe::Structure& description(describe::Tag<FileKeyState>);
const describe::Structure& description(describe::Tag<FoundFile>);

}  // namespace underway::model
