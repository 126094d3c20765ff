#include "api/testing/world.hpp"

#include <gtest/gtest.h>

#include "files/masters/service.hpp"
#include "wire/file/file.hpp"

namespace underway::api::testing {
namespace {

TEST(RegisterJob, AnswersTheEvaluationAndTheIndexes) {
  World world;
  const auto response = world.run(make_job("web"));
  EXPECT_EQ(response.status, 200);
  const auto body = json::parse(response.body);
  EXPECT_TRUE(is_uuid(std::string_view(body.at("EvalID").as_string())));
  EXPECT_GT(body.at("JobModifyIndex").as_int64(), 0);
  EXPECT_EQ(body.at("EvalCreateIndex").as_int64(), body.at("JobModifyIndex").as_int64());
  EXPECT_EQ(header(response, "X-Nomad-Index"), std::to_string(body.at("JobModifyIndex").as_int64()));
}

TEST(RegisterJob, WithANamespaceInTheQueryAndNoneInTheJob) {
  World world;
  auto job = json::to_value(make_job("web"));
  job.as_object()["Namespace"] = nullptr;  // as Go's client sends it
  const std::string body = boost::json::serialize(boost::json::object{{"Job", job}});
  EXPECT_EQ(world.put("/v1/jobs?namespace=other", body).status, 400) << "there is no such namespace yet";
  EXPECT_EQ(world.put("/v1/namespace", R"({"Name":"other"})").status, 200);
  EXPECT_EQ(world.put("/v1/jobs?namespace=other", body).status, 200);
  EXPECT_TRUE(world.tables().find_job("other", "web"));
}

TEST(RegisterJob, WithASlashInItsIdIsFoundByEverySpelling) {
  World world;
  world.run(make_job("batch/night/1"));
  for (const char* target : {"/v1/job/batch/night/1", "/v1/job/batch%2Fnight%2F1"}) {
    SCOPED_TRACE(target);
    EXPECT_EQ(world.read(target).at("ID").as_string(), "batch/night/1");
  }
  EXPECT_EQ(world.read("/v1/job/batch%2Fnight%2F1/summary").at("JobID").as_string(), "batch/night/1");
  EXPECT_EQ(world.send("DELETE", "/v1/job/batch/night/1").status, 200);
  EXPECT_TRUE(world.tables().find_job("default", "batch/night/1")->stop);
}

TEST(RegisterJob, IgnoresFieldsThatItDoesNotKnow) {
  World world;
  auto job = json::to_value(make_job("web"));
  job.as_object()["FieldOfTheFuture"] = 1;
  const boost::json::object body{{"Job", job}, {"Whatever", true}};
  EXPECT_EQ(world.put("/v1/jobs", boost::json::serialize(body)).status, 200);
}

TEST(RegisterJob, RefusesStanzasByName) {
  World world;
  auto job = json::to_value(make_job("web"));
  job.as_object()["Multiregion"] = boost::json::object{{"Regions", boost::json::array{1}}};
  const auto response = world.put("/v1/jobs", boost::json::serialize(boost::json::object{{"Job", job}}));
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("not supported"), std::string::npos) << response.body;
  EXPECT_NE(response.body.find("Job.Multiregion: "), std::string::npos) << response.body;
  EXPECT_FALSE(world.tables().find_job("default", "web"));
}

TEST(RegisterJob, KeepsItsSourceBesideItsVersions) {
  World world;
  world.put("/v1/jobs",
            World::job_body(make_job("web"), R"(,"Submission":{"Source":"job \"web\" {}","Format":"hcl2"})"));
  world.put("/v1/jobs", World::job_body(make_job("web", 2), R"(,"Submission":{"Source":"second","Format":"hcl2"})"));
  EXPECT_EQ(world.read("/v1/job/web/submission").at("Source").as_string(), "second");
  EXPECT_EQ(world.read("/v1/job/web/submission?version=0").at("Source").as_string(), "job \"web\" {}");
  EXPECT_EQ(world.get("/v1/job/web/submission?version=9").body, "job source not found");
  EXPECT_EQ(world.read("/v1/job/web/versions").at("Versions").as_array().size(), 2u);
}

TEST(EvaluateJob, ReplacesWhatHasFailedWhenToldTo) {
  World world;
  world.join(make_node(1));
  auto job = make_job("web");
  job.groups[0].reschedule = model::RescheduleStrategy{.delay = std::chrono::hours(1), .unlimited = true};
  world.run(job);
  const auto failed = world.allocation_of("web");
  world.update(uuid(1), report(failed, model::ClientStatus::failed));
  for (const std::string body : {"", "{}", R"({"EvalOptions":{"ForceReschedule":false}})"}) {
    ASSERT_EQ(world.put("/v1/job/web/evaluate", body).status, 200) << body;
    EXPECT_TRUE(world.tables().find_allocation(failed)->next_allocation.empty()) << body;
  }
  ASSERT_EQ(world.put("/v1/job/web/evaluate", R"({"JobID":"web","EvalOptions":{"ForceReschedule":true}})").status, 200);
  EXPECT_FALSE(world.tables().find_allocation(failed)->next_allocation.empty());
}

TEST(Refusals, AreStatusAndPlainText) {
  World world;
  world.join(make_node(1));
  world.run(make_job("web"));
  struct Case {
    const char* name;
    std::string method, target, body;
    int status;
    std::string text;  ///< contained in the answer
  };
  const std::string id = uuid(77);
  const std::vector<Case> cases = {
      {"no such job", "GET", "/v1/job/nope", "", 404, "job not found"},
      {"versions of no such job", "GET", "/v1/job/nope/versions", "", 404, "job versions not found"},
      {"evaluate no such job", "PUT", "/v1/job/nope/evaluate", "", 404, "job not found"},
      {"no such allocation", "GET", "/v1/allocation/" + id, "", 404, "alloc not found"},
      {"stop no such allocation", "PUT", "/v1/allocation/" + id + "/stop", "", 404, "alloc not found"},
      {"no such evaluation", "GET", "/v1/evaluation/" + id, "", 404, "eval not found"},
      {"no such node", "GET", "/v1/node/" + id, "", 404, "node not found"},
      {"no such cluster", "GET", "/v1/underway/cluster/x", "", 404, "cluster 'x' not found"},
      {"no such host", "GET", "/v1/underway/host/x/y", "", 404, "host not found"},
      {"empty body", "PUT", "/v1/jobs", "", 400, "the request has no body"},
      {"no JSON", "PUT", "/v1/jobs", "{\"Job\":\n  {]}", 400, "line 2, column 4"},
      {"no object", "PUT", "/v1/jobs", "[]", 400, "no JSON object"},
      {"no job in it", "PUT", "/v1/jobs", "{}", 400, "Job must be specified"},
      {"a wrong type", "PUT", "/v1/jobs", R"({"Job":{"ID":"x","Priority":"high"}})", 400,
       "Job.Priority: expected an integer"},
      {"a wrong enumerator", "PUT", "/v1/jobs", R"({"Job":{"ID":"x","Type":"cron"}})", 400, "Job.Type"},
      {"a job without groups", "PUT", "/v1/jobs", R"({"Job":{"ID":"x"}})", 400, "job 'x' is not valid"},
      {"another id than the path's", "PUT", "/v1/job/y", World::job_body(make_job("x")), 400, "Job ID does not match"},
      {"plan for another id", "PUT", "/v1/job/y/plan", World::job_body(make_job("x")), 400, "Job ID does not match"},
      {"index already taken", "PUT", "/v1/jobs",
       World::job_body(make_job("web"), ",\"EnforceIndex\":true,\"JobModifyIndex\":0"), 409,
       "Enforcing job modify index 0: job already exists"},
      {"index moved on", "PUT", "/v1/jobs",
       World::job_body(make_job("web"), ",\"EnforceIndex\":true,\"JobModifyIndex\":900"), 409,
       "job exists with conflicting job modify index: "},
      {"no eligibility", "PUT", "/v1/node/" + uuid(1) + "/eligibility", R"({"Eligibility":"maybe"})", 400,
       "Eligibility must be"},
      {"drain of no such node", "PUT", "/v1/node/" + uuid(9) + "/drain", R"({"DrainSpec":{}})", 404, "node not found"},
      {"a drain that is a word", "PUT", "/v1/node/" + uuid(1) + "/drain", R"({"DrainSpec":"now"})", 400,
       "DrainSpec must be an object"},
      {"a deadline that is a word", "PUT", "/v1/node/" + uuid(1) + "/drain", R"({"DrainSpec":{"Deadline":"soon"}})",
       400, "Deadline"},
      {"a wish that is a word", "PUT", "/v1/node/" + uuid(1) + "/drain", R"({"DrainSpec":{"IgnoreSystemJobs":"yes"}})",
       400, "IgnoreSystemJobs must be true or false"},
      {"purge of a node that is well", "PUT", "/v1/node/" + uuid(1) + "/purge", "", 409, "is not down"},
      {"empty job file", "PUT", "/v1/jobs/parse", R"({"JobHCL":""})", 400, "Job spec is empty"},
      {"index that is no number", "GET", "/v1/jobs?index=x", "", 400,
       "parameter 'index' is no whole number: found 'x'"},
      {"negative page", "GET", "/v1/jobs?per_page=-1", "", 400, "parameter 'per_page'"},
      {"wait that is no duration", "GET", "/v1/jobs?index=1&wait=soon", "", 400, "parameter 'wait' is no duration"},
      {"logs without task", "GET", "/v1/client/fs/logs/" + id, "", 400, "must provide task name"},
      {"logs of no such type", "GET", "/v1/client/fs/logs/" + id + "?task=t&type=x", "", 400,
       "must provide log type (stdout/stderr)"},
      {"logs from nowhere", "GET", "/v1/client/fs/logs/" + id + "?task=t&origin=x", "", 400, "origin must be"},
      {"logs of no such allocation", "GET", "/v1/client/fs/logs/" + id + "?task=t", "", 404,
       "Unknown allocation \"" + id + "\""},
      {"a file without path", "GET", "/v1/client/fs/cat/" + id, "", 400, "must provide a file name"},
      {"a file of no such allocation", "GET", "/v1/client/fs/stat/" + id + "?path=x", "", 404, "Unknown allocation"},
      {"a file from nowhere", "GET", "/v1/client/fs/stream/" + world.allocation_of("web") + "?path=x&origin=x", "", 400,
       "origin must be start or end"},
      {"validation of nothing", "PUT", "/v1/validate/job", "{}", 400, "Job must be specified"},
      {"the source of a job that has none", "GET", "/v1/job/web/submission?version=0", "", 404, "job source not found"},
      {"no such namespace", "GET", "/v1/namespace/nope", "", 404, "Namespace not found"},
      {"deletion of no such namespace", "DELETE", "/v1/namespace/nope", "", 404, "Namespace not found"},
      {"a negative offset", "GET", "/v1/client/fs/readat/" + world.allocation_of("web") + "?path=x&offset=-5", "", 400,
       "parameter 'offset' is no whole number"},
      {"exec without command", "GET", "/v1/client/allocation/" + world.allocation_of("web") + "/exec?task=t", "", 400,
       "missing command"},
      {"exec with an empty one", "GET",
       "/v1/client/allocation/" + world.allocation_of("web") + "/exec?task=t&command=[]", "", 400, "missing command"},
      {"a node that is not linked", "GET", "/v1/client/fs/ls/" + world.allocation_of("web"), "", 503,
       "node 'c1' is not linked"},
      {"cluster of another name", "PUT", "/v1/underway/cluster/x", R"({"Cluster":{"Name":"y"},"Jobs":[]})", 400,
       "does not match the path"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto response = world.send(c.method, c.target, c.body);
    EXPECT_EQ(response.status, c.status);
    EXPECT_NE(response.body.find(c.text), std::string::npos) << response.body;
    EXPECT_EQ(header(response, "Content-Type").find("text/plain"), 0u);
  }
}

TEST(ParseJob, TurnsAFileIntoTheJobThatItMeans) {
  World world;
  const boost::json::object body{{"JobHCL",
                                  "variable \"n\" { default = 1 }\njob \"web\" {\n  group \"g\" {\n    count = var.n\n "
                                  "   task \"t\" {\n      driver = "
                                  "\"raw_exec\"\n      config { command = \"/bin/true\" }\n    }\n  }\n}\n"},
                                 {"Variables", "n = 3\n"}};
  const auto response = world.put("/v1/jobs/parse", boost::json::serialize(body));
  ASSERT_EQ(response.status, 200) << response.body;
  const auto job = json::parse(response.body);
  EXPECT_EQ(job.at("ID").as_string(), "web");
  EXPECT_EQ(job.at("TaskGroups").at(0).at("Count").as_int64(), 3);
  // What parsing answers is what registering takes.
  EXPECT_EQ(world.put("/v1/jobs", "{\"Job\":" + response.body + "}").status, 200);
}

TEST(ParseJob, RefusesWithThePlaceOfEveryError) {
  World world;
  const auto response =
      world.put("/v1/jobs/parse", R"({"JobHCL":"job \"web\" {\n  groop \"g\" {}\n  priority = \"x\"\n}"})");
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("job.hcl:2"), std::string::npos) << response.body;
  EXPECT_NE(response.body.find("groop"), std::string::npos) << response.body;
}

