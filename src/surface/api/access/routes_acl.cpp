// Policies, tokens and roles. A token's secret is in the answer to the request that made it, and to those that come
// with it; in others only where a site wants that.
#include <set>

#include "acl/identity.hpp"
#include "api/access/token_body.hpp"
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "api/work.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/numbers.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "server/access/checked_policy.hpp"
#include "server/access/token_secrets.hpp"

namespace underway::api {
namespace {

using model::AclPolicy;
using model::AclRole;
using model::AclToken;
using server::Context;
using tables::Scope;
using tables::Tables;
using tables::Topic;

/// Nomad's text: its command line looks for it.
template <class Row>
model::Revision index_of(const Tables& tables, Topic topic, const Row& key) {
  return tables.revision_of({topic, key});
}

/// Names of the policies, and ids of the roles, that the caller's own token has: what it may read without management.
struct Own {
  explicit Own(const Request& request) : all(request.rights().is_management()) {
    if (!request.caller().token) return;
    for (const auto& role : request.caller().token->roles) roles.insert(role.id);
    policies.insert(request.caller().token->policies.begin(), request.caller().token->policies.end());
  }
  void add_policies_of_roles(const Tables& tables) {
    for (const auto& id : roles) {
      const auto role = tables.find<AclRole>(id);
      if (!role) continue;
      for (const auto& link : role->policies) policies.insert(link.name);
    }
  }
  bool all;
  std::set<std::string> policies, roles;
};

[[noreturn]] void refuse_others(const Request& request) {
  throw permission_denied(request.caller(), {right::management(), {}, {}});
}

// --- bootstrap

/// What an operator wrote into the reset file, if it is there and holds a number.
std::optional<model::Revision> reset_index(const Api& api) {
  const std::string& path = api.access.bootstrap_reset_file;
  const auto written = path.empty() ? std::nullopt : os::find_file(path, 64);
  return written ? parse_number<model::Revision>(trim(*written)) : std::nullopt;
}

std::string bootstrap_secret(const Request& request) {
  if (trim(request.body).empty()) return SystemIds().uuid();
  const auto body = parse_body(request);
  const auto* given = json::find_member(body, "BootstrapSecret");
  if (given == nullptr || !given->is_string() || given->get_string().empty()) return SystemIds().uuid();
  std::string secret(std::string_view(given->get_string()));
  if (!is_uuid(secret)) throw Error(Code::invalid, "invalid acl token");  // Nomad's text, whole
  return secret;
}

/// What is kept of a new token's secret. Nothing of that comes from a client.
void keep_secret(const Api& api, AclToken& token, const std::string& secret) {
  token.secret_hash = secret.empty() ? std::string() : acl::hash_secret(secret);
  token.sealed.clear();
  token.key_id.clear();
  if (!secret.empty() && api.access.readable_token_secrets) server::seal_secret(token, secret, api.server.keyring());
}

awaitable<Response> bootstrap(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string secret = bootstrap_secret(request);
  server::BootstrapAcl wanted{{}, reset_index(api)};
  keep_secret(api, wanted.secret, secret);
  const auto made = co_await apply(api, request, std::move(wanted));
  request.made({Topic::acl_tokens, made.accessor_id});
  const auto* tables = co_await api.server.read();
  co_return written(token_json(made, secret), index_of(*tables, Topic::acl_tokens, made.accessor_id));
}

// --- policies

awaitable<Response> list_policies(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string prefix = request.query.find("prefix").value_or("");
  std::vector<Scope> scopes{{Topic::acl_policies, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const Tables& tables) {
    Own own(request);
    own.add_policies_of_roles(tables);
    std::vector<Item> items;
    for (const auto& policy : tables.rows<AclPolicy>(prefix)) {
      if (!own.all && !own.policies.contains(policy->name)) continue;
      items.push_back({policy->name, [policy] {
                         auto body = nomad_value(*policy).as_object();
                         for (const char* whole : {"Rules", "JobACL"}) body.erase(whole);
                         return boost::json::serialize(body);
                       }});
    }
    return items;
  });
}

awaitable<Response> read_policy(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string name = request.param("name");
  std::vector<Scope> scopes{{Topic::acl_policies, name}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    Own own(request);
    own.add_policies_of_roles(tables);
    if (!own.all && !own.policies.contains(name)) refuse_others(request);
    const auto policy = tables.find<AclPolicy>(name);
    if (!policy) throw Error(Code::not_found, "ACL policy not found");
    return nomad_json(*policy);
  });
}

awaitable<Response> put_policy(Api& api, Request request) {
  refuse_without_acl(api);
  auto check = [&request] {
    const boost::json::value body = parse_body(request);
    auto policy = json::decode<AclPolicy>(body);
    if (policy.name.empty()) policy.name = request.param("name");
    if (policy.name != request.param("name")) throw Error(Code::invalid, "ACL policy name does not match request path");
    return server::CheckedPolicy(std::move(policy));
  };
  auto policy = co_await computed(api, request, "reading the policy", check);
  const std::string name = policy->name;
  server::PutPolicy wanted{std::move(policy)};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", index_of(*tables, Topic::acl_policies, name));
}

awaitable<Response> delete_policy(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string name = request.param("name");
  server::DeletePolicies wanted{{name}};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", index_of(*tables, Topic::acl_policies, name));
}

// --- tokens

awaitable<Response> list_tokens(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string prefix = request.query.find("prefix").value_or("");
  std::vector<Scope> scopes{{Topic::acl_tokens, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [prefix](const Tables& tables) {
    std::vector<Item> items;
    for (const auto& token : tables.rows<AclToken>(prefix))
      items.push_back({token->accessor_id, [token] { return token_json(*token); }});
    return items;
  });
}

awaitable<Response> read_token(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string id = request.param("id");
  if (!request.rights().is_management() && request.caller().accessor != id) refuse_others(request);
  std::vector<Scope> scopes{{Topic::acl_tokens, id}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    const auto token = tables.find<AclToken>(id);
    if (!token) throw Error(Code::not_found, acl::kTokenNotFound);
    const bool shown = api.access.readable_token_secrets && request.rights().is_management();
    return token_json(*token, shown ? server::open_secret(*token, api.server.keyring()) : std::string());
  });
}

/// Of root at the socket: what a management token would be, under the name that the audit log has for it.
awaitable<Response> read_own_token(Api& api, Request request) {
  refuse_without_acl(api);
  AclToken token;
  if (request.caller().token)
    token = *request.caller().token;
  else {
    token.accessor_id = token.name = request.caller().accessor;
    token.type = request.rights().is_management() ? model::AclTokenType::management : model::AclTokenType::client;
  }
  std::vector<Scope> scopes{{Topic::acl_tokens, token.accessor_id}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables&) {
    // Who shows a secret may see it.
    return token_json(token, request.caller().token ? std::string(token_of(request)) : std::string());
  });
}

