#include "golden.hpp"

#include <regex>

#include "api/openapi/openapi.hpp"
#include "api/testing/world.hpp"
#include "harness/places.hpp"

namespace underway::api::testing {
namespace {

using model::ClientStatus;

/// A node, a job that runs, one that waits for it, one that fits nowhere, and a version that is past.
class GoldenTest : public ::testing::Test {
 protected:
  GoldenTest() {
    world.join(make_node(1));
    world.run(make_job("munge", 1, model::JobType::system));
    world.run(server::testing::depending_on(make_job("slurmctld"), "munge"));
    model::AllocationUpdate running = report(world.allocation_of("munge"), ClientStatus::running, true);
    auto& task = running.task_states["t"];
    task.started_at = unix_nanos(world.clock.now());
    task.events.push_back({"Started", unix_nanos(world.clock.now()), "Task started by client", {}, 0, 0, false});
    running.health.timestamp = unix_nanos(world.clock.now());
    world.update(uuid(1), running);
    model::Job large = make_job("large");
    large.groups[0].tasks[0].resources.cpu = 1'000'000;
    world.run(large);
    world.run(make_job("web"));
    world.run(make_job("web", 2));
  }
  void check(const std::string& name, const std::string& target) {
    const auto response = world.get(target);
    EXPECT_EQ(response.status, 200) << response.body;
    expect_golden_json(golden(name), response.body);
  }
  static std::string golden(const std::string& name) { return test_dir() + "/golden/" + name + ".json"; }
  World world;
};

TEST_F(GoldenTest, Jobs) { check("jobs", "/v1/jobs"); }
TEST_F(GoldenTest, Job) { check("job", "/v1/job/slurmctld"); }
TEST_F(GoldenTest, JobVersionsWithDiffs) { check("job_versions", "/v1/job/web/versions?diffs=true"); }
TEST_F(GoldenTest, JobSummary) { check("job_summary", "/v1/job/web/summary"); }
TEST_F(GoldenTest, JobAllocations) { check("job_allocations", "/v1/job/slurmctld/allocations"); }
TEST_F(GoldenTest, JobEvaluations) { check("job_evaluations", "/v1/job/large/evaluations"); }
TEST_F(GoldenTest, Allocation) { check("allocation", "/v1/allocation/" + world.allocation_of("munge")); }
TEST_F(GoldenTest, Nodes) { check("nodes", "/v1/nodes?os=true&resources=true"); }
TEST_F(GoldenTest, Node) { check("node", "/v1/node/" + uuid(1)); }
TEST_F(GoldenTest, Status) { check("status", "/v1/underway/status"); }
TEST_F(GoldenTest, AgentSelf) {
  // Version and build change with every commit.
  auto self = world.read("/v1/agent/self");
  auto& stats = self.at("stats").at("underway").as_object();
  EXPECT_FALSE(stats.at("version").as_string().empty());
  stats["version"] = stats["build"] = "";
  self.at("member").at("Tags").as_object()["build"] = "";
  expect_golden_json(golden("agent_self"), boost::json::serialize(self));
}
TEST_F(GoldenTest, Metrics) {
  // Without what is of this process, and the values of times.
  static const std::regex kProcess("(^|\n)(# (HELP|TYPE) )?process_[^\n]*"),
      kTimes("(_since_success_seconds\\{[^}]*\\}|_sum(\\{[^}]*\\})?|quantile=\"[0-9.]+\"\\}) [^\n]*");
  const auto text = std::regex_replace(world.get("/v1/metrics?format=prometheus").body, kProcess, "");
  expect_golden(golden("metrics_prometheus"), std::regex_replace(text, kTimes, "$1 …"));
}
TEST_F(GoldenTest, Namespaces) { check("namespaces", "/v1/namespaces"); }

TEST_F(GoldenTest, Registration) {
  const auto response = world.run(make_job("other"));
  EXPECT_EQ(response.status, 200);
  expect_golden_json(golden("registration"), response.body);
}

TEST_F(GoldenTest, Plan) {
  model::Job changed = make_job("web", 3);
  changed.groups[0].tasks[0].env["COLOUR"] = "blue";
  const auto response = world.put("/v1/job/web/plan", World::job_body(changed, ",\"Diff\":true"));
  EXPECT_EQ(response.status, 200) << response.body;
  expect_golden_json(golden("plan"), response.body);
}

TEST_F(GoldenTest, PlanOfWhatFitsNowhere) {
  model::Job large = make_job("larger");
  large.groups[0].tasks[0].resources.memory_mb = 1'000'000;
  const auto response = world.put("/v1/job/larger/plan", World::job_body(large));
  expect_golden_json(golden("plan_failed"), response.body);
}

TEST_F(GoldenTest, Search) {
  const auto response = world.put("/v1/search", R"({"Prefix":"w","Context":"jobs"})");
  expect_golden_json(golden("search"), response.body);
}

TEST(OpenApi, DocumentIsAsItWasLastLookedAt) {
  auto document = json::parse(openapi_document());
  document.at("info").as_object()["version"] = "";
  expect_golden_json(source_dir() + "/docs/reference/openapi.json", boost::json::serialize(document));
}

TEST(OpenApi, DocumentsEveryRouteAndNoOther) {
  World world;
  std::set<std::string> served, documented;
  for (const auto& route : world.router.routes()) served.insert(route.method + " " + route.pattern);
  for (const auto& route : documented_routes()) {
    for (const auto& method : split(route.methods, '|')) documented.insert(method + " " + std::string(route.pattern));
  }
  for (const auto& route : served) EXPECT_TRUE(documented.contains(route)) << route << " is not documented";
  for (const auto& route : documented) EXPECT_TRUE(served.contains(route)) << route << " is not served";
}

TEST(OpenApi, RefersOnlyToSchemasThatItHas) {
  const auto document = json::parse(openapi_document());
  const auto& schemas = document.at("components").at("schemas").as_object();
  const std::string text = boost::json::serialize(document);
  const std::string mark = "\"$ref\":\"#/components/schemas/";
  std::size_t found = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1), ++found) {
    const auto begin = at + mark.size();
    EXPECT_TRUE(schemas.contains(text.substr(begin, text.find('"', begin) - begin)));
  }
  EXPECT_GT(found, 20u);
}

}  // namespace
}  // namespace underway::api::testing
