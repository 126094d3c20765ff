#include "server/job/deployment_decisions.hpp"

#include <gtest/gtest.h>

#include "server/storage/collect_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using namespace underway::server::testing;
using model::ClientStatus;
using model::Deployment;
using model::DeploymentStatus;
using namespace std::chrono_literals;
using Ids = std::vector<std::string>;

/// A service whose processes are told apart by `version`.
model::Job make_rolling(std::int64_t count, const std::string& version) {
  model::Job job = make_job("web", count);
  job.groups[0].tasks[0].env["VERSION"] = version;
  job.update.emplace();
  job.groups[0].disconnect.emplace();  // lost with its node
  return job;
}

class Rollouts : public ::testing::Test {
 protected:
  Rollouts() {
    for (int i = 1; i <= 4; ++i) desk.join(make_node(i));
  }

  tables::Row<Deployment> newest() { return desk.tables.deployments_of_job("default", "web").front(); }
  const model::DeploymentState& state() { return newest()->groups.at("g"); }
  std::string version_of(const model::Allocation& row) { return row.job->groups[0].tasks[0].env.at("VERSION"); }
  /// What runs, or shall, as "name=version", canaries with a star.
  Ids running() {
    Ids out;
    for (const auto& row : desk.live("web"))
      out.push_back(fmt::format("{}={}{}", row->index(), version_of(*row), row->health.canary ? "*" : ""));
    std::sort(out.begin(), out.end());
    return out;
  }
  void tell(const model::Allocation& row, ClientStatus status, std::optional<bool> healthy) {
    auto update = report(row.id, status);
    update.health.healthy = healthy;
    desk.update(row.node_id, {update});
  }
  /// Nodes end what shall end, and find the rest as `healthy` says of its version.
  void work(const std::function<std::optional<bool>(const std::string& version)>& healthy) {
    for (const auto& row : desk.tables.allocations_of_job("default", "web")) {
      if (row->server_terminal() && !row->client_terminal()) tell(*row, ClientStatus::complete, std::nullopt);
    }
    for (const auto& row : desk.live("web")) {
      if (!row->health.healthy) tell(*row, ClientStatus::running, healthy(version_of(*row)));
    }
  }
  void work() {
    work([](const std::string&) { return true; });
  }
  void stand(std::int64_t count, const std::string& version) {
    desk.register_job(make_rolling(count, version));
    work();
    ASSERT_EQ(newest()->status, DeploymentStatus::successful);
  }
  void pass(Duration time) {
    desk.clock.advance(time);
    desk.run(EnforceDeploymentDeadlines{});
  }
  tables::Row<model::Allocation> running_in(const std::string& version) {
    for (const auto& row : desk.live("web")) {
      if (version_of(*row) == version) return row;
    }
    throw Error(Code::internal, "nothing runs of version " + version);
  }
  /// Its node presents itself, after the server was away, with the verdict.
  void present(const model::Allocation& row, bool healthy) {
    auto update = report(row.id, ClientStatus::running, healthy);
    update.health.healthy = healthy;
    const auto node = desk.tables.find_node(row.node_id);
    desk.run(RegisterNode{*node, "secret", {update}});
  }
  void cannot_start(const model::Allocation& row) {
    auto update = report(row.id, ClientStatus::failed);
    auto& events = update.task_states["t"].events;
    events.push_back({"Driver Failure", 0, "cannot run '/nonexistent': No such file or directory", {}, 0, 0, false});
    events.push_back({"Not Restarting", 0, "Error was unrecoverable", {}, 0, 0, true});
    desk.update(row.node_id, {update});
  }
  void register_in_cluster(const std::string& version) {
    auto job = make_rolling(3, version);
    job.cluster = "demo";
    job.update->auto_revert = true;
    desk.run([&](const Tables& t, const Context& c) {
      Decision<Registered> decision;
      decision.result = register_into(decision.changes, t, {job, {}, {}}, c);
      return decision;
    });
  }
  DeploymentUpdated promote(const Ids& groups = {}) { return desk.run(PromoteDeployment{newest()->id, groups}); }

  Desk desk;
};

TEST_F(Rollouts, TheFirstVersionIsPlacedAtOnceAndStableWhenAllOfItIsWell) {
  desk.register_job(make_rolling(3, "a"));
  EXPECT_EQ(running(), (Ids{"0=a", "1=a", "2=a"}));
  EXPECT_EQ(newest()->status, DeploymentStatus::running);
  EXPECT_EQ(newest()->status_description, "Deployment is running");
  EXPECT_EQ(state().desired_total, 3);
  EXPECT_EQ(state().placed_allocs, 3);
  EXPECT_EQ(state().require_progress_by, unix_nanos(desk.clock.now() + 10min));
  EXPECT_FALSE(desk.tables.find_job("default", "web")->stable);
  work();
  EXPECT_EQ(newest()->status, DeploymentStatus::successful);
  EXPECT_EQ(state().healthy_allocs, 3);
  EXPECT_TRUE(desk.tables.find_job("default", "web")->stable);
}

