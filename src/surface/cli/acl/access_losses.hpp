#pragma once
/// @file
/// What goes with a token, a policy, a role or a way to log in: in lines, for whoever is about to delete it.

#include <string>
#include <vector>

#include "model/access/acl.hpp"

namespace underway::cli {

/// Of one that has expired nothing is lost.
std::vector<std::string> losses_of_token(const model::AclToken& token, TimePoint now);
std::vector<std::string> losses_of_policy(const model::AclPolicy& policy, const std::vector<model::AclToken>& tokens,
                                          const std::vector<model::AclRole>& roles);
std::vector<std::string> losses_of_role(const model::AclRole& role, const std::vector<model::AclToken>& tokens);
std::vector<std::string> losses_of_auth_method(const std::string& name, std::size_t binding_rules);
/// Of one under which nothing is sealed any more.
std::vector<std::string> losses_of_root_key(const std::string& id);

}  // namespace underway::cli