TEST(ValidateJob, ListsProblemsAndIsNoRefusal) {
  World world;
  model::Job job = make_job("web");
  job.groups[0].tasks[0].driver.clear();
  job.priority = 1000;
  const auto response = world.put("/v1/validate/job", World::job_body(job));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(json::parse(response.body).at("ValidationErrors").as_array().size(), 2u) << response.body;
  const auto good = json::parse(world.put("/v1/validate/job", World::job_body(make_job("web"))).body);
  EXPECT_TRUE(good.at("ValidationErrors").is_null());
  EXPECT_EQ(good.at("Error").as_string(), "");
}

TEST(StopJob, StopsOrForgets) {
  World world;
  world.run(make_job("web"));
  const auto stopped = json::parse(world.send("DELETE", "/v1/job/web").body);
  EXPECT_TRUE(is_uuid(std::string_view(stopped.at("EvalID").as_string())));
  EXPECT_TRUE(world.read("/v1/job/web").at("Stop").as_bool());
  EXPECT_EQ(world.send("DELETE", "/v1/job/web?purge=true").status, 200);
  EXPECT_EQ(world.get("/v1/job/web").status, 404);
}

TEST(Nodes, AreMadeIneligibleAndForgotten) {
  World world;
  world.join(make_node(1));
  const auto path = "/v1/node/" + uuid(1);
  EXPECT_EQ(world.put(path + "/eligibility", R"({"Eligibility":"ineligible"})").status, 200);
  EXPECT_EQ(world.read(path).at("SchedulingEligibility").as_string(), "ineligible");
  world.apply(server::MarkNodesDown{{uuid(1)}, "gone"});
  EXPECT_EQ(world.put(path + "/purge", "").status, 200);
  EXPECT_EQ(world.get(path).status, 404);
}

