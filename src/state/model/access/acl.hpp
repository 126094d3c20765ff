#pragma once
/// @file
/// Who may do what, as it is kept: policies (rules in HCL, read by state/acl), roles that bundle them, and tokens that
/// carry them. Names and the wire are those of Nomad's API, except that a token's secret is nowhere kept: only its hash
/// is, so who reads the store or a backup of it cannot act as somebody else.

#include "model/job/job.hpp"

namespace underway::model {

/// The tasks that a policy is for, besides those who hold a token with it: a job, one of its groups, one of its tasks.
struct JobAcl {
  std::string ns;
  std::string job_id;
  std::string group;
  std::string task;
};

struct AclPolicy {
  std::string name;
  std::string description;
  std::string rules;  ///< HCL or JSON; checked before it is kept
  std::optional<JobAcl> job_acl;
  Revision create_index = 0;
  Revision modify_index = 0;
};

/// What anonymous callers may do, should a policy of this name exist.
inline constexpr const char* kAnonymousPolicy = "anonymous";

enum class AclTokenType { client, management };

/// A role that a token has: by id, with the name for people.
struct AclRoleLink {
  std::string id;
  std::string name;
};

struct AclToken {
  std::string accessor_id;  ///< its public name: in lists, in the audit log
  std::string secret_hash;  ///< acl::hash_secret; never on the wire
  /// The secret itself, by the server's keyring, in base64, where a site wants it to be read again; never on the wire.
  std::string key_id, sealed;
  std::string name;
  AclTokenType type = AclTokenType::client;
  std::vector<std::string> policies;  ///< names
  std::vector<AclRoleLink> roles;
  bool global = false;
  std::int64_t create_time = 0;      ///< ns since the epoch
  std::int64_t expiration_time = 0;  ///< ns since the epoch; 0: never
  Duration expiration_ttl{0};        ///< as it was asked for
  Revision create_index = 0;
  Revision modify_index = 0;

  bool is_expired(TimePoint now) const { return expiration_time > 0 && from_unix_nanos(expiration_time) <= now; }
};

struct AclPolicyLink {
  std::string name;
};

struct AclRole {
  std::string id;
  std::string name;
  std::string description;
  std::vector<AclPolicyLink> policies;
  Revision create_index = 0;
  Revision modify_index = 0;
};

/// All problems, in words; empty when it is valid. Rules are checked by acl::parse_policy, references by the decision.
std::vector<std::string> problems(const AclPolicy& policy);
std::vector<std::string> problems(const AclRole& role);

const describe::Enumeration& description(describe::Tag<AclTokenType>);
const describe::Structure& description(describe::Tag<JobAcl>);
const describe::Structure& description(describe::Tag<AclPolicy>);
const describe::Structure& description(describe::Tag<AclRoleLink>);
const describe::Structure& description(describe::Tag<AclToken>);
const describe::Structure& description(describe::Tag<AclPolicyLink>);
const describe::Structure& description(describe::Tag<AclRole>);

}  // namespace underway::model
