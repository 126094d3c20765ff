// What the audit log says of requests.
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "server/access/namespace_decisions.hpp"
#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using async::awaitable;
using boost::json::object;

class AuditApiTest : public AccessTest {
 protected:
  AuditApiTest() {
    std::string pattern = "/tmp/underway-audit-api-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    server::AuditOptions options;
    options.path = directory_ + "/audit.log";
    log_.emplace(world.loop.executor(), pool_, world.clock, options);
    world.api.audit = &*log_;
    make_token("boss", "");
    world.token = "boss";
  }
  ~AuditApiTest() override {
    world.loop.run_until_done(log_->stop());
    std::filesystem::remove_all(directory_);
  }

  std::string text() {
    std::string all;
    for (const auto& line : world.loop.run_until_done(log_->read({}))) all += line + "\n";
    return all;
  }
  std::vector<object> lines() {
    std::vector<object> out;
    for (const auto& line : world.loop.run_until_done(log_->read({}))) out.push_back(json::parse(line).as_object());
    return out;
  }
  object last() {
    const auto all = lines();
    return all.empty() ? object{} : all.back();
  }
  static std::vector<std::string> changes(const object& line) {
    return json::decode<std::vector<std::string>>(line.at("Changes"));
  }

  async::Pool pool_{1};
  std::string directory_;
  std::optional<server::AuditLog> log_;
};

TEST_F(AuditApiTest, AChangeIsToldWithItsBeforeAndAfter) {
  world.run(make_job("web"));
  EXPECT_EQ(changes(last()), std::vector<std::string>{"made"});
  EXPECT_EQ(last().at("Before").as_int64(), 0);
  auto changed = make_job("web");
  changed.priority = 60;
  const auto response = world.run(changed);
  const auto line = last();
  EXPECT_EQ(line.at("Accessor").as_string(), "accessor-of-boss");
  EXPECT_EQ(line.at("Name").as_string(), "boss");
  EXPECT_EQ(line.at("Address").as_string(), "192.0.2.7:4000");
  EXPECT_EQ(line.at("Route").as_string(), "register job");
  EXPECT_EQ(line.at("Subject").as_string(), "job default/web");
  EXPECT_EQ(line.at("Status").as_int64(), 200);
  EXPECT_GT(line.at("Before").as_int64(), 0);
  EXPECT_GT(line.at("After").as_int64(), line.at("Before").as_int64());
  const auto what = changes(line);
  EXPECT_NE(std::find(what.begin(), what.end(), "Priority: 50 -> 60"), what.end()) << ::testing::PrintToString(what);
  EXPECT_EQ(response.headers.find("X-Request-Id"), line.at("RequestID").as_string());
}

TEST_F(AuditApiTest, WhatReadsIsNotTold) {
  world.get("/v1/jobs");
  world.put("/v1/search", R"({"Prefix":""})");
  world.put("/v1/jobs/parse", R"({"JobHCL":"job \"a\" {}"})");
  world.put("/v1/job/web/plan", World::job_body(make_job("web")));
  EXPECT_TRUE(lines().empty()) << text();
}

TEST_F(AuditApiTest, RefusalsOfThoseWhoAreKnownAreToldAndOfStrangersNot) {
  make_token("reader", "namespace \"default\" { policy = \"read\" }");
  world.token = "reader";
  EXPECT_EQ(world.run(make_job("web")).status, 403);
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_EQ(last().at("Status").as_int64(), 403);
  EXPECT_EQ(last().at("Name").as_string(), "reader");
  EXPECT_TRUE(last().at("Error").as_string().starts_with("Permission denied"));
  world.token.clear();
  EXPECT_EQ(world.run(make_job("web")).status, 403);
  world.token = "guess";
  EXPECT_EQ(world.run(make_job("web")).status, 403);
  EXPECT_EQ(lines().size(), 1u) << "a stranger cannot fill the disk";
}

TEST_F(AuditApiTest, RootAtTheSocketHasItsName) {
  world.token.clear();
  world.peer = {.address = "unix", .uid = 0};
  world.run(make_job("web"));
  EXPECT_EQ(last().at("Accessor").as_string(), "root@unix");
  EXPECT_EQ(last().at("Address").as_string(), "unix");
}

