#pragma once
/// @file
/// Writes a repository of packages that are elsewhere already: the files of `repodata/`. Equal input gives equal bytes,
/// in whatever order packages come.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rpmmd/compressed.hpp"
#include "rpmmd/index.hpp"
#include "rpmmd/repomd.hpp"

namespace underway::rpmmd {

enum class Document : std::uint8_t { primary, filelists, other };
/// "primary", "filelists", "other": its type in repomd.xml.
std::string_view name_of(Document document);

/// `elements` in their order, below a root that tells how many they are.
std::string write_elements(Document document, std::span<const std::string_view> elements);
/// The elements of `packages`, by name, architecture, version and checksum; one package that comes twice is written
/// once. Errors: invalid for a package without an element of that document.
std::string write_document(Document document, std::span<const Package> packages);

/// Its element of primary with another location, and without a location_base: for a repository that has its files
/// elsewhere. Nothing else of it changes. Errors: invalid for a location that is refused (names.hpp).
std::string write_at(const Package& package, std::string_view location);

/// A file of `repodata/` before it is compressed.
struct Part {
  std::string type;  ///< "primary", "updateinfo", "group", …
  std::string name;  ///< "primary.xml", "modules.yaml", "comps.xml"
  std::string text;
};

struct WriteOptions {
  Compression compression = Compression::zstd;
  std::string revision;
  std::int64_t timestamp = 0;  ///< of all files: seconds since 1970
  std::vector<Tag> tags;
};

struct RepositoryFile {
  std::string path;  ///< "repodata/<SHA-256>-primary.xml.zst"
  std::string bytes;
};

/// The files, `repodata/repomd.xml` last: whoever puts them down in this order shows nobody a file that is not there.
/// Errors: invalid for a name or a type that comes twice or is refused.
std::vector<RepositoryFile> write_repository(std::span<const Part> parts, const WriteOptions& options);

}  // namespace underway::rpmmd
