#include "server/variable/variable_decisions.hpp"

#include <gtest/gtest.h>

#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using model::Variable;

const std::string kPath = "db/password";

struct VariableDesk : Desk {
  VariableOutcome put(const std::string& bytes, std::optional<model::Revision> cas = {}, std::string lock = {}) {
    const VariableClaim claim{"default", kPath, cas, std::move(lock)};
    return run(PutVariable{claim, {"k1", bytes}});
  }
  VariableOutcome remove(std::optional<model::Revision> cas = {}, std::string lock = {}) {
    const VariableClaim claim{"default", kPath, cas, std::move(lock)};
    return run(DeleteVariable{claim});
  }
  VariableOutcome acquire(Duration ttl = std::chrono::seconds(15), Duration delay = std::chrono::seconds(15),
                          std::string id = {}) {
    AcquireLock request{"default", kPath, {std::move(id), ttl, delay}, {"k1", "empty"}, true};
    return run(request);
  }
  VariableOutcome renew(const std::string& id) {
    const VariableClaim claim{"default", kPath, {}, id};
    return run(RenewLock{claim});
  }
  VariableOutcome release(const std::string& id) {
    const VariableClaim claim{"default", kPath, {}, id};
    return run(ReleaseLock{claim});
  }
  void pass(Duration span) {
    clock.advance(span);
    run(ExpireLocks{});
  }
  tables::Row<Variable> row() const { return tables.find<Variable>("default/" + kPath); }
};

TEST(PutVariable, StampsIndexesAndTimesAndKeepsThoseOfItsCreation) {
  VariableDesk desk;
  const auto first = desk.put("one").variable;
  desk.clock.advance(std::chrono::seconds(5));
  const auto second = desk.put("two").variable;
  EXPECT_EQ(first.create_index, desk.row()->create_index);
  EXPECT_EQ(second.modify_index, desk.row()->modify_index);
  EXPECT_GT(second.modify_index, first.modify_index);
  EXPECT_EQ(second.create_time, first.create_time);
  EXPECT_EQ(second.modify_time - first.modify_time, Duration(std::chrono::seconds(5)).count());
  EXPECT_EQ(desk.row()->sealed, "two");
}

TEST(PutVariable, WithCheckAndSetIsRefusedUnlessItKnowsTheLastWrite) {
  struct Case {
    const char* name;
    bool exists;
    int offset;  ///< of cas to the true index; with cas 0 when there is none
    bool conflict;
  };
  for (const auto& c : std::vector<Case>{{"new, and it is", false, 0, false},
                                         {"new, and it is not", false, 7, true},
                                         {"the last", true, 0, false},
                                         {"an older one", true, -1, true},
                                         {"a later one", true, 1, true}}) {
    SCOPED_TRACE(c.name);
    VariableDesk desk;
    desk.register_job(make_job("other"));
    if (c.exists) desk.put("before");
    const model::Revision index = c.exists ? desk.row()->modify_index : 0;
    const auto outcome = desk.put("after", index + c.offset);
    EXPECT_EQ(outcome.conflict, c.conflict);
    const std::string kept = c.exists ? "before" : "";
    EXPECT_EQ(outcome.variable.sealed, c.conflict ? kept : "after");
    EXPECT_EQ(desk.row() ? desk.row()->sealed : "", c.conflict ? kept : "after");
  }
}

TEST(PutVariable, OfTwoWritersWithTheSameIndexOneLosesAndIsShownTheOther) {
  VariableDesk desk;
  const auto index = desk.put("start").variable.modify_index;
  EXPECT_FALSE(desk.put("winner", index).conflict);
  const auto loser = desk.put("loser", index);
  EXPECT_TRUE(loser.conflict);
  EXPECT_EQ(loser.variable.sealed, "winner");
  EXPECT_FALSE(desk.put("loser", loser.variable.modify_index).conflict) << "told of the index, it may try again";
}

TEST(PutVariable, InTheSameCommitSeesTheOneBefore) {
  VariableDesk desk;
  const VariableClaim fresh{"default", kPath, 0, {}};
  const auto context = desk.context();
  auto first = decide(desk.tables, PutVariable{fresh, {"k1", "first"}}, context);
  desk.tables.apply(std::move(first.changes), context.revision);
  EXPECT_TRUE(decide(desk.tables, PutVariable{fresh, {"k1", "second"}}, context).result.conflict);
}

