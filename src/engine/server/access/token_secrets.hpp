#pragma once
/// @file
/// Secrets of tokens where a site wants them to be read again, as Nomad has it (`acl.readable_token_secrets`): sealed
/// by the keyring. Elsewhere the store has their hashes alone.

#include "model/access/acl.hpp"
#include "server/decision.hpp"
#include "server/variable/keyring.hpp"

namespace underway::server {

/// For a token with its secret_hash.
void seal_secret(model::AclToken& token, std::string_view secret, const Keyring& keyring);
/// Empty when it is not kept. Throws Error as Keyring::open does. Whoever has the result must not log it.
std::string open_secret(const model::AclToken& token, const Keyring& keyring);
/// Under the active key. False when it is already, or is not kept.
bool seal_anew(model::AclToken& token, const Keyring& keyring);
/// Those that nobody has changed or deleted meanwhile.
struct ResealTokens {
  std::vector<model::AclToken> resealed;
};
Decision<Nothing> decide(const Tables&, const ResealTokens&, const Context&);

}  // namespace underway::server
