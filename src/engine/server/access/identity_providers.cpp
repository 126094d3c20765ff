#include "server/access/identity_providers.hpp"

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include <algorithm>

#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"

namespace underway::server {

using async::awaitable;
using boost::json::object;
using model::AuthMethod;

namespace {

constexpr std::size_t kMostDocuments = 64;
constexpr std::size_t kLongestField = 4096;
constexpr const char* kStateContext = "oidc state";

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string context_of(const AuthMethod& method) { return fmt::format("auth method {}", method.name); }

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

object parse_object(const std::string& text, const std::string& url) {
  auto value = json::parse(text);
  if (!value.is_object()) throw Error(Code::invalid, fmt::format("{} answers with no JSON object", url));
  return std::move(value.get_object());
}

/// What a provider says of a failure: two short fields that its standard has for that.
std::string told(const http::Response& response) {
  try {
    const auto answer = json::parse(response.body);
    if (!answer.is_object()) return {};
    const std::string text = json::text_at(answer.get_object(), "error"),
                      more = json::text_at(answer.get_object(), "error_description");
    return (text + (more.empty() ? "" : ": " + more)).substr(0, 200);
  } catch (const Error&) {
    return {};
  }
}

std::string form(const http::Query& fields) { return fields.encode(); }

void check_redirect(const AuthMethod& method, const std::string& redirect_uri) {
  const auto& allowed = method.config.allowed_redirect_uris;
  if (std::find(allowed.begin(), allowed.end(), redirect_uri) == allowed.end())
    throw Error(Code::invalid, "unauthorized redirect_uri")
        .because(
            fmt::format("'{}' is not among the AllowedRedirectURIs of {}", redirect_uri.substr(0, 200), method.name));
}

std::string joined_authorities(const AuthMethod& method) {
  std::string pem;
  for (const auto& certificate : method.config.discovery_ca_pem) pem += certificate + "\n";
  return pem;
}

crypto::ForeignTokenExpectation expectation_of(const AuthMethod& method, TimePoint now) {
  const auto& config = method.config;
  return {.now = now,
          .algorithms = config.signing_algs,
          .audiences = config.bound_audiences,
          .leeways = {config.expiration_leeway, config.not_before_leeway, config.clock_skew_leeway}};
}

void check_bound_issuer(const AuthMethod& method, const object& claims) {
  const auto& bound = method.config.bound_issuer;
  if (bound.empty() || std::find(bound.begin(), bound.end(), json::text_at(claims, "iss")) != bound.end()) return;
  throw Error(Code::denied, "the token is not valid").because("its issuer is not among BoundIssuer");
}

void tell_claims(const AuthMethod& method, const object& claims) {
  if (!method.config.verbose_logging) return;
  std::vector<std::string> names;
  for (const auto& [name, value] : claims) names.emplace_back(name);
  log::info("server: a login by {} brought the claims {}", method.name, join(names, ", ").substr(0, 1000));
}

}  // namespace

/// What was fetched, or why it could not be.
struct IdentityProviders::Document {
  std::optional<std::string> body;
  std::optional<Error> failure;
  TimePoint tried{}, fetched{};
  bool running = false;
  async::Event done;
};

/// What the discovery document says, checked against the method.
struct IdentityProviders::Endpoints {
  std::string issuer, authorization, token, user_info, keys;
  bool secret_by_post = false;
};

std::string checked_host(const std::string& url) {
  const auto parsed = http::parse_url(url);
  const std::string host = lower(parsed.endpoint.host);
  const bool web = url.starts_with("https://") || (url.starts_with("http://") && is_this_machine(host));
  if (parsed.endpoint.is_unix() || !web || host.empty() || url.find('@') != std::string::npos)
    throw Error(Code::invalid, fmt::format("'{}' is no address to ask", url.substr(0, 200)))
        .because("it must be https, and without a user");
  return host;
}

void seal_secrets(AuthMethod& method, const Keyring& keyring) {
  object secrets;
  auto& config = method.config;
  if (!config.oidc_client_secret.empty()) secrets["client_secret"] = config.oidc_client_secret;
  config.oidc_client_secret.clear();
  auto* key = config.oidc_client_assertion && config.oidc_client_assertion->private_key
                  ? &*config.oidc_client_assertion->private_key
                  : nullptr;
  if (key != nullptr && !key->pem_key.empty()) {
    secrets["private_key"] = key->pem_key;
    crypto::wipe(key->pem_key);
  }
  if (secrets.empty()) return;
  // Of two secrets one may be replaced.
  const auto kept = open_secrets(method, keyring);
  if (!kept.client_secret.empty()) secrets.emplace("client_secret", kept.client_secret);
  if (!kept.private_key.empty()) secrets.emplace("private_key", kept.private_key);
  const auto sealed = keyring.seal(boost::json::serialize(secrets), context_of(method));
  method.key_id = sealed.key_id;
  method.sealed = base64_encode(sealed.bytes);
}

AuthSecrets open_secrets(const AuthMethod& method, const Keyring& keyring) {
  if (method.sealed.empty()) return {};
  const auto plain = keyring.open({method.key_id, base64_decode(method.sealed)}, context_of(method));
  const auto secrets = json::parse(plain.bytes()).as_object();
  return {json::text_at(secrets, "client_secret"), json::text_at(secrets, "private_key")};
}

bool seal_anew(AuthMethod& method, const Keyring& keyring) {
  if (method.sealed.empty() || method.key_id == keyring.active_id()) return false;
  const auto plain = keyring.open({method.key_id, base64_decode(method.sealed)}, context_of(method));
  const auto sealed = keyring.seal(plain.bytes(), context_of(method));
  method.key_id = sealed.key_id;
  method.sealed = base64_encode(sealed.bytes);
  return true;
}

IdentityProviders::IdentityProviders(async::Executor executor, Clock& clock, const Keyring& keyring, Options options)
    : executor_(std::move(executor)), clock_(clock), keyring_(keyring), options_(std::move(options)) {
  SystemIds ids;
  state_key_ = crypto::make_sealing_key(ids);
}

/// Reading the system's authorities takes a while: a context is made once.
const http::TlsContext& IdentityProviders::tls_for(const std::string& authority) {
  if (tls_.size() > kMostDocuments) tls_.clear();
  const auto it = tls_.find(authority);
  if (it != tls_.end()) return it->second;
  auto context = authority.empty() ? http::TlsContext::client(http::TlsFiles{})
                                   : http::TlsContext::client(http::TlsTexts{.authority = authority});
  return tls_.emplace(authority, std::move(context)).first->second;
}

awaitable<http::Response> IdentityProviders::send(std::string url, std::string authority, http::Request request) {
  const auto question = url.find('?');
  auto parsed = http::parse_url(url.substr(0, question));
  request.target =
      (parsed.path.empty() ? "/" : parsed.path) + (question == std::string::npos ? "" : url.substr(question));
  parsed.path.clear();
  request.headers.set("Accept", "application/json");
  http::ClientOptions options{.connect_timeout = options_.connect,
                              .timeout = options_.exchange,
                              .connections_kept = 0,
                              .body_limit = options_.body_limit};
  if (parsed.tls) options.tls = tls_for(authority);
  http::Client client(executor_, std::move(parsed), std::move(options));
  co_return co_await client.send(std::move(request));
}

awaitable<std::string> IdentityProviders::fetch(std::string url, std::string authority, TimePoint newer_than) {
  if (documents_.size() > kMostDocuments) documents_.clear();
  auto& slot = documents_[url + "\n" + authority];
  if (!slot) slot = std::make_shared<Document>();
  const auto document = slot;
  while (document->running) co_await document->done.wait();
  const auto now = clock_.now();
  const bool fresh = document->body && now - document->fetched < options_.fresh && document->fetched >= newer_than;
  const bool soon = document->tried != TimePoint{} && now - document->tried < options_.again;
  if (document->body && (fresh || soon)) co_return *document->body;
  if (document->failure && soon) throw Error(*document->failure);
  struct Running {
    explicit Running(Document& d) : document(d) { document.running = true; }
    ~Running() {
      document.running = false;
      document.done.notify_all();
    }
    Document& document;
  } running(*document);
  document->tried = now;
  try {
    http::Request request;
    const auto response = co_await send(url, std::move(authority), std::move(request));
    if (response.status != 200) throw Error(Code::unavailable, fmt::format("{} answers {}", url, response.status));
    document->body = response.body;
    document->fetched = now;
    document->failure.reset();
  } catch (const Error& error) {
    document->failure = error;
  }
  if (document->failure) throw Error(*document->failure);
  co_return *document->body;
}

awaitable<IdentityProviders::Endpoints> IdentityProviders::discover(const AuthMethod& method) {
  const std::string base = without_slash(method.config.oidc_discovery_url);
  const std::string host = checked_host(base);
  std::string url = base + "/.well-known/openid-configuration";
  const auto document = parse_object(co_await fetch(url, joined_authorities(method), {}), url);
  Endpoints out{json::text_at(document, "issuer"),         json::text_at(document, "authorization_endpoint"),
                json::text_at(document, "token_endpoint"), json::text_at(document, "userinfo_endpoint"),
                json::text_at(document, "jwks_uri"),       false};
  if (without_slash(out.issuer) != base)
    throw Error(Code::denied, fmt::format("the provider at {} calls itself '{}'", base, out.issuer.substr(0, 200)));
  for (const auto* endpoint : {&out.token, &out.user_info, &out.keys}) {
    if (endpoint->empty()) continue;
    const std::string other = checked_host(*endpoint);
    const auto& more = method.config.endpoint_hosts;
    if (other != host && std::find(more.begin(), more.end(), other) == more.end())
      throw Error(Code::denied, fmt::format("the provider at {} sends us to another host, {}", host, other))
          .advise(fmt::format("if it shall be asked, add it to EndpointHosts of auth method {}", method.name));
  }
  if (const auto* ways = document.if_contains("token_endpoint_auth_methods_supported"); ways && ways->is_array()) {
    const auto& list = ways->get_array();
    const auto has = [&](const char* way) { return std::find(list.begin(), list.end(), way) != list.end(); };
    out.secret_by_post = has("client_secret_post") && !has("client_secret_basic");
  }
  co_return out;
}

awaitable<object> IdentityProviders::verify_by_set(std::string url, std::string authority, std::string token,
                                                   crypto::ForeignTokenExpectation expected) {
  checked_host(url);
  const auto head = crypto::head_of(token);
  auto keys = crypto::parse_issuer_keys(co_await fetch(url, authority, {}));
  const auto known = [&] {
    return std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return key.id == head.key_id; });
  };
  // Keys are rotated: one that is not known yet may be among the newest. `fetch` sees to it that this is not often.
  if (!head.key_id.empty() && !known()) keys = crypto::parse_issuer_keys(co_await fetch(url, authority, expected.now));
  co_return crypto::verify_foreign_token(token, keys, expected);
}

