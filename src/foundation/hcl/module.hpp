#pragma once
/// @file
/// `variable` and `locals` blocks: what every HCL file of ours starts with, whatever else it describes.
///
///     Module module(parse_file(path, diagnostics), {.base = base}, diagnostics);
///     Context context = module.context(inputs, diagnostics);          // roots var and local are set
///     Content content = module.rest().content(job_schema, diagnostics);

#include "hcl/body.hpp"
#include "hcl/context.hpp"
#include "hcl/diagnostic.hpp"
#include "hcl/type.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underway::hcl {

struct Variable {
  struct Validation {
    Expression condition;
    Expression error_message;
  };
  std::string name;
  Type type{};
  bool typed = false;             ///< a type was written
  std::optional<Value> standard;  ///< the default, converted to `type`
  std::string description;
  std::vector<Validation> validations;
  Range range;
};

/// Values for variables from outside. Later wins: default, environment, files in order, arguments in order.
struct Inputs {
  /// The environment, or the part of it that starts with `prefix`.
  std::map<std::string, std::string> environment{};
  std::string prefix = "NOMAD_VAR_";
  std::vector<Body> files{};                                     ///< parsed, HCL or JSON: attributes only
  std::vector<std::pair<std::string, std::string>> arguments{};  ///< -var name=text
  /// Whether a value (of a file or argument; never of the environment) for an undeclared variable is an error.
  bool strict = true;
};

struct ModuleOptions {
  TypeRules types = TypeRules::liberal;
  /// Functions and dialect of locals and of what follows; the roots set there stay known.
  Context base{};
};

class Module {
 public:
  /// Collects `variable "x" {}`, `variables {}` (names to defaults) and `locals {}` of `body`.
  Module(Body body, ModuleOptions options, Diagnostics& diagnostics);

  const std::vector<Variable>& variables() const { return variables_; }
  /// Everything that is no variable or locals block.
  const Body& rest() const { return rest_; }
  /// Resolves variables (validated) and then locals, in any order of definition; a cycle is reported with its path.
  /// The result is options.base with the roots `var` and `local`; what failed is missing from them.
  Context context(const Inputs& inputs, Diagnostics& diagnostics) const;

 private:
  void read_variable(const Block& block, Diagnostics& diagnostics);
  void read_default(const Attribute& standard, Variable& variable, Diagnostics& diagnostics);
  void read_defaults(const Block& block, Diagnostics& diagnostics);
  void declare(Variable variable, Diagnostics& diagnostics);
  void read_locals(const Block& block, Diagnostics& diagnostics);

  ModuleOptions options_;
  Context plain_;  ///< of defaults and inputs: no names and no functions, and the same budget
  std::vector<Variable> variables_;
  std::map<std::string, Range> variable_places_;  ///< to find one that is declared twice
  std::vector<Attribute> locals_;
  std::map<std::string, Range> local_places_;  ///< to find one that is defined twice
  Body rest_;
};

}  // namespace underway::hcl
