#include "hcl/type.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl {

namespace {

bool is_primitive(const Type& type) {
  return type.form == Type::Form::boolean || type.form == Type::Form::number || type.form == Type::Form::string;
}

Type primitive(Type::Form form) { return {.form = form}; }
Type container(Type::Form form, Type element) {
  Type type{.form = form};
  type.elements.push_back(std::move(element));
  return type;
}

bool same(const Type& a, const Type& b) {
  if (a.form != b.form || a.elements.size() != b.elements.size() || a.members.size() != b.members.size()) return false;
  if (!std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), same)) return false;
  return std::equal(a.members.begin(), a.members.end(), b.members.begin(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.optional == y.second.optional && same(x.second.type, y.second.type);
  });
}

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
        return Value::list(elements(value, type.elements[0], "a list"));
      case Type::Form::set:
        return Value::set(elements(value, type.elements[0], "a set"));
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
    return out;
  }

  Value map(const Value& value, const Type& element) {
    if (!value.is_mapping()) fail("a map is required", value);
    Value::List items;
    for (const auto& member : value.members()) items.push_back(member.second);
    const Type target = common(items, element, value);
    Value::Object out;
    for (const auto& [name, member] : value.members()) {
      out.emplace_hint(out.end(), name, at(fmt::format("[\"{}\"]", name), member, target));
    }
    return Value::map(std::move(out));
  }

  /// `any` as the element type stands for the one type that all elements can have.
  Type common(const Value::List& items, const Type& element, const Value& whole) {
    if (element.form != Type::Form::any) return element;
    std::vector<Type> types;
    types.reserve(items.size());
    for (const auto& item : items) types.push_back(type_of(item));
    auto unified = unify(types);
    if (!unified) fail("elements of one type are required", whole);
    return *unified;
  }

  Value tuple(const Value& value, const Type& type) {
    if (!value.is_sequence() || value.kind() == Kind::set || value.items().size() != type.elements.size()) {
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

std::optional<Type> unify_all(const std::vector<const Type*>& types);

std::optional<Type> unify_tuples(const std::vector<const Type*>& types) {
  const std::size_t size = types[0]->elements.size();
  const bool equal_size =
      std::all_of(types.begin(), types.end(), [&](const Type* t) { return t->elements.size() == size; });
  if (equal_size) {
    Type result{.form = Type::Form::tuple};
    for (std::size_t i = 0; i < size; ++i) {
      std::vector<const Type*> column;
      for (const Type* type : types) column.push_back(&type->elements[i]);
      auto element = unify_all(column);
      if (!element) break;
      result.elements.push_back(std::move(*element));
    }
    if (result.elements.size() == size) return result;
  }
  std::vector<const Type*> every;
  for (const Type* type : types) {
    for (const auto& element : type->elements) every.push_back(&element);
  }
  auto element = unify_all(every);
  return element ? std::optional(container(Type::Form::list, std::move(*element))) : std::nullopt;
}

bool same_names(const Type& a, const Type& b) {
  return std::equal(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

std::optional<Type> unify_objects(const std::vector<const Type*>& types) {
  if (std::all_of(types.begin(), types.end(), [&](const Type* t) { return same_names(*types[0], *t); })) {
    Type result{.form = Type::Form::object};
    for (const auto& [name, member] : types[0]->members) {
      std::vector<const Type*> column;
      for (const Type* type : types) column.push_back(&type->members.at(name).type);
      auto unified = unify_all(column);
      if (!unified) break;
      result.members.emplace(name, Type::Member{std::move(*unified), false, std::nullopt});
    }
    if (result.members.size() == types[0]->members.size()) return result;
  }
  std::vector<const Type*> every;
  for (const Type* type : types) {
    for (const auto& member : type->members) every.push_back(&member.second.type);
  }
  auto element = unify_all(every);
  return element ? std::optional(container(Type::Form::map, std::move(*element))) : std::nullopt;
}

/// list with tuple, set with list or tuple, map with object: the collection wins.
std::optional<Type> unify_collections(const std::vector<const Type*>& types) {
  const auto is = [&](Type::Form form) {
    return std::any_of(types.begin(), types.end(), [&](const Type* t) { return t->form == form; });
  };
  const bool mapping = is(Type::Form::map) || is(Type::Form::object);
  const bool sequence = is(Type::Form::list) || is(Type::Form::set) || is(Type::Form::tuple);
  if (mapping == sequence) return std::nullopt;
  std::vector<const Type*> every;
  for (const Type* type : types) {
    if (is_primitive(*type)) return std::nullopt;
    for (const auto& element : type->elements) every.push_back(&element);
    for (const auto& member : type->members) every.push_back(&member.second.type);
  }
  auto element = unify_all(every);
  if (!element) return std::nullopt;
  const Type::Form form = mapping                                        ? Type::Form::map
                          : is(Type::Form::list) || !is(Type::Form::set) ? Type::Form::list
                                                                         : Type::Form::set;
  return container(form, std::move(*element));
}

std::optional<Type> unify_all(const std::vector<const Type*>& given) {
  std::vector<const Type*> types;
  for (const Type* type : given) {
    if (type->form != Type::Form::any) types.push_back(type);
  }
  if (types.empty()) return Type{};
  const auto all = [&](auto test) { return std::all_of(types.begin(), types.end(), test); };
  if (all([&](const Type* t) { return same(*t, *types[0]); })) return *types[0];
  if (all([](const Type* t) { return is_primitive(*t); })) {
    const bool text =
        std::any_of(types.begin(), types.end(), [](const Type* t) { return t->form == Type::Form::string; });
    return text ? std::optional(primitive(Type::Form::string)) : std::nullopt;
  }
  if (all([](const Type* t) { return t->form == Type::Form::tuple; })) return unify_tuples(types);
  if (all([](const Type* t) { return t->form == Type::Form::object; })) return unify_objects(types);
  return unify_collections(types);
}

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
      return container(form, value.items().empty() ? Type{} : type_of(value.items().front()));
    }
    case Kind::map:
      return container(Type::Form::map, value.members().empty() ? Type{} : type_of(value.members().begin()->second));
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

std::optional<Type> unify(const std::vector<Type>& types) {
  std::vector<const Type*> pointers;
  pointers.reserve(types.size());
  for (const auto& type : types) pointers.push_back(&type);
  return unify_all(pointers);
}

}  // namespace underway::hcl
