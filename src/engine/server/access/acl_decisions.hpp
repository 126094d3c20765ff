#pragma once
/// @file
/// Decisions about policies, tokens and roles. Secrets come in as hashes: a decision may be logged, and is not the
/// place where they are made.

#include "model/access/acl.hpp"
#include "server/decision.hpp"

namespace underway::server {

struct BootstrapAcl {
  model::AclToken secret;  ///< what is kept of its secret
  /// What an operator wrote into the reset file: allows one more bootstrap when it is the index of the last one.
  std::optional<model::Revision> reset_index;
};
/// The first management token. Throws invalid, with the index to write into the reset file, when it was made before.
Decision<model::AclToken> decide(const Tables&, const BootstrapAcl&, const Context&);

/// All of them or none. Throws not_found. Tokens and roles that name one lose what it granted.
struct DeletePolicies {
  std::vector<std::string> names;
};
Decision<Nothing> decide(const Tables&, const DeletePolicies&, const Context&);

/// How long tokens that expire live.
struct TokenLifetimes {
  Duration shortest = std::chrono::minutes(1);
  Duration longest = std::chrono::hours(24);
};
struct PutToken {
  /// Without accessor_id: a new one, of secret_hash. With both: a client token that was made elsewhere, unless there is
  /// one of that accessor_id. Roles by id or by name.
  model::AclToken token;
  TokenLifetimes lifetimes;
};
/// A new token, or one changed: its secret, its times and whether it is global stay. Throws invalid with all problems,
/// not_found; conflict: another token has the secret.
Decision<model::AclToken> decide(const Tables&, const PutToken&, const Context&);
/// By accessor id; all of them or none. Throws not_found.
struct DeleteTokens {
  std::vector<std::string> accessors;
};
Decision<Nothing> decide(const Tables&, const DeleteTokens&, const Context&);

/// Without an id: a new one. Throws invalid with all problems, not_found.
struct PutRole {
  model::AclRole role;
};
Decision<model::AclRole> decide(const Tables&, const PutRole&, const Context&);
/// By id. Throws not_found.
struct DeleteRoles {
  std::vector<std::string> ids;
};
Decision<Nothing> decide(const Tables&, const DeleteRoles&, const Context&);
tables::Row<model::AclRole> find_role_by_name(const Tables&, const std::string& name);

/// Tokens that expired longer than `keep` ago are forgotten. Returns how many.
std::int64_t collect_tokens(std::vector<Change>& changes, const Tables&, Duration keep, const Context&);

}  // namespace underway::server
