#include "trust/server_trust.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/error.hpp"
#include "directory.hpp"
#include "os/file.hpp"

namespace underway::trust {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct ServerTrustTest : testing::Test {
  Directory directory;
  VirtualClock clock;
  ServerTrust open() { return ServerTrust({.directory = directory / "tls", .names = {"mgmt", "10.0.0.1"}}, clock); }
  std::string file(const char* name) { return os::read_file(directory / "tls/" + name); }
  static mode_t mode_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
  }
};

TEST_F(ServerTrustTest, MakesAnAuthorityOnceAndACertificateAtEveryStart) {
  const auto first = open();
  const auto second = open();
  EXPECT_EQ(first.authority().info().fingerprint, second.authority().info().fingerprint);
  EXPECT_NE(first.certificate().fingerprint, second.certificate().fingerprint);
  EXPECT_THAT(first.certificate().names,
              testing::ElementsAre("server.global.nomad", "localhost", "127.0.0.1", "::1", "mgmt", "10.0.0.1"));
  EXPECT_EQ(first.authorities(), file("ca.pem"));
}

TEST_F(ServerTrustTest, KeepsItsKeyToItself) {
  open();
  EXPECT_EQ(mode_of(directory / "tls"), 0700u);
  EXPECT_EQ(mode_of(directory / "tls/authority.pem"), 0600u);
  EXPECT_EQ(file("ca.pem").find("PRIVATE"), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory / "tls"), {}), 2);
}

TEST_F(ServerTrustTest, CertifiesANode) {
  const auto trust = open();
  const auto made = trust.certify_node({.node_id = "7f3a"}, "c1", crypto::PrivateKey::generate().request("anything"));
  crypto::verify_certificate(made.certificate, made.authorities, clock.now());
  const auto info = crypto::describe_certificate(made.certificate);
  EXPECT_EQ(info.common_name, "c1");
  EXPECT_THAT(info.names, testing::ElementsAre("client.global.nomad", "underway://node/7f3a"));
  EXPECT_EQ(info.not_after, clock.now() + 48h);
}

TEST_F(ServerTrustTest, ShortensACertificateAndNeverLengthensIt) {
  const auto trust = open();
  const std::string request = crypto::PrivateKey::generate().request("c1");
  const auto end = [&](Duration at_most) {
    return crypto::describe_certificate(trust.certify_node({.node_id = "7f3a"}, "c1", request, at_most).certificate)
        .not_after;
  };
  EXPECT_EQ(end(2h), clock.now() + 2h);
  // How long a former authority is trusted goes by the longest that there can be.
  EXPECT_EQ(end(720h), clock.now() + 48h);
}

TEST_F(ServerTrustTest, RenewsItsCertificateAtHalfOfItsLife) {
  auto trust = open();
  const auto context = trust.tls()->current().native();
  clock.advance(24h * 14);
  EXPECT_EQ(trust.keep_fresh(), "");
  clock.advance(24h * 2);
  EXPECT_THAT(trust.keep_fresh(), HasSubstr("the server's certificate was renewed and is good until"));
  EXPECT_NE(trust.tls()->current().native(), context);
  EXPECT_EQ(trust.certificate().not_after, clock.now() + 24h * 30);
  EXPECT_EQ(trust.keep_fresh(), "");
}

TEST_F(ServerTrustTest, ANewAuthorityIsTrustedByTheNodesOfTheFormerOne) {
  auto trust = open();
  const std::string old = trust.authorities();
  const auto before = trust.certify_node({.node_id = "7f3a"}, "c1", crypto::PrivateKey::generate().request("c1"));
  trust.rotate_authority();
  EXPECT_NE(trust.authority().certificate(), old);
  EXPECT_EQ(trust.authorities(), trust.authority().certificate() + old);
  // A node with an old certificate is taken, and a new one is taken by whom knows the old authority alone.
  crypto::verify_certificate(before.certificate, trust.authorities(), clock.now());
  const auto after = trust.certify_node({.node_id = "8b1c"}, "c2", crypto::PrivateKey::generate().request("c2"));
  crypto::verify_certificate(after.certificate, old, clock.now());
  EXPECT_EQ(open().authorities(), trust.authorities()) << "it is on disk";

  clock.advance(24h * 3);
  EXPECT_EQ(trust.keep_fresh(), "");
  clock.advance(24h + 1h);
  EXPECT_EQ(trust.keep_fresh(), "the former authority is no longer trusted");
  EXPECT_EQ(trust.authorities(), trust.authority().certificate());
  EXPECT_EQ(open().authorities(), trust.authorities());
}

TEST_F(ServerTrustTest, TwoRotationsInARowLoseNobody) {
  auto trust = open();
  const std::string oldest = trust.authorities();
  trust.rotate_authority();
  trust.rotate_authority();
  const auto made = trust.certify_node({.node_id = "7f3a"}, "c1", crypto::PrivateKey::generate().request("c1"));
  crypto::verify_certificate(made.certificate, oldest, clock.now());
  const auto again = open().certify_node({.node_id = "7f3a"}, "c1", crypto::PrivateKey::generate().request("c1"));
  crypto::verify_certificate(again.certificate, oldest, clock.now());
}

TEST_F(ServerTrustTest, ReplacesAnAuthorityWellBeforeItsEnd) {
  auto trust = open();
  const std::string before = trust.authority().info().fingerprint;
  clock.advance(24h * 365 * 6);
  EXPECT_THAT(trust.keep_fresh(), HasSubstr("a new authority was made"));
  EXPECT_NE(trust.authority().info().fingerprint, before);
}

TEST_F(ServerTrustTest, SaysWhichFileItCannotUse) {
  open();
  const std::string path = directory / "tls/authority.pem";
  const auto why = [&] {
    try {
      open();
    } catch (const Error& error) {
      return error.text();
    }
    return std::string();
  };
  clock.advance(24h * 365 * 11);
  EXPECT_THAT(why(), testing::AllOf(HasSubstr("the authority has expired"), HasSubstr(path)));
  os::write_file(path, "nothing");
  EXPECT_THAT(why(), testing::AllOf(HasSubstr("no certificate in PEM"), HasSubstr(path)));
}

}  // namespace
}  // namespace underway::trust
