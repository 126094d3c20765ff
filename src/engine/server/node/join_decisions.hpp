#pragma once
/// @file
/// Decisions about join tokens, and about nodes that use one: which of them may have a certificate.

#include "server/decision.hpp"
#include "trust/identity.hpp"

namespace underway::server {

struct NewJoinToken {
  std::string hash;  ///< crypto::hash_token of a secret that only its maker has
  std::string name, pool, cluster;
  bool host = false;  ///< the node is that cluster's host `name`, which a provider makes; else no more than a member
  Duration lifetime = std::chrono::hours(1);
};
/// Returns its id. Forgets tokens that ended more than a week ago. Throws invalid: a lifetime that is none, a host
/// without a name; not_found, naming the clusters that there are; conflict: a member that has a host's name.
Decision<std::string> decide(const Tables&, const NewJoinToken&, const Context&);

/// What was joined with it stays joined. Throws not_found.
struct RevokeJoinToken {
  std::string id;
};
Decision<Nothing> decide(const Tables&, const RevokeJoinToken&, const Context&);

struct JoinAttempt {
  std::string token_id;
  std::string token_secret;
  std::string node_id, node_secret, name, pool;
  std::string key;      ///< crypto::request_key_digest
  std::string address;  ///< where it came from
};
/// Uses the token up. Returns what the node's certificate may say. The same node may ask again with the same key: the
/// answer may have been lost. Throws denied, saying why and, when the token was used, when and by whom; invalid.
Decision<trust::Identity> decide(const Tables&, const JoinAttempt&, const Context&);

/// Whether a node may register over a link whose certificate says `identity`. Throws denied.
void check_identity(const trust::Identity& identity, const model::Node& node);

/// Puts a node that is no host into the cluster that its certificate names. The node itself claims none: nothing on it
/// says what it is a member of.
void enter_cluster(const trust::Identity& identity, model::Node& node);

}  // namespace underway::server
