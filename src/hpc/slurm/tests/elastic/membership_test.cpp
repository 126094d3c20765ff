#include "slurm/elastic/membership.hpp"

#include <gmock/gmock.h>

#include "slurm/queue.hpp"

namespace underway::slurm {
namespace {

using model::SlurmMember;
using model::SlurmMembership;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNow = 1'800'000'000 * kSecond;

model::Pool pool(const std::string& join = "auto") {
  model::Pool out;
  out.name = "burst";
  out.hostname = "b%d";
  out.size = 2;
  out.slurm = model::SlurmJoin{.join = join, .most = 4, .features = {"vm"}};
  return out;
}
MemberHost host(const std::string& name, const std::string& address) {
  return {.name = name, .address = address, .node_id = "node-" + name, .reasons = std::vector<std::string>{}};
}
SlurmMember member(const std::string& name, SlurmMembership status) {
  return {.cluster = "demo",
          .host = name,
          .status = status,
          .node_id = "node-" + name,
          .admitted_at = kNow - 3600 * kSecond};
}
NodeRecord idle(const std::string& name, const std::string& address, bool dynamic = true) {
  NodeRecord out{name, address, name, "IDLE", {dynamic ? "DYNAMIC_NORM" : "CLOUD"}};
  out.weight = 1;
  out.features = {"burst", "vm"};
  return out;
}
NodeRecord absent(const std::string& name) {
  NodeRecord out{name, kNowhere, name, "DOWN", {"CLOUD"}, kAbsentReason};
  out.weight = 1;
  out.features = {"burst", "vm"};
  return out;
}
MembershipPlan plan(const model::Pool& of, const std::vector<MemberHost>& hosts, const SlurmView& slurm) {
  return plan_members(&of, "demo", hosts, slurm, kNow);
}

TEST(SlurmMembership, ADynamicNodeIsLetStartAndTellsSlurmItself) {
  const auto made = plan(pool(), {host("b1", "10.9.1.1")}, {});
  EXPECT_THAT(made.commands, IsEmpty());
  EXPECT_THAT(made.open, ElementsAre("b1"));
  const auto& row = made.members.at("b1");
  EXPECT_EQ(row.status, SlurmMembership::admitted);
  EXPECT_EQ(row.admitted_at, kNow);
  EXPECT_EQ(row.node_id, "node-b1");
  EXPECT_FALSE(made.settled);
}

TEST(SlurmMembership, CloudNodesAreToldOfTogetherBeforeTheyStart) {
  auto drained = absent("b2");
  drained.flags.insert("DRAIN");
  const auto made = plan(pool(), {host("b1", "10.9.1.1"), host("b2", "10.9.1.2")},
                         {{absent("b1"), drained, absent("b3"), absent("b4")}, {}});
  EXPECT_THAT(made.commands, ElementsAre(address_command({{"b1", "10.9.1.1"}, {"b2", "10.9.1.2"}}),
                                         ElementsAre("scontrol", "update", "nodename=b2", "state=undrain")));
  EXPECT_THAT(made.open, ElementsAre("b1", "b2"));
}

TEST(SlurmMembership, NodesOfSlurmConfThatAreNotThereAreSetDown) {
  auto fresh = idle("b3", "b3", false);
  fresh.flags.insert("POWERED_DOWN");
  const auto made = plan(pool(), {}, {{absent("b1"), absent("b2"), fresh, idle("b4", "10.9.9.9", false)}, {}});
  EXPECT_THAT(made.commands, ElementsAre(absent_command({"b3"}), absent_command({"b4"})));
  EXPECT_THAT(made.told, ElementsAre(HasSubstr("b4 is not there, and somebody let it take jobs")))
      << "what slurmctld begins with is nobody's doing";
}

TEST(SlurmMembership, AHostThatIsNotReadyIsKeptOffAndSaysWhy) {
  auto unready = host("b1", "10.9.1.1");
  unready.reasons = {"its clock is 10m0s behind, 5s are allowed", "nothing is mounted at /home"};
  auto made = plan(pool(), {unready}, {});
  EXPECT_THAT(made.open, IsEmpty());
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::waits);
  EXPECT_EQ(made.members.at("b1").description,
            "it is not ready: its clock is 10m0s behind, 5s are allowed; nothing is mounted at /home");
  // One that has jobs is held; they go on.
  unready.gate_open = true;
  unready.known = member("b1", SlurmMembership::admitted);
  made = plan(pool(), {unready}, {{idle("b1", "10.9.1.1")}, {}});
  ASSERT_EQ(made.commands.size(), 1U);
  EXPECT_THAT(made.commands[0].back(), HasSubstr("underway: not ready: its clock"));
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::admitted);
  auto held = idle("b1", "10.9.1.1");
  held.flags.insert("DRAIN");
  held.reason = reason_text(*unready.reasons);
  unready.reasons->clear();
  made = plan(pool(), {unready}, {{held}, {}});
  EXPECT_THAT(made.commands, ElementsAre(admit_command({"b1"})));
}

