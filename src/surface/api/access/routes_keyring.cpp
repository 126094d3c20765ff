// The root keys, and the keys with which others verify the tokens of tasks.
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "files/masters/service.hpp"
#include "server/access/identity_providers.hpp"
#include "server/access/login_decisions.hpp"
#include "server/access/token_secrets.hpp"

namespace underway::api {
namespace {

using boost::json::array;
using boost::json::object;

object describe_key(const server::RootKey& key) {
  return {{"KeyID", key.id},
          {"Algorithm", "aes256-gcm"},
          {"State", key.active         ? "active"
                    : key.prepublished ? "prepublished"
                                       : "inactive"},
          {"CreateTime", key.create_time},
          {"PublishTime", key.publish_time},
          // Keys lie beside the store, and have no revision: clients that ask for one get the first.
          {"CreateIndex", 1},
          {"ModifyIndex", 1}};
}

Response with_revision(const Api& api, std::string body) {
  return written(std::move(body), api.server.writer().tables().revision());
}

awaitable<Response> list_root_keys(Api& api, Request) {
  array keys;
  for (const auto& key : api.server.keyring().keys()) keys.emplace_back(describe_key(key));
  co_return with_revision(api, boost::json::serialize(keys));
}

awaitable<void> seal_auth_methods_anew(Api& api, const Request& request) {
  server::ResealAuthMethods anew;
  for (auto& method : tables::records<model::AuthMethod>(*co_await api.server.read())) {
    if (server::seal_anew(method, api.server.keyring())) anew.resealed.push_back(std::move(method));
  }
  co_await apply(api, request, std::move(anew));
}

awaitable<void> seal_tokens_anew(Api& api, const Request& request) {
  server::ResealTokens anew;
  for (const auto& row : (co_await api.server.read())->rows<model::AclToken>()) {
    model::AclToken token = *row;
    if (server::seal_anew(token, api.server.keyring())) anew.resealed.push_back(std::move(token));
  }
  co_await apply(api, request, std::move(anew));
}

/// `publish_time`: ns since the epoch, when the key becomes active.
std::optional<TimePoint> publish_time_of(const Request& request) {
  const auto nanos = integer_parameter(request, "publish_time", 0);
  if (nanos == 0) return std::nullopt;
  if (request.query.flag("full"))
    throw Error(Code::invalid, "a key cannot be prepublished and everything sealed under it at once");
  return from_unix_nanos(nanos);
}

awaitable<std::string> make_active(Api& api, const Request& request, bool full) {
  std::string id = co_await api.server.variables().rotate(full);
  if (!full) co_return id;
  if (api.files != nullptr) co_await api.files->seal_anew();
  co_await seal_auth_methods_anew(api, request);
  co_await seal_tokens_anew(api, request);
  co_return id;
}

awaitable<Response> rotate_root_key(Api& api, Request request) {
  const auto later = publish_time_of(request);
  const std::string id = later ? co_await api.server.variables().prepublish(*later)
                               : co_await make_active(api, request, request.query.flag("full"));
  object answer{{"Index", api.server.writer().tables().revision()}};
  for (const auto& key : api.server.keyring().keys()) {
    if (key.id == id) answer["Key"] = describe_key(key);
  }
  co_return with_revision(api, boost::json::serialize(answer));
}

/// With `force` Nomad gives up what is sealed under the key; here that is sealed under the active one first.
awaitable<Response> delete_key(Api& api, Request request) {
  if (request.query.flag("force")) {
    co_await api.server.variables().seal_anew();
    if (api.files != nullptr) co_await api.files->seal_anew();
    co_await seal_auth_methods_anew(api, request);
    co_await seal_tokens_anew(api, request);
  }
  if (api.files != nullptr) co_await api.files->seal_own_key_anew();
  if (api.files != nullptr) api.files->refuse_removal(*co_await api.server.read(), request.param("id"));
  server::refuse_key_removal(*co_await api.server.read(), request.param("id"));
  co_await api.server.variables().remove_key(request.param("id"));
  co_return with_revision(api, boost::json::serialize(object{{"Index", api.server.writer().tables().revision()}}));
}

awaitable<Response> jwks(Api& api, Request) {
  Response response = http::json(boost::json::serialize(api.server.keyring().jwks()));
  // Others may keep it for a while: keys are added long before they are taken away.
  response.headers.set("Cache-Control", "public, max-age=60");
  co_return response;
}

awaitable<Response> openid_configuration(Api& api, Request) {
  const std::string& issuer = api.server.options().oidc_issuer;
  if (issuer.empty()) {
    throw Error(Code::not_found, "OIDC discovery is not configured")
        .advise("set server { oidc_issuer = \"https://…\" } to the URL under which others reach this server");
  }
  co_return http::json(boost::json::serialize(object{{"issuer", issuer},
                                                     {"jwks_uri", issuer + "/.well-known/jwks.json"},
                                                     {"response_types_supported", array{"code"}},
                                                     {"id_token_signing_alg_values_supported", array{"RS256", "EdDSA"}},
                                                     {"subject_types_supported", array{"public"}}}));
}

}  // namespace

void add_keyring_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  routes.add("GET", "/v1/operator/keyring/keys", "list root keys", right::management(), with(list_root_keys));
  routes.add("PUT|POST", "/v1/operator/keyring/rotate", "rotate root key", right::management(), with(rotate_root_key));
  routes.add("DELETE", "/v1/operator/keyring/key/:id", "remove root key", right::management(), with(delete_key));
  routes.add("GET", "/.well-known/jwks.json", "verifying keys",
             right::open("others verify the tokens of tasks with it; the keys are public"), with(jwks));
  routes.add("GET", "/.well-known/openid-configuration", "OIDC discovery",
             right::open("others verify the tokens of tasks with it; the keys are public"), with(openid_configuration));
}

}  // namespace underway::api
