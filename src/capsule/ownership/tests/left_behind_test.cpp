// What a capsule wrote where it ran, and nobody has, is put aside before a copy comes.
#include "ownership/node/left_behind.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.hpp"
#include "os/file.hpp"
#include "os/trash.hpp"
#include "overlay/overlay.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::ownership {
namespace {

class LeftBehind : public testing::TestWithParam<overlay::Kind> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    // Not /tmp: some machines have an overlay there.
    char name[] = "/var/lib/underway-left-XXXXXX";
    directory_ = ::mkdtemp(name);
    options_.capsules = directory_ + "/capsules";
    options_.trash = directory_ + "/trash";
    options_.clock = &clock_;
    run_.ns = "default";
    run_.name = "counter";
    run_.keeper_dir = "/run-1";
    layer_ = run::capsule_directory(options_.capsules, run_.ns, run_.name) + "/overlay";
    os::make_directories(layer_, 0700);
    auto opened = overlay::open_overlay(spec(), layer_, {});
    os::write_file(opened.upper() + "/only-here", "acknowledged");
    opened.release();  // as whoever only looked leaves it
  }
  void TearDown() override {
    if (directory_.empty()) return;
    overlay::remove_overlay(layer_);
    os::remove_tree(directory_);
  }
  static overlay::Spec spec() {
    overlay::Spec spec;
    spec.kind = GetParam();
    spec.size_bytes = GetParam() == overlay::Kind::directory ? 0 : std::uint64_t{64} << 20;
    return spec;
  }
  std::string content() const {
    auto opened = overlay::open_overlay(spec(), layer_, {});
    auto text = os::read_file(opened.upper() + "/only-here");
    opened.close();
    return text;
  }
  void copy_into_it() const {
    auto opened = overlay::open_overlay(spec(), layer_, {});
    const auto source = directory_ + "/source";
    os::make_directories(source, 0755);
    os::write_file(source + "/later", "of another node");
    overlay::SendOptions how;
    how.consistent = true;
    overlay::copy_here(source, opened.layer() + "/copy", std::move(how));
    opened.close();
  }
  bool has_copy() const {
    auto opened = overlay::open_overlay(spec(), layer_, {});
    const auto copy = overlay::find_copy(opened.layer() + "/copy");
    opened.close();
    return copy && copy->consistent;
  }
  /// A copy of that capsule finds no room.
  void give_way_to(const std::string& ns, const std::string& name) const {
    CapsuleRequest request;
    request.ns = ns;
    request.name = name;
    give_way(options_, request);
  }
  CapsuleRequest installing() const {
    CapsuleRequest request;
    request.ns = run_.ns;
    request.name = run_.name;
    request.group = "counter";
    boost::json::object config{{"image", "counter.capsule"}};
    if (GetParam() == overlay::Kind::ext4)
      config["overlay"] = boost::json::array{boost::json::object{{"kind", "ext4"}, {"size", "64M"}}};
    model::TaskGroup group;
    group.name = request.group;
    group.tasks.emplace_back();
    group.tasks[0].name = "counter";
    group.tasks[0].driver = "capsule";
    group.tasks[0].config = std::move(config);
    request.job.groups.push_back(std::move(group));
    return request;
  }
  std::size_t in_trash() const { return os::Trash(options_.trash).list().size(); }

  std::string directory_, layer_;
  SystemClock clock_;
  NodeOptions options_;
  run::Run run_;
};

TEST_P(LeftBehind, IsPutAsideOnceIfNobodyHasIt) {
  EXPECT_TRUE(put_aside(options_, run_, layer_));
  ASSERT_EQ(in_trash(), 1U);
  const auto kept = os::Trash(options_.trash).list().front();
  EXPECT_EQ(kept.what, "capsule-default.counter");
  EXPECT_FALSE(overlay::find_overlay(layer_));
  EXPECT_TRUE(put_aside(options_, run_, layer_)) << "what lies there now is nobody's";
  EXPECT_EQ(in_trash(), 1U);
  // Whoever wants it puts it back where it was.
  os::remove_tree(layer_);
  ASSERT_EQ(::rename((options_.trash + "/" + kept.name).c_str(), layer_.c_str()), 0);
  EXPECT_EQ(content(), "acknowledged");
  EXPECT_FALSE(put_aside(options_, run_, layer_)) << "what lies there may be a copy by now";
}

TEST_P(LeftBehind, ComesBackWhereNoCopyHasBecomeComplete) {
  ASSERT_TRUE(put_aside(options_, run_, layer_));
  // A copy that was begun.
  auto begun = overlay::open_overlay(spec(), layer_, {});
  os::write_file(begun.upper() + "/nothing", "");
  begun.release();
  EXPECT_TRUE(bring_back(options_, run_, layer_));
  EXPECT_EQ(content(), "acknowledged");
  EXPECT_EQ(in_trash(), 0U);
  EXPECT_FALSE(bring_back(options_, run_, layer_));
  EXPECT_TRUE(put_aside(options_, run_, layer_)) << "it is still nowhere else";
}

