// Pools that Slurm itself asks for: what its programs say, and what a look puts right.
#include "growth/asked.hpp"

#include <gmock/gmock.h>

#include "server/testing/desk.hpp"

namespace underway::growth {
namespace {

using model::HostStatus;
using model::PoolHosts;
using server::testing::Desk;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

model::Cluster asking() {
  model::Cluster out;
  out.name = "tide";
  out.networks = {{.name = "lan", .cidr = "10.80.0.0/24"}};
  model::Pool burst{.name = "burst", .size = 1, .hostname = "b%d", .cpus = 4, .memory_mb = 1000};
  burst.slurm = model::SlurmJoin{.join = "cloud", .most = 5};
  burst.elastic = model::PoolElastic{.asked_by = model::AskedBy::slurm, .boot_timeout = minutes(2)};
  model::Pool ours{.name = "ours", .size = 1, .hostname = "c%d", .cpus = 4, .memory_mb = 1000};
  ours.slurm = model::SlurmJoin{.join = "cloud", .most = 3};
  ours.elastic = model::PoolElastic{};
  out.pools = {burst, ours};
  return out;
}

class Asked : public testing::Test {
 protected:
  Asked() { declare(asking()); }
  void declare(model::Cluster cluster) { desk_.commit({tables::PutCluster{std::move(cluster)}}); }
  model::SlurmAnswer say(SlurmProgram program, model::SlurmAsk ask) {
    return desk_.run(AskedBySlurm{"tide", program, std::move(ask)});
  }
  model::SlurmAnswer resume(std::vector<std::string> nodes, std::vector<model::AskingJob> jobs = {}) {
    return say(SlurmProgram::resume, {std::move(nodes), std::move(jobs)});
  }
  model::SlurmAnswer suspend(std::vector<std::string> nodes) {
    return say(SlurmProgram::suspend, {std::move(nodes), {}});
  }
  PoolHosts record() const { return tables::find_record<PoolHosts>(desk_.tables, "tide/burst").value_or(PoolHosts{}); }
  std::vector<std::string> hosts() const {
    return model::hosts_to_have(desk_.tables.find_cluster("tide")->pools[0],
                                tables::find_record<PoolHosts>(desk_.tables, "tide/burst"));
  }
  std::string refusal(SlurmProgram program, std::vector<std::string> nodes) {
    try {
      say(program, {std::move(nodes), {}});
    } catch (const Error& error) {
      return error.one_line();
    }
    return {};
  }

