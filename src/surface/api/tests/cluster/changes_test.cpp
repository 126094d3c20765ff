// The list of changes: what requests leave in it, with which class, and what plans say of it before.
#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using boost::json::array;

class ChangesTest : public AccessTest {
 protected:
  ChangesTest() {
    make_token("anna", "");
    world.token = "anna";
    world.link(1);
    world.link(2);
  }
  array changes(const std::string& query = "") { return world.read("/v1/underway/changes" + query).as_array(); }
  /// "brief: run job 'web': job 'web' is replaced".
  std::string last() {
    const auto all = changes();
    if (all.empty()) return "";
    const auto& entry = all.back().as_object();
    const auto text = [&](const char* key) { return std::string(std::string_view(entry.at(key).as_string())); };
    return fmt::format("{} | {} | {}", text("Class"), text("What"), text("Why"));
  }
  static model::Job in_mode(model::Job job, const std::string& mode) {
    job.groups[0].tasks[0].env["MODE"] = mode;
    return job;
  }
  std::string planned(const model::Job& job) {
    const auto response = world.put("/v1/job/" + job.id + "/plan", World::job_body(job));
    EXPECT_EQ(response.status, 200) << response.body;
    const auto impact = json::parse(response.body).at("Impact");
    return std::string(std::string_view(impact.at("Class").as_string()));
  }
  static std::string cluster_body(const std::vector<model::Job>& jobs, int size = 2) {
    std::string body = R"({"Cluster":{"Name":"hpc","Networks":[{"Name":"management","CIDR":"10.77.0.0/24"}],)";
    body += fmt::format(R"("Pools":[{{"Name":"compute","Size":{},"Hostname":"n%d"}}]}},"Jobs":[)", size);
    for (std::size_t i = 0; i < jobs.size(); ++i) body += (i > 0 ? "," : "") + World::job_body(jobs[i]);
    return body + "]}";
  }
};

TEST_F(ChangesTest, AreToldWithWhoWhenWhatAndWhy) {
  EXPECT_TRUE(changes().empty());
  ASSERT_EQ(world.run(make_job("web")).status, 200);
  EXPECT_EQ(last(), "none | run job 'web' | job 'web' is new");
  const auto entry = changes().back().as_object();
  EXPECT_EQ(entry.at("Number").as_int64(), 1);
  EXPECT_EQ(entry.at("Who").as_string(), "anna");
  EXPECT_EQ(entry.at("Namespace").as_string(), "default");
  EXPECT_EQ(entry.at("Time").as_string(), format_time(world.clock.now()));
  EXPECT_EQ(entry.at("CreateIndex").as_int64(), world.tables().find_job("default", "web")->create_index)
      << "it is of the commit that changed the job";
}

TEST_F(ChangesTest, HaveTheClassThatThePlanHadSaid) {
  world.run(make_job("web"));
  const auto changed = in_mode(make_job("web"), "b");
  EXPECT_EQ(planned(changed), "brief");
  world.run(changed);
  EXPECT_EQ(last(), "brief | run job 'web' | job 'web' is replaced, and away until the new one runs");
  auto more = changed;
  more.groups[0].count = 3;
  EXPECT_EQ(planned(more), "none");
  world.run(more);
  EXPECT_EQ(last(), "none | run job 'web' | job 'web' changes, and nothing that runs is touched");
  ASSERT_EQ(world.put("/v1/job/web/revert", R"({"JobVersion":0})").status, 200);
  EXPECT_EQ(last(), "brief | revert job 'web' to version 0 | job 'web' is replaced, and away until the new one runs");
  ASSERT_EQ(world.send("DELETE", "/v1/job/web").status, 200);
  EXPECT_EQ(last(), "outage | stop job 'web' | job 'web' ends, and nothing takes its place");
}

TEST_F(ChangesTest, OfWhatWasRefusedOrChangedNothingThereIsNone) {
  world.run(make_job("web"));
  world.run(make_job("web"));
  auto bad = make_job("bad");
  bad.groups.clear();
  EXPECT_EQ(world.run(bad).status, 400);
  EXPECT_EQ(world.put("/v1/node/" + uuid(9) + "/drain", R"({"DrainSpec":{"Deadline":0}})").status, 404);
  world.run(make_job("night", 1, model::JobType::batch));
  EXPECT_EQ(changes().size(), 1u) << "and work that is begun is none";
}

TEST_F(ChangesTest, OfDrainsAndAllocations) {
  world.run(make_job("web"));
  const auto id = world.allocation_of("web");
  const auto at = world.tables().find_allocation(id)->node_id;
  ASSERT_EQ(world.put("/v1/node/" + at + "/drain", R"({"DrainSpec":{"Deadline":3600000000000}})").status, 200);
  const std::string name = world.tables().find_node(at)->name;
  EXPECT_EQ(last(), fmt::format("brief | drain node {0} | node {0} is emptied: 1 service moves to other nodes", name));
  const auto before = changes().size();
  ASSERT_EQ(world.put("/v1/node/" + at + "/drain", R"({"DrainSpec":null,"MarkEligible":true})").status, 200);
  EXPECT_EQ(changes().size(), before) << "the end of a drain empties nothing";
  ASSERT_EQ(world.put("/v1/allocation/" + world.allocation_of("web") + "/stop", "").status, 200);
  EXPECT_TRUE(last().starts_with("brief | stop allocation 'web.g[0]'")) << last();
}

