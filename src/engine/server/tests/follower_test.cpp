#include "server/follower.hpp"

#include <gtest/gtest.h>

#include "async/testing/simulated_time.hpp"
#include "server/testing/asked.hpp"
#include "server/testing/desk.hpp"

namespace underway::server {
namespace {

using namespace std::chrono_literals;

const std::vector<tables::Scope> kWhereItLooks{{tables::Topic::nodes, ""}};

/// Waits again and again, and tells when it resumed.
class FollowerTest : public ::testing::Test {
 protected:
  FollowerTest() {
    tables_.follow(&fleet_);
    writer_ = std::make_unique<Writer>(loop_.executor(), store_, tables_, fleet_, time_, ids_, true);
    options_.scopes = [](const Tables&) { return kWhereItLooks; };
  }
  ~FollowerTest() override {
    tasks_.cancel();
    time_.run_for(0s);
    writer_.reset();
  }
  using Wait = async::awaitable<void> (Follower::*)();
  void follow(Wait wait) {
    follower_.emplace(*writer_, time_, options_);
    tasks_.spawn("following", resume_again_and_again(wait));
    time_.run_for(0s);
  }
  async::awaitable<void> resume_again_and_again(Wait wait) {
    while (true) {
      co_await (*follower_.*wait)();
      resumed_.push_back(time_.now());
      co_await async::sleep_for(looks_for_);
    }
  }
  void put(Change change) {
    tasks_.spawn("put", submit(std::move(change)));
    time_.run_for(0s);
  }
  async::awaitable<void> submit(Change change) {
    testing::PutChanges request{{std::move(change)}};
    co_await writer_->apply(std::move(request));
  }
  void put_node() { put(tables::PutNode{testing::make_node(1)}); }
  void put_setting() { put(tables::PutSetting{"test/1", boost::json::value(1)}); }

  async::Loop loop_;
  store::MemoryStore store_{store::MemoryStore::Mode::stepped};
  async::SimulatedTime time_{loop_, [this] { return store_.step(); }};
  Tables tables_;
  scheduler::Fleet fleet_;
  SeededIds ids_{3};
  std::unique_ptr<Writer> writer_;
  FollowerOptions options_;
  std::optional<Follower> follower_;
  async::TaskGroup tasks_{loop_.executor(), "test"};
  std::vector<TimePoint> resumed_;
  Duration looks_for_{0};
};

TEST_F(FollowerTest, ResumesAtOnceAndThenForWhatChangesWhereItLooks) {
  follow(&Follower::wait_for_news);
  EXPECT_EQ(resumed_.size(), 1U);
  put_setting();
  time_.run_for(1h);
  EXPECT_EQ(resumed_.size(), 1U);
  put_node();
  EXPECT_EQ(resumed_.size(), 2U);
  time_.run_for(1h);
  EXPECT_EQ(resumed_.size(), 2U);
}

TEST_F(FollowerTest, MissesNothingThatChangesWhileItIsLookedAt) {
  looks_for_ = 10s;
  follow(&Follower::wait_for_news);
  time_.run_for(5s);
  put_node();
  EXPECT_EQ(resumed_.size(), 1U);
  time_.run_for(6s);
  EXPECT_EQ(resumed_.size(), 2U);
}

TEST_F(FollowerTest, GathersWhatHappensTogether) {
  options_.gather = 500ms;
  follow(&Follower::wait_for_news);
  for (int i = 0; i < 10; ++i) {
    put_node();
    time_.run_for(10ms);
  }
  EXPECT_EQ(resumed_.size(), 1U);
  time_.run_for(500ms);
  EXPECT_EQ(resumed_.size(), 2U);
}

TEST_F(FollowerTest, LooksAgainAfterAWhileWhenItIsToAndWhenItIsAsked) {
  options_.again = [](const Tables&) { return std::optional<Duration>(2s); };
  follow(&Follower::wait_for_news);
  time_.run_for(7s);
  EXPECT_EQ(resumed_.size(), 4U);
  follower_->look();
  time_.run_for(0s);
  EXPECT_EQ(resumed_.size(), 5U);
}

TEST_F(FollowerTest, ResumesWhenItIsDue) {
  const TimePoint due = time_.now() + 90s;
  options_.due = [this, due](const Tables&) { return resumed_.size() < 2 ? std::optional(due) : std::nullopt; };
  follow(&Follower::wait_for_news);
  time_.run_for(89s);
  EXPECT_EQ(resumed_.size(), 1U);
  time_.run_for(1h);
  ASSERT_EQ(resumed_.size(), 2U);
  EXPECT_GE(resumed_.back(), due);
  EXPECT_LE(resumed_.back(), due + 10ms);
}

TEST_F(FollowerTest, UntilItIsDueAChangeHasItAskedAnewAndNoMore) {
  int asked = 0;
  std::optional<TimePoint> due = time_.now() + 1h;
  options_.due = [&](const Tables&) {
    ++asked;
    return resumed_.size() < 2 ? due : std::nullopt;
  };
  follow(&Follower::wait_until_due);
  EXPECT_EQ(resumed_.size(), 1U) << "at first it looks at once";
  time_.run_for(10s);
  EXPECT_EQ(resumed_.size(), 1U);
  EXPECT_EQ(asked, 1) << "nothing has changed";
  due = time_.now() + 5s;
  put_node();
  time_.run_for(2s);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(resumed_.size(), 1U);
  time_.run_for(4s);
  EXPECT_EQ(resumed_.size(), 2U);
}

}  // namespace
}  // namespace underway::server
