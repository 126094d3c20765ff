// What clients that others wrote for Nomad rest on, found by running them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using ::testing::HasSubstr;

std::string text(const boost::json::value& value, const char* key) {
  return std::string(std::string_view(value.at(key).as_string()));
}

const boost::json::value& first(const boost::json::value& list) { return list.as_array().at(0); }

TEST(ForeignClients, AJobThatIsNotThereHasStopped) {
  World world;
  const auto gone = world.send("DELETE", "/v1/job/nope");
  ASSERT_EQ(gone.status, 200) << gone.body;
  EXPECT_EQ(text(json::parse(gone.body), "EvalID"), "");
  world.join(make_node(1));
  world.run(make_job("web", 1));
  EXPECT_EQ(world.send("DELETE", "/v1/job/nope?eval_priority=0").status, 200) << "which says nothing";
  EXPECT_EQ(world.send("DELETE", "/v1/job/web?eval_priority=101").status, 400);
  EXPECT_FALSE(world.read("/v1/job/web").at("Stop").as_bool());
  const auto stopped = json::parse(world.send("DELETE", "/v1/job/web?eval_priority=97").body);
  EXPECT_EQ(world.read("/v1/evaluation/" + text(stopped, "EvalID")).at("Priority").as_int64(), 97);
}

TEST(ForeignClients, EveryAnswerSaysThatThereIsALeader) {
  World world;
  EXPECT_EQ(world.get("/v1/status/leader").headers.find("X-Nomad-KnownLeader"), "true");
  EXPECT_EQ(world.get("/v1/jobs").headers.find("X-Nomad-KnownLeader"), "true");
  EXPECT_EQ(world.get("/v1/operator/keyring/keys").headers.find("X-Nomad-LastContact"), "0");
}

TEST(ForeignClients, AListInWhichNothingEverWasSaysSo) {
  World world;
  for (const char* list : {"/v1/allocations", "/v1/evaluations", "/v1/job/web/allocations", "/v1/job/web/evaluations"})
    EXPECT_EQ(world.get(list).headers.find("X-Nomad-Index"), "0") << list;
  EXPECT_EQ(world.get("/v1/jobs").headers.find("X-Nomad-Index"), "1");
  world.join(make_node(1));
  world.run(make_job("web", 1));
  EXPECT_NE(world.get("/v1/allocations").headers.find("X-Nomad-Index"), "0");
  EXPECT_FALSE(world.read("/v1/allocation/" + world.allocation_of("web")).at("NetworkStatus").is_null());
}

TEST(ForeignClients, AnAllocationIsStoppedByTheNameOfRescheduling) {
  World world;
  world.join(make_node(1));
  world.run(make_job("web", 1));
  const std::string id = world.allocation_of("web");
  ASSERT_EQ(world.put("/v1/allocation/" + id + "/stop?reschedule=true", "").status, 200);
  EXPECT_TRUE(world.read("/v1/allocation/" + id).at("DesiredTransition").at("Reschedule").as_bool());
  EXPECT_NE(world.allocation_of("web"), id);
}

TEST(ForeignClients, WhatIsNotThereHasAnIndexToWaitFrom) {
  World world;
  const auto missing = world.get("/v1/job/nope");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.headers.find("X-Nomad-Index"), "1");
}

TEST(ForeignClients, ANodeTellsOfItsDrainAndItsHistory) {
  World world;
  world.join(make_node(1));
  const std::string node = "/v1/node/" + uuid(1);
  EXPECT_FALSE(world.read(node).at("Drain").as_bool());
  EXPECT_TRUE(world.read("/v1/nodes").at(0).at("LastDrain").is_null());
  world.run(make_job("web", 1));  // so that the drain takes its time
  ASSERT_EQ(world.put(node + "/drain", R"({"DrainSpec": {"Deadline": 60000000000}})").status, 200);
  const auto draining = world.read(node);
  EXPECT_TRUE(draining.at("Drain").as_bool());
  EXPECT_EQ(text(draining.at("Events").at(0), "Message"), "Node registered");
  EXPECT_EQ(text(draining.at("Events").at(1), "Message"), "Node drain strategy set");
  EXPECT_EQ(text(draining.at("Events").at(1), "Subsystem"), "Drain");
  EXPECT_EQ(text(world.read("/v1/nodes").at(0).at("LastDrain"), "Status"), "draining");
  EXPECT_EQ(text(draining.at("NodeResources").at("Networks").at(0), "IP"), "10.0.0.1");
  EXPECT_EQ(draining.at("Resources").at("CPU"), draining.at("NodeResources").at("Cpu").at("CpuShares"));
  EXPECT_NE(text(draining.at("Drivers").at("raw_exec"), "UpdateTime"), "0001-01-01T00:00:00Z");
  ASSERT_EQ(world.put(node + "/drain", R"({"DrainSpec": null, "MarkEligible": true})").status, 200);
  EXPECT_EQ(text(world.read(node).at("Events").as_array().back(), "Message"), "Node marked as eligible for scheduling");
  EXPECT_EQ(text(first(world.read(node + "/allocations")).at("Job"), "ID"), "web");
}

