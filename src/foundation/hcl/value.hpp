#pragma once
/// @file
/// What expressions evaluate to. Texts and names are in Unicode's normal form C. Values are immutable and cheap to copy
/// (containers and strings are shared). Kinds follow HCL's information model: literals make tuples and objects; lists,
/// sets and maps (elements of one type) come from conversion and from functions.

#include "hcl/number.hpp"

#include <boost/json/value.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace underway::hcl {

enum class Kind : std::uint8_t { null, boolean, number, string, tuple, list, set, object, map };
/// As written in type constraints: "bool", "string", "tuple"…
std::string_view to_string(Kind kind);

struct Type;

class Value {
 public:
  using List = std::vector<Value>;
  using Object = std::map<std::string, Value, std::less<>>;
  /// Deepest nesting; building a deeper value throws Error(too_large).
  static constexpr unsigned kMaxDepth = 200;
  /// Largest weight(); building a heavier value throws Error(too_large). Shared parts count as often as they occur, so
  /// whatever walks or prints a value is bounded too.
  static constexpr std::uint64_t kMaxWeight = 64ull * 1024 * 1024;

  Value() = default;                                          ///< null
  Value(bool value) : data_(value) {}                         // NOLINT(google-explicit-constructor)
  Value(int value) : data_(Number(value)) {}                  // NOLINT(google-explicit-constructor)
  Value(std::int64_t value) : data_(Number(value)) {}         // NOLINT(google-explicit-constructor)
  Value(Number value) : data_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
  Value(std::string text);                                    // NOLINT(google-explicit-constructor)
  Value(std::string_view text) : Value(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Value(const char* text) : Value(std::string(text)) {}       // NOLINT(google-explicit-constructor)
  static Value tuple(List items);
  static Value list(List items);
  /// In HCL's order (by value; null last, containers by their text), duplicates removed.
  static Value set(List items);
  static Value object(Object members);
  static Value map(Object members);
  /// An empty list, set or map that knows the type of the elements it lacks.
  static Value empty(Kind kind, Type element);
  /// That type; null when it is not known or there are elements to ask.
  const Type* element_type() const;

  Kind kind() const;
  bool is_null() const { return kind() == Kind::null; }
  bool is_bool() const { return kind() == Kind::boolean; }
  bool is_number() const { return kind() == Kind::number; }
  bool is_string() const { return kind() == Kind::string; }
  bool is_sequence() const;  ///< tuple, list or set
  bool is_mapping() const;   ///< object or map

  /// The kind must fit (a wrong guess is our bug: throws Error(internal)).
  bool as_bool() const;
  const Number& as_number() const;
  const std::string& as_string() const;
  const List& items() const;      ///< of a tuple, list or set
  const Object& members() const;  ///< of an object or map
  /// The member called `name`; null pointer when absent or when this is no mapping.
  const Value* find(std::string_view name) const;

  /// HCL's equality: same kind and equal contents (a list is never equal to a tuple).
  friend bool operator==(const Value& a, const Value& b) {
    return a.is_number() && b.is_number() ? a.as_number() == b.as_number() : compare(a, b) == 0;
  }
  /// A total order (for sets): by kind, then by contents.
  static std::strong_ordering compare(const Value& a, const Value& b);
  unsigned depth() const;        ///< 0 for scalars
  std::uint64_t weight() const;  ///< about the bytes of it written out
  /// The type as a constraint: `list(string)`, `object({a = number})`; long ones are cut with "…".
  std::string type_name() const;

 private:
  struct Sequence {
    List items;
    Kind kind;
    unsigned depth;
    std::uint64_t weight;
    std::shared_ptr<const Type> element{};
  };
  struct Mapping {
    Object members;
    Kind kind;
    unsigned depth;
    std::uint64_t weight;
    std::shared_ptr<const Type> element{};
  };
  static Value sequence(List items, Kind kind);
  static Value mapping(Object given, Kind kind);

  std::variant<std::monostate, bool, Number, std::shared_ptr<const std::string>, std::shared_ptr<const Sequence>,
               std::shared_ptr<const Mapping>>
      data_;
};

/// Numbers beyond 64 bits become doubles when `value` is a fraction or too large (as JSON readers see them); bytes
/// that are not UTF-8 stay as they are.
boost::json::value to_json(const Value& value);
/// Objects become objects, arrays tuples. Throws Error(too_large) when nested too deeply.
Value from_json(const boost::json::value& json);

/// For people and tests: HCL literal syntax on one line, cut after `max` bytes.
std::string describe(const Value& value, std::size_t max = 200);

}  // namespace underway::hcl
