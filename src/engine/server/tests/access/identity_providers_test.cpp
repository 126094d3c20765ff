#include "server/access/identity_providers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/testing/identity_provider.hpp"

namespace underway::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::IdentityProvider;

constexpr const char* kBack = "http://localhost:4649/oidc/callback";

struct Providers : ::testing::Test {
  ~Providers() override { loop.run_until_done(provider.stop()); }

  model::AuthMethod method(model::AuthMethodType type = model::AuthMethodType::OIDC) {
    model::AuthMethod out;
    out.name = "corp";
    out.type = type;
    auto& config = out.config;
    config.oidc_discovery_url = provider.issuer;
    config.discovery_ca_pem = {provider.ca()};
    config.signing_algs = {"EdDSA"};
    if (type == model::AuthMethodType::JWT) return out;
    config.oidc_client_id = provider.client;
    config.oidc_client_secret = provider.secret;
    config.oidc_enable_pkce = true;
    config.oidc_scopes = {"groups"};
    config.allowed_redirect_uris = {kBack};
    seal_secrets(out, keyring);
    return out;
  }
  std::string begin(const model::AuthMethod& by, std::string nonce = "n-0S6", std::string back = kBack) {
    return loop.run_until_done(providers.auth_url(by, std::move(back), std::move(nonce)));
  }
  boost::json::object end(const model::AuthMethod& by, const http::Query& came, std::string nonce = "n-0S6") {
    return loop.run_until_done(providers.complete(
        by, {came.find("state").value_or(""), came.find("code").value_or(""), std::move(nonce), kBack}));
  }
  boost::json::object log_in(const model::AuthMethod& by) { return end(by, provider.log_in(begin(by))); }
  boost::json::object verify(const model::AuthMethod& by, std::string token) {
    return loop.run_until_done(providers.verify(by, std::move(token)));
  }
  static std::string why(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.code()), error.one_line());
    }
    return "";
  }

  async::Loop loop;
  VirtualClock clock;
  Keyring keyring{"", "", clock.now()};
  IdentityProvider provider{loop.executor(), clock};
  IdentityProviders providers{loop.executor(), clock, keyring};
};

TEST_F(Providers, KeepSecretsSealed) {
  const auto sealed = method();
  EXPECT_TRUE(sealed.config.oidc_client_secret.empty());
  EXPECT_EQ(open_secrets(sealed, keyring).client_secret, provider.secret);
  auto other = sealed;
  other.name = "other";
  EXPECT_THROW(open_secrets(other, keyring), Error);
}

TEST_F(Providers, GoThroughTheWholeCodeFlow) {
  const auto by = method();
  const auto claims = log_in(by);
  EXPECT_EQ(claims.at("sub"), "248289761001");
  EXPECT_EQ(claims.at("email"), "ada@example.org");   // of userinfo
  EXPECT_EQ(claims.at("preferred_username"), "ada");  // what was signed stands
  EXPECT_EQ(provider.asked.find("scope"), "openid groups");
  EXPECT_EQ(provider.asked.find("code_challenge_method"), "S256");
  EXPECT_EQ(provider.asked.find("response_type"), "code");
}

TEST_F(Providers, RefuseALoginThatIsNotTheOneThatWasBegun) {
  const auto by = method();
  EXPECT_THAT(why([&] { begin(by, "n", "http://evil.example/"); }), HasSubstr("unauthorized redirect_uri"));
  EXPECT_THAT(why([&] { begin(by, ""); }), HasSubstr("missing client nonce"));
  auto came = provider.log_in(begin(by));
  EXPECT_THAT(why([&] { end(by, came, "another"); }), HasSubstr("begun by somebody else"));
  EXPECT_THAT(why([&] { end(by, {{"code", "code-1"}, {"state", "st_AAAA"}}); }), HasSubstr("not begun here"));
  auto other = by;
  other.name = "other";
  EXPECT_THAT(why([&] { end(other, came); }), HasSubstr("begun by somebody else"));
  EXPECT_THAT(why([&] { end(by, {{"code", "guess"}, {"state", *came.find("state")}}); }), HasSubstr("invalid_grant"));
  EXPECT_EQ(why([&] { end(by, came); }), "");
  EXPECT_THAT(why([&] { end(by, came); }), HasSubstr("invalid_grant"));  // a code is good once
  came = provider.log_in(begin(by));
  clock.advance(6min);
  EXPECT_THAT(why([&] { end(by, came); }), HasSubstr("took too long"));
}

