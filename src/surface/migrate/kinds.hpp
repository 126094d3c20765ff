#pragma once
/// @file
/// Where Nomad's API has each kind of thing, and which members of it Nomad knows.

#include "base/json/describe.hpp"
#include "migrate/inventory.hpp"

namespace underway::migrate {

struct KindFacts {
  Kind kind;
  std::string_view word;
  std::string_view list;  ///< path
  /// Path before the name (or id) of one, for those whose list has less than the whole; empty: the list has it.
  std::string_view one;
  std::string_view make;    ///< where a new one is put; ends in '/' when the name follows
  std::string_view change;  ///< where one that exists is put, as `make`
  std::string_view key;     ///< the member by which it is known, and which is in `change`: "Name", "ID"
  const describe::Structure* (*structure)();  ///< how it is described here; null: it is not
  /// Members that Nomad documents, "A.B" for nested ones. Others that we describe are ours.
  std::vector<std::string_view> members;
};

const KindFacts& facts(Kind kind);
const std::vector<KindFacts>& all_kinds();

/// The members of `body` that Nomad documents, and nothing that servers keep for themselves.
boost::json::object documented(const KindFacts& kind, const boost::json::object& body);
/// The others that we describe and that are set: "RawExecAsRoot".
std::vector<std::string> ours(const KindFacts& kind, const boost::json::object& body);
/// Null, false, zero and empty say nothing.
bool says_nothing(const boost::json::value& value);

}  // namespace underway::migrate