TEST(SlurmMembership, OneThatGoesIsEmptiedThenStoppedThenForgotten) {
  auto goes = host("b1", "10.9.1.1");
  goes.wanted = false;
  goes.known = member("b1", SlurmMembership::admitted);
  auto record = idle("b1", "10.9.1.1");
  auto made = plan(pool(), {goes}, {{record}, {}});
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::leaving);
  EXPECT_EQ(made.commands.size(), 1U);
  record.flags.insert("DRAIN");
  record.reason = kLeavingReason;
  record.state = "MIXED";
  made = plan(pool(), {goes}, {{record}, {{"b1", {"17"}}}});
  EXPECT_EQ(made.members.at("b1").description, "b1 has 1 Slurm job: 17");
  EXPECT_THAT(made.commands, IsEmpty());
  record.state = "IDLE";
  made = plan(pool(), {goes}, {{record}, {}});
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::released);
  goes.runs = false;
  goes.known = made.members.at("b1");
  made = plan(pool(), {goes}, {{record}, {}});
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::released) << "its address is still in use";
  EXPECT_THAT(made.commands, ElementsAre(ElementsAre("scontrol", "delete", "nodename=b1")));
  made = plan(pool(), {goes}, {});
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::gone);
  // The same of a pool that is declared no more.
  EXPECT_EQ(plan_members(nullptr, "demo", {goes}, {}, kNow).members.at("b1").status, SlurmMembership::gone);
}

TEST(SlurmMembership, OneThatIsWantedAgainBeforeItWentStays) {
  auto back = host("b1", "10.9.1.1");
  back.known = member("b1", SlurmMembership::leaving);
  back.gate_open = true;
  auto record = idle("b1", "10.9.1.1");
  record.flags.insert("DRAIN");
  record.reason = kLeavingReason;
  const auto made = plan(pool(), {back}, {{record}, {}});
  EXPECT_THAT(made.commands, ElementsAre(admit_command({"b1"})));
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::admitted);
}

TEST(SlurmMembership, WhatSomebodyHoldsIsNotTakenAway) {
  auto goes = host("b1", "10.9.1.1");
  goes.wanted = false;
  goes.known = member("b1", SlurmMembership::admitted);
  auto record = idle("b1", "10.9.1.1");
  record.flags.insert("DRAIN");
  record.reason = "bad DIMM";
  const auto made = plan(pool(), {goes}, {{record}, {}});
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::leaving);
  EXPECT_EQ(made.members.at("b1").description,
            "b1 is drained by somebody else: 'bad DIMM'; it goes when they let it: scontrol update nodename=b1 "
            "state=resume");
}

TEST(SlurmMembership, WhatWasChangedIsPutBackOrAdoptedAsDeclared) {
  auto there = host("b1", "10.9.1.1");
  there.gate_open = true;
  there.known = member("b1", SlurmMembership::admitted);
  auto record = idle("b1", "10.9.9.9");
  record.weight = 7;
  auto declared = pool();
  auto made = plan(declared, {there}, {{record}, {}});
  EXPECT_THAT(made.commands, ElementsAre(ElementsAre("scontrol", "update", "nodename=b1", "nodeaddr=10.9.1.1")));
  EXPECT_THAT(made.told, ElementsAre(HasSubstr("it is put back")));
  EXPECT_THAT(made.members.at("b1").differences, ElementsAre("the weight of b1 is declared as 1, and Slurm has 7"));
  declared.slurm->revert = {"weight"};
  made = plan(declared, {there}, {{record}, {}});
  EXPECT_THAT(made.commands, ElementsAre(ElementsAre("scontrol", "update", "nodename=b1", "weight=1")));
  EXPECT_THAT(made.members.at("b1").differences, ElementsAre(HasSubstr("the address of b1")));
}