TEST_F(Rollouts, ANewVersionGoesOneByOneAndWaitsForHealth) {
  stand(3, "a");
  desk.register_job(make_rolling(3, "b"));
  EXPECT_EQ(running(), (Ids{"0=b", "1=a", "2=a"}));
  work([](const std::string&) { return std::nullopt; });
  EXPECT_EQ(running(), (Ids{"0=b", "1=a", "2=a"})) << "nothing is known of it yet";
  work();
  EXPECT_EQ(running(), (Ids{"0=b", "1=b", "2=a"}));
  work();
  work();
  EXPECT_EQ(running(), (Ids{"0=b", "1=b", "2=b"}));
  EXPECT_EQ(newest()->status, DeploymentStatus::successful);
}

TEST_F(Rollouts, StopAtTheFirstBadOneAndGoBackByThemselves) {
  stand(3, "a");
  auto job = make_rolling(3, "bad");
  job.update->auto_revert = true;
  job.update->progress_deadline = Duration{0};
  desk.register_job(job);
  work([](const std::string& version) { return version != "bad"; });
  const auto rows = desk.tables.deployments_of_job("default", "web");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1]->status, DeploymentStatus::failed);
  EXPECT_EQ(rows[1]->status_description, "Failed due to unhealthy allocations - rolling back to job version 0");
  EXPECT_EQ(desk.tables.find_job("default", "web")->version, 2);
  EXPECT_EQ(running(), (Ids{"0=a", "1=a", "2=a"})) << "the bad one is replaced first";
  work();
  EXPECT_EQ(newest()->status, DeploymentStatus::successful);
  EXPECT_EQ(newest()->job_version, 2);
}

TEST_F(Rollouts, FailWhenNothingMovesInTime) {
  stand(3, "a");
  desk.register_job(make_rolling(3, "hangs"));
  const auto never = [](const std::string&) { return std::nullopt; };
  work(never);
  pass(9min);
  EXPECT_EQ(newest()->status, DeploymentStatus::running);
  pass(2min);
  EXPECT_EQ(newest()->status, DeploymentStatus::failed);
  EXPECT_EQ(newest()->status_description, "Failed due to progress deadline");
  EXPECT_EQ(running(), (Ids{"0=hangs", "1=a", "2=a"}));
  EXPECT_EQ(next_deployment_deadline(desk.tables), std::nullopt);
}

TEST_F(Rollouts, CanariesRunBesideTheOthersUntilTheyArePromoted) {
  stand(3, "a");
  auto job = make_rolling(3, "b");
  job.update->canary = 1;
  desk.register_job(job);
  EXPECT_EQ(running(), (Ids{"0=a", "0=b*", "1=a", "2=a"}));
  EXPECT_EQ(newest()->status_description, "Deployment is running but requires manual promotion");
  EXPECT_THROW(promote(), Error) << "it is not known to be well";
  work();
  EXPECT_EQ(running(), (Ids{"0=a", "0=b*", "1=a", "2=a"}));
  pass(60min);
  EXPECT_EQ(newest()->status, DeploymentStatus::running) << "it waits for a person";
  promote();
  EXPECT_EQ(running(), (Ids{"0=b", "1=b", "2=a"}));
  work();
  work();
  EXPECT_EQ(running(), (Ids{"0=b", "1=b", "2=b"}));
  EXPECT_EQ(newest()->status, DeploymentStatus::successful);
}

TEST_F(Rollouts, CanariesPromoteThemselvesWhenAllAreWell) {
  stand(3, "a");
  auto job = make_rolling(3, "b");
  job.update->canary = 2;
  job.update->auto_promote = true;
  desk.register_job(job);
  EXPECT_EQ(running(), (Ids{"0=a", "0=b*", "1=a", "1=b*", "2=a"}));
  EXPECT_EQ(newest()->status_description, "Deployment is running pending automatic promotion");
  work();
  EXPECT_EQ(running(), (Ids{"0=b", "1=b", "2=b"}));
  EXPECT_TRUE(state().promoted);
}

TEST_F(Rollouts, ABadCanaryLeavesTheOthersAsTheyAre) {
  stand(3, "a");
  auto job = make_rolling(3, "bad");
  job.update->canary = 1;
  job.update->progress_deadline = Duration{0};
  desk.register_job(job);
  work([](const std::string& version) { return version != "bad"; });
  EXPECT_EQ(newest()->status, DeploymentStatus::failed);
  EXPECT_EQ(running(), (Ids{"0=a", "1=a", "2=a"}));
}

