#pragma once
/// @file
/// The one description of a struct. It is written once per struct, in one .cpp, with Builder, and it drives the JSON of
/// the wire and of the store (base/json/json.hpp), decoding from HCL (state/jobspec), equality, the plan's diff and the
/// generated reference. The description is data: codecs walk it, so none of them is instantiated per struct.
///
/// A struct takes part by one declaration beside it, found by argument-dependent lookup:
///     const describe::Structure& description(describe::Tag<Job>);
/// and an enumeration by
///     const describe::Enumeration& description(describe::Tag<JobType>);
/// Members may be bool, std::int64_t, double, std::string, Duration, described enumerations and structs,
/// boost::json::value (anything), and std::optional, std::vector and std::map<std::string, …> of these.

#include "base/clock.hpp"
#include "base/json/enumerators.hpp"

#include <boost/json/value.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace underway::describe {

template <class T>
struct Tag {};

enum class Kind : std::uint8_t {
  boolean,
  integer,
  number,
  string,
  duration,
  enumeration,
  any,
  optional,
  list,
  map,
  structure
};

struct Structure;
struct Enumeration;

/// A member's type, erased. All pointers passed to the operations point at a value of exactly this type.
struct Type {
  Kind kind = Kind::any;
  const Type* element = nullptr;                  ///< of optional, list and map
  const Structure& (*structure)() = nullptr;      ///< of structure
  const Enumeration& (*enumeration)() = nullptr;  ///< of enumeration

  std::size_t (*size)(const void*) = nullptr;                          ///< list, map; optional: 0 or 1
  void* (*at)(void*, std::size_t) = nullptr;                           ///< list; optional: index 0
  void* (*append)(void*) = nullptr;                                    ///< list, optional: a default element, in place
  void* (*insert)(void*, std::string key) = nullptr;                   ///< map: existing or default element
  const void* (*find)(const void*, const std::string& key) = nullptr;  ///< map: null when absent
  void (*clear)(void*) = nullptr;                                      ///< optional, list, map
  /// map: calls visit(context, key, element) in key order
  void (*each)(const void*, void* context, void (*visit)(void*, const std::string&, const void*)) = nullptr;

  const void* element_at(const void* value, std::size_t index) const { return at(const_cast<void*>(value), index); }
};

/// How a field is written in HCL.
enum class Form : std::uint8_t {
  wire,                ///< not in HCL: JSON only
  label,               ///< the block's label
  attribute,           ///< name = value
  block,               ///< name { … }, repeated for lists
  block_or_attribute,  ///< name { … } or name = { … } (env, meta, config)
};

/// What a change of the field means for running allocations (facts: `tasksUpdated`).
enum class Change : std::uint8_t { in_place, destructive };

/// What something is, for OpenAPI, help and reference. It says something: the compiler refuses an empty one.
class Sentence {
 public:
  consteval Sentence(const char* text) : text_(text) {  // NOLINT(google-explicit-constructor): literals are sentences
    if (text_.empty()) throw "a description says something";
  }
  constexpr operator std::string_view() const { return text_; }  // NOLINT(google-explicit-constructor)

 private:
  std::string_view text_;
};

struct Field {
  std::string_view hcl;  ///< name in HCL; empty for Form::wire
  /// Name on the wire; empty when the field never travels. "Shared.DiskMB" is DiskMB in an object Shared: the wire may
  /// nest, one level deep, what the struct holds flat. Fields that share such an object stand beside each other.
  std::string_view json;
  std::string_view doc;  ///< one sentence for the reference
  Form form = Form::wire;
  Change change = Change::in_place;
  bool required = false;
  bool time = false;  ///< an integer of nanoseconds since the epoch that travels as RFC 3339
  const Type* type = nullptr;
  void* (*get)(void*) = nullptr;

  const void* in(const void* object) const { return get(const_cast<void*>(object)); }
};

