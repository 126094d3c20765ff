// Reservations of hosts: which are held, how many are made, and what Slurm is told.
#include "growth/reserve/bookings.hpp"

#include <gmock/gmock.h>

namespace underway::growth {
namespace {

using elastic::NodePhase;
using model::HostStatus;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TimePoint at(const char* time) { return *parse_time(time); }
const char* const kFrom = "2026-12-01T09:00:00Z";
const char* const kUntil = "2026-12-01T13:00:00Z";

class Reserving : public testing::Test {
 protected:
  Reserving() {
    facts_.name = "tide";
    facts_.memory.cluster = "tide";
    facts_.policy.boot_burst = 100;
    PoolFacts pool;
    pool.type.name = "burst";
    pool.type.vcpus = 4;
    pool.type.memory_mb = 1000;
    pool.type.max_nodes = 6;
    pool.type.keep_alive = "60s";
    pool.type.start_time = minutes(2);
    pool.type.reservations = {
        {.name = "course", .hosts = 3, .from = kFrom, .until = kUntil, .users = {"alice", "bob"}}};
    pool.hosts = {.cluster = "tide", .pool = "burst"};
    for (int i = 1; i <= 6; ++i) {
      pool.all_names.push_back("b" + std::to_string(i));
      slurm_.records.push_back(
          {.name = pool.all_names.back(), .state = "DOWN", .cpus = 4, .memory_mb = 1000, .partitions = {"main"}});
    }
    facts_.pools.push_back(pool);
    slurm_.reservations.emplace();
  }

  model::HostReservation& course() { return facts_.pools[0].type.reservations[0]; }
  std::vector<std::string>& wanted() { return facts_.pools[0].hosts.hosts; }
  slurm::NodeRecord& record(const std::string& name) {
    return *std::find_if(slurm_.records.begin(), slurm_.records.end(), [&](const auto& it) { return it.name == name; });
  }
  void up(const std::string& name) {
    if (std::find(wanted().begin(), wanted().end(), name) == wanted().end()) wanted().push_back(name);
    facts_.hosts.push_back({.name = name, .pool = "burst", .status = HostStatus::running, .admitted = true});
    record(name).state = "IDLE";
  }
  void dies(const std::string& name) { record(name).state = "DOWN"; }
  void runs(const std::string& id, const std::string& node, TimePoint ends, std::string reservation = {}) {
    record(node).state = "ALLOCATED";
    record(node).cpus_given = 4;
    slurm_.queue.push_back({.id = id,
                            .state = "RUNNING",
                            .partitions = {"main"},
                            .cpus = 4,
                            .reservation = std::move(reservation),
                            .nodes = {node},
                            .ends = ends});
  }
  void waits(const std::string& id, std::int64_t nodes, std::string reservation = {}) {
    slurm_.queue.push_back({.id = id,
                            .state = "PENDING",
                            .reason = "Resources",
                            .partitions = {"main"},
                            .nodes_min = nodes,
                            .cpus = 4 * nodes,
                            .reservation = std::move(reservation)});
  }
  /// A look, and what it decides in force, but for what Slurm is told.
  Outlook look(TimePoint now) {
    auto out = think(facts_, slurm_, before_, now, now - last_);
    last_ = now;
    before_ = out.hosts;
    facts_.memory = out.memory;
    for (const auto& hosts : out.pools) facts_.pools[0].hosts = hosts;
    return out;
  }
  void slurm_has(std::set<std::string> nodes) {
    slurm_.reservations = {{.name = "course",
                            .begins = at(kFrom),
                            .ends = at(kUntil),
                            .nodes = std::move(nodes),
                            .users = {"alice", "bob"}}};
  }
  static std::string told(const Outlook& out) {
    const auto it = out.reserve.find("course");
    std::string text;
    if (it == out.reserve.end()) return text;
    for (const auto& word : it->second) text += (text.empty() ? "" : " ") + word;
    return text;
  }