TEST(Nodes, AreDrainedAndTakenBack) {
  World world;
  world.join(make_node(1));
  const auto path = "/v1/node/" + uuid(1);
  // As Nomad's command line sends it.
  const auto begun = world.put(path + "/drain", R"({"NodeID":"","DrainSpec":{"Deadline":3600000000000,
      "IgnoreSystemJobs":true},"MarkEligible":false,"Meta":{"message":"cooling"}})");
  EXPECT_EQ(begun.status, 200);
  EXPECT_GT(json::parse(begun.body).at("NodeModifyIndex").to_number<std::int64_t>(), 0);
  const auto node = world.read(path);
  EXPECT_EQ(node.at("SchedulingEligibility").as_string(), "ineligible");
  EXPECT_EQ(node.at("DrainStrategy").at("Deadline").to_number<std::int64_t>(), 3'600'000'000'000);
  EXPECT_TRUE(node.at("DrainStrategy").at("IgnoreSystemJobs").as_bool());
  EXPECT_EQ(node.at("LastDrain").at("Meta").at("message").as_string(), "cooling");
  EXPECT_TRUE(world.read("/v1/nodes").at(0).at("Drain").as_bool());
  EXPECT_EQ(world.put(path + "/eligibility", R"({"Eligibility":"eligible"})").status, 409);
  EXPECT_EQ(world.put(path + "/drain", R"({"DrainSpec":null,"MarkEligible":true})").status, 200);
  EXPECT_EQ(world.read(path).at("SchedulingEligibility").as_string(), "eligible");
  EXPECT_EQ(world.read(path).at("LastDrain").at("Status").as_string(), "canceled");
}

