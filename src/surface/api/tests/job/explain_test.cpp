#include "api/job/explain.hpp"

#include <gtest/gtest.h>

#include "api/testing/world.hpp"
#include "base/allowance.hpp"
#include "server/job/deployment_decisions.hpp"
#include "server/node/drain_decisions.hpp"

namespace underway::api::testing {
namespace {

using model::ClientStatus;

class Explain : public ::testing::Test {
 protected:
  wire::Explanation explain(const std::string& id, bool nodes = false) {
    const auto job = world.tables().find_job("default", id);
    JudgeNodes judge;
    if (nodes) judge = [&, job](const model::TaskGroup& group) { return world.server.judge_nodes(job, group); };
    return explain_job(world.tables(), *job, world.clock.now(), judge);
  }
  /// The reason of that kind in the only group.
  wire::Reason reason(const std::string& id, const std::string& kind) {
    for (const auto& group : explain(id).groups) {
      for (const auto& given : group.reasons) {
        if (given.kind == kind) return given;
      }
    }
    ADD_FAILURE() << "no reason of kind " << kind << " for " << id << ": " << json::encode(explain(id));
    return {};
  }
  void start(const std::string& id, bool healthy = true) {
    for (const auto& row : std::vector(world.tables().allocations_of_job("default", id))) {
      if (row->terminal() || row->is_ready()) continue;
      auto running = report(row->id, ClientStatus::running, healthy);
      running.health.timestamp = unix_nanos(world.clock.now());
      world.update(row->node_id, running);
    }
  }
  static std::string all(const std::vector<std::string>& lines) { return join(lines, "\n"); }
  World world;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(Explain, OfWhatRunsSaysWhereAndWhyThere) {
  world.join(make_node(1));
  world.join(make_node(2));
  world.run(make_job("web"));
  start("web");
  const auto explained = explain("web");
  ASSERT_EQ(explained.groups.size(), 1u);
  const auto& group = explained.groups[0];
  EXPECT_EQ(group.wanted, 1);
  EXPECT_EQ(group.ready, 1);
  EXPECT_TRUE(group.reasons.empty()) << json::encode(explained);
  EXPECT_EQ(explained.advice, "");
  ASSERT_EQ(group.allocations.size(), 1u);
  EXPECT_HAS(group.allocations[0].where, "the best of 2 nodes that suit, score ");
  EXPECT_HAS(group.allocations[0].where, "binpack");
}

TEST_F(Explain, OfWhatCannotBePlacedCountsTheNodesByReason) {
  world.join(make_node(1));
  world.join(make_node(2));
  model::Job job = make_job("large", 2);
  job.groups[0].tasks[0].resources.memory_mb = 8000;
  job.groups[0].constraints.push_back({"${attr.unique.hostname}", "!=", "c2"});
  world.run(job);
  const auto why = reason("large", "placement");
  EXPECT_EQ(why.what, "1 allocation cannot be placed");
  EXPECT_HAS(all(why.why), "1 of 2 nodes: the constraint ${attr.unique.hostname} != c2 does not hold there");
  EXPECT_HAS(all(why.why), "1 of 2 nodes: not enough memory is free");
  EXPECT_HAS(all(why.why), "waits for a node to change");
  EXPECT_EQ(why.advice, "underway job explain -nodes large");
  const auto nodes = explain("large", true).groups[0].nodes;
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].against, "memory: asks 8000 MiB, 192 MiB are free");
  EXPECT_EQ(nodes[1].against, "the constraint ${attr.unique.hostname} != c2 does not hold there");
}

TEST_F(Explain, NamesNodesThatSomebodyTookOutOfUse) {
  auto elsewhere = make_node(4);
  elsewhere.node_pool = "other";
  for (const auto& node : {make_node(1), make_node(2), make_node(3), elsewhere}) world.join(node);
  world.apply(server::SetEligibility{uuid(1), model::Eligibility::ineligible});
  world.apply(server::MarkNodesDown{{uuid(2)}, "gone"});
  model::Job job = make_job("pair", 2);
  job.constraints.push_back({"", "distinct_hosts", "true"});
  world.run(job);
  const auto out = reason("pair", "node");
  EXPECT_EQ(out.what, "1 node not eligible: c1");
  EXPECT_EQ(out.advice, "underway node eligibility -enable c1");
  const auto nodes = explain("pair", true).groups[0].nodes;
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0].against, "it is not eligible for new allocations");
  EXPECT_EQ(nodes[1].against, "it is down");
  EXPECT_EQ(nodes[2].against, "another allocation of the job is there already (distinct_hosts)");
  EXPECT_EQ(nodes[3].against, "it is in node pool 'other', the job asks for 'default'");
}

