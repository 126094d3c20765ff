#include "async/workers.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "async/group.hpp"

namespace underway::async {
namespace {

using namespace std::chrono_literals;

/// Jobs wait behind it until it is opened.
class Barrier {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

awaitable<void> note(Workers& workers, std::string client, std::vector<std::string>& order, Barrier* barrier) {
  auto job = [name = client, barrier] {
    if (barrier != nullptr) barrier->pass();
    return std::string(name);
  };
  order.push_back(co_await workers.run(std::move(client), "noting", job));
}

TEST(Workers, TurnsGoRoundBetweenClients) {
  Loop loop;
  Workers workers({.threads = 1});
  Barrier barrier;
  std::vector<std::string> order;
  TaskGroup tasks(loop.executor(), "test");
  tasks.spawn("first", note(workers, "greedy", order, &barrier));
  for (int i = 0; i < 3; ++i) tasks.spawn("greedy", note(workers, "greedy", order, nullptr));
  tasks.spawn("modest", note(workers, "modest", order, nullptr));
  loop.post([&] { barrier.open(); });
  loop.run_until_done(tasks.wait());
  EXPECT_EQ(order, (std::vector<std::string>{"greedy", "modest", "greedy", "greedy", "greedy"}));
}

awaitable<void> refused_one(Workers& workers, std::vector<std::string>& order) {
  try {
    co_await note(workers, "greedy", order, nullptr);
  } catch (const Error& error) {
    order.push_back(error.message());
  }
}

TEST(Workers, OneClientCannotFillTheQueue) {
  Loop loop;
  Workers workers({.threads = 1, .waiting_of_one = 2});
  Barrier barrier;
  std::vector<std::string> order;
  TaskGroup tasks(loop.executor(), "test");
  tasks.spawn("first", note(workers, "greedy", order, &barrier));
  for (int i = 0; i < 2; ++i) tasks.spawn("waits", note(workers, "greedy", order, nullptr));
  tasks.spawn("too many", refused_one(workers, order));
  tasks.spawn("another", note(workers, "modest", order, nullptr));
  loop.post([&] { barrier.open(); });
  loop.run_until_done(tasks.wait());
  EXPECT_EQ(order, (std::vector<std::string>{"too much waits to be computed", "greedy", "modest", "greedy", "greedy"}));
}

TEST(Workers, WhoHangsUpLeavesTheQueue) {
  Loop loop;
  Workers workers({.threads = 1});
  Barrier barrier;
  std::vector<std::string> order;
  TaskGroup stays(loop.executor(), "stays"), leaves(loop.executor(), "leaves");
  stays.spawn("first", note(workers, "a", order, &barrier));
  leaves.spawn("gone", note(workers, "b", order, nullptr));
  stays.spawn("last", note(workers, "a", order, nullptr));
  loop.post([&] {
    leaves.cancel();
    barrier.open();
  });
  loop.run_until_done(stays.wait());
  loop.run_until_done(leaves.wait());
  EXPECT_EQ(order, (std::vector<std::string>{"a", "a"}));
  EXPECT_EQ(workers.waiting(), 0u);
}

awaitable<Code> compute_for_ever(Workers& workers) {
  auto job = [] {
    while (true) Allowance::spend(1000);
  };
  try {
    co_await workers.run("anybody", "counting", job);
    co_return Code::internal;
  } catch (const Error& error) {
    co_return error.code();
  }
}

TEST(Workers, WhatComputesTooLongIsRefused) {
  Loop loop;
  Workers workers({.cpu = 5ms});
  EXPECT_EQ(loop.run_until_done(compute_for_ever(workers)), Code::too_large);
}

TEST(Workers, WhatComputesDoesNotKeepTheProcess) {
  Loop loop;
  Workers workers({.cpu = 1h});
  std::jthread soon([&] { workers.end(); });
  EXPECT_EQ(loop.run_until_done(compute_for_ever(workers)), Code::unavailable);
}

}  // namespace
}  // namespace underway::async