awaitable<object> IdentityProviders::verify(AuthMethod method, std::string token) {
  auto expected = expectation_of(method, clock_.now());
  object claims;
  if (!method.config.jwt_validation_pub_keys.empty()) {
    std::vector<crypto::IssuerKey> keys;
    for (const auto& pem : method.config.jwt_validation_pub_keys) keys.push_back(crypto::issuer_key_from_pem(pem));
    claims = crypto::verify_foreign_token(token, keys, expected);
  } else if (!method.config.jwks_url.empty()) {
    claims = co_await verify_by_set(method.config.jwks_url, method.config.jwks_ca_cert, std::move(token), expected);
  } else {
    const auto endpoints = co_await discover(method);
    expected.issuer = endpoints.issuer;
    claims = co_await verify_by_set(endpoints.keys, joined_authorities(method), std::move(token), expected);
  }
  check_bound_issuer(method, claims);
  tell_claims(method, claims);
  co_return claims;
}

std::string IdentityProviders::make_state(const object& content) const {
  return "st_" +
         crypto::base64url_encode(crypto::seal(state_key_, boost::json::serialize(content), kStateContext).bytes);
}

object IdentityProviders::open_state(const std::string& state) const {
  try {
    if (!state.starts_with("st_") || state.size() > kLongestField) throw Error(Code::denied, "no state");
    const auto plain = crypto::open(
        state_key_, {state_key_.id, crypto::base64url_decode(std::string_view(state).substr(3))}, kStateContext);
    return json::parse(plain.bytes()).as_object();
  } catch (const Error&) {
    throw Error(Code::denied, "the login was not begun here, or before the server was started").advise("log in again");
  }
}