struct Structure {
  std::string_view name;  ///< the block's name in HCL, or the type's name on the wire
  std::string_view doc;
  std::vector<Field> fields;
  /// A default-constructed value, against which `compact` encoding and the reference's defaults compare.
  const void* (*defaults)() = nullptr;

  const Field* find_hcl(std::string_view hcl_name) const;
  /// Exact, else ignoring case, as Go's decoder does.
  const Field* find_json(std::string_view json_name) const;
  /// Whether the wire nests fields below `json_name`.
  bool nests(std::string_view json_name) const;
};

struct Enumeration {
  struct Value {
    std::int64_t value;
    std::string_view name;  ///< the spelling on the wire
  };
  std::string_view name;
  std::vector<Value> values;
  std::int64_t (*get)(const void*) = nullptr;
  void (*set)(void*, std::int64_t) = nullptr;

  std::optional<std::int64_t> parse(std::string_view text) const;
  std::string_view spell(std::int64_t value) const;
  std::vector<std::string> names() const;
};

namespace detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

template <class T>
constexpr Type make_type();

}  // namespace detail

template <class T>
inline constexpr Type kType = detail::make_type<T>();

template <class T>
const Type& type_of() {
  return kType<T>;
}

/// The description of T itself.
template <class T>
const Structure& structure_of() {
  return description(Tag<T>{});
}

namespace detail {

template <class O>
constexpr void fill_optional(Type& t) {
  t.kind = Kind::optional;
  t.element = &kType<typename O::value_type>;
  t.size = [](const void* v) -> std::size_t { return static_cast<const O*>(v)->has_value() ? 1 : 0; };
  t.at = [](void* v, std::size_t) -> void* { return &**static_cast<O*>(v); };
  t.append = [](void* v) -> void* { return &static_cast<O*>(v)->emplace(); };
  t.clear = [](void* v) { static_cast<O*>(v)->reset(); };
}

template <class L>
constexpr void fill_list(Type& t) {
  t.kind = Kind::list;
  t.element = &kType<typename L::value_type>;
  t.size = [](const void* v) { return static_cast<const L*>(v)->size(); };
  t.at = [](void* v, std::size_t i) -> void* { return &(*static_cast<L*>(v))[i]; };
  t.append = [](void* v) -> void* { return &static_cast<L*>(v)->emplace_back(); };
  t.clear = [](void* v) { static_cast<L*>(v)->clear(); };
}

template <class M>
constexpr void fill_map(Type& t) {
  t.kind = Kind::map;
  t.element = &kType<typename M::mapped_type>;
  t.size = [](const void* v) { return static_cast<const M*>(v)->size(); };
  t.insert = [](void* v, std::string key) -> void* { return &(*static_cast<M*>(v))[std::move(key)]; };
  t.find = [](const void* v, const std::string& key) -> const void* {
    const auto it = static_cast<const M*>(v)->find(key);
    return it == static_cast<const M*>(v)->end() ? nullptr : &it->second;
  };
  t.clear = [](void* v) { static_cast<M*>(v)->clear(); };
  t.each = [](const void* v, void* context, void (*visit)(void*, const std::string&, const void*)) {
    for (const auto& [key, element] : *static_cast<const M*>(v)) visit(context, key, &element);
  };
}

template <class T>
constexpr Type make_type() {
  Type t;
  if constexpr (std::is_same_v<T, bool>)
    t.kind = Kind::boolean;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    t.kind = Kind::integer;
  else if constexpr (std::is_same_v<T, double>)
    t.kind = Kind::number;
  else if constexpr (std::is_same_v<T, std::string>)
    t.kind = Kind::string;
  else if constexpr (std::is_same_v<T, Duration>)
    t.kind = Kind::duration;
  else if constexpr (std::is_same_v<T, boost::json::value>)
    t.kind = Kind::any;
  else if constexpr (std::is_enum_v<T>) {
    t.kind = Kind::enumeration;
    t.enumeration = []() -> const Enumeration& { return description(Tag<T>{}); };
  } else if constexpr (IsOptional<T>::value)
    fill_optional<T>(t);
  else if constexpr (IsList<T>::value)
    fill_list<T>(t);
  else if constexpr (IsMap<T>::value)
    fill_map<T>(t);
  else {
    t.kind = Kind::structure;
    t.structure = []() -> const Structure& { return description(Tag<T>{}); };
  }
  return t;
}

template <class>
struct MemberOf;
template <class C, class V>
struct MemberOf<V C::*> {
  using Class = C;
  using Value = V;
};

}  // namespace detail