TEST_F(Explain, NamesTheDependencyAndItsState) {
  world.join(make_node(1));
  world.run(make_job("munge", 1, model::JobType::system));
  world.run(server::testing::depending_on(make_job("slurmd"), "munge", model::DependencyScope::node));
  const auto waits = reason("slurmd", "dependency");
  EXPECT_EQ(waits.what, "1 allocation waiting for 'munge' on this node: on c1");
  EXPECT_EQ(waits.why, std::vector<std::string>{"'munge' on c1 is pending"});
  EXPECT_EQ(waits.advice, "underway job explain munge");
  EXPECT_EQ(explain("slurmd").advice, "underway job explain munge");
  world.run(server::testing::depending_on(make_job("lonely"), "nobody"));
  EXPECT_EQ(reason("lonely", "dependency").why, std::vector<std::string>{"'nobody' is not registered"});
  start("munge");
  start("slurmd");
  EXPECT_TRUE(explain("slurmd").groups[0].reasons.empty());
  world.send("DELETE", "/v1/job/munge");
  EXPECT_EQ(reason("slurmd", "dependency").what, "1 allocation running on without 'munge', which is stopped: on c1");
  EXPECT_EQ(reason("slurmd", "dependency").why, std::vector<std::string>{"'munge' is stopped"});
}

TEST_F(Explain, TellsOfTasksThatAreStartedAgain) {
  world.join(make_node(1));
  world.run(make_job("web"));
  auto pending = report(world.allocation_of("web"), ClientStatus::pending);
  pending.task_states["t"].restarts = 2;
  pending.task_states["t"].events.push_back({"Terminated", 0, "exit code 1", {}, 1, 0, false});
  world.update(uuid(1), pending);
  EXPECT_EQ(reason("web", "failure").what, "1 allocation starting again after a failure: on c1");
  EXPECT_HAS(all(reason("web", "failure").why), "on c1: task 't': exit code 1, 2 restarts");
  EXPECT_HAS(reason("web", "failure").advice, "underway alloc logs -stderr ");
}

TEST_F(Explain, TellsOfCanariesAndPausedAndFailedRollouts) {
  world.join(make_node(1));
  model::Job job = make_job("web", 2);
  job.update.emplace();
  job.update->canary = 1;
  world.run(job);
  start("web");
  job.groups[0].tasks[0].env["VERSION"] = "b";
  world.run(job);
  const std::string id = world.tables().deployments_of_job("default", "web").front()->id;
  EXPECT_HAS(reason("web", "rollout").what, "0 of 1 canary allocation healthy; the others follow when promoted");
  EXPECT_EQ(reason("web", "rollout").advice, "");
  start("web");
  EXPECT_EQ(reason("web", "rollout").advice, "underway deployment promote " + id.substr(0, 8));
  EXPECT_HAS(all(reason("web", "rollout").why), "2 allocations still run an older version: on c1");
  world.apply(server::PromoteDeployment{id, {}});
  EXPECT_HAS(reason("web", "rollout").what, "1 at a time");
  world.apply(server::PauseDeployment{id, true});
  EXPECT_HAS(reason("web", "rollout").what, "is paused");
  EXPECT_EQ(reason("web", "rollout").advice, "underway deployment resume " + id.substr(0, 8));
  world.apply(server::FailDeployment{id});
  EXPECT_HAS(reason("web", "rollout").what, "has failed: nothing more is changed");
}

TEST_F(Explain, SaysUntilWhenAReplacementIsHeldBack) {
  world.join(make_node(1));
  world.run(make_job("web"));
  auto failed = report(world.allocation_of("web"), ClientStatus::failed);
  failed.task_states["t"].events.push_back({"Terminated", 0, "exit code 1", {}, 1, 0, true});
  world.update(uuid(1), failed);
  const auto why = reason("web", "failure");
  EXPECT_EQ(why.what, "1 allocation failed: on c1");
  EXPECT_HAS(all(why.why), "on c1: task 't': exit code 1; it is replaced at ");
  EXPECT_HAS(all(why.why), "(in 30s)");
  EXPECT_HAS(why.advice, "underway alloc logs -stderr ");
}