TEST(SlurmMembership, ANodeThatWasDeletedRegistersAnew) {
  auto there = host("b1", "10.9.1.1");
  there.gate_open = true;
  there.known = member("b1", SlurmMembership::admitted);
  auto declared = pool();
  EXPECT_TRUE(plan(declared, {there}, {}).restart.contains("b1"));
  there.known->admitted_at = kNow - kSecond;
  EXPECT_THAT(plan(declared, {there}, {}).restart, IsEmpty()) << "it is about to register";
  there.known->admitted_at = kNow - 3600 * kSecond;
  declared.slurm->revert.clear();
  const auto made = plan(declared, {there}, {});
  EXPECT_THAT(made.restart, IsEmpty());
  EXPECT_THAT(made.members.at("b1").differences, ElementsAre(HasSubstr("Slurm does not know b1")));
}

TEST(SlurmMembership, ACloudNodeWithoutALineSaysWhatIsMissing) {
  const auto made = plan(pool("cloud"), {host("b1", "10.9.1.1")}, {});
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::waits);
  EXPECT_THAT(made.members.at("b1").description, HasSubstr("slurm.conf has no line of a node b1"));
}

TEST(SlurmMembership, NobodyLosesAHostWhileSlurmIsAway) {
  auto goes = host("b1", "10.9.1.1"), comes = host("b2", "10.9.1.2"), there = host("b3", "10.9.1.3"),
       off = host("b4", "10.9.1.4");
  goes.wanted = off.wanted = false;
  off.runs = false;
  goes.known = member("b1", SlurmMembership::admitted);
  there.known = member("b3", SlurmMembership::admitted);
  off.known = member("b4", SlurmMembership::released);
  const auto made = plan_without_slurm("demo", {goes, comes, there, off}, "slurmctld does not run", kNow);
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::leaving);
  EXPECT_EQ(made.members.at("b1").description,
            "Slurm cannot be asked: slurmctld does not run; it goes once that works");
  EXPECT_EQ(made.members.at("b2").status, SlurmMembership::waits);
  EXPECT_EQ(made.members.at("b3").status, SlurmMembership::admitted);
  EXPECT_EQ(made.members.at("b3").description, "");
  EXPECT_EQ(made.members.at("b4").status, SlurmMembership::released);
  EXPECT_THAT(made.commands, IsEmpty());
  // Where there is none at all, nothing is waited for.
  const auto none = plan_where_no_slurm_is("demo", {goes, comes, off}, kNow);
  EXPECT_EQ(none.members.at("b1").status, SlurmMembership::released);
  EXPECT_EQ(none.members.at("b2").description, "no job of the cluster runs slurmctld");
  EXPECT_EQ(none.members.at("b4").status, SlurmMembership::gone);
}

TEST(SlurmMembership, AnAgentThatIsAwayTakesNoNodeFromSlurm) {
  auto there = host("b1", "10.9.1.1");
  there.known = member("b1", SlurmMembership::admitted);
  there.reasons.reset();
  there.unseen = "its agent does not answer";
  auto made = plan(pool(), {there}, {{idle("b1", "10.9.1.1")}, {}});
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::admitted);
  EXPECT_THAT(made.commands, IsEmpty());
  there.node_id = "another";
  made = plan(pool(), {there}, {{idle("b1", "10.9.1.1")}, {}});
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::waits) << "it is another machine by now";
  EXPECT_EQ(made.members.at("b1").description, "it cannot be looked at: its agent does not answer");
}

/// That Slurm itself asks for, and of which b1 is always there.
model::Pool asked() {
  auto out = pool();
  out.size = 1;
  out.elastic = model::PoolElastic{.asked_by = model::AskedBy::slurm};
  return out;
}
NodeRecord powered_down(const std::string& name) {
  auto out = idle(name, name, false);
  out.flags.insert("POWERED_DOWN");
  return out;
}

TEST(MembershipWhereSlurmAsks, NodesThatAreNotThereStayAsPowerSavingHasThem) {
  auto leaving = powered_down("b4");
  leaving.flags = {"CLOUD", "POWERING_DOWN"};
  const auto made = plan(asked(), {}, {{powered_down("b1"), powered_down("b2"), powered_down("b3"), leaving}, {}});
  EXPECT_THAT(made.commands, IsEmpty());
  EXPECT_THAT(made.told, IsEmpty());
  EXPECT_TRUE(made.settled);
}

