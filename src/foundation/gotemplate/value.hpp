#pragma once
/// @file
/// The values that templates work with. They are cheap to copy: long texts, lists and maps are shared. Lists and texts
/// never change. Maps made during a rendering may be changed by it (Sprig's `set`); maps that a caller made may not.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace underway::gotemplate {

class Object;
class Run;
class Value;
struct Function;

using List = std::vector<Value>;
/// Sorted, as Go prints and ranges over maps.
using Map = std::map<std::string, Value, std::less<>>;

/// What Go's type of a list or map says of its elements: []string is another type than []interface {}, and a function
/// that takes one refuses the other. `any` for a map is map[string]interface {}.
enum class Element : std::uint8_t { any, text, integer, list };

enum class Kind : std::uint8_t { nil, boolean, integer, natural, real, text, list, map, object, function };

class Value {
 public:
  /// Lists may be nested this deeply; deeper ones throw Error(too_large).
  static constexpr std::uint32_t kMaxDepth = 200;

  Value() = default;  ///< nil
  /// Go's interface without a value: nil, but its fields are an error. An element of a list or map can be one.
  static Value nil_interface();
  Value(bool value) : data_(value) {}
  Value(int value) : data_(Integer{value, false}) {}
  Value(std::int64_t value) : data_(Integer{value, false}) {}
  Value(std::uint64_t value) : data_(Natural{value, false}) {}
  Value(double value) : data_(value) {}
  Value(std::string_view text);
  Value(const std::string& text) : Value(std::string_view(text)) {}
  Value(std::string&& text);
  Value(const char* text) : Value(std::string_view(text)) {}
  template <class T>
  Value(const T* pointer) = delete;  ///< would become a bool

  /// Go's int64 in place of its int: they differ in their type's name only.
  static Value int64(std::int64_t value);
  /// A byte of a text, Go's uint8.
  static Value byte(unsigned char value);
  static Value list(List items, Element element = Element::any);
  /// Go's nil slice: an empty list that is null in JSON.
  static Value null_list(Element element = Element::any);
  /// Not changeable by templates; Run::map makes those that are.
  static Value map(Map members, Element element = Element::any);
  static Value object(std::shared_ptr<const Object> object);
  static Value function(const Function& function);
  /// `texts` as a []string.
  static Value texts(const std::vector<std::string>& texts);

  Kind kind() const;
  bool is_nil() const { return kind() == Kind::nil; }
  bool is_nil_interface() const { return std::holds_alternative<NilInterface>(data_); }
  bool is_text() const { return kind() == Kind::text; }
  bool is_number() const { return kind() == Kind::integer || kind() == Kind::natural || kind() == Kind::real; }

  // Each asks for its own kind.
  bool as_bool() const { return std::get<bool>(data_); }
  std::int64_t as_integer() const { return std::get<Integer>(data_).value; }
  std::uint64_t as_natural() const { return std::get<Natural>(data_).value; }
  double as_real() const { return std::get<double>(data_); }
  std::string_view as_text() const;
  const List& as_list() const;
  const Map& as_map() const;
  /// Of a list or map.
  Element element() const;
  bool is_null_list() const;
  const Object& as_object() const { return *std::get<std::shared_ptr<const Object>>(data_); }
  const Function& as_function() const { return *std::get<const Function*>(data_); }

  /// The members of a map, or of an object that behaves as one; null for anything else.
  const Map* members() const;
  /// Go's truth: not the zero of its type.
  bool truth() const;
  /// "int", "string", "map[string]interface {}", …
  std::string type_name() const;
  /// Go's reflect.Kind: "int", "slice", "map", "ptr", "invalid", …
  std::string_view kind_name() const;

 private:
  friend class Run;
  struct Integer {
    std::int64_t value;
    bool sized;  ///< int64
  };
  struct NilInterface {};
  struct Natural {
    std::uint64_t value;
    bool byte;  ///< uint8
  };
  /// Texts this short live in the value itself.
  struct ShortText {
    static constexpr std::size_t kCapacity = 22;
    char bytes[kCapacity];
    std::uint8_t size;
  };
  struct ListNode {
    List items;
    std::uint32_t depth;
    Element element;
    bool null;
  };
  struct MapNode {
    Map members;
    const Run* owner;  ///< the rendering that may change it
    Element element;
  };

  std::variant<std::monostate, bool, Integer, Natural, double, ShortText, std::shared_ptr<const std::string>,
               std::shared_ptr<const ListNode>, std::shared_ptr<MapNode>, std::shared_ptr<const Object>,
               const Function*, NilInterface>
      data_;
};

/// Something with named fields and methods, as a struct in Go.
class Object {
 public:
  virtual ~Object() = default;
  /// As Go would print its type: "*dependency.NomadService".
  virtual std::string_view type_name() const = 0;
  /// The field, or the result of the method; nothing when there is neither. A method throws Error to refuse its
  /// arguments; a field given arguments is refused by the caller, which asks takes_arguments.
  virtual std::optional<Value> member(std::string_view name, std::span<const Value> arguments) const = 0;
  virtual bool takes_arguments(std::string_view name) const;
  /// For suggestions.
  virtual std::vector<std::string> member_names() const = 0;
  /// Objects that are maps with methods: `range`, `index`, `len` and `.key` see these.
  virtual const Map* members() const { return nullptr; }
  /// What `.key` is when `members` has no such key.
  virtual Value absent_member() const { return {}; }
  /// What is printed.
  virtual std::string text() const = 0;
  /// What "%#v" prints: Go's syntax.
  virtual std::string source_text() const { return text(); }
  /// Whether `if` takes it.
  virtual bool truth() const { return true; }
  /// What `eq` and `lt` compare: a text of a named type, for instance. Nil: it is compared with itself only.
  virtual Value basic() const { return {}; }
  /// What JSON, YAML and TOML see: no object.
  virtual Value plain() const { return Value(text()); }
};

}  // namespace underway::gotemplate