TEST(ForeignClients, AJobIsParsedBeforeItIsWhole) {
  World world;
  const auto parsed = world.put("/v1/jobs/parse", R"({"JobHCL": "job \"example\" {}"})");
  ASSERT_EQ(parsed.status, 200) << parsed.body;
  EXPECT_EQ(text(json::parse(parsed.body), "ID"), "example");
  EXPECT_EQ(text(json::parse(parsed.body), "Name"), "example");
}

TEST(ForeignClients, WhatIsNoRaftPeerIsNotFound) {
  World world;
  const auto answer = world.send("DELETE", "/v1/operator/raft/peer?id=nope");
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.body, HasSubstr("id \"nope\" was not found in the Raft configuration"));
  EXPECT_EQ(world.send("DELETE", "/v1/operator/raft/peer?id=test").status, 501);
}

TEST(ForeignClients, MetricsHaveACounterAndASample) {
  World world;
  world.read("/v1/jobs");
  const auto metrics = world.read("/v1/metrics");
  EXPECT_EQ(text(first(metrics.at("Counters")), "Name"), "underway.http.requests");
  EXPECT_EQ(first(metrics.at("Counters")).at("Count").as_int64(), 1);
  EXPECT_EQ(text(first(metrics.at("Samples")), "Name"), "underway.http.request_seconds");
  EXPECT_THAT(world.get("/v1/metrics?format=prometheus").body, HasSubstr("\nunderway_http_requests_total 2\n"));
}

TEST(ForeignClients, NothingIsOnANodeThatIsNotKnown) {
  World world;
  EXPECT_TRUE(world.read("/v1/node/" + uuid(9) + "/allocations").as_array().empty());
  EXPECT_TRUE(world.read("/v1/evaluation/" + uuid(9) + "/allocations").as_array().empty());
}

TEST(ForeignClients, AnotherRegionIsNotServed) {
  World world;
  EXPECT_EQ(world.get("/v1/jobs?region=global").status, 200);
  const auto other = world.get("/v1/jobs?region=mars");
  EXPECT_EQ(other.status, 500);
  EXPECT_THAT(other.body, HasSubstr("No path to region"));
}

TEST(ForeignClients, AnAgentTellsOfItselfInNomadsWords) {
  World world;
  world.join(make_node(1));
  const auto self = world.read("/v1/agent/self");
  EXPECT_EQ(text(self.at("config"), "Region"), "global");
  EXPECT_EQ(text(self.at("config"), "Datacenter"), "dc1");
  EXPECT_EQ(text(self.at("stats").at("nomad"), "leader"), "true");
  EXPECT_EQ(text(self.at("member").at("Tags"), "role"), "nomad");
  EXPECT_THAT(world.get("/v1/metrics?format=prometheus").body,
              HasSubstr("\nnomad_nomad_job_status_running{host=\"test\"} 0\n"));
}

TEST(ForeignClients, PoliciesOfAJobAreSpelledOut) {
  World world;
  auto job = make_job("web", 1);
  job.update = model::UpdateStrategy{};
  job.update->max_parallel = 3;
  world.run(job);
  const auto read = world.read("/v1/job/web");
  EXPECT_EQ(read.at("Update").at("Canary").as_int64(), 0);
  const auto& group = first(read.at("TaskGroups"));
  EXPECT_EQ(group.at("Update").at("MaxParallel").as_int64(), 3);
  EXPECT_FALSE(group.at("Update").at("AutoPromote").as_bool());
  EXPECT_EQ(text(group.at("Migrate"), "HealthCheck"), "checks");
  EXPECT_TRUE(group.at("ReschedulePolicy").at("Unlimited").as_bool());
  EXPECT_TRUE(read.at("Payload").is_null());
  const auto again = json::parse(world.put("/v1/job/web/plan", World::job_body(job, R"(,"Diff":true)")).body);
  EXPECT_EQ(text(again.at("Diff"), "Type"), "None") << "the same job differs from itself";
}

