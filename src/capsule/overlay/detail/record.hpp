#pragma once
/// @file
/// overlay.json, beside each overlay: what it is and where it lies. Written before the first file is made, so that what
/// a crash leaves half made is known, and made again.

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