TEST(MakeVariable, KeepsWhatThereIs) {
  VariableDesk desk;
  const auto make = [&](const std::string& bytes) { desk.run(NewVariable{"default", kPath, {"k1", bytes}}); };
  make("first");
  make("second");
  EXPECT_EQ(desk.row()->sealed, "first");
}

TEST(DeleteVariable, ObeysCheckAndSetAndForgivesWhatIsNotThere) {
  VariableDesk desk;
  EXPECT_FALSE(desk.remove().conflict);
  const auto index = desk.put("x").variable.modify_index;
  EXPECT_TRUE(desk.remove(index - 1).conflict);
  EXPECT_TRUE(desk.row());
  EXPECT_FALSE(desk.remove(index).conflict);
  EXPECT_FALSE(desk.row());
}

TEST(Lock, OnlyItsHolderWrites) {
  VariableDesk desk;
  desk.put("before");
  const auto held = desk.acquire();
  ASSERT_FALSE(held.conflict);
  const std::string id = held.variable.lock->id;
  EXPECT_TRUE(is_uuid(id));
  EXPECT_TRUE(desk.put("stranger").conflict);
  EXPECT_TRUE(desk.put("guess", {}, "another id").conflict);
  EXPECT_TRUE(desk.remove().conflict);
  EXPECT_TRUE(desk.acquire().conflict);
  EXPECT_FALSE(desk.put("holder", {}, id).conflict);
  EXPECT_EQ(desk.row()->lock->id, id) << "a write keeps the lock";
  EXPECT_FALSE(desk.remove({}, id).conflict);
}

TEST(Lock, MakesTheVariableWhenThereIsNone) {
  VariableDesk desk;
  EXPECT_FALSE(desk.acquire().conflict);
  EXPECT_EQ(desk.row()->sealed, "empty");
}

TEST(Lock, KeepsTheItemsOfAVariableThatExists) {
  VariableDesk desk;
  desk.put("before");
  desk.acquire();
  EXPECT_EQ(desk.row()->sealed, "before");
}

TEST(Lock, IsLostWithoutARenewalAndKeptByOne) {
  VariableDesk desk;
  const std::string id = desk.acquire().variable.lock->id;
  const auto index = desk.row()->modify_index;
  desk.pass(std::chrono::seconds(14));
  EXPECT_FALSE(desk.renew(id).conflict);
  EXPECT_EQ(desk.row()->modify_index, index) << "a renewal wakes nobody who watches the variable";
  desk.pass(std::chrono::seconds(14));
  EXPECT_TRUE(desk.row()->lock);
  desk.pass(std::chrono::seconds(1));
  EXPECT_FALSE(desk.row()->lock);
  EXPECT_TRUE(desk.renew(id).conflict);
  EXPECT_TRUE(desk.put("late", {}, id).conflict) << "who believes to hold it learns that it does not";
}

TEST(Lock, ThatWasLostIsFreeAfterItsDelay) {
  VariableDesk desk;
  desk.acquire(std::chrono::seconds(10), std::chrono::seconds(20));
  desk.pass(std::chrono::seconds(10));
  EXPECT_TRUE(desk.acquire().conflict);
  desk.pass(std::chrono::seconds(19));
  EXPECT_TRUE(desk.acquire().conflict);
  EXPECT_FALSE(desk.put("anyone").conflict) << "the delay holds back lockers only";
  desk.pass(std::chrono::seconds(1));
  EXPECT_FALSE(desk.acquire().conflict);
}

TEST(Lock, RunsOutByTheClockAlsoWhenNobodyHasSweptYet) {
  VariableDesk desk;
  desk.acquire(std::chrono::seconds(10), std::chrono::seconds(20));
  desk.clock.advance(std::chrono::seconds(11));
  EXPECT_TRUE(desk.acquire().conflict) << "in its delay";
  EXPECT_FALSE(desk.put("anyone").conflict);
  desk.clock.advance(std::chrono::seconds(19));
  EXPECT_FALSE(desk.acquire().conflict);
}

