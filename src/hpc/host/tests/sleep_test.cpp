#include "host/virtual/sleep.hpp"

#include <gmock/gmock.h>

#include "host/virtual/virtual_hosts.hpp"
#include "server/node/move_decisions.hpp"
#include "server/node/sleep_decisions.hpp"
#include "server/testing/desk.hpp"
#include "tables/slurm_members.hpp"

namespace underway::host {
namespace {

using model::SlurmMembership;
using server::testing::Desk;
using ::testing::HasSubstr;

/// Host v1 of a pool of machines, which runs on node m1, of 1024 MiB.
class HostSleep : public ::testing::Test {
 protected:
  HostSleep() {
    auto node = server::testing::make_node(1, 4000, 1024);
    node.name = "m1";
    node.drivers["qemu"] = {true, true, "", {}};
    node.attributes["driver.qemu"] = "1";
    desk.join(node);
    cluster.name = "demo";
    model::Pool pool{.name = "burst", .provider = "qemu", .size = 1, .hostname = "v%d", .cpus = 1, .memory_mb = 512};
    pool.slurm = model::SlurmJoin{.most = 2};
    cluster.pools = {pool};
    auto job = server::testing::make_job("demo-burst-hosts");
    job.groups[0].name = "v1";
    job.groups[0].tasks[0].driver = "qemu";
    job.groups[0].tasks[0].config = boost::json::object{{"image", "/srv/image"}};
    job.groups[0].tasks[0].resources.memory_mb = 600;
    desk.register_job(job);
    desk.commit({tables::PutCluster{cluster}});
    model::Host host;
    host.name = "v1";
    host.cluster = "demo";
    host.pool = "burst";
    host.provider = "qemu";
    host.status = model::HostStatus::running;
    desk.commit({tables::PutHost{host}});
    reported(model::ClientStatus::running);
  }
  void reported(model::ClientStatus status, std::optional<model::AllocSleepReport> sleep = {}) {
    auto update = server::testing::report(machine()->id, status);
    update.sleep = std::move(sleep);
    desk.update(server::testing::uuid(1), {update});
  }
  tables::Row<model::Allocation> machine() { return machine_of(desk.tables, *host()); }
  tables::Row<model::Host> host() { return desk.tables.find_host("demo", "v1"); }
  SleepStep::Kind next() { return next_sleep_step(desk.tables, cluster, *host()).kind; }
  void slurm_has(SlurmMembership status) {
    desk.commit({tables::put_record(model::SlurmMember{.cluster = "demo", .host = "v1", .status = status})});
  }
  template <class Request>
  Error refusal(Request request) {
    try {
      decide(desk.tables, request, desk.context());
    } catch (const Error& error) {
      return error;
    }
    return {Code::internal, "it was done"};
  }

