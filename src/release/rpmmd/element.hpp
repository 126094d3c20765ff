#pragma once
/// @file
/// Elements of packages that no upstream has described: what a repository of ours says of an `.rpm` file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rpmmd/names.hpp"
#include "rpmmd/relation.hpp"

namespace underway::rpmmd {

struct Change {
  std::string author;
  std::int64_t date = 0;  ///< seconds since 1970
  std::string text;
};

/// What the header of an `.rpm` file says, as metadata tell it (archive/rpm.hpp reads it).
struct Description {
  Nevra nevra;  ///< the architecture of a source package is "src"
  std::string summary, description, packager, url, license, vendor, group, build_host, source_rpm;
  std::int64_t build_time = 0;
  std::uint64_t installed_size = 0, archive_size = 0;
  std::uint64_t header_begin = 0, header_end = 0;  ///< where the header lies in the file
  Relations relations;
  std::vector<FileName> files;
  std::vector<Change> changes;  ///< newest first
};

/// Whether a file is one that dependencies name often: it is in primary as well, for those who do not fetch filelists.
bool is_primary(std::string_view path);

/// Where and what the file is.
struct PackageFile {
  std::string location;
  Checksum checksum;
  std::uint64_t size = 0;
  std::int64_t timestamp = 0;  ///< seconds since 1970
};

struct Elements {
  std::string primary, filelists, other;
};
/// As createrepo_c writes them, with the ten newest changes. Text that is no UTF-8 is taken for ISO 8859-1, and control
/// characters, which XML cannot hold, are left out. Errors: invalid for a name or a location that is refused.
Elements write_package(const Description& description, const PackageFile& file);

}  // namespace underway::rpmmd
