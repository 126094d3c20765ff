// Every kind on the real kernel.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <thread>

#include "overlay/detail/loop.hpp"
#include "overlay/detail/record.hpp"
#include "places.hpp"

namespace underway::overlay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr std::uint64_t kKindMiB = 1U << 20;

class OverlayKinds : public OverlayRoot {
 protected:
  Spec spec(Kind kind) {
    Spec spec{.kind = kind, .size_bytes = smallest(kind) + 20 * kKindMiB};
    if (kind == Kind::raid1) spec.paths = {disk_a(), disk_b()};
    return spec;
  }
  std::string disk_a() {
    if (disks_.empty()) disks_ = {places_.disk("a"), places_.disk("b")};
    return disks_[0];
  }
  std::string disk_b() { return disks_[1]; }
  std::string dir() const { return places_ / "o"; }
  const std::vector<Kind> in_files_ = {Kind::ext4, Kind::xfs, Kind::btrfs, Kind::raid1};
  Places places_;
  std::vector<std::string> disks_;
};

TEST_F(OverlayKinds, KeepWhatWasWrittenAndGrowAndNeverShrink) {
  for (const Kind kind : in_files_) {
    SCOPED_TRACE(describe::spell(kind));
    auto wanted = spec(kind);
    std::uint64_t before = 0;
    {
      auto mounted = open_overlay(wanted, dir());
      before = mounted.space().size_bytes;
      os::write_file(mounted.upper() + "/precious", "kept");
      EXPECT_TRUE(os::is_mount_point(mounted.root()));
      EXPECT_TRUE(mounted.warnings().empty());
      mounted.close();
      EXPECT_FALSE(os::is_mount_point(mounted.root()));
      for (const auto& file : mounted.files()) EXPECT_FALSE(find_loop(file)) << file;
    }
    wanted.size_bytes += 64 * kKindMiB;
    {
      const auto mounted = open_overlay(wanted, dir());
      EXPECT_EQ(os::read_file(mounted.upper() + "/precious"), "kept");
      EXPECT_GT(mounted.space().size_bytes, before + 40 * kKindMiB);
    }
    wanted.size_bytes -= kKindMiB;
    EXPECT_THROW(open_overlay(wanted, dir()), Error);
    remove_overlay(dir());
    EXPECT_FALSE(os::exists(dir()));
    if (kind == Kind::raid1) EXPECT_TRUE(os::list_directory(disk_a()).empty());
  }
}

TEST_F(OverlayKinds, CarryAnOverlayfs) {
  os::make_directories(places_ / "image/etc");
  os::write_file(places_ / "image/etc/passwd", "image");
  os::make_directories(places_ / "merged");
  for (const Kind kind : in_files_) {
    SCOPED_TRACE(describe::spell(kind));
    const auto mounted = open_overlay(spec(kind), dir());
    auto merged = os::Mount::overlay({places_ / "image"}, mounted.upper(), mounted.work(), places_ / "merged");
    os::write_file(places_ / "merged/etc/passwd", "changed");
    EXPECT_EQ(os::read_file(mounted.upper() + "/etc/passwd"), "changed");
    merged.unmount();
    remove_overlay(dir());
  }
}

