// Hosts of pools that join Slurm: they are stopped when Slurm has nothing there any more, and keep their addresses
// until it has forgotten them.
#include <gtest/gtest.h>

#include "host/reconcile.hpp"
#include "server/testing/desk.hpp"
#include "tables/slurm_members.hpp"

namespace underway::host {
namespace {

using model::HostStatus;
using model::SlurmMember;
using model::SlurmMembership;
using server::testing::Desk;

class Leaving : public testing::Test {
 protected:
  void SetUp() override {
    declare(2);
    for (const auto* name : {"b1", "b2"}) {
      ASSERT_TRUE(host(name));
      auto row = *host(name);
      row.status = HostStatus::running;
      desk_.commit({tables::PutHost{row}});
      slurm_is(name, SlurmMembership::admitted);
    }
  }
  void declare(int size, bool stop = false) {
    model::Cluster cluster;
    cluster.name = "demo";
    cluster.stop = stop;
    cluster.networks.push_back({.name = "net", .cidr = "10.9.1.0/24"});
    cluster.pools.resize(1);
    cluster.pools[0].name = "burst";
    cluster.pools[0].hostname = "b%d";
    cluster.pools[0].size = size;
    desk_.commit({tables::PutCluster{cluster}});
    follow();
  }
  void follow() {
    FollowPools pools;
    pools.may_empty = [](const auto&, const auto&) { return true; };
    desk_.run(pools);
  }
  void slurm_is(const std::string& name, SlurmMembership status) {
    desk_.commit({tables::put_record(SlurmMember{.cluster = "demo", .host = name, .status = status})});
  }
  tables::Row<model::Host> host(const std::string& name) const { return desk_.tables.find_host("demo", name); }
  bool stops(const std::string& name) const {
    return may_stop(desk_.tables, *desk_.tables.find_cluster("demo"), *host(name));
  }

  Desk desk_;
};

TEST_F(Leaving, AHostIsStoppedWhenSlurmHasNothingThereAndKeepsItsAddressUntilItIsForgotten) {
  const auto address = host("b2")->addresses.at("net");
  declare(1);
  EXPECT_EQ(host("b2")->status, HostStatus::stopping);
  EXPECT_EQ(host("b1")->status, HostStatus::running);
  for (const auto status : {SlurmMembership::waits, SlurmMembership::admitted, SlurmMembership::leaving}) {
    slurm_is("b2", status);
    EXPECT_FALSE(stops("b2"));
  }
  slurm_is("b2", SlurmMembership::released);
  ASSERT_TRUE(stops("b2"));
  desk_.run(HostStopped{"demo", "b2"});
  ASSERT_TRUE(host("b2"));
  EXPECT_EQ(host("b2")->status, HostStatus::stopped);
  // A host that is declared meanwhile gets another address.
  declare(3);
  EXPECT_EQ(host("b2")->status, HostStatus::stopped) << "its machine is gone: it is made anew later";
  EXPECT_NE(host("b3")->addresses.at("net"), address);
  slurm_is("b2", SlurmMembership::gone);
  EXPECT_TRUE(may_forget(desk_.tables, *desk_.tables.find_cluster("demo"), *host("b2")));
  desk_.run(HostGone{"demo", "b2"});
  EXPECT_FALSE(tables::find_record<SlurmMember>(desk_.tables, "demo/b2"));
  follow();
  EXPECT_EQ(host("b2")->status, HostStatus::pending);
  EXPECT_EQ(host("b2")->addresses.at("net"), address);
}

TEST_F(Leaving, AHostThatIsWantedAgainBeforeItWasLetGoStays) {
  declare(1);
  slurm_is("b2", SlurmMembership::leaving);
  declare(2);
  EXPECT_EQ(host("b2")->status, HostStatus::running);
  declare(1);
  slurm_is("b2", SlurmMembership::released);
  declare(2);
  EXPECT_EQ(host("b2")->status, HostStatus::stopping) << "somebody is stopping it";
}

TEST_F(Leaving, NobodyWaitsForSlurmWhereThereIsNone) {
  declare(1);
  desk_.commit({tables::delete_record<SlurmMember>("demo/b2")});
  EXPECT_TRUE(stops("b2"));
  desk_.run(HostStopped{"demo", "b2"});
  EXPECT_FALSE(host("b2"));
  // Nor when all of the cluster goes, slurmctld with it.
  declare(1, true);
  EXPECT_TRUE(stops("b1"));
  desk_.run(HostStopped{"demo", "b1"});
  EXPECT_FALSE(host("b1"));
}

TEST_F(Leaving, TheNameOfOneThatHasJobsIsStillAnnounced) {
  declare(1);
  const auto cluster = desk_.tables.find_cluster("demo");
  EXPECT_EQ(announcement(*cluster, desk_.tables.hosts("demo")).size(), 1U);
  EXPECT_EQ(announcement(*cluster, desk_.tables.hosts("demo"), {"b2"}).size(), 2U);
}

}  // namespace
}  // namespace underway::host
