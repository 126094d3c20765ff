#pragma once
/// @file
/// Decisions about single sign-on: auth methods, binding rules, and the token that a login gets. Who logs in was
/// verified before (server/access/identity_providers.hpp); secrets come in sealed.

#include "acl/login.hpp"
#include "server/access/acl_decisions.hpp"

namespace underway::server {

struct PutAuthMethod {
  model::AuthMethod method;  ///< its secrets taken out of the configuration and sealed, or empty: those it has stay
  bool must_exist = false;   ///< a change, and not a new one
  TokenLifetimes lifetimes;
};
/// Throws invalid with all problems, not_found; conflict: there is one of that name, or another default of its type.
Decision<model::AuthMethod> decide(const Tables&, const PutAuthMethod&, const Context&);
/// With its binding rules. Throws not_found.
struct DeleteAuthMethod {
  std::string name;
};
Decision<Nothing> decide(const Tables&, const DeleteAuthMethod&, const Context&);
/// The one of that name; without a name the default one of the type. Throws not_found; invalid: another type.
model::AuthMethod get_auth_method(const Tables&, const std::string& name, model::AuthMethodType type);

/// Without an id: a new one. Throws invalid with all problems, not_found.
struct PutBindingRule {
  model::BindingRule rule;
};
Decision<model::BindingRule> decide(const Tables&, const PutBindingRule&, const Context&);
/// Throws not_found.
struct DeleteBindingRule {
  std::string id;
};
Decision<Nothing> decide(const Tables&, const DeleteBindingRule&, const Context&);

/// Throws conflict: the secrets of an auth method are sealed under the root key.
void refuse_key_removal(const Tables&, const std::string& key_id);
/// Puts each that has not changed meanwhile, with its secrets sealed anew.
struct ResealAuthMethods {
  std::vector<model::AuthMethod> resealed;
};
Decision<Nothing> decide(const Tables&, const ResealAuthMethods&, const Context&);

struct Login {
  model::AuthMethod method;  ///< as it was when who logs in was verified
  acl::Claims claims;
  std::string secret_hash;  ///< of the token to be made
};
/// A token that lives as long as the method says. Throws denied: no binding rule grants anything; the method was
/// changed meanwhile.
Decision<model::AclToken> decide(const Tables&, const Login&, const Context&);

}  // namespace underway::server
