#include "server/writer.hpp"

#include "server/testing/desk.hpp"
#include "server/testing/fake_node.hpp"

namespace underway::server::testing {
namespace {

using async::awaitable;

/// A writer over a store that commits only when the test says so.
class WriterTest : public ::testing::Test {
 protected:
  WriterTest() : tasks(loop.executor(), "test") {
    tables.follow(&fleet);
    writer = std::make_unique<Writer>(loop.executor(), store, tables, fleet, clock, ids, true);
  }
  ~WriterTest() override {
    tasks.cancel();
    while (store.step()) {
    }
    poll();
    writer.reset();
  }

  void poll() {
    loop.context().restart();
    loop.context().poll();
  }
  /// Lets everything happen that can.
  void settle() {
    do {
      poll();
    } while (store.step());
    poll();
  }

  struct Outcome {
    bool done = false;
    std::string failure;
    Registered registered;
  };
  static awaitable<void> register_into(Writer& writer, model::Job job, Outcome& outcome) {
    auto decide = [job](const Tables& t, const Context& c) { return decide_register(t, {job, {}, {}}, c); };
    try {
      outcome.registered = co_await writer.submit(std::move(decide));
    } catch (const Error& error) {
      outcome.failure = error.one_line();
    }
    outcome.done = true;
  }
  void begin(model::Job job, Outcome& outcome) {
    tasks.spawn("register", register_into(*writer, std::move(job), outcome));
  }
  void put(Change change) {
    auto decide = [change](const Tables&, const Context&) {
      Decision<Nothing> decision;
      decision.changes.push_back(change);
      return decision;
    };
    auto run = [](Writer& w, decltype(decide) d) -> awaitable<void> { co_await w.submit(std::move(d)); };
    tasks.spawn("put", run(*writer, std::move(decide)));
    settle();
  }
  void put_node(int number) {
    model::Node node = make_node(number);
    node.status = model::NodeStatus::ready;
    node.computed_class = model::compute_class(node);
    put(tables::PutNode{node});
  }

