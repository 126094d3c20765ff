#include "hcl/detail/arguments.hpp"
#include "hcl/detail/unicode.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl::detail {

namespace {

Value chunks(const Arguments& arguments) {
  const auto& items = arguments.items(0);
  const std::int64_t size = arguments.integer(1);
  if (size < 0) throw ArgumentError(1, "a size of 0 or more is required");
  const std::size_t step = size == 0 ? std::max<std::size_t>(1, items.size()) : static_cast<std::size_t>(size);
  Value::List out;
  for (std::size_t at = 0; at < items.size(); at += step) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(at);
    out.push_back(Value::list({begin, begin + static_cast<std::ptrdiff_t>(std::min(step, items.size() - at))}));
  }
  arguments.budget().produce(items.size() * sizeof(Value));
  return Value::list(std::move(out));
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
    if (!arguments[i].is_null() && !arguments.items(i).empty()) return arguments[i];
  }
  throw Error(Code::invalid, "all lists are empty");
}

Value compacted(const Arguments& arguments) {
  Value::List out;
  for (const auto& item : arguments.items(0)) {
    if (item.is_null()) continue;
    auto text = to_text(item);
    if (!text) throw ArgumentError(0, "a list of strings is required");
    if (!text->empty()) out.emplace_back(std::move(*text));
  }
  arguments.budget().produce(out.size() * sizeof(Value));
  return Value::list(std::move(out));
}

Value concatenated(const Arguments& arguments) {
  Value::List out;
  bool lists = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& items = arguments.items(i);
    lists = lists && arguments[i].kind() == Kind::list;
    arguments.budget().produce(items.size() * sizeof(Value));
    out.insert(out.end(), items.begin(), items.end());
  }
  return lists ? arguments.list(std::move(out)) : Value::tuple(std::move(out));
}

Value distinct(const Arguments& arguments) {
  Value::List out;
  std::vector<Value> seen;  // sorted
  const auto before = [](const Value& a, const Value& b) { return Value::compare(a, b) < 0; };
  for (const auto& item : arguments.items(0)) {
    arguments.budget().step(1 + seen.size() / 16);
    const auto at = std::lower_bound(seen.begin(), seen.end(), item, before);
    if (at != seen.end() && *at == item) continue;
    seen.insert(at, item);
    out.push_back(item);
  }
  return arguments[0].kind() == Kind::tuple ? arguments.list(std::move(out)) : Value::list(std::move(out));
}

Value element(const Arguments& arguments) {
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

Value index(const Arguments& arguments) {
  if (arguments[0].is_mapping()) {
    const std::string key = arguments.text(1);
    if (const Value* found = arguments[0].find(key)) return *found;
    throw ArgumentError(1, fmt::format("there is no key '{}'", key));
  }
  const auto& items = arguments.items(0);
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
  return arguments[0].kind() == Kind::map ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

Value values(const Arguments& arguments) {
  Value::List out;
  for (const auto& member : arguments.members(0)) out.push_back(member.second);
  arguments.budget().produce(out.size() * sizeof(Value));
  return arguments[0].kind() == Kind::map ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

Value length(const Arguments& arguments) {
  const Value& value = arguments[0];
  if (value.is_mapping()) return static_cast<std::int64_t>(value.members().size());
  if (value.is_string()) return static_cast<std::int64_t>(count_code_points(value.as_string()));
  return static_cast<std::int64_t>(arguments.items(0).size());
}

Value lookup(const Arguments& arguments) {
  const auto& members = arguments.members(0);
  const std::string key = arguments.text(1);
  if (const auto found = members.find(key); found != members.end()) return found->second;
  if (arguments.size() == 3) return arguments[2];
  throw ArgumentError(1, fmt::format("there is no key '{}' and no default was given", key));
}

Value merged(const Arguments& arguments) {
  Value::Object out;
  bool maps = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].is_null()) continue;
    maps = maps && arguments[i].kind() == Kind::map;
    arguments.budget().produce(arguments.members(i).size() * sizeof(Value));
    for (const auto& [name, member] : arguments.members(i)) out.insert_or_assign(name, member);
  }
  return maps && arguments.size() > 0 ? Value::map(std::move(out)) : Value::object(std::move(out));
}

