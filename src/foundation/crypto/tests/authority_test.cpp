#include "crypto/authority.hpp"

#include "testing.hpp"

namespace underway::crypto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct AuthorityTest : testing::Test {
  Authority authority = Authority::make("Underway authority", 24h * 3650, kNow);
  Leaf node = {.common_name = "node-7", .names = {"client.global.nomad", "node-7"}, .lifetime = 24h};
};

TEST_F(AuthorityTest, SaysWhatItIs) {
  const CertificateInfo info = describe_certificate(authority.certificate());
  EXPECT_EQ(info.common_name, "Underway authority");
  EXPECT_EQ(info.issuer, "Underway authority");
  EXPECT_TRUE(info.is_authority);
  EXPECT_EQ(info.not_after, kNow + 24h * 3650);
  EXPECT_EQ(info.fingerprint.size(), 64u);
  verify_certificate(authority.certificate(), authority.certificate(), kNow);
}

TEST_F(AuthorityTest, IsKeptAsTwoTexts) {
  const Authority again = Authority::load(authority.certificate(), authority.key_pem().bytes());
  verify_certificate(again.issue(node, kNow).certificate, authority.certificate(), kNow);
  const Authority other = Authority::make("other", 1h, kNow);
  EXPECT_THAT(failure_of([&] { Authority::load(authority.certificate(), other.key_pem().bytes()); }),
              HasSubstr("the private key is not that of authority 'Underway authority'"));
  const Credentials leaf = authority.issue(node, kNow);
  EXPECT_THAT(failure_of([&] { Authority::load(leaf.certificate, leaf.key.bytes()); }),
              HasSubstr("the certificate of 'node-7' is no authority's"));
  EXPECT_THAT(failure_of([&] { Authority::load("nothing", authority.key_pem().bytes()); }), HasSubstr("invalid: "));
}

TEST_F(AuthorityTest, IssuesNamesOfEveryKind) {
  const Credentials made =
      authority.issue({.common_name = "mgmt",
                       .names = {server_name("global"), "localhost", "127.0.0.1", "::1", "underway://node/7f3a"},
                       .lifetime = 24h,
                       .server = true},
                      kNow);
  const CertificateInfo info = describe_certificate(made.certificate);
  EXPECT_THAT(info.names, ElementsAre("server.global.nomad", "localhost", "127.0.0.1", "::1", "underway://node/7f3a"));
  EXPECT_TRUE(info.has_name("::1"));
  EXPECT_FALSE(info.is_authority);
  EXPECT_EQ(info.not_before, kNow - 5min);
  EXPECT_EQ(info.not_after, kNow + 24h);
  EXPECT_FALSE(info.is_half_spent(kNow + 11h));
  EXPECT_TRUE(info.is_half_spent(kNow + 12h));
}

TEST_F(AuthorityTest, RefusesNamesThatWouldSayMoreThanOneThing) {
  for (const char* name : {"", "a,DNS:server.global.nomad", "a b", "a\nb", "ü", "http://a b"}) {
    SCOPED_TRACE(name);
    EXPECT_THAT(failure_of([&] { authority.issue({.common_name = "n", .names = {name}}, kNow); }),
                HasSubstr("cannot stand in a certificate"));
  }
  EXPECT_THAT(failure_of([&] { authority.issue({.common_name = ""}, kNow); }), HasSubstr("cannot stand"));
}

TEST(NamedAuthority, SaysWhoseItIs) {
  const Authority made = Authority::make({.common_name = "Site",
                                          .country = "CH",
                                          .province = "Ticino",
                                          .locality = "Lugano",
                                          .street_address = "Via Trevano 131",
                                          .postal_code = "6900",
                                          .organization = "CSCS",
                                          .organizational_unit = "Systems"},
                                         24h, kNow);
  EXPECT_EQ(made.info().common_name, "Site");
  const auto issued = made.issue({.common_name = "n"}, kNow);
  verify_certificate(issued.certificate, made.certificate(), kNow);
  for (const Subject& wrong : {Subject{.common_name = "Site", .country = "Switzerland"},
                               Subject{.common_name = "Site", .locality = std::string(200, 'l')}})
    EXPECT_THAT(failure_of([&] { Authority::make(wrong, 24h, kNow); }), HasSubstr("cannot stand in a certificate"));
}

TEST(NamedAuthority, IsBoundToItsDomains) {
  const Authority bound = Authority::make(Subject{.common_name = "Site"}, 24h, kNow, {"localhost", "site.org"});
  const auto verify = [&](const std::vector<std::string>& names) {
    const auto made = bound.issue({.common_name = names.front(), .names = names}, kNow);
    return failure_of([&] { verify_certificate(made.certificate, bound.certificate(), kNow); });
  };
  EXPECT_EQ(verify({"server.global.site.org", "localhost", "127.0.0.1"}), "");
  EXPECT_THAT(verify({"server.global.nomad"}), HasSubstr("not trusted"));
  EXPECT_THAT(verify({"site.org", "elsewhere.org"}), HasSubstr("permitted subtree violation"));
  for (const char* wrong : {"", "a b", "a,DNS:b"})
    EXPECT_THAT(failure_of([&] { Authority::make(Subject{.common_name = "Site"}, 24h, kNow, {wrong}); }),
                HasSubstr("cannot stand in a certificate"));
}

