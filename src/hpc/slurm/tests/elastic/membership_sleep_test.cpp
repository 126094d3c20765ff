// Hosts whose machines sleep, as members of Slurm: alone, and with others that have the same jobs.
#include <gmock/gmock.h>

#include "slurm/queue.hpp"
#include "tests/elastic/membership_support.hpp"

namespace underway::slurm {
namespace {

using namespace burst;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

/// Hosts b1 and b2 are to sleep, a job is on both, and b3 answers for them.
class SleepingTogether : public testing::Test {
 protected:
  SleepingTogether() {
    for (auto* one : {&first, &second}) {
      one->known = member(one->name, SlurmMembership::admitted);
      one->to_sleep = true;
      one->reasons.reset();
    }
    third.known = member("b3", SlurmMembership::admitted);
    third.gate_open = true;
  }
  MembershipPlan look() {
    auto made = plan(pool(), {first, second, third}, {{b1, b2, b3}, {}, {job}});
    first.known = made.members.at("b1");
    second.known = made.members.at("b2");
    return made;
  }
  static void hold(NodeRecord& record) {
    record.flags.insert("DRAIN");
    record.reason = kAsleepReason;
  }
  void both_sleep() {
    look();
    hold(b1);
    hold(b2);
    job.state = "SUSPENDED";
    look();
    b1.address = b2.address = b3.address;
    first.asleep = second.asleep = true;
    look();
  }
  static void wake(MemberHost& one) {
    one.to_sleep = one.asleep = false;
    one.reasons.emplace();
  }

  MemberHost first = host("b1", "10.9.1.1"), second = host("b2", "10.9.1.2"), third = host("b3", "10.9.1.3");
  NodeRecord b1 = idle("b1", "10.9.1.1"), b2 = idle("b2", "10.9.1.2"), b3 = idle("b3", "10.9.1.3");
  NodeJob job{"7", "RUNNING", {"b1", "b2"}};
  const Command suspend{"scontrol", "suspend", "7"}, resume{"scontrol", "resume", "7"};
};

TEST_F(SleepingTogether, TheirJobIsSuspendedOnceBeforeEitherMayRest) {
  auto made = look();
  EXPECT_THAT(made.commands, ElementsAre(drain_command({"b1"}, kAsleepReason), drain_command({"b2"}, kAsleepReason)));
  hold(b1);
  hold(b2);
  made = look();
  EXPECT_THAT(made.commands, ElementsAre(suspend));
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::admitted);
  job.state = "SUSPENDED";
  made = look();
  for (const auto* name : {"b1", "b2"}) {
    EXPECT_EQ(made.members.at(name).status, SlurmMembership::resting);
    EXPECT_THAT(made.members.at(name).suspended, ElementsAre("7"));
  }
}

TEST_F(SleepingTogether, TheirJobRunsOnWhileOneOfThemIsNotToSleep) {
  wake(second);
  look();
  hold(b1);
  const auto made = look();
  EXPECT_THAT(made.commands, IsEmpty());
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::admitted);
  EXPECT_THAT(made.members.at("b1").description, HasSubstr("is on b2, too, which is not to sleep"));
  first.moves = true;
  EXPECT_THAT(look().commands, ElementsAre(suspend)) << "it is back soon";
}

TEST_F(SleepingTogether, TheirJobGoesOnWhenTheLastOfThemIsAwake) {
  both_sleep();
  wake(first);
  auto made = look();
  EXPECT_THAT(made.commands, ElementsAre(address_command({{"b1", "10.9.1.1"}}), admit_command({"b1"})));
  b1 = idle("b1", "10.9.1.1");
  made = look();
  EXPECT_THAT(made.commands, IsEmpty());
  EXPECT_EQ(made.members.at("b1").status, SlurmMembership::admitted);
  EXPECT_EQ(made.members.at("b1").description, "the Slurm job 7 goes on when b2 is awake, too");
  EXPECT_THAT(made.members.at("b1").suspended, ElementsAre("7"));
  EXPECT_FALSE(made.settled);

  wake(second);
  EXPECT_THAT(look().commands, ElementsAre(address_command({{"b2", "10.9.1.2"}}), resume, admit_command({"b2"})));
  b2 = idle("b2", "10.9.1.2");
  job.state = "RUNNING";
  made = look();
  EXPECT_THAT(made.commands, IsEmpty());
  for (const auto* name : {"b1", "b2"}) EXPECT_THAT(made.members.at(name).suspended, IsEmpty());
}

TEST_F(SleepingTogether, TheirJobGoesOnOnceBothAnswerThemselves) {
  both_sleep();
  wake(first);
  wake(second);
  EXPECT_THAT(look().commands, ElementsAre(address_command({{"b1", "10.9.1.1"}}), admit_command({"b1"}),
                                           address_command({{"b2", "10.9.1.2"}}), admit_command({"b2"})))
      << "slurmctld says it a single time, and another one answers for b2";
  b1 = idle("b1", "10.9.1.1");
  b2 = idle("b2", "10.9.1.2");
  EXPECT_THAT(look().commands, ElementsAre(resume)) << "once";
}

TEST_F(SleepingTogether, HostsOfOtherPoolsCount) {
  both_sleep();
  wake(first);
  b1 = idle("b1", "10.9.1.1");
  const auto of = pool();
  const SlurmView slurm{{b1, b2, b3}, {}, {job}};
  auto made = plan_members(&of, "demo", {first, third}, slurm, kNow, {second});
  EXPECT_THAT(made.commands, IsEmpty());
  wake(second);
  made = plan_members(&of, "demo", {first, third}, slurm, kNow, {second});
  EXPECT_THAT(made.commands, IsEmpty()) << "another one answers for it still";
  b2.address = "10.9.1.2";
  made = plan_members(&of, "demo", {first, third}, {{b1, b2, b3}, {}, {job}}, kNow, {second});
  EXPECT_THAT(made.commands, ElementsAre(resume));
}

}  // namespace
}  // namespace underway::slurm
