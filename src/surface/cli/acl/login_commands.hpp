#pragma once
/// @file
/// The commands of single sign-on and of operators of the whole cluster, and what they share.

#include "cli/command.hpp"
#include "cli/context.hpp"
#include "model/access/auth_method.hpp"

namespace underway::cli {

const Command& acl_auth_method_create_command();
const Command& acl_auth_method_update_command();
const Command& acl_auth_method_list_command();
const Command& acl_auth_method_info_command();
const Command& acl_auth_method_delete_command();
const Command& acl_binding_rule_create_command();
const Command& acl_binding_rule_update_command();
const Command& acl_binding_rule_list_command();
const Command& acl_binding_rule_info_command();
const Command& acl_binding_rule_delete_command();
const Command& login_command();
const Command& operator_scheduler_get_config_command();
const Command& operator_scheduler_set_config_command();
const Command& operator_raft_list_peers_command();
const Command& operator_raft_remove_peer_command();
const Command& operator_raft_transfer_leadership_command();
const Command& operator_autopilot_get_config_command();
const Command& operator_autopilot_set_config_command();
const Command& operator_autopilot_health_command();

/// What a login brought.
struct Login {
  std::string type, method;  ///< "OIDC", and the name of the auth method
  boost::json::value token;  ///< the wire's ACLToken
};
/// What `login` does, without a word about what came of it. The flag -login-token, where a command has it, is a JWT.
Login log_in(const Arguments& arguments);
/// An ACLToken as facts and, of a client's, its roles.
std::string token_text(const boost::json::value& token);

/// Asks the API, and reads its answer. Throws Error with what the server says.
boost::json::value ask(sdk::Client& client, const std::string& method, const std::string& path,
                       const boost::json::value& body = nullptr);

}  // namespace underway::cli