  Desk desk_;
};

TEST_F(Asked, ResumeHasHostsMadeAndSuspendHasThemGo) {
  auto answer = resume({"b3", "b2"}, {{17, {"b2", "b3"}}, {18, {"b2"}}});
  EXPECT_THAT(answer.asked_for, ElementsAre("b2", "b3"));
  EXPECT_THAT(hosts(), ElementsAre("b1", "b2", "b3"));
  EXPECT_THAT(record().gangs, UnorderedElementsAre(Pair("b2", "17"), Pair("b3", "17")));
  EXPECT_EQ(record().asked_at.at("b3"), unix_nanos(desk_.clock.now()));
  answer = suspend({"b2"});
  EXPECT_THAT(answer.given_back, ElementsAre("b2"));
  EXPECT_THAT(hosts(), ElementsAre("b1", "b3"));
  answer = say(SlurmProgram::resume_fail, {{"b3"}, {}});
  EXPECT_THAT(hosts(), ElementsAre("b1"));
  EXPECT_THAT(record().asked_at, IsEmpty());
}

TEST_F(Asked, SaidTwiceItIsTheSame) {
  resume({"b2"});
  const auto revision = desk_.store.revision();
  EXPECT_THAT(resume({"b2", "b2"}).asked_for, ElementsAre("b2"));
  EXPECT_EQ(desk_.store.revision(), revision) << "at the same moment";
  suspend({"b2"});
  EXPECT_THAT(suspend({"b2"}).given_back, ElementsAre("b2"));
  EXPECT_THAT(hosts(), ElementsAre("b1"));
}

TEST_F(Asked, WhatSlurmHasNoSayInStaysAndIsTold) {
  EXPECT_THAT(suspend({"b1", "c1"}).left_alone, ElementsAre("b1", "c1")) << "always there, and of another pool";
  EXPECT_THAT(hosts(), ElementsAre("b1"));
  const auto answer = resume({"b2", "c3"});
  EXPECT_THAT(answer.asked_for, ElementsAre("b2"));
  EXPECT_THAT(answer.left_alone, ElementsAre("c3"));
  EXPECT_FALSE(tables::find_record<PoolHosts>(desk_.tables, "tide/ours"));
}

TEST_F(Asked, UnknownNodesAreRefusedAllTogether) {
  EXPECT_THAT(refusal(SlurmProgram::resume, {"b2", "b6", "b7", "x"}), HasSubstr("has no host b[6-7],x"));
  EXPECT_THAT(hosts(), ElementsAre("b1")) << "nothing was done";
  EXPECT_THAT(refusal(SlurmProgram::suspend, {}), HasSubstr("no node is named"));
  EXPECT_THAT(refusal(SlurmProgram::suspend, std::vector<std::string>(model::kMostNodesAsked + 1, "b2")),
              HasSubstr("at most 100000"));
  auto queue = asking();
  queue.pools[0].elastic->asked_by = model::AskedBy::queue;
  declare(queue);
  EXPECT_THAT(refusal(SlurmProgram::resume, {"b2"}), HasSubstr("Slurm does not ask for hosts of cluster 'tide'"));
}

TEST_F(Asked, APolicyThatWasBusyDoesNotOverruleSlurm) {
  resume({"b2"});
  desk_.run(NoteGrowth{"tide", {{.cluster = "tide", .pool = "burst", .hosts = {"b1"}}}, Memory{.cluster = "tide"}});
  EXPECT_THAT(hosts(), ElementsAre("b1", "b2"));
}

TEST_F(Asked, ALookGivesBackNoHostThatWasAskedForSince) {
  resume({"b2"});
  const auto before = record().asked_at.at("b2");
  desk_.clock.advance(seconds(5));
  resume({"b2"});
  desk_.run(PutAsked{"tide", {"b3", "b1", "c2"}, {{"b2", before}}});
  EXPECT_THAT(hosts(), ElementsAre("b1", "b2", "b3"));
  desk_.run(PutAsked{"tide", {}, {{"b2", record().asked_at.at("b2")}}});
  EXPECT_THAT(hosts(), ElementsAre("b1", "b3"));
}

/// A pool of b1 to b5, of which b1 is always there.
class AskedLooks : public testing::Test {
 protected:
  AskedLooks() {
    facts_.name = "tide";
    PoolFacts pool;
    pool.type.name = "burst";
    pool.type.asked_by = model::AskedBy::slurm;
    pool.type.boot_timeout = minutes(2);
    pool.type.vcpus = 4;
    pool.type.memory_mb = 1000;
    pool.type.min_nodes = 1;
    pool.type.max_nodes = 5;
    pool.always = {"b1"};
    pool.hosts = {.cluster = "tide", .pool = "burst", .hosts = {"b1"}};
    for (int i = 1; i <= 5; ++i) pool.all_names.push_back("b" + std::to_string(i));
    facts_.pools.push_back(pool);
    facts_.memory.cluster = "tide";
    for (const auto& name : pool.all_names) {
      slurm_.records.push_back({.name = name,
                                .state = "IDLE",
                                .flags = {"CLOUD", "POWERED_DOWN"},
                                .cpus = 4,
                                .memory_mb = 1000,
                                .partitions = {"cloud"}});
    }
    record("b1").flags = {"CLOUD"};
  }
  slurm::NodeRecord& record(const std::string& name) {
    return *std::find_if(slurm_.records.begin(), slurm_.records.end(), [&](const auto& it) { return it.name == name; });
  }
  void is(const std::string& name, std::string state, std::set<std::string> flags) {
    flags.insert("CLOUD");
    record(name).state = std::move(state);
    record(name).flags = std::move(flags);
  }
  void have(const std::string& name, Duration since, HostStatus status = HostStatus::running, bool placed = true) {
    facts_.pools[0].hosts.hosts.push_back(name);
    facts_.pools[0].hosts.asked_at[name] = unix_nanos(kNow - since);
    facts_.hosts.push_back({.name = name, .pool = "burst", .status = status, .placed = placed});
  }
  AskedOutlook look() const { return look_at_asked(facts_, slurm_, kNow); }

