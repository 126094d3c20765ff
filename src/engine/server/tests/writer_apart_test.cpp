// What is worked out apart from the loop, while nothing is decided and nobody reads.
#include "writer_desk.hpp"

namespace underway::server::testing {
namespace {

/// So many allocations that all fit on one node.
model::Job large_job(std::int64_t count) {
  model::Job job = make_job("large", count);
  job.groups[0].tasks[0].resources.cpu = 1;
  job.groups[0].tasks[0].resources.memory_mb = 10;
  job.groups[0].tasks[0].logs.max_files = 1;
  job.groups[0].tasks[0].logs.max_file_size_mb = 1;
  job.groups[0].ephemeral_disk.size_mb = 10;
  return job;
}

TEST_F(WriterTest, ALargeEvaluationIsPlannedApartAndWrittenDownAsOne) {
  model::Node node = make_node(1, 40'000, 80'000);
  node.status = model::NodeStatus::ready;
  node.computed_class = model::compute_class(node);
  put(tables::PutNode{node});
  Outcome large, small;
  begin(large_job(3000), large);
  poll();
  ASSERT_TRUE(store.step());
  run_until(loop, [&] { return large.done; });
  EXPECT_EQ(tables.find_evaluation(large.registered.eval_id)->status, model::EvalStatus::pending)
      << "who registers it does not wait for the plan";
  struct Seen {
    bool done = false;
    std::size_t allocations = 0;
  } seen;
  auto read = [](Writer& w, Seen& s) -> awaitable<void> {
    const auto* t = co_await w.settled();
    s = {true, t->allocations_of_job("default", "large").size()};
  };
  run_until(loop, [&] { return !tables.allocations_of_job("default", "large").empty(); });
  tasks.spawn("read", read(*writer, seen));
  begin(make_job("small"), small);
  run_until(loop, [&] { return store.waiting() > 0; });
  EXPECT_FALSE(seen.done) << "nobody sees half of it, nor what is not durable";
  const auto revision = store.revision() + 1;
  ASSERT_TRUE(store.step());
  run_until(loop, [&] { return seen.done; });
  EXPECT_EQ(seen.allocations, 3000u);
  for (const auto& row : tables.allocations_of_job("default", "large")) ASSERT_EQ(row->create_index, revision);
  EXPECT_EQ(tables.find_evaluation(large.registered.eval_id)->status, model::EvalStatus::complete);
  EXPECT_EQ(tables.find_job("default", "large")->status, model::JobStatus::running);
  settle();
  EXPECT_TRUE(small.done) << "its turn came after that";
}

TEST_F(WriterTest, RoomThatALargePlanFreesGoesToWhoWaitsForIt) {
  model::Node node = make_node(1, 40'000, 80'000);
  node.status = model::NodeStatus::ready;
  node.computed_class = model::compute_class(node);
  put(tables::PutNode{node});
  const auto until_planned = [&](const Outcome& outcome) {
    run_until(loop, [&] {
      store.step();
      const auto evaluation = outcome.done ? tables.find_evaluation(outcome.registered.eval_id) : nullptr;
      return evaluation && evaluation->status == model::EvalStatus::complete && store.waiting() == 0;
    });
    settle();
  };
  Outcome large, waiting, fewer;
  begin(large_job(3000), large);
  until_planned(large);
  model::Job job = make_job("waiting");
  job.groups[0].tasks[0].resources.memory_mb = 60'000;
  begin(job, waiting);
  settle();
  ASSERT_TRUE(tables.allocations_of_job("default", "waiting").empty());
  begin(large_job(10), fewer);
  until_planned(fewer);
  EXPECT_EQ(tables.allocations_of_job("default", "waiting").size(), 1u) << "without any other decision";
}

TEST_F(WriterTest, WhoAsksApartDoesNotWaitForADiskThatIsFull) {
  store.fail_next_commit(Error(Code::exhausted, "full"));
  Outcome outcome;
  begin(make_job("web"), outcome);
  poll();
  bool asked = false;
  auto ask = [](Writer& w, bool& done) -> awaitable<void> {
    auto work = [] {};
    co_await w.apart("asking", std::move(work));
    done = true;
  };
  tasks.spawn("ask", ask(*writer, asked));
  poll();
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(store.step());
  run_until(loop, [&] { return asked; });
  EXPECT_EQ(outcome.failure, "full");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(4)) << "until the disk is tried again";
}

TEST_F(WriterTest, WhatIsWorkedOutApartIsGivenUpWhenTheServerStops) {
  std::string failure;
  std::atomic<bool> begun = false;
  auto ask = [](Writer& w, std::atomic<bool>& b, std::string& f) -> awaitable<void> {
    auto work = [&b] {
      b = true;
      while (true) Allowance::spend(1000);
    };
    try {
      co_await w.apart("asking", std::move(work));
    } catch (const Error& error) {
      f = error.one_line();
    }
  };
  auto stop = [](Writer& w, bool& s) -> awaitable<void> {
    co_await w.stop();
    s = true;
  };
  bool stopped = false;
  tasks.spawn("ask", ask(*writer, begun, failure));
  run_until(loop, [&] { return begun.load(); });
  tasks.spawn("stop", stop(*writer, stopped));
  run_until(loop, [&] { return stopped && !failure.empty(); });
  settle();
  EXPECT_EQ(failure, "asking was given up: the server is stopping");
}

TEST_F(WriterTest, WhatIsAskedApartTakesTurnsWithWhatIsDecided) {
  std::vector<std::string> order;
  std::atomic<bool> go = false;
  auto ask = [](Writer& w, std::atomic<bool>& g, std::vector<std::string>& o) -> awaitable<void> {
    auto work = [&g] { g.wait(false); };
    co_await w.apart("asking", std::move(work));
    o.push_back("asked");
  };
  const auto decision = [&order](const Tables&, const Context& c) {
    order.push_back("decided");
    Decision<Nothing> decision;
    decision.changes.push_back(tables::PutSetting{"x", boost::json::value(c.revision)});
    return decision;
  };
  for (int i = 0; i < 3; ++i) tasks.spawn("ask", ask(*writer, go, order));
  poll();
  WriterTest::ask(asked(decision));
  poll();
  go = true;
  go.notify_all();
  run_until(loop, [&] {
    store.step();
    return order.size() == 4;
  });
  settle();
  EXPECT_EQ(order, (std::vector<std::string>{"asked", "decided", "asked", "asked"}));
}

}  // namespace
}  // namespace underway::server::testing
