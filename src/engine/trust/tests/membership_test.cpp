#include "trust/membership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/group.hpp"
#include "base/json.hpp"
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
    co_return http::json(json::encode(trust->certify_node(body.node_id, body.name, body.request)));
  }
  awaitable<http::Response> who(http::Request request) {
    co_return http::text(200, identify_node(request.remote, "global").node_id);
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
  std::vector<std::string> keys;
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
  EXPECT_EQ(ask(*node), "7f3a");
  const auto first = node->certificate();
  const std::string kept = os::read_file(directory / "node/node.pem");
  int asked = 0;
  const Membership::Ask answer = [&](CertificateRequest request) -> awaitable<Certified> {
    if (++asked == 1) throw Error(Code::unavailable, "not now");
    co_return trust->certify_node("7f3a", "c1", request.request);
  };
  const auto until_renewed = [&]() -> awaitable<void> {
    while (node->certificate().fingerprint == first.fingerprint) co_await async::sleep_for(1ms);
  };
  {
    async::TaskGroup tasks(loop.executor(), "test");
    tasks.spawn("renewal", node->keep_fresh(answer));
    loop.run_until_done(async::sleep_for(20ms));
    EXPECT_EQ(asked, 0) << "half of its life is not over";
    loop.run_until_done(tasks.stop());
  }
  async::TaskGroup tasks(loop.executor(), "test");
  node->renew_now();
  asked = 1;
  tasks.spawn("renewal", node->keep_fresh(answer));
  loop.run_until_done(async::within(20s, "the test", until_renewed()));
  loop.run_until_done(tasks.stop());
  EXPECT_NE(os::read_file(directory / "node/node.pem").substr(0, 100), kept.substr(0, 100)) << "the key is another";
  EXPECT_EQ(ask(*node), "7f3a");
}

TEST_F(MembershipTest, FollowsTheServerToANewAuthority) {
  give_token();
  const auto node = member();
  EXPECT_EQ(ask(*node), "7f3a");
  trust->rotate_authority();
  EXPECT_EQ(ask(*node), "7f3a") << "with what it knew before";
}

TEST_F(MembershipTest, APlainServerNeedsNothing) {
  EXPECT_FALSE(loop.run_until_done(member()->prepare("unix:///run/x.sock")));
}

}  // namespace
}  // namespace underway::trust
