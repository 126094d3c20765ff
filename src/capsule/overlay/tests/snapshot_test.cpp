#include "overlay/snapshot/snapshot.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/error.hpp"
#include "overlay/transfer/transfer.hpp"
#include "trees.hpp"
#include "writer.hpp"

namespace underway::overlay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kSnapshotNoon{seconds{1'764'072'000}};  // 2025-11-25T12:00:00Z, a Tuesday

std::vector<Snapshot> taken_every(Duration every, int count) {
  std::vector<Snapshot> list;
  for (int i = count - 1; i >= 0; --i)
    list.push_back({.id = std::to_string(i), .at = unix_nanos(kSnapshotNoon - every * i), .complete = true});
  return list;
}
std::vector<std::string> kept(const std::vector<Snapshot>& list, const Retention& retention) {
  const auto gone = superfluous(list, retention);
  std::vector<std::string> ids;
  for (const auto& snapshot : list) {
    if (std::find(gone.begin(), gone.end(), snapshot.id) == gone.end()) ids.push_back(snapshot.id);
  }
  return ids;
}
using Ids = std::vector<std::string>;

TEST(Snapshots, AreKeptAsLongAsOneOfTheRulesWantsThem) {
  const auto list = taken_every(minutes{20}, 24 * 3 * 30);  // of 30 days
  EXPECT_EQ(kept(list, {}).size(), list.size()) << "without a rule all are";
  EXPECT_EQ(kept(list, {.last = 3}), (Ids{"2", "1", "0"}));
  EXPECT_EQ(kept(list, {.hourly = 3}), (Ids{"4", "1", "0"})) << "the newest of each hour";
  EXPECT_EQ(kept(list, {.daily = 3}), (Ids{"109", "37", "0"}));
  EXPECT_EQ(kept(list, {.weekly = 2}), (Ids{"109", "0"})) << "a week ends on Sunday";
  EXPECT_EQ(kept(list, {.last = 2, .daily = 2}), (Ids{"37", "1", "0"}));
  EXPECT_EQ(kept(list, {.last = 100'000}).size(), list.size());
}

TEST(Snapshots, AreFoundByTime) {
  const auto list = taken_every(hours{1}, 5);
  EXPECT_EQ(snapshot_at(list, kSnapshotNoon).id, "0");
  EXPECT_EQ(snapshot_at(list, kSnapshotNoon - minutes{1}).id, "1");
  EXPECT_EQ(snapshot_at(list, kSnapshotNoon - hours{4}).id, "4");
  try {
    snapshot_at(list, kSnapshotNoon - hours{5});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::not_found);
    EXPECT_NE(e.text().find("the oldest is 4 (2025-11-25T08:00:00Z)"), std::string::npos) << e.text();
  }
}

class DirectorySnapshots : public testing::Test {
 protected:
  DirectorySnapshots() : overlay_(open()) {}
  Mounted open() {
    Options options;
    options.stop_writers = [this](bool stop) {
      if (writer_) writer_->hold(stop);
    };
    return open_overlay({.kind = Kind::directory}, places_ / "o", options);
  }
  Snapshot take(const SnapshotRequest& request) { return take_snapshot(overlay_, dir_, request); }
  Places places_;
  std::unique_ptr<Writer> writer_;
  Mounted overlay_;
  std::string dir_ = places_ / "snapshots";
};

TEST_F(DirectorySnapshots, AreAPrefixOfWhatWasWritten) {
  writer_ = std::make_unique<Writer>(overlay_.upper());
  for (int i = 0; i < 3; ++i) {
    writer_->more(20);
    const auto before = writer_->written();
    const auto snapshot = take({.reason = "by hand", .image = "sha256:1", .now = kSnapshotNoon});
    const auto after = writer_->written();
    const SnapshotView view(overlay_, dir_, snapshot);
    const auto lines = lines_in(view.upper());
    EXPECT_GE(lines, static_cast<std::int64_t>(before));
    EXPECT_LE(lines, static_cast<std::int64_t>(after) + 1);
    EXPECT_GT(snapshot.frozen, Duration{0});
  }
  const auto list = list_snapshots(dir_);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].id, "20251125-120000");
  EXPECT_EQ(list[1].id, "20251125-120000-2");
  EXPECT_EQ(list[0].image, "sha256:1");
  writer_->stop();
}

TEST_F(DirectorySnapshots, AreRestoredWholeAndRemoved) {
  Gardener gardener(overlay_.upper(), 5);
  gardener.grow(30);
  const auto words = words_of(overlay_.upper());
  const auto snapshot = take({.idle = true, .now = kSnapshotNoon});
  gardener.grow(30);
  extract_snapshot(overlay_, dir_, snapshot.id, places_ / "other");
  EXPECT_EQ(words_of(places_ / "other/tree"), words);
  overlay_ = restore_snapshot(std::move(overlay_), dir_, snapshot.id);
  EXPECT_EQ(words_of(overlay_.upper()), words);
  remove_snapshot(overlay_, dir_, snapshot.id);
  EXPECT_TRUE(list_snapshots(dir_).empty());
  EXPECT_THROW(restore_snapshot(open(), dir_, snapshot.id), Error);
  EXPECT_THROW(restore_snapshot(open(), dir_, "../o"), Error);
  EXPECT_EQ(words_of(overlay_.upper()), words);
}

TEST_F(DirectorySnapshots, AskForQuiescenceAndAlwaysLetGo) {
  std::string told;
  SnapshotRequest request{.quiesce = [&](bool stop) { told += stop ? "quiet " : "go "; }, .now = kSnapshotNoon};
  take(request);
  EXPECT_EQ(told, "quiet go ");
  request.on_step = [](const std::string& step) {
    if (step == "frozen") throw Error(Code::exhausted, "full");
  };
  EXPECT_THROW(take(request), Error);
  EXPECT_EQ(told, "quiet go quiet go ");
  request.on_step = {};
  request.quiesce = [&](bool) { throw Error(Code::unavailable, "the database does not answer"); };
  EXPECT_THROW(take(request), Error);
  request.quiesce = {};
  request.limit = Duration{1};
  EXPECT_THROW(take(request), Error) << "the freeze was too short";
  EXPECT_EQ(list_snapshots(dir_).size(), 1U);
  EXPECT_EQ(os::list_directory(dir_).size(), 1U);
}

TEST_F(DirectorySnapshots, ThatACrashCutShortDoNotCountAndAreSwept) {
  Gardener(overlay_.upper(), 6).grow(30);
  const auto words = words_of(overlay_.upper());
  for (const auto* step : {"round", "freeze", "frozen", "complete"}) {
    SCOPED_TRACE(step);
    const pid_t child = ::fork();
    if (child == 0) {
      SnapshotRequest request{.idle = true, .now = kSnapshotNoon};
      request.on_step = [&](const std::string& now) {
        if (now == step) ::_exit(0);
      };
      take(request);
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    EXPECT_TRUE(list_snapshots(dir_).empty());
  }
  EXPECT_EQ(words_of(overlay_.upper()), words);
  take({.idle = true, .now = kSnapshotNoon});
  EXPECT_EQ(os::list_directory(dir_).size(), 1U);
}

TEST_F(DirectorySnapshots, AreRestoredOrNotWhenACrashComesInBetween) {
  Gardener gardener(overlay_.upper(), 7);
  gardener.grow(30);
  const auto old = words_of(overlay_.upper());
  const auto snapshot = take({.idle = true, .now = kSnapshotNoon});
  gardener.grow(10);
  const auto present = words_of(overlay_.upper());
  for (const auto* step : {"stage", "exchange", "sweep"}) {
    SCOPED_TRACE(step);
    const pid_t child = ::fork();
    if (child == 0) {
      restore_snapshot(std::move(overlay_), dir_, snapshot.id, [&](const std::string& now) {
        if (now == step) ::_exit(0);
      });
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    EXPECT_EQ(words_of(overlay_.upper()), step == std::string("sweep") ? old : present);
  }
  overlay_ = restore_snapshot(std::move(overlay_), dir_, snapshot.id);
  EXPECT_EQ(words_of(overlay_.upper()), old);
}

}  // namespace
}  // namespace underway::overlay