  ClusterFacts facts_;
  SlurmLook slurm_;
  std::map<std::string, Seen> before_;
  TimePoint last_ = at("2026-12-01T08:56:00Z");
};

TEST_F(Reserving, HostsAreMadeJustBeforeTheyAreNeeded) {
  EXPECT_EQ(reservation_lead(facts_.pools[0].type), minutes(3)) << "half as long again as a host takes";
  auto out = look(at("2026-12-01T08:56:59Z"));
  EXPECT_THAT(wanted(), IsEmpty());
  EXPECT_FALSE(asks_for_reservations(facts_, at("2026-12-01T08:56:59Z")));
  EXPECT_TRUE(out.settled);
  EXPECT_THAT(out.status.lines,
              Contains("reservation 'course': 3 hosts of pool 'burst' from 2026-12-01T09:00:00Z until "
                       "2026-12-01T13:00:00Z for users alice, bob: its hosts are made from 2026-12-01T08:57:00Z on"));
  EXPECT_TRUE(asks_for_reservations(facts_, at("2026-12-01T08:57:00Z")));
  out = look(at("2026-12-01T08:57:00Z"));
  EXPECT_THAT(wanted(), ElementsAre("b1", "b2", "b3"));
  EXPECT_THAT(told(out), IsEmpty()) << "there is none yet that could be reserved";
  EXPECT_THAT(out.memory.reservations, ElementsAre("course")) << "before Slurm is told";
  // Slurm knows them before they are there, and so nobody else begins on them.
  out = look(at("2026-12-01T08:57:01Z"));
  EXPECT_EQ(told(out),
            "env TZ=UTC scontrol create reservation reservationname=course starttime=2026-12-01T09:00:00 "
            "endtime=2026-12-01T13:00:00 nodes=b[1-3] flags=ignore_jobs users=alice,bob");
  EXPECT_THAT(out.status.lines, Contains(HasSubstr("for users alice, bob: 0 of 3 are there")));
  slurm_has({"b1", "b2", "b3"});
  for (const auto* name : {"b1", "b2", "b3"}) up(name);
  out = look(at("2026-12-01T08:58:00Z"));
  EXPECT_THAT(out.reserve, IsEmpty());
  EXPECT_TRUE(out.settled);
  EXPECT_THAT(out.status.lines, Contains(HasSubstr("3 of 3 are there")));
}

TEST_F(Reserving, OfAnUrgentPoolThereIsTimeToFallAsleep) {
  auto& type = facts_.pools[0].type;
  type.start_time = seconds(5);
  EXPECT_EQ(reservation_lead(type), minutes(1));
  type.urgent = true;
  type.memory_mb = 64'000;
  EXPECT_EQ(reservation_lead(type), minutes(1) + seconds(15) + seconds(640));
}

TEST_F(Reserving, NoneGoesBeforeItIsOverAndThenTheyGoAsIdleHostsDo) {
  for (const auto* name : {"b1", "b2", "b3", "b4"}) up(name);
  slurm_has({"b2", "b3", "b4"});
  facts_.memory.reservations = {"course"};
  look(at("2026-12-01T09:00:00Z"));
  EXPECT_THAT(wanted(), SizeIs(4));
  auto out = look(at("2026-12-01T12:59:59Z"));
  EXPECT_THAT(wanted(), ElementsAre("b2", "b3", "b4")) << "the spare one goes";
  EXPECT_THAT(out.reserve, IsEmpty());
  slurm_.reservations.emplace();  // Slurm's ends by itself
  out = look(at("2026-12-01T13:00:00Z"));
  EXPECT_THAT(out.memory.reservations, IsEmpty());
  EXPECT_THAT(wanted(), IsEmpty()) << "they have been idle for long";
  EXPECT_THAT(out.status.lines, Not(Contains(HasSubstr("reservation"))));
}

TEST_F(Reserving, OneThatDiesIsReplaced) {
  for (const auto* name : {"b1", "b2", "b3", "b4"}) up(name);
  slurm_has({"b1", "b2", "b3"});
  facts_.memory.reservations = {"course"};
  look(at("2026-12-01T10:00:00Z"));
  facts_.hosts[1].status = HostStatus::failed;
  dies("b2");
  auto out = look(at("2026-12-01T10:00:01Z"));
  EXPECT_EQ(told(out), "env TZ=UTC scontrol update reservationname=course nodes=b[1,3-4]");
  slurm_has({"b1", "b3", "b4"});
  dies("b4");
  facts_.hosts[3].status = HostStatus::failed;
  out = look(at("2026-12-01T10:00:02Z"));
  EXPECT_EQ(told(out), "env TZ=UTC scontrol update reservationname=course nodes=b[1,3]");
  EXPECT_EQ(out.asked_for, 1) << "in its place";
}

TEST_F(Reserving, TheQueueHasItsOwnHostsAndNeverThese) {
  up("b1");
  up("b2");
  up("b3");
  slurm_has({"b1", "b2", "b3"});
  facts_.memory.reservations = {"course"};
  waits("17", 2);
  auto out = look(at("2026-12-01T10:00:00Z"));
  EXPECT_THAT(wanted(), ElementsAre("b1", "b2", "b3", "b4", "b5")) << "although three are idle";
  // Those who have reserved go first to what is left.
  facts_.pools[0].hosts.hosts = {"b1"};
  facts_.hosts.resize(1);
  waits("18", 3);
  before_.clear();
  facts_.memory = {.cluster = "tide", .reservations = {"course"}};
  slurm_has({"b1"});
  facts_.pools[0].type.max_nodes = 4;
  out = look(at("2026-12-01T10:00:00Z"));
  EXPECT_THAT(wanted(), SizeIs(3)) << "two of the reservation, and no job of two has room beside it";
  look(at("2026-12-01T10:00:01Z"));
  EXPECT_THAT(wanted(), SizeIs(3));
}

TEST_F(Reserving, ItsOwnJobsKeepTheirPlaceAndOthersEndInTime) {
  for (const auto* name : {"b1", "b2", "b3"}) up(name);
  slurm_has({"b1", "b2", "b3"});
  facts_.memory.reservations = {"course"};
  runs("5", "b1", at("2026-12-01T08:59:30Z"));
  auto out = look(at("2026-12-01T08:58:00Z"));
  EXPECT_THAT(out.reserve, IsEmpty()) << "it ends before";
  EXPECT_EQ(out.asked_for, 0);
  EXPECT_THAT(out.status.lines, Contains(HasSubstr("2 of 3 are there, 1 has others' jobs until then")));
  slurm_.queue.clear();
  runs("6", "b1", at("2026-12-01T12:00:00Z"), "course");
  out = look(at("2026-12-01T10:00:00Z"));
  EXPECT_THAT(out.reserve, IsEmpty());
  EXPECT_EQ(out.asked_for, 0);
  EXPECT_THAT(out.status.lines, Contains(HasSubstr("3 of 3 are there")));
  slurm_.queue.clear();
  out = look(at("2026-12-01T10:00:01Z"));
  EXPECT_EQ(out.asked_for, 0) << "the queue was read after the nodes, and the job has ended in between";
}

TEST_F(Reserving, AFullPoolGivesWhatItsJobsLeave) {
  for (int i = 1; i <= 6; ++i) {
    up("b" + std::to_string(i));
    runs(std::to_string(i), "b" + std::to_string(i), at("2026-12-01T11:00:00Z"));
  }
  auto out = look(at("2026-12-01T08:58:00Z"));
  EXPECT_THAT(told(out), HasSubstr("nodes=b[1-3] flags=ignore_jobs")) << "nobody else begins there then";
  EXPECT_THAT(out.status.lines,
              Contains(HasSubstr("0 of 3 are there, 3 have others' jobs until those end; pool 'burst' "
                                 "has all of its 6 hosts, and others' jobs are on them")));
  EXPECT_THAT(out.status.lines, Contains("of class 'burst' 3 more are reserved, and class 'burst' has 6 of 6 nodes"));
  slurm_has({"b1", "b2", "b3"});
  facts_.memory.reservations = {"course"};
  slurm_.queue.erase(slurm_.queue.begin() + 4);
  record("b5").state = "IDLE";
  record("b5").cpus_given = 0;
  out = look(at("2026-12-01T09:30:00Z"));
  EXPECT_EQ(told(out), "env TZ=UTC scontrol update reservationname=course nodes=b[1-2,5]") << "which is free sooner";
}

TEST_F(Reserving, WhatIsDeclaredNoMoreIsTakenOutOfSlurmOnceNobodyUsesIt) {
  for (const auto* name : {"b1", "b2", "b3"}) up(name);
  slurm_has({"b1", "b2", "b3"});
  facts_.memory.reservations = {"course"};
  facts_.pools[0].type.reservations.clear();
  runs("6", "b1", at("2026-12-01T12:00:00Z"), "course");
  auto out = look(at("2026-12-01T10:00:00Z"));
  EXPECT_THAT(out.reserve, IsEmpty());
  EXPECT_THAT(out.status.lines, Contains(HasSubstr("`squeue -R course`")));
  slurm_.queue.clear();
  out = look(at("2026-12-01T10:00:01Z"));
  EXPECT_EQ(told(out), "scontrol delete reservation=course");
  EXPECT_THAT(out.memory.reservations, ElementsAre("course")) << "until Slurm says that it is gone";
  slurm_.reservations.emplace();
  out = look(at("2026-12-01T10:00:02Z"));
  EXPECT_THAT(out.memory.reservations, IsEmpty());
  EXPECT_FALSE(asks_for_reservations(facts_, at("2026-12-01T10:00:03Z")));
}

TEST_F(Reserving, SomebodyElsesOfTheSameNameIsLeftAlone) {
  slurm_has({"b6"});
  auto out = look(at("2026-12-01T10:00:00Z"));
  EXPECT_THAT(out.reserve, IsEmpty());
  EXPECT_THAT(out.memory.reservations, IsEmpty());
  EXPECT_EQ(out.asked_for, 0);
  EXPECT_THAT(out.status.lines, Contains(HasSubstr("Slurm has a reservation of this name that somebody else made")));
  course().name = "other";
  for (const auto* name : {"b5", "b6"}) up(name);
  out = look(at("2026-12-01T10:00:01Z"));
  EXPECT_THAT(out.reserve.at("other"), Contains("nodes=b5")) << "b6 is somebody else's";
}

TEST_F(Reserving, NothingIsOursOfWhichSlurmWasNotAsked) {
  slurm_.reservations.reset();
  up("b1");
  const auto out = look(at("2026-12-01T10:00:00Z"));
  EXPECT_THAT(out.memory.reservations, IsEmpty());
  EXPECT_THAT(out.reserve, IsEmpty());
  EXPECT_EQ(out.asked_for, 2);
}

TEST_F(Reserving, ANodeThatSlurmDoesNotKnowYetIsReservedWhenItDoes) {
  std::erase_if(slurm_.records, [](const auto& it) { return it.name != "b1"; });
  record("b1").state = "FUTURE";
  wanted() = {"b1", "b2", "b3"};
  auto out = look(at("2026-12-01T10:00:00Z"));
  EXPECT_THAT(out.reserve, IsEmpty());
  up("b1");
  out = look(at("2026-12-01T10:00:01Z"));
  EXPECT_THAT(told(out), HasSubstr("starttime=now endtime=2026-12-01T13:00:00 nodes=b1 "));
  EXPECT_THAT(wanted(), SizeIs(3));
}

}  // namespace
}  // namespace underway::growth
