#pragma once
/// @file
/// What differs between two images: packages and files, told by their manifests and lists of files alone.

#include "image/file_list.hpp"
#include "image/manifest.hpp"

#include <string>
#include <vector>

namespace underway::image {

enum class Difference : std::uint8_t { added, removed, changed };

struct PackageDifference {
  Difference difference = Difference::changed;
  std::string name, architecture;
  std::string from, to;  ///< versions
};

struct FileDifference {
  Difference difference = Difference::changed;
  std::string path;
  std::vector<std::string> details;  ///< of a changed one: "content", "mode 0644 → 0600", …
  std::int64_t from = 0, to = 0;     ///< bytes
};

struct Comparison {
  std::string from, to;  ///< "name:version"
  std::vector<PackageDifference> packages;
  std::vector<FileDifference> files;
};

const describe::Enumeration& description(describe::Tag<Difference>);
const describe::Structure& description(describe::Tag<PackageDifference>);
const describe::Structure& description(describe::Tag<FileDifference>);
const describe::Structure& description(describe::Tag<Comparison>);

/// Both lists in the order of names.
Comparison compare(const Manifest& from, const std::vector<FileEntry>& from_files, const Manifest& to,
                   const std::vector<FileEntry>& to_files);

}  // namespace underway::image