awaitable<std::string> IdentityProviders::auth_url(AuthMethod method, std::string redirect_uri, std::string nonce) {
  check_redirect(method, redirect_uri);
  if (nonce.empty() || nonce.size() > 256) throw Error(Code::invalid, "missing client nonce");
  const auto endpoints = co_await discover(method);
  if (!endpoints.authorization.starts_with("http"))
    throw Error(Code::unavailable, fmt::format("the provider at {} has no authorization_endpoint", endpoints.issuer));
  object content{{"method", method.name},
                 {"redirect", redirect_uri},
                 {"nonce", nonce},
                 {"until", unix_nanos(clock_.now() + options_.patience)}};
  std::string scopes = "openid";
  for (const auto& scope : method.config.oidc_scopes) {
    if (scope != "openid") scopes += " " + scope;
  }
  http::Query query{{"client_id", method.config.oidc_client_id},
                    {"nonce", nonce},
                    {"redirect_uri", redirect_uri},
                    {"response_type", "code"},
                    {"scope", scopes}};
  if (method.config.oidc_enable_pkce) {
    const std::string verifier = crypto::base64url_encode(crypto::Secret::random(32).bytes());
    content["verifier"] = verifier;
    query.add("code_challenge", crypto::base64url_encode(crypto::sha256(verifier)));
    query.add("code_challenge_method", "S256");
  }
  query.add("state", make_state(content));
  const char joint = endpoints.authorization.find('?') == std::string::npos ? '?' : '&';
  co_return endpoints.authorization + joint + query.encode();
}