TEST(MembershipWhereSlurmAsks, AHostThatComesIsToldOfBeforeItsSlurmdStarts) {
  auto awaited = idle("b3", "b3", false);
  awaited.state = "ALLOCATED";
  awaited.flags = {"CLOUD", "POWERING_UP", "NOT_RESPONDING"};
  const auto made = plan(asked(), {host("b3", "10.9.1.3")}, {{awaited}, {}});
  EXPECT_THAT(made.commands, ElementsAre(address_command({{"b3", "10.9.1.3"}})));
  EXPECT_THAT(made.open, ElementsAre("b3"));
  EXPECT_THAT(made.restart, IsEmpty());
}

TEST(MembershipWhereSlurmAsks, OneThatSlurmPowersDownGoesWithoutADrain) {
  auto goes = host("b3", "10.9.1.3");
  goes.wanted = false;
  goes.known = member("b3", SlurmMembership::admitted);
  auto record = idle("b3", "10.9.1.3", false);
  record.state = "ALLOCATED";
  auto made = plan(asked(), {goes}, {{record}, {{"b3", {"17"}}}});
  EXPECT_EQ(made.members.at("b3").status, SlurmMembership::leaving) << "a job came since";
  EXPECT_THAT(made.commands, IsEmpty());
  record.state = "IDLE";
  record.flags.insert("POWERING_DOWN");
  made = plan(asked(), {goes}, {{record}, {}});
  EXPECT_EQ(made.members.at("b3").status, SlurmMembership::released);
  EXPECT_THAT(made.commands, IsEmpty());
  // What was let go is not held again: its machine may be gone by now.
  goes.known = made.members.at("b3");
  record.flags = {"CLOUD", "POWERING_UP"};
  record.state = "ALLOCATED";
  made = plan(asked(), {goes}, {{record}, {{"b3", {"18"}}}});
  EXPECT_EQ(made.members.at("b3").status, SlurmMembership::released);
  goes.runs = false;
  made = plan(asked(), {goes}, {{record}, {{"b3", {"18"}}}});
  EXPECT_THAT(made.commands, ElementsAre(address_command({{"b3", kNowhere}})));
  record.address = kNowhere;
  made = plan(asked(), {goes}, {{record}, {{"b3", {"18"}}}});
  EXPECT_EQ(made.members.at("b3").status, SlurmMembership::gone);
}

TEST(MembershipWhereSlurmAsks, ANodeThatDidNotBootIsPoweredDownSoThatItMayBeAskedForAgain) {
  auto ours = powered_down("b2"), slurms = powered_down("b3"), somebodys = powered_down("b4");
  ours.state = slurms.state = somebodys.state = "DOWN";
  ours.flags = {"CLOUD", "POWERING_UP"};
  ours.reason = std::string(kNoBootPrefix) + "no node has room for it";
  slurms.reason = kResumeTimeoutReason;
  somebodys.reason = "bad DIMM";
  auto made = plan(asked(), {}, {{ours, slurms, somebodys}, {}});
  EXPECT_THAT(made.commands, ElementsAre(power_down_command({"b2", "b3"})));
  ours.flags.insert("POWER_DOWN");
  slurms.flags.insert("POWERING_DOWN");
  made = plan(asked(), {}, {{ours, slurms, somebodys}, {}});
  EXPECT_THAT(made.commands, IsEmpty()) << "it is said once";
}

TEST(MembershipWhereSlurmAsks, ASlurmdFromBeforeThePowerDownIsStartedAnew) {
  auto stays = host("b3", "10.9.1.3");
  stays.gate_open = true;
  stays.known = member("b3", SlurmMembership::admitted);
  auto record = idle("b3", "10.9.1.3", false);
  record.flags.insert("POWERING_UP");
  EXPECT_TRUE(plan(asked(), {stays}, {{record}, {}}).restart.contains("b3"));
  stays.known->admitted_at = kNow - 5 * kSecond;
  EXPECT_THAT(plan(asked(), {stays}, {{record}, {}}).restart, IsEmpty()) << "it may be about to register";
}

