#include "hcl/type.hpp"

#include "base/error.hpp"
#include "hcl/detail/unify.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl {

namespace {

Type primitive(Type::Form form) { return {.form = form}; }
using detail::container;

/// Converts one value; `path_` leads from the value that the caller gave to the one at hand.
class Converter {
 public:
  Value run(const Value& value, const Type& type) {
    if (value.is_null()) return value;
    switch (type.form) {
      case Type::Form::any:
        return value;
      case Type::Form::boolean:
        if (const auto flag = to_bool(value)) return *flag;
        fail("a bool is required", value);
      case Type::Form::number:
        if (const auto number = to_number(value)) return *number;
        fail("a number is required", value);
      case Type::Form::string:
        if (value.is_string()) return value;
        if (auto text = to_text(value)) return std::move(*text);
        fail("a string is required", value);
      case Type::Form::list:
        return collection(Kind::list, elements(value, type.elements[0], "a list"), value, type.elements[0]);
      case Type::Form::set:
        return collection(Kind::set, elements(value, type.elements[0], "a set"), value, type.elements[0]);
      case Type::Form::map:
        return map(value, type.elements[0]);
      case Type::Form::tuple:
        return tuple(value, type);
      case Type::Form::object:
        return object(value, type);
    }
    return value;
  }

 private:
  [[noreturn]] void fail(std::string_view need, const Value& value) const {
    std::string have = value.type_name();
    if (value.is_string()) have = fmt::format("the string {}", describe(value, 60));
    if (value.is_number() || value.is_bool()) have = fmt::format("the {} {}", have, describe(value, 60));
    throw Error(Code::invalid, fmt::format("{}{}{}, this is {}", path_, path_.empty() ? "" : ": ", need, have));
  }

  Value at(const std::string& step, const Value& value, const Type& type) {
    const std::size_t length = path_.size();
    path_ += step;
    Value result = run(value, type);
    path_.resize(length);
    return result;
  }

  Value::List elements(const Value& value, const Type& element, std::string_view need) {
    if (!value.is_sequence()) fail(fmt::format("{} is required", need), value);
    const Type target = common(value.items(), element, value);
    Value::List out;
    out.reserve(value.items().size());
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      out.push_back(at(fmt::format("[{}]", i), value.items()[i], target));
    }
    // Of list(list(any)) each inner list has found a type of its own: now they get one.
    if (!element.exact() && element.form != Type::Form::any) {
      const Type common_type = common(out, {}, value);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = at(fmt::format("[{}]", i), out[i], common_type);
    }
    return out;
  }

  Value map(const Value& value, const Type& element) {
    if (!value.is_mapping()) fail("a map is required", value);
    if (value.members().empty()) return none(Kind::map, value, element);
    Value::List items;
    for (const auto& member : value.members()) items.push_back(member.second);
    const Type target = common(items, element, value, true);
    Value::Object out;
    for (const auto& [name, member] : value.members()) {
      out.emplace_hint(out.end(), name, at(fmt::format("[\"{}\"]", name), member, target));
    }
    if (!element.exact() && element.form != Type::Form::any) {
      Value::List made;
      for (const auto& member : out) made.push_back(member.second);
      const Type common_type = common(made, {}, value, true);
      for (auto& member : out) member.second = at(fmt::format("[\"{}\"]", member.first), member.second, common_type);
    }
    return Value::map(std::move(out));
  }

  Value collection(Kind kind, Value::List items, const Value& from, const Type& element) {
    if (items.empty()) return none(kind, from, element);
    return kind == Kind::list ? Value::list(std::move(items)) : Value::set(std::move(items));
  }

  /// Of an empty list that becomes one of `any`, the elements keep their type.
  Value none(Kind kind, const Value& from, const Type& element) const {
    const Type* known = from.kind() == Kind::tuple || from.kind() == Kind::object ? nullptr : from.element_type();
    if (known != nullptr && !detail::convertible(*known, element)) fail("other elements are required", from);
    return Value::empty(kind, element.form == Type::Form::any && known != nullptr ? *known : element);
  }

  /// `any` as the element type stands for the one type that all elements can have. Beside containers a null has none,
  /// and a map then holds elements that are of one type as they are.
  Type common(const Value::List& items, const Type& element, const Value& whole, bool map = false) {
    if (element.form != Type::Form::any || items.empty()) return element;
    std::vector<Type> types;
    types.reserve(items.size());
    for (const auto& item : items) types.push_back(type_of(item));
    auto unified = unify(types);
    if (unified && unified->form != Type::Form::any) return std::move(*unified);
    std::erase_if(types, [](const Type& type) { return type.form == Type::Form::any; });
    if (unified && types.empty()) return {};
    const bool alike =
        std::all_of(types.begin(), types.end(), [&](const Type& type) { return detail::same(type, types[0]); });
    if (!unified || !map || !alike) fail("elements of one type are required", whole);
    return types[0];
  }

