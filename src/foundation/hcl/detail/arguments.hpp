#pragma once
/// @file
/// How functions read what they are called with: each getter converts as HCL does, or throws ArgumentError.

#include "hcl/context.hpp"
#include "hcl/functions.hpp"
#include "hcl/type.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace underway::hcl::detail {

using Entries = std::map<std::string, Function, std::less<>>;

class Arguments {
 public:
  explicit Arguments(const Call& call) : call_(call) {}

  std::size_t size() const { return call_.arguments.size(); }
  const Value& operator[](std::size_t i) const { return call_.arguments[i]; }
  Budget& budget() const { return call_.context.budget(); }
  const Context& context() const { return call_.context; }

  std::string text(std::size_t i) const;
  Number number(std::size_t i) const;
  std::int64_t integer(std::size_t i) const;
  bool flag(std::size_t i) const;
  const Value::List& items(std::size_t i) const;
  const Value::Object& members(std::size_t i) const;
  std::vector<std::string> texts(std::size_t i) const;
  /// As a list; of `any`, which is of the type that all its elements can have. Throws ArgumentError when there is none.
  Value list(std::size_t i, const Type& element = {}) const;
  /// A list of `items`, which are of type `element`.
  static Value list_of(Value::List items, Type element);

 private:
  const Call& call_;
};

void add_number_functions(Entries& entries);
void add_string_functions(Entries& entries);
void add_format_functions(Entries& entries);
void add_collection_functions(Entries& entries);
void add_set_functions(Entries& entries);
void add_encoding_functions(Entries& entries);
void add_yaml_functions(Entries& entries);
void add_time_functions(Entries& entries);
void add_crypto_functions(Entries& entries);
void add_network_functions(Entries& entries);

/// Compact JSON with exact numbers and sorted names.
std::string encode_json(const Value& value, Budget& budget);

}  // namespace underway::hcl::detail
