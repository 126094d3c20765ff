#pragma once
/// @file
/// The rules of one policy, read from HCL or JSON. Unknown names are errors, each with its place and the nearest known
/// one: a policy that silently grants less than it says is found out at three in the morning.

#include "acl/capability.hpp"
#include "hcl/diagnostic.hpp"

#include <map>

namespace underway::acl {

/// Larger rules are refused. Nomad bounds them by its request size alone.
inline constexpr std::size_t kMaxRulesBytes = 64 * 1024;
/// Most blocks of one kind in a policy, and most paths in a namespace.
inline constexpr std::size_t kMaxRules = 1000;

/// What a policy says of one namespace, or of all that a pattern matches.
struct NamespaceRules {
  Capabilities capabilities;
  std::map<std::string, AccessSet> variables;  ///< by path or pattern
};

struct Policy {
  std::map<std::string, NamespaceRules> namespaces;  ///< by name or pattern
  std::map<std::string, Level> node_pools;
  std::map<std::string, Level> host_volumes;
  Level agent = Level::none;
  Level node = Level::none;
  Level operators = Level::none;
  Level quota = Level::none;
  Level plugin = Level::none;
  bool snapshots = false;  ///< may take one without being able to write as operator

  bool empty() const;
};

/// What could be read, with all that is wrong in `diagnostics`.
Policy parse_policy(std::string rules, std::string name, hcl::Diagnostics& diagnostics);
/// Throws Error(invalid) with every error, by line and column.
Policy parse_policy(const std::string& rules, const std::string& name);

}  // namespace underway::acl
