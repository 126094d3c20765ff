// What docs/how-to/log-in-with-single-sign-on.md promises, on a real agent and with the real command line, at a
// provider that this test is.
#include <thread>

#include "harness/machine.hpp"
#include "http/client.hpp"
#include "server/testing/identity_provider.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;

/// The provider, on a loop of its own.
class Site {
 public:
  Site() : provider(loop_.executor(), clock_), work_(asio::make_work_guard(loop_.context())) {
    thread_ = std::jthread([this] { loop_.context().run(); });
  }
  ~Site() {
    asio::co_spawn(loop_.context(), provider.stop(), asio::detached);
    work_.reset();
  }

 private:
  SystemClock clock_;
  async::Loop loop_;

 public:
  server::testing::IdentityProvider provider;

 private:
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::jthread thread_;
};

TEST(LoginTest, PeopleAndPipelinesGetATokenThatMayWhatTheirRulesSay) {
  Machine machine;
  Site site;
  auto& provider = site.provider;
  const auto file = [&](const std::string& name) { return machine.directory() + "/" + name; };
  const auto root = [&](std::vector<std::string> arguments) {
    const auto done = machine.underway(std::move(arguments));
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.out;
  };
  write_text(file("readers.hcl"), "node { policy = \"read\" }\n");
  root({"acl", "policy", "apply", "readers", file("readers.hcl")});
  boost::json::object config{{"OIDCDiscoveryURL", provider.issuer},
                             {"DiscoveryCaPem", boost::json::array{provider.ca()}},
                             {"SigningAlgs", boost::json::array{"EdDSA"}},
                             {"ListClaimMappings", boost::json::object{{"groups", "groups"}}},
                             {"BoundAudiences", boost::json::array{provider.client}}};
  write_text(file("ci.json"), boost::json::serialize(config));
  root({"acl", "auth-method", "create", "-name", "ci", "-type", "JWT", "-max-token-ttl", "10m", "-token-locality",
        "local", "-config", "@" + file("ci.json")});
  config["OIDCClientID"] = provider.client;
  config["OIDCClientSecret"] = provider.secret;
  config["OIDCEnablePKCE"] = true;
  config["AllowedRedirectURIs"] = boost::json::array{"http://localhost:46491/oidc/callback"};
  write_text(file("corp.json"), boost::json::serialize(config));
  root({"acl", "auth-method", "create", "-name", "corp", "-type", "OIDC", "-max-token-ttl", "10m", "-token-locality",
        "local", "-default", "-config", "@" + file("corp.json")});
  for (const char* method : {"ci", "corp"}) {
    root({"acl", "binding-rule", "create", "-auth-method", method, "-bind-type", "policy", "-bind-name", "readers",
          "-selector", "engineering in list.groups"});
  }
  EXPECT_EQ(root({"acl", "auth-method", "info", "corp"}).find(provider.secret), std::string::npos);
  EXPECT_NE(root({"acl", "binding-rule", "list"}).find("corp"), std::string::npos);

  // A pipeline, by a file.
  write_text(file("token.jwt"), provider.token());
  const auto ci = json::parse(root({"login", "-method", "ci", "-json", file("token.jwt")}));
  EXPECT_EQ(ci.at("Name"), "JWT-ci");
  EXPECT_NE(machine.underway({"login", "-method", "ci", provider.token()}).exit_code, 0) << "it was taken from argv";

  // A person: the command says where to go, and waits for the browser.
  Command login = machine.command({"login", "-json", "-oidc-callback-addr", "localhost:46491"});
  std::string line;
  for (const auto& word : login.argv) line += "'" + word + "' ";
  login.argv = {"/bin/sh", "-c", line + "> " + file("out") + " 2> " + file("err")};
  Background waiting(login);
  std::string url;
  ASSERT_TRUE(eventually(seconds(20), [&] {
    const auto told = read_text(file("err"));
    const auto at = told.find(provider.issuer + "/authorize?");
    if (at == std::string::npos || told.find('\n', at) == std::string::npos) return false;
    url = told.substr(at, told.find('\n', at) - at);
    return true;
  })) << read_text(file("err"));
  http::BlockingClient browser(http::parse_url("http://127.0.0.1:46491"));
  EXPECT_EQ(browser.send(http::request("GET", "/oidc/callback", provider.log_in(url))).status, 200);
  ASSERT_EQ(waiting.wait(seconds(20)), 0) << read_text(file("err"));
  const auto made = json::parse(read_text(file("out")));
  EXPECT_EQ(made.at("Policies").at(0), "readers");
  Command as_ada = machine.command({"node", "status"});
  as_ada.env["NOMAD_TOKEN"] = std::string(made.at("SecretID").as_string());
  EXPECT_EQ(run(as_ada).exit_code, 0);
  as_ada = machine.command({"acl", "token", "list"});
  as_ada.env["NOMAD_TOKEN"] = std::string(made.at("SecretID").as_string());
  EXPECT_NE(run(as_ada).exit_code, 0);
  const auto audit = root({"operator", "audit"});
  EXPECT_NE(audit.find("login by auth method 'corp'"), std::string::npos) << audit;
  EXPECT_EQ(audit.find(provider.secret), std::string::npos);
}

}  // namespace
}  // namespace underway::harness