  async::Loop loop;
  store::MemoryStore store{store::MemoryStore::Mode::stepped};
  Tables tables;
  scheduler::Fleet fleet;
  VirtualClock clock;
  SeededIds ids{3};
  std::unique_ptr<Writer> writer;
  async::TaskGroup tasks;
};

TEST_F(WriterTest, AnswersOnlyWhatIsDurable) {
  Outcome outcome;
  begin(make_job("web"), outcome);
  poll();
  EXPECT_FALSE(outcome.done);
  EXPECT_EQ(store.waiting(), 1u);
  ASSERT_TRUE(store.step());
  poll();
  EXPECT_TRUE(outcome.done);
  EXPECT_EQ(outcome.registered.job_modify_index, store.revision());
}

TEST_F(WriterTest, CommitsAllThatCameMeanwhileAsOne) {
  std::vector<Outcome> outcomes(100);
  begin(make_job("first"), outcomes[0]);
  poll();
  for (int i = 1; i < 100; ++i) begin(make_job(fmt::format("job{}", i)), outcomes[static_cast<std::size_t>(i)]);
  poll();
  EXPECT_EQ(store.waiting(), 1u);
  store.step();
  poll();
  EXPECT_EQ(store.waiting(), 1u);  // ninety-nine of them
  store.step();
  poll();
  EXPECT_EQ(store.revision(), 2);
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.done);
  EXPECT_EQ(tables.jobs().size(), 100u);
}

TEST_F(WriterTest, EvaluatesInTheSameCommit) {
  put_node(1);
  const auto before = store.revision();
  Outcome outcome;
  begin(make_job("web"), outcome);
  settle();
  EXPECT_EQ(store.revision(), before + 1);
  const auto evaluation = tables.find_evaluation(outcome.registered.eval_id);
  EXPECT_EQ(evaluation->status, model::EvalStatus::complete);
  EXPECT_EQ(tables.allocations_of_job("default", "web").size(), 1u);
  EXPECT_EQ(tables.find_job("default", "web")->status, model::JobStatus::running);
}

TEST_F(WriterTest, ReadersWaitForWhatIsInFlight) {
  struct Seen {
    bool done = false;
    std::size_t jobs = 0;
  } seen;
  auto read = [](Writer& w, Seen& s) -> awaitable<void> {
    const auto* t = co_await w.settled();
    s = {true, t->jobs().size()};
  };
  Outcome outcome;
  begin(make_job("web"), outcome);
  poll();
  tasks.spawn("read", read(*writer, seen));
  poll();
  EXPECT_FALSE(seen.done);
  settle();
  EXPECT_TRUE(seen.done);
  EXPECT_EQ(seen.jobs, 1u);
}

TEST_F(WriterTest, ARefusalChangesNothingAndHarmsNobodyElse) {
  Outcome good, bad;
  model::Job invalid = make_job("bad");
  invalid.groups.clear();
  begin(invalid, bad);
  begin(make_job("good"), good);
  settle();
  EXPECT_NE(bad.failure, "");
  EXPECT_EQ(good.failure, "");
  EXPECT_EQ(tables.jobs().size(), 1u);
  const auto revision = store.revision();
  Outcome alone;
  begin(invalid, alone);
  settle();
  EXPECT_TRUE(alone.done);
  EXPECT_EQ(store.revision(), revision);
}

TEST_F(WriterTest, AFailedCommitIsAnsweredWithItsErrorAndUndone) {
  Outcome before;
  begin(make_job("web"), before);
  settle();
  store.fail_next_commit(Error(Code::exhausted, "cannot write the state").because("No space left on device (ENOSPC)"));
  Outcome failed, refused;
  model::Job invalid = make_job("bad");
  invalid.groups.clear();
  begin(make_job("web", 7), failed);
  begin(invalid, refused);
  settle();
  EXPECT_EQ(failed.failure, "cannot write the state: No space left on device (ENOSPC)");
  EXPECT_EQ(refused.failure.find("No space"), std::string::npos) << "a refusal stays what it was";
  EXPECT_EQ(tables.find_job("default", "web")->groups[0].count, 1);
  EXPECT_EQ(tables.revision(), store.revision());
  Outcome after;
  begin(make_job("web", 7), after);
  settle();
  EXPECT_EQ(after.failure, "");
  EXPECT_EQ(tables.find_job("default", "web")->groups[0].count, 7);
}

TEST_F(WriterTest, AFullDiskIsNotTriedInAHotLoop) {
  model::Evaluation pending;
  pending.id = uuid(1);
  pending.job_id = "none";
  pending.wait_until = unix_nanos(clock.now() + std::chrono::minutes(1));
  put(tables::PutEvaluation{pending});
  clock.advance(std::chrono::minutes(2));
  store.fail_next_commit(Error(Code::exhausted, "full"));
  Outcome outcome;
  begin(make_job("web"), outcome);
  poll();
  ASSERT_TRUE(store.step());
  poll();
  EXPECT_EQ(outcome.failure, "full");
  EXPECT_EQ(store.waiting(), 0u);  // the evaluation that is due waits for the next request, or for its pause
  EXPECT_EQ(tables.pending_evaluations().size(), 1u);
}

TEST_F(WriterTest, SaysSinceWhenNothingCanBeWrittenAndFindsOutByItselfThatItCan) {
  const auto look = [&] {  // a request that changes nothing makes the writer look at the clock
    auto decide = [](const Tables&, const Context&) { return Decision<Nothing>{}; };
    auto run = [](Writer& w, decltype(decide) d) -> awaitable<void> { co_await w.submit(std::move(d)); };
    tasks.spawn("look", run(*writer, std::move(decide)));
    settle();
  };
  EXPECT_FALSE(writer->trouble());
  const TimePoint began = clock.now();
  store.fail_next_commit(Error(Code::exhausted, "full"));
  Outcome outcome;
  begin(make_job("web"), outcome);
  settle();
  ASSERT_TRUE(writer->trouble());
  EXPECT_EQ(writer->trouble()->since, began);

  look();
  EXPECT_TRUE(writer->trouble()) << "it is too early to try again";
  clock.advance(std::chrono::seconds(5));
  store.fail_next_commit(Error(Code::exhausted, "still full"));
  look();
  ASSERT_TRUE(writer->trouble());
  EXPECT_EQ(writer->trouble()->since, began);
  EXPECT_EQ(writer->trouble()->error.message(), "still full");
  clock.advance(std::chrono::seconds(5));
  look();
  EXPECT_FALSE(writer->trouble());
  const auto revision = tables.revision();
  clock.advance(std::chrono::seconds(5));
  look();
  EXPECT_EQ(tables.revision(), revision) << "all is well, and nothing more to try";
}

TEST_F(WriterTest, AValueThatIsTooLargeIsNoTroubleOfTheDisk) {
  store.fail_next_commit(Error(Code::too_large, "a value is too large"));
  Outcome outcome;
  begin(make_job("web"), outcome);
  settle();
  EXPECT_EQ(outcome.failure, "a value is too large");
  EXPECT_FALSE(writer->trouble());
}

TEST_F(WriterTest, ACancelledCallerDoesNotTakeItsDecisionBack) {
  Outcome outcome;
  begin(make_job("blocker"), outcome);
  poll();  // its commit is in flight: the next one queues
  auto group = std::make_unique<async::TaskGroup>(loop.executor(), "caller");
  Outcome cancelled;
  group->spawn("register", register_into(*writer, make_job("web"), cancelled));
  poll();
  group->cancel();
  poll();
  EXPECT_FALSE(cancelled.done);
  group.reset();
  settle();
  EXPECT_TRUE(tables.find_job("default", "web"));
}

TEST_F(WriterTest, AnEvaluationThatHasToWaitIsLookedAtWhenItIsDue) {
  put_node(1);
  Outcome outcome;
  begin(make_job("web"), outcome);
  settle();
  model::Evaluation later;
  later.id = uuid(9);
  later.job_id = "web";
  later.wait_until = unix_nanos(clock.now() + std::chrono::milliseconds(20));
  put(tables::PutEvaluation{later});
  EXPECT_EQ(tables.find_evaluation(uuid(9))->status, model::EvalStatus::pending);
  clock.advance(std::chrono::seconds(1));
  run_until(loop, [&] { return store.waiting() > 0; });  // woken by the timer alone
  settle();
  EXPECT_EQ(tables.find_evaluation(uuid(9))->status, model::EvalStatus::complete);
}

TEST_F(WriterTest, ABlockingReadWakesOnItsScopeOnly) {
  Outcome first;
  begin(make_job("web"), first);
  settle();
  bool woken = false;
  auto wait = [](Writer& w, std::vector<tables::Scope> scopes, model::Revision index, bool& done) -> awaitable<void> {
    co_await w.changed_since(std::move(scopes), index, async::deadline_in(std::chrono::minutes(5)));
    done = true;
  };
  std::vector<tables::Scope> scopes{{tables::Topic::jobs, "default/web"}};
  tasks.spawn("wait", wait(*writer, scopes, tables.revision_of(scopes[0]), woken));
  Outcome other;
  begin(make_job("other"), other);
  settle();
  EXPECT_FALSE(woken);
  begin(make_job("web", 2), first);
  poll();
  EXPECT_FALSE(woken);  // decided, not yet durable
  settle();
  EXPECT_TRUE(woken);
}

TEST_F(WriterTest, ABlockingReadOfAnEmptyStoreWaitsForItsFirstChange) {
  auto wait = [](Writer& w, model::Revision index, bool& done) -> awaitable<void> {
    std::vector<tables::Scope> scopes{{tables::Topic::jobs, ""}};
    co_await w.changed_since(std::move(scopes), index, async::kNever);
    done = true;
  };
  bool at_once = false, woken = false;
  tasks.spawn("look", wait(*writer, -1, at_once));
  tasks.spawn("wait", wait(*writer, tables.revision(), woken));
  poll();
  EXPECT_TRUE(at_once);
  EXPECT_FALSE(woken);
  Outcome first;
  begin(make_job("web"), first);
  settle();
  EXPECT_TRUE(woken);
}

TEST_F(WriterTest, ABlockingReadEndsAtItsDeadline) {
  bool done = false;
  auto wait = [](Writer& w, bool& d) -> awaitable<void> {
    std::vector<tables::Scope> scopes{{tables::Topic::jobs, ""}};
    co_await w.changed_since(std::move(scopes), 1'000'000, async::deadline_in(std::chrono::milliseconds(5)));
    d = true;
  };
  tasks.spawn("wait", wait(*writer, done));
  run_until(loop, [&] { return done; });
  EXPECT_TRUE(done);
}

TEST_F(WriterTest, TakesNothingNewOnceItStops) {
  Outcome queued, late;
  begin(make_job("queued"), queued);
  poll();
  bool stopped = false;
  auto stop = [](Writer& w, bool& s) -> awaitable<void> {
    co_await w.stop();
    s = true;
  };
  tasks.spawn("stop", stop(*writer, stopped));
  poll();
  EXPECT_FALSE(stopped);
  begin(make_job("late"), late);
  settle();
  EXPECT_TRUE(stopped);
  EXPECT_EQ(queued.failure, "");
  EXPECT_EQ(late.failure, "the server is stopping");
}

TEST_F(WriterTest, RoomThatIsFreedGoesToTheHighestPriorityThatWaitsForIt) {
  put_node(1);  // 4000 MHz
  const auto sized = [](const std::string& id, std::int64_t cpu, std::int64_t priority) {
    model::Job job = make_job(id);
    job.groups[0].tasks[0].resources.cpu = cpu;
    job.priority = priority;
    return job;
  };
  Outcome old, urgent, huge, late;
  begin(sized("old", 3500, 50), old);
  settle();
  begin(sized("huge", 5000, 90), huge);
  begin(sized("urgent", 3000, 80), urgent);
  settle();
  EXPECT_TRUE(tables.allocations_of_job("default", "urgent").empty());
  // Registered together with the stop that makes room, and by the order of evaluations alone its turn would come first.
  auto stop = [](const Tables& t, const Context& c) { return decide_deregister(t, {"default", "old"}, c); };
  auto run = [](Writer& w, decltype(stop) d) -> awaitable<void> { co_await w.submit(d); };
  tasks.spawn("stop", run(*writer, stop));
  begin(sized("late", 3000, 40), late);
  settle();
  EXPECT_EQ(tables.allocations_of_job("default", "urgent").size(), 1u);
  EXPECT_TRUE(tables.allocations_of_job("default", "late").empty());
  // What could never be placed holds up nobody.
  EXPECT_TRUE(tables.allocations_of_job("default", "huge").empty());
}

TEST_F(WriterTest, LooksAtHundredsOfEvaluationsInSeveralGroups) {
  put_node(1);
  std::vector<Change> changes;
  auto decide = [](const Tables&, const Context& c) {
    Decision<Nothing> decision;
    for (int i = 0; i < 600; ++i) {
      model::Evaluation evaluation;
      evaluation.id = c.ids.uuid();
      evaluation.job_id = "none";
      decision.changes.push_back(tables::PutEvaluation{evaluation});
    }
    return decision;
  };
  auto run = [](Writer& w, decltype(decide) d) -> awaitable<void> { co_await w.submit(d); };
  const auto before = store.revision();
  tasks.spawn("many", run(*writer, decide));
  settle();
  EXPECT_TRUE(tables.pending_evaluations().empty());
  EXPECT_EQ(store.revision(), before + 3);
}

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
  auto decide = [&order](const Tables&, const Context& c) {
    order.push_back("decided");
    Decision<Nothing> decision;
    decision.changes.push_back(tables::PutSetting{"x", boost::json::value(c.revision)});
    return decision;
  };
  auto run = [](Writer& w, decltype(decide) d) -> awaitable<void> { co_await w.submit(d); };
  for (int i = 0; i < 3; ++i) tasks.spawn("ask", ask(*writer, go, order));
  poll();
  tasks.spawn("decide", run(*writer, decide));
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
