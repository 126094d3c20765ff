#pragma once
/// @file
/// What the administrator knows better: a file of HCL that names services, and says what they are.
///
///     nodes = ["10.1.0.0/16"]
///     service "licences" {
///       doors   = ["tcp/27010"]
///       verdict = "time_critical"
///       reason  = "compilers ask for a licence at every start"
///     }

#include "base/json/describe.hpp"
#include "hcl/diagnostic.hpp"

#include <optional>
#include <string>
#include <vector>

namespace underway::adoption {

enum class Verdict {
  time_critical,  ///< nodes cannot do without it, at once
  deferrable,     ///< it can be switched off for as long as the administrator likes
  unknown,        ///< nothing decides it: treated as time-critical
};

struct ServiceOverride {
  std::string name;
  std::optional<Verdict> verdict;
  std::string reason;
  std::vector<std::string> doors;
  std::vector<std::string> programs;
  std::vector<std::string> needs;
  hcl::Range place;  ///< of its block; not described
};

struct Overrides {
  std::vector<std::string> nodes;
  std::vector<ServiceOverride> services;

  const ServiceOverride* find(std::string_view service) const;
  const ServiceOverride* find_door(std::string_view door) const;
  const ServiceOverride* find_program(std::string_view program) const;
};

const describe::Enumeration& description(describe::Tag<Verdict>);
const describe::Structure& description(describe::Tag<ServiceOverride>);
const describe::Structure& description(describe::Tag<Overrides>);

/// Every problem is in the diagnostics, at its place; what could be read is returned.
Overrides parse_overrides(std::string text, std::string name, hcl::Diagnostics& diagnostics);

/// docs/reference/survey-overrides.md.
std::string overrides_reference();

}  // namespace underway::adoption
