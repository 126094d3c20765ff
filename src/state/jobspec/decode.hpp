#pragma once
/// @file
/// From an HCL body, native or JSON, to any described struct (base/json/describe.hpp). Used for job files, cluster
/// files, the agent's configuration and policies. Everything wrong in the body is reported, each at its place; what
/// could be read is in the object nevertheless.
///
/// Conversions: numbers, bools and strings into each other by HCL's rules; durations from "30s" or integer nanoseconds;
/// a null attribute counts as not given. A block that may stand once and stands twice is an error that names the first.

#include "base/json/describe.hpp"
#include "hcl/body.hpp"
#include "hcl/context.hpp"
#include "jobspec/given.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace underway::jobspec {

/// Where the object being decoded stands, for extensions.
struct Site {
  const hcl::Body& body;
  hcl::Range header;            ///< type and labels of its block; the file when there is none
  const hcl::Content& content;  ///< all that was found: described names and the extension's
  const hcl::Context& context;
  hcl::Diagnostics& diagnostics;
  Given* given = nullptr;  ///< of this object, where somebody wants to know
};

/// What a language has beyond the fields of one structure: other names for them, sugar, and names it refuses.
struct Extension {
  std::vector<std::string> attributes{};   ///< further attributes
  std::vector<hcl::BlockSchema> blocks{};  ///< further blocks
  /// Names that are understood and refused, with the reason: "`x` is not supported: there is no … here".
  std::vector<std::pair<std::string, std::string>> refused{};
  /// Called before the first field of an object is read: for defaults that depend on what is around it.
  std::function<void(void* object)> prepare{};
  /// Called after the last.
  std::function<void(void* object, const Site&)> finish{};
};

/// Extensions by Structure::name.
using Dialect = std::map<std::string, Extension, std::less<>>;

/// Reads `body` into `object`, which is of the described type and holds its defaults. Label fields are the caller's.
void decode(const hcl::Body& body, const describe::Structure& structure, void* object, const hcl::Context& context,
            hcl::Diagnostics& diagnostics, const Dialect& dialect = {});
/// The same for a block: its labels go into the label fields. What was written is noted in `given`.
void decode(const hcl::Block& block, const describe::Structure& structure, void* object, const hcl::Context& context,
            hcl::Diagnostics& diagnostics, const Dialect& dialect = {}, Given* given = nullptr);
/// One value into one field's type; `what` names it in messages: "attribute 'count'".
void decode_value(const hcl::Value& value, const describe::Type& type, void* target, const hcl::Range& range,
                  const std::string& what, hcl::Diagnostics& diagnostics);

template <class T>
T decode(const hcl::Body& body, const hcl::Context& context, hcl::Diagnostics& diagnostics,
         const Dialect& dialect = {}) {
  T object{};
  decode(body, describe::structure_of<T>(), &object, context, diagnostics, dialect);
  return object;
}

/// The block schema of a field of Form::block or block_or_attribute, with its labels.
hcl::BlockSchema block_schema(const describe::Field& field);

}  // namespace underway::jobspec