/// Host b1 is to sleep, and b2 is there.
TEST(SlurmMembership, AHostThatSleepsKeepsItsJobsAndIsAnsweredFor) {
  auto sleeper = host("b1", "10.9.1.1");
  sleeper.known = member("b1", SlurmMembership::admitted);
  sleeper.to_sleep = true;
  sleeper.reasons.reset();
  auto other = host("b2", "10.9.1.2");
  other.known = member("b2", SlurmMembership::admitted);
  other.gate_open = true;
  auto b1 = idle("b1", "10.9.1.1"), b2 = idle("b2", "10.9.1.2");
  NodeJob job{"7", "RUNNING", {"b1"}};
  auto made = plan(pool(), {sleeper, other}, {{b1, b2}, {}, {job}});
  EXPECT_THAT(made.commands, ElementsAre(drain_command({"b1"}, kAsleepReason)));
  EXPECT_THAT(made.members.at("b1").suspended, ElementsAre("7"));
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::admitted) << "not yet";

  b1.flags.insert("DRAIN");
  b1.reason = kAsleepReason;
  job.state = "SUSPENDED";
  sleeper.known = made.members.at("b1");
  made = plan(pool(), {sleeper, other}, {{b1, b2}, {}, {job}});
  EXPECT_THAT(made.commands, ElementsAre(address_command({{"b1", "10.9.1.2"}})));
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::resting);

  // It sleeps; that its address is another's is no difference that somebody made.
  b1.address = "10.9.1.2";
  sleeper.known = made.members.at("b1");
  sleeper.asleep = true;
  made = plan(pool(), {sleeper, other}, {{b1, b2}, {}, {job}});
  EXPECT_THAT(made.commands, IsEmpty());
  EXPECT_TRUE(made.settled);

  // It is woken: nothing is said before its agent is heard of.
  sleeper.to_sleep = sleeper.asleep = false;
  made = plan(pool(), {sleeper, other}, {{b1, b2}, {}, {job}});
  EXPECT_THAT(made.commands, IsEmpty());
  EXPECT_EQ(made.members.at("b1").description, "its machine is being woken");
  EXPECT_THAT(made.members.at("b1").suspended, ElementsAre("7"));
  sleeper.reasons = std::vector<std::string>{};
  made = plan(pool(), {sleeper, other}, {{b1, b2}, {}, {job}});
  EXPECT_THAT(made.commands, ElementsAre(address_command({{"b1", "10.9.1.1"}}), Command{"scontrol", "resume", "7"},
                                         admit_command({"b1"})));
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::resting);
  job.state = "RUNNING";
  made = plan(pool(), {sleeper, other}, {{idle("b1", "10.9.1.1"), b2}, {}, {job}});
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::admitted);
  EXPECT_THAT(made.members.at("b1").suspended, IsEmpty());
}

TEST(SlurmMembership, JobsGoOnWhenTheSleepIsTakenBackBeforeTheMachineSleeps) {
  auto awake = host("b1", "10.9.1.1");
  awake.known = member("b1", SlurmMembership::admitted);
  awake.known->suspended = {"7", "8"};
  auto b1 = idle("b1", "10.9.1.1");
  b1.flags.insert("DRAIN");
  b1.reason = kAsleepReason;
  const NodeJob slept{"7", "SUSPENDED", {"b1"}}, not_yet{"8", "RUNNING", {"b1"}};
  auto made = plan(pool(), {awake}, {{b1}, {}, {slept, not_yet}});
  EXPECT_THAT(made.commands, ElementsAre(Command{"scontrol", "resume", "7"}, admit_command({"b1"})));
  awake.known = made.members.at("b1");
  made = plan(pool(), {awake}, {{idle("b1", "10.9.1.1")}, {}, {{"7", "RUNNING", {"b1"}}, not_yet}});
  EXPECT_THAT(made.members.at("b1").suspended, IsEmpty());
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::admitted);
}

