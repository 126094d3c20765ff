#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "cli/alloc/failing_tasks.hpp"
#include "cli/cluster/rollouts_of_change.hpp"
#include "cli/deployment/text.hpp"
#include "cli/event/event_text.hpp"
#include "cli/impact/dependents.hpp"
#include "cli/job/explanation_text.hpp"

namespace underway::cli {
namespace {

model::Deployment rollout() {
  model::Deployment deployment;
  deployment.id = "1a2b3c4d-0000-4000-8000-000000000000";
  deployment.job_id = "slurmd";
  deployment.job_version = 3;
  deployment.status_description = "Deployment is running";
  auto& state = deployment.groups["slurmd"];
  state.desired_total = 6;
  state.placed_allocs = 4;
  state.healthy_allocs = 3;
  return deployment;
}

TEST(DeploymentLines, SayHowFarEachGroupIs) {
  auto deployment = rollout();
  EXPECT_EQ(deployment_lines(deployment),
            (std::vector<std::string>{"    Deployment 1a2b3c4d of slurmd version 3: running: Deployment is running",
                                      "      slurmd [##########..........] 3 of 6 healthy, 4 placed"}));
  auto& state = deployment.groups["slurmd"];
  state.unhealthy_allocs = 1;
  state.desired_canaries = 1;
  state.placed_canaries = {"x"};
  state.require_progress_by = 1'000'000'000LL * 3600;
  EXPECT_EQ(deployment_lines(deployment)[1],
            "      slurmd [##########..........] 3 of 6 healthy, 4 placed, 1 unhealthy, 1 of 1 canaries placed, to be "
            "promoted, by 01:00:00Z");
  deployment.status = model::DeploymentStatus::failed;
  EXPECT_EQ(deployment_lines(deployment)[1],
            "      slurmd [##########..........] 3 of 6 healthy, 4 placed, 1 unhealthy, 1 of 1 canaries placed")
      << "nothing is promised of what is over";
}

TEST(DeploymentLines, SayWhomItWaitsFor) {
  auto deployment = rollout();
  EXPECT_EQ(advice_for(deployment), "");
  deployment.groups["slurmd"].desired_canaries = 3;
  EXPECT_EQ(advice_for(deployment),
            "Look at the canaries, then: underway deployment promote 1a2b3c4d (or: underway deployment fail 1a2b3c4d)");
  deployment.groups["slurmd"].auto_promote = true;
  EXPECT_FALSE(waits_for_person(deployment));
  deployment.status = model::DeploymentStatus::paused;
  EXPECT_EQ(advice_for(deployment), "It goes on with: underway deployment resume 1a2b3c4d");
}

TEST(Verdict, SaysWhatWasTakenBack) {
  auto deployment = rollout();
  deployment.status = model::DeploymentStatus::successful;
  EXPECT_EQ(verdict_text(deployment, {}), "rollout of 'slurmd' version 3: successful");
  deployment.status = model::DeploymentStatus::failed;
  deployment.status_description = "Failed due to unhealthy allocations";
  EXPECT_EQ(verdict_text(deployment, {}),
            "rollout of 'slurmd' version 3: failed: Failed due to unhealthy allocations\n"
            "    do: underway job explain slurmd");
  deployment.status_description += " - rolling back to job version 1";
  auto back = rollout();
  back.job_version = 4;
  back.status_description = "Deployment completed successfully";
  EXPECT_EQ(
      verdict_text(deployment, back),
      "rollout of 'slurmd' version 3: failed: Failed due to unhealthy allocations - rolling back to job version 1\n"
      "    the job went back, as version 4: Deployment completed successfully\n"
      "    do: mend the file; applied again as it is, it brings the failed version again");
}

TEST(Trouble, IsToldOfAnAllocationThatIsInIt) {
  wire::AllocationStub allocation;
  EXPECT_EQ(trouble_of(allocation), std::nullopt) << "it has only just begun";
  allocation.waiting_for = "'munge' on this node";
  EXPECT_EQ(trouble_of(allocation), "waits for 'munge' on this node");
  allocation.waiting_for.clear();
  allocation.health.healthy = false;
  allocation.health.description = "check 'port' fails";
  EXPECT_EQ(trouble_of(allocation), "unhealthy: check 'port' fails");
  auto& task = allocation.task_states.emplace()["t"];
  task.restarts = 2;
  task.events.push_back({"Terminated", 0, "exit code 1", {}, 1, 0, false});
  EXPECT_EQ(trouble_of(allocation), "task 't' is being restarted (2 restarts): exit code 1");
  task.failed = true;
  EXPECT_EQ(trouble_of(allocation), "task 't' failed (2 restarts): exit code 1");
  allocation.desired_status = model::DesiredStatus::stop;
  EXPECT_EQ(trouble_of(allocation), std::nullopt) << "nobody wants it any more";
  EXPECT_EQ(trouble_of(allocation, Look::afterwards), "check 'port' fails") << "why it counted as unhealthy";
  allocation.health.description.clear();
  EXPECT_EQ(trouble_of(allocation, Look::afterwards), "task 't' failed (2 restarts): exit code 1");
}

TEST(Trouble, IsToldOfWhatFailedFirstAndNotOfWhatFollowedFromIt) {
  wire::AllocationStub allocation;
  allocation.client_status = model::ClientStatus::failed;
  auto& tasks = allocation.task_states.emplace();
  auto& slurmd = tasks["slurmd"];
  slurmd.failed = true;
  slurmd.events.push_back(
      {"Driver Failure", 1, "cannot run '/nonexistent/slurmd': No such file or directory", {}, 0, 0, false});
  slurmd.events.push_back({"Not Restarting", 2, "Error was unrecoverable", {}, 0, 0, true});
  auto& beside = tasks["beside"];
  beside.failed = true;
  beside.events.push_back({"Sibling Task Failed", 3, "Task's sibling 'slurmd' failed", {}, 0, 0, false});
  beside.events.push_back({"Killed", 4, "Task successfully killed", {}, 0, 0, false});
  EXPECT_EQ(trouble_of(allocation),
            "task 'slurmd' failed: cannot run '/nonexistent/slurmd': No such file or directory");
  EXPECT_TRUE(is_hopeless({allocation}));
  slurmd.events.back().message = "Policy allows no restarts";
  EXPECT_FALSE(is_hopeless({allocation})) << "another try may help";
  slurmd.events.back().message = "Error was unrecoverable";
  allocation.desired_status = model::DesiredStatus::stop;
  EXPECT_FALSE(is_hopeless({allocation})) << "nobody wants it any more";
}

TEST(Trouble, TheLastLineOfALogIsTheLastThatIsNotEmpty) {
  EXPECT_EQ(last_line("one\n  two  \n\n"), "two");
  EXPECT_EQ(last_line("one"), "one");
  EXPECT_EQ(last_line("\n\n"), "");
}

TEST(Dependence, SaysWhatBecomesOfWhoDepends) {
  model::Job job;
  job.id = "slurmd";
  job.depends_on.push_back({"munge", model::DependencyScope::node, model::OnFailure::hold});
  job.depends_on.push_back({"slurmctld", model::DependencyScope::any, model::OnFailure::ignore});
  job.groups.resize(1);
  job.groups[0].name = "g";
  job.groups[0].depends_on.push_back({"munge", model::DependencyScope::any, model::OnFailure::stop});
  EXPECT_EQ(dependence(job, "munge"),
            (std::vector<std::string>{"slurmd (on the same node) runs on; what of it ends is not started again before",
                                      "slurmd, group 'g', is stopped too, until then"}));
  EXPECT_EQ(dependence(job, "slurmctld"), std::vector<std::string>{"slurmd runs on; only new allocations wait"});
  EXPECT_TRUE(dependence(job, "chronyd").empty());
}

TEST(EventText, IsALineForPeople) {
  const auto event = [](const std::string& topic, const std::string& type, const std::string& payload) {
    return json::parse(R"({"Topic":")" + topic + R"(","Type":")" + type +
                       R"(","Key":"k","Index":7,"Time":3600000000000,"Payload":{")" + topic + "\":" + payload + "}}");
  };
  struct Case {
    std::string topic, type, payload, text;
  };
  const std::vector<Case> cases = {
      {"Job", "JobRegistered", R"({"ID":"web","Version":2})",
       "1970-01-01T01:00:00Z job         web version 2 is registered"},
      {"Job", "JobDeregistered", R"({"ID":"web"})", "1970-01-01T01:00:00Z job         web is stopped"},
      {"Allocation", "AllocationUpdated",
       R"({"ID":"0123456789","Name":"web.g[0]","NodeName":"c1","ClientStatus":"failed","DesiredStatus":"run",
           "TaskStates":{"t":{"Failed":true,"Restarts":1,"Events":[{"Time":2,"DisplayMessage":"exit code 1"}]},
                         "s":{"Events":[{"Time":1,"DisplayMessage":"started"}]}}})",
       "1970-01-01T01:00:00Z allocation  web.g[0] 01234567 on c1: failed; t: exit code 1 (1 restart)"},
      {"Allocation", "PlanResult", R"({"ID":"0123456789","Name":"web.g[0]","NodeName":"c1"})",
       "1970-01-01T01:00:00Z allocation  web.g[0] 01234567 on c1: placed"},
      {"Allocation", "PlanResult",
       R"({"ID":"0123456789","Name":"web.g[0]","NodeName":"c1","ClientStatus":"running","DesiredStatus":"stop",
           "DesiredDescription":"alloc is being updated due to job update"})",
       "1970-01-01T01:00:00Z allocation  web.g[0] 01234567 on c1: running, to be stopped: alloc is being updated due "
       "to job "
       "update"},
      {"Host", "HostUpdated", R"({"Name":"c1","Cluster":"demo","Status":"running","NodeID":"x"})",
       "1970-01-01T01:00:00Z host        c1 of cluster demo: running, its agent has joined"},
      {"Evaluation", "EvaluationUpdated",
       R"({"ID":"0123456789","JobID":"web","TriggeredBy":"job-register","Status":"blocked",
           "FailedTGAllocs":{"g":{"CoalescedFailures":2}}})",
       "1970-01-01T01:00:00Z evaluation  01234567 of web (job-register): blocked; 3 of group g cannot be placed"},
      {"Deployment", "DeploymentStatusUpdate",
       R"({"ID":"0123456789","JobID":"web","JobVersion":2,"Status":"failed","StatusDescription":"because",
           "TaskGroups":{"g":{"DesiredTotal":3,"PlacedAllocs":2,"HealthyAllocs":1,"UnhealthyAllocs":1}}})",
       "1970-01-01T01:00:00Z deployment  01234567 of web version 2: failed: because; g 1 of 3 healthy, 2 placed, 1 "
       "unhealthy"},
      {"Node", "NodeEvent", R"({"ID":"0123456789","Name":"c1","Status":"down","StatusDescription":"not heard of"})",
       "1970-01-01T01:00:00Z node        c1 01234567: down: not heard of"},
      {"Service", "ServiceDeregistration",
       R"({"ServiceName":"page","AllocID":"0123456789","Address":"10.0.0.1","Port":80})",
       "1970-01-01T01:00:00Z service     page of 01234567 at 10.0.0.1:80 is gone"},
      {"Variable", "VariableUpserted", R"({"Path":"k"})", "1970-01-01T01:00:00Z variable    k VariableUpserted"},
      {"NodePool", "NodePoolUpserted", R"({"Name":"k"})", "1970-01-01T01:00:00Z nodepool    k NodePoolUpserted"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.topic + c.type);
    EXPECT_EQ(event_text(event(c.topic, c.type, c.payload)), c.text);
  }
  const auto volume = [](const std::string& type) {
    return json::parse(R"({"Topic":"HostVolume","Type":")" + type + R"(","Key":"k","Time":3600000000000,
        "Payload":{"Volume":{"ID":"0123456789","Name":"data","NodeID":"abcdefghij","State":"ready"}}})");
  };
  EXPECT_EQ(event_text(volume("HostVolumeRegistered")),
            "1970-01-01T01:00:00Z hostvolume  data 01234567 on abcdefgh: ready");
  EXPECT_EQ(event_text(volume("HostVolumeDeleted")),
            "1970-01-01T01:00:00Z hostvolume  data 01234567 on abcdefgh: deleted");
  EXPECT_EQ(event_text(json::parse(R"({"Topic":"Job","Type":"JobRegistered","Key":"web"})")),
            "- job         web JobRegistered")
      << "without a payload or a time";
}

