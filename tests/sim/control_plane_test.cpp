#include "sim/control_plane.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace underway::sim {
namespace {

/// SIM_SEED runs one history again; SIM_SEEDS says how many there are.
std::vector<Seed> seeds(Seed count) {
  if (const char* seed = std::getenv("SIM_SEED")) return {std::strtoull(seed, nullptr, 10)};
  if (const char* more = std::getenv("SIM_SEEDS")) count = std::strtoull(more, nullptr, 10);
  std::vector<Seed> out(count);
  for (Seed i = 0; i < count; ++i) out[i] = i + 1;
  return out;
}

std::string first_difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (left == a.end() && right == b.end()) return {};
  return (left == a.end() ? "nothing" : *left) + "\ninstead of\n" + (right == b.end() ? "nothing" : *right);
}

TEST(ControlPlaneSim, KeepsItsPromisesAndComesToRestWhateverHappens) {
  for (const Seed seed : seeds(300)) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    ControlPlane world(seed);
    for (int i = 0; i < 60; ++i) world.disturb();
    EXPECT_TRUE(world.calm_down()) << "it never comes to rest";
    EXPECT_TRUE(world.violations().empty()) << world.violations().front();
    const auto unfulfilled = world.unfulfilled();
    EXPECT_TRUE(unfulfilled.empty()) << unfulfilled.front();
    // What the server knows is what the store holds.
    const auto before = world.state();
    world.restart_server();
    EXPECT_EQ(first_difference(world.state(), before), "");
    if (::testing::Test::HasFailure()) return;
  }
}

/// Four machines, a service, a system job, and all of it running.
void settle(ControlPlane& world) {
  for (int i = 0; i < 3; ++i) world.disturb(Mischief{});
  model::Job web = make_job("web", 3);
  web.groups[0].tasks[0].resources.cpu = 200;
  model::Job munge = make_job("munge", 1, model::JobType::system);
  munge.groups[0].tasks[0].resources.cpu = 100;
  world.register_job(web);
  world.register_job(munge);
  ASSERT_TRUE(world.calm_down());
  ASSERT_EQ(world.working("web"), 3);
  ASSERT_EQ(world.working("munge"), 4);
}

TEST(ControlPlaneSim, BrokenLinksAndDeadServersRestartNothing) {
  for (const Seed seed : seeds(100)) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    ControlPlane world(seed);
    settle(world);
    const auto before = world.running();
    for (int i = 0; i < 60; ++i) {
      world.disturb({.links = true, .server = true});
      EXPECT_EQ(world.running(), before) << "step " << i;
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_TRUE(world.calm_down());
    EXPECT_EQ(world.running(), before);
    EXPECT_TRUE(world.violations().empty()) << world.violations().front();
  }
}

TEST(ControlPlaneSim, DrainsKeepEnoughOfAServiceWhileLinksBreakAndServersDie) {
  for (const Seed seed : seeds(100)) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    ControlPlane world(seed);
    settle(world);
    for (int machine = 0; machine < 4; ++machine) {
      world.drain(machine, Duration{0});
      for (int i = 0; i < 80 && (i < 2 || world.draining(machine)); ++i) {
        world.disturb({.links = true, .server = true});
        EXPECT_GE(world.working("web"), 2) << "machine " << machine << ", step " << i;
      }
      EXPECT_TRUE(world.calm_down()) << "it never comes to rest";
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(world.working("web"), 3);
    EXPECT_EQ(world.working("munge"), 4);
    EXPECT_TRUE(world.violations().empty()) << world.violations().front();
    EXPECT_TRUE(world.unfulfilled().empty());
  }
}

/// Every five minutes by the clock of New York.
model::Job clockwork() {
  model::Job job = make_job("clockwork", 1, model::JobType::batch);
  job.groups[0].tasks[0].resources.cpu = 20;
  job.groups[0].tasks[0].resources.memory_mb = 10;
  job.periodic = model::Periodic{};
  job.periodic->specs = {"*/30 * * * *"};  // between two of them everything comes to rest
  job.periodic->time_zone = "America/New_York";
  return job;
}

/// The names of the children that were due in (from, until].
std::vector<std::string> due_between(TimePoint from, TimePoint until) {
  std::vector<std::string> names;
  const auto seconds = [](TimePoint t) {
    return std::chrono::floor<std::chrono::seconds>(t.time_since_epoch()).count();
  };
  for (auto second = (seconds(from) / 1800 + 1) * 1800; second <= seconds(until); second += 1800)
    names.push_back(fmt::format("clockwork/periodic-{}", second));
  return names;
}

