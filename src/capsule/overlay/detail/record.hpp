#pragma once
/// @file
/// overlay.json, beside each overlay: what it is and where it lies. Written before the first file is made, so that what
/// a crash leaves half made is known, and made again.
///
///     {"Version": 1,
///      "Kind": "ext4",               overlay::Kind: how the layer is kept
///      "SizeBytes": N,               of each file; 0 for a directory
///      "Paths": ["/srv/a", …],       directories that were asked for
///      "Files": ["/srv/a/…", …],     files that hold the file system: 0 for a directory, 2 for raid1, else 1
///      "Complete": true,             false: the file systems are not made yet
///      "Stale": null}                of raid1: the file that was missing once, counted from 0

#include <optional>

#include "overlay/overlay.hpp"

namespace underway::overlay {

struct Record {
  std::int64_t version = 1;
  Kind kind = Kind::directory;
  std::int64_t size_bytes = 0;
  std::vector<std::string> paths;  ///< as in the Spec
  std::vector<std::string> files;
  bool complete = false;  ///< false: the file systems are not made yet
  /// raid1: the file that was missing once. It is stale for ever, and replaced by repair().
  std::optional<std::int64_t> stale;
};
const describe::Structure& description(describe::Tag<Record>);

std::string record_path(const std::string& dir);
/// Errors: invalid when it is no such record.
std::optional<Record> find_record(const std::string& dir);
void write_record(const std::string& dir, const Record& record);

}  // namespace underway::overlay
