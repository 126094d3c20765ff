#pragma once
/// @file
/// The packages of a repository: what is asked of them often is parsed, the rest stays in the bytes of their elements.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rpmmd/names.hpp"

namespace underway::rpmmd {

struct Package {
  std::string name;
  std::string epoch = "0";
  std::string version, release, arch;
  Checksum checksum;          ///< of the file; also its id in the other documents
  std::string location;       ///< href, relative to the repository
  std::string location_base;  ///< xml:base: it lies in another place than the repository; mostly empty
  std::uint64_t size = 0;     ///< bytes of the file
  std::string source_rpm;     ///< "bash-5.1.8-9.el9.src.rpm"; empty for source packages
  std::string group;
  Cut location_at;                             ///< where in `primary` its location stands
  std::string_view primary, filelists, other;  ///< its elements, from '<' to '>'; bytes live as long as the index
  Nevra nevra() const { return {name, epoch, version, release, arch}; }
};

/// The uncompressed documents. `primary` is there; without one of the others, their views are empty.
struct Documents {
  std::shared_ptr<const std::string> primary, filelists, other;
};

/// Immutable; copies share the texts.
class Index {
 public:
  /// In the order of primary. Errors: invalid for what is no such document or has a package without a name, version,
  /// architecture, checksum or location; for names and locations that are refused (names.hpp); for a package that
  /// `filelists` or `other` do not know; too_large beyond kIndexLimit.
  static Index read(Documents documents);

  const std::vector<Package>& packages() const { return packages_; }
  const Documents& documents() const { return documents_; }

 private:
  Documents documents_;
  std::vector<Package> packages_;
};

}  // namespace underway::rpmmd
