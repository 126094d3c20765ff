#pragma once
/// @file
/// Rendering a parsed template. A template is untrusted: what it may spend is limited, and whatever it does ends as a
/// text, as a list of what is missing, or as an Error that shows the place.

#include <functional>

#include "base/clock.hpp"
#include "gotemplate/data_source.hpp"
#include "gotemplate/parse.hpp"
#include "gotemplate/value.hpp"

namespace underway::gotemplate {

struct Limits {
  std::size_t output = 16U << 20;    ///< bytes of the text
  std::uint64_t steps = 10'000'000;  ///< nodes walked, calls made, values visited: seconds at most
  std::size_t values = 128U << 20;   ///< bytes of all values that are made, also those dropped again
  unsigned depth = 1000;             ///< blocks, calls of templates and parentheses inside each other
};

/// What `.key` does when a map has no such key (Go's option "missingkey").
enum class MissingKey : std::uint8_t {
  keep,   ///< nil, printed as "<no value>"; so are its own fields
  zero,   ///< the same, but its fields are an error: what consul-template asks for
  error,  ///< the rendering fails
};

struct Inputs {
  Value data;                    ///< the dot, and `$`
  DataSource* source = nullptr;  ///< null: functions that need data refuse
  const Clock* clock = nullptr;  ///< null: functions that tell the time refuse
  /// The bytes of another file by its name, or nothing: for a function of the caller's own that takes it in.
  std::function<std::optional<std::string>(const std::string&)> include = {};
  MissingKey missing_key = MissingKey::keep;
  Limits limits{};
};

struct Rendering {
  /// Absent when something is missing.
  std::optional<std::string> text;
  /// What is not there yet, as consul-template spells it: "nomad.var.block(nomad/jobs/x@default.global)".
  std::vector<std::string> missing;
  Dependencies dependencies;
};

/// Errors: invalid in Go's words ("template: NAME:LINE:COLUMN: executing …"), the line as the reason; too_large when a
/// limit is reached; what the source and the functions throw, wrapped the same way. An error that follows something
/// missing is not thrown: it would be about values that are not there yet.
/// Thread: any; one Template may be rendered by several at once. Blocks: as the source does.
Rendering render(const Template& entry, const Inputs& inputs);

}  // namespace underway::gotemplate
