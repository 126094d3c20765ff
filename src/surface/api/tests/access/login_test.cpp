#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "acl/login.hpp"
#include "api/tests/access.hpp"
#include "server/access/identity_providers.hpp"
#include "server/testing/identity_provider.hpp"

namespace underway::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kBack = "http://localhost:4649/oidc/callback";

class LoginTest : public testing::AccessTest {
 protected:
  LoginTest() {
    make_token("boss", "");
    world.token = "boss";
  }
  ~LoginTest() override { world.loop.run_until_done(provider.stop()); }

  boost::json::value send(const std::string& path, const boost::json::value& body, int expect = 200) {
    const auto response = world.put("/v1/acl/" + path, boost::json::serialize(body));
    EXPECT_EQ(response.status, expect) << path << ": " << response.body;
    return response.status == 200 && !response.body.empty() ? json::parse(response.body) : boost::json::value();
  }
  boost::json::object method(const char* type) {
    boost::json::object config{{"OIDCDiscoveryURL", provider.issuer},
                               {"DiscoveryCaPem", boost::json::array{provider.ca()}},
                               {"SigningAlgs", boost::json::array{"EdDSA"}},
                               {"ClaimMappings", boost::json::object{{"preferred_username", "user"}}},
                               {"ListClaimMappings", boost::json::object{{"groups", "groups"}}}};
    if (std::string_view(type) == "OIDC") {
      config["OIDCClientID"] = provider.client;
      config["OIDCClientSecret"] = provider.secret;
      config["AllowedRedirectURIs"] = boost::json::array{kBack};
    }
    return {{"Name", "corp"},
            {"Type", type},
            {"TokenLocality", "global"},
            {"MaxTokenTTL", "1h0m0s"},
            {"Default", true},
            {"TokenNameFormat", "${auth_method_type}-${value.user}"},
            {"Config", std::move(config)}};
  }
  void let_engineers_read() {
    set_rules("readers", "node { policy = \"read\" }");
    send("binding-rule", boost::json::object{{"AuthMethod", "corp"},
                                             {"BindType", "policy"},
                                             {"BindName", "readers"},
                                             {"Selector", "engineering in list.groups"}});
  }

  server::testing::IdentityProvider provider{world.loop.executor(), world.clock};
};

TEST_F(LoginTest, MethodsAreKeptWithoutShowingTheirSecret) {
  const auto made = send("auth-method", method("OIDC"));
  EXPECT_EQ(made.at("MaxTokenTTL"), "1h0m0s");
  EXPECT_EQ(made.at("Config").at("OIDCClientSecret"), "");
  const auto read = world.get("/v1/acl/auth-method/corp");
  for (const auto& text : {read.body, boost::json::serialize(made)}) {
    EXPECT_THAT(text, Not(HasSubstr(provider.secret)));
    EXPECT_THAT(text, Not(HasSubstr("Sealed")));
  }
  // What is left out stays, the secret too.
  send("auth-method/corp", boost::json::object{{"Name", "corp"}, {"MaxTokenTTL", "30m"}});
  const auto row = tables::find_record<model::AuthMethod>(world.tables(), "corp");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->max_token_ttl, std::chrono::minutes(30));
  EXPECT_EQ(row->config.oidc_client_id, provider.client);
  EXPECT_FALSE(row->sealed.empty());
  EXPECT_EQ(world.read("/v1/acl/auth-methods").at(0).at("Name"), "corp");
  const auto refused = world.put("/v1/acl/auth-method", R"({"Name": "x", "Config": {"OIDCClientSecret": ["s3cret"]}})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, Not(HasSubstr("s3cret")));
  world.token.clear();
  EXPECT_EQ(status("GET", "/v1/acl/auth-methods"), 200);
  EXPECT_EQ(status("GET", "/v1/acl/auth-method/corp"), 403);
  world.token = "boss";
  EXPECT_EQ(status("DELETE", "/v1/acl/auth-method/corp"), 200);
  EXPECT_EQ(status("GET", "/v1/acl/auth-method/corp"), 404);
}

