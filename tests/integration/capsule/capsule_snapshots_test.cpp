// Snapshots that a node takes of a capsule by itself, whether its job says something of them or not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <sstream>

#include "harness/capsule/counting_capsule.hpp"

namespace underway::harness {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// A node looks for what is due every 15 s.
constexpr seconds kLook{60};

bool disk_has_room() {
  struct statvfs disk = {};
  return ::statvfs("/tmp", &disk) == 0 && disk.f_bavail > disk.f_blocks / 100 * 15;
}

class CapsuleSnapshots : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs busybox-static";
    if (!disk_has_room()) GTEST_SKIP() << "needs a disk with 15 % free: below a tenth no snapshot is taken";
  }
  void start(const std::string& config) { capsule_.emplace(CountingCapsule::Kind::stateful, config); }
  std::string told() const { return capsule_->cluster().underway({"capsule", "status", "counter"}).out; }
  std::string status() const { return capsule_->cluster().underway({"status"}).out; }

  /// Ids of those that the schedule took, oldest first.
  std::vector<std::string> taken() const {
    std::istringstream rows(capsule_->cluster().underway({"capsule", "snapshots", "counter"}).out);
    std::vector<std::string> out;
    for (std::string row; std::getline(rows, row);) {
      if (row.find("  schedule  ") != std::string::npos) out.push_back(row.substr(0, row.find(' ')));
    }
    return out;
  }
  /// As if it was years since the first start of the capsule, and since the last snapshot was tried.
  void let_time_pass() const {
    const std::string past = R"("2020-01-01T00:00:00Z")";
    const auto set = [&](const std::string& key) {
      return fmt::format(R"(s/"{0}": *"2[^"]*"/"{0}": {1}/)", key, past);
    };
    const auto done = capsule_->cluster().enter(
        capsule_->owner(),
        fmt::format("sed -i -e '{}' -e '{}' /var/lib/underway-node/capsules/default/counter/saved.json", set("Since"),
                    set("BegunAt")));
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }
  /// As if it had been taken years ago: of one hour only the newest is kept.
  void make_old(const std::string& id) const {
    const auto done = capsule_->cluster().enter(
        capsule_->owner(), fmt::format("sed -i 's/\"At\": *[0-9]*/\"At\": 1577836800000000000/' "
                                       "/var/lib/underway-node/capsules/default/counter/snapshots/{}/snapshot.json",
                                       id));
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }
  /// The next one by the schedule; empty: there is none.
  std::string next_taken() const {
    const auto before = taken();
    let_time_pass();
    const auto newest = [&] { return taken().empty() ? "" : taken().back(); };
    const auto last = before.empty() ? "" : before.back();
    return eventually(kLook, [&] { return newest() != last && !newest().empty(); }) ? newest() : "";
  }
  void write(const std::string& text) const {
    const auto done = capsule_->inside("echo " + text + " >/srv/state");
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
  }

  std::optional<CountingCapsule> capsule_;
};

TEST_F(CapsuleSnapshots, AreTakenWithoutAWordAndUndoAMistake) {
  start("");
  ASSERT_TRUE(eventually(kLook, [&] { return told().find("snapshots every 1d0h: never yet") != std::string::npos; }))
      << told() << "its overlay is a directory: each is a copy";
  EXPECT_THAT(status(), HasSubstr("none yet"));
  const auto first = next_taken();
  ASSERT_NE(first, "") << told();
  const auto second = next_taken();
  ASSERT_NE(second, "") << told();
  write("good");
  const auto third = next_taken();
  ASSERT_NE(third, "") << told();
  EXPECT_TRUE(eventually(seconds(10), [&] { return taken() == std::vector<std::string>{second, third}; }))
      << "two are kept: " << told();
  EXPECT_TRUE(eventually(seconds(10), [&] { return status().find("s ago") != std::string::npos; })) << status();
  EXPECT_EQ(status().find("needs"), std::string::npos) << status();

  write("spoiled");
  const auto restored =
      capsule_->cluster().underway({"capsule", "restore", "counter", "-snapshot", third}, seconds(120));
  ASSERT_EQ(restored.exit_code, 0) << restored.out << restored.err;
  EXPECT_EQ(capsule_->inside("cat /srv/state").out, "good\n");
}

TEST_F(CapsuleSnapshots, AreTakenAsDeclaredAndThoseByHandStay) {
  start("snapshot {\n  every = \"1m\"\n  keep {\n    last = 2\n  }\n}\n");
  const auto said = capsule_->cluster().underway({"capsule", "snapshot", "counter"}).out;
  const auto by_hand = said.substr(0, said.find('\n'));
  ASSERT_TRUE(eventually(kLook, [&] { return taken().size() == 1; })) << told();
  ASSERT_TRUE(eventually(seconds(120), [&] { return taken().size() == 2; })) << "a minute later: " << told();
  const auto second = taken().back(), third = next_taken();
  ASSERT_NE(third, "") << told();
  EXPECT_TRUE(eventually(seconds(10), [&] { return taken() == std::vector<std::string>{second, third}; })) << told();
  EXPECT_THAT(capsule_->cluster().underway({"capsule", "snapshots", "counter"}).out, HasSubstr(by_hand));
  EXPECT_THAT(told(), HasSubstr("snapshots every 1m0s"));
}

TEST_F(CapsuleSnapshots, GiveWayToTheCapsuleWhereTheDiskIsNearlyFull) {
  start("overlay {\n  kind = \"btrfs\"\n  size = \"512M\"\n}\n");
  ASSERT_TRUE(eventually(kLook, [&] { return told().find("snapshots every 1h0m: never yet") != std::string::npos; }))
      << told();
  const auto used = [&] {
    const auto text = told();
    const auto at = text.find("\nOverlay\n  ");
    return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + 11);
  };
  const auto fill = [&] {
    capsule_->inside("i=0; while dd if=/dev/urandom of=/srv/full.$i bs=1M count=8 2>/dev/null; do i=$((i+1)); done");
    return eventually(kLook, [&] { return used() > 90; });
  };
  const auto empty = [&] {
    capsule_->inside("busybox rm -f /srv/full.*; busybox sync");
    return eventually(kLook, [&] { return used() < 80; });
  };
  ASSERT_TRUE(fill()) << told();
  let_time_pass();
  EXPECT_TRUE(eventually(kLook, [&] { return told().find("a tenth of it stays for others") != std::string::npos; }))
      << told();
  EXPECT_TRUE(taken().empty());
  EXPECT_THAT(status(), HasSubstr("its snapshot has failed"));
  EXPECT_THAT(status(), HasSubstr("is almost full"));

  ASSERT_TRUE(empty()) << told();
  const auto older = next_taken();
  ASSERT_NE(older, "") << told();
  EXPECT_TRUE(eventually(seconds(10), [&] { return status().find("its snapshot has failed") == std::string::npos; }))
      << status();
  make_old(older);
  const auto newer = next_taken();
  ASSERT_NE(newer, "") << told();
  ASSERT_EQ(taken(), (std::vector<std::string>{older, newer}));
  ASSERT_TRUE(fill()) << told();
  EXPECT_TRUE(eventually(kLook, [&] { return taken() == std::vector<std::string>{newer}; }))
      << "the oldest goes: " << told();
  let_time_pass();
  EXPECT_TRUE(eventually(kLook, [&] { return told().find("a tenth of it stays for others") != std::string::npos; }))
      << told();
  EXPECT_EQ(taken(), std::vector<std::string>{newer}) << "the newest stays";
}

}  // namespace
}  // namespace underway::harness