TEST_F(ChangesTest, ADrainSaysItsClassBeforeItIsBegun) {
  world.run(make_job("web"));
  const auto at = world.tables().find_allocation(world.allocation_of("web"))->node_id;
  const std::string name = world.tables().find_node(at)->name;
  const auto before = changes().size();
  const auto plan = [&](const std::string& node, const std::string& spec) {
    const auto response = world.put("/v1/underway/node/" + node + "/drain/plan", "{\"DrainSpec\":" + spec + "}");
    return response.status == 200 ? response.body : std::to_string(response.status);
  };
  EXPECT_EQ(plan(at, R"({"Deadline":3600000000000})"),
            fmt::format(R"({{"Class":"brief","Why":"node {} is emptied: 1 service moves to other nodes"}})", name));
  const std::string other = at == uuid(1) ? uuid(2) : uuid(1);
  EXPECT_EQ(plan(other, R"({"Deadline":-1})"),
            fmt::format(R"({{"Class":"none","Why":"node {} is emptied: nothing that runs there is missed"}})",
                        world.tables().find_node(other)->name));
  EXPECT_EQ(plan(uuid(9), R"({"Deadline":0})"), "404");
  EXPECT_EQ(plan(at, "null"), R"({"Class":"none","Why":"nothing that runs is touched"})") << "the end of a drain";
  EXPECT_FALSE(world.tables().find_node(at)->drain);
  EXPECT_EQ(changes().size(), before);
  make_token("reader", "node { policy = \"read\" }");
  world.token = "reader";
  EXPECT_EQ(plan(at, R"({"Deadline":0})"), "403");
}

TEST_F(ChangesTest, OfAClusterIsOneWhateverItIsMadeOf) {
  const std::string path = "/v1/underway/cluster/hpc";
  ASSERT_EQ(world.put(path, cluster_body({make_job("munge"), make_job("mail")})).status, 200);
  EXPECT_EQ(last(), "none | apply cluster 'hpc' | cluster 'hpc' is new; job 'munge' is new; job 'mail' is new");
  ASSERT_EQ(changes().size(), 1u);
  const auto wanted = cluster_body({in_mode(make_job("munge"), "b")});
  const auto plan = json::parse(world.put(path + "/plan", wanted).body);
  EXPECT_EQ(plan.at("Impact").at("Class").as_string(), "outage");
  EXPECT_EQ(plan.at("Jobs").at(0).at("Impact").at("Class").as_string(), "brief");
  EXPECT_EQ(changes().size(), 1u) << "a plan changes nothing";
  ASSERT_EQ(world.put(path, wanted).status, 200);
  EXPECT_EQ(last(), "outage | apply cluster 'hpc' | job 'mail' ends, and nothing takes its place");
  ASSERT_EQ(world.put(path, wanted).status, 200);
  EXPECT_EQ(changes().size(), 2u) << "nothing is different";
  ASSERT_EQ(world.put(path, cluster_body({in_mode(make_job("munge"), "b")}, 3)).status, 200);
  EXPECT_EQ(last(), "none | apply cluster 'hpc' | 1 host more");
  ASSERT_EQ(world.send("DELETE", path).status, 200);
  EXPECT_EQ(last(), "outage | take cluster 'hpc' down | job 'munge' ends, and nothing takes its place");
}

TEST_F(ChangesTest, AreAskedForByTimeAndNumber) {
  world.run(make_job("a"));
  world.clock.advance(std::chrono::hours(24 * 40));
  world.run(make_job("b"));
  EXPECT_EQ(changes("?since=365d").size(), 2u);
  EXPECT_EQ(changes("?since=30d").size(), 1u);
  EXPECT_EQ(changes("?since=1h").size(), 1u);
  EXPECT_EQ(changes("?since=" + format_time(world.clock.now() + std::chrono::hours(1))).size(), 0u);
  EXPECT_EQ(changes("?limit=1").at(0).at("What").as_string(), "run job 'b'");
  for (const char* wrong : {"yesterday", "d", "-1d", "99999999999d", "-1h", "1d2"}) {
    SCOPED_TRACE(wrong);
    const auto refused = world.get(std::string("/v1/underway/changes?since=") + wrong);
    EXPECT_EQ(refused.status, 400);
    EXPECT_NE(refused.body.find("365d"), std::string::npos) << refused.body;
  }
}

TEST_F(ChangesTest, AreForThoseWhoMayReadTheOperatorsThings) {
  make_token("reader", "operator { policy = \"read\" }");
  make_token("user", "namespace \"default\" { policy = \"write\" }");
  world.token = "reader";
  EXPECT_EQ(status("GET", "/v1/underway/changes"), 200);
  world.token = "user";
  EXPECT_EQ(status("GET", "/v1/underway/changes"), 403);
  EXPECT_EQ(world.run(make_job("web")).status, 200) << "who may not read it is told of in it";
  world.token = "anna";
  EXPECT_EQ(changes().back().at("Who").as_string(), "user");
}

}  // namespace
}  // namespace underway::api::testing
