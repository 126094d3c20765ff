#include <future>

#include "places.hpp"

namespace underway::overlay {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(OverlaySpec, SaysAllThatIsWrong) {
  struct Case {
    const char* name;
    Spec spec;
    std::size_t wrong;
  };
  const std::vector<Case> cases = {{"a directory", {Kind::directory, 0, {}}, 0},
                                   {"a directory elsewhere", {Kind::directory, 0, {"/srv/a"}}, 1},
                                   {"ext4", {Kind::ext4, kGiB, {}}, 0},
                                   {"ext4 elsewhere", {Kind::ext4, kGiB, {"/srv/a"}}, 0},
                                   {"ext4 in two places", {Kind::ext4, kGiB, {"/srv/a", "/srv/b"}}, 1},
                                   {"small xfs", {Kind::xfs, kGiB / 4, {}}, 1},
                                   {"raid1", {Kind::raid1, kGiB, {"/srv/a", "/srv/b"}}, 0},
                                   {"raid1 in one place", {Kind::raid1, kGiB, {"/srv/a"}}, 1},
                                   {"three things", {Kind::raid1, 1, {"srv", "/a/../b", "/c"}}, 4},
                                   {"beyond sense", {Kind::btrfs, kGiB << 21, {}}, 1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(problems(c.spec).size(), c.wrong) << testing::PrintToString(problems(c.spec));
  }
}

TEST(OverlaySpec, RefusesBeforeItTouchesTheDisk) {
  const Places places;
  try {
    open_overlay({.kind = Kind::raid1, .size_bytes = 1}, places / "o");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::invalid);
    EXPECT_EQ(e.reasons().size(), 2U);
  }
  EXPECT_FALSE(os::exists(places / "o"));
}

TEST(OverlayDirectory, NeedsNothingButADirectory) {
  const Places places;
  {
    const auto mounted = open_overlay({.kind = Kind::directory, .size_bytes = 0}, places / "o");
    EXPECT_TRUE(mounted.warnings().empty());
    os::write_file(mounted.upper() + "/x", "1");
  }
  const auto again = open_overlay({.kind = Kind::directory, .size_bytes = kGiB}, places / "o");
  EXPECT_EQ(os::read_file(again.upper() + "/x"), "1");
  ASSERT_EQ(again.warnings().size(), 1U);
  EXPECT_GT(again.space().free_bytes, 0U);
  EXPECT_EQ(find_overlay(places / "o")->kind, Kind::directory);
  EXPECT_FALSE(find_overlay(places / "other"));
}

TEST(OverlayDirectory, IsFrozenByStoppingItsWriters) {
  const Places places;
  std::string told;
  Options options;
  options.stop_writers = [&](bool stop) { told += stop ? "stop " : "go "; };
  auto mounted = open_overlay({.kind = Kind::directory}, places / "o", options);
  {
    auto frozen = mounted.freeze();
    EXPECT_EQ(told, "stop ");
  }
  EXPECT_EQ(told, "stop go ");
  auto again = mounted.freeze();
  EXPECT_GE(again.thaw(), Duration{0});
  EXPECT_EQ(told, "stop go stop go ");
  auto late = mounted.freeze(Duration{1});
  EXPECT_THROW(late.thaw(), Error);
  EXPECT_EQ(told, "stop go stop go stop go ");
  auto nobody = open_overlay({.kind = Kind::directory}, places / "p");
  EXPECT_THROW(nobody.freeze(), Error);
}

TEST(OverlayDirectory, LetsItsWritersGoOnWhenTheyHaveWaitedForAsLongAsTheyMay) {
  const Places places;
  std::promise<void> went_on;
  Options options;
  options.stop_writers = [&](bool stop) {
    if (!stop) went_on.set_value();
  };
  auto mounted = open_overlay({.kind = Kind::directory}, places / "o", options);
  auto frozen = mounted.freeze(std::chrono::milliseconds(10));
  EXPECT_EQ(went_on.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready)
      << "whoever stopped them waits for something else";
  EXPECT_THROW(frozen.thaw(), Error) << "what was read since is not of one moment";
}

TEST(OverlayDirectory, IsRefusedAsAnotherKindAndWithARecordThatIsNone) {
  const Places places;
  open_overlay({.kind = Kind::directory}, places / "o");
  EXPECT_THROW(open_overlay({.kind = Kind::ext4, .size_bytes = kGiB}, places / "o"), Error);
  os::write_file(places / "o/overlay.json", R"({"Version": 9})");
  EXPECT_THROW(open_overlay({.kind = Kind::directory}, places / "o"), Error);
  os::write_file(places / "o/overlay.json", "{");
  EXPECT_THROW(open_overlay({.kind = Kind::directory}, places / "o"), Error);
}

TEST(OverlayDirectory, IsRemovedWhole) {
  const Places places;
  open_overlay({.kind = Kind::directory}, places / "o");
  remove_overlay(places / "o");
  EXPECT_FALSE(os::exists(places / "o"));
  EXPECT_NO_THROW(remove_overlay(places / "o"));
}

}  // namespace
}  // namespace underway::overlay