TEST_F(Providers, RefuseTokensThatAreNotForThisLogin) {
  const auto by = method();
  const auto refusal = [&](boost::json::object in_token) {
    provider.in_token = std::move(in_token);
    return why([&] { log_in(by); });
  };
  EXPECT_THAT(refusal({{"nonce", "old"}}), HasSubstr("its nonce is another login's"));
  EXPECT_THAT(refusal({{"aud", "another"}}), HasSubstr("for another audience"));
  EXPECT_THAT(refusal({{"azp", "another"}}), HasSubstr("for another client"));
  EXPECT_THAT(refusal({{"iss", "https://other.example"}}), HasSubstr("its issuer is"));
  EXPECT_THAT(refusal({{"exp", 1}}), HasSubstr("it expired at"));
  EXPECT_THAT(refusal({{"sub", "somebody else"}}), HasSubstr("of another user"));
  EXPECT_EQ(refusal({}), "");
}

TEST_F(Providers, AskNoOtherHostThanTheOneThatIsConfigured) {
  auto by = method();
  provider.discovery = {{"jwks_uri", "https://169.254.169.254/latest"}};
  EXPECT_THAT(why([&] { begin(by); }), HasSubstr("another host, 169.254.169.254"));
  by.config.endpoint_hosts = {"169.254.169.254"};
  EXPECT_EQ(why([&] { begin(by); }), "");
  EXPECT_THAT(why([] { checked_host("http://id.example/"); }), HasSubstr("must be https"));
  EXPECT_THAT(why([] { checked_host("https://user@id.example/"); }), HasSubstr("the host is malformed"));
  EXPECT_NE(why([] { checked_host("unix:///run/x.sock"); }), "");
  EXPECT_EQ(checked_host("https://ID.example:8443/x"), "id.example");
}

TEST_F(Providers, TrustNobodyElsesCertificateAndNoOtherName) {
  auto by = method();
  by.config.discovery_ca_pem = {
      crypto::Authority::make("other", std::chrono::hours(1), SystemClock().now()).certificate()};
  EXPECT_THAT(why([&] { begin(by); }), HasSubstr("certificate"));
  provider.discovery = {{"issuer", "https://somebody.else"}};
  EXPECT_THAT(why([&] { begin(method()); }), HasSubstr("calls itself 'https://somebody.else'"));
}

TEST_F(Providers, FetchKeysAgainWhenAnUnknownOneSignsButNotAtWill) {
  const auto by = method(model::AuthMethodType::JWT);
  EXPECT_EQ(verify(by, provider.token()).at("sub"), "248289761001");
  EXPECT_EQ(provider.keys_read, 1);
  verify(by, provider.token());
  EXPECT_EQ(provider.keys_read, 1);
  provider.key = crypto::SigningKey::generate();
  EXPECT_THAT(why([&] { verify(by, provider.token()); }), HasSubstr("no key is known"));
  EXPECT_EQ(provider.keys_read, 1);
  clock.advance(31s);
  EXPECT_EQ(why([&] { verify(by, provider.token()); }), "");
  EXPECT_EQ(provider.keys_read, 2);
}

TEST_F(Providers, VerifyByAKeySetAndByKeysInPem) {
  model::AuthMethod by;
  by.name = "ci";
  by.type = model::AuthMethodType::JWT;
  by.config.jwks_url = provider.issuer + "/keys";
  by.config.jwks_ca_cert = provider.ca();
  by.config.signing_algs = {"EdDSA"};
  by.config.bound_issuer = {provider.issuer};
  by.config.bound_audiences = {"underway"};
  EXPECT_EQ(why([&] { verify(by, provider.token()); }), "");
  by.config.bound_issuer = {"https://other.example"};
  EXPECT_THAT(why([&] { verify(by, provider.token()); }), HasSubstr("not among BoundIssuer"));
  by.config.bound_issuer.clear();
  by.config.signing_algs.clear();
  EXPECT_THAT(why([&] { verify(by, provider.token()); }), HasSubstr("'EdDSA', which is not allowed here"));
}

}  // namespace
}  // namespace underway::server
