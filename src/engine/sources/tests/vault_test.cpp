// Vault, played by answers of the shapes that its HTTP API documentation (1.13: "JWT/OIDC auth method", "Token auth
// method", "KV secrets engine", "Database secrets engine", "/sys/leases") shows.
#include <boost/json/parse.hpp>

#include "fake_environment.hpp"
#include "sources/lease.hpp"
#include "sources/vault.hpp"

namespace underway::sources {
namespace {

using gotemplate::ForeignKind;
using gotemplate::ForeignQuery;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

http::Response login(const char* token, int lease) {
  return http::json(fmt::format(
      R"({{"request_id":"r","lease_id":"","renewable":false,"lease_duration":0,"data":null,"wrap_info":null,"warnings":null,
"auth":{{"client_token":"{}","accessor":"a","policies":["default"],"metadata":{{"role":"web"}},"lease_duration":{},
"renewable":true,"entity_id":"e","token_type":"service","orphan":true}}}})",
      token, lease));
}

http::Response secret(const char* data, const char* lease_id = "", int duration = 0, bool renewable = false) {
  return http::json(fmt::format(
      R"({{"request_id":"r1","lease_id":"{}","renewable":{},"lease_duration":{},"data":{},"wrap_info":null,"warnings":null,"auth":null}})",
      lease_id, renewable, duration, data));
}

constexpr const char* kVersion2 =
    R"({"data":{"password":"s3cret"},"metadata":{"created_time":"2023-01-01T00:00:00Z","version":3}})";

class VaultTest : public ::testing::Test {
 protected:
  VaultTest() {
    auto fake = std::make_unique<FakeEnvironment>();
    environment = fake.get();
    environment->answers["POST /v1/auth/jwt-nomad/login"] = {login("task-token", 3600)};
    environment->answers["GET /v1/auth/token/lookup-self"] = {
        http::json(R"({"data":{"ttl":7200,"renewable":true,"policies":["site"]}})")};
    environment->answers["POST /v1/auth/token/renew-self"] = {login("task-token", 3600)};
    settings.access.token_file = "/token";
    settings.allow = {"secret/data/${namespace}/*"};
    world_owner = std::move(fake);
  }
  ~VaultTest() override {
    tokens.clear();
    if (vault) environment->loop.run_until_done(vault->stop());
    environment->settle();
  }
  void open() { vault = std::make_unique<Vault>(environment->loop.executor(), std::move(world_owner), settings); }
  gotemplate::ForeignReply watch(const ForeignQuery& query) {
    if (!vault) open();
    tokens.push_back(vault->watch(asker, {query}, [this] { ++changes; }));
    environment->settle();
    return vault->find(asker, query);
  }
  gotemplate::ForeignReply watch(const std::string& path) { return watch(read(path)); }
  static ForeignQuery read(const std::string& path) { return {.kind = ForeignKind::secret, .name = path}; }

  std::unique_ptr<Environment> world_owner;
  FakeEnvironment* environment;
  VaultSettings settings;
  std::unique_ptr<Vault> vault;
  std::vector<std::shared_ptr<void>> tokens;
  Asker asker{.ns = "default",
              .job_id = "web",
              .group = "g",
              .task = "t",
              .allocation_id = "a1",
              .logs_in = true,
              .vault_role = "web"};
  int changes = 0;
};

TEST_F(VaultTest, ATaskLogsInWithItsIdentityAndTheRoleOfItsJob) {
  environment->answers["GET /v1/secret/data/db"] = {secret(kVersion2)};
  const auto reply = watch("secret/data/db");
  ASSERT_TRUE(reply.answer && reply.answer->secret);
  EXPECT_EQ(reply.answer->secret->data.at("data").at("password").as_string(), "s3cret");
  EXPECT_THAT(environment->signed_for, ElementsAre(asker));
  const auto body = boost::json::parse(environment->requests.at(0).body);
  EXPECT_EQ(body.at("role").as_string(), "web");
  EXPECT_EQ(body.at("jwt").as_string(), "the.task.identity");
  EXPECT_EQ(environment->header("/v1/secret/data/db", "X-Vault-Token"), "task-token");
}

TEST_F(VaultTest, ATaskWithoutAVaultBlockReadsWhatTheSiteAllows) {
  asker.logs_in = false;
  asker.vault_role.clear();
  environment->answers["GET /v1/secret/data/default/db"] = {secret(kVersion2)};
  EXPECT_TRUE(watch("secret/data/default/db").answer);
  EXPECT_EQ(environment->header("/v1/secret/data/default/db", "X-Vault-Token"), "site-token");
  EXPECT_THROW(vault->find(asker, read("secret/data/ops/db")), Error);
  EXPECT_THROW(vault->find(asker, read("secret/data/default/../ops/db")), Error);
  EXPECT_THROW(vault->watch(asker, {read("sys/raw")}, [] {}), Error);
  EXPECT_EQ(environment->asked("login"), 0U);
}

