// What a schedule's snapshots do on a disk that is nearly full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "os/file.hpp"
#include "os/mount.hpp"
#include "run/saving.hpp"
#include "saving/schedule.hpp"

namespace underway::saving {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

/// A disk of 16 MiB with the overlay of a capsule that says nothing of snapshots.
class Room16 : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_NE(::mkdtemp(disk_.data()), nullptr);
    mounted_.emplace(os::Mount::tmpfs(disk_, "size=16m"));
    const auto place = run::capsule_directory(capsules(), web_.ns, web_.name);
    os::make_directories(place);
    overlay::open_overlay({}, place + "/overlay").release();
    run::write_saving(capsules(), web_.ns, web_.name, {});
  }
  void TearDown() override {
    mounted_.reset();
    ::rmdir(disk_.c_str());
  }
  std::string capsules() const { return disk_ + "/capsules"; }
  Saver saver() const {
    Options options;
    options.rehearsal.driver.capsules = capsules();
    return Saver(options, clock_);
  }
  std::vector<std::string> taken() const {
    std::vector<std::string> ids;
    for (const auto& snapshot : saver().snapshots(web_).snapshots) ids.push_back(snapshot.id);
    return ids;
  }

  SystemClock clock_;
  std::string disk_ = "/tmp/underway-room-XXXXXX";
  std::optional<os::Mount> mounted_;
  CapsuleName web_{"default", "web"};
};

TEST_F(Room16, IsMadeByOldSnapshotsOneByOneAndNeverByTheNewest) {
  for (int n = 0; n < 3; ++n) saver().snapshot({.capsule = web_, .reason = std::string(kScheduled), .keep = {}});
  const auto all = taken();
  ASSERT_EQ(all.size(), 3U);
  Room room;
  const auto begin = SystemClock().now();
  EXPECT_EQ(make_room(saver(), web_, room, begin), "");
  EXPECT_EQ(taken(), all) << "there is room";

  os::write_file(disk_ + "/full", std::string(15U << 20, 'x'), 0600, {}, os::Durability::cached);
  const auto look = [&](Duration after) { return make_room(saver(), web_, room, begin + after); };
  EXPECT_THAT(look(seconds(0)), testing::HasSubstr("a tenth of it stays for others"));
  EXPECT_EQ(taken(), (std::vector{all[1], all[2]}));
  for (int n = 1; n < 20; ++n) look(n * seconds(15));
  EXPECT_EQ(taken(), (std::vector{all[1], all[2]})) << "for five minutes it is seen whether that has helped";
  for (int n = 0; n < 20; ++n) look(minutes(5) + n * minutes(5));
  EXPECT_EQ(taken(), std::vector{all[2]});
}

}  // namespace
}  // namespace underway::saving
