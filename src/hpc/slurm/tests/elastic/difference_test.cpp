#include "slurm/elastic/difference.hpp"

#include <gmock/gmock.h>

namespace underway::slurm {
namespace {

using Kind = NodeDifference::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DeclaredNode declared() {
  return {.name = "d1", .address = "10.9.1.1", .cpus = 4, .memory_mb = 4000, .features = {"burst", "ib"}};
}
NodeRecord as_declared() {
  return {"d1", "10.9.1.1", "d1", "IDLE", {"DYNAMIC_NORM"}, "", 4, 0, 4000, 1, {"burst", "ib"}, {"burst"}};
}

TEST(SlurmDifference, ThereIsNoneWhenAllIsAsDeclared) {
  EXPECT_THAT(compare_nodes({declared()}, {as_declared()}), IsEmpty());
  auto absent = declared();
  absent.mode = JoinMode::cloud;
  absent.present = false;
  auto down = as_declared();
  down.state = "DOWN";
  down.address = kNowhere;
  down.reason = kAbsentReason;
  EXPECT_THAT(compare_nodes({absent}, {down}), IsEmpty());
  // What Slurm found out itself is no administrator's.
  down.reason = "Not responding";
  down.flags = {"NOT_RESPONDING"};
  down.address = "10.9.1.1";
  EXPECT_THAT(compare_nodes({declared()}, {down}), IsEmpty());
}

TEST(SlurmDifference, IsToldInWordsAndAdoptedOrPutBack) {
  auto other = as_declared();
  other.address = "10.9.1.9";
  other.features = {"burst"};
  other.weight = 50;
  other.memory_mb = 3000;
  const auto found = compare_nodes({declared()}, {other});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].kind, Kind::address);
  EXPECT_EQ(found[0].text, "the address of d1 is declared as 10.9.1.1, and Slurm has 10.9.1.9");
  EXPECT_TRUE(found[0].reverts) << "jobs would fail";
  EXPECT_THAT(found[0].command, ElementsAre("scontrol", "update", "nodename=d1", "nodeaddr=10.9.1.1"));
  EXPECT_EQ(found[1].text, "the features of d1 are declared as burst,ib, and Slurm has burst");
  EXPECT_FALSE(found[1].reverts);
  EXPECT_THAT(found[1].command, IsEmpty());
  EXPECT_EQ(found[2].kind, Kind::weight);
  EXPECT_EQ(found[3].text, "the memory of d1 is declared as 4000 MiB, and Slurm has 3000 MiB");

  const auto back = compare_nodes({declared()}, {other},
                                  {{Kind::features, Foreign::revert},
                                   {Kind::weight, Foreign::revert},
                                   {Kind::shape, Foreign::revert},
                                   {Kind::address, Foreign::adopt}});
  EXPECT_FALSE(back[0].reverts);
  EXPECT_THAT(back[1].command, ElementsAre("scontrol", "update", "nodename=d1", "availablefeatures=burst,ib",
                                           "activefeatures=burst,ib"));
  EXPECT_THAT(back[2].command.back(), "weight=1");
  EXPECT_FALSE(back[3].reverts) << "scontrol cannot";
}

TEST(SlurmDifference, OfWhoHoldsANodeIsNeverTakenBackWhenItIsNotOurs) {
  auto theirs = as_declared();
  theirs.flags.insert("DRAIN");
  theirs.reason = "bad DIMM";
  const auto found = compare_nodes({declared()}, {theirs}, {{Kind::held, Foreign::revert}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, Kind::held);
  EXPECT_EQ(found[0].text, "d1 is held by somebody else: 'bad DIMM'");
  EXPECT_FALSE(found[0].reverts);

  auto held = declared();
  held.held = kLeavingReason;
  const auto released = compare_nodes({held}, {as_declared()});
  ASSERT_EQ(released.size(), 1U);
  EXPECT_EQ(released[0].kind, Kind::released);
  EXPECT_TRUE(released[0].reverts);
  EXPECT_THAT(released[0].command,
              ElementsAre("scontrol", "update", "nodename=d1", "state=drain", "reason=underway: the node is going"));
  auto absent = declared();
  absent.mode = JoinMode::cloud;
  absent.present = false;
  const auto let_in = compare_nodes({absent}, {as_declared()});
  ASSERT_EQ(let_in.size(), 1U);
  EXPECT_EQ(let_in[0].text, "d1 is not there, and somebody let it take jobs: it is idle");
  EXPECT_EQ(let_in[0].command, absent_command({"d1"}));
}

TEST(SlurmDifference, IsANodeTooManyOrTooFew) {
  auto busy = as_declared(), empty = as_declared();
  busy.name = "x1";
  busy.flags.insert("DRAIN");
  busy.state = "MIXED";
  busy.cpus_given = 1;
  empty.name = "x2";
  empty.flags.insert("DRAIN");
  const auto found = compare_nodes({declared()}, {busy, empty}, {{Kind::foreign, Foreign::revert}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].kind, Kind::unknown);
  EXPECT_THAT(found[0].text, HasSubstr("Slurm does not know d1"));
  EXPECT_FALSE(found[1].reverts);
  EXPECT_THAT(found[1].text, HasSubstr("x1, which nobody declared: it is not drained and empty, so it stays"));
  EXPECT_TRUE(found[2].reverts);
  EXPECT_THAT(found[2].command, ElementsAre("scontrol", "delete", "nodename=x2"));
  EXPECT_FALSE(compare_nodes({}, {empty}).at(0).reverts) << "unless the site wants it";
}

}  // namespace
}  // namespace underway::slurm
