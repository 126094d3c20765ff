// Single sign-on: auth methods, binding rules, and what people log in by. A token's secret is in one answer only.
#include "acl/login.hpp"
#include "api/access/token_body.hpp"
#include "api/cluster/change_note.hpp"
#include "api/routes.hpp"
#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "server/access/identity_providers.hpp"
#include "server/access/login_decisions.hpp"
#include "server/access/one_time_tokens.hpp"

namespace underway::api {
namespace {

using boost::json::object;
using model::AuthMethod;
using model::AuthMethodType;
using model::BindingRule;
using server::Context;
using tables::Scope;
using tables::Tables;
using tables::Topic;

/// What lasts from one request to the next.
struct Logins {
  server::IdentityProviders& providers(const Api& api, async::Executor executor) {
    if (!asked) asked.emplace(std::move(executor), api.clock, api.server.keyring());
    return *asked;
  }
  std::optional<server::IdentityProviders> asked;
  server::OneTimeTokens one_time;
};

model::Revision index_of(const Tables& tables, const Scope& scope) { return tables.revision_of(scope); }

// --- auth methods

/// No right is asked for: people choose among them to log in. So it tells little.
awaitable<Response> list_methods(Api& api, Request request) {
  refuse_without_acl(api);
  std::vector<Scope> scopes{tables::records_scope()};
  co_return co_await answer_list(api, request, std::move(scopes), [](const Tables& tables) {
    std::vector<Item> items;
    for (const auto& method : tables::records<AuthMethod>(tables)) {
      object stub = nomad_value(method).as_object();
      for (const char* whole : {"TokenLocality", "TokenNameFormat", "MaxTokenTTL", "Config", "Sealed", "SealedBy",
                                "CreateTime", "ModifyTime"})
        stub.erase(whole);
      items.push_back({method.name, [stub = std::move(stub)] { return boost::json::serialize(stub); }});
    }
    return items;
  });
}

awaitable<Response> read_method(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string name = request.param("name");
  std::vector<Scope> scopes{tables::record_scope<AuthMethod>(name)};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    const auto method = tables::find_record<AuthMethod>(tables, name);
    if (!method) throw Error(Code::not_found, "ACL auth-method not found");
    return boost::json::serialize(method_body(*method));
  });
}

/// What is wrong with a body is told with what was found there: where secrets are, that is said here without them.
void check_shape(const object& from, std::initializer_list<const char*> path) {
  const object* at = &from;
  for (const char* name : path) {
    const auto* value = json::find_member(*at, name);
    if (value == nullptr || value->is_null()) return;
    const bool last = name == *(path.end() - 1);
    if (last ? !value->is_string() : !value->is_object())
      throw Error(Code::invalid, fmt::format("{}: expected {}", name, last ? "a string" : "an object"));
    if (!last) at = &value->get_object();
  }
}

/// A change may leave out what shall stay: what the body has is read over what there is.
AuthMethod wanted_method(const Tables& tables, const object& body, const std::string& name) {
  AuthMethod method;
  if (!name.empty()) {
    if (const auto current = tables::find_record<AuthMethod>(tables, name)) method = *current;
  }
  json::decode(boost::json::value(body), describe::kType<AuthMethod>, &method, "");
  if (!name.empty() && method.name != name)
    throw Error(Code::invalid, "ACL auth-method name does not match request path");
  return method;
}

awaitable<Response> put_method(Api& api, Request request) {
  refuse_without_acl(api);
  object body = parse_body(request);
  check_shape(body, {"Config", "OIDCClientSecret"});
  check_shape(body, {"Config", "OIDCClientAssertion", "PrivateKey", "PemKey"});
  body.erase("Sealed");
  body.erase("SealedBy");
  const std::string named = request.params.empty() ? "" : request.param("name");
  server::PutAuthMethod put{wanted_method(*co_await api.server.read(), body, named), !named.empty(),
                            api.access.token_lifetimes};
  server::seal_secrets(put.method, api.server.keyring());
  Scope subject = tables::record_scope<AuthMethod>(put.method.name);
  co_await request.about(std::move(subject));
  const auto made = co_await apply(api, request, std::move(put));
  const auto* tables = co_await api.server.read();
  const auto standing = tables::find_record<AuthMethod>(*tables, made.name);
  co_return written(boost::json::serialize(method_body(standing.value_or(made))),
                    index_of(*tables, tables::record_scope<AuthMethod>(made.name)));
}

