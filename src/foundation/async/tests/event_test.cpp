#include "async/event.hpp"

#include <gtest/gtest.h>

#include "async/group.hpp"

namespace underway::async {
namespace {

using namespace std::chrono_literals;

awaitable<void> wait_and_count(Event& event, int& woken) {
  co_await event.wait();
  ++woken;
}
awaitable<void> wait_briefly(Event& event, Duration span, std::vector<bool>& results) {
  results.push_back(co_await event.wait_for(span));
}

TEST(Event, WakesEveryWaiterOnce) {
  Loop loop;
  Event event;
  TaskGroup group(loop.executor(), "test");
  int woken = 0;
  for (int i = 0; i < 1000; ++i) group.spawn("waiter", wait_and_count(event, woken));
  loop.post([&] {
    EXPECT_EQ(event.waiters(), 1000u);
    event.notify_all();
    event.notify_all();
    EXPECT_EQ(event.waiters(), 0u);
  });
  loop.run_until_done(group.wait());
  EXPECT_EQ(woken, 1000);
}

TEST(Event, DoesNotRememberANotification) {
  Loop loop;
  Event event;
  event.notify_all();
  EXPECT_FALSE(loop.run_until_done(event.wait_for(1ms)));
  EXPECT_EQ(event.waiters(), 0u);
}

TEST(Event, TellsANotificationFromADeadline) {
  Loop loop;
  Event event;
  TaskGroup group(loop.executor(), "test");
  std::vector<bool> results;
  group.spawn("short", wait_briefly(event, 0ms, results));
  loop.run_until_done(group.wait());
  group.spawn("long", wait_briefly(event, 1h, results));
  loop.post([&] { event.notify_all(); });
  loop.run_until_done(group.wait());
  EXPECT_EQ(results, (std::vector<bool>{false, true}));
}

TEST(Event, LetsACancelledWaiterGo) {
  Loop loop;
  Event event;
  TaskGroup group(loop.executor(), "test");
  int woken = 0;
  group.spawn("waiter", wait_and_count(event, woken));
  loop.post([&] { group.cancel(); });
  loop.run_until_done(group.wait());
  EXPECT_EQ(woken, 0);
  EXPECT_EQ(event.waiters(), 0u);
}

}  // namespace
}  // namespace underway::async
