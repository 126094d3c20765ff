#include "hcl/detail/arguments.hpp"
#include "hcl/detail/unify.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl::detail {

namespace {

Value chunks(const Arguments& arguments) {
  const Value given = arguments.list(0);
  const auto& items = given.items();
  const std::int64_t size = arguments.integer(1);
  if (size < 0) throw ArgumentError(1, "a size of 0 or more is required");
  const std::size_t step = size == 0 ? std::max<std::size_t>(1, items.size()) : static_cast<std::size_t>(size);
  Value::List out;
  for (std::size_t at = 0; at < items.size(); at += step) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(at);
    out.push_back(Value::list({begin, begin + static_cast<std::ptrdiff_t>(std::min(step, items.size() - at))}));
  }
  arguments.budget().produce(items.size() * sizeof(Value));
  return Arguments::list_of(std::move(out), type_of(given));
}

Value coalesced(const Arguments& arguments) {
  std::vector<Type> types;
  for (std::size_t i = 0; i < arguments.size(); ++i) types.push_back(type_of(arguments[i]));
  const auto type = unify(types);
  if (!type) throw Error(Code::invalid, "the arguments have no common type");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_null()) return convert(arguments[i], *type);
  }
  throw Error(Code::invalid, "all arguments are null");
}

Value coalesced_list(const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind() != Kind::list && arguments[i].kind() != Kind::tuple)
      throw ArgumentError(i, "a list is required, or a tuple");
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments.items(i).empty()) return arguments[i];
  }
  throw Error(Code::invalid, "all lists are empty");
}

Value compacted(const Arguments& arguments) {
  Value::List out;
  const Value given = arguments.list(0, {.form = Type::Form::string});
  for (const auto& item : given.items()) {
    if (!item.is_null() && !item.as_string().empty()) out.push_back(item);
  }
  arguments.budget().produce(out.size() * sizeof(Value));
  return Arguments::list_of(std::move(out), {.form = Type::Form::string});
}

/// A list when all are lists that have a common type, else a tuple of the elements as they are.
Value concatenated(const Arguments& arguments) {
  Value::List out;
  std::vector<Type> types;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind() != Kind::list && arguments[i].kind() != Kind::tuple)
      throw ArgumentError(i, "a list is required, or a tuple");
    const auto& items = arguments.items(i);
    if (arguments[i].kind() == Kind::list) types.push_back(type_of(arguments[i]));
    arguments.budget().produce(items.size() * sizeof(Value));
    out.insert(out.end(), items.begin(), items.end());
  }
  const auto type = types.size() == arguments.size() ? unify(types) : std::nullopt;
  return type ? convert(Value::tuple(std::move(out)), *type) : Value::tuple(std::move(out));
}

Value distinct(const Arguments& arguments) {
  const Value given = arguments.list(0);
  Value::List out;
  std::vector<Value> seen;  // sorted
  const auto before = [](const Value& a, const Value& b) { return Value::compare(a, b) < 0; };
  for (const auto& item : given.items()) {
    arguments.budget().step(1 + seen.size() / 16);
    const auto at = std::lower_bound(seen.begin(), seen.end(), item, before);
    if (at != seen.end() && *at == item) continue;
    seen.insert(at, item);
    out.push_back(item);
  }
  return out.empty() ? given : Value::list(std::move(out));
}

Value element(const Arguments& arguments) {
  if (arguments[0].kind() == Kind::set) throw ArgumentError(0, "a list is required, a set has no order");
  const auto& items = arguments.items(0);
  const std::int64_t index = arguments.integer(1);
  if (items.empty()) throw ArgumentError(0, "the list is empty");
  if (index < 0) throw ArgumentError(1, "an index of 0 or more is required");
  return items[static_cast<std::size_t>(index) % items.size()];
}

void flatten_into(const Value& value, Value::List& out, Budget& budget) {
  budget.step();
  if (!value.is_sequence()) {
    budget.produce(sizeof(Value));
    out.push_back(value);
    return;
  }
  for (const auto& item : value.items()) flatten_into(item, out, budget);
}

