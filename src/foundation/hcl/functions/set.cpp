#include "hcl/detail/arguments.hpp"
#include "hcl/detail/unify.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl::detail {

namespace {

/// All arguments as sets of one element type, so that "1" and 1 meet.
std::vector<Value> as_sets(const Arguments& arguments) {
  std::vector<Type> types;
  std::vector<Value> sets;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Value list = arguments.list(i);
    sets.push_back(convert(list, container(Type::Form::set, {})));
    Type element = type_of(list).elements[0];
    if (!list.items().empty() || element.form != Type::Form::any) types.push_back(std::move(element));
  }
  if (types.empty()) return sets;
  const auto type = unify(types);
  if (!type) throw Error(Code::invalid, "the sets' elements have no common type");
  const auto untyped = [](const Type& each) { return each.form == Type::Form::any; };
  if (untyped(*type) && !std::all_of(types.begin(), types.end(), untyped))
    throw Error(Code::invalid, "the sets' elements have no common type");
  for (auto& set : sets) set = convert(set, container(Type::Form::set, *type));
  return sets;
}

bool before(const Value& a, const Value& b) { return Value::compare(a, b) < 0; }

Value united(const Arguments& arguments) {
  Value::List out;
  const auto sets = as_sets(arguments);
  for (const auto& set : sets) out.insert(out.end(), set.items().begin(), set.items().end());
  return out.empty() ? sets.front() : Value::set(std::move(out));
}

Value intersected(const Arguments& arguments) {
  const auto sets = as_sets(arguments);
  std::vector<Value> out = sets.front().items();
  for (const auto& set : sets) {
    Value::List other = set.items();
    std::sort(other.begin(), other.end(), before);
    std::erase_if(out,
                  [&](const Value& item) { return !std::binary_search(other.begin(), other.end(), item, before); });
  }
  return out.empty() ? Value::empty(Kind::set, type_of(sets.front()).elements[0]) : Value::set(std::move(out));
}

/// Beside nulls, whose type nobody knows, elements stay as they are.
Value elements_of_one_type(const Arguments& arguments, std::size_t i) {
  if (arguments[i].kind() != Kind::tuple || arguments.items(i).empty()) return arguments.list(i);
  std::vector<Type> types;
  for (const auto& item : arguments.items(i)) types.push_back(type_of(item));
  const auto type = unify(types);
  if (!type) throw ArgumentError(i, "elements of one type are required");
  if (type->form == Type::Form::any) return Value::list(arguments.items(i));
  return arguments.list(i, *type);
}

/// Rows are of one type: beside containers that have no common one, a null cannot stand.
void check_nulls(const Value::List& items, std::size_t i) {
  const auto null = [](const Value& item) { return item.is_null(); };
  std::vector<Type> types;
  for (const auto& item : items) types.push_back(type_of(item));
  const auto type = unify(types);
  if (type && type->form == Type::Form::any && !std::all_of(items.begin(), items.end(), null))
    throw ArgumentError(i, "elements of one type are required, and null has none");
}

/// A list of tuples when all are lists or tuples, in their order; else a set.
Value product(const Arguments& arguments) {
  std::uint64_t size = 1;
  bool sets = false;
  std::vector<Value> lists;
  Type row_type{.form = Type::Form::tuple};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    sets = sets || arguments[i].kind() == Kind::set;
    arguments.budget().produce(arguments.items(i).size() * sizeof(Value));
    lists.push_back(elements_of_one_type(arguments, i));
    row_type.elements.push_back(type_of(lists.back()).elements[0]);
    size *= lists.back().items().size();
    arguments.budget().step(size);  // also keeps `size` from overflowing
  }
  if (size == 0) return Value::empty(sets ? Kind::set : Kind::list, row_type);
  for (std::size_t i = 0; i < lists.size(); ++i) check_nulls(lists[i].items(), i);
  arguments.budget().produce(size * arguments.size() * sizeof(Value));
  Value::List out;
  out.reserve(size);
  for (std::uint64_t row = 0; row < size; ++row) {
    Value::List tuple(arguments.size());
    std::uint64_t left = row;
    for (std::size_t i = arguments.size(); i-- > 0;) {
      const auto& items = lists[i].items();
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
