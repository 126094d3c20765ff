#pragma once
/// @file
/// A query that was parsed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "package/detail/pattern.hpp"
#include "package/version.hpp"

namespace underway::package::detail {

enum class TermKind : std::uint8_t {
  reference,  ///< name_version_architecture; of rpm maybe a name
  name,       ///< a package, and those that provide it
  field,      ///< of the description; of rpm maybe a package
  special,    ///< $Version and the like
};

struct Condition {
  Comparison comparison = Comparison::any;
  std::string value;
  std::optional<Pattern> pattern;  ///< then it is all that counts
};

struct Term {
  TermKind kind = TermKind::name;
  std::string word;          ///< the name of the package or of the field, or all of a reference
  std::string architecture;  ///< between braces
  Condition condition;
};

enum class NodeKind : std::uint8_t { term, all_of, any_of, none_of };

struct QueryNode {
  NodeKind kind = NodeKind::term;
  Term term;
  std::vector<QueryNode> parts;
};

/// The special fields, as they are written.
const std::vector<std::string>& special_fields();

bool matches(const Term& term, const Package& package);

}  // namespace underway::package::detail