/// Keys are of their type here: an index is a number, a name is a string.
Value index(const Arguments& arguments) {
  if (arguments[0].kind() == Kind::map) {
    if (!arguments[1].is_string()) throw ArgumentError(1, "a string is required for a map");
    if (const Value* found = arguments[0].find(arguments[1].as_string())) return *found;
    throw ArgumentError(1, fmt::format("there is no key {}", describe(arguments[1], 60)));
  }
  if (arguments[0].kind() != Kind::list && arguments[0].kind() != Kind::tuple)
    throw ArgumentError(0, "a list, a tuple or a map is required");
  const auto& items = arguments.items(0);
  if (!arguments[1].is_number()) throw ArgumentError(1, "a number is required for a list");
  const std::int64_t position = arguments.integer(1);
  if (position < 0 || static_cast<std::size_t>(position) >= items.size()) {
    throw ArgumentError(1, fmt::format("there is no element {}, the list has {}", position, items.size()));
  }
  return items[static_cast<std::size_t>(position)];
}

Value keys(const Arguments& arguments) {
  Value::List out;
  for (const auto& member : arguments.members(0)) out.emplace_back(member.first);
  arguments.budget().produce(arguments[0].weight());
  return arguments[0].kind() == Kind::map ? Arguments::list_of(std::move(out), {.form = Type::Form::string})
                                          : Value::tuple(std::move(out));
}

Value values(const Arguments& arguments) {
  Value::List out;
  for (const auto& member : arguments.members(0)) out.push_back(member.second);
  arguments.budget().produce(out.size() * sizeof(Value));
  return arguments[0].kind() == Kind::map ? Arguments::list_of(std::move(out), type_of(arguments[0]).elements[0])
                                          : Value::tuple(std::move(out));
}

Value length(const Arguments& arguments) {
  const Value& value = arguments[0];
  if (value.kind() == Kind::object) throw ArgumentError(0, "a list or a map is required; an object has a fixed shape");
  if (value.is_mapping()) return static_cast<std::int64_t>(value.members().size());
  return static_cast<std::int64_t>(arguments.items(0).size());
}

/// The default becomes what the elements of a map are.
Value lookup(const Arguments& arguments) {
  const auto& members = arguments.members(0);
  const std::string key = arguments.text(1);
  const bool map = arguments[0].kind() == Kind::map;
  const Value otherwise = map ? convert(arguments[2], type_of(arguments[0]).elements[0]) : arguments[2];
  const auto found = members.find(key);
  return found != members.end() ? found->second : otherwise;
}

/// A map when all are maps of one type; nulls, whose type nobody knows, make it an object.
Value merged(const Arguments& arguments) {
  Value::Object out;
  std::vector<Type> types;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    types.push_back(type_of(arguments[i]));
    if (arguments[i].is_null()) continue;
    const bool untyped =
        std::any_of(types.begin(), types.end(), [](const Type& type) { return type.form == Type::Form::any; });
    if (untyped && arguments[i].kind() == Kind::tuple && arguments[i].items().empty()) continue;
    arguments.budget().produce(arguments.members(i).size() * sizeof(Value));
    for (const auto& [name, member] : arguments.members(i)) out.insert_or_assign(name, member);
  }
  const bool maps = !types.empty() && types[0].form == Type::Form::map &&
                    std::all_of(types.begin(), types.end(), [&](const Type& type) { return same(type, types[0]); });
  if (!maps) return Value::object(std::move(out));
  return out.empty() ? Value::empty(Kind::map, types[0].elements[0]) : Value::map(std::move(out));
}

Value range(const Arguments& arguments) {
  Number at = arguments.size() > 1 ? arguments.number(0) : Number(0);
  const Number end = arguments.number(arguments.size() > 1 ? 1 : 0);
  const Number step = arguments.size() == 3 ? arguments.number(2) : Number(at <= end ? 1 : -1);
  constexpr std::size_t kMost = 1024;
  if (step.is_zero() && at != end) throw ArgumentError(2, "a step other than 0 is required");
  if (at != end && (step.sign() > 0) != (at < end)) {
    throw ArgumentError(2, "the step leads away from the end");
  }
  Value::List out;
  while (step.sign() > 0 ? at < end : at > end) {
    if (out.size() == kMost) throw Error(Code::invalid, fmt::format("a range has at most {} numbers", kMost));
    arguments.budget().step();
    arguments.budget().produce(sizeof(Value));
    arguments.budget().number(at.bits());
    out.emplace_back(at);
    at = at + step;
  }
  return Arguments::list_of(std::move(out), {.form = Type::Form::number});
}