/// Writes a Structure, field by field, in the order of the wire and of the reference.
template <class T>
class Builder {
 public:
  Builder(std::string_view name, Sentence doc) {
    structure_.name = name;
    structure_.doc = doc;
    structure_.defaults = []() -> const void* {
      static const T value{};
      return &value;
    };
  }

  template <auto Member>
  Builder& label(std::string_view hcl, std::string_view json, Sentence doc) {
    add<Member>(hcl, json, doc, Form::label);
    structure_.fields.back().required = true;
    return *this;
  }
  template <auto Member>
  Builder& attribute(std::string_view hcl, std::string_view json, Sentence doc) {
    return add<Member>(hcl, json, doc, Form::attribute);
  }
  template <auto Member>
  Builder& block(std::string_view hcl, std::string_view json, Sentence doc) {
    return add<Member>(hcl, json, doc, Form::block);
  }
  template <auto Member>
  Builder& block_or_attribute(std::string_view hcl, std::string_view json, Sentence doc) {
    return add<Member>(hcl, json, doc, Form::block_or_attribute);
  }
  template <auto Member>
  Builder& wire(std::string_view json, Sentence doc) {
    return add<Member>({}, json, doc, Form::wire);
  }
  /// The field added last must be given in HCL.
  Builder& required() {
    structure_.fields.back().required = true;
    return *this;
  }
  /// The field added last, an integer of nanoseconds since the epoch, travels as RFC 3339; 0 is Go's zero time.
  Builder& time() {
    structure_.fields.back().time = true;
    return *this;
  }
  /// A change of the field added last replaces running allocations.
  Builder& destructive() {
    structure_.fields.back().change = Change::destructive;
    return *this;
  }
  Structure done() { return std::move(structure_); }

 private:
  template <auto Member>
  Builder& add(std::string_view hcl, std::string_view json, Sentence doc, Form form) {
    using Value = typename detail::MemberOf<decltype(Member)>::Value;
    Field field;
    field.hcl = hcl;
    field.json = json;
    field.doc = doc;
    field.form = form;
    field.type = &kType<Value>;
    field.get = [](void* object) -> void* { return &(static_cast<T*>(object)->*Member); };
    structure_.fields.push_back(field);
    return *this;
  }

  Structure structure_;
};

/// Describes an enumeration: its enumerators are spelled on the wire as in the program, but for `others`. Who renames
/// one renames it on the wire and in the store.
template <class E>
Enumeration enumeration(std::string_view name, std::initializer_list<std::pair<E, std::string_view>> others = {}) {
  Enumeration e;
  e.name = name;
  for (std::size_t i = 0; i < kEnumerators<E>; ++i) e.values.push_back({static_cast<std::int64_t>(i), kNamesOf<E>[i]});
  for (const auto& [value, spelling] : others) e.values.at(static_cast<std::size_t>(value)).name = spelling;
  e.get = [](const void* v) { return static_cast<std::int64_t>(*static_cast<const E*>(v)); };
  e.set = [](void* v, std::int64_t value) { *static_cast<E*>(v) = static_cast<E>(value); };
  return e;
}

/// The wire's spelling of an enumerator of a described enumeration.
template <class E>
std::string_view spell(E value) {
  return description(Tag<E>{}).spell(static_cast<std::int64_t>(value));
}

/// Deep equality by description.
bool equal(const Type& type, const void* a, const void* b);
template <class T>
bool equal(const T& a, const T& b) {
  return equal(kType<T>, &a, &b);
}

}  // namespace underway::describe