Value range(const Arguments& arguments) {
  Number at = arguments.size() > 1 ? arguments.number(0) : Number(0);
  const Number end = arguments.number(arguments.size() > 1 ? 1 : 0);
  const Number step = arguments.size() == 3 ? arguments.number(2) : Number(at <= end ? 1 : -1);
  if (step.is_zero()) throw ArgumentError(2, "a step other than 0 is required");
  if (at != end && (step.sign() > 0) != (at < end)) {
    throw ArgumentError(2, "the step leads away from the end");
  }
  Value::List out;
  while (step.sign() > 0 ? at < end : at > end) {
    arguments.budget().step();
    arguments.budget().produce(sizeof(Value));
    arguments.budget().number(at.bits());
    out.emplace_back(at);
    at = at + step;
  }
  return Value::list(std::move(out));
}

Value slice(const Arguments& arguments) {
  const auto& items = arguments.items(0);
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t begin = arguments.integer(1);
  const std::int64_t end = arguments.integer(2);
  if (begin < 0 || begin > size) throw ArgumentError(1, fmt::format("a start from 0 to {} is required", size));
  if (end < begin || end > size) throw ArgumentError(2, fmt::format("an end from {} to {} is required", begin, size));
  Value::List out(items.begin() + begin, items.begin() + end);
  arguments.budget().produce(out.size() * sizeof(Value));
  return arguments[0].kind() == Kind::tuple ? Value::tuple(std::move(out)) : Value::list(std::move(out));
}

Value sorted(const Arguments& arguments) {
  auto texts = arguments.texts(0);
  std::sort(texts.begin(), texts.end());
  Value::List out;
  for (auto& text : texts) out.emplace_back(std::move(text));
  arguments.budget().produce(arguments[0].weight());
  return Value::list(std::move(out));
}

Value zipped(const Arguments& arguments) {
  const auto names = arguments.texts(0);
  const auto& items = arguments.items(1);
  if (names.size() != items.size())
    throw ArgumentError(1, fmt::format("there are {} keys and {} values", names.size(), items.size()));
  Value::Object out;
  for (std::size_t i = 0; i < names.size(); ++i) out.insert_or_assign(names[i], items[i]);
  arguments.budget().produce(arguments[0].weight() + items.size() * sizeof(Value));
  return arguments[1].kind() == Kind::tuple ? Value::object(std::move(out)) : Value::map(std::move(out));
}

Value contains(const Arguments& arguments) {
  for (const auto& item : arguments.items(0)) {
    if (item == arguments[1]) return true;
    // A list of strings holds "8080" for the number 8080, as the elements' type decides.
    const auto a = to_text(item);
    const auto b = to_text(arguments[1]);
    if (a && b && *a == *b) return true;
  }
  return false;
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
  entries["lookup"] = {"map, key, default", 2, 3, [](const Call& call) { return lookup(Arguments(call)); }, true};
  entries["merge"] = {"maps…", 0, Function::kAny, [](const Call& call) { return merged(Arguments(call)); }, true};
  entries["range"] = {"start, end, step", 1, 3, [](const Call& call) { return range(Arguments(call)); }};
  entries["slice"] = {"list, start, end", 3, 3, [](const Call& call) { return slice(Arguments(call)); }};
  entries["sort"] = {"list", 1, 1, [](const Call& call) { return sorted(Arguments(call)); }};
  entries["values"] = {"map", 1, 1, [](const Call& call) { return values(Arguments(call)); }};
  entries["zipmap"] = {"keys, values", 2, 2, [](const Call& call) { return zipped(Arguments(call)); }};
}

}  // namespace underway::hcl::detail
