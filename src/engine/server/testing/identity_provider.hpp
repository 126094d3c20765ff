#pragma once
/// @file
/// An OpenID Connect provider to log in at: discovery, keys, authorization, tokens and userinfo, over TLS on loopback.
/// It checks what a real one does: the redirect, the client, PKCE, that a code is used once. For tests.

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/authority.hpp"
#include "crypto/digest.hpp"
#include "crypto/foreign_token.hpp"
#include "crypto/sign.hpp"
#include "http/server.hpp"

namespace underway::server::testing {

class IdentityProvider {
 public:
  IdentityProvider(async::Executor executor, Clock& clock) : clock_(clock), server_(std::move(executor), router_) {
    add_routes();
    const auto now = SystemClock().now();  // certificates are verified by OpenSSL's clock
    authority_ = crypto::Authority::make("provider", std::chrono::hours(1), now);
    const auto made = authority_->issue({.common_name = "id.test", .names = {"127.0.0.1"}, .server = true}, now);
    const auto endpoint = server_.listen(
        http::Endpoint{.host = "127.0.0.1"},
        http::TlsContext::server(http::TlsTexts{.certificate = made.certificate, .key = made.key.bytes()}));
    issuer = fmt::format("https://127.0.0.1:{}", endpoint.port);
    claims = {{"sub", "248289761001"}, {"groups", boost::json::array{"engineering"}}, {"preferred_username", "ada"}};
  }
  async::awaitable<void> stop() { return server_.stop(Duration{0}); }

  std::string ca() const { return authority_->certificate(); }
  /// As a person's browser: from the address they were sent to, to the one that they are sent back to.
  http::Query log_in(const std::string& auth_url) {
    asked = http::Query::parse(auth_url.substr(auth_url.find('?') + 1));
    const std::string code = fmt::format("code-{}", ++codes_);
    code_ = code;
    return {{"code", code}, {"state", asked.find("state").value_or("")}};
  }
  /// What it signs; the key is named by its thumbprint.
  std::string token(boost::json::object more = {}) const {
    const auto now = unix_nanos(clock_.now()) / 1'000'000'000;
    boost::json::object all{{"iss", issuer}, {"aud", client}, {"iat", now}, {"exp", now + 300}};
    for (const auto& [name, value] : claims) all[name] = value;
    for (const auto& [name, value] : more) all[name] = value;
    return crypto::sign_jwt(key, all);
  }

  std::string issuer, client = "underway", secret = "the-client-secret";
  boost::json::object claims;  ///< of everybody's token
  boost::json::object user_info{{"sub", "248289761001"}, {"email", "ada@example.org"}, {"preferred_username", "eve"}};
  boost::json::object discovery;                            ///< replaces members of the document
  boost::json::object in_token;                             ///< replaces claims of the next tokens
  crypto::SigningKey key = crypto::SigningKey::generate();  ///< replace it: the keys are rotated
  int keys_read = 0;
  http::Query asked;  ///< the authorization request

 private:
  void add_routes() {
    router_.add("GET", "/.well-known/openid-configuration", "discovery", [this](http::Request) { return discover(); });
    router_.add("GET", "/keys", "keys", [this](http::Request) { return keys(); });
    router_.add("POST", "/token", "token", [this](http::Request request) { return exchange(std::move(request)); });
    router_.add("GET", "/userinfo", "userinfo", [this](http::Request request) { return tell(std::move(request)); });
  }
  async::awaitable<http::Response> discover() {
    boost::json::object document{{"issuer", issuer},
                                 {"authorization_endpoint", issuer + "/authorize"},
                                 {"token_endpoint", issuer + "/token"},
                                 {"userinfo_endpoint", issuer + "/userinfo"},
                                 {"jwks_uri", issuer + "/keys"}};
    for (const auto& [name, value] : discovery) document[name] = value;
    co_return http::json(boost::json::serialize(document));
  }
  async::awaitable<http::Response> keys() {
    ++keys_read;
    const std::vector all{key.verifying()};
    co_return http::json(boost::json::serialize(crypto::to_jwks(all)));
  }
  std::string refusal(const http::Request& request, const http::Query& form) {
    const auto field = [&](const char* name) { return form.find(name).value_or(""); };
    const std::string basic = "Basic " + base64_encode(client + ":" + secret);
    if (request.headers.find("Authorization").value_or("") != basic) return "invalid_client";
    if (field("code") != code_ || code_.empty()) return "invalid_grant";
    if (field("redirect_uri") != asked.find("redirect_uri")) return "invalid_request";
    if (const auto challenge = asked.find("code_challenge");
        challenge && crypto::base64url_encode(crypto::sha256(field("code_verifier"))) != *challenge)
      return "invalid_grant";
    return {};
  }
  async::awaitable<http::Response> exchange(http::Request request) {
    const auto form = http::Query::parse(request.body);
    if (const auto why = refusal(request, form); !why.empty())
      co_return http::json(boost::json::serialize(boost::json::object{{"error", why}}), 400);
    code_.clear();
    boost::json::object more{{"nonce", asked.find("nonce").value_or("")}};
    for (const auto& [name, value] : in_token) more[name] = value;
    co_return http::json(boost::json::serialize(
        boost::json::object{{"id_token", token(more)}, {"access_token", "access"}, {"token_type", "Bearer"}}));
  }
  async::awaitable<http::Response> tell(http::Request request) {
    const bool known = request.headers.find("Authorization").value_or("") == "Bearer access";
    co_return http::json(boost::json::serialize(user_info), known ? 200 : 401);
  }

  Clock& clock_;
  http::Router router_;
  http::Server server_;
  std::optional<crypto::Authority> authority_;
  std::string code_;
  int codes_ = 0;
};

}  // namespace underway::server::testing
