// One of two files is damaged or lost.
#include <fcntl.h>
#include <sys/stat.h>

#include "overlay/detail/loop.hpp"
#include "places.hpp"

namespace underway::overlay {
namespace {

constexpr std::uint64_t kRaidMiB = 1U << 20;

class OverlayRaid : public OverlayRoot {
 protected:
  void SetUp() override {
    OverlayRoot::SetUp();
    if (IsSkipped()) return;
    spec_ = {.kind = Kind::raid1, .size_bytes = 300 * kRaidMiB, .paths = {places_.disk("a"), places_.disk("b")}};
    auto mounted = open();
    files_ = mounted.files();
    os::write_file(mounted.upper() + "/precious", text_);
    mounted.close();
  }
  Mounted open() { return open_overlay(spec_, places_ / "o"); }
  static std::string precious(const Mounted& mounted) {
    return os::read_file(mounted.upper() + "/precious", 64 * kRaidMiB);
  }
  void noise(std::size_t file, off_t from, std::size_t size) const {
    const auto fd = os::open_file(files_[file], O_WRONLY);
    const std::string bytes(size, '\x5a');
    ASSERT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), from), static_cast<ssize_t>(size));
  }

  Places places_;
  Spec spec_;
  std::vector<std::string> files_;
  const std::string text_ = std::string(20 * kRaidMiB, 'p');
};

TEST_F(OverlayRaid, MendsWhatOneFileLost) {
  noise(0, 8 * kRaidMiB, 280 * kRaidMiB);  // all but the first superblock
  auto mounted = open();
  EXPECT_EQ(precious(mounted), text_);
  const auto first = mounted.scrub();
  EXPECT_EQ(first.unmended, 0U);
  EXPECT_GT(first.checked_bytes, 40 * kRaidMiB);
  const auto second = mounted.scrub();
  EXPECT_EQ(second.mended, 0U);
}

TEST_F(OverlayRaid, StartsLoudlyOnOneFileAndIsRepaired) {
  for (const std::size_t lost : {0U, 1U}) {
    SCOPED_TRACE(lost);
    ASSERT_EQ(::rename(files_[lost].c_str(), (files_[lost] + ".away").c_str()), 0);
    {
      auto mounted = open();
      EXPECT_TRUE(mounted.degraded());
      ASSERT_EQ(mounted.warnings().size(), 1U);
      EXPECT_NE(mounted.warnings()[0].find("DEGRADED"), std::string::npos);
      EXPECT_NE(mounted.warnings()[0].find(files_[lost]), std::string::npos);
      os::write_file(mounted.upper() + "/later", "written on one");
      auto larger = spec_;
      larger.size_bytes += 64 * kRaidMiB;
      mounted.close();
      EXPECT_THROW(open_overlay(larger, places_ / "o"), Error);
    }
    // It comes back, and is old: what it says must never count.
    ASSERT_EQ(::rename((files_[lost] + ".away").c_str(), files_[lost].c_str()), 0);
    auto mounted = open();
    EXPECT_TRUE(mounted.degraded());
    EXPECT_FALSE(find_loop(files_[lost]));
    mounted.repair();
    EXPECT_FALSE(mounted.degraded());
    EXPECT_TRUE(mounted.warnings().empty());
    EXPECT_EQ(os::read_file(mounted.upper() + "/later"), "written on one");
    mounted.close();
    // The other may be lost now.
    ASSERT_EQ(::unlink(files_[1 - lost].c_str()), 0);
    auto other = open();
    EXPECT_EQ(precious(other), text_);
    EXPECT_EQ(os::read_file(other.upper() + "/later"), "written on one");
    other.repair();
    other.close();
  }
}

TEST_F(OverlayRaid, StartsOnOneFileWhenTheOtherIsNoise) {
  noise(1, 0, 290 * kRaidMiB);
  auto mounted = open();
  EXPECT_TRUE(mounted.degraded());
  EXPECT_EQ(precious(mounted), text_);
  mounted.repair();
  EXPECT_EQ(mounted.scrub().unmended, 0U);
}

TEST_F(OverlayRaid, LivesOnWhenADiskDiesUnderIt) {
  auto mounted = open();
  noise(0, 0, 290 * kRaidMiB);
  ASSERT_EQ(::truncate(files_[0].c_str(), 0), 0);
  os::write_file(mounted.upper() + "/later", "x");
  EXPECT_EQ(precious(mounted), text_);
  EXPECT_EQ(os::read_file(mounted.upper() + "/later"), "x");
  mounted.close();
  auto again = open();
  EXPECT_TRUE(again.degraded());
  EXPECT_EQ(precious(again), text_);
}

TEST_F(OverlayRaid, IsRefusedWhenBothAreLost) {
  for (const auto& file : files_) ASSERT_EQ(::unlink(file.c_str()), 0);
  EXPECT_THROW(open(), Error);
}

TEST_F(OverlayRaid, IsRefusedOnOneFileSystem) {
  os::make_directories(spec_.paths[0] + "/other");
  spec_.paths[1] = spec_.paths[0] + "/other";
  try {
    open_overlay(spec_, places_ / "p");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.text().find("on the same file system"), std::string::npos) << e.text();
  }
}

}  // namespace
}  // namespace underway::overlay
