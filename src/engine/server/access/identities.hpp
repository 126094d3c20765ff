#pragma once
/// @file
/// Workload identities: tokens (JWT, RS256 or EdDSA) that say which task of which allocation their bearer is, signed by
/// the server and verified with the keys of /.well-known/jwks.json. Claims and subject are Nomad's.

#include "acl/identity.hpp"
#include "model/allocation.hpp"
#include "server/decision.hpp"
#include "server/variable/keyring.hpp"

namespace underway::server {

/// What the API takes tokens for.
inline constexpr std::string_view kApiAudience = "nomadproject.io";

struct IdentityToken {
  std::string token;
  TimePoint issued;
  TimePoint expires;
};

/// What a token says, before it is signed.
struct IdentityClaims {
  boost::json::object claims;
  TimePoint issued;
  TimePoint expires;
};

/// `issuer` may be empty. Throws not_found when the allocation has no such task, or the task no such identity.
IdentityClaims identity_claims(const model::Allocation& allocation, const std::string& task,
                               const std::string& identity, const std::string& issuer, const Context& context);
/// The same, signed by the active key. By RSA that computes for a millisecond: the server does it beside the loop.
IdentityToken issue_identity(const Keyring& keyring, const model::Allocation& allocation, const std::string& task,
                             const std::string& identity, const std::string& issuer, const Context& context);

/// Who a token says its bearer is.
struct VerifiedIdentity {
  acl::Workload workload;
  TimePoint expires = {};
};

/// Whether it is worth verifying: a JWT, and no ACL secret.
bool looks_like_identity(std::string_view token);
/// Throws denied: not genuine, expired, for somebody else than the API, or of an allocation that is over.
VerifiedIdentity verify_identity(const Keyring& keyring, const Tables& tables, std::string_view token, TimePoint now);

}  // namespace underway::server