TEST_F(AuthorityTest, SignsARequestAndOnlyItsKeyCounts) {
  const PrivateKey key = PrivateKey::generate();
  const std::string made = authority.sign_request(key.request("server.global.nomad"), node, kNow);
  const CertificateInfo info = describe_certificate(made);
  EXPECT_EQ(info.common_name, "node-7");
  EXPECT_THAT(info.names, ElementsAre("client.global.nomad", "node-7"));
  verify_certificate(made, authority.certificate(), kNow);
}

TEST_F(AuthorityTest, ARequestsKeyHasOneDigest) {
  const PrivateKey key = PrivateKey::generate();
  EXPECT_EQ(request_key_digest(key.request("a")), request_key_digest(key.request("b")));
  EXPECT_NE(request_key_digest(key.request("a")), request_key_digest(PrivateKey::generate().request("a")));
  EXPECT_THAT(failure_of([] { request_key_digest("nothing"); }), HasSubstr("invalid: "));
}

TEST_F(AuthorityTest, RefusesWhatIsNoRequest) {
  const std::string good = PrivateKey::generate().request("node");
  std::string tampered = good;
  tampered[good.size() / 2] = tampered[good.size() / 2] == 'A' ? 'B' : 'A';
  for (const std::string& text : {std::string(), std::string("nothing"), authority.certificate(), tampered,
                                  good.substr(0, good.size() / 2), std::string(20'000, 'x')}) {
    EXPECT_THAT(failure_of([&] { authority.sign_request(text, node, kNow); }), HasSubstr("invalid: "));
  }
}

TEST_F(AuthorityTest, VerifiesAndSaysWhyNot) {
  const Credentials made = authority.issue(node, kNow);
  verify_certificate(made.certificate, authority.certificate(), kNow + 23h);
  EXPECT_THAT(failure_of([&] { verify_certificate(made.certificate, authority.certificate(), kNow + 25h); }),
              HasSubstr("denied: the certificate of 'node-7' is not trusted: it expired at 2023-11-15T22:13:20Z"));
  const Authority other = Authority::make("Underway authority", 24h * 3650, kNow);
  EXPECT_THAT(failure_of([&] { verify_certificate(made.certificate, other.certificate(), kNow); }),
              HasSubstr("denied: the certificate of 'node-7' is not trusted"));
}

TEST_F(AuthorityTest, IssuesNothingThatOutlivesIt) {
  const Authority brief = Authority::make("brief", 1h, kNow);
  EXPECT_EQ(describe_certificate(brief.issue(node, kNow).certificate).not_after, kNow + 1h);
}

TEST_F(AuthorityTest, ANewAuthorityIsTrustedByThoseWhoKnowTheOldOne) {
  const Authority next = Authority::make("Underway authority 2", 24h * 3650, kNow);
  const std::string leaf = next.issue(node, kNow).certificate;
  const std::string chain = leaf + authority.vouch_for(next, kNow);
  EXPECT_THAT(failure_of([&] { verify_certificate(leaf, authority.certificate(), kNow); }), HasSubstr("denied"));
  verify_certificate(chain, authority.certificate(), kNow);
  verify_certificate(chain, next.certificate(), kNow);
  const Authority stranger = Authority::make("stranger", 24h, kNow);
  EXPECT_THAT(failure_of([&] { verify_certificate(chain, stranger.certificate(), kNow); }), HasSubstr("denied"));
}

TEST_F(AuthorityTest, BundlesHoldEachCertificateOnce) {
  const Authority next = Authority::make("next", 1h, kNow);
  const std::string both = merge_certificates(authority.certificate(), next.certificate());
  EXPECT_EQ(merge_certificates(both, authority.certificate()), both);
  EXPECT_EQ(merge_certificates("", both), both);
  const auto infos = describe_certificates(both);
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_EQ(infos[1].common_name, "next");
  EXPECT_THAT(failure_of([] { describe_certificates("no PEM"); }), HasSubstr("it has no BEGIN CERTIFICATE"));
}

TEST(PrivateKey, IsReadBackAndRefusesOtherTexts) {
  const PrivateKey key = PrivateKey::generate();
  EXPECT_EQ(PrivateKey::from_pem(key.pem().bytes()).pem().bytes(), key.pem().bytes());
  EXPECT_THAT(key.pem().bytes(), testing::StartsWith("-----BEGIN PRIVATE KEY-----"));
  EXPECT_THAT(
      failure_of([] { PrivateKey::from_pem("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"); }),
      HasSubstr("invalid: the text is no private key in PEM"));
}

}  // namespace
}  // namespace underway::crypto
