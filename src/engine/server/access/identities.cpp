#include "server/access/identities.hpp"

#include <boost/json/array.hpp>

#include "base/json/json_member.hpp"
#include "model/access/variable.hpp"

namespace underway::server {
namespace {

/// What a task with a `vault` block shows to Vault, where it declares nothing itself: as Nomad's servers add it.
const model::Identity& identity_for_vault() {
  static const model::Identity identity = [] {
    model::Identity made;
    made.aud = {"vault.io"};
    return made;
  }();
  return identity;
}

const model::Identity* find_identity(const model::Task& task, const std::string& name) {
  if (task.identity && name == "default") return &*task.identity;
  for (const auto& identity : task.identities) {
    if (identity.name == name) return &identity;
  }
  if (task.vault && name == "vault_" + task.vault->cluster) return &identity_for_vault();
  return nullptr;
}

const model::Identity& get_identity(const model::Allocation& allocation, const std::string& task,
                                    const std::string& name) {
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  const auto* found = group != nullptr ? group->find_task(task) : nullptr;
  const auto* identity = found != nullptr ? find_identity(*found, name) : nullptr;
  if (identity == nullptr)
    throw Error(Code::not_found,
                fmt::format("task '{}' of allocation {} has no identity '{}'", task, allocation.id.substr(0, 8), name));
  return *identity;
}

boost::json::value audience(const model::Identity& identity) {
  if (identity.aud.size() == 1) return boost::json::value(identity.aud.front());
  boost::json::array all;
  for (const auto& name : identity.aud) all.emplace_back(name);
  return all;
}

/// `${job.id}` and the like, in the words of Nomad's documentation of `extra_claims`; what is none of them stays.
std::string interpolate_claim(std::string text, const model::Allocation& allocation, const std::string& task) {
  const model::Job& job = *allocation.job;
  const std::pair<std::string_view, std::string_view> known[] = {{"${job.id}", job.id},
                                                                 {"${job.namespace}", job.ns},
                                                                 {"${job.region}", job.region},
                                                                 {"${job.name}", job.name},
                                                                 {"${job.node_pool}", job.node_pool},
                                                                 {"${group.name}", allocation.group},
                                                                 {"${task.name}", task},
                                                                 {"${alloc.id}", allocation.id},
                                                                 {"${alloc.name}", allocation.name},
                                                                 {"${node.id}", allocation.node_id},
                                                                 {"${node.name}", allocation.node_name}};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto hit = std::find_if(std::begin(known), std::end(known), [&](const auto& entry) {
      return std::string_view(text).substr(at).starts_with(entry.first);
    });
    if (hit == std::end(known)) {
      out += text[at++];
    } else {
      out += hit->second;
      at += hit->first.size();
    }
  }
  return out;
}

/// Beside the others: what says who the task is cannot be overwritten.
void add_extra_claims(boost::json::object& claims, const model::Identity& identity, const model::Allocation& allocation,
                      const std::string& task) {
  for (const auto& [name, value] : identity.extra_claims) {
    if (name == "iss" || name.starts_with("nomad_") || claims.contains(name)) continue;
    claims[name] = interpolate_claim(value, allocation, task);
  }
}

}  // namespace

IdentityClaims identity_claims(const model::Allocation& allocation, const std::string& task,
                               const std::string& identity, const std::string& issuer, const Context& context) {
  const auto& wanted = get_identity(allocation, task, identity);
  IdentityClaims out{{}, context.now, context.now + wanted.lifetime()};
  boost::json::object claims{{"sub", fmt::format("{}:{}:{}:{}:{}:{}", allocation.job->region, allocation.ns,
                                                 allocation.job_id, allocation.group, task, identity)},
                             {"aud", audience(wanted)},
                             {"iat", unix_seconds(context.now)},
                             {"nbf", unix_seconds(context.now)},
                             {"exp", unix_seconds(out.expires)},
                             {"jti", context.ids.uuid()},
                             {"nomad_namespace", allocation.ns},
                             {"nomad_job_id", allocation.job_id},
                             {"nomad_allocation_id", allocation.id},
                             {"nomad_task", task}};
  if (!issuer.empty()) claims["iss"] = issuer;
  add_extra_claims(claims, wanted, allocation, task);
  out.claims = std::move(claims);
  return out;
}

IdentityToken issue_identity(const Keyring& keyring, const model::Allocation& allocation, const std::string& task,
                             const std::string& identity, const std::string& issuer, const Context& context) {
  const auto made = identity_claims(allocation, task, identity, issuer, context);
  return {keyring.signing().sign(made.claims), made.issued, made.expires};
}

bool looks_like_identity(std::string_view token) {
  return token.starts_with("eyJ") && std::count(token.begin(), token.end(), '.') == 2;
}

VerifiedIdentity verify_identity(const Keyring& keyring, const Tables& tables, std::string_view token, TimePoint now) {
  crypto::JwtExpectation expected{now};
  expected.audience = kApiAudience;
  const auto claims = crypto::verify_jwt(token, keyring.verifying(), expected);
  VerifiedIdentity identity;
  auto& workload = identity.workload;
  workload.allocation_id = json::text_at(claims, "nomad_allocation_id");
  workload.task = json::text_at(claims, "nomad_task");
  const auto allocation = tables.find_allocation(workload.allocation_id);
  if (!allocation || allocation->client_terminal())
    throw Error(Code::denied, "the workload identity is not valid").because("its allocation is over");
  workload.ns = allocation->ns;
  workload.job = allocation->job_id;
  workload.group = allocation->group;
  const auto* expires = claims.if_contains("exp");
  if (expires != nullptr && expires->is_int64())  // one that says nothing of its end has ended
    identity.expires = from_unix_nanos(expires->get_int64() * 1'000'000'000);
  return identity;
}

}  // namespace underway::server
