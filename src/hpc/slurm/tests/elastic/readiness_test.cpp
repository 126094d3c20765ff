#include "slurm/elastic/readiness.hpp"

#include <gmock/gmock.h>

namespace underway::slurm {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Wanted kWanted{.configuration = "0123456789abcdef",
                     .mounts = {"/home", "/scratch"},
                     .programs = {"/usr/sbin/slurmd"},
                     .memory_mb = 4000,
                     .cpus = 4};
NodeReport good() {
  return {.configuration = "0123456789abcdef",
          .clock_ahead = milliseconds(40),
          .mounts = {"/home", "/scratch"},
          .programs = {"/usr/sbin/slurmd"},
          .memory_mb = 4100,
          .cpus = 4};
}

TEST(SlurmReadiness, IsSoWhenAllIsThere) { EXPECT_THAT(judge(good(), kWanted), IsEmpty()); }

TEST(SlurmReadiness, TellsEverythingThatIsMissingAtOnce) {
  NodeReport bad{.configuration = "fedcba9876543210",
                 .clock_ahead = -minutes(10),
                 .mounts = {"/scratch"},
                 .memory_mb = 3900,
                 .cpus = 2,
                 .failed = {{"gpu", "no device"}, {"ib", ""}}};
  EXPECT_THAT(
      judge(bad, kWanted),
      ElementsAre("its configuration is fedcba9876543210, 0123456789abcdef is wanted",
                  "its clock is 10m0s behind, 5s are allowed", "nothing is mounted at /home",
                  "/usr/sbin/slurmd is missing", "it has 3900 MiB of memory, 4000 are declared",
                  "it has 2 processors, 4 are declared", "the check gpu fails: no device", "the check ib fails"));
  // One that says nothing has nothing.
  EXPECT_THAT(judge({}, kWanted), testing::SizeIs(7));
  auto fast = good();
  fast.clock_ahead = minutes(10);
  EXPECT_THAT(judge(fast, kWanted), ElementsAre("its clock is 10m0s ahead, 5s are allowed"));
}

TEST(SlurmReadiness, OfAClockCountsWhatIsCertain) {
  auto busy = good();
  busy.clock_ahead = seconds(13);
  busy.clock_error = seconds(13);  // it read its clock when 26 s had passed
  EXPECT_THAT(judge(busy, kWanted), IsEmpty());
  busy.clock_ahead = -seconds(19);
  EXPECT_THAT(judge(busy, kWanted), ElementsAre("its clock is 19s behind, 5s are allowed"));
}

TEST(SlurmReadiness, ConfigurationsThatDifferHaveOtherVersions) {
  const auto version = configuration_version({{"slurm.conf", "a"}, {"gres.conf", "b"}});
  EXPECT_EQ(version.size(), 16U);
  EXPECT_EQ(version, configuration_version({{"gres.conf", "b"}, {"slurm.conf", "a"}}));
  for (const auto& other : {configuration_version({{"slurm.conf", "a"}}), configuration_version({}),
                            configuration_version({{"slurm.conf", "b"}, {"gres.conf", "a"}}),
                            configuration_version({{"gres.conf", "b9:slurm.conf"}, {"slurm.con", "a"}})})
    EXPECT_NE(version, other);
}

TEST(SlurmReadiness, IsTheReasonOfSlurmAsFarAsItFits) {
  EXPECT_EQ(reason_text({"nothing is mounted at /home"}), "underway: not ready: nothing is mounted at /home");
  EXPECT_EQ(reason_text({"the check a fails: \"x|y\"\n[z]", "b"}),
            "underway: not ready: the check a fails:  x y   z ; b");
  const auto much = reason_text(std::vector<std::string>(9, std::string(50, 'x')));
  EXPECT_LE(much.size(), 200U);
  EXPECT_THAT(much, testing::EndsWith("; and 6 more"));
  const auto one = reason_text({std::string("é") + std::string(400, 'y'), "b"});
  EXPECT_LE(one.size(), 200U);
}

TEST(SlurmReadiness, HoldsANodeBackAndLetsItIn) {
  const std::vector<std::string> no, yes = {"nothing is mounted at /home"};
  const std::string why = reason_text(yes);
  const NodeRecord idle{"d1", "10.9.1.1", "d1", "IDLE"};
  NodeRecord held = idle, silent = idle, theirs = idle, going = idle, other = idle;
  for (auto* record : {&held, &silent, &theirs, &going, &other}) record->flags = {"DRAIN"};
  held.reason = silent.reason = why;
  silent.flags.insert("NOT_RESPONDING");
  theirs.reason = "bad DIMM";
  going.reason = kLeavingReason;
  other.reason = std::string(kNotReadyPrefix) + "its clock is 10m0s ahead, 5s are allowed";
  struct Case {
    const char* name;
    const NodeRecord* record;
    bool started;
    const std::vector<std::string>& reasons;
    GateStep step;
  };
  const std::vector<Case> cases = {{"new and ready", nullptr, false, no, GateStep::start},
                                   {"new and not ready", nullptr, false, yes, GateStep::keep_off},
                                   {"comes back, not ready", &idle, false, yes, GateStep::keep_off},
                                   {"on its way", nullptr, true, yes, GateStep::none},
                                   {"idle and ready", &idle, true, no, GateStep::none},
                                   {"loses its mount", &idle, true, yes, GateStep::hold},
                                   {"still without", &held, true, yes, GateStep::none},
                                   {"for another reason now", &other, true, yes, GateStep::hold},
                                   {"cured", &held, true, no, GateStep::admit},
                                   {"cured, but silent", &silent, true, no, GateStep::none},
                                   {"held by others", &theirs, true, no, GateStep::none},
                                   {"held by others, not ready", &theirs, true, yes, GateStep::none},
                                   {"going", &going, true, no, GateStep::none}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto verdict = decide_gate("d1", c.record, c.started, c.reasons);
    EXPECT_EQ(verdict.step, c.step);
    EXPECT_EQ(!verdict.command.empty(), c.step == GateStep::hold || c.step == GateStep::admit);
  }
  EXPECT_THAT(decide_gate("d1", &idle, true, yes).command,
              ElementsAre("scontrol", "update", "nodename=d1", "state=drain", "reason=" + why));
  EXPECT_THAT(decide_gate("d1", &held, true, no).command,
              ElementsAre("scontrol", "update", "nodename=d1", HasSubstr("state=")));
}

}  // namespace
}  // namespace underway::slurm
