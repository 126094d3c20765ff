#pragma once
/// @file
/// aptly's query language, for packages of both formats: which of a list are wanted.
///
///     nginx                       the package, and those that provide the name
///     nginx (>= 1.2)              of a version: << <= = >= >> (of < and >: <= and >=), % a glob, ~ a regular
///     expression nginx (>= 1.2) {amd64}      of an architecture: all and noarch are of each but source
///     nginx_1.2-1_amd64           this one
///     Priority (required)         a field of the description; in << <= >= >> it is ordered as versions are, so that 9
///     is before
///                                 10; without a condition: it has one
///     $Version (>= 1:2.0)         of any name; also $Architecture $Source $SourceVersion $PackageType
///     a, b | !(c | d)             and, or (which binds less), not
///
/// A word that begins with a capital is a field, and one that begins with a small letter is a package; of rpm packages,
/// whose names may begin so, a word that is none of their fields is a package too: `NetworkManager (>= 1.40)`. Values
/// with blanks or any of ()|,!{} stand in quotes, of either kind, in which a backslash takes the next character as it
/// is. Source: https://www.aptly.info/doc/feature/query/. What differs from aptly is in tests/aptly_test.cpp: an empty
/// query and a special field that is not known are refused, names that are provided with a version count, names of
/// fields have no case, $SourceVersion is compared as a version, and every field can be asked for.

#include <memory>
#include <string>
#include <string_view>

#include "package/list.hpp"

namespace underway::package {

inline constexpr std::size_t kMaxQuery = std::size_t{16} << 10;
inline constexpr std::size_t kMaxTerms = 256;     ///< conditions of one query
inline constexpr std::size_t kMaxDepth = 64;      ///< of parentheses
inline constexpr std::size_t kMaxPattern = 1024;  ///< bytes of a glob or a regular expression (RE2: linear time)

namespace detail {
struct QueryNode;
}

class Query {
 public:
  bool matches(const Package& package) const;
  const std::string& text() const { return text_; }

 private:
  friend Query parse_query(std::string_view text);
  Query(std::string text, std::shared_ptr<const detail::QueryNode> root)
      : text_(std::move(text)), root_(std::move(root)) {}

  std::string text_;
  std::shared_ptr<const detail::QueryNode> root_;
};

/// Errors: invalid, with what is wrong and the column of it; too_large beyond the limits above.
Query parse_query(std::string_view text);

/// Those of `list` that match.
PackageList select(const PackageList& list, const Query& query);

}  // namespace underway::package
