#include "trust/membership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "directory.hpp"
#include "http/server.hpp"
#include "os/file.hpp"
#include "trust/identity.hpp"
#include "trust/join_token.hpp"
#include "trust/server_trust.hpp"

namespace underway::trust {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A server that takes whoever shows its token, and tells who is linked.
struct MembershipTest : testing::Test {
  MembershipTest() {
    router.add("PUT", "/v1/underway/node/join", "join", [this](http::Request request) { return join(request); });
    router.add("GET", "/who", "who", [this](http::Request request) { return who(request); });
    http::Endpoint at;
    at.socket_path = directory / "link.sock";
    server.listen(at, trust->tls());
  }
  ~MembershipTest() override { loop.run_until_done(server.stop(0s)); }

  awaitable<http::Response> join(http::Request request) {
    const auto body = json::decode_text<JoinRequest>(request.body);
    ++joins;
    if (parse_join_token(body.token).secret.bytes() != secret) throw Error(Code::denied, "the join token was used");
    if (lose_answers-- > 0) throw Error(Code::unavailable, "lost");
    co_return http::json(json::encode(trust->certify_node({.node_id = body.node_id}, body.name, body.request)));
  }
  awaitable<http::Response> who(http::Request request) {
    co_return http::text(200, identify_node(request.remote, "global").identity.node_id);
  }
  crypto::Secret token() const {
    return to_text({.id = "1", .secret = crypto::Secret(secret), .authority_fingerprint = fingerprint});
  }
  std::unique_ptr<Membership> member() {
    MembershipOptions options{.directory = directory / "node", .node_id = "7f3a", .name = "c1"};
    options.token = token_in(directory / "token");
    return std::make_unique<Membership>(std::move(options), loop.executor(), clock);
  }
  /// Who the server says we are; or what it comes to.
  std::string ask(Membership& member) {
    try {
      http::ClientOptions options;
      options.tls = loop.run_until_done(async::within(20s, "the test", member.prepare(url())));
      http::Client client(loop.executor(), http::parse_url(url()), options);
      return loop.run_until_done(async::within(20s, "the test", client.send(http::request("GET", "/who")))).body;
    } catch (const Error& error) {
      return error.one_line();
    }
  }
  void renew(Membership& member, std::optional<Error> failure = {}) {
    const Membership::Ask answer = [&](CertificateRequest request) -> awaitable<Certified> {
      if (failure) throw *failure;
      co_return trust->certify_node({.node_id = "7f3a"}, "c1", request.request);
    };
    loop.run_until_done(async::within(20s, "the test", member.renew(answer)));
  }
  std::string url() const { return "https+unix://" + (directory / "link.sock"); }
  void give_token() { os::write_file(directory / "token", token().bytes(), 0600); }

  Directory directory;
  SystemClock system;
  VirtualClock clock{SystemClock().now()};
  std::unique_ptr<ServerTrust> trust =
      std::make_unique<ServerTrust>(ServerTrustOptions{.directory = directory / "tls"}, system);
  std::string fingerprint = trust->authority().info().fingerprint;
  std::string secret = "one-time";
  int joins = 0, lose_answers = 0;
  async::Loop loop;
  http::Router router;
  http::Server server{loop.executor(), router};
};

TEST_F(MembershipTest, JoinsOnceAndIsKnownFromThenOn) {
  give_token();
  EXPECT_EQ(ask(*member()), "7f3a");
  EXPECT_EQ(ask(*member()), "7f3a") << "after a restart, from its files";
  EXPECT_EQ(joins, 1);
  EXPECT_FALSE(os::exists(directory / "node/joining.pem"));
}

TEST_F(MembershipTest, SaysWhatItNeedsWithoutAToken) {
  const auto node = member();
  EXPECT_THAT(ask(*node), testing::AllOf(HasSubstr("token"), HasSubstr("this node has not joined yet")));
  give_token();
  EXPECT_EQ(ask(*node), "7f3a") << "the file is read when it is there";
}

TEST_F(MembershipTest, SaysWhyTheServerRefusesItsToken) {
  give_token();
  secret = "another";
  EXPECT_THAT(ask(*member()), HasSubstr("refuses this node: the join token was used"));
}

TEST_F(MembershipTest, TellsNothingToAServerOfAnotherAuthority) {
  fingerprint = std::string(64, '0');
  give_token();
  EXPECT_THAT(ask(*member()), HasSubstr("the server shows no authority with the fingerprint 0000"));
  EXPECT_EQ(joins, 0);
}

TEST_F(MembershipTest, AsksAgainWithTheSameKeyWhenAnAnswerWasLost) {
  give_token();
  lose_answers = 1;
  EXPECT_THAT(ask(*member()), HasSubstr("lost"));
  const std::string key = os::read_file(directory / "node/joining.pem");
  EXPECT_EQ(ask(*member()), "7f3a");
  EXPECT_EQ(os::read_file(directory / "node/node.pem").substr(0, key.size()), key);
}

TEST_F(MembershipTest, AnExpiredCertificateNeedsANewToken) {
  give_token();
  const auto node = member();
  EXPECT_EQ(ask(*node), "7f3a");
  clock.advance(48h + 1min);
  secret = "fresh";
  EXPECT_THAT(ask(*node),
              testing::AllOf(HasSubstr("the join token was used"), HasSubstr("the certificate of 'c1' expired at")));
  EXPECT_THAT(ask(*member()), HasSubstr("the certificate of 'c1' expired at")) << "after a restart too";
  give_token();
  EXPECT_EQ(ask(*node), "7f3a");
}

TEST_F(MembershipTest, RenewsAtHalfOfItsLifeWithANewKey) {
  give_token();
  const auto node = member();
  EXPECT_FALSE(node->renewal_due()) << "it has not joined";
  EXPECT_EQ(ask(*node), "7f3a");
  const std::string first = node->certificate().fingerprint, kept = os::read_file(directory / "node/node.pem");
  clock.advance(23h);
  EXPECT_FALSE(node->renewal_due());
  clock.advance(1h);
  EXPECT_TRUE(node->renewal_due());
  renew(*node, Error(Code::unavailable, "not now"));
  EXPECT_EQ(node->certificate().fingerprint, first);
  EXPECT_FALSE(node->renewal_due()) << "not at once again";
  clock.advance(1min);
  EXPECT_TRUE(node->renewal_due());
  renew(*node);
  EXPECT_NE(node->certificate().fingerprint, first);
  EXPECT_NE(os::read_file(directory / "node/node.pem").substr(0, 100), kept.substr(0, 100)) << "the key is another";
  EXPECT_EQ(ask(*node), "7f3a");
}

TEST_F(MembershipTest, RenewsWhenItIsAskedTo) {
  give_token();
  const auto node = member();
  ask(*node);
  node->renew_now();
  EXPECT_TRUE(node->renewal_due());
  renew(*node);
  EXPECT_FALSE(node->renewal_due());
}

TEST_F(MembershipTest, FollowsTheServerToANewAuthority) {
  give_token();
  const auto node = member();
  EXPECT_EQ(ask(*node), "7f3a");
  trust->rotate_authority();
  EXPECT_EQ(ask(*node), "7f3a") << "with what it knew before";
  renew(*node);
  EXPECT_EQ(node->certificate().issuer, trust->authority().info().common_name);
  EXPECT_EQ(ask(*node), "7f3a");
}

TEST_F(MembershipTest, APlainServerNeedsNothing) {
  EXPECT_FALSE(loop.run_until_done(member()->prepare("unix:///run/x.sock")));
}

}  // namespace
}  // namespace underway::trust
