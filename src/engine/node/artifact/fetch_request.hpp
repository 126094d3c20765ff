#pragma once
/// @file
/// What the agent asks underway-fetch for: JSON on its standard input.

#include <string>

#include "model/job/job.hpp"

namespace underway::node {

struct FetchRequest {
  std::string source;           ///< a path, file://, http:// or https:// URL
  std::string allocation_root;  ///< everything is written below it
  std::string destination;      ///< relative to it
  std::string staging;          ///< relative to it: a private directory for what is not verified yet
  std::string mode = "any";     ///< any, file, dir
  std::string checksum;         ///< "sha256:…"; empty: not checked
  std::string archive;          ///< empty: by the name; "false": never; else "tar.gz", "zip", …
  std::string filename;         ///< in a directory; empty: that of the source
  model::StringMap headers;
  bool insecure = false;          ///< do not verify the server
  bool chown = false;             ///< what was fetched belongs to `uid`, `gid`
  bool keep_owner = false;        ///< what was packed belongs to whom it belonged to, by number
  std::int64_t uid = 0, gid = 0;  ///< the task's user; local files are read with its rights
  /// Source of the limits: Nomad's `artifact` block of the client configuration.
  std::int64_t max_bytes = 100LL << 30;
  std::int64_t max_unpacked_bytes = 100LL << 30;
  std::int64_t max_files = 4096;
  std::int64_t disk_bytes = 0;  ///< the group's `ephemeral_disk`: all that lies below the root together; 0: not bounded
};

/// "tar.gz", "tar", "zip", "gz", …: how `name` is packed, by its ending; empty: it is not.
std::string archive_kind(std::string_view name);

const describe::Structure& description(describe::Tag<FetchRequest>);

}  // namespace underway::node
