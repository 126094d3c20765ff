#include "hcl/value.hpp"

#include "base/error.hpp"
#include "base/json/enumerators.hpp"
#include "base/text.hpp"
#include "hcl/detail/unicode.hpp"
#include "hcl/type.hpp"
#include "unicode/unicode.hpp"

#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl {

namespace {

template <class T>
const T& expect(const T* pointer, Kind have, const char* want) {
  if (pointer == nullptr) {
    throw Error(Code::internal,
                fmt::format("an HCL value is a {}, the program took it for a {}", to_string(have), want));
  }
  return *pointer;
}

void check_depth(unsigned depth) {
  if (depth > Value::kMaxDepth) {
    throw Error(Code::too_large, "a value is nested too deeply")
        .because(fmt::format("the limit is {} levels", Value::kMaxDepth));
  }
}

constexpr std::uint64_t kElementWeight = 8;

void check_weight(std::uint64_t weight) {
  if (weight > Value::kMaxWeight) {
    throw Error(Code::too_large, "a value has become too large")
        .because(fmt::format("the limit is {}", human_bytes(Value::kMaxWeight)));
  }
}

void append_type(const Value& value, std::string& out, unsigned level);

void append_types(const Value::List& items, std::string& out, unsigned level) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    if (i == 4) {
      out += "…";
      return;
    }
    append_type(items[i], out, level + 1);
  }
}

void append_members(const Value::Object& members, std::string& out, unsigned level) {
  std::size_t shown = 0;
  for (const auto& [name, member] : members) {
    if (shown > 0) out += ", ";
    if (shown++ == 4) {
      out += "…";
      return;
    }
    out += name.substr(0, 40);
    out += " = ";
    append_type(member, out, level + 1);
  }
}

void append_type(const Value& value, std::string& out, unsigned level) {
  const Kind kind = value.kind();
  out += to_string(kind);
  if (!value.is_sequence() && !value.is_mapping()) return;
  if (level > 2) {
    out += "(…)";
    return;
  }
  if (kind == Kind::tuple) {
    out += "([";
    append_types(value.items(), out, level);
    out += "])";
  } else if (kind == Kind::object) {
    out += "({";
    append_members(value.members(), out, level);
    out += "})";
  } else {
    out += '(';
    const bool none = value.is_mapping() ? value.members().empty() : value.items().empty();
    if (none) {
      out += "any";
    } else {
      append_type(value.is_mapping() ? value.members().begin()->second : value.items().front(), out, level + 1);
    }
    out += ')';
  }
}

void append_literal(const Value& value, std::string& out, std::size_t max) {
  if (out.size() > max) return;
  switch (value.kind()) {
    case Kind::null:
    case Kind::boolean:
    case Kind::number:
      out += to_text(value).value_or("null");
      return;
    case Kind::string:
      out += boost::json::serialize(boost::json::string(std::string_view(value.as_string()).substr(0, max)));
      return;
    case Kind::tuple:
    case Kind::list:
    case Kind::set: {
      out += '[';
      for (const auto& item : value.items()) {
        if (out.size() > max) return;
        if (&item != value.items().data()) out += ", ";
        append_literal(item, out, max);
      }
      out += ']';
      return;
    }
    case Kind::object:
    case Kind::map: {
      out += '{';
      bool first = true;
      for (const auto& [name, member] : value.members()) {
        if (out.size() > max) return;
        if (!first) out += ", ";
        first = false;
        out += name;
        out += " = ";
        append_literal(member, out, max);
      }
      out += '}';
      return;
    }
  }
}

Value from_json(const boost::json::value& json, unsigned depth) {
  check_depth(depth);
  namespace bj = boost::json;
  switch (json.kind()) {
    case bj::kind::null:
      return {};
    case bj::kind::bool_:
      return json.get_bool();
    case bj::kind::int64:
      return json.get_int64();
    case bj::kind::uint64:
      return *Number::parse(std::to_string(json.get_uint64()));
    case bj::kind::double_:
      return Number::from_double(json.get_double());
    case bj::kind::string:
      return std::string(json.get_string());
    case bj::kind::array: {
      Value::List items;
      items.reserve(json.get_array().size());
      for (const auto& item : json.get_array()) items.push_back(from_json(item, depth + 1));
      return Value::tuple(std::move(items));
    }
    case bj::kind::object: {
      Value::Object members;
      for (const auto& member : json.get_object()) {
        members.insert_or_assign(std::string(member.key()), from_json(member.value(), depth + 1));
      }
      return Value::object(std::move(members));
    }
  }
  return {};
}

}  // namespace

