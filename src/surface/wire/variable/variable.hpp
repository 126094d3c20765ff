#pragma once
/// @file
/// Variables on the wire, as Nomad has them. Read and written by hand, and not by a description: what is wrong with a
/// body must be said without saying what is in it.

#include "model/access/variable.hpp"

namespace underway::wire {

/// What a write brings.
struct VariableBody {
  std::string ns, path;  ///< empty when not given
  std::optional<model::StringMap> items;
  std::optional<model::VariableLock> lock;
};

/// Throws invalid naming the member, never its value.
VariableBody parse_variable(const boost::json::object& body);

/// Without items. The id of a lock is its holder's alone: it is shown to no one else.
std::string encode_metadata(const model::Variable& variable, bool with_lock_id = false);
std::string encode_variable(const model::OpenVariable& variable, bool with_lock_id = false);
/// As an answer is read. Throws invalid as parse_variable does.
model::OpenVariable decode_variable(const boost::json::object& body);

}  // namespace underway::wire
