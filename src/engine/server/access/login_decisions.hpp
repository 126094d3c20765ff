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
Decision<model::AuthMethod> decide_put_auth_method(const Tables&, const PutAuthMethod&, const Context&);
/// With its binding rules. Throws not_found.
Decision<Nothing> decide_delete_auth_method(const Tables&, const std::string& name, const Context&);
/// The one of that name; without a name the default one of the type. Throws not_found; invalid: another type.
model::AuthMethod get_auth_method(const Tables&, const std::string& name, model::AuthMethodType type);

/// Without an id: a new one. Throws invalid with all problems, not_found.
Decision<model::BindingRule> decide_put_binding_rule(const Tables&, const model::BindingRule&, const Context&);
/// Throws not_found.
Decision<Nothing> decide_delete_binding_rule(const Tables&, const std::string& id, const Context&);

/// Throws conflict: the secrets of an auth method are sealed under the root key.
void refuse_key_removal(const Tables&, const std::string& key_id);
/// Puts each that has not changed meanwhile, with its secrets sealed anew.
Decision<Nothing> decide_reseal_auth_methods(const Tables&, const std::vector<model::AuthMethod>&, const Context&);

struct Login {
  model::AuthMethod method;  ///< as it was when who logs in was verified
  acl::Claims claims;
  std::string secret_hash;  ///< of the token to be made
};
/// A token that lives as long as the method says. Throws denied: no binding rule grants anything; the method was
/// changed meanwhile.
Decision<model::AclToken> decide_login(const Tables&, const Login&, const Context&);

}  // namespace underway::server