awaitable<Response> delete_method(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string name = request.param("name");
  Scope subject = tables::record_scope<AuthMethod>(name);
  co_await request.about(std::move(subject));
  server::DeleteAuthMethod wanted{name};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", index_of(*tables, tables::records_scope()));
}

// --- binding rules

awaitable<Response> list_rules(Api& api, Request request) {
  refuse_without_acl(api);
  std::vector<Scope> scopes{tables::records_scope()};
  co_return co_await answer_list(api, request, std::move(scopes), [](const Tables& tables) {
    std::vector<Item> items;
    for (const auto& rule : tables::records<BindingRule>(tables)) {
      object stub = nomad_value(rule).as_object();
      for (const char* whole : {"Selector", "BindType", "BindName", "CreateTime", "ModifyTime"}) stub.erase(whole);
      items.push_back({rule.id, [stub = std::move(stub)] { return boost::json::serialize(stub); }});
    }
    return items;
  });
}

awaitable<Response> read_rule(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string id = request.param("id");
  std::vector<Scope> scopes{tables::record_scope<BindingRule>(id)};
  co_return co_await answer_read(api, request, std::move(scopes), [&](const Tables& tables) {
    const auto rule = tables::find_record<BindingRule>(tables, id);
    if (!rule) throw Error(Code::not_found, "ACL binding rule not found");
    return nomad_json(*rule);
  });
}

awaitable<Response> put_rule(Api& api, Request request) {
  refuse_without_acl(api);
  const object body = parse_body(request);
  const std::string named = request.params.empty() ? "" : request.param("id");
  BindingRule rule;
  if (!named.empty()) rule = tables::find_record<BindingRule>(*co_await api.server.read(), named).value_or(rule);
  json::decode(boost::json::value(body), describe::kType<BindingRule>, &rule, "");
  if (!named.empty()) {
    if (rule.id.empty()) rule.id = named;
    if (rule.id != named) throw Error(Code::invalid, "ACL binding rule ID does not match request path");
    Scope subject = tables::record_scope<BindingRule>(named);
    co_await request.about(std::move(subject));
  }
  server::PutBindingRule wanted{std::move(rule)};
  const auto made = co_await apply(api, request, std::move(wanted));
  if (named.empty()) request.made(tables::record_scope<BindingRule>(made.id));
  const auto* tables = co_await api.server.read();
  const auto standing = tables::find_record<BindingRule>(*tables, made.id);
  co_return written(nomad_json(standing.value_or(made)), index_of(*tables, tables::record_scope<BindingRule>(made.id)));
}