TEST(SystemGc, ForgetsWhatIsOver) {
  World world;
  world.run(make_job("web"));
  world.send("DELETE", "/v1/job/web");
  EXPECT_EQ(world.put("/v1/system/gc", "").status, 200);
  EXPECT_EQ(world.get("/v1/job/web").status, 404);
}

// --- clusters

std::string cluster_body(const std::vector<model::Job>& jobs) {
  std::string body = R"({"Cluster":{"Name":"hpc","Networks":[{"Name":"management","CIDR":"10.77.0.0/24"}],)"
                     R"("Pools":[{"Name":"compute","Size":2,"Hostname":"c%d"}]},"Jobs":[)";
  for (std::size_t i = 0; i < jobs.size(); ++i) body += (i > 0 ? "," : "") + World::job_body(jobs[i]);
  return body + "]}";
}

std::vector<std::string> strings(const boost::json::value& list) {
  std::vector<std::string> out;
  for (const auto& element : list.as_array()) out.emplace_back(element.as_string());
  return out;
}

TEST(Clusters, AreAppliedPlannedAndTakenDown) {
  World world;
  const std::string path = "/v1/underway/cluster/hpc";
  const auto first = world.put(path, cluster_body({make_job("munge"), make_job("slurmd")}));
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(strings(json::parse(first.body).at("Registered")), (std::vector<std::string>{"munge", "slurmd"}));

  const auto nothing =
      json::parse(world.put(path + "/plan", cluster_body({make_job("munge"), make_job("slurmd")})).body);
  EXPECT_FALSE(nothing.at("Changes").as_bool()) << boost::json::serialize(nothing);
  EXPECT_EQ(strings(nothing.at("Unchanged")), (std::vector<std::string>{"munge", "slurmd"}));

  const auto plan = json::parse(world.put(path + "/plan", cluster_body({make_job("slurmd", 3)})).body);
  EXPECT_TRUE(plan.at("Changes").as_bool());
  EXPECT_EQ(plan.at("Jobs").at(0).at("ID").as_string(), "slurmd");
  EXPECT_EQ(strings(plan.at("Stopped")), (std::vector<std::string>{"munge"}));
  EXPECT_FALSE(world.tables().find_job("default", "munge")->stop);

  const auto second = json::parse(world.put(path, cluster_body({make_job("slurmd", 3)})).body);
  EXPECT_EQ(strings(second.at("Stopped")), (std::vector<std::string>{"munge"}));
  EXPECT_EQ(world.read("/v1/underway/clusters").at(0).at("Name").as_string(), "hpc");

  EXPECT_EQ(world.send("DELETE", path).status, 200);
  EXPECT_TRUE(world.tables().find_job("default", "slurmd")->stop);
  EXPECT_TRUE(world.read(path).at("Stop").as_bool());
}