std::string_view to_string(Kind kind) {
  constexpr std::string_view kKinds[] = {"null", "bool", "number", "string", "tuple", "list", "set", "object", "map"};
  static_assert(std::size(kKinds) == kEnumerators<Kind>);
  return kKinds[static_cast<std::size_t>(kind)];
}

namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

Value::Value(std::string text)
    : data_(std::make_shared<const std::string>(is_ascii(text) ? std::move(text) : unicode::normalized(text))) {}

Value Value::sequence(List items, Kind kind) {
  unsigned deepest = 0;
  std::uint64_t weight = kElementWeight;
  for (const auto& item : items) {
    deepest = std::max(deepest, item.depth());
    weight += item.weight();
  }
  check_depth(deepest + 1);
  check_weight(weight);
  Value value;
  value.data_ = std::make_shared<const Sequence>(Sequence{std::move(items), kind, deepest + 1, weight, nullptr});
  return value;
}

Value Value::mapping(Object given, Kind kind) {
  Object members;
  if (std::all_of(given.begin(), given.end(), [](const auto& member) { return is_ascii(member.first); })) {
    members = std::move(given);
  } else {
    for (auto& [name, member] : given) members.insert_or_assign(unicode::normalized(name), std::move(member));
  }
  unsigned deepest = 0;
  std::uint64_t weight = kElementWeight;
  for (const auto& [name, member] : members) {
    deepest = std::max(deepest, member.depth());
    weight += name.size() + member.weight();
  }
  check_depth(deepest + 1);
  check_weight(weight);
  Value value;
  value.data_ = std::make_shared<const Mapping>(Mapping{std::move(members), kind, deepest + 1, weight, nullptr});
  return value;
}

Value Value::tuple(List items) { return sequence(std::move(items), Kind::tuple); }
Value Value::list(List items) { return sequence(std::move(items), Kind::list); }

namespace {

/// Of scalars: null behind all others.
bool set_order(const Value& a, const Value& b) {
  if (a.is_null() || b.is_null()) return !a.is_null() && b.is_null();
  return Value::compare(a, b) < 0;
}

/// What cty hashes: containers in a set are ordered by it.
void append_set_key(const Value& value, std::string& key) {
  if (value.is_null()) {
    key += '~';
  } else if (value.is_number()) {
    key += value.as_number().format('g', 10);
  } else if (value.is_bool()) {
    key += value.as_bool() ? 'T' : 'F';
  } else if (value.is_string()) {
    key += detail::go_quote(value.as_string());
  } else if (value.is_mapping()) {
    const bool map = value.kind() == Kind::map;
    key += map ? '{' : '<';
    for (const auto& [name, member] : value.members()) {
      if (map) key += detail::go_quote(name) + ':';
      append_set_key(member, key);
      key += ';';
    }
    key += map ? '}' : '>';
  } else {
    const bool tuple = value.kind() == Kind::tuple;
    key += tuple ? '<' : '[';
    for (const auto& item : value.items()) {
      append_set_key(item, key);
      key += ';';
    }
    key += tuple ? '>' : ']';
  }
}

}  // namespace

Value Value::set(List items) {
  const bool nested = std::any_of(items.begin(), items.end(), [](const Value& item) { return item.depth() > 0; });
  if (!nested) {
    std::sort(items.begin(), items.end(), [](const Value& a, const Value& b) { return set_order(a, b); });
    items.erase(std::unique(items.begin(), items.end()), items.end());
    return sequence(std::move(items), Kind::set);
  }
  std::vector<std::pair<std::string, Value>> keyed;
  keyed.reserve(items.size());
  for (auto& item : items) {
    std::string key;
    append_set_key(item, key);
    keyed.emplace_back(std::move(key), std::move(item));
  }
  std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
    if (a.second.is_null() != b.second.is_null()) return b.second.is_null();
    return a.first < b.first;
  });
  items.clear();
  for (auto& [key, item] : keyed) {
    if (items.empty() || !(items.back() == item)) items.push_back(std::move(item));
  }
  return sequence(std::move(items), Kind::set);
}

Value Value::object(Object members) { return mapping(std::move(members), Kind::object); }
Value Value::map(Object members) { return mapping(std::move(members), Kind::map); }

Value Value::empty(Kind kind, Type element) {
  auto type = std::make_shared<const Type>(std::move(element));
  Value value;
  if (kind == Kind::map) {
    value.data_ = std::make_shared<const Mapping>(Mapping{{}, kind, 1, kElementWeight, std::move(type)});
  } else {
    value.data_ = std::make_shared<const Sequence>(Sequence{{}, kind, 1, kElementWeight, std::move(type)});
  }
  return value;
}