TEST_F(LoginTest, SecretsAreSealedAnewWithTheRootKey) {
  send("auth-method", method("OIDC"));
  const auto before = tables::find_record<model::AuthMethod>(world.tables(), "corp").value();
  ASSERT_EQ(world.put("/v1/operator/keyring/rotate", "").status, 200);
  EXPECT_EQ(status("DELETE", "/v1/operator/keyring/key/" + before.key_id), 409);
  ASSERT_EQ(world.put("/v1/operator/keyring/rotate?full=true", "").status, 200);
  const auto after = tables::find_record<model::AuthMethod>(world.tables(), "corp").value();
  EXPECT_NE(after.key_id, before.key_id);
  EXPECT_EQ(server::open_secrets(after, world.server.keyring()).client_secret, provider.secret);
  EXPECT_EQ(status("DELETE", "/v1/operator/keyring/key/" + before.key_id), 200);
}

TEST_F(LoginTest, RulesAreKeptChangedAndDeleted) {
  send("auth-method", method("JWT"));
  let_engineers_read();
  const auto rules = world.read("/v1/acl/binding-rules");
  ASSERT_EQ(rules.as_array().size(), 1u);
  const std::string id(rules.at(0).at("ID").as_string());
  send("binding-rule/" + id, boost::json::object{{"Description", "new"}});
  const auto changed = world.read("/v1/acl/binding-rule/" + id);
  EXPECT_EQ(changed.at("Description"), "new");
  EXPECT_EQ(changed.at("BindName"), "readers");
  EXPECT_EQ(status("DELETE", "/v1/acl/binding-rule/" + id), 200);
  EXPECT_EQ(status("GET", "/v1/acl/binding-rule/" + id), 404);
}

TEST_F(LoginTest, ATokenIsGivenForAJwtAndEnds) {
  send("auth-method", method("JWT"));
  let_engineers_read();
  world.token.clear();
  const auto made = send("login", boost::json::object{{"AuthMethodName", "corp"}, {"LoginToken", provider.token()}});
  EXPECT_EQ(made.at("Name"), "JWT-ada");
  EXPECT_EQ(made.at("Policies").at(0), "readers");
  EXPECT_EQ(made.at("ExpirationTTL"), "1h0m0s");
  world.token = made.at("SecretID").as_string();
  EXPECT_EQ(status("GET", "/v1/nodes"), 200);
  world.clock.advance(std::chrono::hours(1));
  EXPECT_EQ(status("GET", "/v1/nodes"), 403);
  world.token.clear();
  provider.claims["groups"] = boost::json::array{"sales"};
  send("login", boost::json::object{{"AuthMethodName", "corp"}, {"LoginToken", provider.token()}}, 403);
  send("login", boost::json::object{{"AuthMethodName", "corp"}, {"LoginToken", "x.y.z"}}, 403);
  send("login", boost::json::object{{"AuthMethodName", "none"}, {"LoginToken", "x.y.z"}}, 404);
}

TEST_F(LoginTest, PeopleGoToTheProviderAndComeBackWithAToken) {
  send("auth-method", method("OIDC"));
  let_engineers_read();
  world.token.clear();
  boost::json::object begun{{"RedirectURI", kBack}, {"ClientNonce", "nonce"}};  // by the default method
  const auto url = send("oidc/auth-url", begun).at("AuthURL").as_string();
  const auto came = provider.log_in(std::string(url));
  begun["AuthMethodName"] = "corp";
  begun["State"] = came.find("state").value_or("");
  begun["Code"] = came.find("code").value_or("");
  const auto made = send("oidc/complete-auth", begun);
  EXPECT_EQ(made.at("Name"), "OIDC-ada");
  EXPECT_TRUE(made.at("Global").as_bool());
  world.token = made.at("SecretID").as_string();
  EXPECT_EQ(status("GET", "/v1/nodes"), 200);
}

TEST_F(LoginTest, ATokenIsHandedOnOnce) {
  const auto made = send("token/onetime", boost::json::object{}).at("OneTimeToken");
  EXPECT_EQ(made.at("AccessorID"), "accessor-of-boss");
  world.token.clear();
  const boost::json::object body{{"OneTimeSecretID", made.at("OneTimeSecretID")}};
  EXPECT_EQ(send("token/onetime/exchange", body).at("Token").at("SecretID"), "boss");
  send("token/onetime/exchange", body, 403);
  send("token/onetime", boost::json::object{}, 403);
}

}  // namespace
}  // namespace underway::api
