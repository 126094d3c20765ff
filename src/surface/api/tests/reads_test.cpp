#include "api/openapi/openapi.hpp"
#include "api/testing/world.hpp"

#include <gtest/gtest.h>

#include <set>

namespace underway::api::testing {
namespace {

using async::awaitable;
using server::testing::run_until;

std::vector<std::string> ids(const boost::json::value& list, const char* key = "ID") {
  std::vector<std::string> out;
  for (const auto& element : list.as_array()) out.emplace_back(element.at(key).as_string());
  return out;
}

TEST(Refusals, CarryTheNextStep) {
  World world;
  const auto plain = world.get("/v1/underway/capsule/db");
  EXPECT_EQ(plain.status, 404);
  EXPECT_TRUE(plain.body.starts_with("there is no capsule 'db' in namespace 'default'")) << plain.body;
  EXPECT_NE(plain.body.find("\ndo: `underway capsule list`"), std::string::npos) << plain.body;
  auto asking = World::request("GET", "/v1/underway/capsule/db");
  asking.headers.set("Accept", "application/problem+json");
  const auto details = world.loop.run_until_done(world.router.handle(std::move(asking)));
  EXPECT_EQ(details.status, 404);
  EXPECT_EQ(details.headers.find("Content-Type"), "application/problem+json");
  const auto problem = json::parse(details.body);
  EXPECT_EQ(problem.at("code").as_string(), "not_found");
  EXPECT_TRUE(std::string_view(problem.at("advice").as_string()).starts_with("`underway capsule list`"));
  EXPECT_EQ(world.get("/v1/job/nothing").body, "job not found") << "as Nomad's clients compare it";
}

TEST(Reads, CarryTheIndexThatIsNeverZero) {
  World world;
  for (const char* target : {"/v1/jobs", "/v1/nodes", "/v1/agent/self", "/v1/regions", "/v1/namespaces",
                             "/v1/underway/status", "/v1/underway/clusters"}) {
    SCOPED_TRACE(target);
    const auto response = world.get(target);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(header(response, "X-Nomad-Index"), "1");
    EXPECT_EQ(header(response, "X-Nomad-LastContact"), "0");
    EXPECT_EQ(header(response, "X-Nomad-KnownLeader"), "true");
    EXPECT_EQ(header(response, "Content-Type").find("application/json"), 0u);
  }
}

class BlockingTest : public ::testing::Test {
 protected:
  struct Pending {
    bool done = false;
    http::Response response;
  };
  static awaitable<void> ask(World& world, std::string target, Pending& pending) {
    pending.response = co_await world.router.handle(World::request("GET", target));
    pending.done = true;
  }
  ~BlockingTest() override {
    tasks.cancel();
    world.loop.context().restart();
    world.loop.context().poll();
  }
  World world;
  async::TaskGroup tasks{world.loop.executor(), "test"};
};

TEST_F(BlockingTest, WakesWhenItsJobChanges) {
  world.run(make_job("web"));
  const auto index = header(world.get("/v1/job/web"), "X-Nomad-Index");
  Pending pending;
  tasks.spawn("ask", ask(world, "/v1/job/web?wait=60s&index=" + index, pending));
  world.run(make_job("other"));
  EXPECT_FALSE(pending.done);
  world.run(make_job("web", 4));
  run_until(world.loop, [&] { return pending.done; });
  EXPECT_GT(std::stoll(header(pending.response, "X-Nomad-Index")), std::stoll(index));
  EXPECT_EQ(json::parse(pending.response.body).at("TaskGroups").at(0).at("Count").as_int64(), 4);
}

TEST_F(BlockingTest, WakesWhenAJobComesIntoBeing) {
  world.run(make_job("other"));
  const auto index = header(world.get("/v1/jobs"), "X-Nomad-Index");
  Pending pending;
  tasks.spawn("ask", ask(world, "/v1/jobs?wait=60s&index=" + index, pending));
  world.run(make_job("web"));
  run_until(world.loop, [&] { return pending.done; });
  EXPECT_EQ(json::parse(pending.response.body).as_array().size(), 2u);
}

TEST_F(BlockingTest, EndsWithTheSameIndexWhenNothingChanged) {
  world.run(make_job("web"));
  const auto index = header(world.get("/v1/job/web"), "X-Nomad-Index");
  Pending pending;
  tasks.spawn("ask", ask(world, "/v1/job/web?wait=10ms&index=" + index, pending));
  run_until(world.loop, [&] { return pending.done; });
  EXPECT_EQ(header(pending.response, "X-Nomad-Index"), index);
}

TEST_F(BlockingTest, AnswersAtOnceWhenThereIsNewsAlready) {
  world.run(make_job("web"));
  world.run(make_job("web", 2));
  EXPECT_EQ(world.get("/v1/job/web?wait=60s&index=1").status, 200);
}

TEST_F(BlockingTest, DoesNotWaitForWhatNeverChanges) {
  EXPECT_EQ(world.get("/v1/agent/self?wait=60s&index=99").status, 200);
}

TEST_F(BlockingTest, FollowsAnEvaluationToItsAllocations) {
  world.join(make_node(1));
  const auto eval = json::parse(world.run(make_job("web", 2)).body).at("EvalID").as_string();
  const auto list = world.read("/v1/evaluation/" + std::string(eval) + "/allocations");
  EXPECT_EQ(list.as_array().size(), 2u);
}

class ListTest : public ::testing::Test {
 protected:
  World world;
};

TEST_F(ListTest, IsTakenPageByPage) {
  for (const char* id : {"e", "a", "c", "b", "d"}) world.run(make_job(id));
  std::vector<std::string> seen;
  std::string token;
  int pages = 0;
  do {
    const auto response = world.get("/v1/jobs?per_page=2&next_token=" + token);
    const auto page = ids(json::parse(response.body));
    seen.insert(seen.end(), page.begin(), page.end());
    token = header(response, "X-Nomad-NextToken");
  } while (!token.empty() && ++pages < 10);
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
}

TEST_F(ListTest, GoesOnWhereItWasThoughTheNextElementIsGone) {
  for (const char* id : {"a", "b", "c", "d"}) world.run(make_job(id));
  const auto first = world.get("/v1/jobs?per_page=2");
  const auto token = header(first, "X-Nomad-NextToken");
  EXPECT_EQ(token, "default.c");
  world.send("DELETE", "/v1/job/c?purge=true");
  EXPECT_EQ(ids(world.read("/v1/jobs?per_page=2&next_token=" + token)), (std::vector<std::string>{"d"}));
}

TEST_F(ListTest, IsReversedOnRequest) {
  for (const char* id : {"a", "b", "c"}) world.run(make_job(id));
  EXPECT_EQ(ids(world.read("/v1/jobs?reverse=true")), (std::vector<std::string>{"c", "b", "a"}));
  const auto page = world.get("/v1/jobs?reverse=true&per_page=1");
  EXPECT_EQ(ids(world.read("/v1/jobs?reverse=true&per_page=1&next_token=" + header(page, "X-Nomad-NextToken"))),
            (std::vector<std::string>{"b"}));
}

TEST_F(ListTest, OfEvaluationsBeginsWithTheOldest) {
  for (const char* id : {"z", "a"}) world.run(make_job(id));
  const auto list = world.read("/v1/evaluations");
  EXPECT_EQ(list.at(0).at("JobID").as_string(), "z");
  EXPECT_EQ(world.read("/v1/evaluations?reverse=true").at(0).at("JobID").as_string(), "a");
  const auto of_a = world.read("/v1/evaluations?job=a");
  for (const auto& evaluation : of_a.as_array()) EXPECT_EQ(evaluation.at("JobID").as_string(), "a");
  EXPECT_TRUE(world.read("/v1/evaluations?status=failed").as_array().empty());
}

TEST_F(ListTest, IsCutDownByPrefixAndNamespace) {
  for (const char* id : {"web", "web-api", "db"}) world.run(make_job(id));
  model::Job elsewhere = make_job("web");
  elsewhere.ns = "other";
  EXPECT_EQ(world.put("/v1/namespace", R"({"Name":"other"})").status, 200);
  world.run(elsewhere);
  EXPECT_EQ(ids(world.read("/v1/jobs?prefix=web")), (std::vector<std::string>{"web", "web-api"}));
  EXPECT_EQ(ids(world.read("/v1/jobs?namespace=other")), (std::vector<std::string>{"web"}));
  EXPECT_EQ(world.read("/v1/jobs?namespace=*").as_array().size(), 4u);
  EXPECT_EQ(world.read("/v1/evaluations?namespace=other").as_array().size(), 2u);  // its own, and the blocked one
  EXPECT_EQ(world.get("/v1/job/web?namespace=other").status, 200);
  EXPECT_EQ(world.get("/v1/job/db?namespace=other").status, 404);
  EXPECT_EQ(ids(world.read("/v1/namespaces"), "Name"), (std::vector<std::string>{"default", "other"}));
}

TEST_F(ListTest, IsPrettyOnRequest) {
  world.run(make_job("web"));
  const auto plain = world.get("/v1/jobs").body, pretty = world.get("/v1/jobs?pretty").body;
  EXPECT_EQ(plain.find('\n'), std::string::npos);
  EXPECT_NE(pretty.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(plain), json::parse(pretty));
}

TEST_F(ListTest, OfSearchIsCutAtTwentyOfEachKind) {
  for (int i = 0; i < 25; ++i) world.run(make_job(fmt::format("web{:02}", i)));
  const auto found = json::parse(world.put("/v1/search", R"({"Prefix":"web"})").body);
  EXPECT_EQ(found.at("Matches").at("jobs").as_array().size(), 20u);
  EXPECT_TRUE(found.at("Truncations").at("jobs").as_bool());
  EXPECT_FALSE(found.at("Truncations").at("nodes").as_bool());
}

// --- every route

/// A path of `pattern` with names of what is there.
std::string path_of(std::string_view pattern, const std::string& allocation, const std::string& evaluation) {
  std::string path;
  const bool is_node = pattern.find("/node/") != std::string_view::npos;
  const bool is_evaluation = pattern.find("/evaluation/") != std::string_view::npos;
  const bool is_job = pattern.find("/job/") != std::string_view::npos;
  for (const auto& segment : split(pattern.substr(1), '/')) {
    path += '/';
    if (segment == ":cluster" || (segment == ":name" && pattern.find("/cluster/") != std::string_view::npos))
      path += "hpc";
    else if (segment == ":name")
      path += "c1";
    else if (segment == ":id" || segment == "*id")
      path += is_node ? uuid(1) : is_evaluation ? evaluation : is_job ? "web" : allocation;
    else
      path += segment;
  }
  return path;
}

TEST(EveryRoute, AnswersSomethingSensibleToAnEmptyRequest) {
  World world;
  world.join(make_node(1));
  world.run(make_job("web"));
  const auto allocation = world.allocation_of("web");
  const auto evaluation = world.tables().evaluations().front()->id;
  for (const auto& route : documented_routes()) {
    for (const auto& method : split(route.methods, '|')) {
      if (method == "DELETE" || method == "POST") continue;
      const auto path = path_of(route.pattern, allocation, evaluation);
      SCOPED_TRACE(method + " " + path);
      const auto response = world.send(method, path);
      const bool streams = response.upgrade != nullptr || response.stream != nullptr;
      const bool well = response.status == 200 && (streams || !response.body.empty() || path == "/v1/system/gc" ||
                                                   path == "/v1/system/reconcile/summaries");
      // Without its parameters, its body, its node's link or certificate, or an authority it says so, in words.
      const std::set<int> refusals = {400, 403, 404, 409, 501, 503};
      const bool refused = refusals.contains(response.status) && !response.body.empty() &&
                           response.body.find("no route") == std::string::npos;
      EXPECT_TRUE(well || refused) << response.status << " " << response.body;
    }
  }
}

TEST(EveryRoute, TakesPutAndPostAlike) {
  for (const auto& route : documented_routes()) {
    const auto methods = split(route.methods, '|');
    const bool put = std::find(methods.begin(), methods.end(), "PUT") != methods.end();
    const bool post = std::find(methods.begin(), methods.end(), "POST") != methods.end();
    EXPECT_EQ(put, post) << route.pattern;
  }
}

TEST(EveryRoute, RefusesOtherMethodsAndPaths) {
  World world;
  const auto response = world.send("DELETE", "/v1/jobs");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.body, "Invalid method");
  EXPECT_EQ(header(response, "Allow"), "GET, POST, PUT");
  EXPECT_EQ(world.get("/v1/nothing").status, 404);
}

}  // namespace
}  // namespace underway::api::testing
