#include "api/cluster/status.hpp"

#include <gtest/gtest.h>

#include "api/nomad/stubs.hpp"
#include "api/testing/world.hpp"
#include "server/storage/collect_decisions.hpp"
#include "tables/slurm_members.hpp"

namespace underway::api::testing {
namespace {

using model::ClientStatus;

class StatusTest : public ::testing::Test {
 protected:
  wire::Status status(const std::string& cluster = {}) {
    return status_of(world.tables(), cluster, [this](const std::string&) { return linked; });
  }
  wire::ServiceStatus service(const std::string& id) {
    for (const auto& candidate : status().services) {
      if (candidate.id == id) return candidate;
    }
    throw Error(Code::internal, "no service " + id);
  }
  void run_and_start(const std::string& id) {
    world.run(make_job(id));
    world.update(uuid(1), report(world.allocation_of(id), ClientStatus::running, true));
  }
  World world;
  bool linked = true;
};

TEST_F(StatusTest, BeginsWithWhatKeepsTheServerFromWriting) {
  world.store.fail_next_commit(
      Error(Code::exhausted, "cannot write the store").because("ENOSPC").advise("free space on its disk"));
  EXPECT_EQ(world.run(make_job("web")).status, 507);
  const auto status = world.read("/v1/underway/status");
  EXPECT_FALSE(status.at("Writable").as_bool());
  const auto& first = status.at("Attention").at(0);
  EXPECT_EQ(first.at("What").as_string(), "the server cannot write its state since " + format_time(world.clock.now()) +
                                              ": changes are refused, what runs goes on");
  EXPECT_EQ(first.at("Why").as_string(), "cannot write the store: ENOSPC");
  EXPECT_EQ(first.at("Do").as_string(), "free space on its disk");
  EXPECT_EQ(world.get("/v1/agent/health").status, 500);
  EXPECT_NE(world.get("/v1/metrics?format=prometheus").body.find("\nunderway_writable 0\n"), std::string::npos);

  EXPECT_EQ(world.run(make_job("web")).status, 200);
  EXPECT_TRUE(world.read("/v1/underway/status").at("Writable").as_bool());
  EXPECT_EQ(world.get("/v1/agent/health").status, 200);
  EXPECT_NE(world.get("/v1/metrics?format=prometheus").body.find("\nunderway_writable 1\n"), std::string::npos);
}

TEST_F(StatusTest, TellsOfARolloutThatStandsStillAndWhy) {
  world.join(make_node(1));
  world.run(make_job("web"));
  world.clock.advance(std::chrono::minutes(4));
  EXPECT_TRUE(world.read("/v1/underway/status").at("Attention").as_array().empty()) << "it has its time";
  world.clock.advance(std::chrono::minutes(2));
  const auto status = world.read("/v1/underway/status");
  const auto& said = status.at("Attention").at(0);
  EXPECT_TRUE(said.at("What").as_string().starts_with("'web': the rollout of version 0 has stood still for 6m"));
  EXPECT_EQ(said.at("Why").as_string(), "'web' on c1 was found neither well nor unwell in its time");
}

TEST_F(StatusTest, CallsNobodyToCanariesThatPromoteThemselves) {
  world.join(make_node(1));
  run_and_start("web");
  for (const bool by_themselves : {true, false}) {
    SCOPED_TRACE(by_themselves);
    auto job = make_job("web");
    job.groups[0].tasks[0].env["VERSION"] = by_themselves ? "b" : "c";
    job.update.emplace().canary = 1;
    job.update->auto_promote = by_themselves;
    world.run(job);
    const auto told = status();
    EXPECT_FALSE(by_themselves && told.settled);
    ASSERT_EQ(told.attention.size(), by_themselves ? 0u : 1u);
    if (!by_themselves) {
      EXPECT_TRUE(told.attention[0].what.starts_with(
          "'web': the rollout of version 2 waits for somebody to promote its canaries"))
          << told.attention[0].what;
    }
  }
}

TEST_F(StatusTest, OfNothingIsSettled) { EXPECT_TRUE(status().settled); }

TEST_F(StatusTest, SettlesWhenAllThatIsWantedIsHealthy) {
  world.join(make_node(1));
  world.run(make_job("web"));
  EXPECT_FALSE(status().settled);
  world.update(uuid(1), report(world.allocation_of("web"), ClientStatus::running));
  EXPECT_FALSE(status().settled);
  world.update(uuid(1), report(world.allocation_of("web"), ClientStatus::running, true));
  EXPECT_TRUE(status().settled);
  EXPECT_EQ(service("web").healthy, 1);
  EXPECT_EQ(service("web").nodes, std::vector<std::string>{"c1"});
}

TEST_F(StatusTest, SettlesThoughTheSchedulerIsToLookAgainLater) {
  world.join(make_node(1));
  run_and_start("web");
  const auto look_at = [&](std::int64_t when) {
    world.apply([when](const tables::Tables& t, const server::Context& c) {
      auto evaluation =
          server::new_evaluation(*t.find_job("default", "web"), model::EvalTrigger::max_disconnect_timeout, c);
      evaluation.wait_until = when;
      server::Decision<server::Nothing> decision;
      decision.changes.push_back(tables::PutEvaluation{std::move(evaluation)});
      return decision;
    });
  };
  look_at(unix_nanos(world.clock.now() + std::chrono::minutes(5)));
  EXPECT_TRUE(status().settled) << "what is planned for the case that a node stays away holds up nobody";
}

TEST_F(StatusTest, SaysWhyAGroupCannotBePlacedHoweverLongItWaits) {
  world.join(make_node(1));
  model::Job large = make_job("large", 2);
  large.groups[0].tasks[0].resources.cpu = 1'000'000;
  world.run(large);
  world.clock.advance(std::chrono::hours(5));
  world.apply(server::Collect{{}});
  const auto now = status();
  EXPECT_FALSE(now.settled);
  EXPECT_EQ(service("large").wanted, 2);
  ASSERT_EQ(now.attention.size(), 1u);
  EXPECT_EQ(now.attention[0].what, "group 'g' of 'large' cannot be placed");
  EXPECT_NE(now.attention[0].why.find("cpu"), std::string::npos) << now.attention[0].why;
  EXPECT_EQ(summarize(world.tables(), *world.tables().find_job("default", "large")).groups.at("g").queued, 2);
}

TEST_F(StatusTest, HostsThatMayComeKeepNobodyWaiting) {
  model::Cluster cluster{.name = "tide", .networks = {{.name = "lan", .cidr = "10.80.0.0/24"}}};
  cluster.pools = {{.name = "burst", .size = 0, .hostname = "b%d"}};
  model::Job slurmd = make_job("slurmd");
  slurmd.type = model::JobType::system;
  slurmd.node_pool = "burst";
  world.apply(server::ApplyCluster{cluster, {{slurmd, {}, {}}}, {}});
  EXPECT_TRUE(status().settled) << "there is no host of the pool yet";
  EXPECT_TRUE(status().attention.empty());
  EXPECT_TRUE(service("slurmd").waits.empty());
  slurmd.node_pool = "bursts";
  world.apply(server::ApplyCluster{cluster, {{slurmd, {}, {}}}, {}});
  ASSERT_EQ(status().attention.size(), 1U);
  EXPECT_EQ(status().attention[0].what, "group 'g' of 'slurmd' cannot be placed");
}

TEST_F(StatusTest, NamesTheAllocationThatHoldsAPort) {
  world.join(make_node(1));
  model::Job job = make_job("first");
  job.groups[0].networks.resize(1);
  job.groups[0].networks[0].reserved_ports.push_back({"http", 6817, 0, ""});
  world.run(job);
  job.id = job.name = "second";
  world.run(job);
  const auto now = status();
  ASSERT_EQ(now.attention.size(), 1u);
  EXPECT_EQ(now.attention[0].why, fmt::format("port 6817 (http) on node c1 is taken by allocation {} (first.g[0])",
                                              world.allocation_of("first").substr(0, 8)));
}

TEST_F(StatusTest, NamesWhatAServiceWaitsFor) {
  world.join(make_node(1));
  world.run(make_job("munge"));
  world.run(server::testing::depending_on(make_job("slurmctld"), "munge"));
  EXPECT_EQ(service("slurmctld").waits, std::vector<std::string>{"for 'munge' to be healthy"});
  EXPECT_EQ(service("slurmctld").depends_on, std::vector<std::string>{"munge"});
  EXPECT_FALSE(status().settled);
}

TEST_F(StatusTest, AFailureIsNotSettledAndTellsTheLastWords) {
  world.join(make_node(1));
  world.run(make_job("web"));
  auto failed = report(world.allocation_of("web"), ClientStatus::failed);
  failed.task_states["t"].events.push_back({"Driver Failure", 0, "'/bin/nope' does not exist on c1", {}, 0, 0, true});
  world.update(uuid(1), failed);
  const auto now = status();
  EXPECT_FALSE(now.settled);
  EXPECT_EQ(service("web").wanted, 1);
  ASSERT_EQ(now.attention.size(), 1u);
  EXPECT_EQ(now.attention[0].what, "an allocation of 'web' failed");
  EXPECT_EQ(now.attention[0].why, "task 't': '/bin/nope' does not exist on c1");
  EXPECT_NE(now.attention[0].advice.find("underway alloc status "), std::string::npos);
}

TEST_F(StatusTest, PointsAtNodesThatAreSilentAndTasksThatRestart) {
  world.join(make_node(1));
  run_and_start("web");
  auto restarting = report(world.allocation_of("web"), ClientStatus::running);
  restarting.task_states["t"].state = model::TaskRunState::pending;
  restarting.task_states["t"].restarts = 3;
  restarting.task_states["t"].events.push_back({"Terminated", 0, "Exit Code: 1", {}, 1, 0, false});
  world.update(uuid(1), restarting);
  ASSERT_EQ(status().attention.size(), 1u);
  EXPECT_EQ(status().attention[0].what, "task 't' of 'web' on c1 was restarted 3 times");
  world.apply(server::MarkNodesDown{{uuid(1)}, "gone"});
  const auto now = status();
  const bool told = std::any_of(now.attention.begin(), now.attention.end(),
                                [](const auto& a) { return a.what == "node 'c1' is disconnected" && a.why == "gone"; });
  EXPECT_TRUE(told);
}

TEST_F(StatusTest, AFinishedBatchJobIsSettled) {
  world.join(make_node(1));
  world.run(make_job("once", 1, model::JobType::batch));
  EXPECT_FALSE(status().settled);
  world.update(uuid(1), report(world.allocation_of("once"), ClientStatus::complete));
  EXPECT_TRUE(status().settled);
}

TEST_F(StatusTest, ARolloutThatGoesOnIsNotSettledAndOneThatFailedNeedsYou) {
  world.join(make_node(1));
  model::Job job = make_job("web", 2);
  world.run(job);
  const auto ready = [&](std::int64_t version, bool healthy) {
    for (const auto& row : std::vector(world.tables().allocations_of_job("default", "web"))) {
      if (row->terminal() || row->job_version != version) continue;
      auto update = report(row->id, ClientStatus::running, healthy);
      update.health.ready = true;
      update.health.timestamp = unix_nanos(world.clock.now());
      world.update(uuid(1), update);
    }
  };
  ready(0, true);
  EXPECT_TRUE(status().settled);
  job.groups[0].tasks[0].env["VERSION"] = "b";
  world.run(job);
  ready(1, false);  // it works, and has to last before the second one is changed
  EXPECT_EQ(service("web").wanted, 2);
  EXPECT_EQ(service("web").healthy, 2);
  EXPECT_FALSE(status().settled);
  EXPECT_TRUE(status().attention.empty());
  const std::string id = world.tables().deployments_of_job("default", "web").front()->id;
  EXPECT_EQ(world.put("/v1/deployment/fail/" + id, "{}").status, 200);
  const auto now = status();
  ASSERT_EQ(now.attention.size(), 1u);
  EXPECT_EQ(now.attention[0].what, "'web': version 1 failed; 1 of 2 run version 0");
  EXPECT_EQ(now.attention[0].why, "Deployment marked as failed");
  EXPECT_EQ(now.attention[0].advice, "mend the file and apply it, or go back: underway job revert web 0");
}

TEST_F(StatusTest, WaitsUntilTheAgentsOfItsHostsAreLinked) {
  world.join(make_node(1));
  world.apply([](const tables::Tables&, const server::Context&) {
    server::Decision<server::Nothing> decision;
    model::Host host;
    host.name = "c1";
    host.cluster = "hpc";
    host.status = model::HostStatus::running;
    host.node_id = uuid(1);
    decision.changes.push_back(tables::PutHost{host});
    return decision;
  });
  EXPECT_TRUE(status().settled);
  linked = false;
  EXPECT_FALSE(status().settled);
  EXPECT_FALSE(status().hosts[0].linked);
}

TEST_F(StatusTest, AHostThatDoesNotJoinNeedsYouOnceItsReasonIsKnown) {
  model::Host host;
  host.name = "c1";
  host.cluster = "hpc";
  host.status = model::HostStatus::running;
  const auto put = [&] {
    world.apply([&](const tables::Tables&, const server::Context&) {
      server::Decision<server::Nothing> decision;
      decision.changes.push_back(tables::PutHost{host});
      return decision;
    });
  };
  put();
  EXPECT_TRUE(status().attention.empty());
  host.status_description = "its agent has not joined; it says: no space";
  put();
  const auto now = status();
  ASSERT_EQ(now.attention.size(), 1u);
  EXPECT_EQ(now.attention[0].what, "host 'c1' has not joined");
  EXPECT_EQ(now.attention[0].why, host.status_description);
  EXPECT_NE(now.attention[0].advice.find("clusters/hpc/consoles/c1.log"), std::string::npos);
}

TEST_F(StatusTest, TellsWhatKeepsAHostOffSlurmAndWhatSomebodyChangedThere) {
  world.join(make_node(1));
  model::Host host;
  host.name = "c1";
  host.cluster = "hpc";
  host.status = model::HostStatus::running;
  host.node_id = uuid(1);
  model::SlurmMember member{.cluster = "hpc",
                            .host = "c1",
                            .description = "it is not ready: nothing is mounted at /home",
                            .differences = {"the weight of c1 is declared as 1, and Slurm has 7"}};
  const auto put = [&] {
    world.apply([&](const tables::Tables&, const server::Context&) {
      server::Decision<server::Nothing> decision;
      decision.changes.push_back(tables::PutHost{host});
      decision.changes.push_back(tables::put_record(member));
      return decision;
    });
  };
  put();
  auto now = status();
  ASSERT_EQ(now.attention.size(), 2u);
  EXPECT_EQ(now.attention[0].what, "host 'c1' may have no Slurm jobs");
  EXPECT_EQ(now.attention[0].why, member.description);
  EXPECT_EQ(now.attention[1].why, member.differences[0]);
  EXPECT_EQ(now.hosts[0].status_description, member.description);
  // One that goes says what it waits for where it stands.
  host.status = model::HostStatus::stopping;
  member.status = model::SlurmMembership::leaving;
  member.description = "c1 has 1 Slurm job: 17";
  member.differences.clear();
  put();
  now = status();
  EXPECT_TRUE(now.attention.empty());
  EXPECT_EQ(now.hosts[0].status_description, "c1 has 1 Slurm job: 17");
}

TEST_F(StatusTest, WaitsForHostsAndShowsOnlyTheClusterAskedFor) {
  world.apply([](const tables::Tables&, const server::Context&) {
    server::Decision<server::Nothing> decision;
    for (const char* name : {"one", "two"}) {
      model::Cluster cluster;
      cluster.name = name;
      decision.changes.push_back(tables::PutCluster{cluster});
      model::Host host;
      host.name = "c1";
      host.cluster = name;
      host.status = std::string(name) == "one" ? model::HostStatus::failed : model::HostStatus::creating;
      host.status_description = "no space";
      decision.changes.push_back(tables::PutHost{host});
    }
    return decision;
  });
  EXPECT_EQ(status().hosts.size(), 2u);
  const auto two = status("two");
  EXPECT_EQ(two.clusters.size(), 1u);
  EXPECT_EQ(two.hosts.size(), 1u);
  EXPECT_TRUE(two.attention.empty());
  EXPECT_FALSE(two.settled);
  const auto one = status("one");
  ASSERT_EQ(one.attention.size(), 1u);
  EXPECT_EQ(one.attention[0].what, "host 'c1' could not be made");
}

TEST_F(StatusTest, TellsOfAMachineThatFailedWhateverClusterItsJobIsOf) {
  world.apply([&](const tables::Tables&, const server::Context& context) {
    server::Decision<server::Nothing> decision;
    model::Cluster cluster;
    cluster.name = "one";
    decision.changes.push_back(tables::PutCluster{cluster});
    model::Host host;
    host.cluster = "one";
    host.pool = "burst";
    host.name = "v1";
    host.status = model::HostStatus::creating;
    host.status_description = "its machine is failed on node m1: there is no image";
    decision.changes.push_back(tables::PutHost{host});
    model::Allocation machine;
    machine.id = "a1";
    machine.ns = model::kDefaultNamespace;
    machine.job_id = model::pool_job_id("one", "burst");
    machine.group = "v1";
    machine.client_status = model::ClientStatus::failed;
    machine.alloc_modify_index = context.revision;
    decision.changes.push_back(tables::PutAllocation{machine});
    return decision;
  });
  const auto told = status("one");
  ASSERT_EQ(told.attention.size(), 1u);
  EXPECT_EQ(told.attention[0].what, "host 'v1' does not come up");
  EXPECT_EQ(told.attention[0].why, "its machine is failed on node m1: there is no image");
  EXPECT_EQ(told.attention[0].advice, "underway job status one-burst-hosts");
}

TEST_F(StatusTest, IsNotSettledBeforeHostsAreBegunAsDeclared) {
  model::Cluster cluster;
  cluster.name = "one";
  cluster.pools.resize(1);
  cluster.pools[0].name = cluster.pools[0].hostname = "mgmt";
  const auto put = [&](server::Change change) {
    world.apply([&](const tables::Tables&, const server::Context&) {
      server::Decision<server::Nothing> decision;
      decision.changes.push_back(change);
      return decision;
    });
  };
  put(tables::PutCluster{cluster});
  EXPECT_FALSE(status("one").settled) << "no host yet";
  EXPECT_TRUE(status("other").settled);
  cluster.pools.clear();
  put(tables::PutCluster{cluster});
  EXPECT_TRUE(status("one").settled);
}

}  // namespace
}  // namespace underway::api::testing
