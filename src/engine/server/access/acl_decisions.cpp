#include "server/access/acl_decisions.hpp"

#include "server/access/checked_policy.hpp"

#include "acl/policy.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace underway::server {

using model::AclPolicy;
using model::AclRole;
using model::AclToken;
using model::AclTokenType;

namespace {

/// Where the index of the last bootstrap is kept.
constexpr const char* kBootstrapped = "acl/bootstrap";
constexpr std::size_t kLongestName = 256;
constexpr std::size_t kMostLinks = 256;

void refuse(const std::vector<std::string>& problems, std::string what) {
  if (problems.empty()) return;
  throw Error(Code::invalid, std::move(what)).because(problems);
}

template <class Row>
Decision<Nothing> delete_all(const Tables& tables, const std::vector<std::string>& keys, const char* what) {
  Decision<Nothing> decision;
  for (const auto& key : keys) {
    if (!tables.find<Row>(key)) throw Error(Code::not_found, fmt::format("{} '{}' not found", what, key));
    decision.changes.push_back(tables::Delete<Row>{key});
  }
  return decision;
}

/// By id, or by name when no id is given: with both filled in, each once.
std::vector<model::AclRoleLink> resolve_roles(const Tables& tables, const std::vector<model::AclRoleLink>& links,
                                              std::vector<std::string>& problems) {
  std::vector<model::AclRoleLink> out;
  for (const auto& link : links) {
    const auto role = link.id.empty() ? find_role_by_name(tables, link.name) : tables.find<AclRole>(link.id);
    if (!role) {
      problems.push_back(fmt::format("cannot find role '{}'", link.id.empty() ? link.name : link.id));
      continue;
    }
    const bool known = std::any_of(out.begin(), out.end(), [&](const auto& other) { return other.id == role->id; });
    if (!known) out.push_back({role->id, role->name});
  }
  return out;
}

/// In Nomad's words, where it has them: its clients show them.
std::vector<std::string> token_problems(const AclToken& token) {
  std::vector<std::string> out;
  if (token.name.size() > kLongestName)
    out.push_back(fmt::format("token name has {} bytes; at most {} are kept", token.name.size(), kLongestName));
  if (token.policies.size() > kMostLinks || token.roles.size() > kMostLinks)
    out.push_back(fmt::format("a token has at most {} policies and {} roles", kMostLinks, kMostLinks));
  const bool linked = !token.policies.empty() || !token.roles.empty();
  if (token.type == AclTokenType::client && !linked) out.push_back("client token missing policies or roles");
  if (token.type == AclTokenType::management && linked)
    out.push_back("management token cannot be associated with policies or roles");
  return out;
}

/// Fills in when the token expires.
void set_times(AclToken& token, const TokenLifetimes& lifetimes, const Context& context,
               std::vector<std::string>& problems) {
  token.create_time = unix_nanos(context.now);
  if (token.expiration_ttl == Duration{0} && token.expiration_time == 0) return;
  if (token.expiration_ttl != Duration{0} && token.expiration_time != 0) {
    problems.push_back("ExpirationTime and ExpirationTTL exclude each other");
    return;
  }
  const Duration life =
      token.expiration_ttl != Duration{0} ? token.expiration_ttl : from_unix_nanos(token.expiration_time) - context.now;
  if (life < lifetimes.shortest || life > lifetimes.longest) {
    problems.push_back(
        fmt::format("the token would live for {}; tokens that expire live for {} to {} (acl "
                    "token_min_expiration_ttl, token_max_expiration_ttl)",
                    format_duration(life), format_duration(lifetimes.shortest), format_duration(lifetimes.longest)));
    return;
  }
  token.expiration_time = unix_nanos(context.now + life);
}

AclToken new_token(const PutToken& request, const Context& context, std::vector<std::string>& problems) {
  AclToken token = request.token;
  if (token.secret_hash.empty()) throw Error(Code::internal, "a token was to be made without a secret");
  if (token.accessor_id.empty()) token.accessor_id = context.ids.uuid();
  set_times(token, request.lifetimes, context, problems);
  return token;
}

/// What a client brings along from elsewhere gets no more than what is granted to it here by name.
void check_brought(const Tables& tables, const AclToken& token, std::vector<std::string>& problems) {
  if (!is_uuid(token.accessor_id)) problems.push_back(fmt::format("accessor ID '{}' is no UUID", token.accessor_id));
  if (token.type == AclTokenType::management) problems.push_back("cannot upload management tokens");
  if (tables.find_token_by_hash(token.secret_hash))
    throw Error(Code::conflict, "another token has this secret").advise("have one made: leave out its ids");
}

/// What is set once stays.
AclToken changed_token(const Tables& tables, const AclToken& wanted, std::vector<std::string>& problems) {
  const auto current = tables.find<AclToken>(wanted.accessor_id);
  if (!current) throw Error(Code::not_found, fmt::format("cannot find token {}", wanted.accessor_id));
  AclToken token = *current;
  token.name = wanted.name;
  token.type = wanted.type;
  token.policies = wanted.policies;
  token.roles = wanted.roles;
  if (wanted.global != current->global)
    problems.push_back(fmt::format("cannot toggle global mode of {}", wanted.accessor_id));
  const bool other_time = wanted.expiration_time != 0 && wanted.expiration_time != current->expiration_time;
  if (other_time || (wanted.expiration_ttl != Duration{0} && wanted.expiration_ttl != current->expiration_ttl))
    problems.push_back(fmt::format("cannot change when token {} expires", wanted.accessor_id));
  return token;
}

}  // namespace

