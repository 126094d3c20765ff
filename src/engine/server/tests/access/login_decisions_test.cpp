#include "server/access/login_decisions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "server/access/one_time_tokens.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using testing::Desk;
using ::testing::HasSubstr;

struct LoginDecisions : ::testing::Test {
  static model::AuthMethod jwt(const std::string& name = "ci") {
    model::AuthMethod method;
    method.name = name;
    method.type = model::AuthMethodType::JWT;
    method.max_token_ttl = std::chrono::hours(1);
    method.config.jwks_url = "https://id.example/keys";
    return method;
  }
  model::AuthMethod put(model::AuthMethod method, bool must_exist = false) {
    return desk.run(PutAuthMethod{method, must_exist, {}});
  }
  model::BindingRule put(model::BindingRule rule) { return desk.run(PutBindingRule{rule}); }
  void policy(const std::string& name) {
    desk.run([&](const Tables&, const Context&) {
      Decision<Nothing> decision;
      decision.changes.push_back(tables::PutAclPolicy{{name, "", "node { policy = \"read\" }", std::nullopt, 0, 0}});
      return decision;
    });
  }
  model::BindingRule rule(model::BindType type, const std::string& name, const std::string& selector = "") {
    model::BindingRule out;
    out.auth_method = "ci";
    out.bind_type = type;
    out.bind_name = name;
    out.selector = selector;
    return out;
  }
  model::AclToken log_in(acl::Claims claims) {
    const auto method = get_auth_method(desk.tables, "ci", model::AuthMethodType::JWT);
    return desk.run(Login{method, claims, "hash"});
  }
  std::string why(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.code()), error.one_line());
    }
    return "";
  }
  Desk desk;
};

TEST_F(LoginDecisions, KeepMethodsThatAreValid) {
  EXPECT_GT(put(jwt()).create_time, 0);
  EXPECT_THAT(why([&] { put(jwt()); }), HasSubstr("already exists"));
  EXPECT_THAT(why([&] { put(jwt("other"), true); }), HasSubstr("not_found"));
  auto bad = jwt("bad name");
  bad.max_token_ttl = std::chrono::hours(48);
  bad.config.signing_algs = {"none"};
  bad.config.oidc_discovery_url = "https://id.example";
  bad.config.jwt_validation_pub_keys = {"no key"};
  bad.token_name_format = "${nothing}";
  const auto problems = why([&] { put(bad); });
  for (const char* part : {"invalid name", "tokens that expire live for", "unsupported signing algorithm 'none'",
                           "exactly one of", "a public key cannot be read", "there is no 'nothing'"})
    EXPECT_THAT(problems, HasSubstr(part));
}

TEST_F(LoginDecisions, KeepAMethodThatNamesNoProviderYetAndLetNobodyInByIt) {
  auto early = jwt("early");
  early.config.jwt_validation_pub_keys.clear();
  early.config.jwks_url.clear();
  early.config.oidc_discovery_url.clear();
  put(early);
  EXPECT_THAT(why([&] { get_auth_method(desk.tables, "early", model::AuthMethodType::JWT); }),
              HasSubstr("names no provider"));
  early.config.oidc_client_id = "half";
  EXPECT_THAT(why([&] { put(early, true); }), HasSubstr("exactly one of"));
}

TEST_F(LoginDecisions, KeepOneDefaultOfEachType) {
  auto first = jwt();
  first.is_default = true;
  put(first);
  auto second = jwt("second");
  second.is_default = true;
  EXPECT_THAT(why([&] { put(second); }), HasSubstr("already exists: ci"));
  EXPECT_EQ(get_auth_method(desk.tables, "", model::AuthMethodType::JWT).name, "ci");
  EXPECT_THAT(why([&] { get_auth_method(desk.tables, "", model::AuthMethodType::OIDC); }), HasSubstr("no default"));
  EXPECT_THAT(why([&] { get_auth_method(desk.tables, "ci", model::AuthMethodType::OIDC); }), HasSubstr("of type JWT"));
}

TEST_F(LoginDecisions, RefuseRulesThatCannotWork) {
  EXPECT_THAT(why([&] { put(rule(model::BindType::policy, "p")); }), HasSubstr("auth method ci not found"));
  put(jwt());
  EXPECT_THAT(why([&] { put(rule(model::BindType::policy, "")); }), HasSubstr("bind name is missing"));
  EXPECT_THAT(why([&] { put(rule(model::BindType::management, "x")); }), HasSubstr("must be empty"));
  EXPECT_THAT(why([&] { put(rule(model::BindType::policy, "p", "value.a ==")); }), HasSubstr("invalid"));
  EXPECT_THAT(why([&] { put(rule(model::BindType::policy, "${oops}")); }), HasSubstr("there is no 'oops'"));
  EXPECT_EQ(why([&] { put(rule(model::BindType::policy, "team-${value.team}")); }), "");
}

TEST_F(LoginDecisions, GiveATokenWhatItsRulesGrantForAsLongAsItsMethodSays) {
  put(jwt());
  policy("readers");
  policy("team-ops");
  put(rule(model::BindType::policy, "readers", "engineering in list.groups"));
  put(rule(model::BindType::policy, "team-${value.team}"));
  put(rule(model::BindType::policy, "does-not-exist"));
  put(rule(model::BindType::management, "", "value.user == root"));
  const auto token = log_in({{{"team", "ops"}, {"user", "ada"}}, {{"groups", {"engineering"}}}});
  EXPECT_THAT(token.policies, ::testing::UnorderedElementsAre("readers", "team-ops"));
  EXPECT_EQ(token.type, model::AclTokenType::client);
  EXPECT_EQ(token.name, "JWT-ci");
  EXPECT_EQ(token.expiration_time, unix_nanos(desk.clock.now() + std::chrono::hours(1)));
  EXPECT_EQ(log_in({{{"user", "root"}}, {}}).type, model::AclTokenType::management);
  EXPECT_THAT(why([&] { log_in({{{"user", "eve"}}, {}}); }), HasSubstr("no role or policy bindings matched"));
}

TEST_F(LoginDecisions, DeleteAMethodWithItsRules) {
  put(jwt());
  const auto kept = put(rule(model::BindType::policy, "p"));
  desk.run(DeleteAuthMethod{"ci"});
  EXPECT_FALSE(tables::find_record<model::BindingRule>(desk.tables, kept.id));
  EXPECT_THAT(why([&] { desk.run(DeleteBindingRule{kept.id}); }), HasSubstr("not_found"));
}

TEST_F(LoginDecisions, RefuseALoginByAMethodThatWasChangedMeanwhile) {
  auto method = put(jwt());
  const auto seen = get_auth_method(desk.tables, "ci", model::AuthMethodType::JWT);
  put(method, true);
  put(rule(model::BindType::management, ""));
  EXPECT_THAT(why([&] { desk.run(Login{seen, {}, "hash"}); }), HasSubstr("was changed during the login"));
}

TEST(OneTimeTokens, AreGoodOnceAndForTenMinutes) {
  OneTimeTokens tokens;
  const TimePoint now{std::chrono::seconds(1'700'000'000)};
  const auto first = tokens.make("accessor", "secret", now);
  EXPECT_EQ(tokens.exchange(first.secret, now), "secret");
  EXPECT_THROW(tokens.exchange(first.secret, now), Error);
  const auto second = tokens.make("accessor", "secret", now);
  EXPECT_THROW(tokens.exchange(second.secret, now + std::chrono::minutes(10)), Error);
  EXPECT_THROW(tokens.exchange("guess", now), Error);
}

}  // namespace
}  // namespace underway::server