/// The secret of a token that is made, or was made elsewhere; empty for one that is changed.
std::string secret_in(const boost::json::object& body, const AclToken& token) {
  if (token.accessor_id.empty()) return SystemIds().uuid();
  const auto* given = json::find_member(body, "SecretID");
  if (given == nullptr || json::is_empty(*given)) return {};
  if (!given->is_string() || !is_uuid(std::string_view(given->get_string())))
    throw Error(Code::invalid, "SecretID must be a UUID");
  return std::string(std::string_view(given->get_string()));
}

awaitable<Response> put_token(Api& api, Request request) {
  refuse_without_acl(api);
  const auto body = parse_body(request);
  server::PutToken put{json::decode<AclToken>(boost::json::value(body)), api.access.token_lifetimes};
  AclToken& token = put.token;
  if (const auto& params = request.params; !params.empty()) {
    if (token.accessor_id.empty()) token.accessor_id = request.param("id");
    if (token.accessor_id != request.param("id"))
      throw Error(Code::invalid, "ACL token accessor ID does not match request path");
  }
  const std::string secret = secret_in(body, token);
  keep_secret(api, token, secret);
  const auto made = co_await apply(api, request, std::move(put));
  const auto* tables = co_await api.server.read();
  const auto row = tables->find<AclToken>(made.accessor_id);
  const AclToken& standing = row ? *row : made;
  if (standing.create_index == standing.modify_index) request.made({Topic::acl_tokens, made.accessor_id});
  // A client may send along any secret with a change.
  const bool its_own = !secret.empty() && standing.secret_hash == acl::hash_secret(secret);
  co_return written(token_json(standing, its_own ? secret : std::string()),
                    index_of(*tables, Topic::acl_tokens, made.accessor_id));
}

awaitable<Response> delete_token(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string id = request.param("id");
  server::DeleteTokens wanted{{id}};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", index_of(*tables, Topic::acl_tokens, id));
}

// --- roles

awaitable<Response> list_roles(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string prefix = request.query.find("prefix").value_or("");
  std::vector<Scope> scopes{{Topic::acl_roles, ""}};
  co_return co_await answer_list(api, request, std::move(scopes), [&](const Tables& tables) {
    const Own own(request);
    std::vector<Item> items;
    for (const auto& role : tables.rows<AclRole>(prefix)) {
      if (own.all || own.roles.contains(role->id)) items.push_back({role->id, [role] { return nomad_json(*role); }});
    }
    return items;
  });
}

