#include "gotemplate/functions.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/run.hpp"

#include <iterator>

namespace underway::gotemplate {

namespace {

Type read_type(std::string_view name) {
  if (name == "string") return Type::text;
  if (name == "int") return Type::integer;
  if (name == "float") return Type::real;
  if (name == "bool") return Type::boolean;
  if (name == "list") return Type::list;
  if (name == "[]any") return Type::anys;
  if (name == "[]string") return Type::texts;
  if (name == "map") return Type::map;
  if (name == "any") return Type::any;
  throw Error(Code::internal, fmt::format("a function has a parameter of the unknown type '{}'", name));
}

void read_parameters(Function& function) {
  if (function.parameters.empty()) return;
  for (const auto& parameter : split(function.parameters, ',')) {
    const std::string_view trimmed = trim(parameter);
    std::string_view type = trimmed.substr(trimmed.rfind(' ') + 1);
    if (type.starts_with("...")) {
      function.variadic = true;
      function.rest = read_type(type.substr(3));
    } else {
      function.fixed.push_back(read_type(type));
    }
  }
}

std::vector<Function> all_of(std::initializer_list<std::vector<Function> (*)()> parts) {
  std::vector<Function> all;
  for (const auto part : parts) {
    auto functions = part();
    std::ranges::move(functions, std::back_inserter(all));
  }
  return all;
}

std::vector<Function> sprig_list() {
  return all_of({string_functions, case_functions, regex_functions, number_functions, decimal_functions, list_functions,
                 map_functions, default_functions, encoding_functions, hash_functions, time_functions, path_functions,
                 version_functions, url_functions, refused_sprig_functions});
}

}  // namespace

std::int64_t Call::integer(std::size_t i) const {
  const Value& value = arguments[i];
  if (value.kind() == Kind::integer) return value.as_integer();
  const std::uint64_t natural = value.as_natural();
  if (natural > static_cast<std::uint64_t>(INT64_MAX)) throw Error(Code::invalid, "a number is too large");
  return static_cast<std::int64_t>(natural);
}

double Call::real(std::size_t i) const {
  const Value& value = arguments[i];
  return value.kind() == Kind::real ? value.as_real() : static_cast<double>(integer(i));
}

const List& Call::list(std::size_t i) const {
  static const List kEmpty;
  return arguments[i].is_nil() ? kEmpty : arguments[i].as_list();
}

const Map& Call::map(std::size_t i) const {
  static const Map kEmpty;
  return arguments[i].is_nil() ? kEmpty : *arguments[i].members();
}

FunctionSet::FunctionSet(std::vector<Function> functions) {
  for (Function& function : functions) {
    read_parameters(function);
    std::string name = function.name;
    functions_.insert_or_assign(std::move(name), std::move(function));
  }
}

const Function* FunctionSet::find(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second;
}

std::vector<std::string> FunctionSet::names() const {
  std::vector<std::string> names;
  for (const auto& [name, function] : functions_)
    if (function.origin != Origin::refused) names.push_back(name);
  return names;
}

std::vector<Function> overlay_function_list() {
  std::vector<Function> all = builtin_functions();
  std::ranges::move(sprig_list(), std::back_inserter(all));
  return all;
}

const FunctionSet& language_functions() {
  static const FunctionSet kSet(builtin_functions());
  return kSet;
}

const FunctionSet& overlay_functions() {
  static const FunctionSet kSet(overlay_function_list());
  return kSet;
}

const FunctionSet& job_functions() {
  static const FunctionSet kSet = [] {
    auto all = all_of(
        {builtin_functions, consul_functions, scratch_functions, data_functions, foreign_functions, refused_functions});
    for (Function& function : sprig_list()) {
      function.name.insert(0, "sprig_");
      all.push_back(std::move(function));
    }
    return FunctionSet(std::move(all));
  }();
  return kSet;
}

}  // namespace underway::gotemplate
