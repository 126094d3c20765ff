#pragma once
/// @file
/// Whether two JSON documents are of one shape: key by key, null by null, type by type; and where both say the same
/// word or number, unless it is one that differs from machine to machine.

#include <boost/json/value.hpp>

#include <functional>
#include <string>
#include <vector>

namespace underway::strangers {

/// "missing", "more", "null", "type", "empty" or "value", and where: "TaskGroups[].Tasks[].Env".
struct Difference {
  std::string kind;
  std::string where;
  std::string detail;  ///< for people: what is there, and what here

  std::string text() const { return kind + " " + where + (detail.empty() ? "" : ": " + detail); }
};

/// Whether the values at this place are compared.
using IsTold = std::function<bool(const std::string& where)>;

/// What differs in `ours` from `theirs`, each once. In `theirs` an object may have a key "*": keys are free there, and
/// all of its values are like that one; a value "*" is like anything. Lists are compared element by element, and what
/// is longer here with the last one there.
std::vector<Difference> compare(const boost::json::value& theirs, const boost::json::value& ours,
                                const IsTold& is_told);

}  // namespace underway::strangers
