// What nodes and agents tell of themselves, evaluations that are counted and forgotten, and jobs with their statuses.
#include "api/testing/world.hpp"

#include <gtest/gtest.h>

#include "async/log_lines.hpp"

namespace underway::api::testing {
namespace {

TEST(ClientRoutes, AskTheNodeOverItsLink) {
  World world;
  auto& node = world.link(1);
  boost::json::value applied;
  node.answers["node.stats"] = [](const auto&) { return boost::json::object{{"Uptime", 7}}; };
  node.answers["node.metadata"] = [](const auto&) { return json::parse(R"({"Meta":{"rack":"r1"}})"); };
  node.answers["node.metadata.apply"] = [&](const boost::json::value& body) {
    applied = body;
    return body;
  };
  node.answers["node.gc"] = [](const auto&) { return boost::json::object{}; };
  const std::string of = "?node_id=" + uuid(1);
  EXPECT_EQ(world.read("/v1/client/stats" + of).at("Uptime").as_int64(), 7);
  EXPECT_EQ(world.read("/v1/client/metadata" + of).at("Meta").at("rack").as_string(), "r1");
  EXPECT_EQ(
      world.put("/v1/client/metadata", fmt::format(R"({{"NodeID":"{}","Meta":{{"a":"b","c":null}}}})", uuid(1))).status,
      200);
  EXPECT_EQ(applied, json::parse(R"({"Meta":{"a":"b","c":null}})"));
  EXPECT_EQ(world.get("/v1/client/gc" + of).status, 200);
}

TEST(ClientRoutes, SayWhichNodeTheyMiss) {
  World world;
  for (const char* path : {"/v1/client/stats", "/v1/client/metadata", "/v1/client/gc"}) {
    SCOPED_TRACE(path);
    const auto response = world.get(path);
    EXPECT_EQ(response.status, 400);
    EXPECT_EQ(response.body.find("must provide a node_id"), 0u);
  }
  EXPECT_EQ(world.get("/v1/client/stats?node_id=nobody").status, 404);
  EXPECT_EQ(world.put("/v1/client/metadata", "{}").body, "missing required Meta object");
}

TEST(ClientRoutes, OfTheAgentItselfNeedNoId) {
  World world;
  auto own = make_node(3);
  own.name = "test";  // the agent's
  world.nodes.push_back(std::make_unique<FakeNode>(world.loop.executor(), world.server, own));
  world.loop.run_until_done(world.nodes.back()->join());
  world.nodes.back()->answers["node.stats"] = [](const auto&) { return boost::json::object{{"Uptime", 9}}; };
  EXPECT_EQ(world.read("/v1/client/stats").at("Uptime").as_int64(), 9);
}

TEST(RefusedRoutes, TellWhyAndWhatToDoInstead) {
  World world;
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"PUT", "/v1/agent/join"},         {"POST", "/v1/agent/force-leave"},
      {"PUT", "/v1/agent/servers"},      {"PUT", "/v1/agent/schedulers/config"},
      {"GET", "/v1/agent/keyring/list"}, {"GET", "/v1/agent/pprof/profile"},
      {"GET", "/v1/client/identity"},
  };
  for (const auto& [method, path] : cases) {
    SCOPED_TRACE(path);
    const auto response = world.send(method, path);
    EXPECT_EQ(response.status, 501);
    EXPECT_NE(response.body.find(": "), std::string::npos) << response.body;
  }
}

TEST(AgentRoutes, TellOfSchedulersAndTheMachine) {
  World world;
  EXPECT_EQ(world.read("/v1/agent/schedulers").at("schedulers").as_array().size(), 1u);
  EXPECT_EQ(world.read("/v1/agent/schedulers/config").at("num_schedulers").as_int64(), 1);
  const auto host = world.read("/v1/agent/host").at("HostData");
  EXPECT_FALSE(host.at("Kernel").as_string().empty());
  EXPECT_TRUE(host.at("Environment").as_object().empty());
}

TEST(AgentRoutes, HaveTheAgentReadItsConfigurationAgain) {
  World world;
  EXPECT_EQ(world.put("/v1/agent/reload", "").status, 501);
  int reloads = 0;
  world.api.reload = [&] { ++reloads; };
  EXPECT_EQ(world.put("/v1/agent/reload", "").status, 200);
  EXPECT_EQ(reloads, 1);
}

/// A body that is written to, for a while.
class Sink : public http::BodyWriter {
 public:
  async::awaitable<void> write(std::string data) override {
    text += data;
    co_return;
  }
  std::string text;
};

class MonitorTest : public ::testing::Test {
 protected:
  ~MonitorTest() override {
    tasks.cancel();
    world.loop.context().restart();
    world.loop.context().poll();
  }
  void follow(const std::string& target) {
    response = world.get(target);
    ASSERT_EQ(response.status, 200) << response.body;
    tasks.spawn("monitor", response.stream(sink));
    world.loop.context().restart();
    world.loop.context().poll();
  }
  void until_there_is(const std::string& text) {
    server::testing::run_until(world.loop, [&] { return sink.text.find(text) != std::string::npos; });
  }
  World world;
  Sink sink;
  http::Response response;
  async::TaskGroup tasks{world.loop.executor(), "test"};
};