TEST(Lock, ThatIsReleasedIsFreeAtOnce) {
  VariableDesk desk;
  const std::string id = desk.acquire().variable.lock->id;
  EXPECT_TRUE(desk.release("another").conflict);
  EXPECT_FALSE(desk.release(id).conflict);
  EXPECT_FALSE(desk.row()->lock);
  EXPECT_FALSE(desk.acquire().conflict);
}

TEST(Lock, TakenAgainByItsHolderTakesTheNewTimes) {
  VariableDesk desk;
  const std::string id = desk.acquire().variable.lock->id;
  const auto again = desk.acquire(std::chrono::minutes(1), std::chrono::seconds(0), id);
  EXPECT_FALSE(again.conflict);
  EXPECT_EQ(again.variable.lock->id, id);
  desk.pass(std::chrono::seconds(59));
  EXPECT_TRUE(desk.row()->lock);
}

TEST(Lock, RefusesTimesOutOfRange) {
  VariableDesk desk;
  EXPECT_THROW(desk.acquire(std::chrono::seconds(9)), Error);
  EXPECT_THROW(desk.acquire(std::chrono::hours(25)), Error);
  EXPECT_THROW(desk.acquire(std::chrono::seconds(15), Duration{-1}), Error);
}

TEST(Lock, BeginsItsTimeAnewAfterTheServerWasAway) {
  VariableDesk desk;
  const std::string id = desk.acquire().variable.lock->id;
  desk.clock.advance(std::chrono::minutes(5));
  desk.run(ExtendLocks{});
  EXPECT_FALSE(desk.renew(id).conflict);
}

TEST(Locks, KnowWhenTheNextOneEnds) {
  VariableDesk desk;
  EXPECT_FALSE(next_lock_end(desk.tables));
  desk.acquire(std::chrono::seconds(10), std::chrono::seconds(20));
  EXPECT_EQ(next_lock_end(desk.tables), desk.clock.now() + std::chrono::seconds(10));
  desk.pass(std::chrono::seconds(10));
  EXPECT_EQ(next_lock_end(desk.tables), desk.clock.now() + std::chrono::seconds(20));
  desk.pass(std::chrono::seconds(20));
  EXPECT_FALSE(next_lock_end(desk.tables));
}

TEST(Reseal, PassesOverWhatWasWrittenSince) {
  VariableDesk desk;
  const auto index = desk.put("old").variable.modify_index;
  const auto reseal = [&](model::Revision of, const std::string& bytes) {
    return desk.run(ResealVariables{{{"default", kPath, of, {"k2", bytes}}}});
  };
  EXPECT_EQ(reseal(index, "old under k2"), 0);
  EXPECT_EQ(desk.row()->key_id, "k2");
  EXPECT_EQ(reseal(index, "stale"), 1);
  EXPECT_EQ(desk.row()->sealed, "old under k2");
}

TEST(Variable, NamesEveryProblem) {
  EXPECT_TRUE(model::problems("nomad/jobs/munge", {{"key", "v"}}).empty());
  for (const char* path : {"", "/a", "a/", "a//b", "a b", "ä", "nomad", "nomad/other", "a.b"}) {
    SCOPED_TRACE(path);
    EXPECT_FALSE(model::path_problem(path).empty());
  }
  EXPECT_TRUE(model::path_problem(std::string(128, 'a')).empty());
  EXPECT_FALSE(model::path_problem(std::string(129, 'a')).empty());
  EXPECT_EQ(model::problems("a", {}).size(), 1U);
  EXPECT_TRUE(model::problems("a", {{"k", std::string(model::kVariableBytes - 1, 'x')}}).empty());
  EXPECT_EQ(model::problems("a", {{"k", std::string(model::kVariableBytes, 'x')}}).size(), 1U);
}

TEST(Variable, IsReadByATaskOnlyBelowItsOwnPaths) {
  const auto may = [](const char* path) { return model::may_read_implicitly(path, "munge", "g", "t"); };
  for (const char* path : {"nomad/jobs", "nomad/jobs/munge", "nomad/jobs/munge/g", "nomad/jobs/munge/g/t"})
    EXPECT_TRUE(may(path)) << path;
  for (const char* path : {"nomad/jobs/mung", "nomad/jobs/munge2", "nomad/jobs/munge/g/other", "nomad/jobs/munge/g/t/x",
                           "nomad/jobs/other", "db"})
    EXPECT_FALSE(may(path)) << path;
}

}  // namespace
}  // namespace underway::server::testing
