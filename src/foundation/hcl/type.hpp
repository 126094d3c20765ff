#pragma once
/// @file
/// Types and conversion, by the rules of HCL's information model.

#include "hcl/diagnostic.hpp"
#include "hcl/value.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underway::hcl {

class Expression;

struct Type {
  enum class Form : std::uint8_t { any, boolean, number, string, list, set, map, tuple, object };
  struct Member;

  Form form = Form::any;
  std::vector<Type> elements;               ///< list, set, map: exactly one; tuple: one per position
  std::map<std::string, Member> members{};  ///< object

  /// As written: "list(string)", "object({a = optional(number, 5)})".
  std::string to_string() const;
  /// Whether `any` occurs nowhere in it.
  bool exact() const;
};

struct Type::Member {
  Type type;
  bool optional = false;
  std::optional<Value> standard;  ///< the default: optional(string, "x")
};

/// Whether a type constraint may hold `any` and `optional(…)`; Nomad's job files may not.
enum class TypeRules : std::uint8_t { exact, liberal };

/// Reads a type constraint, e.g. `map(object({ port = number }))`; `"string"` in quotes is accepted as HCL-JSON needs
/// it.
std::optional<Type> parse_type(const Expression& expression, TypeRules rules, Diagnostics& diagnostics);

/// The most specific type of `value`.
Type type_of(const Value& value);

/// `value` as `type`: scalars convert through their text ("8080" ⇄ 8080, true ⇄ "true"), tuples to lists and sets,
/// objects to maps and to objects with fewer members; null stays null. Throws Error(invalid) that says which element
/// does not fit: "[2].port: a bool is required, have a string".
Value convert(const Value& value, const Type& type);
/// The string that `value` stands for in a template; nothing for containers and null.
std::optional<std::string> to_text(const Value& value);
/// "true"/"false" and numbers as text convert; nothing otherwise.
std::optional<bool> to_bool(const Value& value);
std::optional<Number> to_number(const Value& value);

/// One type for all of them, as conditionals and list-building functions need it: objects of different shapes become
/// maps, mixed scalars strings. Nothing when there is none.
std::optional<Type> unify(const std::vector<Type>& types);

}  // namespace underway::hcl