/// Its saved memory was damaged: another boot than the one whose jobs were suspended.
TEST(SlurmMembership, OfOneThatWasBootedInsteadOfWokenSlurmIsToldAtOnce) {
  auto sleeper = host("b1", "10.9.1.1");
  sleeper.known = member("b1", SlurmMembership::admitted);
  sleeper.boot = "first";
  sleeper.gate_open = true;
  auto b1 = idle("b1", "10.9.1.1", false);
  auto made = plan(pool("cloud"), {sleeper}, {{b1}, {}});
  EXPECT_EQ(made.members.at("b1").boot, "first");
  sleeper.known = made.members.at("b1");
  sleeper.known->status = SlurmMembership::resting;
  sleeper.known->suspended = {"7"};
  b1.address = "10.9.1.2";
  b1.flags.insert("DRAIN");
  b1.reason = kAsleepReason;
  const NodeJob job{"7", "SUSPENDED", {"b1"}};
  made = plan(pool("cloud"), {sleeper}, {{b1}, {}, {job}});
  EXPECT_THAT(made.commands, testing::Contains(Command{"scontrol", "resume", "7"})) << "it is the one that slept";

  sleeper.boot = "second";
  sleeper.gate_open = false;
  const Command down{"scontrol", "update", "nodename=b1", "state=down", std::string("reason=") + kAbsentReason};
  const NodeJob others{"8", "SUSPENDED", {"b1"}};
  made = plan(pool("cloud"), {sleeper}, {{b1}, {}, {job, others}});
  EXPECT_THAT(made.commands,
              ElementsAre(address_command({{"b1", "10.9.1.1"}}), Command{"scontrol", "resume", "7"}, down))
      << "a job that is queued again while it is suspended is held";
  EXPECT_THAT(made.open, IsEmpty()) << "first its jobs go";
  EXPECT_THAT(made.members.at("b1").suspended, IsEmpty());

  // It comes as any that is not there yet.
  sleeper.known = made.members.at("b1");
  b1.state = "DOWN";
  b1.address = "10.9.1.1";
  b1.reason = kAbsentReason;
  made = plan(pool("cloud"), {sleeper}, {{b1}, {}});
  EXPECT_THAT(made.commands, ElementsAre(Command{"scontrol", "update", "nodename=b1", "state=undrain"}));
  EXPECT_THAT(made.open, ElementsAre("b1"));
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::admitted);
  EXPECT_EQ(made.members.at("b1").boot, "second");
}

TEST(SlurmMembership, OneThatWasBootedAndIsToGoGoesWithoutItsJobs) {
  auto goes = host("b1", "10.9.1.1");
  goes.wanted = false;
  goes.boot = "second";
  goes.known = member("b1", SlurmMembership::resting);
  goes.known->boot = "first";
  auto b1 = idle("b1", "10.9.1.2");
  b1.flags.insert("DRAIN");
  b1.reason = "bad DIMM";
  const auto made = plan(pool(), {goes}, {{b1}, {}, {{"7", "SUSPENDED", {"b1"}}}});
  EXPECT_THAT(made.commands, ElementsAre(address_command({{"b1", "10.9.1.1"}}),
                                         Command{"scontrol", "update", "nodename=b1", "state=down", "reason=bad DIMM"}))
      << "somebody else's hold is not taken away";
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::leaving);
  EXPECT_THAT(plan(pool(), {goes}, {}).commands, IsEmpty()) << "Slurm does not know it";
}

TEST(SlurmMembership, AHostThatIsToGoIsWokenBeforeItsJobsAreWaitedFor) {
  auto goes = host("b1", "10.9.1.1");
  goes.wanted = false;
  goes.known = member("b1", SlurmMembership::resting);
  goes.known->suspended = {"7"};
  auto b1 = idle("b1", "10.9.1.2");
  b1.flags.insert("DRAIN");
  b1.reason = kAsleepReason;
  const NodeJob job{"7", "SUSPENDED", {"b1"}};
  auto made = plan(pool(), {goes}, {{b1}, {{"b1", {"7"}}}, {job}});
  EXPECT_THAT(made.commands, ElementsAre(address_command({{"b1", "10.9.1.1"}}), Command{"scontrol", "resume", "7"}));
  b1.address = "10.9.1.1";
  made = plan(pool(), {goes}, {{b1}, {{"b1", {"7"}}}, {{"7", "RUNNING", {"b1"}}}});
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::leaving);
  goes.known = made.members.at("b1");
  made = plan(pool(), {goes}, {{b1}, {{"b1", {"7"}}}, {}});
  EXPECT_THAT(made.members.at("b1").description, HasSubstr("b1 has 1 Slurm job: 7"));
}

}  // namespace
}  // namespace underway::slurm
