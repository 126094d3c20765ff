// A service with `sync` goes on with what it saved when a copy holds it.
#include <signal.h>

#include "base/text.hpp"
#include "capsule/config.hpp"
#include "capsule/sync.hpp"
#include "os/file.hpp"
#include "tests/capsules.hpp"

namespace underway::capsule {
namespace {

class Saves : public Capsules {
 protected:
  void SetUp() override {
    Capsules::SetUp();
    if (IsSkipped()) return;
    try {
      require_sync();
    } catch (const Error& error) {
      GTEST_SKIP() << error.one_line();
    }
  }
  /// A service that has `first`, and whenever it is told, `save`: the number of the time is $n.
  std::string saving(const std::string& save, const std::string& first = "true", const std::string& user = "") {
    boost::json::object main;
    main["command"] = {"/bin/sh", "-c",
                       fmt::format("{}; n=1; while true; do until [ -e /local/go.$n ]; do sleep 0.02; done; {} && echo "
                                   "saved $n; n=$((n+1)); done",
                                   first, save)};
    if (!user.empty()) main["user"] = user;
    const auto more = fmt::format(R"({{"service": [{{"main": [{}]}}], "protect": [{{"sync": true}}]}})",
                                  boost::json::serialize(main));
    return config("true", "", more);
  }
  void tell(const TaskSpec& run, int number) {
    os::write_file(fmt::format("{}/local/go.{}", run.task_dir, number), "");
  }
  bool has_saved(const TaskSpec& run, int number) {
    return eventually([&] { return said(run, number); });
  }
  bool said(const TaskSpec& run, int number) const {
    return out(run).find(fmt::format("main: saved {}\n", number)) != std::string::npos;
  }
  /// All that was saved until now.
  void copy(const TaskSpec& run) {
    auto asked = control(run);
    asked.saves_copied(asked.saves(seconds{5}).newest, seconds{5});
  }
  /// Its saves are held from now on.
  void be_in_sync(const TaskSpec& run) {
    copy(run);
    copy(run);
    ASSERT_TRUE(control(run).status().behind < Duration{0});
  }
  /// It asks for a copy within a while.
  bool waits(const TaskSpec& run) {
    auto asking = control(run);
    asking.ask_for_saves();
    return eventually([&] { return asking.saves_wanted(); });
  }
};

TEST_F(Saves, AServiceGoesOnWhenACopyHoldsWhatItSaved) {
  const auto run = spec("db", saving("mv /srv/$n /srv/state", "mkdir -p /srv; touch /srv/1 /srv/2 /srv/3"));
  auto& task = start(run);
  // Before there are copies nobody is held, and that is told.
  tell(run, 1);
  EXPECT_TRUE(has_saved(run, 1)) << out(run) << err(run);
  EXPECT_TRUE(control(run).status().sync);
  EXPECT_GE(control(run).status().behind, Duration{0});
  be_in_sync(run);

  tell(run, 2);
  EXPECT_TRUE(waits(run));
  EXPECT_EQ(shell(task, "ls /srv"), "3\nstate") << "it is done, so that it can be copied";
  const auto before = control(run).saves(seconds{5}).newest;
  EXPECT_FALSE(said(run, 2));
  // What a copy does to all of its processes makes nobody go on.
  const auto itself = *find_run(options().capsules, "default", "db");
  freeze(itself, true);
  freeze(itself, false);
  control(run).saves_copied(before - 1, seconds{5});
  EXPECT_EQ(control(run).saves(seconds{5}).newest, before) << "it was not done a second time";
  EXPECT_FALSE(said(run, 2));
  copy(run);
  EXPECT_TRUE(has_saved(run, 2)) << err(run);
  EXPECT_LT(control(run).status().behind, Duration{0});
  end(task);
}

TEST_F(Saves, ServicesOfAllUsersAreHeldAndNoneHasMoreRightsForIt) {
  const auto run =
      spec("db", saving("busybox sync", "grep -h CapPrm /proc/self/status; grep -h CapBnd /proc/self/status", "munge"));
  auto& task = start(run);
  const auto none = fmt::format("main: CapPrm:\t{:016x}\nmain: CapBnd:\t{:016x}\n", 0, capsule::default_capabilities());
  EXPECT_TRUE(eventually([&] { return out(run) == none; })) << out(run) << err(run);
  EXPECT_EQ(capsule::default_capabilities() & os::find_capability("sys_ptrace").value(), 0U);
  be_in_sync(run);
  tell(run, 1);
  EXPECT_TRUE(waits(run)) << out(run) << err(run);
  EXPECT_FALSE(said(run, 1));
  copy(run);
  EXPECT_TRUE(has_saved(run, 1)) << err(run);
  end(task);
}

TEST_F(Saves, WithoutCopiesAServiceGoesOnUntilThereAreCopiesAgain) {
  const auto run = spec("db", saving("mv /srv/$n /srv/state", "mkdir -p /srv; touch /srv/1 /srv/2 /srv/3"));
  auto& task = start(run);
  be_in_sync(run);
  tell(run, 1);
  EXPECT_TRUE(has_saved(run, 1)) << err(run);
  EXPECT_THAT(err(run),
              HasSubstr("not on the standby any more when a service goes on: there was no copy within 5000 ms"));
  EXPECT_GE(control(run).status().behind, Duration{0});
  tell(run, 2);
  EXPECT_TRUE(has_saved(run, 2));
  // The first copy says that there are copies; what went on until then is in the next.
  copy(run);
  EXPECT_GE(control(run).status().behind, Duration{0});
  EXPECT_TRUE(waits(run)) << "for the next";
  copy(run);
  EXPECT_LT(control(run).status().behind, Duration{0});
  tell(run, 3);
  EXPECT_TRUE(waits(run));
  EXPECT_FALSE(said(run, 3));
  copy(run);
  EXPECT_TRUE(has_saved(run, 3));
  end(task);
}

TEST_F(Saves, WhoIsHeldCanBeKilledAndStopped) {
  const auto run = spec("db", saving("mv /srv/$n /srv/state", "mkdir -p /srv; touch /srv/1"));
  auto& task = start(run);
  be_in_sync(run);
  tell(run, 1);
  ASSERT_TRUE(waits(run));
  control(run).signal("main", SIGKILL);
  ASSERT_TRUE(eventually([&] { return control(run).status().services.front().restarts == 1; })) << err(run);
  // The one that came in its place does the same, and so is held when all stop.
  ASSERT_TRUE(waits(run)) << err(run);
  EXPECT_FALSE(said(run, 1));
  task.stop(SIGTERM, seconds{30});
  ASSERT_TRUE(task.wait(seconds{30}));
  EXPECT_THAT(err(run), Not(HasSubstr("no copy within")));
  task.destroy();
  tasks_.clear();
}

TEST_F(Saves, WhatIsSavedElsewhereThanInTheOverlayWaitsForNoCopy) {
  const auto run = spec("db", saving("dd if=/etc/motd of=$(if [ $n = 1 ]; then echo /run; else echo /srv; fi)/file "
                                     "conv=fsync 2>/dev/null",
                                     "mkdir -p /srv"));
  auto& task = start(run);
  be_in_sync(run);
  tell(run, 1);
  EXPECT_TRUE(has_saved(run, 1)) << err(run);
  EXPECT_LT(control(run).status().behind, Duration{0});
  tell(run, 2);
  EXPECT_TRUE(waits(run)) << "in the overlay it does";
  EXPECT_FALSE(said(run, 2));
  end(task);
}

}  // namespace
}  // namespace underway::capsule
