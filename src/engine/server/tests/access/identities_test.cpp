#include "server/access/identities.hpp"

#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "crypto/digest.hpp"
#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

struct IdentityDesk : Desk {
  explicit IdentityDesk(Duration ttl = Duration{0}) {
    join(make_node(1));
    model::Job job = make_job("web");
    model::Identity own;
    own.ttl = ttl;
    model::Identity vault;
    vault.name = "vault";
    vault.aud = {"vault.example", "other"};
    job.groups[0].tasks[0].identities = {own, vault};
    job.canonicalize();
    register_job(std::move(job));
  }
  IdentityToken issue(const std::string& identity = "default", const std::string& task = "t") {
    return issue_identity(keyring, *only("web"), task, identity, "", context());
  }
  acl::Workload verify(const std::string& token) {
    return verify_identity(keyring, tables, token, clock.now()).workload;
  }

  Keyring keyring{"", "", TimePoint{}};
};

boost::json::value claims_of(const std::string& token) {
  const auto first = token.find('.'), second = token.find('.', first + 1);
  return json::parse(crypto::base64url_decode(token.substr(first + 1, second - first - 1)));
}

TEST(Identity, HasExtraClaimsThatOverwriteNoOthers) {
  IdentityDesk desk;
  model::Job job = *desk.tables.find_job("default", "web");
  job.groups[0].tasks[0].identity.emplace().extra_claims = {{"unit", "${job.namespace}/${job.id}/${task.name}"},
                                                            {"what", "${nothing}"},
                                                            {"sub", "root"},
                                                            {"nomad_task", "x"}};
  desk.register_job(job);
  std::string token;
  for (const auto& allocation : desk.tables.allocations_of_job("default", "web")) {
    if (!allocation->server_terminal())
      token = issue_identity(desk.keyring, *allocation, "t", "default", "", desk.context()).token;
  }
  const auto claims = claims_of(token);
  EXPECT_EQ(claims.at("unit").as_string(), "default/web/t");
  EXPECT_EQ(claims.at("what").as_string(), "${nothing}");
  EXPECT_EQ(claims.at("sub").as_string(), "global:default:web:g:t:default");
  EXPECT_EQ(claims.at("nomad_task").as_string(), "t");
}

TEST(Identity, SaysWhichTaskItIsInNomadsWords) {
  IdentityDesk desk;
  const auto claims = claims_of(desk.issue().token);
  EXPECT_EQ(claims.at("sub").as_string(), "global:default:web:g:t:default");
  EXPECT_EQ(claims.at("aud").as_string(), "nomadproject.io");
  EXPECT_EQ(claims.at("nomad_namespace").as_string(), "default");
  EXPECT_EQ(claims.at("nomad_job_id").as_string(), "web");
  EXPECT_EQ(claims.at("nomad_allocation_id").as_string(), desk.only("web")->id.c_str());
  EXPECT_EQ(claims.at("nomad_task").as_string(), "t");
  EXPECT_EQ(claims.at("exp").as_int64() - claims.at("iat").as_int64(), 3600);
  EXPECT_TRUE(is_uuid(std::string_view(claims.at("jti").as_string())));
}

TEST(Identity, HasTheAudienceAndLifetimeThatItsStanzaSays) {
  IdentityDesk desk(std::chrono::minutes(5));
  const auto own = claims_of(desk.issue().token);
  EXPECT_EQ(own.at("exp").as_int64() - own.at("iat").as_int64(), 300);
  EXPECT_EQ(claims_of(desk.issue("vault").token).at("aud").as_array().size(), 2U);
}

TEST(Identity, ForVaultIsMadeForATaskWithAVaultBlock) {
  IdentityDesk desk;
  EXPECT_THROW(desk.issue("vault_default"), Error);
  model::Job job = *desk.tables.find_job("default", "web");
  job.groups[0].tasks[0].vault.emplace();
  desk.register_job(job);
  for (const auto& allocation : desk.tables.allocations_of_job("default", "web")) {
    if (allocation->server_terminal()) continue;
    const auto claims =
        claims_of(issue_identity(desk.keyring, *allocation, "t", "vault_default", "", desk.context()).token);
    EXPECT_EQ(claims.at("aud").as_string(), "vault.io");
    EXPECT_EQ(claims.at("sub").as_string(), "global:default:web:g:t:vault_default");
    EXPECT_THROW(issue_identity(desk.keyring, *allocation, "t", "vault_other", "", desk.context()), Error);
  }
}

TEST(Identity, IsNotMadeForWhatDidNotAskForIt) {
  IdentityDesk desk;
  EXPECT_THROW(desk.issue("consul"), Error);
  EXPECT_THROW(desk.issue("default", "other"), Error);
}

TEST(Identity, IsTakenWhileItIsGoodAndItsAllocationLives) {
  IdentityDesk desk;
  const auto token = desk.issue().token;
  EXPECT_TRUE(looks_like_identity(token));
  const auto workload = desk.verify(token);
  EXPECT_EQ(workload.job, "web");
  EXPECT_EQ(workload.group, "g");
  EXPECT_EQ(workload.task, "t");
  EXPECT_THROW(desk.verify(desk.issue("vault").token), Error) << "it is for somebody else";
  std::string forged = token;
  // Not its last ones: an Ed25519 signature ends in "AA" one time in sixteen.
  char& changed = forged[forged.rfind('.') + 1];
  changed = changed == 'A' ? 'B' : 'A';
  EXPECT_THROW(desk.verify(forged), Error) << "its signature was changed";
  desk.clock.advance(std::chrono::hours(2));
  EXPECT_THROW(desk.verify(token), Error) << "expired";
  const auto fresh = desk.issue().token;
  desk.update(uuid(1), {report(desk.only("web")->id, model::ClientStatus::complete)});
  EXPECT_THROW(desk.verify(fresh), Error) << "its allocation is over";
}

TEST(Identity, IsTakenAfterARotation) {
  IdentityDesk desk;
  const auto token = desk.issue().token;
  desk.keyring.rotate(desk.clock.now(), crypto::PrivateKey::generate_rsa());
  EXPECT_EQ(desk.keyring.signing().algorithm(), "RS256");
  EXPECT_NO_THROW(desk.verify(token));
  EXPECT_NO_THROW(desk.verify(desk.issue().token));
}

}  // namespace
}  // namespace underway::server::testing