TEST_F(OverlayKinds, AreAdoptedWithTheirMountAfterACrash) {
  for (const Kind kind : in_files_) {
    SCOPED_TRACE(describe::spell(kind));
    const auto wanted = spec(kind);
    const pid_t child = ::fork();
    if (child == 0) {
      os::Ledger ledger(places_ / "ledger");
      Options options;
      options.ledger = &ledger;
      options.owner = "default/c";
      const auto mounted = open_overlay(wanted, dir(), options);
      os::write_file(mounted.upper() + "/precious", "kept");
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    os::Ledger ledger(places_ / "ledger");
    ASSERT_EQ(ledger.unsettled("default/c").size(), 1U);
    Options options;
    options.ledger = &ledger;
    options.owner = "default/c";
    auto adopted = open_overlay(wanted, dir(), options);
    EXPECT_EQ(os::read_file(adopted.upper() + "/precious"), "kept");
    adopted.close();
    EXPECT_TRUE(ledger.unsettled().empty());
    EXPECT_FALSE(os::is_mount_point(dir() + "/mnt"));
    open_overlay(wanted, dir(), options).release();
    EXPECT_TRUE(ledger.undo_all().empty());
    EXPECT_FALSE(os::is_mount_point(dir() + "/mnt"));
    for (const auto& file : find_record(dir())->files) EXPECT_FALSE(find_loop(file)) << file;
    remove_overlay(dir());
  }
}

TEST_F(OverlayKinds, HalfMadeAreMadeAgain) {
  auto wanted = spec(Kind::ext4);
  wanted.paths = {disk_a()};
  open_overlay(wanted, dir()).close();
  auto record = *find_record(dir());
  record.complete = false;
  write_record(dir(), record);
  os::write_file(record.files[0], "half");
  const auto mounted = open_overlay(wanted, dir());
  EXPECT_TRUE(os::exists(mounted.upper()));
  EXPECT_EQ(os::list_directory(disk_a()).size(), 1U);
}

TEST_F(OverlayKinds, FreezeHoldsWritersUntilThawed) {
  for (const Kind kind : in_files_) {
    SCOPED_TRACE(describe::spell(kind));
    auto mounted = open_overlay(spec(kind), dir());
    std::atomic<bool> written = false;
    auto frozen = mounted.freeze();
    std::thread writer([&] {
      os::write_file(mounted.upper() + "/x", "x");
      written = true;
    });
    std::this_thread::yield();
    EXPECT_FALSE(written);
    EXPECT_GT(frozen.thaw(), Duration{0});
    writer.join();
    EXPECT_TRUE(written);
    mounted.close();
    remove_overlay(dir());
  }
}

TEST_F(OverlayKinds, FreezeEndsWithItsProcessAndAtItsLimit) {
  auto mounted = open_overlay(spec(Kind::ext4), dir());
  const pid_t child = ::fork();
  if (child == 0) {
    auto frozen = mounted.freeze();
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  os::write_file(mounted.upper() + "/x", "after the crash");  // would hang for ever
  auto frozen = mounted.freeze(milliseconds{50});
  os::write_file(mounted.upper() + "/x", "after the limit");
  EXPECT_THROW(frozen.thaw(), Error);
  auto again = mounted.freeze();
  EXPECT_THROW(mounted.freeze(), Error) << "it is frozen";
  EXPECT_NO_THROW(again.thaw());
}

TEST_F(OverlayKinds, NameTheSpaceThatLacks) {
  const auto small = places_.disk("small", "size=20m");
  try {
    open_overlay({.kind = Kind::ext4, .size_bytes = 64 * kKindMiB, .paths = {small}}, dir());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::exhausted);
    EXPECT_NE(e.text().find("needs 64.0 MiB, the file system of '" + small + "' has 20.0 MiB free"), std::string::npos)
        << e.text();
  }
  const auto mounted = open_overlay({.kind = Kind::ext4, .size_bytes = 16 * kKindMiB, .paths = {small}}, dir());
  EXPECT_EQ(os::list_directory(small).size(), 1U);
}

TEST_F(OverlayKinds, FullSaysSoAndLivesOn) {
  for (const Kind kind : in_files_) {
    SCOPED_TRACE(describe::spell(kind));
    const auto mounted = open_overlay(spec(kind), dir());
    const std::string block(kKindMiB, 'x');
    try {
      const auto file = os::open_file(mounted.upper() + "/big", O_WRONLY | O_CREAT);
      for (int i = 0; i < 1000; ++i) os::write_all(file, block, "big");
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::exhausted);
    }
    ASSERT_EQ(::unlink((mounted.upper() + "/big").c_str()), 0);
    // btrfs gives back what was unlinked with the transaction that it was unlinked in, seconds later, or now.
    const auto tree = os::open_file(mounted.upper(), O_RDONLY | O_DIRECTORY);
    ASSERT_EQ(::syncfs(tree.get()), 0);
    EXPECT_NO_THROW(os::write_file(mounted.upper() + "/small", "x"));
    remove_overlay(dir());
  }
}

TEST_F(OverlayKinds, DamagedIsMendedOrRefusedWithTheNextStep) {
  for (const Kind kind : {Kind::ext4, Kind::xfs, Kind::btrfs}) {
    SCOPED_TRACE(describe::spell(kind));
    const auto wanted = spec(kind);
    open_overlay(wanted, dir()).close();
    const auto file = os::open_file(dir() + "/overlay.img", O_WRONLY);
    const std::string noise(2 * kKindMiB, '\x5a');
    ASSERT_EQ(::pwrite(file.get(), noise.data(), noise.size(), 0), static_cast<ssize_t>(noise.size()));
    try {
      open_overlay(wanted, dir());
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::internal);
      EXPECT_NE(e.text().find("do:    restore"), std::string::npos) << e.text();
    }
    EXPECT_FALSE(find_loop(dir() + "/overlay.img"));
    remove_overlay(dir());
  }
}

}  // namespace
}  // namespace underway::overlay