TEST_F(AuditApiTest, NoSecretIsInIt) {
  const auto made = json::parse(world.put("/v1/acl/token", R"({"Name":"ops","Type":"management"})").body);
  const std::string secret(made.at("SecretID").as_string());
  ASSERT_TRUE(is_uuid(secret));
  auto job = make_job("web");
  world.run(job);
  job.groups[0].tasks[0].env["PASSWORD"] = "hunter2";
  job.groups[0].tasks[0].config.as_object()["args"] = boost::json::array{"--key", "hunter3"};
  world.run(job);
  world.get("/v1/jobs?token=hunter4");
  world.send("DELETE", "/v1/job/web?token=hunter4");
  const std::string all = text();
  EXPECT_NE(all.find("Env"), std::string::npos) << "that it changed is told";
  for (const auto& word : {secret, acl::hash_secret(secret), std::string("hunter"), std::string("boss\",\"SecretID")})
    EXPECT_EQ(all.find(word), std::string::npos) << word;
}

TEST_F(AuditApiTest, ASessionIsToldWithItsCommand) {
  auto& node = world.link(1);
  node.streams["exec"] = [](boost::json::value, std::shared_ptr<link::Stream>) -> awaitable<void> { co_return; };
  world.run(make_job("web"));
  server::testing::run_until(world.loop, [&] { return !world.tables().allocations().empty(); });
  const auto response =
      world.get("/v1/client/allocation/" + world.allocation_of("web") + "/exec?task=t&command=[\"sh\",\"-x\"]");
  ASSERT_TRUE(response.upgrade) << response.body;
  EXPECT_EQ(changes(last()), std::vector<std::string>{"session in task t: sh -x"});
  EXPECT_EQ(last().at("Status").as_int64(), 101);
}

TEST_F(AuditApiTest, WhoDoesNotWaitForTheAnswerIsToldNevertheless) {
  async::TaskGroup tasks(world.loop.executor(), "client");
  auto request = World::request("PUT", "/v1/namespace/team", R"({"Name": "team"})");
  request.headers.set("X-Nomad-Token", "boss");
  bool begun = false;
  const auto ask = [&]() -> awaitable<void> {
    begun = true;
    co_await world.router.handle(request);
  };
  tasks.spawn("request", ask());
  // It is handed in as soon as it begins; the client is gone before it is decided.
  world.loop.context().restart();
  while (!begun && world.loop.context().poll_one() > 0) {
  }
  ASSERT_TRUE(begun);
  tasks.cancel();
  world.loop.run_until_done(tasks.wait());
  ASSERT_EQ(lines().size(), 1u) << text();
  EXPECT_EQ(last().at("Error").as_string(), "the client did not wait for the answer");
  EXPECT_TRUE(server::find_namespace(world.tables(), "team"));
  EXPECT_GT(last().at("After").as_int64(), 0) << "what became of it is known";
}

TEST_F(AuditApiTest, OfTwoWritersOfOnePolicyEachIsToldWithWhatItDid) {
  async::TaskGroup tasks(world.loop.executor(), "writers");
  const auto write = [&](std::string description) -> awaitable<void> {
    const object body{{"Description", description}, {"Rules", "node { policy = \"read\" }"}};
    auto request = World::request("PUT", "/v1/acl/policy/team", boost::json::serialize(body));
    request.headers.set("X-Nomad-Token", "boss");
    const auto response = co_await world.router.handle(std::move(request));
    EXPECT_EQ(response.status, 200) << response.body;
  };
  tasks.spawn("first", write("one"));
  tasks.spawn("second", write("two"));
  world.loop.run_until_done(tasks.wait());
  const auto told = lines();
  ASSERT_EQ(told.size(), 2u) << text();
  EXPECT_EQ(changes(told[0]).front(), "made");
  EXPECT_EQ(changes(told[1]), std::vector<std::string>{R"(Description: "one" -> "two")"});
  EXPECT_EQ(told[1].at("Before"), told[0].at("After"));
  EXPECT_EQ(world.tables().find<model::AclPolicy>("team")->description, "two");
}

TEST_F(AuditApiTest, WhatGivesRightsIsToldAsAWhole) {
  const object policy{{"Rules", "node { policy = \"read\" }\nagent { policy = \"read\" }"}};
  world.put("/v1/acl/policy/team", boost::json::serialize(policy));
  EXPECT_EQ(changes(last()),
            (std::vector<std::string>{"made", "Name: \"\" -> \"team\"", "Rules: + node { policy = \"read\" }",
                                      "Rules: + agent { policy = \"read\" }"}));
  const object more{{"Rules", "node { policy = \"write\" }\nagent { policy = \"read\" }"}};
  world.put("/v1/acl/policy/team", boost::json::serialize(more));
  EXPECT_EQ(changes(last()),
            (std::vector<std::string>{"Rules: - node { policy = \"read\" }", "Rules: + node { policy = \"write\" }"}));
  const auto made = json::parse(world.put("/v1/acl/token", R"({"Name":"anna","Policies":["team"]})").body);
  world.send("DELETE", "/v1/acl/token/" + std::string(made.at("AccessorID").as_string()));
  const auto told = changes(last());
  EXPECT_EQ(told.front(), "deleted");
  EXPECT_NE(std::find(told.begin(), told.end(), "Name: \"anna\" -> \"\""), told.end()) << text();
}

