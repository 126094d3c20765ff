#include "trust/identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::trust {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const TimePoint kNow{std::chrono::seconds{1'700'000'000}};

/// What a server sees of a peer that shows a certificate of `leaf`.
http::Peer peer_with(const crypto::Leaf& leaf) {
  const auto authority = crypto::Authority::make("authority", 24h, kNow);
  const auto info = crypto::describe_certificate(authority.issue(leaf, kNow).certificate);
  http::Peer peer{.address = "10.0.0.7:51442", .certificate_until = info.not_after};
  peer.certificate_names = {info.common_name};
  peer.certificate_names.insert(peer.certificate_names.end(), info.names.begin(), info.names.end());
  return peer;
}

std::string refusal_of(const http::Peer& peer) {
  try {
    identify_node(peer, "global");
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::denied);
    EXPECT_THAT(error.text(), HasSubstr("underway node join-token create"));
    return error.one_line();
  }
}

TEST(Identity, IsTheNodeThatTheCertificateNames) {
  const Identity whole{.node_id = "7f3a", .name = "c1", .pool = "compute", .cluster = "demo"};
  const Identity member{.node_id = "7f3a", .member_of = "demo"};
  for (const Identity& identity : {whole, member, Identity{.node_id = "7f3a"}}) {
    const auto link = identify_node(peer_with(node_leaf("global", identity, "c1", 1h)), "global");
    EXPECT_EQ(link.identity, identity);
    EXPECT_EQ(link.until, kNow + 1h);
  }
}

TEST(Identity, ASitesOwnCertificateNamesNoId) {
  EXPECT_EQ(identify_node(peer_with({.common_name = "c1", .names = {"client.global.nomad"}}), "global").identity,
            Identity{});
}

TEST(Identity, ALongNameIsInTheCertificateByItsIdAlone) {
  EXPECT_EQ(node_leaf("global", {.node_id = "7f3a"}, std::string(65, 'n'), 1h).common_name, "7f3a");
}

TEST(Identity, SaysWhyAPeerIsNoNode) {
  EXPECT_THAT(refusal_of({}), HasSubstr("the node shows no certificate"));
  EXPECT_THAT(refusal_of({.certificate_problem = "the certificate of 'c1' expired at noon"}),
              HasSubstr("expired at noon"));
  EXPECT_THAT(refusal_of(peer_with(node_leaf("europe", {.node_id = "7f3a"}, "c1", 1h))),
              HasSubstr("not for 'client.global.nomad'"));
  EXPECT_THAT(refusal_of(peer_with({.common_name = "server.global.nomad", .names = {"server.global.nomad"}})),
              HasSubstr("not for 'client.global.nomad'"));
  // Anybody may choose a common name.
  EXPECT_THAT(refusal_of(peer_with({.common_name = "client.global.nomad", .names = {"cli.global.nomad"}})),
              HasSubstr("is not for"));
}

}  // namespace
}  // namespace underway::trust