TEST_F(Rollouts, ANewerVersionEndsTheOneThatGoesOn) {
  stand(3, "a");
  desk.register_job(make_rolling(3, "b"));
  desk.register_job(make_rolling(3, "c"));
  const auto rows = desk.tables.deployments_of_job("default", "web");
  EXPECT_EQ(rows[1]->status, DeploymentStatus::cancelled);
  EXPECT_EQ(rows[1]->status_description, "Cancelled due to newer version of job");
  EXPECT_EQ(running(), (Ids{"0=c", "1=a", "2=a"})) << "what does not work yet is replaced first";
}

TEST_F(Rollouts, ArePausedAndResumed) {
  stand(3, "a");
  desk.register_job(make_rolling(3, "b"));
  const auto pause = [&](bool on) { desk.run(PauseDeployment{newest()->id, on}); };
  pause(true);
  EXPECT_EQ(newest()->status, DeploymentStatus::paused);
  work();
  EXPECT_EQ(running(), (Ids{"0=b", "1=a", "2=a"}));
  pass(60min);
  EXPECT_EQ(newest()->status, DeploymentStatus::paused) << "time stands still for it";
  pause(false);
  EXPECT_EQ(running(), (Ids{"0=b", "1=b", "2=a"}));
}

TEST_F(Rollouts, WhatCameToPassWhilePausedCountsWhenItIsResumed) {
  stand(3, "a");
  auto job = make_rolling(3, "b");
  job.update->progress_deadline = Duration{0};
  desk.register_job(job);
  const auto pause = [&](bool on) { desk.run(PauseDeployment{newest()->id, on}); };
  pause(true);
  for (const auto& row : desk.live("web")) {
    if (row->deployment_id == newest()->id) tell(*row, ClientStatus::running, false);
  }
  EXPECT_EQ(newest()->status, DeploymentStatus::paused);
  pause(false);
  EXPECT_EQ(newest()->status, DeploymentStatus::failed);
  EXPECT_EQ(newest()->status_description.find("Failed due to unhealthy allocations"), 0U);
}

TEST_F(Rollouts, ThatReachNoNodeProveNothing) {
  auto job = make_rolling(1, "a");
  job.type = model::JobType::system;
  desk.register_job(job);
  work();
  ASSERT_TRUE(desk.tables.find_job("default", "web")->stable);
  for (int i = 1; i <= 4; ++i) {
    desk.run(SetEligibility{uuid(i), model::Eligibility::ineligible});
  }
  job.groups[0].tasks[0].env["VERSION"] = "b";
  desk.register_job(job);
  EXPECT_EQ(running(), (Ids{"0=a", "0=a", "0=a", "0=a"}));
  EXPECT_FALSE(desk.tables.find_job("default", "web")->stable);
}

TEST_F(Rollouts, WhoDiesAfterItWasFoundWellIsABadOneToo) {
  stand(3, "a");
  desk.register_job(make_rolling(3, "b"));
  work();
  EXPECT_EQ(running(), (Ids{"0=b", "1=b", "2=a"}));
  for (const auto& row : desk.live("web")) {
    if (row->index() == 0) tell(*row, ClientStatus::failed, std::nullopt);
  }
  work();
  EXPECT_EQ(state().unhealthy_allocs, 1);
  EXPECT_EQ(running(), (Ids{"1=b", "2=a"})) << "it waits for its time, and the last old one stays";
  desk.clock.advance(31s);
  desk.schedule();
  EXPECT_EQ(running(), (Ids{"0=b", "1=b", "2=a"}));
  work();
  work();
  EXPECT_EQ(newest()->status, DeploymentStatus::successful);
}

TEST_F(Rollouts, WhatIsLostInAFailedOneComesBackAsItWas) {
  stand(3, "a");
  desk.register_job(make_rolling(3, "bad"));
  desk.run(FailDeployment{newest()->id});
  EXPECT_EQ(newest()->status_description, "Deployment marked as failed");
  std::string node;
  for (const auto& row : desk.live("web")) {
    if (row->index() == 2) node = row->node_id;
  }
  desk.down({node});
  for (const auto& line : running()) EXPECT_TRUE(line.starts_with("0=") || line.ends_with("=a")) << line;
  EXPECT_EQ(desk.live("web").size(), 3u);
}

// --- while the server is away