TEST_P(LeftBehind, StaysAwayFromACompleteCopy) {
  ASSERT_TRUE(put_aside(options_, run_, layer_));
  copy_into_it();
  EXPECT_FALSE(bring_back(options_, run_, layer_));
  EXPECT_TRUE(put_aside(options_, run_, layer_));
  EXPECT_EQ(in_trash(), 1U);
  EXPECT_TRUE(has_copy());
}

TEST_P(LeftBehind, IsNotMissedWhereACopyIsComplete) {
  ASSERT_TRUE(put_aside(options_, run_, layer_));
  copy_into_it();
  give_way_to(run_.ns, run_.name);
  EXPECT_FALSE(bring_back(options_, run_, layer_));
}

/// The server died before it had written down that it was installed.
TEST_P(LeftBehind, DoesNotTakeThePlaceOfACopyThatWasInstalled) {
  run::write_run(options_.capsules, run_);
  ASSERT_TRUE(put_aside(options_, run_, layer_));
  copy_into_it();
  const auto request = installing();
  for (int times = 0; times < 2; ++times) {
    install(options_, request);
    auto opened = overlay::open_overlay(spec(), layer_, {});
    EXPECT_TRUE(os::exists(opened.upper() + "/later"));
    EXPECT_FALSE(os::exists(opened.upper() + "/only-here"));
    opened.close();
  }
}

TEST_P(LeftBehind, IsNotMissedInSilenceWhereTheTrashWasEmptied) {
  ASSERT_TRUE(put_aside(options_, run_, layer_));
  give_way_to(run_.ns, run_.name);
  EXPECT_THROW(bring_back(options_, run_, layer_), Error);
}

TEST_P(LeftBehind, IsFoundWhereACrashLeftItBesideTheOverlay) {
  const auto take_it_out = [&] {
    ASSERT_EQ(in_trash(), 1U) << "a disk that is nearly full keeps none";
    const auto kept = options_.trash + "/" + os::Trash(options_.trash).list().front().name;
    ASSERT_EQ(::rename(kept.c_str(), (layer_ + ".aside").c_str()), 0);
  };
  ASSERT_TRUE(put_aside(options_, run_, layer_));
  take_it_out();
  EXPECT_TRUE(put_aside(options_, run_, layer_));
  EXPECT_EQ(in_trash(), 1U) << "the rest was done";
  take_it_out();
  EXPECT_TRUE(bring_back(options_, run_, layer_));
  EXPECT_EQ(content(), "acknowledged");
}

/// As agents of before left it: nothing says that another node has what it wrote, and what lies there is a good copy.
TEST_P(LeftBehind, IsNoReasonToTakeACopyAway) {
  copy_into_it();
  EXPECT_FALSE(put_aside(options_, run_, layer_));
  EXPECT_EQ(in_trash(), 0U);
  EXPECT_TRUE(has_copy());
}

TEST_P(LeftBehind, CountsForMoreThanACopyOfBefore) {
  copy_into_it();
  run_.started = unix_nanos(SystemClock().now() + std::chrono::hours(1));
  EXPECT_TRUE(put_aside(options_, run_, layer_));
  EXPECT_EQ(in_trash(), 1U);
}

TEST_P(LeftBehind, OfOneCapsuleIsNotThatOfAnother) {
  overlay::remove_overlay(layer_);
  run_.ns = "a";
  run_.name = "b-c";
  layer_ = run::capsule_directory(options_.capsules, run_.ns, run_.name) + "/overlay";
  os::make_directories(layer_, 0700);
  overlay::open_overlay(spec(), layer_, {}).close();
  ASSERT_TRUE(put_aside(options_, run_, layer_));
  give_way_to("a-b", "c");
  EXPECT_EQ(in_trash(), 1U);
}

TEST_P(LeftBehind, GivesWayToACopyThatFindsNoRoom) {
  ASSERT_TRUE(put_aside(options_, run_, layer_));
  give_way_to(run_.ns, run_.name);
  EXPECT_EQ(in_trash(), 0U);
}

TEST_P(LeftBehind, StaysWhereAnotherNodeHasReceivedIt) {
  note_sent(options_, run_);
  EXPECT_FALSE(put_aside(options_, run_, layer_));
  EXPECT_EQ(in_trash(), 0U);
  EXPECT_TRUE(overlay::find_overlay(layer_));
  // What a later run writes there is another matter.
  run_.keeper_dir = "/run-2";
  EXPECT_TRUE(put_aside(options_, run_, layer_));
}

INSTANTIATE_TEST_SUITE_P(Kinds, LeftBehind, testing::Values(overlay::Kind::directory, overlay::Kind::ext4),
                         [](const auto& kind) {
                           return kind.param == overlay::Kind::directory ? "directory" : "ext4";
                         });

}  // namespace
}  // namespace underway::ownership