  static constexpr TimePoint kNow{std::chrono::hours(500'000)};
  ClusterFacts facts_;
  SlurmLook slurm_;
};

TEST_F(AskedLooks, WhatStandsAsSlurmHasItStays) {
  have("b2", minutes(10));
  is("b2", "ALLOCATED", {});
  have("b3", minutes(10));
  is("b3", "IDLE", {});
  have("b4", seconds(30));
  is("b4", "ALLOCATED", {"POWERING_UP", "NOT_RESPONDING"});
  const auto out = look();
  EXPECT_TRUE(out.put.empty());
  EXPECT_THAT(out.failed, IsEmpty());
}

TEST_F(AskedLooks, WordsThatWereLostAreMadeUpFor) {
  is("b2", "ALLOCATED", {"POWERING_UP", "NOT_RESPONDING"});
  is("b3", "MIXED", {});
  have("b4", minutes(10));
  is("b4", "IDLE", {"POWERING_DOWN"});
  have("b5", minutes(10));
  const auto out = look();
  EXPECT_THAT(out.put.wanted, ElementsAre("b2", "b3")) << "a suspend that came after the resume which followed it";
  EXPECT_THAT(out.put.not_wanted, UnorderedElementsAre(Pair("b4", unix_nanos(kNow - minutes(10))),
                                                       Pair("b5", unix_nanos(kNow - minutes(10)))));
  EXPECT_THAT(out.failed, IsEmpty());
}

TEST_F(AskedLooks, AHostOnWhichAJobIsAboutToComeIsNotGivenBack) {
  have("b2", minutes(10));
  is("b2", "ALLOCATED", {"POWERED_DOWN"});
  EXPECT_TRUE(look().put.empty());
}

TEST_F(AskedLooks, SlurmIsToldOfBootsThatFail) {
  have("b2", seconds(5), HostStatus::failed);
  have("b3", seconds(20), HostStatus::creating, false);
  have("b4", minutes(3));
  for (const auto* name : {"b2", "b3", "b4"}) is(name, "ALLOCATED", {"POWERING_UP", "NOT_RESPONDING"});
  have("b5", minutes(10));
  is("b5", "ALLOCATED", {"NOT_RESPONDING"});
  auto out = look();
  EXPECT_THAT(out.failed,
              UnorderedElementsAre(Pair("b2", "its host could not be made"), Pair("b3", "no node has room for it"),
                                   Pair("b4", HasSubstr("not there within 2m"))));
  EXPECT_EQ(out.put.not_wanted.size(), 3U) << "what fell silent is Slurm's to judge";
  EXPECT_EQ(out.failed_boots, 3);
  // What Slurm has given up by itself is down already.
  is("b2", "DOWN", {"POWERING_UP"});
  out = look();
  EXPECT_FALSE(out.failed.contains("b2"));
  EXPECT_TRUE(out.put.not_wanted.contains("b2"));
}

TEST_F(AskedLooks, OneThatIsAlwaysThereIsTriedOn) {
  facts_.hosts.push_back({.name = "b1", .pool = "burst", .status = HostStatus::failed});
  is("b1", "DOWN", {});
  const auto out = look();
  EXPECT_TRUE(out.put.empty());
  EXPECT_THAT(out.failed, IsEmpty());
}

TEST_F(AskedLooks, ThePolicyLeavesThePoolAloneAndSaysSo) {
  facts_.pools[0].type.cost_per_hour = "0.50";
  facts_.pools[0].type.keep_alive = "10s";
  have("b2", minutes(10));
  facts_.hosts.back().admitted = true;
  is("b2", "IDLE", {});
  slurm_.queue.push_back({.id = "17",
                          .state = "PENDING",
                          .reason = "Priority",
                          .partitions = {"cloud"},
                          .priority = 1,
                          .nodes_min = 3,
                          .cpus = 12,
                          .submitted = kNow - minutes(5)});
  std::map<std::string, Seen> before;
  auto out = think(facts_, slurm_, before, kNow, seconds(1));
  facts_.memory = out.memory;
  before = out.hosts;
  out = think(facts_, slurm_, before, kNow + minutes(5), std::chrono::hours(1));
  EXPECT_THAT(out.pools, IsEmpty()) << "neither grown for the job nor shrunk by idleness";
  EXPECT_EQ(out.status.pending, 1);
  ASSERT_EQ(out.status.pools.size(), 1U);
  EXPECT_EQ(out.status.pools[0].asked_by, model::AskedBy::slurm);
  EXPECT_EQ(out.status.pools[0].idle, 1);
  EXPECT_EQ(out.status.pools[0].cost_per_hour, "1.00") << "b1, which has no host yet, is wanted too";
  EXPECT_THAT(out.status.lines, testing::Contains("pool 'burst': Slurm asks for its hosts itself"));
  const auto told = explain("tide", out.explanation, slurm_.queue, "17", out.asked);
  EXPECT_THAT(told.lines, ElementsAre(HasSubstr("Slurm asks for hosts of pool 'burst' itself")));
}

TEST_F(AskedLooks, ItsHostsUseUpWhatAllPoolsMayHave) {
  PoolFacts ours;
  ours.type.name = "ours";
  ours.type.vcpus = 4;
  ours.type.memory_mb = 1000;
  ours.type.max_nodes = 6;
  ours.type.keep_alive = "60s";
  ours.hosts = {.cluster = "tide", .pool = "ours"};
  for (int i = 1; i <= 6; ++i) {
    ours.all_names.push_back("c" + std::to_string(i));
    slurm_.records.push_back({.name = ours.all_names.back(),
                              .state = "DOWN",
                              .flags = {"CLOUD"},
                              .cpus = 4,
                              .memory_mb = 1000,
                              .partitions = {"batch"}});
  }
  facts_.pools.push_back(ours);
  facts_.policy.max_nodes = 4;
  have("b2", minutes(10));
  is("b2", "ALLOCATED", {});
  for (int i = 0; i < 4; ++i)
    slurm_.queue.push_back({.id = std::to_string(20 + i),
                            .state = "PENDING",
                            .reason = "Resources",
                            .partitions = {"batch"},
                            .priority = 1,
                            .cpus = 4,
                            .submitted = kNow - minutes(5)});
  const auto out = think(facts_, slurm_, {}, kNow, seconds(1));
  ASSERT_EQ(out.pools.size(), 1U);
  EXPECT_EQ(out.pools[0].pool, "ours");
  EXPECT_EQ(out.pools[0].hosts.size(), 2U) << "b1 and b2 count";
}

}  // namespace
}  // namespace underway::growth
