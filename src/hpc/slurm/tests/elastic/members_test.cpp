#include "slurm/elastic/members.hpp"

#include <gmock/gmock.h>

#include "slurm/queue.hpp"

namespace underway::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// As `scontrol -a -o show node` of each release printed them.
constexpr const char* kNode2011 =
    "NodeName=e1 CoresPerSocket=1  CPUAlloc=0 CPUTot=4 CPULoad=N/A AvailableFeatures=burst,big "
    "ActiveFeatures=burst,big "
    "Gres=(null) NodeAddr=e1 NodeHostName=e1  RealMemory=4000 AllocMem=0 FreeMem=N/A Sockets=4 Boards=1 "
    "State=DOWN*+CLOUD+DRAIN+POWER ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=burst  "
    "BootTime=None SlurmdStartTime=None CfgTRES=cpu=4,mem=4000M,billing=4 AllocTRES= CapWatts=n/a CurrentWatts=0 "
    "AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s Reason=it is [so] | State=IDLE "
    "[root@2026-11-26T13:29:40] Comment=(null)\n";
constexpr const char* kNode2205 =
    "NodeName=d1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=1 CPUEfctv=4 CPUTot=4 CPULoad=0.02 AvailableFeatures=burst "
    "ActiveFeatures=burst Gres=(null) NodeAddr=10.9.1.1 NodeHostName=d1 Version=22.05.8 OS=Linux 6.18.44 #1 SMP "
    "PREEMPT_DYNAMIC @0  RealMemory=4000 AllocMem=4000 FreeMem=23460 Sockets=4 Boards=1 State=MIXED+DYNAMIC_NORM "
    "ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=burst  BootTime=2026-11-26T09:49:43 "
    "SlurmdStartTime=2026-11-26T13:15:41 LastBusyTime=2026-11-26T13:15:41 CfgTRES=cpu=4,mem=4000M,billing=4 "
    "AllocTRES=cpu=1,mem=4000M CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 "
    "ExtSensorsTemp=n/s\n";
constexpr const char* kNode2411 =
    "NodeName=e1 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=0.00 AvailableFeatures=(null) "
    "ActiveFeatures=(null) Gres=(null) NodeAddr=10.9.1.1 NodeHostName=h1  RealMemory=4000 AllocMem=0 FreeMem=N/A "
    "Sockets=4 Boards=1 State=IDLE+CLOUD+NOT_RESPONDING ThreadsPerCore=1 TmpDisk=0 Weight=7 Owner=N/A MCS_label=N/A "
    "Partitions=burst,all  BootTime=None SlurmdStartTime=None LastBusyTime=Unknown ResumeAfterTime=None "
    "CfgTRES=cpu=4,mem=4000M,billing=4 AllocTRES= CurrentWatts=0 AveWatts=0  Reason=underway: the node is not there "
    "[root@2026-11-26T13:29:40]\n";

TEST(NodeRecords, AreReadOfEachRelease) {
  const auto nodes =
      parse_records(std::string(kNode2011) + "nonsense\n\n" + kNode2205 + kNode2411 + "NodeName=\nNo nodes\n");
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0], (NodeRecord{"e1",
                                  "e1",
                                  "e1",
                                  "DOWN",
                                  {"CLOUD", "DRAIN", "POWERED_DOWN", "NOT_RESPONDING"},
                                  "it is [so] | State=IDLE",
                                  4,
                                  0,
                                  4000,
                                  1,
                                  {"big", "burst"},
                                  {"burst"}}));
  EXPECT_EQ(nodes[1],
            (NodeRecord{"d1", "10.9.1.1", "d1", "MIXED", {"DYNAMIC_NORM"}, "", 4, 1, 4000, 1, {"burst"}, {"burst"}}));
  EXPECT_TRUE(nodes[1].dynamic());
  EXPECT_FALSE(nodes[1].empty());
  EXPECT_EQ(nodes[2].reason, kAbsentReason);
  EXPECT_EQ(nodes[2].partitions, (std::vector<std::string>{"burst", "all"}));
  EXPECT_THAT(nodes[2].features, IsEmpty());
  EXPECT_FALSE(nodes[2].responds());
}

TEST(SlurmMembers, AreToldWithTheirNewAddressesInOrder) {
  const auto records = parse_records(std::string(kNode2205) + kNode2411);
  const auto apart = moved(records, {{"d1", "10.9.7.7"}, {"e1", "10.9.1.1"}, {"other", "10.9.3.3"}});
  EXPECT_THAT(apart, ElementsAre(Pair("d1", "10.9.7.7")));
  EXPECT_THAT(address_command({{"d10", "10.9.0.7"}, {"d9", "10.9.0.8"}}),
              ElementsAre("scontrol", "update", "nodename=d10,d9", "nodeaddr=10.9.0.7,10.9.0.8"));
}