  Desk desk;
  model::Cluster cluster;
};

TEST_F(HostSleep, WaitsForSlurmAndThenHasItsMachineSleep) {
  slurm_has(SlurmMembership::admitted);
  EXPECT_EQ(next(), SleepStep::Kind::none);
  desk.run(SleepHosts{"demo", {"v1"}, "power cut"});
  EXPECT_EQ(host()->sleep, "power cut");
  EXPECT_EQ(next(), SleepStep::Kind::none) << "its Slurm jobs run";
  slurm_has(SlurmMembership::resting);
  EXPECT_EQ(next(), SleepStep::Kind::sleep);
  desk.run(server::SleepAllocation{machine()->id});
  EXPECT_EQ(next(), SleepStep::Kind::none);
  reported(model::ClientStatus::running, model::AllocSleepReport{machine()->sleep->since, true, ""});
  EXPECT_TRUE(machine()->sleeps());

  desk.run(WakeHosts{"demo", {{"v1", ""}}});
  EXPECT_EQ(host()->sleep, "");
  EXPECT_FALSE(machine()->sleep->wanted) << "its room is its own at once";
}

TEST_F(HostSleep, IsGivenUpWhenItsMachineCannot) {
  slurm_has(SlurmMembership::resting);
  desk.run(SleepHosts{"demo", {"v1"}, ""});
  EXPECT_EQ(host()->sleep, "it was asked for");
  desk.run(server::SleepAllocation{machine()->id});
  reported(model::ClientStatus::running, model::AllocSleepReport{machine()->sleep->since, false, "the disk is full"});
  EXPECT_EQ(next(), SleepStep::Kind::give_up);
  desk.run(GiveUpSleep{"demo", "v1"});
  EXPECT_EQ(host()->sleep, "");
  EXPECT_EQ(next(), SleepStep::Kind::none);
  desk.run(SleepHosts{"demo", {"v1"}, ""});
  EXPECT_EQ(next(), SleepStep::Kind::sleep) << "it is tried again when it is asked for again";
}

TEST_F(HostSleep, OfOneThatIsToGoEnds) {
  slurm_has(SlurmMembership::resting);
  desk.run(SleepHosts{"demo", {"v1"}, ""});
  desk.run(server::SleepAllocation{machine()->id});
  auto goes = *host();
  goes.status = model::HostStatus::stopping;
  desk.commit({tables::PutHost{goes}});
  EXPECT_EQ(next(), SleepStep::Kind::wake) << "its Slurm jobs are waited for, and have to run for that";
  EXPECT_THAT(refusal(SleepHosts{"demo", {"v1"}, ""}).text(), HasSubstr("it was done")) << "the wish stands already";
}

TEST_F(HostSleep, IsRefusedWithTheCause) {
  EXPECT_EQ(refusal(SleepHosts{"demo", {"v9"}, ""}).code(), Code::not_found);
  EXPECT_EQ(refusal(WakeHosts{"demo", {{"v9", ""}}}).code(), Code::not_found);
  auto other = *host();
  other.provider = "local";
  desk.commit({tables::PutHost{other}});
  EXPECT_THAT(refusal(SleepHosts{"demo", {"v1"}, ""}).text(), HasSubstr("its provider is 'local'"));
  other.provider = "qemu";
  other.status = model::HostStatus::stopping;
  desk.commit({tables::PutHost{other}});
  EXPECT_THAT(refusal(SleepHosts{"demo", {"v1"}, ""}).text(), HasSubstr("it is to go"));
}

TEST_F(HostSleep, IsNotWokenIntoRoomThatOthersHave) {
  slurm_has(SlurmMembership::resting);
  desk.run(SleepHosts{"demo", {"v1"}, ""});
  desk.run(server::SleepAllocation{machine()->id});
  reported(model::ClientStatus::running, model::AllocSleepReport{machine()->sleep->since, true, ""});
  auto job = server::testing::make_job("other");
  job.groups[0].tasks[0].resources.memory_mb = 600;
  desk.register_job(job);
  ASSERT_EQ(desk.live("other").size(), 1U);
  const auto lacks = refusal(WakeHosts{"demo", {{"v1", ""}}});
  EXPECT_EQ(lacks.code(), Code::exhausted);
  EXPECT_THAT(lacks.text(), HasSubstr("m1 has 424 free"));
  EXPECT_NE(host()->sleep, "");
}

/// The same with a second node.
class HostMove : public HostSleep {
 protected:
  HostMove() {
    auto node = server::testing::make_node(2, 4000, 1024);
    node.name = "m2";
    node.drivers["qemu"] = {true, true, "", {}};
    node.attributes["driver.qemu"] = "1";
    desk.join(node);
    slurm_has(SlurmMembership::admitted);
    first = machine()->id;
    here = machine()->node_id;
    desk.run(RecordMachines{"demo", "burst", {}});
  }
  tables::Row<model::Allocation> row(const std::string& id) { return desk.tables.find_allocation(id); }
  void says(const std::string& id, const model::AllocationUpdate& update) { desk.update(row(id)->node_id, {update}); }
  void arrives(const std::string& id, model::ArrivalPhase phase, const std::string& trouble = {}) {
    auto update = server::testing::report(id, model::ClientStatus::pending);
    update.arrival = model::AllocArrivalReport{phase, trouble};
    says(id, update);
  }
  void sleeps(const std::string& id) {
    auto update = server::testing::report(id, model::ClientStatus::running);
    update.sleep = model::AllocSleepReport{row(id)->sleep->since, true, ""};
    says(id, update);
  }
  tables::Row<model::Host> recorded() {
    desk.run(RecordMachines{"demo", "burst", {}});
    return host();
  }
  std::string first, here;
};

TEST_F(HostMove, HasSlurmSuspendItsJobsFirstAndIsTheSameHostAfterwards) {
  desk.run(server::MoveAllocation{.id = first});
  const auto second = machine()->id;
  ASSERT_NE(second, first);
  EXPECT_EQ(next(), SleepStep::Kind::none) << "its next node looks";
  EXPECT_EQ(recorded()->status, model::HostStatus::running);
  arrives(second, model::ArrivalPhase::ready);
  EXPECT_FALSE(row(first)->sleep) << "Slurm is asked first";
  EXPECT_EQ(next(), SleepStep::Kind::depart);
  desk.run(DepartHost{"demo", "v1"});
  EXPECT_THAT(host()->sleep, HasSubstr("moves to m"));
  EXPECT_EQ(next(), SleepStep::Kind::none);
  slurm_has(SlurmMembership::resting);
  EXPECT_EQ(next(), SleepStep::Kind::sleep);
  desk.run(server::SleepAllocation{first});
  sleeps(first);
  EXPECT_TRUE(recorded()->asleep);
  EXPECT_EQ(recorded()->machine_node, here);
  says(first, server::testing::report(first, model::ClientStatus::complete));
  arrives(second, model::ArrivalPhase::arrived);
  EXPECT_EQ(recorded()->status, model::HostStatus::running);
  EXPECT_TRUE(recorded()->asleep) << "until it runs there";
  says(second, server::testing::report(second, model::ClientStatus::running));
  EXPECT_EQ(recorded()->machine_node, row(second)->node_id);
  EXPECT_EQ(recorded()->status, model::HostStatus::running) << recorded()->status_description;
  EXPECT_FALSE(recorded()->asleep);
  EXPECT_EQ(next(), SleepStep::Kind::arrive);
  desk.run(ArriveHost{"demo", "v1"});
  EXPECT_EQ(host()->sleep, "");
  EXPECT_EQ(next(), SleepStep::Kind::none);
}

TEST_F(HostMove, IsNothingToSlurmWhenItsMachineGoesWhileItRuns) {
  desk.run(server::MoveAllocation{.id = first});
  const auto second = machine()->id;
  const auto goes_on = [&] {
    EXPECT_EQ(next(), SleepStep::Kind::none);
    EXPECT_EQ(recorded()->status, model::HostStatus::running);
    EXPECT_FALSE(host()->asleep) << "its Slurm jobs would be suspended";
    EXPECT_EQ(host()->sleep, "");
  };
  arrives(second, model::ArrivalPhase::coming);
  goes_on();
  EXPECT_EQ(host()->machine_node, here);
  arrives(second, model::ArrivalPhase::arrived);
  goes_on();
  says(first, server::testing::report(first, model::ClientStatus::complete));
  goes_on();
  says(second, server::testing::report(second, model::ClientStatus::running, true));
  goes_on();
  EXPECT_NE(host()->machine_node, here);
}

TEST_F(HostMove, WakesWhereItStaysWhenItCannotGo) {
  desk.run(server::MoveAllocation{.id = first});
  const auto second = machine()->id;
  arrives(second, model::ArrivalPhase::ready);
  desk.run(DepartHost{"demo", "v1"});
  slurm_has(SlurmMembership::resting);
  desk.run(server::SleepAllocation{first});
  auto full = server::testing::report(first, model::ClientStatus::running);
  full.sleep = model::AllocSleepReport{row(first)->sleep->since, false, "the disk is full"};
  says(first, full);
  EXPECT_EQ(machine()->id, first);
  EXPECT_EQ(recorded()->status, model::HostStatus::running);
  EXPECT_THAT(recorded()->status_description, HasSubstr("the disk is full"));
  EXPECT_EQ(next(), SleepStep::Kind::arrive);
  desk.run(ArriveHost{"demo", "v1"});
  EXPECT_EQ(host()->sleep, "");
}

TEST_F(HostMove, BeginsAnewWhereItGoesWhenItsMachineIsLost) {
  desk.run(server::MoveAllocation{.id = first});
  const auto second = machine()->id;
  arrives(second, model::ArrivalPhase::lost, "node 'm1' is down");
  EXPECT_EQ(recorded()->status, model::HostStatus::pending) << "it is told anew how to join";
}

TEST_F(HostMove, IsWokenElsewhereWhenItsRoomIsAnothers) {
  slurm_has(SlurmMembership::resting);
  desk.run(SleepHosts{"demo", {"v1"}, "makes room for u1"});
  desk.run(server::SleepAllocation{first});
  sleeps(first);
  const auto there = here == server::testing::uuid(1) ? server::testing::uuid(2) : server::testing::uuid(1);
  desk.run(WakeHosts{"demo", {{"v1", there}}});
  EXPECT_EQ(host()->sleep, "makes room for u1") << "until it runs there it sleeps for that";
  EXPECT_TRUE(host()->sleeps_to_move);
  const auto second = machine()->id;
  EXPECT_EQ(row(second)->node_id, there);
  EXPECT_EQ(next(), SleepStep::Kind::none);
  arrives(second, model::ArrivalPhase::ready);
  EXPECT_EQ(next(), SleepStep::Kind::none) << "it sleeps already";
  says(first, server::testing::report(first, model::ClientStatus::complete));
  arrives(second, model::ArrivalPhase::arrived);
  says(second, server::testing::report(second, model::ClientStatus::running));
  EXPECT_EQ(next(), SleepStep::Kind::arrive);
  desk.run(ArriveHost{"demo", "v1"});
  EXPECT_EQ(host()->sleep, "");
}

/// And with a host v2 on the other node. A Slurm job is on both.
class HostsTogether : public HostMove {
 protected:
  HostsTogether() {
    auto job = *desk.tables.find_job("default", "demo-burst-hosts");
    job.groups.push_back(job.groups[0]);
    job.groups[1].name = "v2";
    desk.register_job(job);
    auto second = *host();
    second.name = "v2";
    second.machine_node.clear();
    desk.commit({tables::PutHost{second}});
    runs("v2");
    desk.run(RecordMachines{"demo", "burst", {}});
    for (const auto* name : {"v1", "v2"}) rests(name, {"7"});
  }
  tables::Row<model::Host> host_of(const std::string& name) { return desk.tables.find_host("demo", name); }
  tables::Row<model::Allocation> machine_at(const std::string& name) { return machine_of(desk.tables, *host_of(name)); }
  void rests(const std::string& name, std::vector<std::string> jobs) {
    desk.commit({tables::put_record(model::SlurmMember{
        .cluster = "demo", .host = name, .status = SlurmMembership::resting, .suspended = std::move(jobs)})});
  }
  void runs(const std::string& name) {
    says(machine_at(name)->id, server::testing::report(machine_at(name)->id, model::ClientStatus::running));
  }
  void fall_asleep(const std::string& name) {
    desk.run(server::SleepAllocation{machine_at(name)->id});
    sleeps(machine_at(name)->id);
    desk.run(RecordMachines{"demo", "burst", {}});
  }
  void both_sleep() {
    desk.run(SleepHosts{"demo", {"v1", "v2"}, "power cut"});
    for (const auto* name : {"v1", "v2"}) fall_asleep(name);
  }
};

TEST_F(HostsTogether, FallAsleepAllOrNone) {
  auto goes = *host_of("v2");
  goes.status = model::HostStatus::stopping;
  desk.commit({tables::PutHost{goes}});
  EXPECT_THAT(refusal(SleepHosts{"demo", {"v1", "v2"}, ""}).text(), HasSubstr("host 'v2' cannot sleep"));
  goes.status = model::HostStatus::running;
  desk.commit({tables::PutHost{goes}});
  desk.run(SleepHosts{"demo", {"v1", "v2"}, "power cut"});
  EXPECT_EQ(host_of("v1")->sleep, "power cut");
  EXPECT_EQ(host_of("v2")->sleep, "power cut");
}

TEST_F(HostsTogether, WakeAllOrNone) {
  both_sleep();
  const auto alone = refusal(WakeHosts{"demo", {{"v1", ""}}});
  EXPECT_EQ(alone.code(), Code::conflict);
  EXPECT_THAT(alone.text(), HasSubstr("the Slurm job 7 sleeps on v2, too"));
  EXPECT_THAT(alone.text(), HasSubstr("`underway host wake v1 v2`"));
  auto job = server::testing::make_job("other");
  job.groups[0].tasks[0].resources.memory_mb = 600;
  desk.register_job(job);
  ASSERT_EQ(desk.live("other").size(), 1U) << "it has the room of one of them";
  EXPECT_EQ(refusal(WakeHosts{"demo", {{"v1", ""}, {"v2", ""}}}).code(), Code::exhausted);
  auto ended = *desk.live("other")[0];
  ended.desired_status = model::DesiredStatus::stop;
  ended.client_status = model::ClientStatus::complete;
  desk.commit({tables::PutAllocation{ended}});
  desk.run(WakeHosts{"demo", {{"v1", ""}, {"v2", ""}}});
  EXPECT_EQ(host_of("v1")->sleep, "");
  EXPECT_EQ(host_of("v2")->sleep, "");
  EXPECT_FALSE(machine_at("v2")->sleep->wanted);
}

TEST_F(HostsTogether, WakeEachForItselfWhenTheirJobIsOver) {
  both_sleep();
  for (const auto* name : {"v1", "v2"}) rests(name, {});
  desk.run(WakeHosts{"demo", {{"v1", ""}}});
  EXPECT_EQ(host_of("v1")->sleep, "");
  EXPECT_NE(host_of("v2")->sleep, "");
}

TEST_F(HostsTogether, DoNotTakeRoomOfOneNodeTwice) {
  auto second = *machine_at("v2");
  second.node_id = here;  // as after a node was given less memory
  desk.commit({tables::PutAllocation{second}});
  both_sleep();
  EXPECT_EQ(refusal(WakeHosts{"demo", {{"v1", ""}, {"v2", ""}}}).code(), Code::exhausted)
      << "there is room for either of them";
}

TEST_F(HostsTogether, ComeBackWhenOneOfThemCannotSleep) {
  desk.run(SleepHosts{"demo", {"v1", "v2"}, "power cut"});
  fall_asleep("v1");
  desk.run(server::SleepAllocation{machine_at("v2")->id});
  auto full = server::testing::report(machine_at("v2")->id, model::ClientStatus::running);
  full.sleep = model::AllocSleepReport{machine_at("v2")->sleep->since, false, "the disk is full"};
  says(full.id, full);
  EXPECT_EQ(next_sleep_step(desk.tables, cluster, *host_of("v2")).kind, SleepStep::Kind::give_up);
  desk.run(GiveUpSleep{"demo", "v2"});
  EXPECT_EQ(host_of("v2")->sleep, "");
  EXPECT_EQ(host_of("v1")->sleep, "") << "its job could do nothing on v2 without it";
  EXPECT_FALSE(machine_at("v1")->sleep->wanted);
}

}  // namespace
}  // namespace underway::host
