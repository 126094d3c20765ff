#include "server/node/join_decisions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/token.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::make_node;
using testing::uuid;

struct JoinTest : ::testing::Test {
  std::string create(NewJoinToken request = {}) {
    request.hash = crypto::hash_token("secret");
    return desk.run(request);
  }
  JoinAttempt attempt(const std::string& token, int number = 1) const {
    return {token, "secret", uuid(number), "node-secret", fmt::format("c{}", number), "compute", "key", "10.0.0.7:5"};
  }
  trust::Identity join(const JoinAttempt& attempt) { return desk.run(attempt); }
  std::string refusal(const JoinAttempt& attempt) {
    try {
      join(attempt);
      return {};
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.code()), error.one_line());
    }
  }
  /// What `create` is refused with.
  std::string no_token(const NewJoinToken& request) {
    try {
      create(request);
      return {};
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.code()), error.one_line());
    }
  }
  void make_cluster(const std::string& name, const std::string& host) {
    desk.run([&](const Tables&, const Context&) {
      Decision<Nothing> decision;
      decision.changes.push_back(tables::PutCluster{{.name = name}});
      decision.changes.push_back(tables::PutHost{{.name = host, .cluster = name}});
      return decision;
    });
  }
  testing::Desk desk;
};

TEST_F(JoinTest, ATokenLetsOneNodeIn) {
  const std::string token = create();
  const trust::Identity identity = join(attempt(token));
  EXPECT_EQ(identity, (trust::Identity{.node_id = uuid(1)}));
  const auto row = desk.tables.find<model::JoinToken>(token);
  EXPECT_EQ(row->used_by, uuid(1));
  EXPECT_EQ(row->used_from, "10.0.0.7:5");
  EXPECT_EQ(row->hash.find("secret"), std::string::npos);
}

TEST_F(JoinTest, ASecondUseIsToldWhenAndByWhomTheFirstWas) {
  const std::string token = create();
  join(attempt(token));
  desk.clock.advance(1min);
  EXPECT_EQ(refusal(attempt(token, 2)),
            "denied: the join token was used already: at 2023-11-14T22:13:20Z by node 'c1' (00000001) from 10.0.0.7:5");
  auto other_key = attempt(token);
  other_key.key = "another";
  EXPECT_THAT(refusal(other_key), HasSubstr("was used already"));
}

TEST_F(JoinTest, WhoseAnswerWasLostMayAskAgain) {
  const std::string token = create();
  join(attempt(token));
  const auto revision = desk.tables.revision();
  EXPECT_EQ(join(attempt(token)).node_id, uuid(1));
  EXPECT_EQ(desk.tables.revision(), revision);
  desk.clock.advance(1h);
  EXPECT_THAT(refusal(attempt(token)), HasSubstr("expired"));
}

TEST_F(JoinTest, SaysWhyATokenIsNoGood) {
  const std::string token = create({.lifetime = 10min});
  EXPECT_EQ(refusal(attempt("none")),
            "denied: the join token is not known: it was revoked, or it is of another server");
  auto guess = attempt(token);
  guess.token_secret = "guess";
  EXPECT_EQ(refusal(guess), refusal(attempt("none"))) << "a guess learns nothing";
  desk.clock.advance(10min);
  EXPECT_EQ(refusal(attempt(token)), "denied: the join token has expired: it was good until 2023-11-14T22:23:20Z");
}

TEST_F(JoinTest, ABoundTokenIsForThatNodeAlone) {
  make_cluster("demo", "c1");
  const std::string token = create({.name = "c1", .pool = "compute", .cluster = "demo", .host = true});
  EXPECT_THAT(refusal(attempt(token, 2)), HasSubstr("it is for a node with the name 'c1', and this one's is 'c2'"));
  auto other = attempt(token);
  other.pool = "login";
  EXPECT_THAT(refusal(other), HasSubstr("with the pool 'compute', and this one's is 'login'"));
  EXPECT_EQ(join(attempt(token)),
            (trust::Identity{.node_id = uuid(1), .name = "c1", .pool = "compute", .cluster = "demo"}));
}

TEST_F(JoinTest, ATokenForAClusterMakesAMemberOfIt) {
  make_cluster("demo", "c1");
  EXPECT_EQ(join(attempt(create({.cluster = "demo"}), 7)), (trust::Identity{.node_id = uuid(7), .member_of = "demo"}));
  EXPECT_THAT(refusal(attempt(create({.cluster = "demo"}), 1)), HasSubstr("'c1' is a host of cluster 'demo'"));
  EXPECT_EQ(join(attempt(create({.name = "c8", .cluster = "demo"}), 8)),
            (trust::Identity{.node_id = uuid(8), .name = "c8", .member_of = "demo"}));
}

