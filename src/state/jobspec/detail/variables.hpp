#pragma once
/// @file
/// Values for the variables of one or several files, with our extension: a variable that is used and given a value, but
/// not declared, is a string.

#include "jobspec/jobspec.hpp"

#include "hcl/body.hpp"
#include "hcl/context.hpp"
#include "hcl/module.hpp"

#include <set>

namespace underway::jobspec::detail {

/// The variables that files speak of.
struct VariableNames {
  std::set<std::string> declared;
  std::set<std::string> implicit;  ///< used without being declared

  void add(const VariableNames& more) {
    declared.insert(more.declared.begin(), more.declared.end());
    implicit.insert(more.implicit.begin(), more.implicit.end());
  }
};

/// All values from outside, parsed once.
class GivenValues {
 public:
  GivenValues(const Inputs& inputs, hcl::Diagnostics& diagnostics);

  const hcl::Inputs& for_module() const { return inputs_; }
  bool has(const std::string& name) const { return names_.contains(name) || from_environment(name); }
  /// Reports what was given by file or argument and is not `known`: an error, but a warning where files declare nothing
  /// and use variables all the same. There a misspelt name shows as the missing value of the right one, and several
  /// such files can be given the same values.
  void check_known(const VariableNames& known, hcl::Diagnostics& diagnostics) const;

 private:
  bool from_environment(const std::string& name) const;

  hcl::Inputs inputs_;  ///< not strict: check_known is
  bool strict_;
  std::map<std::string, hcl::Range> names_;
};

/// A body with its variables and locals resolved.
struct Opened {
  hcl::Body rest;        ///< without variable and locals blocks, dynamic blocks expanded
  hcl::Context context;  ///< with var and local
  VariableNames names;
};

Opened open_body(hcl::Body body, const GivenValues& values, hcl::Context base, hcl::Diagnostics& diagnostics);

/// Functions, dialect and roots of a job file.
hcl::Context base_context(const Inputs& inputs);

}  // namespace underway::jobspec::detail
