// A service with `sync` goes on with what it saved when a copy holds it.
#include <signal.h>

#include "tests/synced.hpp"

namespace underway::run {
namespace {

TEST_F(Synced, AServiceGoesOnWhenACopyHoldsWhatItSaved) {
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

TEST_F(Synced, ServicesOfAllUsersAreHeldAndNoneHasMoreRightsForIt) {
  const auto run =
      spec("db", saving("busybox sync", "grep -h CapPrm /proc/self/status; grep -h CapBnd /proc/self/status", "munge"));
  auto& task = start(run);
  const auto none = fmt::format("main: CapPrm:\t{:016x}\nmain: CapBnd:\t{:016x}\n", 0, run::default_capabilities());
  EXPECT_TRUE(eventually([&] { return out(run) == none; })) << out(run) << err(run);
  EXPECT_EQ(run::default_capabilities() & os::find_capability("sys_ptrace").value(), 0U);
  be_in_sync(run);
  tell(run, 1);
  EXPECT_TRUE(waits(run)) << out(run) << err(run);
  EXPECT_FALSE(said(run, 1));
  copy(run);
  EXPECT_TRUE(has_saved(run, 1)) << err(run);
  end(task);
}

TEST_F(Synced, WithoutCopiesAServiceGoesOnUntilThereAreCopiesAgain) {
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

TEST_F(Synced, WhoIsHeldCanBeKilledAndStopped) {
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

TEST_F(Synced, WhatIsSavedElsewhereThanInTheOverlayWaitsForNoCopy) {
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

TEST_F(Synced, WhatIsSavedFromMountsOfAProcessOfItsOwnWaits) {
  const auto run = spec("db", saving("busybox unshare -m /bin/dd if=/etc/motd of=/srv/file conv=fsync 2>/dev/null",
                                     "mkdir -p /srv", "", R"({"cap_add": ["sys_admin"]})"));
  auto& task = start(run);
  be_in_sync(run);
  tell(run, 1);
  EXPECT_TRUE(waits(run)) << out(run) << err(run);
  EXPECT_FALSE(said(run, 1));
  copy(run);
  EXPECT_TRUE(has_saved(run, 1)) << err(run);
  end(task);
}

}  // namespace
}  // namespace underway::run
