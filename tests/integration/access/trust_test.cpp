// Mutual TLS end to end: a server and a node of another state directory, real agents over TCP on loopback.
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

const std::string kProgram = binary_dir() + "/bin/underway";

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

/// A server, and a node that is told of it by configuration alone.
class TrustTest : public testing::Test {
 protected:
  /// `tls`, `role`: lines of those blocks.
  void start_server(const std::string& tls = "", const std::string& role = "") {
    write_text(file("server.hcl"), "data_dir = \"" + file("server") +
                                       "\"\nname = \"mgmt\"\nserver {\n  enabled = true\n" + role +
                                       "\n}\nports {\n  http = " + std::to_string(port_) + "\n}\ntls {\n" + tls +
                                       "\n}\nacl {\n  enabled = false\n}\n");
    server_.emplace(agent("server"));
    ASSERT_TRUE(eventually(seconds(20), [&] { return underway({"node", "status"}).exit_code == 0; })) << log("server");
  }
  void start_node(const std::string& more = "") {
    configure_node("node", "c1", more);
    node_.emplace(agent("node"));
  }
  /// An agent that keeps its things in `directory`, which is also the name of its configuration.
  void configure_node(const std::string& directory, const std::string& name, const std::string& more = "") const {
    write_text(file(directory + ".hcl"), "data_dir = \"" + file(directory) + "\"\nname = \"" + name +
                                             "\"\nclient {\n  enabled = true\n  servers = [\"" + url() +
                                             "\"]\n  join_token_file = \"" + file("token") + "\"\n}\n" + more);
  }
  Command agent(const std::string& name) const {
    return {.argv = {"/bin/sh", "-c",
                     std::string("exec ") + kProgram + " agent -config " + file(name + ".hcl") + " >>" +
                         file(name + ".log") + " 2>&1"},
            .limit = seconds(300)};
  }
  Finished underway(std::vector<std::string> arguments, std::map<std::string, std::string> env = {}) const {
    arguments.insert(arguments.begin(), kProgram);
    env.emplace("UNDERWAY_STATE", file("server"));
    return run({.argv = std::move(arguments), .env = std::move(env), .directory = directory_.path()});
  }
  void give_token(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"node", "join-token", "create"});
    const auto made = underway(flags);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    write_text(file("token"), made.out);
    ::chmod(file("token").c_str(), 0600);
  }
  bool node_is(const std::string& status, seconds limit = seconds(20)) const {
    return eventually(limit, [&] { return underway({"node", "status"}).out.find(status) != std::string::npos; });
  }
  bool says(const std::string& name, const std::string& text, seconds limit = seconds(20)) const {
    return eventually(limit, [&] { return log(name).find(text) != std::string::npos; });
  }
  std::string log(const std::string& name) const { return read_text(file(name + ".log")); }
  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }
  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }

  TemporaryDirectory directory_;
  int port_ = free_port();
  std::optional<Background> server_, node_;
};

TEST_F(TrustTest, ANodeJoinsOnceWithATokenAndTheApiIsTls) {
  start_server();
  give_token();
  start_node();
  ASSERT_TRUE(node_is("ready")) << log("node") << log("server");

  // The API over TCP: whoever knows the authority gets in, whoever does not is told what is wrong.
  const std::string ca = file("server/server/tls/ca.pem");
  EXPECT_EQ(underway({"node", "status", "-address", url(), "-ca-cert", ca}).exit_code, 0);
  EXPECT_EQ(underway({"node", "status"}, {{"NOMAD_ADDR", url()}, {"NOMAD_CACERT", ca}}).exit_code, 0);
  EXPECT_EQ(underway({"node", "status", "-address", url(), "-tls-skip-verify"}).exit_code, 0);
  EXPECT_THAT(underway({"node", "status", "-address", url()}).err, HasSubstr("which is not trusted here"));
  EXPECT_THAT(underway({"node", "status", "-address", url(), "-ca-cert", ca, "-tls-server-name", "elsewhere"}).err,
              HasSubstr("and not for 'elsewhere'"));
  const auto verified = shell("openssl verify -CAfile " + ca + " " + file("node/client/tls/node.pem"));
  EXPECT_EQ(verified.exit_code, 0) << verified.err;

  // The same token again: when and by whom it was used.
  const std::string token = read_text(file("token"));
  node_->signal(SIGTERM);
  node_.reset();
  shell("mv " + file("node") + " " + file("first"));
  start_node();
  EXPECT_TRUE(says("node", "the join token was used already: at ")) << log("node");
  EXPECT_THAT(log("node"), HasSubstr("by node 'c1'"));
  EXPECT_TRUE(says("server", "may not join: the join token was used already"));
  EXPECT_EQ(log("node").find(token.substr(0, token.size() - 1)), std::string::npos) << "a token in the journal";
  EXPECT_THAT(underway({"node", "join-token", "list"}).out, HasSubstr("by c1"));
  give_token();
  EXPECT_TRUE(node_is("ready")) << "a new token heals, without a restart";
}