TEST(ForeignClients, EmptyWordsOfGoMeanWhatMissingOnesMean) {
  World world;
  const auto made = world.put("/v1/jobs", R"({"Job":{"ID":"z","Type":"service","NodePool":"","Region":"",
    "Datacenters":[],"Constraints":[{"LTarget":"${attr.kernel.name}","Operand":"","RTarget":"linux"}],
    "TaskGroups":[{"Name":"g","Networks":[{"Mode":"","DynamicPorts":[{"Label":"p"}]}],
      "Services":[{"Name":"s","Provider":"","AddressMode":"","PortLabel":"p",
                   "Checks":[{"Type":"http","Path":"/","Protocol":"","Interval":10000000000,"Timeout":1000000000}]}],
      "Tasks":[{"Name":"t","Driver":"raw_exec","Config":{"command":"/bin/true"},
                "Lifecycle":{"Hook":"","Sidecar":false},
                "Templates":[{"EmbeddedTmpl":"x","DestPath":"local/x","Perms":""}],
                "Artifacts":[{"GetterSource":"http://127.0.0.1/x","GetterMode":"","RelativeDest":"local/"}]}]}]}})");
  ASSERT_EQ(made.status, 200) << made.body;
  const auto job = world.read("/v1/job/z");
  EXPECT_EQ(text(job, "NodePool"), "default");
  EXPECT_EQ(text(job, "Region"), "global");
  EXPECT_EQ(first(job.at("Datacenters")).as_string(), "*");
  EXPECT_EQ(text(first(job.at("Constraints")), "Operand"), "=");
  const auto& group = first(job.at("TaskGroups"));
  EXPECT_EQ(text(first(group.at("Networks")), "Mode"), "host");
  EXPECT_EQ(text(first(group.at("Services")), "Provider"), "nomad");
  const auto& task = first(group.at("Tasks"));
  EXPECT_TRUE(task.at("Lifecycle").is_null());
  EXPECT_EQ(text(first(task.at("Templates")), "Perms"), "0644");
  EXPECT_EQ(text(first(task.at("Artifacts")), "GetterMode"), "any");
}

TEST(ForeignClients, ParsingFillsNothingInUnlessItIsAsked) {
  World world;
  const std::string body =
      R"({"JobHCL":"job \"x\" {\n group \"g\" {\n task \"t\" {\n driver = \"raw_exec\"\n }\n }\n}\n")";
  const auto plain = json::parse(world.put("/v1/jobs/parse", body + "}").body);
  EXPECT_EQ(text(plain, "ID"), "x");
  EXPECT_TRUE(plain.at("Namespace").is_null());
  EXPECT_TRUE(plain.at("Priority").is_null());
  const auto whole = json::parse(world.put("/v1/jobs/parse", body + R"(,"Canonicalize":true})").body);
  EXPECT_EQ(text(whole, "Namespace"), "default");
  EXPECT_EQ(first(whole.at("TaskGroups")).at("ReschedulePolicy").at("Attempts").as_int64(), 0);
}

TEST(ForeignClients, ParsingKeepsWhatIsSaidThoughItIsTheDefault) {
  World world;
  const boost::json::object body{
      {"JobHCL",
       "job \"x\" {\n priority = 50\n group \"g\" {\n count = 1\n task \"t\" {\n driver = \"raw_exec\"\n }\n }\n}\n"}};
  const auto parsed = json::parse(world.put("/v1/jobs/parse", boost::json::serialize(body)).body);
  EXPECT_EQ(parsed.at("Priority"), 50);
  EXPECT_EQ(first(parsed.at("TaskGroups")).at("Count"), 1);
  EXPECT_TRUE(first(parsed.at("TaskGroups")).at("RestartPolicy").is_null());
}

