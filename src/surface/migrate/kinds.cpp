#include "migrate/kinds.hpp"

#include "base/text.hpp"
#include "model/access/acl.hpp"
#include "model/access/auth_method.hpp"
#include "model/access/namespace.hpp"
#include "model/access/quota.hpp"
#include "model/node/node_pool.hpp"
#include "model/scheduler_configuration.hpp"

#include <algorithm>

namespace underway::migrate {
namespace {

template <class T>
const describe::Structure* described() {
  return &describe::structure_of<T>();
}

/// Source: Nomad's HTTP API documentation, the sample payloads of each endpoint.
std::vector<KindFacts> make_kinds() {
  std::vector<KindFacts> kinds = {
      {Kind::node_pool,
       "node pool",
       "/v1/node/pools",
       "",
       "/v1/node/pools",
       "/v1/node/pools",
       "Name",
       described<model::NodePool>,
       {"Name", "Description", "Meta", "NodeIdentityTTL", "SchedulerConfiguration.SchedulerAlgorithm",
        "SchedulerConfiguration.MemoryOversubscriptionEnabled"}},
      {Kind::quota,
       "quota",
       "/v1/quotas",
       "",
       "/v1/quota",
       "/v1/quota",
       "Name",
       described<model::Quota>,
       {"Name", "Description", "Limits"}},
      {Kind::name_space,
       "namespace",
       "/v1/namespaces",
       "",
       "/v1/namespace",
       "/v1/namespace",
       "Name",
       described<model::Namespace>,
       {"Name", "Description", "Meta", "Quota", "Capabilities.EnabledTaskDrivers", "Capabilities.DisabledTaskDrivers",
        "Capabilities.EnabledNetworkModes", "Capabilities.DisabledNetworkModes", "NodePoolConfiguration",
        "VaultConfiguration", "ConsulConfiguration"}},
      {Kind::policy,
       "ACL policy",
       "/v1/acl/policies",
       "/v1/acl/policy/",
       "/v1/acl/policy/",
       "/v1/acl/policy/",
       "Name",
       described<model::AclPolicy>,
       {"Name", "Description", "Rules", "JobACL"}},
      {Kind::role,
       "ACL role",
       "/v1/acl/roles",
       "",
       "/v1/acl/role",
       "/v1/acl/role/",
       "Name",
       described<model::AclRole>,
       {"Name", "Description", "Policies"}},
      {Kind::token,
       "ACL token",
       "/v1/acl/tokens",
       "/v1/acl/token/",
       "/v1/acl/token/",
       "/v1/acl/token/",
       "AccessorID",
       described<model::AclToken>,
       {"AccessorID", "Name", "Type", "Policies", "Roles", "Global"}},
      {Kind::auth_method,
       "auth method",
       "/v1/acl/auth-methods",
       "/v1/acl/auth-method/",
       "/v1/acl/auth-method",
       "/v1/acl/auth-method/",
       "Name",
       described<model::AuthMethod>,
       {"Name",
        "Type",
        "TokenLocality",
        "TokenNameFormat",
        "MaxTokenTTL",
        "Default",
        "Config.JWTValidationPubKeys",
        "Config.JWKSURL",
        "Config.JWKSCACert",
        "Config.OIDCDiscoveryURL",
        "Config.OIDCClientID",
        "Config.OIDCClientSecret",
        "Config.OIDCClientAssertion",
        "Config.OIDCEnablePKCE",
        "Config.OIDCDisableUserInfo",
        "Config.OIDCScopes",
        "Config.BoundAudiences",
        "Config.BoundIssuer",
        "Config.AllowedRedirectURIs",
        "Config.DiscoveryCaPem",
        "Config.SigningAlgs",
        "Config.ExpirationLeeway",
        "Config.NotBeforeLeeway",
        "Config.ClockSkewLeeway",
        "Config.ClaimMappings",
        "Config.ListClaimMappings",
        "Config.VerboseLogging"}},
      {Kind::binding_rule,
       "binding rule",
       "/v1/acl/binding-rules",
       "/v1/acl/binding-rule/",
       "/v1/acl/binding-rule",
       "/v1/acl/binding-rule/",
       "ID",
       described<model::BindingRule>,
       {"Description", "AuthMethod", "Selector", "BindType", "BindName"}},
      {Kind::scheduler,
       "scheduler configuration",
       "/v1/operator/scheduler/configuration",
       "",
       "/v1/operator/scheduler/configuration",
       "/v1/operator/scheduler/configuration",
       "",
       described<model::SchedulerConfiguration>,
       {"SchedulerAlgorithm", "PreemptionConfig.SystemSchedulerEnabled", "PreemptionConfig.SysBatchSchedulerEnabled",
        "PreemptionConfig.BatchSchedulerEnabled", "PreemptionConfig.ServiceSchedulerEnabled",
        "MemoryOversubscriptionEnabled", "RejectJobRegistration", "PauseEvalBroker", "NodeLimitForFeasibilityChecks"}},
      {Kind::variable, "variable", "/v1/vars", "/v1/var/", "/v1/var/", "/v1/var/", "Path", nullptr, {"Items"}},
      {Kind::job, "job", "/v1/jobs", "/v1/job/", "/v1/jobs", "/v1/jobs", "ID", described<model::Job>, {}},
  };
  return kinds;
}

bool knows(const KindFacts& kind, const std::string& name) {
  return std::find(kind.members.begin(), kind.members.end(), name) != kind.members.end();
}

bool nests(const KindFacts& kind, const std::string& name) {
  return std::any_of(kind.members.begin(), kind.members.end(),
                     [&](std::string_view member) { return member.starts_with(name + "."); });
}

/// Servers number what they keep.
bool is_kept_member(std::string_view name) {
  return name == "CreateIndex" || name == "ModifyIndex" || name == "CreateTime" || name == "ModifyTime" ||
         name == "Hash" || name == "ID";
}

void find_ours(const KindFacts& kind, const describe::Structure& structure, const boost::json::object& body,
               const std::string& prefix, std::vector<std::string>& out) {
  for (const auto& [key, value] : body) {
    const std::string name = prefix + std::string(key);
    const auto* field = structure.find_json(std::string(key));
    if (field == nullptr || is_kept_member(key) || says_nothing(value) || knows(kind, name)) continue;
    const bool inner = field->type->kind == describe::Kind::structure && value.is_object() && nests(kind, name);
    if (inner)
      find_ours(kind, field->type->structure(), value.get_object(), name + ".", out);
    else
      out.push_back(name);
  }
}

}  // namespace

bool says_nothing(const boost::json::value& value) {
  if (const auto* object = value.if_object()) {
    return std::all_of(object->begin(), object->end(), [](const auto& member) { return says_nothing(member.value()); });
  }
  if (const auto* array = value.if_array()) return array->empty();
  if (const auto* text = value.if_string()) return text->empty();
  if (value.is_number()) return value.to_number<double>() == 0;
  return value.is_null() || (value.is_bool() && !value.get_bool());
}

const std::vector<KindFacts>& all_kinds() {
  static const std::vector<KindFacts> kinds = make_kinds();
  return kinds;
}

const KindFacts& facts(Kind kind) { return all_kinds().at(static_cast<std::size_t>(kind)); }

std::string_view word(Kind kind) { return facts(kind).word; }

boost::json::object documented(const KindFacts& kind, const boost::json::object& body) {
  boost::json::object out;
  for (const auto& [key, value] : body) {
    const std::string name(key);
    if (knows(kind, name)) out[key] = value;
    if (!nests(kind, name) || !value.is_object()) continue;
    auto& inner = out[key].emplace_object();
    for (const auto& [inner_key, inner_value] : value.get_object()) {
      if (knows(kind, name + "." + std::string(inner_key))) inner[inner_key] = inner_value;
    }
  }
  return out;
}

std::vector<std::string> ours(const KindFacts& kind, const boost::json::object& body) {
  std::vector<std::string> out;
  if (kind.structure != nullptr && kind.kind != Kind::job) find_ours(kind, *kind.structure(), body, "", out);
  return out;
}

}  // namespace underway::migrate