TEST_F(MonitorTest, FollowsTheLogAsText) {
  follow("/v1/agent/monitor?plain=true&log_level=debug");
  log::debug("quiet words");
  until_there_is(" [DEBUG] quiet words\n");
}

TEST_F(MonitorTest, FollowsTheLogInFrames) {
  follow("/v1/agent/monitor?log_json=true");
  log::debug("not for us");
  log::warn("loud words");
  until_there_is("}");
  const auto frame = json::parse(sink.text);
  const auto line = json::parse(base64_decode(std::string(frame.at("Data").as_string())));
  EXPECT_EQ(line.at("@message").as_string(), "loud words");
  EXPECT_EQ(line.at("@level").as_string(), "warn");
}

TEST_F(MonitorTest, FollowsANode) {
  auto& node = world.link(1);
  node.streams["node.monitor"] = [](boost::json::value header,
                                    std::shared_ptr<link::Stream> stream) -> async::awaitable<void> {
    co_await stream->write("level " + std::string(header.at("Level").as_string()) + "\n");
    stream->end();
  };
  follow("/v1/agent/monitor?plain=true&log_level=warn&node_id=" + uuid(1));
  until_there_is("level warn\n");
}

TEST_F(MonitorTest, RefusesLevelsThatThereAreNot) {
  EXPECT_EQ(world.get("/v1/agent/monitor?log_level=loud").body, "Unknown log level: loud");
  EXPECT_EQ(world.get("/v1/agent/monitor?node_id=a&server_id=b").status, 400);
}

class EvaluationsTest : public ::testing::Test {
 protected:
  EvaluationsTest() {
    world.join(make_node(1));
    world.run(make_job("web"));
    auto large = make_job("large");
    large.groups[0].tasks[0].resources.cpu = 1'000'000;
    world.run(large);
  }
  std::string count(const std::string& filter) {
    const auto answer = world.read("/v1/evaluations/count?filter=" + http::percent_encode(filter));
    return fmt::format(R"({{"Count":{}}})", answer.at("Count").as_int64());
  }
  World world;
};

TEST_F(EvaluationsTest, AreCountedByExpression) {
  EXPECT_EQ(count(""), R"({"Count":3})");
  EXPECT_EQ(count("Status == blocked"), R"({"Count":1})");
  EXPECT_EQ(world.get("/v1/evaluations/count?filter=x").status, 400);
}

TEST_F(EvaluationsTest, AreForgottenByIdOrExpression) {
  const auto blocked = world.read("/v1/evaluations?status=blocked").at(0).at("ID").as_string();
  const auto body = fmt::format(R"({{"EvalIDs":["{}"]}})", std::string(blocked));
  EXPECT_EQ(world.send("DELETE", "/v1/evaluations", body).body, R"({"Count":1})");
  EXPECT_EQ(count("Status == blocked"), R"({"Count":0})");
  EXPECT_EQ(world.send("DELETE", "/v1/evaluations", R"({"Filter":"JobID == large"})").body, R"({"Count":1})");
  EXPECT_EQ(count("JobID == large"), R"({"Count":0})");
  EXPECT_EQ(world.send("DELETE", "/v1/evaluations", R"({"Filter":"JobID == web"})").status, 409);
  EXPECT_EQ(world.send("DELETE", "/v1/evaluations", R"({})").status, 400);
  EXPECT_EQ(world.send("DELETE", "/v1/evaluations", R"({"Filter":"JobID == a","EvalIDs":["b"]})").status, 400);
  EXPECT_EQ(world.send("DELETE", "/v1/evaluations", R"({"EvalIDs":["b"]})").status, 404);
}

TEST(JobStatuses, ShowJobsWithWhatRunsOfThem) {
  World world;
  world.join(make_node(1));
  world.run(make_job("web", 2));
  world.run(make_job("db"));
  const auto all = world.read("/v1/jobs/statuses?reverse=true").as_array();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at(0).at("ID").as_string(), "db");
  EXPECT_EQ(all.at(1).at("GroupCountSum").as_int64(), 2);
  EXPECT_EQ(all.at(1).at("Allocs").as_array().size(), 2u);
  EXPECT_TRUE(all.at(1).at("LatestDeployment").is_object());
  const auto named =
      world.send("POST", "/v1/jobs/statuses", R"({"Jobs":[{"ID":"web","Namespace":"default"},{"ID":"gone"}]})");
  EXPECT_EQ(json::parse(named.body).as_array().size(), 1u);
  EXPECT_EQ(world.read("/v1/jobs/statuses?filter=" + http::percent_encode("ID == db")).as_array().size(), 1u);
}

}  // namespace
}  // namespace underway::api::testing
