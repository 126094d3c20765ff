#pragma once
/// @file
/// `repodata/repomd.xml`: which files a repository has, with their digests. It is what a signature is of.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpmmd/names.hpp"

namespace underway::rpmmd {

/// One file. What is absent was not written; nothing of it is guessed.
struct Data {
  std::string type;  ///< "primary", "updateinfo", "productid", …: any word
  Checksum checksum;
  std::optional<Checksum> open_checksum;  ///< of the file when it is unpacked
  std::string location;                   ///< relative to the repository: "repodata/…"
  std::optional<std::int64_t> timestamp;  ///< seconds since 1970
  std::optional<std::uint64_t> size, open_size;
  std::optional<std::string> database_version;  ///< of SQLite files
  bool operator==(const Data&) const = default;
};

struct Tag {
  std::string kind;   ///< "repo", "content" or "distro"
  std::string cpeid;  ///< of "distro"; empty when none is written
  std::string text;
  bool operator==(const Tag&) const = default;
};

struct Repomd {
  std::string revision;  ///< empty when none is written
  std::vector<Tag> tags;
  std::vector<Data> data;
  /// The first of that type, or null.
  const Data* find(std::string_view type) const;
  bool operator==(const Repomd&) const = default;
};

/// Errors: invalid for what is no repomd.xml, for a location that leaves the repository, for a type that comes twice.
Repomd parse_repomd(std::string_view text);
std::string write_repomd(const Repomd& repomd);

/// Whether `type` tells of what other files of the repository hold as well ("primary_db", "filelists_zck",
/// "prestodelta"): it is wrong as soon as a package less is there.
bool is_derived(std::string_view type);
/// "primary.xml" of "repodata/0a1b…-primary.xml.gz".
std::string plain_name(std::string_view location);

/// Throws Error(invalid) unless `bytes` has the size and the checksum that `data` names.
/// Errors: unsupported for a checksum weaker than SHA-256.
void check_data(const Data& data, std::string_view bytes);

}  // namespace underway::rpmmd