TEST_F(TrustTest, ALinkWithoutACertificateOrOfAnotherAuthorityIsRefused) {
  start_server();
  ASSERT_EQ(underway({"tls", "ca", "create"}).exit_code, 0);
  ASSERT_EQ(underway({"tls", "cert", "create", "-client"}).exit_code, 0);
  start_node("tls {\n  ca_file = \"" + file("server/server/tls/ca.pem") + "\"\n  cert_file = \"" +
             file("global-client-nomad.pem") + "\"\n  key_file = \"" + file("global-client-nomad-key.pem") + "\"\n}\n");
  EXPECT_TRUE(says("node", "is of authority 'Nomad Agent CA', which is not trusted here")) << log("node");
  EXPECT_TRUE(says("server", "is of authority 'Nomad Agent CA', which is not trusted here")) << log("server");
  const auto bare = shell("curl -sk " + url() + "/v1/underway/link");
  EXPECT_THAT(bare.out, HasSubstr("the node shows no certificate"));
}

TEST_F(TrustTest, ATokenForAClusterMakesAMemberThatGetsItsFiles) {
  start_server();
  const auto refused = underway({"node", "join-token", "create", "-cluster", "demo"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("there is no cluster 'demo'"));
  const std::string site = file("site");
  ASSERT_EQ(shell("mkdir " + site + " " + file("demo")).exit_code, 0);
  const auto declare = [&](const std::string& text) {
    write_text(file("demo/cluster.hcl"),
               "cluster \"demo\" {\n  network \"cluster\" {\n    cidr = \"10.79.0.0/24\"\n  }\n  pool \"compute\" {\n"
               "    size = 0\n  }\n}\nfile \"" +
                   site + "/motd\" {\n  content = \"" + text + "\"\n}\n");
    const auto applied = underway({"apply", "-yes", file("demo")});
    EXPECT_EQ(applied.exit_code, 0) << applied.err;
  };
  declare("first");
  const auto misspelt = underway({"node", "join-token", "create", "-cluster", "dmo"});
  EXPECT_THAT(misspelt.err, HasSubstr("there are 'demo'"));

  // Each node has a directory of its own at `site`.
  const auto start = [&](std::optional<Background>& node, const std::string& directory, const std::string& name) {
    configure_node(directory, name);
    node.emplace(Command{.argv = {"unshare", "--mount", "/bin/sh", "-c",
                                  "mkdir -p " + site + "." + name + " && mount --bind " + site + "." + name + " " +
                                      site + " && exec " + kProgram + " agent -config " + file(directory + ".hcl") +
                                      " >>" + file(directory + ".log") + " 2>&1"},
                         .limit = seconds(300)});
  };
  const auto has = [&](const std::string& name, const std::string& text) {
    return eventually(seconds(20), [&] { return read_text(site + "." + name + "/motd") == text; });
  };
  give_token({"-cluster", "demo"});
  start(node_, "node", "north");
  ASSERT_TRUE(has("north", "first")) << log("node") << log("server");
  std::optional<Background> other;
  give_token();
  start(other, "other", "south");
  const auto shows = [&](const std::string& text) {
    return eventually(seconds(20), [&] {
      const auto said = shell("UNDERWAY_STATE=" + file("server") + " " + kProgram + " node status | tr -s ' '").out;
      return said.find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(shows(" north <none> demo eligible ready"));
  EXPECT_TRUE(shows(" south <none> <none> eligible ready"));
  EXPECT_THAT(underway({"status", "demo"}).out, HasSubstr("north"));
  EXPECT_EQ(underway({"status", "demo"}).out.find("south"), std::string::npos);
  EXPECT_THAT(underway({"file", "status"}).out, HasSubstr("north"));
  EXPECT_EQ(underway({"file", "status"}).out.find("south"), std::string::npos);

  // Its certificate says what it belongs to, also when the node starts anew; another token says something else.
  node_->signal(SIGTERM);
  node_->wait(seconds(20));
  start(node_, "node", "north");
  declare("second");
  EXPECT_TRUE(has("north", "second")) << log("node");
  EXPECT_TRUE(has("south", "")) << "it is of no cluster";
  other->signal(SIGTERM);
  other->wait(seconds(20));
  shell("rm -r " + file("other/client/tls"));
  give_token({"-cluster", "demo"});
  start(other, "other", "south");
  EXPECT_TRUE(has("south", "second")) << log("other");
  EXPECT_TRUE(shows(" south <none> demo eligible ready"));
}

TEST_F(TrustTest, CertificatesThatExpireSoonAreRenewedWhileTheLinkStands) {
  start_server("node_certificate_ttl = \"12s\"\nserver_certificate_ttl = \"12s\"");
  give_token();
  start_node();
  ASSERT_TRUE(node_is("ready")) << log("node");
  ASSERT_TRUE(says("node", "the certificate was renewed")) << log("node");
  ASSERT_TRUE(says("server", "the server's certificate was renewed")) << log("server");
  // Longer than the first certificates were good for: the link was never lost.
  ::sleep(8);
  EXPECT_THAT(underway({"node", "status"}).out, HasSubstr("ready"));
  EXPECT_EQ(log("node").find("dialling again"), std::string::npos) << log("node");
}

TEST_F(TrustTest, AnExpiredCertificateIsToldAtBothEndsAndANewTokenHeals) {
  // Patient with its silence, so that it is the certificate that ends the link.
  start_server("node_certificate_ttl = \"10s\"", "heartbeat_grace = \"60s\"");
  give_token();
  start_node();
  ASSERT_TRUE(node_is("ready")) << log("node");
  // Stopped, as a laptop's lid stops it, it cannot renew.
  node_->signal(SIGSTOP);
  EXPECT_TRUE(says("server", "was not renewed; its link is ended")) << log("server");
  node_->signal(SIGCONT);
  EXPECT_TRUE(says("node", "the certificate of 'c1' expired at ")) << log("node");
  give_token();
  EXPECT_TRUE(node_is("ready", seconds(30))) << log("node");
}

TEST_F(TrustTest, RotationKeepsAnOpenLinkAndAnOpenQuery) {
  start_server();
  give_token();
  start_node();
  ASSERT_TRUE(node_is("ready"));
  const std::string ca = file("ca-of-before.pem");
  shell("cp " + file("server/server/tls/ca.pem") + " " + ca);
  Background query({.argv = {"/bin/sh", "-c",
                             "curl -s --cacert " + ca + " '" + url() + "/v1/jobs?index=1000000&wait=4s' -o " +
                                 file("answer") + " -w '%{http_code}' >" + file("code")}});
  ::usleep(500'000);
  const auto rotated = underway({"tls", "rotate", "-authority"});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, HasSubstr("a new authority"));
  EXPECT_TRUE(says("node", "the certificate was renewed")) << log("node");
  EXPECT_EQ(query.wait(seconds(20)), 0);
  EXPECT_EQ(read_text(file("code")), "200");
  EXPECT_EQ(log("node").find("dialling again"), std::string::npos) << log("node");
  // New connections of those who know the former authority alone, and of the node after a restart of the server.
  EXPECT_EQ(underway({"node", "status", "-address", url(), "-ca-cert", ca}).exit_code, 0);
  server_->signal(SIGTERM);
  server_.reset();
  start_server();
  EXPECT_TRUE(node_is("ready")) << log("node");
}

}  // namespace
}  // namespace underway::harness
