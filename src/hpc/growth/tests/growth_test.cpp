// What is written down of growth, and what the host controller makes of it.
#include <gmock/gmock.h>

#include "growth/look.hpp"
#include "host/reconcile.hpp"
#include "server/testing/desk.hpp"

namespace underway::growth {
namespace {

using model::PoolHosts;
using server::testing::Desk;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

model::Cluster tide() {
  model::Cluster out;
  out.name = "tide";
  out.networks = {{.name = "lan", .cidr = "10.80.0.0/24"}};
  model::Pool pool{.name = "compute", .size = 2, .hostname = "c%d", .cpus = 4, .memory_mb = 1000};
  pool.slurm = model::SlurmJoin{.most = 6};
  pool.elastic = model::PoolElastic{.keep_alive = "1m"};
  out.pools = {pool};
  return out;
}

std::vector<std::string> hosts_of(const Desk& desk) {
  std::vector<std::string> out;
  for (const auto& host : desk.tables.hosts("tide")) {
    if (host->status != model::HostStatus::stopping) out.push_back(host->name);
  }
  return out;
}

class WrittenDown : public testing::Test {
 protected:
  WrittenDown() {
    declare(tide());
    follow();
  }
  void declare(model::Cluster cluster) { desk_.commit({tables::PutCluster{std::move(cluster)}}); }
  void follow() {
    desk_.run(host::FollowPools{[](const auto&, const auto&) { return true; }});
  }
  void note(std::vector<std::string> hosts) {
    desk_.run(NoteGrowth{
        "tide", {{.cluster = "tide", .pool = "compute", .hosts = std::move(hosts)}}, Memory{.cluster = "tide"}});
  }

  Desk desk_;
};

TEST_F(WrittenDown, HostsAreMadeAndEndedAsWasDecided) {
  EXPECT_THAT(hosts_of(desk_), UnorderedElementsAre("c1", "c2"));
  note({"c1", "c2", "c5"});
  follow();
  EXPECT_THAT(hosts_of(desk_), UnorderedElementsAre("c1", "c2", "c5"));
  note({"c2", "c5"});
  follow();
  EXPECT_THAT(hosts_of(desk_), UnorderedElementsAre("c2", "c5"));
}

TEST_F(WrittenDown, ThereAreNeverFewerThanAreDeclaredNorOthers) {
  note({"c4"});
  follow();
  EXPECT_THAT(hosts_of(desk_), UnorderedElementsAre("c1", "c4"));
  note({"c1", "c4", "c9", "x1"});
  follow();
  EXPECT_THAT(hosts_of(desk_), UnorderedElementsAre("c1", "c4"));
  desk_.run(host::HostStopped{"tide", "c2"});
  auto larger = tide();
  larger.pools[0].size = 3;
  declare(larger);
  follow();
  EXPECT_THAT(hosts_of(desk_), UnorderedElementsAre("c1", "c2", "c4"));
}

TEST_F(WrittenDown, APoolThatGrowsNoMoreHasItsSizeAndIsForgotten) {
  note({"c1", "c2", "c3"});
  follow();
  EXPECT_FALSE(anything_to_forget(desk_.tables));
  auto fixed = tide();
  fixed.pools[0].elastic.reset();
  declare(fixed);
  follow();
  EXPECT_THAT(hosts_of(desk_), UnorderedElementsAre("c1", "c2"));
  EXPECT_TRUE(anything_to_forget(desk_.tables));
  desk_.run(ForgetGrowth{});
  EXPECT_FALSE(anything_to_forget(desk_.tables));
  EXPECT_FALSE(tables::find_record<PoolHosts>(desk_.tables, "tide/compute"));
  note({"c1", "c2", "c3"});
  EXPECT_FALSE(tables::find_record<PoolHosts>(desk_.tables, "tide/compute")) << "a look from before";
}

TEST_F(WrittenDown, WhatTimeAloneChangesIsWrittenOnceAMinute) {
  Memory memory{.cluster = "tide"};
  memory.written_at = unix_nanos(desk_.clock.now());
  desk_.run(NoteGrowth{"tide", {}, memory});
  auto revision = desk_.store.revision();
  memory.spending = {"2026-11-27", "2026-11", 17, 17};
  memory.state.last_tick = 5;
  desk_.run(NoteGrowth{"tide", {}, memory});
  EXPECT_EQ(desk_.store.revision(), revision);
  memory.written_at += 61'000'000'000;
  desk_.run(NoteGrowth{"tide", {}, memory});
  EXPECT_GT(desk_.store.revision(), revision);
  revision = desk_.store.revision();
  memory.state.gangs.push_back({.label = "17/1", .job = "17"});
  desk_.run(NoteGrowth{"tide", {}, memory});
  EXPECT_GT(desk_.store.revision(), revision);
  EXPECT_THAT(tables::find_record<Memory>(desk_.tables, "tide")->state.gangs, testing::SizeIs(1));
}

TEST_F(WrittenDown, FactsAreOfPoolsThatGrow) {
  auto cluster = tide();
  cluster.pools.push_back({.name = "login", .size = 1});
  declare(cluster);
  follow();
  const auto facts = facts_of(desk_.tables, *desk_.tables.find_cluster("tide"));
  ASSERT_EQ(facts.pools.size(), 1U);
  EXPECT_EQ(facts.pools[0].type.max_nodes, 6);
  EXPECT_EQ(facts.pools[0].type.min_nodes, 2);
  EXPECT_THAT(facts.pools[0].hosts.hosts, ElementsAre("c1", "c2"));
  EXPECT_EQ(facts.hosts.size(), 2U);
  EXPECT_FALSE(facts.hosts[0].admitted);
}

}  // namespace
}  // namespace underway::growth
