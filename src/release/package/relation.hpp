#pragma once
/// @file
/// What packages say of each other: what one needs, offers and cannot be beside.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "package/package.hpp"
#include "package/version.hpp"

namespace underway::package {

/// By the names of Debian; what rpm calls it stands behind, where that is another word.
enum class RelationKind : std::uint8_t {
  depends,      ///< requires, those of the scripts included
  pre_depends,  ///< requires with pre="1": needed by scripts of the installation
  recommends,
  suggests,
  enhances,
  supplements,  ///< rpm alone
  conflicts,
  breaks,    ///< deb alone
  replaces,  ///< obsoletes
  provides,
};
/// The name of the field: "Pre-Depends"; of rpm the element: "requires". Empty: the format has no such relation.
std::string_view field_of(RelationKind kind, Format format);

struct Relation {
  std::string
      name;  ///< deb: a package, real or virtual; rpm: also a path, "libc.so.6(GLIBC_2.34)(64bit)", "pkgconfig(x)"
  std::string architecture_qualifier;  ///< deb: "any" of "python3:any"
  Comparison comparison = Comparison::any;
  std::string version;                     ///< deb "1:2.0-3"; rpm "0:1.4-3", "1.4"
  std::vector<std::string> architectures;  ///< deb: "linux-any", "!i386" of "[linux-any !i386]"
  std::string profiles;                    ///< deb: "<!nocheck> <cross>", as written
  bool is_rich = false;                    ///< rpm: `name` is a boolean expression, "(a or b)", and nothing else is set

  bool operator==(const Relation&) const = default;
};

/// "python3:any (>= 3.11) [amd64] <!nocheck>", in the spelling of Debian for both formats.
std::string to_string(const Relation& relation);

/// All of them are to hold, each by one of its alternatives. Of rpm each has one alternative.
using Relations = std::vector<std::vector<Relation>>;

/// The value of a field of a deb package; folded lines are allowed, and the old operators '<' and '>', which mean
/// "<=" and ">=". Errors: invalid, with what is wrong and the column in the value.
Relations parse_relations(std::string_view value);

/// Of the package's description; none when it says nothing. Errors: invalid.
Relations relations(const Package& package, RelationKind kind);

}  // namespace underway::package