std::string IdentityProviders::assertion(const AuthMethod& method, const std::string& token_endpoint) const {
  const auto& wanted = *method.config.oidc_client_assertion;
  const auto now = unix_nanos(clock_.now()) / 1'000'000'000;
  boost::json::array audience(wanted.audience.begin(), wanted.audience.end());
  if (audience.empty()) audience.emplace_back(token_endpoint);
  const std::string& id = method.config.oidc_client_id;
  const object claims{
      {"iss", id},  {"sub", id},       {"aud", std::move(audience)}, {"jti", SystemIds().uuid()}, {"iat", now},
      {"nbf", now}, {"exp", now + 300}};
  if (wanted.key_source == "nomad") return keyring_.signing(wanted.key_algorithm).sign(claims);
  const auto secrets = open_secrets(method, keyring_);
  object header;
  for (const auto& [name, value] : wanted.extra_headers) header[name] = value;
  if (wanted.key_source == "client_secret") {
    header["alg"] = "HS256";
    header["typ"] = "JWT";
    const std::string text = crypto::base64url_encode(boost::json::serialize(header)) + "." +
                             crypto::base64url_encode(boost::json::serialize(claims));
    return text + "." + crypto::base64url_encode(crypto::hmac_sha256(secrets.client_secret, text));
  }
  if (!wanted.private_key) throw Error(Code::invalid, "OIDCClientAssertion has no PrivateKey");
  const auto& key = *wanted.private_key;
  const auto file = [](const std::string& path) { return os::find_file(path, 64U << 10).value_or(""); };
  const std::string certificate = key.pem_cert_file.empty() ? key.pem_cert : file(key.pem_cert_file);
  const std::string name = !key.key_id_header.empty() ? key.key_id_header : certificate.empty() ? "kid" : "x5t#S256";
  header[name] = certificate.empty() ? key.key_id : crypto::certificate_thumbprint(certificate, name != "x5t");
  const auto signer =
      crypto::PrivateKey::from_pem(key.pem_key_file.empty() ? secrets.private_key : file(key.pem_key_file));
  return crypto::sign_token(signer, wanted.key_algorithm.empty() ? "RS256" : wanted.key_algorithm, header, claims);
}

