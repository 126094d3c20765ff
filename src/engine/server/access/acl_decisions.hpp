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
Decision<model::AclToken> decide_bootstrap(const Tables&, const BootstrapAcl&, const Context&);

/// Throws invalid with every error of the rules, by line and column.
Decision<Nothing> decide_put_policy(const Tables&, const model::AclPolicy&, const Context&);
/// All of them or none. Throws not_found. Tokens and roles that name one lose what it granted.
Decision<Nothing> decide_delete_policies(const Tables&, const std::vector<std::string>& names, const Context&);

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
Decision<model::AclToken> decide_put_token(const Tables&, const PutToken&, const Context&);
/// By accessor id; all of them or none. Throws not_found.
Decision<Nothing> decide_delete_tokens(const Tables&, const std::vector<std::string>& accessors, const Context&);

/// Without an id: a new one. Throws invalid with all problems, not_found.
Decision<model::AclRole> decide_put_role(const Tables&, const model::AclRole&, const Context&);
/// By id. Throws not_found.
Decision<Nothing> decide_delete_roles(const Tables&, const std::vector<std::string>& ids, const Context&);
tables::Row<model::AclRole> find_role_by_name(const Tables&, const std::string& name);

/// Tokens that expired longer than `keep` ago are forgotten. Returns how many.
std::int64_t collect_tokens(std::vector<Change>& changes, const Tables&, Duration keep, const Context&);

}  // namespace underway::server