TEST_F(AuditApiTest, OfTwoWritersOfOneVariableWhoCheckOneIsRefusedAndBothAreTold) {
  async::TaskGroup tasks(world.loop.executor(), "writers");
  std::vector<int> answers;
  const auto write = [&](std::string value) -> awaitable<void> {
    auto request = World::request("PUT", "/v1/var/apps/web?cas=0", R"({"Items":{"a":")" + value + "\"}}");
    request.headers.set("X-Nomad-Token", "boss");
    const auto response = co_await world.router.handle(std::move(request));
    answers.push_back(response.status);
  };
  tasks.spawn("first", write("1"));
  tasks.spawn("second", write("2"));
  world.loop.run_until_done(tasks.wait());
  EXPECT_EQ(answers, (std::vector<int>{200, 409}));
  const auto told = lines();
  ASSERT_EQ(told.size(), 2u) << text();
  EXPECT_EQ(changes(told[0]), std::vector<std::string>{"made"});
  EXPECT_TRUE(changes(told[1]).empty()) << "it changed nothing";
  EXPECT_EQ(told[1].at("Status").as_int64(), 409);
}

TEST_F(AuditApiTest, NothingIsChangedThatCannotBeLogged) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
  const std::string disk = directory_ + "/disk";
  std::filesystem::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "cannot mount a tmpfs";
  world.loop.run_until_done(log_->stop());
  server::AuditOptions full;
  full.path = disk + "/audit.log";  // no room for as much as is taken at a time
  log_.emplace(world.loop.executor(), pool_, world.clock, full);
  const auto response = world.run(make_job("web"));
  log_.reset();
  ::umount(disk.c_str());
  log_.emplace(world.loop.executor(), pool_, world.clock, server::AuditOptions{});
  EXPECT_EQ(response.status, 507) << response.body;
  EXPECT_NE(response.body.find("audit log"), std::string::npos);
  EXPECT_FALSE(world.tables().find_job("default", "web"));
}

TEST_F(AuditApiTest, IsReadByManagementAlone) {
  world.run(make_job("web"));
  EXPECT_EQ(world.read("/v1/underway/audit").as_array().size(), 1u);
  EXPECT_EQ(world.read("/v1/underway/audit?who=nobody").as_array().size(), 0u);
  EXPECT_EQ(world.read("/v1/underway/audit?since=1h&limit=1").as_array().size(), 1u);
  EXPECT_EQ(status("GET", "/v1/underway/audit?since=yesterday"), 400);
  make_token("operator", "operator { policy = \"write\" }");
  world.token = "operator";
  EXPECT_EQ(status("GET", "/v1/underway/audit"), 403);
}

TEST(Differences, TellWhatChangedAndHideWhatMayBeSecret) {
  const auto value = [](const char* text) { return std::optional(json::parse(text)); };
  struct Case {
    const char* name;
    std::optional<boost::json::value> before, after;
    std::vector<std::string> expect;
  };
  const std::vector<Case> cases = {
      {"nothing", value(R"({"A":1})"), value(R"({"A":1})"), {}},
      {"made", std::nullopt, value(R"({"A":1})"), {"made"}},
      {"deleted", value(R"({"A":1})"), std::nullopt, {"deleted"}},
      {"a value", value(R"({"A":1})"), value(R"({"A":2})"), {"A: 1 -> 2"}},
      {"in a list", value(R"({"L":[{"A":1}]})"), value(R"({"L":[{"A":2},3]})"), {"L[0].A: 1 -> 2", "L[1]: null -> 3"}},
      {"hidden", value(R"({"Env":{"K":"a"}})"), value(R"({"Env":{"K":"b"}})"), {"Env.K: changed"}},
      {"noise", value(R"({"ModifyIndex":1})"), value(R"({"ModifyIndex":2})"), {}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(differences(c.before, c.after), c.expect);
  }
}

}  // namespace
}  // namespace underway::api::testing
