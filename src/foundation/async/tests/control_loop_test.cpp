#include "async/control_loop.hpp"

#include <gtest/gtest.h>

#include "async/group.hpp"
#include "async/testing/simulated_time.hpp"

namespace underway::async {
namespace {

using namespace std::chrono_literals;

/// One loop in simulated time, which looks every second and does as it is told.
class ControlLoopTest : public ::testing::Test {
 protected:
  ~ControlLoopTest() override {
    tasks_.cancel();
    time_.run_for(0s);
  }
  LoopPlan plan(std::string name = "chores") {
    return {.area = "test",
            .name = std::move(name),
            .trouble = "nothing is done",
            .wait = [] { return sleep_for(1s); },
            .reconcile = [this] { return look(); },
            .retry = {.first = 200ms, .most = 1s},
            .patience = 10s};
  }
  awaitable<void> look() {
    looks_.push_back(time_.now());
    co_await sleep_for(takes_);
    if (fails_) throw Error(Code::unavailable, "the disk is full");
    ++done_;
  }
  void start(LoopPlan plan) { loops_.start(tasks_, std::move(plan)); }
  const LoopHealth& health() const { return loops_.health().front(); }

  Loop loop_;
  SimulatedTime time_{loop_};
  LoopRegistry loops_{time_, 7};
  TaskGroup tasks_{loop_.executor(), "test"};
  std::vector<TimePoint> looks_;
  Duration takes_{0};
  bool fails_ = false;
  int done_ = 0;
};

TEST_F(ControlLoopTest, LooksWheneverItHasWaited) {
  start(plan());
  time_.run_for(500ms);
  EXPECT_EQ(done_, 0);
  EXPECT_EQ(health().looked_at, TimePoint{});
  EXPECT_EQ(health().since_success(), 500ms) << "since it started";
  time_.run_for(5s);
  EXPECT_EQ(done_, 5);
  EXPECT_EQ(health().failures, 0);
  EXPECT_EQ(health().failed_at, TimePoint{});
  EXPECT_LE(health().since_success(), 1s);
}

TEST_F(ControlLoopTest, BacksOffWhileItFailsAndSaysSinceWhenAndWhy) {
  fails_ = true;
  start(plan());
  time_.run_for(10s);
  ASSERT_GT(looks_.size(), 8U);
  const Duration lengths[] = {200ms, 400ms, 800ms, 1s, 1s, 1s};
  for (std::size_t i = 0; i < std::size(lengths); ++i) {
    const Duration pause = looks_[i + 1] - looks_[i];
    EXPECT_GE(pause, lengths[i] / 2) << i;
    EXPECT_LE(pause, lengths[i]) << i;
  }
  EXPECT_NE(looks_[5] - looks_[4], looks_[6] - looks_[5]) << "no jitter";
  EXPECT_EQ(health().failures, static_cast<int>(looks_.size()));
  EXPECT_EQ(health().failing_since, looks_.front());
  EXPECT_EQ(health().failing_for(), time_.now() - looks_.front());
  EXPECT_EQ(health().failed_at, looks_.back());
  EXPECT_EQ(health().failure, "the disk is full");
  EXPECT_EQ(health().succeeded_at, TimePoint{});
}

TEST_F(ControlLoopTest, HasTheSamePausesWithTheSameSeed) {
  const auto pauses = [](std::uint64_t seed) {
    VirtualClock clock;
    Streak streak(clock, "test: it fails", {}, seed);
    return std::vector{streak.failed("a"), streak.failed("b"), streak.failed("c")};
  };
  EXPECT_EQ(pauses(1), pauses(1));
  EXPECT_NE(pauses(1), pauses(2));
}

TEST_F(ControlLoopTest, RecoversAndWaitsAgain) {
  fails_ = true;
  start(plan());
  time_.run_for(3s);
  fails_ = false;
  const bool well = time_.run_until([&] { return health().failures == 0; }, 2s);
  EXPECT_TRUE(well);
  EXPECT_EQ(health().failure, "");
  EXPECT_EQ(health().succeeded_at, time_.now());
  EXPECT_NE(health().failed_at, TimePoint{}) << "the last failure stays known";
  const auto before = looks_.size();
  time_.run_for(900ms);
  EXPECT_EQ(looks_.size(), before) << "it has to wait for its time";
  time_.run_for(200ms);
  EXPECT_EQ(looks_.size(), before + 1);
  // The next streak begins with a short pause.
  fails_ = true;
  time_.run_for(1500ms);
  EXPECT_GE(health().failures, 2);
}

TEST_F(ControlLoopTest, LooksAgainAtOnceWhenThereIsReasonToHurry) {
  Event linked;
  auto slow = plan();
  slow.retry = {.first = 10min, .most = 10min};
  slow.hurry = &linked;
  fails_ = true;
  start(std::move(slow));
  time_.run_for(2s);
  ASSERT_EQ(looks_.size(), 1U);
  fails_ = false;
  linked.notify_all();
  time_.run_for(0s);
  EXPECT_EQ(done_, 1);
}

TEST_F(ControlLoopTest, GoesOnWhateverIsThrown) {
  auto broken = plan();
  broken.reconcile = [this]() -> awaitable<void> {
    looks_.push_back(time_.now());
    if (looks_.size() == 1) throw std::out_of_range("a mistake of ours");
    if (looks_.size() == 2) throw Cancelled(asio::error::operation_aborted);  // somebody else's end
    co_return;
  };
  start(std::move(broken));
  time_.run_until([&] { return looks_.size() == 1; }, 2s);
  EXPECT_EQ(health().failure, "a mistake of ours");
  time_.run_for(2s);
  EXPECT_GE(looks_.size(), 3U);
  EXPECT_EQ(health().failures, 0);
}

TEST_F(ControlLoopTest, EndsWhenItIsCancelledWhereverItIs) {
  start(plan("waiting"));
  takes_ = 1h;
  start(plan("looking"));
  auto at_once = plan("backing off");
  at_once.wait = []() -> awaitable<void> { co_return; };
  at_once.reconcile = []() -> awaitable<void> {
    throw Error(Code::unavailable, "no");
    co_return;
  };
  at_once.retry = {.first = 1h, .most = 1h};
  start(std::move(at_once));
  time_.run_for(500ms);
  EXPECT_EQ(loops_.health().size(), 3U);
  EXPECT_FALSE(health().looking);
  time_.run_for(1s);
  EXPECT_TRUE(std::next(loops_.health().begin())->looking);
  EXPECT_EQ(loops_.health().back().failures, 1);
  tasks_.cancel();
  time_.run_for(0s);
  EXPECT_EQ(tasks_.size(), 0U);
  EXPECT_TRUE(loops_.health().empty());
}

TEST_F(ControlLoopTest, IsStuckWhenALookTakesLongerThanItsPatience) {
  takes_ = 1h;
  start(plan());
  time_.run_for(5s);
  EXPECT_TRUE(health().looking);
  EXPECT_FALSE(health().is_stuck());
  time_.run_for(10s);
  EXPECT_TRUE(health().is_stuck());
  EXPECT_EQ(health().looking_for(), time_.now() - looks_.front());
  EXPECT_EQ(health().failures, 0) << "it has not failed";
  takes_ = 0s;
  time_.run_for(1h);
  EXPECT_FALSE(health().is_stuck());
}

TEST_F(ControlLoopTest, IsListedInTheOrderOfItsStartWhileItRuns) {
  TaskGroup others(loop_.executor(), "others");
  start(plan("first"));
  loops_.start(others, plan("second"));
  start(plan("third"));
  time_.run_for(0s);
  const auto names = [this] {
    std::vector<std::string> out;
    for (const auto& one : loops_.health()) out.push_back(one.name);
    return out;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"first", "second", "third"}));
  others.cancel();
  time_.run_for(0s);
  EXPECT_EQ(names(), (std::vector<std::string>{"first", "third"}));
}

}  // namespace
}  // namespace underway::async