TEST_F(VaultTest, WithoutATokenOfTheSiteATaskNeedsAVaultBlock) {
  asker.logs_in = false;
  settings.access.token_file.clear();
  open();
  try {
    vault->find(asker, read("secret/data/default/db"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.text(), HasSubstr("it has no `vault` block"));
  }
}

TEST_F(VaultTest, PathsOfVersion2AreCompleted) {
  environment->answers["GET /v1/sys/internal/ui/mounts/secret/db"] = {
      http::json(R"({"data":{"path":"secret/","type":"kv","options":{"version":"2"}}})")};
  environment->answers["GET /v1/sys/internal/ui/mounts/secret/apps"] =
      environment->answers["GET /v1/sys/internal/ui/mounts/secret/db"];
  environment->answers["GET /v1/secret/data/db?version=2"] = {secret(kVersion2)};
  environment->answers["GET /v1/secret/metadata/apps?list=true"] = {http::json(R"({"data":{"keys":["web/","db"]}})")};
  EXPECT_TRUE(watch("secret/db?version=2").answer->secret);
  const auto names = watch(ForeignQuery{.kind = ForeignKind::secrets, .name = "secret/apps"});
  EXPECT_THAT(names.answer->names, ElementsAre("db", "web/"));
  EXPECT_THROW(vault->find(asker, read("secret/db?x=1")), Error);
}

TEST_F(VaultTest, ALeaseIsRenewedBeforeHalfOfItIsOverAndTheSecretStays) {
  environment->answers["GET /v1/database/creds/x"] = {
      secret(R"({"username":"v-1"})", "database/creds/x/abc", 1000, true),
      secret(R"({"username":"v-2"})", "database/creds/x/def", 1000, true)};
  environment->answers["PUT /v1/sys/leases/renew"] = {secret("null", "database/creds/x/abc", 1000, true),
                                                      secret("null", "database/creds/x/abc", 120, true)};
  watch("database/creds/x");
  environment->pass(449s);
  EXPECT_EQ(environment->asked("sys/leases/renew"), 0U);
  environment->pass(1s);
  EXPECT_EQ(environment->asked("sys/leases/renew"), 1U);
  EXPECT_EQ(boost::json::parse(environment->requests.back().body).at("lease_id").as_string(), "database/creds/x/abc");
  EXPECT_EQ(changes, 1);
  // Near its longest time a renewal gives less: another secret is taken.
  environment->pass(450s);
  EXPECT_EQ(changes, 2);
  EXPECT_EQ(vault->find(asker, read("database/creds/x")).answer->secret->data.at("username").as_string(), "v-2");
}

TEST_F(VaultTest, ALeaseThatCannotBeRenewedIsReplacedNearItsEnd) {
  environment->answers["GET /v1/aws/creds/x"] = {secret(R"({"access_key":"1"})", "aws/creds/x/abc", 1000),
                                                 secret(R"({"access_key":"2"})", "aws/creds/x/def", 1000)};
  watch("aws/creds/x");
  environment->pass(849s);
  EXPECT_EQ(changes, 1);
  environment->pass(1s);
  EXPECT_EQ(changes, 2);
  EXPECT_EQ(until_replacement(1000s, 1), 900s);
  EXPECT_EQ(until_renewal(1000s, 1), 500s);
}

TEST_F(VaultTest, WhatHasNoLeaseIsReadAgainFromTimeToTime) {
  environment->answers["GET /v1/secret/data/db"] = {secret(kVersion2)};
  watch("secret/data/db");
  environment->pass(5min);
  EXPECT_EQ(environment->asked("GET /v1/secret/data/db"), 2U);
  const TimePoint now = from_unix_nanos(1'700'000'000'000'000'000);
  gotemplate::Secret certificate;
  certificate.data = {{"certificate", "PEM"}, {"expiration", 1'700'001'000}};
  EXPECT_EQ(until_reread(certificate, 5min, now, 0), 850s);
  gotemplate::Secret rotated;
  rotated.data = {{"rotation_period", 3600}, {"ttl", 100}};
  EXPECT_EQ(until_reread(rotated, 5min, now, 0), 101s);
}

TEST_F(VaultTest, TheTokenIsRenewedAndReplacedBeforeItEnds) {
  environment->answers["POST /v1/auth/jwt-nomad/login"] = {login("task-token", 1000), login("second-token", 1000)};
  environment->answers["POST /v1/auth/token/renew-self"] = {login("task-token", 1000), login("task-token", 100)};
  environment->answers["GET /v1/database/creds/x"] = {
      secret(R"({"username":"v-1"})", "database/creds/x/abc", 100000, true),
      secret(R"({"username":"v-2"})", "database/creds/x/def", 100000, true)};
  watch("database/creds/x");
  environment->pass(450s);
  EXPECT_EQ(environment->asked("renew-self"), 1U);
  EXPECT_EQ(environment->asked("login"), 1U);
  environment->pass(
      450s);  // less than half of what it was: another one, and what was leased with the first is read again
  EXPECT_EQ(environment->asked("login"), 2U);
  EXPECT_EQ(vault->find(asker, read("database/creds/x")).answer->secret->data.at("username").as_string(), "v-2");
  EXPECT_EQ(std::string(environment->requests.back().headers.find("X-Vault-Token").value_or("")), "second-token");
}

TEST_F(VaultTest, WhileItIsDownOrSealedTheReasonIsTold) {
  environment->down = "Connection refused";
  EXPECT_THAT(watch("secret/data/db").why, HasSubstr("Connection refused"));
  environment->down.clear();
  environment->answers["POST /v1/auth/jwt-nomad/login"] = {http::json(R"({"errors":["Vault is sealed"]})", 503)};
  environment->pass(2s);
  EXPECT_THAT(vault->find(asker, read("secret/data/db")).why, HasSubstr("Vault answers 503: Vault is sealed"));
  environment->answers["POST /v1/auth/jwt-nomad/login"] = {login("task-token", 3600)};
  environment->answers["GET /v1/secret/data/db"] = {secret(kVersion2)};
  environment->pass(1min);
  EXPECT_TRUE(vault->find(asker, read("secret/data/db")).answer);
  environment->down = "Connection refused";
  environment->pass(1h);
  EXPECT_TRUE(vault->find(asker, read("secret/data/db")).answer);
}

TEST_F(VaultTest, ARefusedPathEndsNoLeasesOfOthers) {
  environment->answers["GET /v1/secret/data/db"] = {
      http::json(R"({"errors":["1 error occurred:\n\t* permission denied"]})", 403)};
  const auto why = watch("secret/data/db").why;
  EXPECT_THAT(why, HasSubstr("Vault answers 403: 1 error occurred:  * permission denied"));
  EXPECT_THAT(why, Not(HasSubstr("task-token")));
  for (int i = 0; i < 20; ++i) environment->pass(1min);
  EXPECT_EQ(environment->asked("login"), 1U);
  // The token itself is no longer good.
  environment->answers["GET /v1/auth/token/lookup-self"] = {http::json(R"({"errors":["permission denied"]})", 403)};
  for (int i = 0; i < 3; ++i) environment->pass(1min);
  EXPECT_EQ(environment->asked("login"), 2U);
}

TEST_F(VaultTest, ATokenThatMayNotLookItselfUpIsTakenAnewOnceAndThenTrusted) {
  environment->answers["GET /v1/auth/token/lookup-self"] = {http::json(R"({"errors":["permission denied"]})", 403)};
  environment->answers["GET /v1/secret/data/db"] = environment->answers["GET /v1/auth/token/lookup-self"];
  std::deque<http::Response> logins;
  for (int i = 0; i < 100; ++i) logins.push_back(login(("token-" + std::to_string(i)).c_str(), 36000));
  environment->answers["POST /v1/auth/jwt-nomad/login"] = logins;
  watch("secret/data/db");
  for (int i = 0; i < 20; ++i) environment->pass(1min);
  EXPECT_EQ(environment->asked("login"), 2U);
}

TEST_F(VaultTest, ATokenFileThatOthersReadIsAReason) {
  asker.logs_in = false;
  environment->token_problem = Error(Code::denied, "the token file '/token' is not used");
  EXPECT_THAT(watch("secret/data/default/db").why, HasSubstr("is not used"));
}

TEST_F(VaultTest, ASecretIsMadeByWriting) {
  ForeignQuery query = read("pki/issue/x");
  query.parameters = {{"common_name", "web.example"}};
  environment->answers["PUT /v1/pki/issue/x"] = {secret(R"({"certificate":"PEM","expiration":1700001000})")};
  EXPECT_TRUE(watch(query).answer->secret);
  EXPECT_EQ(environment->requests.back().body, R"({"common_name":"web.example"})");
}

TEST_F(VaultTest, TheSessionEndsWithTheLastQuestion) {
  environment->answers["GET /v1/secret/data/db"] = {secret(kVersion2)};
  watch("secret/data/db");
  tokens.clear();
  environment->settle();
  EXPECT_FALSE(vault->find(asker, read("secret/data/db")).answer);
  const auto asked = environment->requests.size();
  environment->pass(24h);
  EXPECT_EQ(environment->requests.size(), asked);
}

}  // namespace
}  // namespace underway::sources