awaitable<object> IdentityProviders::tokens_for(const AuthMethod& method, const Endpoints& endpoints,
                                                const CompleteAuth& back, const std::string& verifier) {
  http::Request request;
  request.method = "POST";
  request.headers.set("Content-Type", "application/x-www-form-urlencoded");
  const std::string& id = method.config.oidc_client_id;
  http::Query fields{{"grant_type", "authorization_code"},
                     {"code", back.code},
                     {"redirect_uri", back.redirect_uri},
                     {"client_id", id}};
  if (!verifier.empty()) fields.add("code_verifier", verifier);
  if (method.config.oidc_client_assertion) {
    fields.add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    fields.add("client_assertion", assertion(method, endpoints.token));
  } else if (const auto secrets = open_secrets(method, keyring_); !secrets.client_secret.empty()) {
    if (endpoints.secret_by_post)
      fields.add("client_secret", secrets.client_secret);
    else
      request.headers.set("Authorization", "Basic " + base64_encode(http::percent_encode(id) + ":" +
                                                                    http::percent_encode(secrets.client_secret)));
  }
  request.body = form(fields);
  const auto response = co_await send(endpoints.token, joined_authorities(method), std::move(request));
  if (response.status != 200) {
    throw Error(Code::denied, "the provider gives no token for the code")
        .because(fmt::format("it answers {} {}", response.status, told(response)));
  }
  co_return parse_object(response.body, endpoints.token);
}

awaitable<void> IdentityProviders::add_user_info(const AuthMethod& method, const Endpoints& endpoints,
                                                 const std::string& access_token, object& claims) {
  if (method.config.oidc_disable_user_info || endpoints.user_info.empty() || access_token.empty()) co_return;
  http::Request request;
  request.headers.set("Authorization", "Bearer " + access_token);
  const auto response = co_await send(endpoints.user_info, joined_authorities(method), std::move(request));
  if (response.status != 200)
    throw Error(Code::denied, "the provider tells nothing of the user")
        .because(fmt::format("its userinfo endpoint answers {}", response.status));
  const auto info = parse_object(response.body, endpoints.user_info);
  if (json::text_at(info, "sub") != json::text_at(claims, "sub"))  // OpenID Connect Core 1.0, section 5.3.2
    throw Error(Code::denied, "the provider tells of another user than the token is of");
  // What the signed token says stands.
  for (const auto& [name, value] : info) claims.emplace(name, value);
}

awaitable<object> IdentityProviders::complete(AuthMethod method, CompleteAuth back) {
  check_redirect(method, back.redirect_uri);
  const object content = open_state(back.state);
  const bool ours = json::text_at(content, "method") == method.name &&
                    json::text_at(content, "redirect") == back.redirect_uri &&
                    crypto::equal_in_constant_time(json::text_at(content, "nonce"), back.nonce);
  if (!ours) throw Error(Code::denied, "the login was begun by somebody else").advise("log in again");
  if (unix_nanos(clock_.now()) > content.at("until").to_number<std::int64_t>())
    throw Error(Code::denied, "the login took too long").advise("log in again");
  if (back.code.empty() || back.code.size() > kLongestField) throw Error(Code::invalid, "missing code");
  const auto endpoints = co_await discover(method);
  const auto tokens = co_await tokens_for(method, endpoints, back, json::text_at(content, "verifier"));
  auto expected = expectation_of(method, clock_.now());
  expected.issuer = endpoints.issuer;
  if (expected.audiences.empty()) expected.audiences = {method.config.oidc_client_id};
  std::string id_token = json::text_at(tokens, "id_token");
  auto claims =
      co_await verify_by_set(endpoints.keys, joined_authorities(method), std::move(id_token), std::move(expected));
  if (!crypto::equal_in_constant_time(json::text_at(claims, "nonce"), back.nonce))
    throw Error(Code::denied, "the token is not valid").because("its nonce is another login's");
  if (const auto party = json::text_at(claims, "azp"); !party.empty() && party != method.config.oidc_client_id)
    throw Error(Code::denied, "the token is not valid").because("it was made for another client");
  if (json::text_at(claims, "sub").empty())
    throw Error(Code::denied, "the token is not valid").because("it has no 'sub'");
  check_bound_issuer(method, claims);
  co_await add_user_info(method, endpoints, json::text_at(tokens, "access_token"), claims);
  tell_claims(method, claims);
  co_return claims;
}

}  // namespace underway::server
