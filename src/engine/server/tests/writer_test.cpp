#include "writer_desk.hpp"

namespace underway::server::testing {
namespace {

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
    ask(ChangeNothing{});
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
  ask(DeregisterJob{"default", "old"});
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
  const auto many = [](const Tables&, const Context& c) {
    Decision<Nothing> decision;
    for (int i = 0; i < 600; ++i) {
      model::Evaluation evaluation;
      evaluation.id = c.ids.uuid();
      evaluation.job_id = "none";
      decision.changes.push_back(tables::PutEvaluation{evaluation});
    }
    return decision;
  };
  const auto before = store.revision();
  ask(asked(many));
  settle();
  EXPECT_TRUE(tables.pending_evaluations().empty());
  EXPECT_EQ(store.revision(), before + 3);
}

}  // namespace
}  // namespace underway::server::testing