TEST(SlurmMembers, ThatComeBackAreDrainedNoMore) {
  const NodeRecord never{"d1", kNowhere, "d1", "DOWN", {}, kAbsentReason},
      before{"d2", kNowhere, "d2", "DOWN", {"DRAIN"}, kAbsentReason},
      theirs{"d3", "10.9.1.3", "d3", "DOWN", {"DRAIN"}, "bad DIMM"},
      other{"d4", kNowhere, "d4", "DOWN", {"DRAIN"}, kAbsentReason};
  const std::map<std::string, std::string> come = {
      {"d1", "10.9.1.1"}, {"d2", "10.9.1.2"}, {"d3", "10.9.1.3"}, {"d5", "10.9.1.5"}};
  EXPECT_THAT(arrival_commands({never, before, theirs, other}, come),
              ElementsAre(address_command({{"d1", "10.9.1.1"}, {"d2", "10.9.1.2"}}),
                          ElementsAre("scontrol", "update", "nodename=d2", "state=undrain")));
  EXPECT_THAT(arrival_commands({never}, {{"d5", "10.9.1.5"}}), IsEmpty()) << "it tells Slurm itself";
}

TEST(SlurmMembers, LeaveStepByStep) {
  NodeRecord idle{"d1", "10.9.1.1", "d1", "IDLE"}, mixed = idle, draining = idle, drained = idle, theirs = idle,
                                                   completing = idle, down = idle, back = idle, broken = idle,
                                                   ours = idle, returned = idle;
  mixed.state = "MIXED";
  draining.state = "MIXED";
  for (auto* record : {&draining, &drained, &completing}) {
    record->flags = {"DRAIN"};
    record->reason = kLeavingReason;
  }
  completing.flags.insert("COMPLETING");
  theirs.flags = {"DRAIN"};
  theirs.reason = "bad DIMM";
  ours.flags = returned.flags = {"DRAIN"};
  ours.reason = kDrainReason;
  returned.reason = kAbsentReason;
  returned.address = kNowhere;
  down = {"d1", kNowhere, "d1", "DOWN", {"DRAIN"}, kAbsentReason};
  back = {"d1", kNowhere, "d1", "DOWN", {}, kAbsentReason};
  broken = {"d1", "10.9.1.1", "d1", "DOWN", {"NOT_RESPONDING"}, "Not responding"};
  struct Case {
    const char* name;
    JoinMode mode;
    const NodeRecord* record;
    std::vector<std::string> jobs;
    bool runs;
    LeaveStep step;
    const char* command;  ///< its last word
  };
  const std::vector<Case> cases = {
      {"idle", JoinMode::dynamic, &idle, {}, true, LeaveStep::drain, "reason=underway: the node is going"},
      {"busy", JoinMode::cloud, &mixed, {"7"}, true, LeaveStep::drain, "reason=underway: the node is going"},
      {"a job is there", JoinMode::dynamic, &draining, {"7"}, true, LeaveStep::wait, ""},
      {"one came in between", JoinMode::dynamic, &drained, {"8"}, true, LeaveStep::wait, ""},
      {"squeue is late", JoinMode::dynamic, &draining, {}, true, LeaveStep::wait, ""},
      {"it is cleared away", JoinMode::dynamic, &completing, {}, true, LeaveStep::wait, ""},
      {"held by others", JoinMode::dynamic, &theirs, {}, false, LeaveStep::kept, ""},
      {"drained, empty, on", JoinMode::dynamic, &drained, {}, true, LeaveStep::stop, ""},
      {"drained, empty, on", JoinMode::cloud, &drained, {}, true, LeaveStep::stop, ""},
      {"dynamic and off", JoinMode::dynamic, &drained, {}, false, LeaveStep::forget, "nodename=d1"},
      {"cloud and off",
       JoinMode::cloud,
       &drained,
       {},
       false,
       LeaveStep::forget,
       "reason=underway: the node is not there"},
      {"drained by us for a while", JoinMode::cloud, &ours, {}, true, LeaveStep::stop, ""},
      {"it stays drained", JoinMode::cloud, &down, {}, false, LeaveStep::gone, ""},
      {"slurmctld took an old answer for it",
       JoinMode::cloud,
       &returned,
       {},
       false,
       LeaveStep::forget,
       "reason=underway: the node is not there"},
      {"down, and on again", JoinMode::cloud, &back, {}, true, LeaveStep::drain, "reason=underway: the node is going"},
      {"down and off", JoinMode::cloud, &back, {}, false, LeaveStep::gone, ""},
      {"it died", JoinMode::dynamic, &broken, {}, false, LeaveStep::drain, "reason=underway: the node is going"},
      {"unknown and off", JoinMode::dynamic, nullptr, {}, false, LeaveStep::gone, ""},
      {"unknown and on", JoinMode::dynamic, nullptr, {}, true, LeaveStep::stop, ""}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto verdict = decide_leave(c.mode, "d1", c.record, c.jobs, c.runs);
    EXPECT_EQ(verdict.step, c.step) << verdict.why;
    EXPECT_EQ(verdict.command.empty() ? "" : verdict.command.back(), c.command);
    EXPECT_THAT(verdict.why, HasSubstr("d1"));
  }
}

TEST(SlurmMembers, ThatAreAbsentHaveNobodysAddress) {
  EXPECT_THAT(absent_command({"e1", "e2"}),
              ElementsAre("scontrol", "update", "nodename=e[1-2]", "nodeaddr=192.0.2.1,192.0.2.1", "state=down",
                          "reason=underway: the node is not there"));
}

