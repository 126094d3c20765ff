#include "hcl/functions.hpp"

#include "hcl/detail/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl {

namespace detail {

namespace {

[[noreturn]] void refuse(std::size_t i, std::string_view need, const Value& value) {
  throw ArgumentError(i, fmt::format("{} is required, this is {}", need,
                                     value.depth() == 0 && !value.is_null() ? describe(value, 60) : value.type_name()));
}

}  // namespace

std::string Arguments::text(std::size_t i) const {
  auto text = to_text((*this)[i]);
  if (!text) refuse(i, "a string", (*this)[i]);
  return std::move(*text);
}

Number Arguments::number(std::size_t i) const {
  auto number = to_number((*this)[i]);
  if (!number) refuse(i, "a number", (*this)[i]);
  budget().number(number->bits());
  return std::move(*number);
}

std::int64_t Arguments::integer(std::size_t i) const {
  const auto number = to_number((*this)[i]);
  const auto integer = number ? number->to_int64() : std::nullopt;
  if (!integer) refuse(i, "an integer", (*this)[i]);
  return *integer;
}

bool Arguments::flag(std::size_t i) const {
  const auto flag = to_bool((*this)[i]);
  if (!flag) refuse(i, "a bool", (*this)[i]);
  return *flag;
}

const Value::List& Arguments::items(std::size_t i) const {
  if (!(*this)[i].is_sequence()) refuse(i, "a list", (*this)[i]);
  return (*this)[i].items();
}

const Value::Object& Arguments::members(std::size_t i) const {
  if (!(*this)[i].is_mapping()) refuse(i, "a map or object", (*this)[i]);
  return (*this)[i].members();
}

std::vector<std::string> Arguments::texts(std::size_t i) const {
  std::vector<std::string> out;
  for (const auto& item : items(i)) {
    auto text = to_text(item);
    if (!text) refuse(i, "a list of strings", (*this)[i]);
    out.push_back(std::move(*text));
  }
  return out;
}

Value Arguments::list(Value::List items) const {
  budget().produce(items.size() * sizeof(Value));
  std::vector<Type> types;
  types.reserve(items.size());
  for (const auto& item : items) types.push_back(type_of(item));
  const auto type = unify(types);
  if (!type) return Value::tuple(std::move(items));
  for (auto& item : items) item = convert(item, *type);
  return Value::list(std::move(items));
}

}  // namespace detail

const Function* FunctionTable::find(std::string_view name) const {
  if (functions_ == nullptr) return nullptr;
  const auto found = functions_->find(name);
  return found == functions_->end() ? nullptr : &found->second;
}

std::vector<std::string> FunctionTable::names() const {
  std::vector<std::string> names;
  if (empty()) return names;
  names = {"can", "convert", "try"};
  for (const auto& entry : *functions_) names.push_back(entry.first);
  std::sort(names.begin(), names.end());
  return names;
}

FunctionTable FunctionTable::with(std::string name, Function function) const {
  auto functions = functions_ == nullptr ? std::map<std::string, Function, std::less<>>() : *functions_;
  functions.insert_or_assign(std::move(name), std::move(function));
  return FunctionTable(std::move(functions));
}

const FunctionTable& pure_functions() {
  static const FunctionTable kTable = [] {
    detail::Entries entries;
    detail::add_number_functions(entries);
    detail::add_string_functions(entries);
    detail::add_format_functions(entries);
    detail::add_collection_functions(entries);
    detail::add_set_functions(entries);
    detail::add_encoding_functions(entries);
    detail::add_yaml_functions(entries);
    detail::add_time_functions(entries);
    detail::add_crypto_functions(entries);
    detail::add_network_functions(entries);
    return FunctionTable(std::move(entries));
  }();
  return kTable;
}

}  // namespace underway::hcl
