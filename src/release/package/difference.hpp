#pragma once
/// @file
/// What differs between two lists of packages: what a new snapshot brings, and what a promotion changes in a tier.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "package/list.hpp"

namespace underway::package {

enum class ChangeKind : std::uint8_t {
  added,       ///< of a name that was not there, or an old version beside what there is
  removed,     ///< of a name that is there no more, or an old version
  upgraded,    ///< the newest version is newer than what was the newest
  downgraded,  ///< it is older
  rebuilt,     ///< the same version, another file: its digest differs. Nobody who has it installed gets it
  moved,       ///< the same file elsewhere in the repository
  described,   ///< the same file at the same place, described otherwise
};
/// "added" and so on.
std::string_view to_string(ChangeKind kind);

/// Of one name on one architecture.
struct PackageChange {
  ChangeKind kind = ChangeKind::added;
  const Package* before = nullptr;  ///< in `from`; null when added
  const Package* after = nullptr;   ///< in `to`; null when removed
  /// Repositories of rpm keep old versions. Upgraded: the version of `before` is in `to` as well. Downgraded: that of
  /// `after` was in `from` already, and `before`, the newest, has been taken away.
  bool keeps_older = false;

  const Package& either() const { return after != nullptr ? *after : *before; }
};

using ChangeCounts = std::map<ChangeKind, std::size_t>;  ///< those that there are

struct Difference {
  PackageList from, to;                ///< which the changes point into
  std::vector<PackageChange> changes;  ///< by name, architecture and version

  bool empty() const { return changes.empty(); }
  ChangeCounts counts() const;
  std::map<std::string, ChangeCounts> counts_by_architecture() const;
};

/// Each package that is not the same in both lists is in one change, but for `keeps_older`. Of several versions of a
/// name on one architecture the newest of both lists are compared, as that is what is installed from them.
Difference diff(const PackageList& from, const PackageList& to);

}  // namespace underway::package
