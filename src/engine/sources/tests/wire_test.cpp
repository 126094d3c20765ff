// Both over a real connection: what travels, and what becomes of a server that is not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.hpp"
#include "http/server.hpp"
#include "os/file.hpp"
#include "sources/sources.hpp"

namespace underway::sources {
namespace {

using gotemplate::ForeignKind;
using gotemplate::ForeignQuery;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

awaitable<std::string> sign(Asker asker) { co_return "identity of " + asker.task; }

awaitable<http::Response> log_in(http::Request request) {
  EXPECT_EQ(request.body, R"({"jwt":"identity of t","role":"web"})");
  EXPECT_FALSE(request.headers.has("X-Vault-Token"));
  co_return http::json(R"({"auth":{"client_token":"s.task","lease_duration":3600,"renewable":true}})");
}
awaitable<http::Response> read_secret(http::Request request) {
  EXPECT_EQ(request.headers.find("X-Vault-Namespace"), "hpc");
  if (request.headers.find("X-Vault-Token") != "s.task")
    co_return http::json(R"({"errors":["permission denied"]})", 403);
  co_return http::json(R"({"lease_id":"","lease_duration":0,"data":{"data":{"password":"s3cret"},"metadata":{}}})");
}
awaitable<http::Response> read_key(http::Request request) {
  EXPECT_EQ(request.headers.find("X-Consul-Token"), "consul-token");
  if (request.query.has("index")) co_await async::sleep_for(1h);
  auto response = http::json(R"([{"Key":"app/x","Value":"b25l","ModifyIndex":3}])");
  response.headers.set("X-Consul-Index", "3");
  co_return response;
}

class Wire : public ::testing::Test {
 protected:
  Wire() {
    EXPECT_NE(::mkdtemp(directory.data()), nullptr);
    os::write_file(directory + "/token", "consul-token\n", 0600);
    router.add("POST", "/v1/auth/jwt-nomad/login", "login", log_in);
    router.add("GET", "/v1/secret/data/db", "secret", read_secret);
    router.add("GET", "/v1/kv/app/x", "key", read_key);
    settings.consul.access.token_file = directory + "/token";
    settings.vault.ns = "hpc";
  }
  ~Wire() override {
    token.reset();
    if (sources) loop.run_until_done(sources->stop());
    loop.run_until_done(server.stop(0s));
    os::remove_tree(directory);
  }
  void open(const std::string& address) {
    settings.consul.access.address = settings.vault.access.address = address;
    sources = std::make_unique<Sources>(loop.executor(), pool, clock, settings, sign);
  }
  gotemplate::ForeignReply ask(const ForeignQuery& query) {
    bool told = false;
    token = sources->watch(asker, {query}, [&told] { told = true; });
    loop.context().restart();
    while (!told) loop.context().run_one();
    return sources->find(asker, query);
  }

  std::string directory = "/tmp/underway-sources-XXXXXX";
  async::Pool pool{1};
  async::Loop loop;
  http::Router router;
  http::Server server{loop.executor(), router};
  SystemClock clock;
  Settings settings;
  Asker asker{.ns = "default", .job_id = "web", .group = "g", .task = "t", .logs_in = true, .vault_role = "web"};
  std::unique_ptr<Sources> sources;
  std::shared_ptr<void> token;
};

TEST_F(Wire, KeysAndSecretsComeFromTheirServers) {
  const auto endpoint = server.listen(http::Endpoint{.host = "127.0.0.1"});
  open("http://" + http::to_string(endpoint));
  const auto key = ask({.kind = ForeignKind::key, .name = "app/x"});
  ASSERT_TRUE(key.answer) << key.why;
  EXPECT_EQ(key.answer->pairs.at(0).value, "one");
  const auto secret = ask({.kind = ForeignKind::secret, .name = "secret/data/db"});
  ASSERT_TRUE(secret.answer && secret.answer->secret) << secret.why;
  EXPECT_EQ(secret.answer->secret->data.at("data").at("password").as_string(), "s3cret");
}

TEST_F(Wire, ATokenFileThatOthersReadAndAServerThatIsNotThereAreReasons) {
  open("unix://" + directory + "/nobody.sock");
  EXPECT_THAT(ask({.kind = ForeignKind::secret, .name = "secret/data/db"}).why, HasSubstr("nobody.sock"));
  EXPECT_THAT(ask({.kind = ForeignKind::key, .name = "app/x"}).why, HasSubstr("nobody.sock"));
  os::write_file(directory + "/open", "consul-token", 0644);
  loop.run_until_done(sources->stop());
  settings.consul.access.token_file = directory + "/open";
  open("unix://" + directory + "/nobody.sock");
  EXPECT_THAT(ask({.kind = ForeignKind::key, .name = "app/y"}).why, HasSubstr("is not used"));
}

}  // namespace
}  // namespace underway::sources