TEST(ForeignClients, NamesInEnvelopesAreReadInAnyCase) {
  World world;
  world.join(make_node(1));
  const std::string job =
      R"({"id":"low","type":"batch","datacenters":["*"],"meta":{"Key":"1","key":"2"},"taskGroups":[{"NAME":"g",)"
      R"("tasks":[{"name":"t","driver":"raw_exec","CONFIG":{"command":"/bin/true"},)"
      R"("env":{"a":"1","A":"2"}}]}]})";
  const auto registered =
      world.put("/v1/jobs", R"({"job":)" + job + R"(,"enforceindex":true,"jobmodifyindex":0,"EVALPRIORITY":60,)" +
                                R"("submission":{"source":"text","format":"hcl2"}})");
  ASSERT_EQ(registered.status, 200) << registered.body;
  EXPECT_EQ(world.read("/v1/evaluation/" + text(json::parse(registered.body), "EvalID")).at("Priority"), 60);
  const auto read = world.read("/v1/job/low");
  EXPECT_EQ(read.at("Meta").as_object().size(), 2u) << "the keys of maps are themselves";
  EXPECT_EQ(first(first(read.at("TaskGroups")).at("Tasks")).at("Env").as_object().size(), 2u);
  EXPECT_EQ(text(world.read("/v1/job/low/submission"), "Source"), "text");
  EXPECT_EQ(world.put("/v1/jobs", R"({"JOB":)" + job + R"(,"enforceIndex":true,"jobModifyIndex":0})").status, 409);
  EXPECT_EQ(world.put("/v1/job/low/plan", R"({"job":)" + job + R"(,"diff":true})").status, 200);
  EXPECT_EQ(world.put("/v1/validate/job", R"({"job":)" + job + "}").status, 200);
  EXPECT_EQ(world.put("/v1/jobs/parse", R"({"jobhcl":"job \"a\" {}","CANONICALIZE":true})").status, 200);
  EXPECT_EQ(world.put("/v1/job/low/scale", R"({"target":{"group":"g"},"count":2,"message":"more"})").status, 200);
  EXPECT_EQ(first(world.read("/v1/job/low").at("TaskGroups")).at("Count"), 2);
  EXPECT_EQ(world.put("/v1/job/low/evaluate", R"({"evaloptions":{"forcereschedule":true}})").status, 200);
  EXPECT_EQ(world.put("/v1/job/low/revert", R"({"jobversion":0})").status, 200);
  EXPECT_EQ(world.put("/v1/node/" + uuid(1) + "/eligibility", R"({"eligibility":"ineligible"})").status, 200);
  EXPECT_EQ(world.put("/v1/node/" + uuid(1) + "/drain", R"({"drainspec":{"deadline":1000}})").status, 200);
  EXPECT_EQ(world.put("/v1/var/a/b", R"({"items":{"K":"1","k":"2"}})").status, 200);
  EXPECT_EQ(world.read("/v1/var/a/b").at("Items").as_object().size(), 2u);
  EXPECT_EQ(
      first(json::parse(world.put("/v1/search", R"({"prefix":"lo","context":"jobs"})").body).at("Matches").at("jobs")),
      "low");
}

TEST(ForeignClients, AnUnchangedJobNamesItsDeployment) {
  World world;
  world.join(make_node(1));
  auto job = make_job("web", 1);
  const auto evaluation = [&](const http::Response& response) {
    return world.read("/v1/evaluation/" + text(json::parse(response.body), "EvalID"));
  };
  const std::string deployment = text(evaluation(world.run(job)), "DeploymentID");
  ASSERT_FALSE(deployment.empty());
  EXPECT_EQ(text(evaluation(world.run(job)), "DeploymentID"), deployment) << "who waits for it goes on at once";
  EXPECT_EQ(text(evaluation(world.put("/v1/job/web/evaluate", "{}")), "DeploymentID"), deployment);
  EXPECT_EQ(text(evaluation(world.send("DELETE", "/v1/job/web")), "DeploymentID"), deployment);
  EXPECT_EQ(text(world.read("/v1/deployment/" + deployment), "Status"), "cancelled");
}

TEST(ForeignClients, TheNewestEvaluationIsTheOneThatWaits) {
  World world;
  for (int i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    const std::string id = fmt::format("web-{}", i);
    world.run(make_job(id, 1));  // there is no node for it
    const auto of_job = world.read("/v1/job/" + id + "/evaluations");
    ASSERT_EQ(of_job.as_array().size(), 2u);
    EXPECT_EQ(text(first(of_job), "Status"), "blocked");
    EXPECT_EQ(text(of_job.at(1), "BlockedEval"), text(first(of_job), "ID"));
    EXPECT_LT(of_job.at(1).at("CreateTime").as_int64(), first(of_job).at("CreateTime").as_int64());
    const auto newest_first = world.read("/v1/evaluations?reverse=true&job=" + id);
    EXPECT_EQ(text(first(newest_first), "Status"), "blocked");
    EXPECT_EQ(text(first(world.read("/v1/evaluations?job=" + id)), "Status"), "complete") << "the oldest first";
  }
}

