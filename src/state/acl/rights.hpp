#pragma once
/// @file
/// What somebody may do: several policies as one. Of several rules of the same name all count, and deny wins. Of
/// patterns that match a name, the closest counts alone: the one that leaves the fewest characters to its `*` (Nomad's
/// rule, documentation "ACL policy specification: Namespace rules"). What no rule names is not allowed.

#include "acl/policy.hpp"

#include <memory>
#include <span>

namespace underway::acl {

class Rights {
 public:
  /// Nothing at all.
  Rights() = default;
  explicit Rights(std::span<const std::shared_ptr<const Policy>> policies);
  /// Everything: management tokens, root at the socket, an agent without ACL.
  static std::shared_ptr<const Rights> all();

  bool is_management() const { return management_; }
  /// Whether there is anything that is not refused.
  bool any() const;

  /// In a namespace; "*" asks for any namespace.
  bool in(std::string_view ns, Capability capability) const;
  /// Whether anything may be done in the namespace: then it may be seen.
  bool sees(std::string_view ns) const;
  /// With the variable at `path` of namespace `ns`. Writing does not include reading.
  bool variable(std::string_view path, std::string_view ns, Access access) const;
  /// With some variable of the namespace ("*": of any): lists are filtered by `variable`.
  bool some_variable(std::string_view ns, Access access) const;

  bool node(Level level) const { return reaches(rules_.node, level); }
  bool agent(Level level) const { return reaches(rules_.agent, level); }
  bool operators(Level level) const { return reaches(rules_.operators, level); }
  bool quota(Level level) const { return reaches(rules_.quota, level); }
  bool plugin(Level level) const { return reaches(rules_.plugin, level); }
  bool node_pool(std::string_view name, Level level) const;
  bool some_node_pool(Level level) const;
  bool host_volume(std::string_view name, Level level) const;
  bool snapshot() const { return rules_.operators != Level::deny && (rules_.snapshots || operators(Level::write)); }

 private:
  bool reaches(Level have, Level wanted) const;
  Capabilities capabilities_in(std::string_view ns) const;

  bool management_ = false;
  Policy rules_;  ///< merged
};

/// How far `pattern` is from `text`, which it matches: 0 for the same text. Nothing when it does not match.
std::optional<std::size_t> distance(std::string_view pattern, std::string_view text);

}  // namespace underway::acl