awaitable<Response> answer_role(Api& api, Request request, std::function<tables::Row<AclRole>(const Tables&)> find) {
  refuse_without_acl(api);
  std::vector<Scope> scopes{{Topic::acl_roles, ""}};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    const Own own(request);
    const auto role = find(tables);
    if (!own.all && !(role && own.roles.contains(role->id))) refuse_others(request);
    if (!role) throw Error(Code::not_found, "ACL role not found");
    return nomad_json(*role);
  });
}

awaitable<Response> read_role(Api& api, Request request) {
  const std::string id = request.param("id");
  std::function<tables::Row<AclRole>(const Tables&)> find = [id](const Tables& t) { return t.find<AclRole>(id); };
  co_return co_await answer_role(api, std::move(request), std::move(find));
}

awaitable<Response> read_role_by_name(Api& api, Request request) {
  const std::string name = request.param("name");
  std::function<tables::Row<AclRole>(const Tables&)> find = [name](const Tables& t) {
    return server::find_role_by_name(t, name);
  };
  co_return co_await answer_role(api, std::move(request), std::move(find));
}

awaitable<Response> put_role(Api& api, Request request) {
  refuse_without_acl(api);
  const boost::json::value body = parse_body(request);
  auto role = json::decode<AclRole>(body);
  const bool fresh = request.params.empty() && role.id.empty();
  if (const auto& params = request.params; !params.empty()) {
    if (role.id.empty()) role.id = request.param("id");
    if (role.id != request.param("id")) throw Error(Code::invalid, "ACL role ID does not match request path");
  }
  server::PutRole wanted{std::move(role)};
  const auto made = co_await apply(api, request, std::move(wanted));
  if (fresh) request.made({Topic::acl_roles, made.id});
  const auto* tables = co_await api.server.read();
  const auto standing = tables->find<AclRole>(made.id);
  co_return written(nomad_json(standing ? *standing : made), index_of(*tables, Topic::acl_roles, made.id));
}

awaitable<Response> delete_role(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string id = request.param("id");
  server::DeleteRoles wanted{{id}};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", index_of(*tables, Topic::acl_roles, id));
}

}  // namespace

void refuse_without_acl(const Api& api) {
  if (!api.access.acl) throw Error(Code::invalid, "ACL support disabled");
}

void add_acl_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  // Where root at the socket is trusted, the first to come by over the network is not made the manager unasked.
  const bool root_alone = api.access.trust_root_socket && !api.access.network_bootstrap;
  const Right bootstraps = root_alone ? right::management() : right::open("there is no token yet; it works once");
  routes.add("PUT|POST", "/v1/acl/bootstrap", "bootstrap ACL", bootstraps, with(bootstrap));
  routes.add("GET", "/v1/acl/policies", "list policies", right::token(), with(list_policies));
  routes.add("GET", "/v1/acl/policy/:name", "read policy", right::token(), with(read_policy));
  routes.add("PUT|POST", "/v1/acl/policy/:name", "write policy", right::management(), with(put_policy));
  routes.add("DELETE", "/v1/acl/policy/:name", "delete policy", right::management(), with(delete_policy));
  routes.add("GET", "/v1/acl/tokens", "list tokens", right::management(), with(list_tokens));
  routes.add("PUT|POST", "/v1/acl/token", "create token", right::management(), with(put_token));
  routes.add("GET", "/v1/acl/token/self", "read own token", right::token(), with(read_own_token));
  routes.add("GET", "/v1/acl/token/:id", "read token", right::token(), with(read_token));
  routes.add("PUT|POST", "/v1/acl/token/:id", "change token", right::management(), with(put_token));
  routes.add("DELETE", "/v1/acl/token/:id", "revoke token", right::management(), with(delete_token));
  routes.add("GET", "/v1/acl/roles", "list roles", right::token(), with(list_roles));
  routes.add("PUT|POST", "/v1/acl/role", "create role", right::management(), with(put_role));
  routes.add("GET", "/v1/acl/role/:id", "read role", right::token(), with(read_role));
  routes.add("GET", "/v1/acl/role/name/:name", "read role by name", right::token(), with(read_role_by_name));
  routes.add("PUT|POST", "/v1/acl/role/:id", "change role", right::management(), with(put_role));
  routes.add("DELETE", "/v1/acl/role/:id", "delete role", right::management(), with(delete_role));
}

}  // namespace underway::api