TEST(ForeignClients, PagesOfEvaluationsGoOnWithinARevision) {
  World world;
  for (int i = 0; i < 4; ++i) world.run(make_job(fmt::format("web-{}", i), 1));
  for (const char* reverse : {"", "&reverse=true"}) {
    std::vector<std::string> whole, paged;
    const auto list = world.read(std::string("/v1/evaluations?") + reverse);
    for (const auto& row : list.as_array()) whole.push_back(text(row, "ID"));
    std::string token;
    do {
      const auto page = world.get(fmt::format("/v1/evaluations?per_page=1&next_token={}{}", token, reverse));
      paged.push_back(text(first(json::parse(page.body)), "ID"));
      token = header(page, "X-Nomad-NextToken");
    } while (!token.empty() && paged.size() < 20);
    EXPECT_EQ(paged, whole);
  }
  // The element that a token names may be gone: nothing is passed over.
  const auto all = world.read("/v1/evaluations");
  const auto index = all.at(0).at("CreateIndex").as_int64();
  const auto rest = world.read(fmt::format("/v1/evaluations?next_token={}.{}", index, uuid(98)));
  EXPECT_EQ(rest.as_array().size(), all.as_array().size());
}

TEST(ForeignClients, TheLeaderIsAmongTheMembers) {
  World world;
  const auto member = first(world.read("/v1/agent/members").at("Members"));
  const auto& tags = member.at("Tags");
  EXPECT_EQ(text(member, "Addr") + ":" + text(tags, "port"), world.read("/v1/status/leader").as_string());
  EXPECT_EQ(text(tags, "rpc_addr") + ":" + text(tags, "port"), world.read("/v1/status/peers").at(0).as_string());
  for (const char* tag : {"role", "region", "dc", "id", "build", "expect", "raft_vsn", "vsn"})
    EXPECT_FALSE(text(tags, tag).empty()) << tag;
  EXPECT_EQ(text(tags, "id"), text(first(world.read("/v1/operator/raft/configuration").at("Servers")), "ID"));
  EXPECT_EQ(text(tags, "build"), text(world.read("/v1/agent/self").at("config").at("Version"), "Version"));
}

TEST(ForeignClients, PlansAndEvaluationsNameWhatTheyLedTo) {
  World world;
  const auto plan = json::parse(world.put("/v1/job/web/plan", World::job_body(make_job("web", 1))).body);
  ASSERT_EQ(plan.at("CreatedEvals").as_array().size(), 1u) << "no node: it would wait";
  EXPECT_EQ(text(first(plan.at("CreatedEvals")), "Status"), "blocked");
  const std::string id = text(json::parse(world.run(make_job("web", 1)).body), "EvalID");
  const auto evaluation = world.read("/v1/evaluation/" + id + "?related=true");
  EXPECT_EQ(text(first(evaluation.at("RelatedEvals")), "ID"), text(evaluation, "BlockedEval"));
  EXPECT_EQ(world.read("/v1/evaluation/" + id).as_object().if_contains("RelatedEvals"), nullptr);
}

TEST(ForeignClients, AllocationsTellOfTheirNetworks) {
  World world;
  world.join(make_node(1));
  auto job = make_job("web", 1);
  job.groups[0].networks.resize(1);
  job.groups[0].networks[0].dynamic_ports = {{"http", 0, 0, "default", false}};
  world.run(job);
  const auto resources = world.read("/v1/allocation/" + world.allocation_of("web")).at("AllocatedResources");
  const auto& shared = resources.at("Shared");
  EXPECT_EQ(first(first(shared.at("Networks")).at("DynamicPorts")).at("Value"), first(shared.at("Ports")).at("Value"));
}

TEST(ForeignClients, NodesTellOfTheirPortsAndWhatIsKeptBack) {
  World world;
  world.join(make_node(1));
  const auto node = first(world.read("/v1/nodes?resources=true"));
  EXPECT_EQ(node.at("NodeResources").at("MinDynamicPort").as_int64(), 20000);
  EXPECT_TRUE(node.at("ReservedResources").is_object());
}

TEST(ForeignClients, ATopicHasOneKey) {
  World world;
  const auto refused = world.get("/v1/event/stream?topic=Evaluation:::*");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("Invalid key value pair"));
}

class ForeignTokens : public AccessTest {};

TEST_F(ForeignTokens, AreMadeWithoutExpiryByAnEmptyOneAndKeepTheirs) {
  make_token("root", "");
  world.token = "root";
  const auto made = world.put("/v1/acl/token", R"({"Name":"x","Type":"management","ExpirationTTL":""})");
  ASSERT_EQ(made.status, 200) << made.body;
  const std::string id = text(json::parse(made.body), "AccessorID");
  EXPECT_EQ(json::parse(made.body).at("ExpirationTTL"), "");
  EXPECT_TRUE(json::parse(made.body).at("ExpirationTime").is_null()) << "there, as clients read it unasked";
  EXPECT_EQ(status("PUT", "/v1/acl/token/" + id,
                   R"({"AccessorID":")" + id + R"(","Name":"x","Type":"management","ExpirationTTL":"5m"})"),
            400);
}

}  // namespace
}  // namespace underway::api::testing
