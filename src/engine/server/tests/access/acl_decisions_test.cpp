#include "server/access/acl_decisions.hpp"

#include "server/access/checked_policy.hpp"
#include "server/storage/collect_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using namespace std::chrono_literals;
using model::AclPolicy;
using model::AclRole;
using model::AclToken;
using model::AclTokenType;

class AclDecisionsTest : public ::testing::Test {
 protected:
  static Error refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::internal, "nothing was refused");
  }
  AclToken bootstrap(std::optional<model::Revision> reset = {}) {
    return desk.run(BootstrapAcl{{.secret_hash = "hash"}, reset});
  }
  void put_policy(const std::string& name, const std::string& rules = "node { policy = \"read\" }") {
    const AclPolicy policy{name, "", rules, std::nullopt, 0, 0};
    desk.run(PutPolicy{CheckedPolicy(policy)});
  }
  AclToken put_token(const AclToken& token) { return desk.run(PutToken{token, {}}); }
  AclRole put_role(const AclRole& role) { return desk.run(PutRole{role}); }
  static AclToken client_token() {
    AclToken token;
    token.secret_hash = "h";
    token.policies = {"reader"};
    return token;
  }
  static AclRole role_of(const std::string& name, const std::string& policy) {
    AclRole role;
    role.name = name;
    role.policies = {{policy}};
    return role;
  }
  Desk desk;
};

TEST_F(AclDecisionsTest, BootstrapWorksOnce) {
  const auto token = bootstrap();
  EXPECT_EQ(token.type, AclTokenType::management);
  EXPECT_TRUE(desk.tables.find_token_by_hash("hash"));
  const auto index = desk.tables.revision_of({tables::Topic::acl_tokens, token.accessor_id});
  const Error error = refusal([&] { bootstrap(); });
  EXPECT_EQ(error.code(), Code::invalid);
  EXPECT_EQ(error.message(), fmt::format("ACL bootstrap already done (reset index: {})", index));
  EXPECT_EQ(refusal([&] { bootstrap(index + 1); }).code(), Code::invalid);
}

TEST_F(AclDecisionsTest, BootstrapWorksOnceMoreWithTheResetIndexAndNotTwice) {
  bootstrap();
  const auto index = desk.tables.setting("acl/bootstrap")->at("Index").to_number<model::Revision>();
  bootstrap(index);
  EXPECT_EQ(refusal([&] { bootstrap(index); }).code(), Code::invalid);
}

TEST_F(AclDecisionsTest, APolicyThatCannotBeReadIsRefusedWithItsErrors) {
  const Error error = refusal([&] { put_policy("p", "nod { policy = \"read\" }\nagent { policy = \"rite\" }"); });
  EXPECT_EQ(error.code(), Code::invalid);
  EXPECT_EQ(error.reasons().size(), 2u);
  EXPECT_FALSE(desk.tables.find<AclPolicy>("p"));
}

TEST_F(AclDecisionsTest, PoliciesAreDeletedAllOrNone) {
  put_policy("a");
  const auto remove = [&](std::vector<std::string> names) { desk.run(DeletePolicies{names}); };
  EXPECT_EQ(refusal([&] { remove({"a", "b"}); }).code(), Code::not_found);
  EXPECT_TRUE(desk.tables.find<AclPolicy>("a"));
  remove({"a"});
  EXPECT_FALSE(desk.tables.find<AclPolicy>("a"));
}

TEST_F(AclDecisionsTest, TokensAreWhatTheySayOrRefused) {
  struct Case {
    const char* name;
    std::function<void(AclToken&)> change;
    const char* problem;
  };
  const std::vector<Case> cases = {
      {"without policies", [](AclToken& t) { t.policies.clear(); }, "client token missing policies or roles"},
      {"management with policies", [](AclToken& t) { t.type = AclTokenType::management; },
       "management token cannot be associated with policies or roles"},
      {"an unknown role", [](AclToken& t) { t.roles = {{"", "dev"}}; }, "cannot find role 'dev'"},
      {"too short a life", [](AclToken& t) { t.expiration_ttl = 1s; }, "the token would live for"},
      {"too long a life", [](AclToken& t) { t.expiration_ttl = 48h; }, "the token would live for"},
      {"two ends", [](AclToken& t) { t.expiration_ttl = 1h, t.expiration_time = 1; }, "exclude each other"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto token = client_token();
    c.change(token);
    const Error error = refusal([&] { put_token(token); });
    EXPECT_EQ(error.code(), Code::invalid);
    ASSERT_EQ(error.reasons().size(), 1u);
    EXPECT_NE(error.reasons()[0].find(c.problem), std::string::npos) << error.reasons()[0];
  }
  EXPECT_TRUE(desk.tables.rows<AclToken>().empty());
}

TEST_F(AclDecisionsTest, ATokenExpiresAndIsForgottenLater) {
  auto token = client_token();
  token.expiration_ttl = 10min;
  const auto made = put_token(token);
  EXPECT_EQ(from_unix_nanos(made.expiration_time), desk.clock.now() + 10min);
  const auto collect = [&] { return desk.run(Collect{{}}).tokens; };
  desk.clock.advance(30min);
  EXPECT_EQ(collect(), 0);
  desk.clock.advance(1h);
  EXPECT_EQ(collect(), 1);
  EXPECT_TRUE(desk.tables.rows<AclToken>().empty());
}

TEST_F(AclDecisionsTest, AChangedTokenKeepsItsSecretAndItsTimes) {
  auto first = client_token();
  first.expiration_ttl = 1h;
  auto wanted = put_token(first);
  wanted.name = "renamed";
  wanted.secret_hash = "another";
  wanted.expiration_time = 0;
  desk.clock.advance(1min);
  const auto changed = put_token(wanted);
  EXPECT_EQ(changed.name, "renamed");
  EXPECT_EQ(changed.secret_hash, "h");
  EXPECT_NE(changed.expiration_time, 0);
  wanted.global = true;
  EXPECT_EQ(refusal([&] { put_token(wanted); }).code(), Code::invalid);
  wanted.accessor_id = "nobody";
  wanted.secret_hash.clear();
  EXPECT_EQ(refusal([&] { put_token(wanted); }).code(), Code::not_found);
}

TEST_F(AclDecisionsTest, RolesNameExistingPoliciesAndHaveNamesOfTheirOwn) {
  EXPECT_EQ(refusal([&] { put_role(role_of("dev", "reader")); }).reasons(),
            std::vector<std::string>{"cannot find policy reader"});
  put_policy("reader");
  const auto role = put_role(role_of("dev", "reader"));
  EXPECT_TRUE(is_uuid(role.id));
  EXPECT_EQ(refusal([&] { put_role(role_of("dev", "reader")); }).code(), Code::invalid);
  auto renamed = role;
  renamed.name = "ops";
  put_role(renamed);
  EXPECT_EQ(find_role_by_name(desk.tables, "ops")->id, role.id);
  renamed.id = "nothing";
  EXPECT_EQ(refusal([&] { put_role(renamed); }).code(), Code::not_found);
}

TEST_F(AclDecisionsTest, ATokensRolesAreGivenByIdOrByName) {
  put_policy("reader");
  const auto role = put_role(role_of("dev", "reader"));
  AclToken token;
  token.secret_hash = "h";
  token.roles = {{"", "dev"}, {role.id, ""}};
  const auto made = put_token(token);
  ASSERT_EQ(made.roles.size(), 1u);
  EXPECT_EQ(made.roles[0].id, role.id);
  EXPECT_EQ(made.roles[0].name, "dev");
}

}  // namespace
}  // namespace underway::server::testing
