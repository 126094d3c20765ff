#include "growth/room.hpp"

#include <gmock/gmock.h>

#include "base/text.hpp"
#include "server/testing/desk.hpp"

namespace underway::growth {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr TimePoint kAtNoon{hours(24 * 20'000)};

YieldingHost low(const std::string& name, const std::string& node) {
  return {.name = name, .node = node, .cpu = 500, .memory_mb = 1000, .vcpus = 1};
}
YieldingHost asleep(YieldingHost host) {
  host.to_sleep = host.asleep = host.ours = true;
  return host;
}
slurm::QueuedJob job(const std::string& id, std::vector<std::string> nodes) {
  slurm::QueuedJob out;
  out.id = id;
  out.state = "RUNNING";
  out.nodes = std::move(nodes);
  return out;
}
/// "v1", or "v1, v2" of those that sleep together.
std::vector<std::string> napping(const Room& room) {
  std::vector<std::string> out;
  for (const auto& nap : room.sleep) out.push_back(join(nap.hosts, ", "));
  return out;
}

/// "v1", or "v1 to n2", or "v1, v2" of those that wake together.
std::vector<std::string> waking(const Room& room) {
  std::vector<std::string> out;
  for (const auto& group : room.wake) {
    std::vector<std::string> words;
    for (const auto& [host, node] : group) words.push_back(node.empty() ? host : host + " to " + node);
    out.push_back(join(words, ", "));
  }
  return out;
}

/// Two nodes without room, each with two hosts that yield.
class MakingRoom : public ::testing::Test {
 protected:
  MakingRoom() {
    facts.cluster = "tide";
    facts.nodes = {{"n1", "m1", 0, 0}, {"n2", "m2", 0, 0}};
    facts.yielding = {low("v1", "n1"), low("v2", "n1"), low("v3", "n2"), low("v4", "n2")};
    for (const auto& host : facts.yielding) queue.push_back(job("j" + host.name, {host.name}));
  }
  Room look(TimePoint now = kAtNoon) {
    auto room = make_room(facts, {queue, {}, redo}, now);
    facts.book = room.book;
    return room;
  }

  void have_slept(const std::string& host, int times) {
    for (int i = 0; i < times; ++i)
      facts.book.sleeps.push_back({.job = host, .cpus = 1, .since = 2 * i + 1, .until = 2 * i + 2});
  }

  RoomFacts facts;
  std::vector<slurm::QueuedJob> queue;
  std::vector<slurm::RedoFacts> redo;
};

TEST_F(MakingRoom, PutsTheFewestToSleepForOneThatIsUrgent) {
  facts.urgent = {{"u1", "urgent", 500, 1500}};
  const auto room = look();
  ASSERT_THAT(room.sleep, SizeIs(2)) << "one alone is too small, and both have to be on one node";
  EXPECT_THAT(napping(room), ElementsAre("v1", "v2"));
  EXPECT_EQ(room.sleep[0].why, "makes room for u1");
  EXPECT_FALSE(room.settled);
  EXPECT_THAT(room.book.sleeps, SizeIs(2));
  EXPECT_EQ(room.book.sleeps[0].for_job, "u1");
}

TEST_F(MakingRoom, TakesThoseFirstWhoKeepNobodyWaiting) {
  facts.urgent = {{"u1", "urgent", 500, 1000}};
  std::erase_if(queue, [](const auto& it) { return it.id == "jv4"; });
  EXPECT_THAT(napping(look()), ElementsAre("v4"));
}

TEST_F(MakingRoom, AsksNobodyTwiceAndNobodyWhenThereIsRoom) {
  facts.urgent = {{"u1", "urgent", 500, 1000}};
  facts.yielding[0].to_sleep = facts.yielding[0].ours = true;
  EXPECT_THAT(look().sleep, IsEmpty()) << "v1 is about to make it";
  facts.yielding[0].to_sleep = false;
  facts.nodes[1] = {"n2", "m2", 500, 1000};
  EXPECT_THAT(look().sleep, IsEmpty());
  facts.urgent.push_back({"u2", "urgent", 500, 1000});
  EXPECT_THAT(look().sleep, SizeIs(1)) << "that room is for one of them";
}

TEST_F(MakingRoom, LeavesAloneWhoWasPromisedToBe) {
  facts.urgent = {{"u1", "urgent", 500, 1000}};
  for (const auto& host : facts.yielding) have_slept(host.name, 3);
  const auto room = look();
  EXPECT_THAT(room.sleep, IsEmpty());
  EXPECT_THAT(room.lines, ElementsAre(HasSubstr("u1 waits for room, and nobody can make it")));
}

TEST_F(MakingRoom, WakesThemWhenThereIsRoomAgainThoseThatSleptLongestFirst) {
  facts.yielding[0] = asleep(low("v1", "n1"));
  facts.yielding[1] = asleep(low("v2", "n1"));
  facts.book.sleeps = {{.job = "v1", .cpus = 1, .since = unix_nanos(kAtNoon - minutes(5))},
                       {.job = "v2", .cpus = 1, .since = unix_nanos(kAtNoon - minutes(20))}};
  EXPECT_THAT(look().wake, IsEmpty());
  facts.nodes[0] = {"n1", "m1", 900, 1500};
  const auto room = look();
  EXPECT_THAT(waking(room), ElementsAre("v2"));
  EXPECT_THAT(room.lines, ::testing::Contains(HasSubstr("v1 sleeps, and has slept for 5m")));

  facts.yielding[1] = low("v2", "n1");
  facts.nodes[0] = {"n1", "m1", 0, 0};
  const auto after = look(kAtNoon + minutes(1));
  ASSERT_THAT(after.book.sleeps, SizeIs(2));
  EXPECT_EQ(after.book.sleeps[1].until, unix_nanos(kAtNoon + minutes(1)));
  facts.yielding.erase(facts.yielding.begin() + 1);
  EXPECT_THAT(look().book.sleeps, SizeIs(1)) << "the host is gone";
}

TEST_F(MakingRoom, WakesThemOnAnotherNodeWhileOthersHaveTheirRoom) {
  facts.yielding[0] = asleep(low("v1", "n1"));
  facts.book.sleeps = {{.job = "v1", .cpus = 1, .since = unix_nanos(kAtNoon - minutes(5))}};
  facts.nodes[1] = {"n2", "m2", 500, 1000};
  EXPECT_THAT(waking(look()), ElementsAre("v1 to n2"));
  facts.nodes[0] = {"n1", "m1", 500, 1000};
  EXPECT_THAT(waking(look()), ElementsAre("v1")) << "where it is, it is awake sooner";
  facts.nodes[0] = {"n1", "m1", 0, 0};
  facts.yielding[0].stayed = true;
  EXPECT_THAT(look().wake, IsEmpty()) << "it could not go there before";
  facts.yielding[0].stayed = false;
  facts.yielding[0].moves = true;
  const auto room = look();
  EXPECT_THAT(room.wake, IsEmpty());
  EXPECT_THAT(room.lines, ElementsAre(HasSubstr("v1 goes on on another node")));
}

TEST_F(MakingRoom, IsMadeAndUsedOnlyWhereAPoolsMachinesMayBe) {
  facts.urgent = {{"u1", "urgent", 500, 1000}, {"u2", "urgent", 500, 1000}};
  facts.bounds["urgent"].keep_apart({.what = "distinct_hosts", .limit = 1, .values = {{"n1", "n1"}, {"n2", "n2"}}});
  auto room = look();
  ASSERT_THAT(room.sleep, SizeIs(2));
  EXPECT_NE(napping(room)[0] < "v3", napping(room)[1] < "v3") << "one on each node";

  facts.urgent.pop_back();
  facts.book.sleeps.clear();
  facts.bounds["urgent"].bar("n1", "the constraint ${meta.rack} = r2 does not hold there");
  facts.yielding[2].to_sleep = facts.yielding[3].to_sleep = true;
  facts.yielding[2].asleep = facts.yielding[3].asleep = true;
  room = look();
  EXPECT_THAT(room.sleep, IsEmpty()) << "who sleeps on n1 makes room for nobody";
  EXPECT_THAT(room.lines, ElementsAre(HasSubstr("u1 waits for room, and nobody can make it")));
}

TEST_F(MakingRoom, NobodyIsWokenWhereItsPoolsMachinesMayNotBe) {
  for (const std::size_t i : {0, 1}) {
    facts.yielding[i] = asleep(low(facts.yielding[i].name, "n1"));
    facts.yielding[i].pool = "batch";
    facts.book.sleeps.push_back({.job = facts.yielding[i].name, .cpus = 1, .since = unix_nanos(kAtNoon - minutes(5))});
  }
  facts.nodes[1] = {"n2", "m2", 2000, 4000};
  facts.nodes.push_back({"n3", "m3", 2000, 4000});
  auto& bounds = facts.bounds["batch"];
  bounds.bar("n2", "it is in another node pool");
  EXPECT_THAT(waking(look()), ElementsAre("v1 to n3", "v2 to n3"));
  bounds.keep_apart({.what = "${meta.rack}", .limit = 1, .values = {{"n1", "r1"}, {"n3", "r3"}}, .used = {{"r1", 2}}});
  EXPECT_THAT(waking(look()), ElementsAre("v1 to n3")) << "and with that the rack has one";
}

TEST_F(MakingRoom, GivesRoomToUrgentOnesBeforeItIsSleptIn) {
  facts.yielding[0] = asleep(low("v1", "n1"));
  facts.nodes[0] = {"n1", "m1", 500, 1000};
  facts.urgent = {{"u1", "urgent", 500, 1000}};
  facts.book.sleeps = {{.job = "v1", .cpus = 1, .since = unix_nanos(kAtNoon - minutes(5))}};
  const auto room = look();
  EXPECT_THAT(room.wake, IsEmpty());
  EXPECT_THAT(room.sleep, IsEmpty());
  facts.book.sleeps[0].since = unix_nanos(kAtNoon - hours(5));
  EXPECT_THAT(waking(look()), ElementsAre("v1")) << "it is promised no more than four hours";
}

TEST_F(MakingRoom, LeavesThoseAloneWhomSomebodyElsePutToSleep) {
  facts.yielding[0] = asleep(low("v1", "n1"));
  facts.yielding[0].ours = false;
  facts.nodes[0] = {"n1", "m1", 500, 1000};
  const auto room = look();
  EXPECT_THAT(room.wake, IsEmpty());
  EXPECT_THAT(room.lines, IsEmpty());
}

/// The same, and v1 and v3 share a Slurm job, one on each node. The others are promised to sleep no more.
class MakingRoomTogether : public MakingRoom {
 protected:
  MakingRoomTogether() {
    queue.push_back(job("wide", {"v1", "v3"}));
    have_slept("v2", 3);
    have_slept("v4", 3);
    facts.urgent = {{"u1", "urgent", 500, 1000}};
  }
  void both_sleep(Duration since = minutes(5)) {
    for (const auto i : {0, 2}) {
      auto& host = facts.yielding[static_cast<std::size_t>(i)];
      host = asleep(host);
      facts.book.sleeps.push_back({.job = host.name, .cpus = 1, .since = unix_nanos(kAtNoon - since)});
    }
    queue.back().state = "SUSPENDED";
    facts.urgent.clear();
  }
};

TEST_F(MakingRoomTogether, PutsAllHostsOfAJobToSleepAsOne) {
  const auto room = look();
  EXPECT_THAT(napping(room), ElementsAre("v1, v3"));
  EXPECT_EQ(room.sleep[0].why, "makes room for u1");
  EXPECT_EQ(room.book.sleeps.size(), 8U) << "each of them is in the book";
  facts.urgent.push_back({"u2", "urgent", 500, 1000});
  EXPECT_THAT(napping(make_room(facts, {queue, {}, redo}, kAtNoon)), ElementsAre("v1, v3"))
      << "each node has room for one then";
}

TEST_F(MakingRoomTogether, TakesOneAloneBeforeTheTwo) {
  facts.book.sleeps.clear();
  EXPECT_THAT(napping(look()), ElementsAre("v2"));
}

TEST_F(MakingRoomTogether, CountsAllThatAGroupHasOfANode) {
  facts.yielding[2].node = "n1";
  facts.urgent = {{"u1", "urgent", 1000, 2000}};
  EXPECT_THAT(napping(look()), ElementsAre("v1, v3"));
}

TEST_F(MakingRoomTogether, LeavesAGroupAloneOfWhichOneCannotSleep) {
  const auto none = [&](const std::string& why) { EXPECT_THAT(look().sleep, IsEmpty()) << why; };
  queue.back().nodes.push_back("login");
  none("a host of it is no machine that yields");
  queue.back().nodes.pop_back();
  have_slept("v3", 3);
  none("v3 is promised to sleep no more");
  std::erase_if(facts.book.sleeps, [](const auto& sleep) { return sleep.job == "v3"; });
  facts.yielding[2].to_sleep = true;
  none("somebody else has put v3 to sleep");
  facts.yielding[2].to_sleep = false;
  facts.yielding[2].node.clear();
  none("v3 has no node");
  facts.yielding[2].node = "n2";
  queue.push_back(job("other", {"v3", "v4"}));
  none("v4 shares a job with one of them, and is promised to sleep no more");
  queue.pop_back();
  EXPECT_THAT(napping(look()), ElementsAre("v1, v3"));
}

TEST_F(MakingRoomTogether, PartsOfAHeterogeneousJobGoTogether) {
  queue.back() = job("17+0", {"v1"});
  queue.push_back(job("17+1", {"v3"}));
  EXPECT_THAT(napping(look()), ElementsAre("v1, v3"));
}

/// As after a restart of the server: all that is known is what the tables and Slurm have.
TEST_F(MakingRoomTogether, WakesAllOrNone) {
  both_sleep();
  facts.nodes[0] = {"n1", "m1", 500, 1000};
  EXPECT_THAT(look().wake, IsEmpty()) << "v3 has no room";
  facts.nodes[1] = {"n2", "m2", 500, 1000};
  EXPECT_THAT(waking(look()), ElementsAre("v1, v3"));
  facts.nodes = {{"n1", "m1", 1000, 2000}, {"n2", "m2", 0, 0}};
  EXPECT_THAT(waking(look()), ElementsAre("v1, v3 to n1"));
  facts.yielding[2].stayed = true;
  EXPECT_THAT(look().wake, IsEmpty()) << "v3 could not go there before";
  facts.yielding[2].stayed = false;
  facts.yielding[2].asleep = false;
  EXPECT_THAT(look().wake, IsEmpty()) << "it is falling asleep still";
  facts.yielding[2].asleep = facts.yielding[2].moves = true;
  EXPECT_THAT(look().wake, IsEmpty()) << "it is on its way";
}

TEST_F(MakingRoomTogether, WakesEachForItselfWhenTheirJobWasCancelledMeanwhile) {
  both_sleep();
  queue.pop_back();
  facts.nodes[0] = {"n1", "m1", 500, 1000};
  EXPECT_THAT(waking(look()), ElementsAre("v1"));
}

TEST_F(MakingRoomTogether, KeepsRoomForAGroupWhosePromiseIsOver) {
  both_sleep(hours(5));
  facts.yielding[1] = asleep(facts.yielding[1]);
  facts.book.sleeps.push_back({.job = "v2", .cpus = 1, .since = unix_nanos(kAtNoon - minutes(5))});
  facts.nodes[0] = {"n1", "m1", 500, 1000};
  EXPECT_THAT(look().wake, IsEmpty()) << "the room of v1 is not for v2";
  facts.nodes[1] = {"n2", "m2", 500, 1000};
  facts.urgent = {{"u1", "urgent", 500, 1000}};
  const auto room = look();
  EXPECT_THAT(waking(room), ElementsAre("v1, v3")) << "before anybody urgent";
  EXPECT_THAT(room.sleep, IsEmpty());
}

TEST_F(MakingRoomTogether, AllComeBackWhenOneCouldNotSleep) {
  facts.yielding[0].to_sleep = facts.yielding[0].ours = true;
  auto room = look();
  EXPECT_THAT(waking(room), ElementsAre("v1")) << "v3 runs on";
  EXPECT_THAT(room.sleep, IsEmpty());
  both_sleep();
  facts.yielding[2].to_sleep = facts.yielding[2].asleep = false;
  facts.nodes[0] = {"n1", "m1", 500, 1000};
  facts.urgent = {{"u1", "urgent", 500, 1000}};
  room = look();
  EXPECT_THAT(waking(room), ElementsAre("v1")) << "before anybody urgent";
}

/// The same as at first, and on m2 two hosts of whom nothing is promised.

TEST(RoomFacts, SayOnWhichNodesAPoolsMachinesMayBe) {
  server::testing::Desk desk;
  for (const int number : {1, 2}) {
    auto node = server::testing::make_node(number);
    node.node_pool = "metal";
    node.meta["rack"] = number == 1 ? "r1" : "r2";
    desk.join(node);
  }
  model::Cluster cluster;
  cluster.name = "tide";
  for (const auto* name : {"batch", "urgent"}) {
    auto& pool = cluster.pools.emplace_back();
    pool.name = name;
    pool.provider = "qemu";
    pool.machine = model::VirtualMachine{.on = "metal"};
    pool.elastic = model::PoolElastic{};
    auto job = server::testing::make_job(model::pool_job_id("tide", name));
    job.node_pool = "metal";
    job.groups[0].name = fmt::format("{}1", name);
    if (pool.name == "urgent") job.constraints = {{"${meta.rack}", "=", "r2"}, {"", "distinct_hosts", "true"}};
    desk.register_job(job);
    model::Host host{.name = job.groups[0].name, .cluster = "tide", .pool = name, .provider = "qemu"};
    host.status = model::HostStatus::running;
    desk.commit({tables::PutHost{host}});
  }
  cluster.pools[0].elastic->yields = cluster.pools[1].elastic->urgent = true;
  const auto facts = room_facts(desk.tables, cluster, kAtNoon);
  ASSERT_THAT(facts.yielding, SizeIs(1));
  EXPECT_EQ(facts.yielding[0].pool, "batch");
  ASSERT_THAT(facts.bounds, SizeIs(1));
  const auto& bounds = facts.bounds.at("urgent");
  EXPECT_EQ(bounds.against(server::testing::uuid(1)), "the constraint ${meta.rack} = r2 does not hold there");
  EXPECT_THAT(bounds.against(server::testing::uuid(2)), HasSubstr("distinct_hosts"));
  EXPECT_EQ(bounds.against(server::testing::uuid(2), server::testing::uuid(2)), "");
}

/// The same, and on m2 two hosts of whom nothing is promised.
class TakingRoom : public MakingRoom {
 protected:
  TakingRoom() {
    facts.yielding = {low("v1", "n1"), low("v2", "n1")};
    facts.opportunistic = {spot("s1"), spot("s2")};
    queue = {job("jv1", {"v1"}), job("jv2", {"v2"}), job("js1", {"s1"}), job("js2", {"s2"})};
    for (auto& it : queue) {
      it.starts = kAtNoon - (it.id == "js1" ? hours(2) : hours(1));
      redo.push_back({it.id, it.id, "RUNNING", it.nodes[0], {}, true, true});
    }
  }
  static OpportunisticHost spot(const std::string& name) { return {name, "spot", "n2", 500, 1000}; }
  static std::vector<std::string> taken(const Room& room) {
    std::vector<std::string> out;
    for (const auto& it : room.recall) out.insert(out.end(), it.hosts.begin(), it.hosts.end());
    return out;
  }
};

TEST_F(TakingRoom, WhoWasPromisedNothingGoesBeforeAnybodySleeps) {
  facts.urgent = {{"u1", "urgent", 500, 1000}};
  const auto room = look();
  EXPECT_THAT(taken(room), ElementsAre("s2")) << "its job has run for less";
  EXPECT_THAT(room.sleep, IsEmpty());
  ASSERT_THAT(room.recall, SizeIs(1));
  EXPECT_EQ(room.recall[0].pool, "spot");
  EXPECT_EQ(room.recall[0].for_host, "u1");
  EXPECT_EQ(room.recall[0].why, "makes room for u1");
  EXPECT_FALSE(room.settled);
  facts.opportunistic[1].goes = true;
  EXPECT_THAT(taken(look()), IsEmpty()) << "its room is about to be there";
}

TEST_F(TakingRoom, WhoseJobCannotBeDoneAgainStaysAndOthersSleepInstead) {
  facts.urgent = {{"u1", "urgent", 500, 1000}};
  facts.redone["js1"] = 1;
  redo[3].requeues = false;
  const auto room = look();
  EXPECT_THAT(taken(room), IsEmpty());
  EXPECT_THAT(napping(room), SizeIs(1));
}

TEST_F(TakingRoom, BothMakeRoomWhereNeitherSuffices) {
  facts.yielding[0].node = "n2";
  facts.opportunistic.pop_back();
  facts.urgent = {{"u1", "urgent", 1000, 2000}};
  const auto room = look();
  EXPECT_THAT(taken(room), ElementsAre("s1"));
  EXPECT_THAT(napping(room), ElementsAre("v1"));
}

TEST_F(TakingRoom, ARecallEndsWithItsUrgentHost) {
  facts.over = {3};
  const auto room = look();
  EXPECT_THAT(room.over, ElementsAre(3));
  EXPECT_FALSE(room.settled);
}

/// Two nodes of 2000 MHz for machines of 500, of a pool that is sold and one that yields.
class PromisesWithoutRoom : public ::testing::Test {
 protected:
  PromisesWithoutRoom() {
    cluster.name = "tide";
    for (const std::string name : {"physics", "batch"}) {
      model::Pool pool{.name = name, .provider = "qemu", .size = 0, .hostname = name + "%d", .cpus = 1};
      pool.memory_mb = 100;
      pool.machine = model::VirtualMachine{.on = "metal", .image = "/srv/image"};
      pool.slurm = model::SlurmJoin{.most = 8};
      pool.elastic = model::PoolElastic{};
      cluster.pools.push_back(pool);
    }
    cluster.pools[0].elastic->owner = "physics";
    cluster.pools[1].elastic->yields = true;
    for (int n : {1, 2}) {
      auto node = server::testing::make_node(n, 2000);
      node.node_pool = "metal";
      node.status = model::NodeStatus::ready;
      desk.commit({tables::PutNode{node}});
    }
  }
  void holds(const std::string& job_id, int number, std::int64_t cpu) {
    model::Allocation allocation{.id = server::testing::uuid(number), .node_id = server::testing::uuid(1)};
    allocation.job_id = job_id;
    allocation.client_status = model::ClientStatus::running;
    allocation.resources.tasks["t"].cpu = cpu;
    desk.commit({tables::PutAllocation{allocation}});
  }
  std::vector<std::string> lines() const { return promises_without_room(desk.tables, cluster); }

  server::testing::Desk desk;
  model::Cluster cluster;
};

TEST_F(PromisesWithoutRoom, AreToldOfWithNumbers) {
  EXPECT_THAT(lines(), IsEmpty());
  holds(model::pool_job_id("tide", "batch"), 10, 2000);
  holds(model::pool_job_id("tide", "physics"), 11, 500);
  EXPECT_THAT(lines(), IsEmpty()) << "who yields makes way, and who is there is one of those that are promised";
  holds("services", 12, 600);
  EXPECT_THAT(lines(), ElementsAre("owners are promised 8 hosts (physics 8), and 2 nodes of 'metal' have room for 6, "
                                   "whoever sleeps"));
  cluster.pools[0].slurm->most = 6;
  EXPECT_THAT(lines(), IsEmpty());
  cluster.datacenter = "dc2";
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("0 nodes of 'metal' have room for 0")));
  cluster.pools[0].elastic->owner.clear();
  EXPECT_THAT(lines(), IsEmpty()) << "nothing is sold";
}

}  // namespace
}  // namespace underway::growth