awaitable<Response> delete_rule(Api& api, Request request) {
  refuse_without_acl(api);
  const std::string id = request.param("id");
  Scope subject = tables::record_scope<BindingRule>(id);
  co_await request.about(std::move(subject));
  server::DeleteBindingRule wanted{id};
  co_await apply(api, request, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written("", index_of(*tables, tables::records_scope()));
}

// --- logging in

/// Who logs in was verified: makes the token.
awaitable<Response> answer_login(Api& api, Request request, AuthMethod method, object claims) {
  const std::string secret = SystemIds().uuid();
  server::Login login{method, acl::map_claims(method.config, claims), acl::hash_secret(secret)};
  const auto* subject = claims.if_contains("sub");
  request.tell(fmt::format("login by auth method '{}' of '{}'", method.name,
                           subject != nullptr && subject->is_string()
                               ? std::string_view(subject->get_string()).substr(0, 200)
                               : std::string_view("somebody without a name")));
  const auto made = co_await apply(api, request, std::move(login));
  request.made({Topic::acl_tokens, made.accessor_id});
  const auto* tables = co_await api.server.read();
  const auto standing = tables->find<model::AclToken>(made.accessor_id);
  co_return written(token_json(standing ? *standing : made, secret),
                    index_of(*tables, {Topic::acl_tokens, made.accessor_id}));
}

awaitable<Response> log_in(Api& api, std::shared_ptr<Logins> logins, Request request) {
  refuse_without_acl(api);
  const object body = parse_body(request);
  auto method = server::get_auth_method(*co_await api.server.read(), json::text_member(body, "AuthMethodName"),
                                        AuthMethodType::JWT);
  std::string token = json::text_member(body, "LoginToken");
  if (token.empty()) throw Error(Code::invalid, "missing login token");
  auto& providers = logins->providers(api, co_await asio::this_coro::executor);
  auto claims = co_await providers.verify(method, std::move(token));
  co_return co_await answer_login(api, std::move(request), std::move(method), std::move(claims));
}

awaitable<Response> auth_url(Api& api, std::shared_ptr<Logins> logins, Request request) {
  refuse_without_acl(api);
  const object body = parse_body(request);
  auto method = server::get_auth_method(*co_await api.server.read(), json::text_member(body, "AuthMethodName"),
                                        AuthMethodType::OIDC);
  auto& providers = logins->providers(api, co_await asio::this_coro::executor);
  auto redirect = json::text_member(body, "RedirectURI"), nonce = json::text_member(body, "ClientNonce");
  const auto url = co_await providers.auth_url(std::move(method), std::move(redirect), std::move(nonce));
  co_return http::json(boost::json::serialize(object{{"AuthURL", url}}));
}

awaitable<Response> complete_auth(Api& api, std::shared_ptr<Logins> logins, Request request) {
  refuse_without_acl(api);
  const object body = parse_body(request);
  auto method = server::get_auth_method(*co_await api.server.read(), json::text_member(body, "AuthMethodName"),
                                        AuthMethodType::OIDC);
  server::CompleteAuth back{json::text_member(body, "State"), json::text_member(body, "Code"),
                            json::text_member(body, "ClientNonce"), json::text_member(body, "RedirectURI")};
  auto& providers = logins->providers(api, co_await asio::this_coro::executor);
  auto claims = co_await providers.complete(method, std::move(back));
  co_return co_await answer_login(api, std::move(request), std::move(method), std::move(claims));
}

// --- handing a token on

std::string secret_of(const Request& request) {
  if (const auto token = request.headers.find("X-Nomad-Token")) return std::string(trim(*token));
  const auto authorization = request.headers.find("Authorization").value_or("");
  return authorization.size() > 7 ? std::string(trim(authorization.substr(7))) : std::string();
}

awaitable<Response> make_one_time(Api& api, std::shared_ptr<Logins> logins, Request request) {
  refuse_without_acl(api);
  const auto& caller = request.caller();
  if (caller.kind != acl::Identity::Kind::token)
    throw Error(Code::invalid, "only who shows an ACL token can hand it on");
  const auto made = logins->one_time.make(caller.accessor, secret_of(request), api.clock.now());
  const auto* tables = co_await api.server.read();
  const auto index = std::max<model::Revision>(tables->revision(), 1);
  const object token{{"OneTimeSecretID", made.secret},
                     {"AccessorID", caller.accessor},
                     {"ExpiresAt", format_time(made.expires)},
                     {"CreateIndex", index},
                     {"ModifyIndex", index}};
  co_return written(boost::json::serialize(object{{"OneTimeToken", token}}), index);
}

awaitable<Response> exchange_one_time(Api& api, std::shared_ptr<Logins> logins, Request request) {
  refuse_without_acl(api);
  const object body = parse_body(request);
  const std::string secret = logins->one_time.exchange(json::text_member(body, "OneTimeSecretID"), api.clock.now());
  const auto* tables = co_await api.server.read();
  const auto token = tables->find_token_by_hash(acl::hash_secret(secret));
  if (!token || token->is_expired(api.clock.now())) throw Error(Code::denied, acl::kTokenNotFound);
  request.tell(fmt::format("token {} was handed on", token->accessor_id));
  co_return written("{\"Token\":" + token_json(*token, secret) + "}", token->modify_index);
}

/// Nomad's way to let a node in is our join token: who has it gets a certificate, once.
awaitable<Response> introduce_client(Api& api, Request request) {
  const object body = trim(request.body).empty() ? object{} : parse_body(request);
  server::NewJoinToken wanted;
  wanted.name = json::text_member(body, "NodeName");
  wanted.pool = json::text_member(body, "NodePool");
  if (const auto* ttl = json::find_member(body, "TTL"); ttl != nullptr && !ttl->is_null()) {
    std::optional<Duration> given;
    if (ttl->is_string()) given = parse_duration(std::string_view(ttl->get_string()));
    if (ttl->is_int64()) given = Duration{ttl->get_int64()};
    if (!given || *given < Duration{0}) throw Error(Code::invalid, "TTL: expected a duration");
    if (*given > Duration{0}) wanted.lifetime = *given;
  }
  const std::string token = co_await make_join_token(api, std::move(wanted));
  const auto* tables = co_await api.server.read();
  co_return written(boost::json::serialize(object{{"JWT", token}}), tables->revision());
}

}  // namespace