Decision<AclToken> decide(const Tables& tables, const BootstrapAcl& request, const Context& context) {
  if (const auto before = tables.setting(kBootstrapped)) {
    const auto index = before->at("Index").to_number<model::Revision>();
    if (request.reset_index != index) {
      throw Error(Code::invalid, fmt::format("ACL bootstrap already done (reset index: {})", index));
    }
  }
  AclToken token = request.secret;
  token.name = "Bootstrap Token";
  token.type = AclTokenType::management;
  token.global = true;
  std::vector<std::string> none;
  token = new_token({std::move(token), {}}, context, none);
  Decision<AclToken> decision;
  decision.changes.push_back(tables::PutAclToken{token});
  decision.changes.push_back(tables::PutSetting{kBootstrapped, boost::json::object{{"Index", context.revision}}});
  decision.result = std::move(token);
  return decision;
}

CheckedPolicy::CheckedPolicy(AclPolicy policy) : policy_(std::move(policy)) {
  refuse(model::problems(policy_), fmt::format("policy '{}' is not valid", policy_.name));
  acl::parse_policy(policy_.rules, policy_.name);
}

Decision<Nothing> decide(const Tables&, const PutPolicy& request, const Context&) {
  Decision<Nothing> decision;
  decision.changes.push_back(tables::PutAclPolicy{*request.policy});
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const DeletePolicies& request, const Context&) {
  const auto& names = request.names;
  return delete_all<AclPolicy>(tables, names, "policy");
}

Decision<AclToken> decide(const Tables& tables, const PutToken& request, const Context& context) {
  std::vector<std::string> problems;
  const auto& wanted = request.token;
  const bool brought = !wanted.accessor_id.empty() && !wanted.secret_hash.empty() &&
                       tables.find<AclToken>(wanted.accessor_id) == nullptr;
  if (brought) check_brought(tables, wanted, problems);
  const bool fresh = brought || wanted.accessor_id.empty();
  AclToken token = fresh ? new_token(request, context, problems) : changed_token(tables, request.token, problems);
  for (auto& problem : token_problems(token)) problems.push_back(std::move(problem));
  token.roles = resolve_roles(tables, token.roles, problems);
  refuse(problems, "the token is not valid");
  Decision<AclToken> decision;
  decision.result = token;
  decision.changes.push_back(tables::PutAclToken{std::move(token)});
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const DeleteTokens& request, const Context&) {
  const auto& accessors = request.accessors;
  return delete_all<AclToken>(tables, accessors, "token");
}

tables::Row<AclRole> find_role_by_name(const Tables& tables, const std::string& name) {
  for (const auto& role : tables.rows<AclRole>()) {
    if (role->name == name) return role;
  }
  return nullptr;
}

Decision<AclRole> decide(const Tables& tables, const PutRole& request, const Context& context) {
  const auto& wanted = request.role;
  AclRole role = wanted;
  auto problems = model::problems(role);
  const auto current = role.id.empty() ? nullptr : tables.find<AclRole>(role.id);
  if (!role.id.empty() && !current) throw Error(Code::not_found, fmt::format("cannot find role {}", role.id));
  const auto same_name = find_role_by_name(tables, role.name);
  if (same_name && same_name->id != role.id)
    problems.push_back(fmt::format("role with name {} already exists", role.name));
  if (role.policies.size() > kMostLinks) problems.push_back(fmt::format("a role has at most {} policies", kMostLinks));
  for (const auto& link : role.policies) {
    if (!tables.find<AclPolicy>(link.name)) problems.push_back(fmt::format("cannot find policy {}", link.name));
  }
  refuse(problems, fmt::format("role '{}' is not valid", role.name));
  if (role.id.empty()) role.id = context.ids.uuid();
  Decision<AclRole> decision;
  decision.result = role;
  decision.changes.push_back(tables::PutAclRole{std::move(role)});
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const DeleteRoles& request, const Context&) {
  const auto& ids = request.ids;
  return delete_all<AclRole>(tables, ids, "role");
}

std::int64_t collect_tokens(std::vector<Change>& changes, const Tables& tables, Duration keep, const Context& context) {
  std::int64_t count = 0;
  for (const auto& token : tables.rows<AclToken>()) {
    if (!token->is_expired(context.now - keep)) continue;
    changes.push_back(tables::DeleteAclToken{token->accessor_id});
    ++count;
  }
  return count;
}

}  // namespace underway::server