TEST_F(JoinTest, ATokenForAClusterNamesOneThatThereIs) {
  EXPECT_EQ(no_token({.cluster = "dmo"}), "not_found: there is no cluster 'dmo': no cluster is up");
  make_cluster("demo", "c1");
  make_cluster("test", "t1");
  EXPECT_EQ(no_token({.cluster = "dmo"}), "not_found: there is no cluster 'dmo': there are 'demo', 'test'");
  EXPECT_EQ(no_token({.name = "c1", .cluster = "demo"}),
            "conflict: 'c1' is a host of cluster 'demo': whatever makes a cluster's hosts gives them their tokens");
  EXPECT_EQ(no_token({.name = "t1", .cluster = "demo"}), "");
}

TEST_F(JoinTest, ANodeThatIsKnownShowsItsSecret) {
  desk.join(make_node(1), "its own");
  const std::string token = create();
  EXPECT_THAT(refusal(attempt(token)), HasSubstr("known with another secret"));
  auto own = attempt(token);
  own.node_secret = "its own";
  EXPECT_EQ(refusal(own), "");
}

TEST_F(JoinTest, RefusesWhatCannotBeANode) {
  const std::string token = create();
  auto nameless = attempt(token);
  nameless.name = "a b";
  EXPECT_THAT(refusal(nameless), HasSubstr("invalid: 'a b' is no name"));
  auto odd = attempt(token);
  odd.node_id = "../../etc";
  EXPECT_THAT(refusal(odd), HasSubstr("no UUID"));
}

TEST_F(JoinTest, RefusesTokensThatMakeNoSense) {
  EXPECT_THROW(create({.lifetime = 0s}), Error);
  EXPECT_THROW(create({.lifetime = 24h * 31}), Error);
  EXPECT_THROW(create({.cluster = "demo", .host = true}), Error);
}

TEST_F(JoinTest, RevokedAndOldTokensAreForgotten) {
  const std::string revoked = create(), old = create({.lifetime = 1h});
  const auto revoke = [&](const std::string& id) { desk.run(RevokeJoinToken{id}); };
  revoke(revoked);
  EXPECT_THAT(refusal(attempt(revoked)), HasSubstr("not known"));
  EXPECT_THROW(revoke(revoked), Error);
  desk.clock.advance(24h * 7);
  create();
  EXPECT_EQ(desk.tables.rows<model::JoinToken>().size(), 2u);
  desk.clock.advance(2h);
  create();
  EXPECT_FALSE(desk.tables.find<model::JoinToken>(old));
}

TEST(CheckIdentity, HoldsANodeToItsCertificate) {
  model::Node node = make_node(1);
  node.node_pool = "compute";
  const auto refusal = [&](const trust::Identity& identity) -> std::string {
    try {
      check_identity(identity, node);
      return {};
    } catch (const Error& error) {
      return error.one_line();
    }
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.node_id = uuid(1), .name = "c1", .pool = "compute"}), "");
  EXPECT_THAT(refusal({.node_id = uuid(2)}), HasSubstr("its certificate is for the id"));
  EXPECT_THAT(refusal({.name = "c2"}), HasSubstr("is for the name 'c2', and it claims 'c1'"));
  EXPECT_THAT(refusal({.pool = "login"}), HasSubstr("is for the pool 'login'"));
  node.cluster = "demo";
  node.host = "c1";
  EXPECT_THAT(refusal({.node_id = uuid(1)}), HasSubstr("is for the cluster ''"));
  const trust::Identity host{.node_id = uuid(1), .name = "c1", .pool = "compute", .cluster = "demo"};
  EXPECT_EQ(refusal(host), "");
  node.host = "mgmt";
  EXPECT_THAT(refusal(host), HasSubstr("is for the host 'c1', and it claims 'mgmt'"));
}

TEST(CheckIdentity, LetsAMemberClaimNoClusterByItself) {
  model::Node node = make_node(1);
  const trust::Identity member{.node_id = uuid(1), .member_of = "demo"};
  check_identity(member, node);
  enter_cluster(member, node);
  EXPECT_EQ(node.cluster, "demo");
  EXPECT_EQ(node.host, "");
  EXPECT_EQ(node.attributes.at("underway.cluster"), "demo");
  EXPECT_THROW(check_identity(member, node), Error) << "what it claims itself counts for nothing";

  model::Node alone = make_node(2);
  enter_cluster({.node_id = uuid(2)}, alone);
  EXPECT_EQ(alone.cluster, "");
  EXPECT_FALSE(alone.attributes.contains("underway.cluster"));
}

}  // namespace
}  // namespace underway::server
