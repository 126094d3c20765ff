#include <gmock/gmock.h>

#include "slurm/queue.hpp"
#include "tests/elastic/membership_support.hpp"

namespace underway::slurm {
namespace {

using namespace burst;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

}  // namespace
}  // namespace underway::slurm