TEST(Clusters, ArePlannedAsTheyWouldBeApplied) {
  World world;
  const std::string path = "/v1/underway/cluster/hpc";
  auto night = make_job("night", 1, model::JobType::batch);
  night.parameterized.emplace();
  const auto body = cluster_body({night});
  ASSERT_EQ(world.put(path, body).status, 200);
  ASSERT_EQ(world.put("/v1/job/night/dispatch", "{}").status, 200);
  ASSERT_EQ(world.tables().jobs().size(), 2U);
  const auto running = json::parse(world.put(path + "/plan", body).body);
  EXPECT_FALSE(running.at("Changes").as_bool()) << "what it started runs on: " << boost::json::serialize(running);

  // The same id in another namespace is another job.
  ASSERT_EQ(world.put("/v1/namespace", R"({"Name":"other"})").status, 200);
  auto elsewhere = make_job("web");
  elsewhere.ns = "other";
  ASSERT_EQ(world.put(path, cluster_body({night, make_job("web"), elsewhere})).status, 200);
  const auto without = cluster_body({night, make_job("web")});
  const auto plan = json::parse(world.put(path + "/plan", without).body);
  EXPECT_EQ(strings(plan.at("Stopped")), (std::vector<std::string>{"web"}));
  EXPECT_EQ(strings(json::parse(world.put(path, without).body).at("Stopped")), (std::vector<std::string>{"web"}));
  EXPECT_TRUE(world.tables().find_job("other", "web")->stop);
  EXPECT_FALSE(world.tables().find_job("default", "web")->stop);
}

