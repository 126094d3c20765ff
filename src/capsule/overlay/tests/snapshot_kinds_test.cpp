// Each way to take a snapshot, on real file systems.
#include <fcntl.h>
#include <sys/wait.h>

#include "base/error.hpp"
#include "overlay/snapshot/detail/snapshot.hpp"
#include "overlay/snapshot/snapshot.hpp"
#include "trees.hpp"
#include "writer.hpp"

namespace underway::overlay {
namespace {

constexpr std::uint64_t kSnapshotMiB = 1U << 20;
constexpr TimePoint kKindsNoon{std::chrono::seconds{1'764'072'000}};

struct Way {
  const char* name;
  Kind kind;
  bool on_xfs;  ///< the file lies on a file system that can clone
  SnapshotMethod method;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class SnapshotKinds : public OverlayRoot, public testing::WithParamInterface<Way> {
 protected:
  void SetUp() override {
    OverlayRoot::SetUp();
    if (IsSkipped()) return;
    const auto& way = GetParam();
    spec_ = {.kind = way.kind, .size_bytes = smallest(way.kind) + 64 * kSnapshotMiB};
    if (way.on_xfs) {
      holder_.emplace(open_overlay({.kind = Kind::xfs, .size_bytes = 1200 * kSnapshotMiB}, places_ / "disk"));
      spec_.paths = {holder_->upper()};
    }
    if (way.kind == Kind::raid1) spec_.paths = {places_.disk("a"), places_.disk("b")};
    overlay_.emplace(open_overlay(spec_, places_ / "o"));
  }
  void TearDown() override {
    overlay_.reset();
    holder_.reset();
  }
  Snapshot take(SnapshotRequest request = {}) {
    request.now = kKindsNoon;
    return take_snapshot(*overlay_, dir_, request);
  }
  void restore(const std::string& id, const std::function<void(const std::string&)>& on_step = {}) {
    auto opened = restore_snapshot(std::move(*overlay_), dir_, id, on_step);
    overlay_.emplace(std::move(opened));
  }

  Places places_;
  Spec spec_;
  std::optional<Mounted> holder_, overlay_;
  std::string dir_ = places_ / "snapshots";
};

TEST_P(SnapshotKinds, ArePrefixesOfWhatWasWrittenAndAreRestored) {
  std::vector<Snapshot> taken;
  std::vector<std::int64_t> lines;
  {
    Writer writer(overlay_->upper());
    for (int i = 0; i < 3; ++i) {
      writer.more(30);
      const auto before = writer.written();
      taken.push_back(take());
      const auto after = writer.written();
      EXPECT_EQ(taken.back().method, GetParam().method);
      const SnapshotView view(*overlay_, dir_, taken.back());
      lines.push_back(lines_in(view.upper()));
      EXPECT_GE(lines.back(), static_cast<std::int64_t>(before));
      EXPECT_LE(lines.back(), static_cast<std::int64_t>(after) + 1);
    }
  }
  for (const std::size_t i : {1U, 0U, 2U}) {
    restore(taken[i].id);
    EXPECT_EQ(lines_in(overlay_->upper()), lines[i]);
    os::write_file(overlay_->upper() + "/after", "it can be written to");
  }
  for (const auto& snapshot : taken) remove_snapshot(*overlay_, dir_, snapshot.id);
  EXPECT_TRUE(os::list_directory(dir_).empty());
  if (GetParam().on_xfs) EXPECT_EQ(os::list_directory(spec_.paths[0]).size(), 1U);
}

TEST_P(SnapshotKinds, SurviveACrashAtEveryStep) {
  Gardener gardener(overlay_->upper(), 8);
  gardener.grow(30);
  const auto old = words_of(overlay_->upper());
  const auto good = take();
  gardener.grow(10);
  const auto present = words_of(overlay_->upper());
  const auto dies = [&](const std::string& step,
                        const std::function<void(const std::function<void(const std::string&)>&)>& what) {
    const pid_t child = ::fork();
    if (child == 0) {
      what([&](const std::string& now) {
        if (now == step) ::_exit(7);
      });
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 7;
  };
  for (const auto* step : {"round", "freeze", "frozen", "complete"}) {
    SCOPED_TRACE(step);
    dies(step, [&](const auto& on_step) { take({.on_step = on_step}); });
    os::write_file(overlay_->upper() + "/alive", "a freeze ends with its process");
    ASSERT_EQ(::unlink((overlay_->upper() + "/alive").c_str()), 0);
    EXPECT_GE(list_snapshots(dir_).size(), 1U);
  }
  const auto same = [](const std::string& a, const std::string& b) {
    return a.substr(a.find('\n')) == b.substr(b.find('\n'));
  };
  EXPECT_TRUE(same(words_of(overlay_->upper()), present));
  overlay_->release();
  for (const auto* step : {"stage", "exchange", "open", "sweep"}) {
    SCOPED_TRACE(step);
    dies(step, [&](const auto& on_step) {
      restore_snapshot(open_overlay(spec_, places_ / "o"), dir_, good.id, on_step).release();
    });
    auto opened = open_overlay(spec_, places_ / "o");
    const auto now = words_of(opened.upper());
    EXPECT_TRUE(same(now, old) || same(now, present));
    opened.release();
  }
  overlay_.emplace(open_overlay(spec_, places_ / "o"));
  restore(good.id);
  EXPECT_TRUE(same(words_of(overlay_->upper()), old));
}

TEST_P(SnapshotKinds, AreRefusedWhileTheOverlayIsInUse) {
  const auto snapshot = take();
  os::write_file(overlay_->upper() + "/later", "x");
  os::make_directories(places_ / "lower");
  os::make_directories(places_ / "merged");
  auto merged = os::Mount::overlay({places_ / "lower"}, overlay_->upper(), overlay_->work(), places_ / "merged");
  EXPECT_THROW(restore_snapshot(open_overlay(spec_, places_ / "o"), dir_, snapshot.id), Error);
  EXPECT_EQ(os::read_file(places_ / "merged/later"), "x");
  merged.unmount();
}

TEST_P(SnapshotKinds, ThatAreDamagedLeaveTheOverlayAsItWas) {
  os::write_file(overlay_->upper() + "/precious", std::string(4 * kSnapshotMiB, 'p'));
  const auto snapshot = take();
  os::write_file(overlay_->upper() + "/later", "x");
  switch (snapshot.method) {
    case SnapshotMethod::clone: {
      const auto file = os::open_file(snapshot.file, O_WRONLY);
      const std::string noise(2 * kSnapshotMiB, '\x5a');
      ASSERT_EQ(::pwrite(file.get(), noise.data(), noise.size(), 0), static_cast<ssize_t>(noise.size()));
      break;
    }
    case SnapshotMethod::copy:
      os::remove_tree(dir_ + "/" + snapshot.id + "/copy");
      break;
    case SnapshotMethod::subvolume:
      remove_subvolume(overlay_->root() + "/snapshots", snapshot.id);
      break;
  }
  overlay_->release();
  EXPECT_THROW(restore_snapshot(open_overlay(spec_, places_ / "o"), dir_, snapshot.id), Error);
  overlay_.emplace(open_overlay(spec_, places_ / "o"));
  EXPECT_EQ(os::read_file(overlay_->upper() + "/later"), "x");
}

TEST_P(SnapshotKinds, OfAFullOverlayAreTakenOrRefusedWhole) {
  os::write_file(overlay_->upper() + "/precious", "p");
  try {
    const auto file = os::open_file(overlay_->upper() + "/big", O_WRONLY | O_CREAT);
    for (int i = 0; i < 2000; ++i) os::write_all(file, std::string(kSnapshotMiB, 'x'), "big");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::exhausted);
  }
  try {
    const auto snapshot = take();
    const SnapshotView view(*overlay_, dir_, snapshot);
    EXPECT_EQ(os::read_file(view.upper() + "/precious"), "p");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::exhausted) << e.text();
    EXPECT_TRUE(list_snapshots(dir_).empty());
  }
  for (const auto& snapshot : list_snapshots(dir_)) remove_snapshot(*overlay_, dir_, snapshot.id);
  EXPECT_EQ(::unlink((overlay_->upper() + "/big").c_str()), 0);
  // btrfs gives the space of what was removed back in the background.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  const auto written = [&] {
    try {
      os::write_file(overlay_->upper() + "/after", "x");
      return true;
    } catch (const Error&) {
      ::sync();
      return std::chrono::steady_clock::now() > until;
    }
  };
  while (!written()) std::this_thread::yield();
  EXPECT_TRUE(os::exists(overlay_->upper() + "/after"));
}

INSTANTIATE_TEST_SUITE_P(All, SnapshotKinds,
                         testing::Values(Way{"ext4_by_copy", Kind::ext4, false, SnapshotMethod::copy},
                                         Way{"ext4_on_xfs", Kind::ext4, true, SnapshotMethod::clone},
                                         Way{"xfs_on_xfs", Kind::xfs, true, SnapshotMethod::clone},
                                         Way{"btrfs", Kind::btrfs, false, SnapshotMethod::subvolume},
                                         Way{"raid1", Kind::raid1, false, SnapshotMethod::subvolume}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace underway::overlay
