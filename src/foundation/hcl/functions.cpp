#include "hcl/functions.hpp"

#include "hcl/detail/arguments.hpp"
#include "hcl/detail/unify.hpp"

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
  const Value given = list(i, {.form = Type::Form::string});
  for (const auto& item : given.items()) {
    if (item.is_null()) throw ArgumentError(i, "an element is null");
    out.push_back(item.as_string());
  }
  return out;
}

Value Arguments::list(std::size_t i, const Type& element) const {
  budget().produce(items(i).size() * sizeof(Value));
  const Type wanted = container(Type::Form::list, element);
  try {
    if (!convertible(type_of((*this)[i]), wanted)) refuse(i, wanted.to_string(), (*this)[i]);
    return convert((*this)[i], wanted);
  } catch (const ArgumentError&) {
    throw;
  } catch (const Error& e) {
    if (e.code() != Code::invalid) throw;
    throw ArgumentError(i, e.message());
  }
}

Value Arguments::list_of(Value::List items, Type element) {
  return items.empty() ? Value::empty(Kind::list, std::move(element)) : Value::list(std::move(items));
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
