#pragma once
/// @file
/// What a login is worth: from the verified claims of who logs in, and the binding rules of the auth method, to roles
/// and policies. Pure.

#include "model/access/auth_method.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::AuthMethod> {
  static constexpr std::string_view kind = "acl-auth-method";
  static std::string name(const model::AuthMethod& method) { return method.name; }
};
template <>
struct RecordOf<model::BindingRule> {
  static constexpr std::string_view kind = "acl-binding-rule";
  static std::string name(const model::BindingRule& rule) { return rule.id; }
};

}  // namespace underway::tables

namespace underway::acl {

/// What is mapped of the claims of a token: selectors see it as `value.NAME` and `list.NAME`.
struct Claims {
  std::map<std::string, std::string> values;
  std::map<std::string, std::vector<std::string>> lists;
};

const describe::Structure& description(describe::Tag<Claims>);

/// A mapping's claim is a name, or a JSON pointer ("/realm/roles"). What a token does not have is not mapped; numbers
/// and booleans become text. Throws Error(denied): a claim to be a value is a list or an object; too much is mapped.
Claims map_claims(const model::AuthMethodConfig& config, const boost::json::object& claims);

/// Whether `expression` (filter/filter.hpp) is true of the claims. Throws Error(invalid) for one that is none.
bool selects(const std::string& expression, const Claims& claims);

/// Replaces each ${value.NAME} by the claim, and the names of `more` ("auth_method_name"). "$${" is "${". Throws
/// Error(invalid) for a name that is not there, and for what is not closed.
std::string interpolate(const std::string& text, const Claims& claims,
                        const std::map<std::string, std::string>& more = {});
/// Throws Error(invalid) for a text that no claims can make valid.
void check_template(const std::string& text, const std::vector<std::string>& more = {});

struct Bindings {
  bool management = false;
  std::vector<model::AclRoleLink> roles;
  std::vector<std::string> policies;
  bool none() const { return !management && roles.empty() && policies.empty(); }
};
/// Of all rules of the method whose selector is true. Roles and policies that do not exist give nothing, and neither
/// does a rule whose name cannot be made of these claims.
Bindings bind(const tables::Tables& tables, const std::string& auth_method, const Claims& claims);

}  // namespace underway::acl