Value slice(const Arguments& arguments) {
  if (arguments[0].kind() == Kind::set) throw ArgumentError(0, "a list is required, a set has no order");
  const auto& items = arguments.items(0);
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t begin = arguments.integer(1);
  const std::int64_t end = arguments.integer(2);
  if (begin < 0 || begin > size) throw ArgumentError(1, fmt::format("a start from 0 to {} is required", size));
  if (end < begin || end > size) throw ArgumentError(2, fmt::format("an end from {} to {} is required", begin, size));
  Value::List out(items.begin() + begin, items.begin() + end);
  arguments.budget().produce(out.size() * sizeof(Value));
  return arguments[0].kind() == Kind::tuple ? Value::tuple(std::move(out))
                                            : Arguments::list_of(std::move(out), type_of(arguments[0]).elements[0]);
}

Value sorted(const Arguments& arguments) {
  auto texts = arguments.texts(0);
  std::sort(texts.begin(), texts.end());
  Value::List out;
  for (auto& text : texts) out.emplace_back(std::move(text));
  arguments.budget().produce(arguments[0].weight());
  return Arguments::list_of(std::move(out), {.form = Type::Form::string});
}

Value zipped(const Arguments& arguments) {
  if (arguments[1].kind() == Kind::set) throw ArgumentError(1, "a list is required, a set has no order");
  const auto names = arguments.texts(0);
  const auto& items = arguments.items(1);
  if (names.size() != items.size())
    throw ArgumentError(1, fmt::format("there are {} keys and {} values", names.size(), items.size()));
  Value::Object out;
  for (std::size_t i = 0; i < names.size(); ++i) out.insert_or_assign(names[i], items[i]);
  arguments.budget().produce(arguments[0].weight() + items.size() * sizeof(Value));
  if (arguments[1].kind() == Kind::tuple) return Value::object(std::move(out));
  return out.empty() ? Value::empty(Kind::map, type_of(arguments[1]).elements[0]) : Value::map(std::move(out));
}

/// By equality, which knows types: [8080] does not hold "8080".
Value contains(const Arguments& arguments) {
  const auto& items = arguments.items(0);
  return std::find(items.begin(), items.end(), arguments[1]) != items.end();
}

}  // namespace

void add_collection_functions(Entries& entries) {
  entries["chunklist"] = {"list, size", 2, 2, [](const Call& call) { return chunks(Arguments(call)); }};
  entries["coalesce"] = {"values…", 1, Function::kAny, [](const Call& call) { return coalesced(Arguments(call)); },
                         true};
  entries["coalescelist"] = {"lists…", 1, Function::kAny,
                             [](const Call& call) { return coalesced_list(Arguments(call)); }, true};
  entries["compact"] = {"list", 1, 1, [](const Call& call) { return compacted(Arguments(call)); }};
  entries["concat"] = {"lists…", 1, Function::kAny, [](const Call& call) { return concatenated(Arguments(call)); }};
  entries["contains"] = {"list, value", 2, 2, [](const Call& call) { return contains(Arguments(call)); }};
  entries["distinct"] = {"list", 1, 1, [](const Call& call) { return distinct(Arguments(call)); }};
  entries["element"] = {"list, index", 2, 2, [](const Call& call) { return element(Arguments(call)); }};
  entries["flatten"] = {"list", 1, 1, [](const Call& call) {
                          const Arguments arguments(call);
                          Value::List out;
                          for (const auto& item : arguments.items(0)) flatten_into(item, out, arguments.budget());
                          return Value::tuple(std::move(out));
                        }};
  entries["index"] = {"collection, key", 2, 2, [](const Call& call) { return index(Arguments(call)); }};
  entries["keys"] = {"map", 1, 1, [](const Call& call) { return keys(Arguments(call)); }};
  entries["length"] = {"collection", 1, 1, [](const Call& call) { return length(Arguments(call)); }};
  entries["lookup"] = {"map, key, default", 3, 3, [](const Call& call) { return lookup(Arguments(call)); }};
  entries["merge"] = {"maps…", 0, Function::kAny, [](const Call& call) { return merged(Arguments(call)); }, true};
  entries["range"] = {"start, end, step", 1, 3, [](const Call& call) { return range(Arguments(call)); }};
  entries["slice"] = {"list, start, end", 3, 3, [](const Call& call) { return slice(Arguments(call)); }};
  entries["sort"] = {"list", 1, 1, [](const Call& call) { return sorted(Arguments(call)); }};
  entries["values"] = {"map", 1, 1, [](const Call& call) { return values(Arguments(call)); }};
  entries["zipmap"] = {"keys, values", 2, 2, [](const Call& call) { return zipped(Arguments(call)); }};
}

}  // namespace underway::hcl::detail
