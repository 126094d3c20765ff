#include "cli/capsule/protection_text.hpp"

#include <gtest/gtest.h>

namespace underway::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

model::Protection by_default() {
  model::Protection protection;
  protection.job = protection.capsule = "ctl";
  protection.pool = "infra";
  protection.standby = true;
  protection.others = 1;
  protection.copies_every = std::chrono::milliseconds(500);
  protection.loss = seconds(5);
  protection.rpo = minutes(5);
  protection.snapshots_by_default = true;
  protection.snapshots_every = hours(24);
  protection.snapshots_kept.last = 2;
  return protection;
}

TEST(ProtectionText, SaysWhatHoldsWithoutAWordInTheJob) {
  EXPECT_EQ(
      protection_text({by_default()}),
      "\nHow capsules are protected\n"
      "  ctl\n"
      "    its host dies: another node of pool 'infra', chosen when it runs, has a copy and takes over\n"
      "    copies:        at once of what is replaced, every 500ms of the rest; one that is older than 5s is told; "
      "from one older than 5m nothing is started\n"
      "    snapshots:     every 1d (by default), the newest 2 are kept, on its node while a tenth of its disk is "
      "free\n"
      "    backups:       none: no place is named\n");
  EXPECT_EQ(protection_text({}), "");
}

TEST(ProtectionText, NamesTheStandbyAndThePlaceOfBackups) {
  auto protection = by_default();
  protection.standby_node = "infra2";
  protection.snapshots_by_default = false;
  protection.snapshots_every = hours(3);
  protection.snapshots_kept = {.last = 0, .hourly = 24, .daily = 7};
  protection.repository = "sftp:b@elsewhere:/r";
  protection.backups_every = hours(24);
  protection.drills_every = hours(168);
  const auto text = protection_text({protection});
  EXPECT_NE(text.find("its host dies: infra2 (chosen by itself) has a copy and takes over\n"), text.npos) << text;
  EXPECT_NE(text.find("snapshots:     every 3h, 24 of hours, 7 of days are kept, on its node\n"), text.npos) << text;
  EXPECT_NE(text.find("backups:       every 1d to sftp:b@elsewhere:/r, all are kept; tried every 7d\n"), text.npos)
      << text;
  protection.standby_chosen = true;
  EXPECT_NE(protection_text({protection}).find("infra2 (chosen by hand)"), text.npos);
}

TEST(ProtectionText, WarnsWhereThereIsNoneAndNotOfWhatKeepsNothing) {
  auto alone = by_default();
  alone.others = 0;
  alone.warnings = {"no other node of pool 'infra' can take it: it waits for its host"};
  const auto text = protection_text({alone});
  EXPECT_NE(text.find("its host dies: it waits for that host\n"), text.npos) << text;
  EXPECT_EQ(text.find("copies:"), text.npos) << text;
  EXPECT_NE(text.find("! no other node of pool 'infra' can take it"), text.npos) << text;
  model::Protection nothing;
  nothing.capsule = "gate";
  nothing.keeps_nothing = true;
  EXPECT_EQ(protection_text({nothing}),
            "\nHow capsules are protected\n"
            "  gate\n"
            "    its host dies: it starts elsewhere, with nothing\n"
            "    snapshots:     none: it keeps nothing\n"
            "    backups:       none: it keeps nothing\n");
}

}  // namespace
}  // namespace underway::cli
