#pragma once
/// @file
/// Constraints: whether a node satisfies one, and whether one makes sense at all. Every operator of Nomad's job
/// specification; `distinct_hosts` and `distinct_property` concern a job's other allocations and are the scheduler's.

#include "model/node/node.hpp"

#include <optional>
#include <string>

namespace underway::scheduler {

/// Whether `node` satisfies `constraint`. Ordering compares as integers, else as floats, else as text; `!=` also holds
/// when the attribute is missing, every other comparison then fails; an unknown operator holds nowhere. The distinct_*
/// operators hold everywhere: they are no property of a node.
/// Thread: any. Compiled regular expressions are cached per thread.
bool holds(const model::Constraint& constraint, const model::Node& node);

/// What is wrong with the constraint (unknown operator with the nearest one, a regular expression or version that does
/// not parse, a missing side), or nothing.
std::optional<std::string> validate(const model::Constraint& constraint);

/// As Nomad prints it: "${attr.kernel.name} = linux", "distinct_hosts".
std::string in_words(const model::Constraint& constraint);

/// Whether it names a `unique.` property, so that nodes of one computed class can differ in it.
bool escapes_class(const model::Constraint& constraint);

/// Whether it is distinct_hosts or distinct_property.
bool is_distinct(const model::Constraint& constraint);

}  // namespace underway::scheduler