void add_login_routes(Routes& routes, Api& api) {
  const auto with = [&api](auto handler) {
    return [&api, handler](Request request) { return handler(api, std::move(request)); };
  };
  const auto logins = std::make_shared<Logins>();
  const auto by = [&api, logins](auto handler) {
    return [&api, logins, handler](Request request) { return handler(api, logins, std::move(request)); };
  };
  const Right manages = right::management();
  routes.add("GET", "/v1/acl/auth-methods", "list auth methods", right::open("people choose among them to log in"),
             with(list_methods));
  routes.add("PUT|POST", "/v1/acl/auth-method", "create auth method", manages, with(put_method));
  routes.add("GET", "/v1/acl/auth-method/:name", "read auth method", manages, with(read_method));
  routes.add("PUT|POST", "/v1/acl/auth-method/:name", "change auth method", manages, with(put_method));
  routes.add("DELETE", "/v1/acl/auth-method/:name", "delete auth method", manages, with(delete_method));
  routes.add("GET", "/v1/acl/binding-rules", "list binding rules", manages, with(list_rules));
  routes.add("PUT|POST", "/v1/acl/binding-rule", "create binding rule", manages, with(put_rule));
  routes.add("GET", "/v1/acl/binding-rule/:id", "read binding rule", manages, with(read_rule));
  routes.add("PUT|POST", "/v1/acl/binding-rule/:id", "change binding rule", manages, with(put_rule));
  routes.add("DELETE", "/v1/acl/binding-rule/:id", "delete binding rule", manages, with(delete_rule));
  const Right strangers = right::open("whoever logs in has no token yet; the provider's word is what counts");
  routes.add("PUT|POST", "/v1/acl/login", "log in", strangers, by(log_in), {.body_limit = 128U << 10});
  routes.add("PUT|POST", "/v1/acl/oidc/auth-url", "begin login", strangers, by(auth_url),
             {.body_limit = 16U << 10, .effect = Effect::reads});
  routes.add("PUT|POST", "/v1/acl/oidc/complete-auth", "complete login", strangers, by(complete_auth),
             {.body_limit = 16U << 10});
  routes.add("PUT|POST", "/v1/acl/token/onetime", "make one-time token", right::token(), by(make_one_time),
             {.body_limit = 16U << 10});
  routes.add("PUT|POST", "/v1/acl/token/onetime/exchange", "exchange one-time token",
             right::open("the one-time secret is what counts"), by(exchange_one_time), {.body_limit = 16U << 10});
  routes.add("PUT|POST", "/v1/acl/identity/client-introduction-token", "introduce client",
             right::node(right::Level::write), with(introduce_client), {.body_limit = 16U << 10});
}

}  // namespace underway::api
