#include "hcl/detail/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl::detail {

namespace {

/// All arguments as sets of one element type, so that "1" and 1 meet.
std::vector<Value> as_sets(const Arguments& arguments) {
  std::vector<Type> types;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    for (const auto& item : arguments.items(i)) types.push_back(type_of(item));
    arguments.budget().produce(arguments.items(i).size() * sizeof(Value));
  }
  const auto type = unify(types);
  std::vector<Value> sets;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Value::List items = arguments.items(i);
    if (type) {
      for (auto& item : items) item = convert(item, *type);
    }
    sets.push_back(Value::set(std::move(items)));
  }
  return sets;
}

bool before(const Value& a, const Value& b) { return Value::compare(a, b) < 0; }

Value united(const Arguments& arguments) {
  Value::List out;
  for (const auto& set : as_sets(arguments)) out.insert(out.end(), set.items().begin(), set.items().end());
  return Value::set(std::move(out));
}

Value intersected(const Arguments& arguments) {
  const auto sets = as_sets(arguments);
  Value::List out = sets.front().items();
  for (const auto& set : sets) {
    Value::List both;
    std::set_intersection(out.begin(), out.end(), set.items().begin(), set.items().end(), std::back_inserter(both),
                          before);
    out = std::move(both);
  }
  return Value::set(std::move(out));
}

Value product(const Arguments& arguments) {
  std::uint64_t size = 1;
  bool sets = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    sets = sets && arguments[i].kind() == Kind::set;
    size *= arguments.items(i).size();
    arguments.budget().step(size);  // also keeps `size` from overflowing
    if (size == 0) break;
  }
  if (arguments.size() < 2) throw Error(Code::invalid, "at least 2 lists are required");
  for (std::size_t i = 0; i < arguments.size() && size > 0; ++i) size = arguments.items(i).empty() ? 0 : size;
  arguments.budget().produce(size * arguments.size() * sizeof(Value));
  Value::List out;
  out.reserve(size);
  for (std::uint64_t row = 0; row < size; ++row) {
    Value::List tuple(arguments.size());
    std::uint64_t left = row;
    for (std::size_t i = arguments.size(); i-- > 0;) {
      const auto& items = arguments.items(i);
      tuple[i] = items[left % items.size()];
      left /= items.size();
    }
    out.push_back(Value::tuple(std::move(tuple)));
  }
  return sets ? Value::set(std::move(out)) : Value::list(std::move(out));
}

}  // namespace

void add_set_functions(Entries& entries) {
  entries["setunion"] = {"sets…", 1, Function::kAny, [](const Call& call) { return united(Arguments(call)); }};
  entries["setintersection"] = {"sets…", 1, Function::kAny,
                                [](const Call& call) { return intersected(Arguments(call)); }};
  entries["setproduct"] = {"lists…", 2, Function::kAny, [](const Call& call) { return product(Arguments(call)); }};
}

}  // namespace underway::hcl::detail