TEST(NodeRecords, OfAnIdleNodeOfAReservationAreIdleInTheWordsOfEachRelease) {
  for (const char* state : {"RESERVED+CLOUD", "IDLE+CLOUD+RESERVED", "RESERVED*+CLOUD"}) {
    const auto node = parse_records(std::string("NodeName=e2 NodeAddr=e2 State=") + state + " Weight=1\n").at(0);
    EXPECT_EQ(node.state, "IDLE") << state;
    EXPECT_TRUE(node.is("RESERVED") && node.is("CLOUD")) << state;
  }
}

// Slurm's power saving has the node, and nothing is drained.
NodeRecord powered(std::string state, std::set<std::string> flags) {
  flags.insert("CLOUD");
  return {"c3", "10.9.1.3", "c3", std::move(state), std::move(flags)};
}

TEST(NodeRecords, TellHowFarPowerSavingIsWithANodeInTheWordsOfEachRelease) {
  const auto only = [](const std::string& state) {
    return parse_records("NodeName=e2 NodeAddr=e2 NodeHostName=e2 State=" + state + " Weight=1\n").at(0);
  };
  for (const char* state : {"MIXED#+CLOUD", "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP"}) {
    EXPECT_TRUE(only(state).powering_up()) << state;
    EXPECT_FALSE(only(state).responds()) << state;
    EXPECT_FALSE(only(state).powered_down()) << state;
  }
  for (const char* state : {"IDLE+CLOUD+POWER", "IDLE+CLOUD+POWERED_DOWN", "IDLE+CLOUD+POWERING_DOWN"}) {
    EXPECT_TRUE(only(state).powered_down()) << state;
    EXPECT_FALSE(only(state).powering_up()) << state;
  }
  EXPECT_EQ(only("DOWN#+CLOUD").state, "DOWN");
  EXPECT_FALSE(only("IDLE+CLOUD").powered_down());
}

TEST(PoweredLeave, TheMachineGoesOnceSlurmHasItsNodePoweredDown) {
  EXPECT_EQ(decide_powered_leave("c3", nullptr, {}, true).step, LeaveStep::stop);
  EXPECT_EQ(decide_powered_leave("c3", nullptr, {}, false).step, LeaveStep::gone);
  for (const char* flag : {"POWERING_DOWN", "POWERED_DOWN"}) {
    const auto record = powered("IDLE", {flag});
    const auto verdict = decide_powered_leave("c3", &record, {}, true);
    EXPECT_EQ(verdict.step, LeaveStep::stop) << flag;
    EXPECT_THAT(verdict.command, IsEmpty()) << flag;
  }
  const auto failed = powered("DOWN", {"POWERED_DOWN"});
  EXPECT_EQ(decide_powered_leave("c3", &failed, {}, true).step, LeaveStep::stop);
}

TEST(PoweredLeave, ANodeThatSlurmUsesAgainIsLeftAlone) {
  for (const auto& record : {powered("IDLE", {}), powered("ALLOCATED", {}), powered("MIXED", {"POWERING_UP"}),
                             powered("IDLE", {"POWER_DOWN"})}) {
    const auto verdict = decide_powered_leave("c3", &record, {}, true);
    EXPECT_EQ(verdict.step, LeaveStep::wait) << record.state;
    EXPECT_THAT(verdict.command, IsEmpty());
  }
  const auto given = powered("ALLOCATED", {"POWERED_DOWN"});
  EXPECT_EQ(decide_powered_leave("c3", &given, {"17"}, true).step, LeaveStep::wait);
  EXPECT_EQ(decide_powered_leave("c3", &given, {}, true).step, LeaveStep::wait) << "squeue was asked before";
}

TEST(PoweredLeave, ItsAddressIsNobodysBeforeItMayBeAnothers) {
  auto record = powered("IDLE", {"POWERING_DOWN"});
  const auto verdict = decide_powered_leave("c3", &record, {}, false);
  EXPECT_EQ(verdict.step, LeaveStep::forget);
  EXPECT_THAT(verdict.command, ElementsAre("scontrol", "update", "nodename=c3", "nodeaddr=192.0.2.1"));
  for (const char* address : {kNowhere, "c3"}) {
    record.address = address;
    EXPECT_EQ(decide_powered_leave("c3", &record, {}, false).step, LeaveStep::gone) << address;
  }
}

TEST(NoBoot, SetsTheNodeDownWithAReasonOfOurs) {
  const auto words = no_boot_command("c3", "no node has room for it");
  EXPECT_THAT(words, ElementsAre("scontrol", "update", "nodename=c3", "nodeaddr=192.0.2.1", "state=down",
                                 "reason=underway: did not boot: no node has room for it"));
  NodeRecord record{.name = "c3", .reason = words.back().substr(std::string_view("reason=").size())};
  EXPECT_TRUE(held_by_us(record));
  EXPECT_THAT(power_down_command({"c3", "c4"}),
              ElementsAre("scontrol", "update", "nodename=c[3-4]", "state=power_down"));
}

}  // namespace
}  // namespace underway::slurm