TEST_F(Rollouts, AVerdictThatANodeBringsWithItCounts) {
  stand(3, "a");
  desk.register_job(make_rolling(3, "b"));
  const auto fresh = running_in("b");
  present(*fresh, true);
  EXPECT_EQ(running(), (Ids{"0=b", "1=b", "2=a"}));
  EXPECT_EQ(state().healthy_allocs, 1);
}

TEST_F(Rollouts, ABadVerdictThatANodeBringsWithItTakesTheJobBack) {
  stand(3, "a");
  auto job = make_rolling(3, "bad");
  job.update->auto_revert = true;
  job.update->progress_deadline = Duration{0};
  desk.register_job(job);
  present(*running_in("bad"), false);
  EXPECT_EQ(running(), (Ids{"0=a", "1=a", "2=a"}));
}

TEST_F(Rollouts, ACanaryThatWasFoundWellMeanwhileIsPromoted) {
  stand(3, "a");
  auto job = make_rolling(3, "b");
  job.update->canary = 1;
  job.update->auto_promote = true;
  desk.register_job(job);
  present(*running_in("b"), true);
  EXPECT_TRUE(state().promoted);
}

TEST_F(Rollouts, NobodyWasLateWhileNoServerWasThere) {
  stand(3, "a");
  desk.register_job(make_rolling(3, "b"));
  desk.clock.advance(1h);
  desk.run(RenewDeploymentDeadlines{});
  pass(1min);
  EXPECT_EQ(newest()->status, DeploymentStatus::running);
  present(*running_in("b"), true);
  EXPECT_EQ(running(), (Ids{"0=b", "1=b", "2=a"}));
}

// --- in a cluster

TEST_F(Rollouts, InAClusterGoBackWithTheFirstBadOne) {
  register_in_cluster("a");
  work();
  register_in_cluster("bad");
  work([](const std::string& version) { return version != "bad"; });
  EXPECT_EQ(desk.tables.deployments_of_job("default", "web")[1]->status_description,
            "Failed due to unhealthy allocations - rolling back to job version 0");
  EXPECT_EQ(running(), (Ids{"0=a", "1=a", "2=a"}));
}

TEST_F(Rollouts, InAClusterGoBackToWhatWorksThoughItWasNeverEverywhere) {
  register_in_cluster("a");
  register_in_cluster("bad");  // before a verdict on the first one
  EXPECT_EQ(running(), (Ids{"0=bad", "1=a", "2=a"}));
  work([](const std::string& version) -> std::optional<bool> {
    return version == "bad" ? std::optional(false) : std::nullopt;
  });
  EXPECT_EQ(newest()->status, DeploymentStatus::running) << "nothing is known to be better";
  work();
  pass(1s);
  EXPECT_EQ(running(), (Ids{"0=a", "1=a", "2=a"}));
}

TEST_F(Rollouts, OfWhatCanNeverStartFailAtOnceAndGoBack) {
  stand(3, "a");
  auto job = make_rolling(3, "bad");
  job.update->auto_revert = true;
  desk.register_job(job);
  cannot_start(*running_in("bad"));
  EXPECT_EQ(desk.tables.deployments_of_job("default", "web")[1]->status, DeploymentStatus::failed);
  EXPECT_EQ(running(), (Ids{"0=a", "1=a", "2=a"}));
}

TEST_F(Rollouts, OfAFirstVersionThatCanNeverStartFailAtOnce) {
  auto job = make_rolling(3, "bad");
  job.update->auto_revert = true;
  desk.register_job(job);
  cannot_start(*running_in("bad"));
  EXPECT_EQ(newest()->status, DeploymentStatus::failed);
  EXPECT_EQ(newest()->status_description,
            "Failed due to unhealthy allocations - no stable job version to auto revert to");
}

TEST_F(Rollouts, AJobGoesBackToAVersionOnRequest) {
  stand(1, "a");
  stand(1, "b");
  const auto revert = [&](std::int64_t version, std::optional<std::int64_t> prior) {
    return desk.run(RevertJob{"default", "web", version, prior});
  };
  EXPECT_THROW(revert(1, {}), Error);
  EXPECT_THROW(revert(7, {}), Error);
  EXPECT_THROW(revert(0, 0), Error);
  revert(0, 1);
  EXPECT_EQ(desk.tables.find_job("default", "web")->version, 2);
  EXPECT_EQ(running(), Ids{"0=a"});
}

TEST_F(Rollouts, AreForgottenWhenTheyAreLongOverButForTheNewest) {
  stand(1, "a");
  stand(1, "b");
  desk.clock.advance(std::chrono::hours(2));
  desk.run(Collect{Retention{}});
  EXPECT_EQ(desk.tables.rows<Deployment>().size(), 1u);
  EXPECT_EQ(newest()->job_version, 1);
}

}  // namespace
}  // namespace underway::server