TEST(ExplanationText, NamesTheNearestThingToDo) {
  wire::Explanation explanation;
  explanation.id = "web";
  explanation.status = model::JobStatus::pending;
  auto& group = explanation.groups.emplace_back();
  group.name = "g";
  group.wanted = 2;
  group.placed = 1;
  group.reasons.push_back({"placement", "1 allocation cannot be placed", {"1 of 2 nodes: no"}, "underway x"});
  group.allocations.push_back({"0123456789", "web.g[0]", "n", "c1", 3, model::ClientStatus::running, false, true,
                               "the best of 2 nodes that suit"});
  group.nodes.push_back({"0123456789", "c1", ""});
  group.nodes.push_back({"abcdefghij", "c2", "it is down"});
  explanation.advice = "underway x";
  EXPECT_EQ(explanation_text(explanation, 0),
            "web (service job, version 0) is pending\n"
            "\n"
            "Group g: 1 of 2 placed, 0 running, 0 ready\n"
            "  ! 1 allocation cannot be placed\n"
            "      1 of 2 nodes: no\n"
            "      do: underway x\n"
            "NODE  ALLOCATION  VERSION  STATE           WHY THERE\n"
            "c1    01234567    3        running, ready  the best of 2 nodes that suit\n"
            "\n"
            "NODE  ID        ONE MORE THERE?\n"
            "c1    01234567  yes\n"
            "c2    abcdefgh  no: it is down\n"
            "\n"
            "Nearest thing to do: underway x\n");
}

}  // namespace
}  // namespace underway::cli