  Value tuple(const Value& value, const Type& type) {
    if (value.kind() != Kind::tuple || value.items().size() != type.elements.size()) {
      fail(fmt::format("a tuple of {} elements is required", type.elements.size()), value);
    }
    Value::List out;
    for (std::size_t i = 0; i < type.elements.size(); ++i) {
      out.push_back(at(fmt::format("[{}]", i), value.items()[i], type.elements[i]));
    }
    return Value::tuple(std::move(out));
  }

  Value object(const Value& value, const Type& type) {
    if (!value.is_mapping()) fail("an object is required", value);
    Value::Object out;
    for (const auto& [name, member] : type.members) {
      const Value* have = value.find(name);
      if (have == nullptr && !member.optional) fail(fmt::format("attribute '{}' is required", name), value);
      if ((have == nullptr || have->is_null()) && member.standard) {
        out.emplace(name, *member.standard);
      } else {
        out.emplace(name, have == nullptr ? Value() : at("." + name, *have, member.type));
      }
    }
    return Value::object(std::move(out));
  }

  std::string path_;
};

}  // namespace

std::string Type::to_string() const {
  switch (form) {
    case Form::any:
      return "any";
    case Form::boolean:
      return "bool";
    case Form::number:
      return "number";
    case Form::string:
      return "string";
    case Form::list:
      return fmt::format("list({})", elements[0].to_string());
    case Form::set:
      return fmt::format("set({})", elements[0].to_string());
    case Form::map:
      return fmt::format("map({})", elements[0].to_string());
    case Form::tuple: {
      std::string out = "tuple([";
      for (const auto& element : elements) out += (&element == elements.data() ? "" : ", ") + element.to_string();
      return out + "])";
    }
    case Form::object: {
      std::string out = "object({";
      const char* separator = "";
      for (const auto& [name, member] : members) {
        out += separator;
        separator = ", ";
        const std::string type = member.type.to_string();
        if (!member.optional) {
          out += fmt::format("{} = {}", name, type);
        } else if (member.standard) {
          out += fmt::format("{} = optional({}, {})", name, type, describe(*member.standard));
        } else {
          out += fmt::format("{} = optional({})", name, type);
        }
      }
      return out + "})";
    }
  }
  return "any";
}

bool Type::exact() const {
  if (form == Form::any) return false;
  return std::all_of(elements.begin(), elements.end(), [](const Type& t) { return t.exact(); }) &&
         std::all_of(members.begin(), members.end(), [](const auto& m) { return m.second.type.exact(); });
}

namespace {

/// Of the first element that is not null.
Type element_of(const Value& collection) {
  if (const Type* known = collection.element_type()) return *known;
  if (collection.is_mapping()) {
    for (const auto& member : collection.members()) {
      if (!member.second.is_null()) return type_of(member.second);
    }
    return {};
  }
  for (const auto& item : collection.items()) {
    if (!item.is_null()) return type_of(item);
  }
  return {};
}

}  // namespace

Type type_of(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return {};
    case Kind::boolean:
      return primitive(Type::Form::boolean);
    case Kind::number:
      return primitive(Type::Form::number);
    case Kind::string:
      return primitive(Type::Form::string);
    case Kind::list:
    case Kind::set: {
      const Type::Form form = value.kind() == Kind::list ? Type::Form::list : Type::Form::set;
      return container(form, element_of(value));
    }
    case Kind::map:
      return container(Type::Form::map, element_of(value));
    case Kind::tuple: {
      Type type{.form = Type::Form::tuple};
      for (const auto& item : value.items()) type.elements.push_back(type_of(item));
      return type;
    }
    case Kind::object: {
      Type type{.form = Type::Form::object};
      for (const auto& [name, member] : value.members())
        type.members.emplace(name, Type::Member{type_of(member), false, {}});
      return type;
    }
  }
  return {};
}

Value convert(const Value& value, const Type& type) { return Converter().run(value, type); }

std::optional<std::string> to_text(const Value& value) {
  switch (value.kind()) {
    case Kind::string:
      return value.as_string();
    case Kind::number:
      return value.as_number().to_string();
    case Kind::boolean:
      return value.as_bool() ? "true" : "false";
    default:
      return std::nullopt;
  }
}

std::optional<bool> to_bool(const Value& value) {
  if (value.is_bool()) return value.as_bool();
  if (!value.is_string()) return std::nullopt;
  if (value.as_string() == "true" || value.as_string() == "1") return true;
  if (value.as_string() == "false" || value.as_string() == "0") return false;
  return std::nullopt;
}

std::optional<Number> to_number(const Value& value) {
  if (value.is_number()) return value.as_number();
  return value.is_string() ? Number::parse(value.as_string()) : std::nullopt;
}

}  // namespace underway::hcl