TEST(Clusters, AndTheirFilesAreOneCommit) {
  World world;
  async::Pool pool{1};
  files::FileService files(world.server, world.loop.executor(), pool, world.ids);
  world.api.files = &files;
  const auto with = [](const wire::FileBody& file) {
    auto body = json::parse(cluster_body({make_job("munge")}));
    body.as_object()["Files"] = boost::json::array{json::to_value(file)};
    return boost::json::serialize(body);
  };
  const std::string path = "/v1/underway/cluster/hpc";
  wire::FileBody motd;
  motd.file.name = "/etc/motd";
  motd.sent = model::SentBytes{std::string(64, 'a'), 5'000'000, {"never-sent"}};
  const auto refused = world.put(path, with(motd));
  EXPECT_NE(refused.status, 200);
  EXPECT_FALSE(world.tables().find_cluster("hpc")) << refused.body;

  motd.sent.reset();
  motd.content = "aGVsbG8K";
  const auto plan = json::parse(world.put(path + "/plan", with(motd)).body);
  EXPECT_EQ(strings(plan.at("Files")), (std::vector<std::string>{"file /etc/motd: added"}));
  ASSERT_EQ(world.put(path, with(motd)).status, 200);
  const auto kept = tables::find_record<model::FileDeclaration>(world.tables(), model::file_key("hpc", "/etc/motd"));
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->create_index, world.tables().find_cluster("hpc")->modify_index);
}

TEST(Clusters, WithOneBadJobOrACycleAreNotApplied) {
  World world;
  model::Job bad = make_job("bad");
  bad.groups[0].tasks[0].driver.clear();
  const auto response = world.put("/v1/underway/cluster/hpc", cluster_body({make_job("good"), bad}));
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("job 'bad'"), std::string::npos) << response.body;
  const auto cycle =
      world.put("/v1/underway/cluster/hpc", cluster_body({server::testing::depending_on(make_job("a"), "b"),
                                                          server::testing::depending_on(make_job("b"), "a")}));
  EXPECT_NE(cycle.body.find("a → b → a"), std::string::npos) << cycle.body;
  EXPECT_TRUE(world.tables().jobs().empty());
  EXPECT_EQ(world.get("/v1/underway/cluster/hpc").status, 404);
}

TEST(Clusters, RefuseStanzasOfTheirJobs) {
  World world;
  auto body = json::parse(cluster_body({make_job("munge")}));
  body.at("Jobs").at(0).at("Job").as_object()["Multiregion"] = boost::json::object{{"Regions", boost::json::array{1}}};
  const auto response = world.put("/v1/underway/cluster/hpc", boost::json::serialize(body));
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("Multiregion: it is for several regions"), std::string::npos) << response.body;
}

TEST(Clusters, SayThatAHostHasNotJoinedYet) {
  World world;
  world.apply([](const tables::Tables&, const server::Context&) {
    server::Decision<server::Nothing> decision;
    model::Host host;
    host.name = "c1";
    host.cluster = "hpc";
    host.status = model::HostStatus::creating;
    decision.changes.push_back(tables::PutHost{host});
    return decision;
  });
  EXPECT_EQ(world.read("/v1/underway/hosts?cluster=hpc").as_array().size(), 1u);
  EXPECT_EQ(world.read("/v1/underway/host/hpc/c1").at("Status").as_string(), "creating");
  const auto response = world.get("/v1/underway/host/hpc/c1/exec?command=[\"id\"]");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body, "the agent of host 'c1' has not joined yet: the host is creating");
}

}  // namespace
}  // namespace underway::api::testing