TEST_F(Explain, SaysWhatKeepsARunningOneFromBeingReady) {
  world.join(make_node(1));
  world.run(make_job("web"));
  auto running = report(world.allocation_of("web"), ClientStatus::running);
  world.update(uuid(1), running);
  EXPECT_HAS(all(reason("web", "health").why), "its checks do not pass yet");
  EXPECT_HAS(reason("web", "health").advice, "underway alloc checks ");
  running.health.healthy = false;
  running.health.description = "check 'http' fails: connection refused";
  world.update(uuid(1), running);
  EXPECT_HAS(all(reason("web", "health").why), "check 'http' fails: connection refused");
}

TEST_F(Explain, TellsOfADrain) {
  world.join(make_node(1));
  world.run(make_job("web"));
  world.run(make_job("everywhere", 1, model::JobType::system));
  start("web");
  start("everywhere");
  server::DrainNode drain;
  drain.node_id = uuid(1);
  drain.drain.emplace();
  world.loop.run_until_done(world.server.apply(drain));
  EXPECT_EQ(reason("web", "drain").what, "1 allocation to leave a node that is being drained: on c1");
  EXPECT_HAS(all(reason("web", "drain").why), "c1 is being drained: it ");
  EXPECT_EQ(reason("everywhere", "drain").why, std::vector<std::string>{"c1 is being drained: system jobs stop last"});
  EXPECT_EQ(reason("everywhere", "drain").advice, "underway node drain -monitor c1");
  EXPECT_EQ(reason("everywhere", "node").what, "1 node being drained: c1");
  EXPECT_EQ(explain("everywhere", true).groups[0].nodes.at(0).against,
            "it has its one: a system job has one on each node");
}

TEST_F(Explain, OfAStoppedJobSaysSo) {
  world.join(make_node(1));
  world.run(make_job("web"));
  start("web");
  world.send("DELETE", "/v1/job/web");
  const auto explained = explain("web");
  ASSERT_EQ(explained.reasons.size(), 1u);
  EXPECT_EQ(explained.reasons[0].what, "the job is stopped");
  EXPECT_EQ(explained.groups[0].wanted, 0);
  EXPECT_EQ(reason("web", "stop").what, "1 allocation still stopping: on c1");
}

/// So many groups, none of which runs.
model::Job wide_job(int groups) {
  model::Job job = make_job("wide");
  const model::TaskGroup group = job.groups[0];
  job.groups.clear();
  for (int i = 0; i < groups; ++i) job.groups.emplace_back(group).name = fmt::format("g{}", i);
  return job;
}

TEST_F(Explain, MoreVerdictsThanAnybodyReadsAreRefusedBeforeAnyNodeIsAsked) {
  for (int i = 1; i <= 51; ++i) world.join(make_node(i));
  int asked = 0;
  const JudgeNodes judge = [&](const model::TaskGroup&) {
    ++asked;
    return std::vector<scheduler::NodeVerdict>();
  };
  const auto job = wide_job(2000);
  try {
    explain_job(world.tables(), job, world.clock.now(), judge);
    FAIL() << "it was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::too_large);
    EXPECT_HAS(error.one_line(), "2000 groups on 51 nodes are 102000 verdicts; 100000 are told at most");
    EXPECT_HAS(error.text(), "leave -nodes out");
  }
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(explain_job(world.tables(), job, world.clock.now(), {}).groups.size(), 2000u);
}

TEST_F(Explain, TakesNoLongerThanItMay) {
  for (int i = 1; i <= 40; ++i) world.join(make_node(i));
  const auto job = std::make_shared<const model::Job>(wide_job(2000));
  const JudgeNodes judge = [&](const model::TaskGroup& group) { return world.server.judge_nodes(job, group); };
  const Allowance little("explaining the job", std::chrono::milliseconds(5));
  try {
    explain_job(world.tables(), *job, world.clock.now(), judge);
    FAIL() << "it was not given up";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "explaining the job takes too long");
  }
}

TEST_F(Explain, IsServed) {
  world.join(make_node(1));
  world.run(make_job("team/web"));
  EXPECT_EQ(world.read("/v1/underway/job/team%2Fweb/explain").at("ID"), "team/web");
  EXPECT_EQ(world.read("/v1/underway/job/team%2Fweb/explain?nodes").at("Groups").at(0).at("Nodes").as_array().size(),
            1u);
  EXPECT_EQ(world.get("/v1/underway/job/none/explain").status, 404);
}

}  // namespace
}  // namespace underway::api::testing
