#pragma once
/// @file
/// The functions that templates call. Each is data: its name, its parameters and its meaning make the reference
/// (docs/reference/templates.md), the checks of arguments and the suggestions.

#include "gotemplate/value.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace underway::gotemplate {

/// What a function is called with. The arguments fit the function's parameters: they were checked.
struct Call {
  std::span<const Value> arguments;
  Run& run;

  std::size_t size() const { return arguments.size(); }
  const Value& operator[](std::size_t i) const { return arguments[i]; }
  std::string_view text(std::size_t i) const { return arguments[i].as_text(); }
  std::string string(std::size_t i) const { return std::string(arguments[i].as_text()); }
  std::int64_t integer(std::size_t i) const;
  double real(std::size_t i) const;
  bool boolean(std::size_t i) const { return arguments[i].as_bool(); }
  const List& list(std::size_t i) const;
  const Map& map(std::size_t i) const;
};

enum class Origin : std::uint8_t {
  go,       ///< text/template's own: in every set
  sprig,    ///< overlays by its name, jobs as sprig_NAME
  consul,   ///< consul-template's: jobs
  refused,  ///< jobs: known, and not offered; `meaning` says what to use instead
};

/// `list` takes every list, as Go's functions that look at an interface {}; `anys` and `texts` are Go's []interface {}
/// and []string, which take nil but not each other; `map` is map[string]interface {}.
enum class Type : std::uint8_t { any, text, integer, real, boolean, list, anys, texts, map };

struct Function {
  std::string name;
  /// As in Go: "separator string, values ...any".
  std::string parameters;
  std::string meaning;
  Origin origin;
  Value (*run)(const Call&) = nullptr;

  // Read from `parameters`.
  std::vector<Type> fixed{};
  bool variadic = false;
  Type rest = Type::any;
};

class FunctionSet {
 public:
  /// Reads the parameters of each. A later function replaces an earlier one of the same name.
  explicit FunctionSet(std::vector<Function> functions);
  const Function* find(std::string_view name) const;
  /// Sorted by name.
  const std::map<std::string, Function, std::less<>>& all() const { return functions_; }
  /// Those that may be called, sorted.
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Function, std::less<>> functions_;
};

/// Go's own.
const FunctionSet& language_functions();
/// Go's functions and consul-template's, with Sprig's as sprig_NAME: what Nomad's templates have.
const FunctionSet& job_functions();
/// Go's functions and Sprig's, as in Warewulf's overlays and Helm.
const FunctionSet& overlay_functions();
/// What overlay_functions is made of, for sets that have more: FunctionSet(more(overlay_function_list())).
std::vector<Function> overlay_function_list();

}  // namespace underway::gotemplate