TEST(ControlPlaneSim, EveryTimeOfAPeriodicJobHasOneChildHoweverOftenTheServerDies) {
  for (const Seed seed : seeds(60)) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    ControlPlane world(seed);
    // The clocks of New York are set back within the run.
    world.jump(std::chrono::seconds(1793510700) - world.now().time_since_epoch());  // 2026-11-01T05:25:00Z
    world.register_job(clockwork());
    ASSERT_TRUE(world.calm_down());
    const TimePoint from = world.now();
    const auto before = world.children("clockwork");
    for (int i = 0; i < 1000; ++i) world.disturb({.crashes = true, .links = true, .server = true});
    const TimePoint until = world.now();
    auto expected = before;
    for (auto& name : due_between(from, until)) expected.push_back(std::move(name));
    EXPECT_TRUE(world.calm_down());
    auto found = world.children("clockwork");
    std::erase_if(found, [&](const auto& name) { return name > expected.back(); });
    EXPECT_EQ(found, expected);
    EXPECT_TRUE(world.violations().empty()) << world.violations().front();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ControlPlaneSim, AClockThatJumpsNeitherDoublesAChildNorHoldsTheJobUp) {
  for (const Seed seed : seeds(60)) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    ControlPlane world(seed);
    world.register_job(clockwork());
    ASSERT_TRUE(world.calm_down());
    std::size_t before = world.children("clockwork").size();
    // Two days in which nobody looked are caught up by one.
    world.jump(std::chrono::hours(48));
    world.disturb({.links = true, .server = true});
    EXPECT_LE(world.children("clockwork").size(), before + 1);
    for (int i = 0; i < 80; ++i) world.disturb({.links = true, .server = true});
    before = world.children("clockwork").size();
    world.jump(-std::chrono::minutes(7));
    world.disturb({.links = true, .server = true});
    EXPECT_EQ(world.children("clockwork").size(), before);
    for (int i = 0; i < 500; ++i) world.disturb({.links = true, .server = true});
    EXPECT_GT(world.children("clockwork").size(), before);
    EXPECT_TRUE(world.violations().empty()) << world.violations().front();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ControlPlaneSim, AClockThatIsSetByADayStopsNothingAndHoldsNothingUp) {
  for (const auto by : {Duration(std::chrono::hours(24)), Duration(-std::chrono::hours(24))}) {
    for (const Seed seed : seeds(40)) {
      SCOPED_TRACE(fmt::format("SIM_SEED={}, {}", seed, human_duration(by)));
      ControlPlane world(seed);
      settle(world);
      const auto before = world.running();
      // While a link may be broken, so that something may just be unknown.
      for (int i = 0; i < 8; ++i) world.disturb({.links = true, .server = true});
      world.jump(by);
      for (int i = 0; i < 30; ++i) {
        world.disturb({.links = true, .server = true});
        ASSERT_EQ(world.running(), before) << "step " << i;
      }
      EXPECT_TRUE(world.calm_down());  // a full disk may still refuse the next request
      model::Job later = make_job("later", 2);
      later.groups[0].tasks[0].resources.cpu = 100;
      world.register_job(later);
      EXPECT_TRUE(world.calm_down());
      EXPECT_EQ(world.working("later"), 2);
      EXPECT_TRUE(world.violations().empty()) << world.violations().front();
    }
  }
}

/// After a copy of the store was set aside: more of a job, and another job.
void go_on(ControlPlane& world) {
  model::Job web = make_job("web", 5);
  web.groups[0].tasks[0].resources.cpu = 200;
  model::Job later = make_job("later", 2);
  later.groups[0].tasks[0].resources.cpu = 100;
  world.register_job(web);
  world.register_job(later);
  ASSERT_TRUE(world.calm_down());
  ASSERT_EQ(world.running().size(), 11U);
}

bool contains_all(const std::set<std::string>& all, const std::set<std::string>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

TEST(ControlPlaneSim, AServerWithAnOlderHistoryStopsNothingThatItDoesNotKnow) {
  for (const Seed seed : seeds(60)) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    ControlPlane world(seed);
    settle(world);
    world.copy_store();
    go_on(world);
    const auto before = world.running();
    world.swap_stores();
    // Long enough for the older store to get past the revision at which the other one was left.
    for (int i = 0; i < 80; ++i) {
      world.disturb({.links = true, .server = true});
      ASSERT_TRUE(contains_all(world.running(), before)) << "step " << i;
    }
    EXPECT_TRUE(world.calm_down());
    EXPECT_EQ(world.orphans(), 4);
    // The right store comes back: it knows all of them.
    world.swap_stores();
    for (int i = 0; i < 20; ++i) world.disturb({.links = true, .server = true});
    EXPECT_TRUE(world.calm_down());
    EXPECT_EQ(world.orphans(), 0);
    EXPECT_EQ(world.running(), before);
    EXPECT_TRUE(world.violations().empty()) << world.violations().front();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ControlPlaneSim, OrphansThatAreKeptAreKnownAgainAndNothingOfThemIsRestarted) {
  for (const bool all_is_lost : {false, true}) {
    for (const Seed seed : seeds(40)) {
      SCOPED_TRACE(fmt::format("SIM_SEED={}, {}", seed, all_is_lost ? "an empty store" : "an older one"));
      ControlPlane world(seed);
      settle(world);
      if (!all_is_lost) world.copy_store();
      go_on(world);
      const auto before = world.running();
      world.swap_stores();
      for (int i = 0; i < 30; ++i) world.disturb({.links = true, .server = true});
      EXPECT_TRUE(world.calm_down());
      EXPECT_EQ(world.orphans(), all_is_lost ? 11 : 4);
      world.keep_orphans();
      for (int i = 0; i < 30; ++i) world.disturb({.links = true, .server = true});
      EXPECT_TRUE(world.calm_down());
      EXPECT_EQ(world.orphans(), 0);
      EXPECT_EQ(world.running(), before);
      EXPECT_EQ(world.working("web"), 5);
      EXPECT_EQ(world.working("later"), 2);
      EXPECT_TRUE(world.violations().empty()) << world.violations().front();
      EXPECT_TRUE(world.unfulfilled().empty()) << world.unfulfilled().front();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ControlPlaneSim, TheSameSeedIsTheSameHistory) {
  const auto history = [] {
    ControlPlane world(42);
    for (int i = 0; i < 60; ++i) world.disturb();
    return world.state();
  };
  const auto first = history();
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first_difference(history(), first), "");
}

}  // namespace
}  // namespace underway::sim
