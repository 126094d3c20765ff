#include "http/detail/turns.hpp"

#include <gtest/gtest.h>

#include "async/group.hpp"

namespace underway::http::detail {
namespace {

using async::awaitable;

struct TurnsTest : ::testing::Test {
  awaitable<void> work(int number) {
    co_await turns.take();
    done.push_back(number);
  }
  void begin(int count) {
    for (int i = 0; i < count; ++i) group.spawn("work", work(i));
  }
  async::Loop loop;
  Turns turns{loop.executor(), 2};
  async::TaskGroup group{loop.executor(), "test"};
  std::vector<int> done;
};

TEST_F(TurnsTest, LetWhatIsReadyComeInBetween) {
  begin(9);
  std::vector<std::size_t> seen;
  std::function<void()> look = [&] {
    seen.push_back(done.size());
    if (done.size() < 9) asio::post(loop.executor(), look);
  };
  asio::post(loop.executor(), look);
  loop.context().poll();
  ASSERT_EQ(done.size(), 9U);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_LE(seen[i] - seen[i - 1], 2U);
}

TEST_F(TurnsTest, GoToTheNewestFirst) {
  begin(6);
  loop.context().poll();
  EXPECT_EQ(done, (std::vector<int>{0, 1, 5, 4, 3, 2}));
  begin(1);
  loop.context().restart();
  loop.context().poll();
  EXPECT_EQ(done.size(), 7U) << "a quiet server makes nobody wait";
}

TEST_F(TurnsTest, AreNotTakenByWhoIsCancelled) {
  begin(60);
  while (done.size() < 2) loop.context().run_one();
  asio::post(loop.executor(), [this] { group.cancel(); });
  loop.context().poll();
  EXPECT_LT(done.size(), 60U);
  done.clear();
  begin(2);
  loop.context().restart();
  loop.context().poll();
  EXPECT_EQ(done.size(), 2U);
}

}  // namespace
}  // namespace underway::http::detail
