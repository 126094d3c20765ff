#pragma once
/// @file
/// A snapshot as a file: a .tar.gz with meta.json, the state, and SHA256SUMS over both.

#include <boost/json.hpp>

#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace underway::cli {

struct SnapshotFile {
  boost::json::value meta;
  std::vector<std::pair<std::string, std::int64_t>> files;  ///< name and size
  std::time_t created = 0;
};

/// Reads it to its end and verifies it. Throws invalid for what is none, is cut short, or is not what its sums say.
SnapshotFile inspect_snapshot(const std::string& path);

}  // namespace underway::cli
