#include "acl/identity.hpp"

#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "model/access/variable.hpp"

namespace underway::acl {

using tables::Row;
using tables::Tables;
using tables::Topic;

namespace {

IdentityPtr permanent(Identity::Kind kind, std::string accessor) {
  auto identity = std::make_shared<Identity>();
  identity->kind = kind;
  identity->accessor = std::move(accessor);
  identity->rights = Rights::all();
  return identity;
}

/// Its own, and those of its roles.
std::vector<std::string> policies_of(const Tables& tables, const model::AclToken& token) {
  std::vector<std::string> names = token.policies;
  for (const auto& link : token.roles) {
    const auto role = tables.find<model::AclRole>(link.id);
    if (!role) continue;
    for (const auto& policy : role->policies) names.push_back(policy.name);
  }
  return names;
}

/// What a task may read by what it is. A name with a `*` in it would be a pattern, and grant more than its own.
Policy implicit_policy(const Workload& workload) {
  Policy policy;
  auto& variables = policy.namespaces[workload.ns].variables;
  for (const auto& path : model::implicit_paths(workload.job, workload.group, workload.task)) {
    if (path.find('*') == std::string::npos)
      variables[path] = static_cast<AccessSet>(Access::list) | static_cast<AccessSet>(Access::read);
  }
  return policy;
}

}  // namespace

std::string hash_secret(std::string_view secret) { return hex(crypto::sha256(secret)); }

IdentityPtr Identities::unrestricted() {
  static const IdentityPtr identity = permanent(Identity::Kind::unrestricted, "acl-disabled");
  return identity;
}

IdentityPtr Identities::root_socket() {
  static const IdentityPtr identity = permanent(Identity::Kind::root_socket, "root@unix");
  return identity;
}

void Identities::forget_what_changed(const Tables& tables) {
  const auto policies = tables.revision_of({Topic::acl_policies, ""});
  const auto roles = tables.revision_of({Topic::acl_roles, ""});
  if (policies == policies_at_ && roles == roles_at_) return;
  // Revisions are told as 1 at least: what was seen of an empty store is not kept.
  policies_at_ = tables.revision() > 0 ? policies : -1;
  roles_at_ = roles;
  known_.clear();
  policies_.clear();
  anonymous_.reset();
}

IdentityPtr Identities::of_secret(const Tables& tables, std::string_view secret, TimePoint now) {
  const std::string hash = hash_secret(secret);
  const auto token = tables.find_token_by_hash(hash);
  if (!token || !crypto::equal_in_constant_time(token->secret_hash, hash)) throw Error(Code::denied, kTokenNotFound);
  return of_token(tables, token, now);
}

IdentityPtr Identities::of_token(const Tables& tables, const Row<model::AclToken>& token, TimePoint now) {
  if (token->is_expired(now)) throw Error(Code::denied, kTokenExpired);
  forget_what_changed(tables);
  if (const auto it = known_.find(token->accessor_id); it != known_.end() && it->second->token == token)
    return it->second;
  if (known_.size() >= kMostKept) known_.clear();
  auto identity = std::make_shared<Identity>();
  identity->kind = Identity::Kind::token;
  identity->accessor = token->accessor_id;
  identity->name = token->name;
  if (token->expiration_time > 0) identity->expires = from_unix_nanos(token->expiration_time);
  identity->rights =
      token->type == model::AclTokenType::management ? Rights::all() : rights_of(tables, policies_of(tables, *token));
  identity->token = token;
  known_[token->accessor_id] = identity;
  return identity;
}

IdentityPtr Identities::anonymous(const Tables& tables) {
  forget_what_changed(tables);
  if (anonymous_) return anonymous_;
  auto identity = std::make_shared<Identity>();
  identity->accessor = "anonymous";
  identity->rights = rights_of(tables, {model::kAnonymousPolicy});
  return anonymous_ = identity;
}

IdentityPtr Identities::of_workload(const Tables& tables, const Workload& workload, TimePoint expires, TimePoint now) {
  if (expires <= now) throw Error(Code::denied, kTokenExpired);
  const auto allocation = tables.find_allocation(workload.allocation_id);
  if (!allocation || allocation->client_terminal()) throw Error(Code::denied, kWorkloadOver);
  const auto policies = policies_of_workload(tables, workload.ns, workload.job, workload.group, workload.task);
  auto rules = rules_of(tables, policies);
  rules.push_back(std::make_shared<const Policy>(implicit_policy(workload)));
  auto identity = std::make_shared<Identity>();
  identity->kind = Identity::Kind::workload;
  identity->accessor = fmt::format("workload:{}/{}", workload.allocation_id, workload.task);
  identity->name = fmt::format("{}/{}/{}", workload.job, workload.group, workload.task);
  identity->expires = expires;
  identity->rights = std::make_shared<const Rights>(rules);
  identity->workload = workload;
  return identity;
}

IdentityPtr Identities::again(const Tables& tables, const IdentityPtr& identity, TimePoint now) {
  switch (identity->kind) {
    case Identity::Kind::token: {
      const auto token = tables.find<model::AclToken>(identity->accessor);
      if (!token) throw Error(Code::denied, kTokenNotFound);
      return of_token(tables, token, now);
    }
    case Identity::Kind::anonymous:
      return anonymous(tables);
    case Identity::Kind::workload:
      return of_workload(tables, *identity->workload, identity->expires, now);
    case Identity::Kind::unrestricted:
    case Identity::Kind::root_socket:
      break;
  }
  return identity;
}

std::shared_ptr<const Policy> Identities::parsed(const Row<model::AclPolicy>& row) {
  auto& slot = policies_[row->name];
  if (slot) return slot;
  hcl::Diagnostics diagnostics;
  auto policy = std::make_shared<const Policy>(parse_policy(row->rules, row->name, diagnostics));
  // It was valid when it was written. If it is not any more, half of it could lack what it denies.
  return slot = diagnostics.has_errors() ? std::make_shared<const Policy>() : policy;
}

std::vector<std::shared_ptr<const Policy>> Identities::rules_of(const Tables& tables,
                                                                const std::vector<std::string>& policies) {
  forget_what_changed(tables);
  std::vector<std::shared_ptr<const Policy>> rules;
  for (const auto& name : policies) {
    if (const auto row = tables.find<model::AclPolicy>(name)) rules.push_back(parsed(row));
  }
  return rules;
}

std::shared_ptr<const Rights> Identities::rights_of(const Tables& tables, const std::vector<std::string>& policies) {
  return std::make_shared<const Rights>(rules_of(tables, policies));
}

std::vector<tables::Scope> Identities::scopes(const Identity& identity) {
  if (identity.is_permanent()) return {};
  std::vector<tables::Scope> scopes{{Topic::acl_policies, ""}, {Topic::acl_roles, ""}};
  if (identity.kind == Identity::Kind::token) scopes.push_back({Topic::acl_tokens, identity.accessor});
  if (identity.workload) scopes.push_back({Topic::allocations, identity.workload->allocation_id});
  return scopes;
}

std::vector<std::string> policies_of_workload(const Tables& tables, const std::string& ns, const std::string& job_id,
                                              const std::string& group, const std::string& task) {
  std::vector<std::string> names;
  for (const auto& policy : tables.rows<model::AclPolicy>()) {
    const auto& job = policy->job_acl;
    if (!job || job->ns != ns || (!job->job_id.empty() && job->job_id != job_id)) continue;
    if ((job->group.empty() || job->group == group) && (job->task.empty() || job->task == task))
      names.push_back(policy->name);
  }
  return names;
}

}  // namespace underway::acl
