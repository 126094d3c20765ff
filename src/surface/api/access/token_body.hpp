#pragma once
/// @file
/// ACL tokens, and those who vouch for people, on the wire: as Nomad's clients read them, and without what is secret.

#include "model/access/auth_method.hpp"

namespace underway::api {

/// `secret`: in the answer to the request that made the token, to who shows it, and where a site keeps it.
std::string token_json(const model::AclToken& token, const std::string& secret = {});

/// Durations are text ("1h0m0s"): Nomad's clients read MaxTokenTTL in no other form.
boost::json::value method_body(const model::AuthMethod& method);

}  // namespace underway::api