const Type* Value::element_type() const {
  if (is_sequence()) return std::get<4>(data_)->element.get();
  return is_mapping() ? std::get<5>(data_)->element.get() : nullptr;
}

Kind Value::kind() const {
  switch (data_.index()) {
    case 0:
      return Kind::null;
    case 1:
      return Kind::boolean;
    case 2:
      return Kind::number;
    case 3:
      return Kind::string;
    case 4:
      return std::get<4>(data_)->kind;
    default:
      return std::get<5>(data_)->kind;
  }
}

bool Value::is_sequence() const { return data_.index() == 4; }
bool Value::is_mapping() const { return data_.index() == 5; }

bool Value::as_bool() const { return expect(std::get_if<bool>(&data_), kind(), "bool"); }
const Number& Value::as_number() const { return expect(std::get_if<Number>(&data_), kind(), "number"); }
const std::string& Value::as_string() const { return *expect(std::get_if<3>(&data_), kind(), "string"); }
const Value::List& Value::items() const { return expect(std::get_if<4>(&data_), kind(), "sequence")->items; }
const Value::Object& Value::members() const { return expect(std::get_if<5>(&data_), kind(), "mapping")->members; }

const Value* Value::find(std::string_view name) const {
  if (!is_mapping()) return nullptr;
  const auto found = members().find(name);
  return found == members().end() ? nullptr : &found->second;
}

std::strong_ordering Value::compare(const Value& a, const Value& b) {
  if (const auto order = a.kind() <=> b.kind(); order != 0) return order;
  switch (a.kind()) {
    case Kind::null:
      return std::strong_ordering::equal;
    case Kind::boolean:
      return a.as_bool() <=> b.as_bool();
    case Kind::number:
      return a.as_number() <=> b.as_number();
    case Kind::string:
      return a.as_string() <=> b.as_string();
    case Kind::tuple:
    case Kind::list:
    case Kind::set: {
      if (&a.items() == &b.items()) return std::strong_ordering::equal;
      return std::lexicographical_compare_three_way(a.items().begin(), a.items().end(), b.items().begin(),
                                                    b.items().end(), compare);
    }
    case Kind::object:
    case Kind::map: {
      if (&a.members() == &b.members()) return std::strong_ordering::equal;
      const auto by_member = [](const auto& x, const auto& y) {
        const auto order = x.first <=> y.first;
        return order != 0 ? order : compare(x.second, y.second);
      };
      return std::lexicographical_compare_three_way(a.members().begin(), a.members().end(), b.members().begin(),
                                                    b.members().end(), by_member);
    }
  }
  return std::strong_ordering::equal;
}

unsigned Value::depth() const {
  if (is_sequence()) return std::get<4>(data_)->depth;
  if (is_mapping()) return std::get<5>(data_)->depth;
  return 0;
}

std::uint64_t Value::weight() const {
  if (is_sequence()) return std::get<4>(data_)->weight;
  if (is_mapping()) return std::get<5>(data_)->weight;
  if (is_number() && as_number().bits() > 64) return kElementWeight + as_number().bits() * 3 / 10;  // its digits
  return kElementWeight + (is_string() ? as_string().size() : 0);
}

std::string Value::type_name() const {
  std::string out;
  append_type(*this, out, 0);
  return out;
}

boost::json::value to_json(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return nullptr;
    case Kind::boolean:
      return value.as_bool();
    case Kind::number: {
      if (const auto integer = value.as_number().to_int64()) return *integer;
      return value.as_number().to_double();
    }
    case Kind::string:
      return boost::json::string(value.as_string());
    case Kind::tuple:
    case Kind::list:
    case Kind::set: {
      boost::json::array array;
      array.reserve(value.items().size());
      for (const auto& item : value.items()) array.push_back(to_json(item));
      return array;
    }
    case Kind::object:
    case Kind::map: {
      boost::json::object object;
      for (const auto& [name, member] : value.members()) object[name] = to_json(member);
      return object;
    }
  }
  return nullptr;
}

Value from_json(const boost::json::value& json) { return from_json(json, 0); }

std::string describe(const Value& value, std::size_t max) {
  std::string out;
  append_literal(value, out, max);
  if (out.size() <= max) return out;
  while (max > 0 && (static_cast<unsigned char>(out[max]) & 0xc0) == 0x80) --max;
  return out.substr(0, max) + "…";
}

}  // namespace underway::hcl
