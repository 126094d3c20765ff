#pragma once
/// @file
/// What every Store must do, as one suite of tests. An implementation instantiates StoreContract with a ContractCase.

#include "store/whole.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

namespace underway::store::testing {

struct ContractCase {
  std::string name;
  std::function<std::unique_ptr<Store>()> make;  ///< an empty store
};

inline void PrintTo(const ContractCase& c, std::ostream* out) { *out << c.name; }

class StoreContract : public ::testing::TestWithParam<ContractCase> {
 protected:
  Outcome put(const std::string& key, const std::string& value) { return run({{}, {Put{key, value}}, {}}); }
  Outcome erase(KeyRange range) { return run({{}, {Delete{std::move(range)}}, {}}); }
  Outcome run(Transaction transaction) { return store->commit_and_wait(std::move(transaction)); }
  bool holds(Compare compare) { return run({{std::move(compare)}, {}, {}}).succeeded; }
  std::vector<std::string> keys(const KeyRange& range, std::size_t limit = 0) {
    std::vector<std::string> found;
    for (const auto& kv : store->range(range, limit).key_values) found.push_back(kv.key);
    return found;
  }
  std::optional<KeyValue> get(const std::string& key) {
    auto found = store->range(KeyRange::one(key)).key_values;
    return found.empty() ? std::nullopt : std::optional(found.front());
  }

  std::unique_ptr<Store> store = GetParam().make();
};

using Keys = std::vector<std::string>;

TEST_P(StoreContract, StartsEmptyAtRevisionZero) {
  EXPECT_EQ(store->revision(), 0);
  EXPECT_TRUE(store->range(KeyRange::prefix("")).key_values.empty());
  EXPECT_EQ(store->range(KeyRange::prefix("")).revision, 0);
}

TEST_P(StoreContract, CountsRevisionsAndVersionsPerKey) {
  EXPECT_EQ(put("a", "1").revision, 1);
  EXPECT_EQ(put("b", "1").revision, 2);
  EXPECT_EQ(put("a", "2").revision, 3);
  const auto a = get("a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->value, "2");
  EXPECT_EQ(a->create_revision, 1);
  EXPECT_EQ(a->mod_revision, 3);
  EXPECT_EQ(a->version, 2);
  EXPECT_EQ(store->revision(), 3);
}

TEST_P(StoreContract, GivesOneRevisionToAllWritesOfATransaction) {
  EXPECT_EQ(run({{}, {Put{"a", "1"}, Put{"b", "1"}, Delete{KeyRange::one("c")}}, {}}).revision, 1);
  EXPECT_EQ(get("a")->mod_revision, 1);
  EXPECT_EQ(get("b")->create_revision, 1);
}

TEST_P(StoreContract, MakesNoRevisionWithoutEffect) {
  put("a", "1");
  EXPECT_EQ(run({}).revision, 1);
  EXPECT_TRUE(run({}).succeeded);
  EXPECT_EQ(erase(KeyRange::one("absent")).revision, 1);
  EXPECT_EQ(run({{{"a", Compare::Target::version, Compare::Operator::equal, 7, {}}}, {Put{"a", "2"}}, {}}).revision, 1);
  EXPECT_EQ(put("a", "1").revision, 2) << "a put of the same value is a change";
}

TEST_P(StoreContract, BeginsAKeyAnewAfterItsDeletion) {
  put("a", "1");
  put("a", "2");
  EXPECT_EQ(erase(KeyRange::one("a")).revision, 3);
  EXPECT_FALSE(get("a"));
  put("a", "3");
  EXPECT_EQ(get("a")->create_revision, 4);
  EXPECT_EQ(get("a")->version, 1);
}

TEST_P(StoreContract, ComparesRevisionsVersionsAndValues) {
  put("x", "m");       // 1
  put("k", "first");   // 2
  put("k", "middle");  // 3: create 2, mod 3, version 2
  using Target = Compare::Target;
  using Op = Compare::Operator;
  for (const auto& [target, value] :
       {std::pair{Target::create_revision, 2}, {Target::mod_revision, 3}, {Target::version, 2}}) {
    SCOPED_TRACE(static_cast<int>(target));
    for (const int other : {value - 1, value, value + 1}) {
      EXPECT_EQ(holds({"k", target, Op::equal, other, {}}), value == other);
      EXPECT_EQ(holds({"k", target, Op::not_equal, other, {}}), value != other);
      EXPECT_EQ(holds({"k", target, Op::greater, other, {}}), value > other);
      EXPECT_EQ(holds({"k", target, Op::less, other, {}}), value < other);
    }
    EXPECT_TRUE(holds({"absent", target, Op::equal, 0, {}})) << "an absent key has 0";
    EXPECT_FALSE(holds({"absent", target, Op::greater, 0, {}}));
  }
  const std::string value = "middle";
  for (const std::string other : {"last", "middle", "nearly", "middl", "middle\xff"}) {
    SCOPED_TRACE(other);
    EXPECT_EQ(holds({"k", Target::value, Op::equal, 0, other}), value == other);
    EXPECT_EQ(holds({"k", Target::value, Op::not_equal, 0, other}), value != other);
    EXPECT_EQ(holds({"k", Target::value, Op::greater, 0, other}), value > other);
    EXPECT_EQ(holds({"k", Target::value, Op::less, 0, other}), value < other);
    EXPECT_FALSE(holds({"absent", Target::value, Op::not_equal, 0, other})) << "an absent key has no value";
  }
}

TEST_P(StoreContract, AppliesOtherwiseWhenOneCompareFails) {
  put("a", "1");
  Transaction t{{{"a", Compare::Target::mod_revision, Compare::Operator::equal, 1, {}},
                 {"b", Compare::Target::version, Compare::Operator::greater, 0, {}}},
                {Put{"then", ""}},
                {Put{"otherwise", ""}}};
  const Outcome outcome = run(t);
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_EQ(outcome.revision, 2);
  EXPECT_EQ(keys(KeyRange::prefix("")), (Keys{"a", "otherwise"}));
  put("b", "");
  EXPECT_TRUE(run(t).succeeded);
  EXPECT_TRUE(get("then"));
}

TEST_P(StoreContract, ReadsRangesInOrderOfBytes) {
  for (const char* key : {"b", "a/2", "a/10", "a", "a0", "\xff\xff", "\xff", "c"}) put(key, key);
  EXPECT_EQ(keys(KeyRange::prefix("a/")), (Keys{"a/10", "a/2"}));
  EXPECT_EQ(keys(KeyRange::prefix("a")), (Keys{"a", "a/10", "a/2", "a0"}));
  EXPECT_EQ(keys(KeyRange::prefix("\xff")), (Keys{"\xff", "\xff\xff"}));
  EXPECT_EQ(keys({"a/2", "c"}), (Keys{"a/2", "a0", "b"})) << "the end is not in it";
  EXPECT_EQ(keys({"a0", std::string(1, '\0')}), (Keys{"a0", "b", "c", "\xff", "\xff\xff"}));
  EXPECT_EQ(keys(KeyRange::one("a")), (Keys{"a"}));
  EXPECT_EQ(keys(KeyRange::prefix(""), 3), (Keys{"a", "a/10", "a/2"}));
  EXPECT_TRUE(keys({"x", "b"}).empty()) << "an inverted range is empty";
}

TEST_P(StoreContract, DeletesRanges) {
  for (const char* key : {"a/1", "a/2", "b/1", "c"}) put(key, "");
  EXPECT_EQ(erase(KeyRange::prefix("a/")).revision, 5);
  EXPECT_EQ(keys(KeyRange::prefix("")), (Keys{"b/1", "c"}));
  erase(KeyRange::prefix(""));
  EXPECT_TRUE(keys(KeyRange::prefix("")).empty());
}

TEST_P(StoreContract, KeepsBinaryKeysAndValues) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string key = std::string("\0k\0", 3) + all;
  put(key, all);
  put("empty", "");
  ASSERT_TRUE(get(key));
  EXPECT_EQ(get(key)->value, all);
  EXPECT_EQ(get("empty")->value, "");
  EXPECT_EQ(keys(KeyRange::prefix(std::string("\0k", 2))), (Keys{key}));
  EXPECT_TRUE(holds({key, Compare::Target::value, Compare::Operator::equal, 0, all}));
}

TEST_P(StoreContract, KeepsValuesOfAMegabyte) {
  std::string value(1 << 20, 'x');
  for (std::size_t i = 0; i < value.size(); i += 97) value[i] = static_cast<char>(i);
  put("big", value);
  EXPECT_EQ(get("big")->value, value);
}

TEST_P(StoreContract, RefusesAnEmptyKeyAloneInItsGroup) {
  EXPECT_THROW(put("", "x"), Error);
  EXPECT_EQ(put("a", "x").revision, 1);
}

TEST_P(StoreContract, TellsWatchersOncePerRevisionInOrder) {
  struct Seen {
    Revision revision;
    std::vector<std::string> changes;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> seen;
  put("w/before", "");
  const auto watch = store->watch(KeyRange::prefix("w/"), [&](Revision revision, const std::vector<Event>& events) {
    Seen entry{revision, {}};
    for (const auto& e : events) {
      EXPECT_EQ(e.key_value.mod_revision, revision);
      entry.changes.push_back((e.kind == Event::Kind::put ? "+" : "-") + e.key_value.key + e.key_value.value);
    }
    seen.push_back(entry);
  });
  run({{}, {Put{"w/1", "=a"}, Put{"other", ""}, Put{"w/2", "=b"}}, {}});
  put("other", "");
  run({{}, {Delete{KeyRange::prefix("w/")}, Put{"x", ""}}, {}});
  erase(KeyRange::prefix("w/"));
  put("w/1", "=c");
  EXPECT_EQ(seen, (std::vector<Seen>{{2, {"+w/1=a", "+w/2=b"}}, {4, {"-w/1", "-w/2", "-w/before"}}, {5, {"+w/1=c"}}}));
}

TEST_P(StoreContract, TellsWatchersRevisionsAndVersions) {
  std::vector<KeyValue> seen;
  const auto watch = store->watch(KeyRange::one("k"), [&](Revision, const std::vector<Event>& events) {
    for (const auto& e : events) seen.push_back(e.key_value);
  });
  put("k", "1");
  put("j", "1");
  put("k", "2");
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].create_revision, 1);
  EXPECT_EQ(seen[1].mod_revision, 3);
  EXPECT_EQ(seen[1].version, 2);
}

TEST_P(StoreContract, TellsAWatchBeforeTheCommitterAndByRevision) {
  std::vector<std::string> order;
  std::mutex mutex;
  const auto note = [&](std::string what) {
    const std::lock_guard lock(mutex);
    order.push_back(std::move(what));
  };
  const auto watch = store->watch(KeyRange::prefix(""), [&](Revision r, const auto&) { note(fmt::format("w{}", r)); });
  for (int i = 1; i <= 3; ++i)
    store->commit({{}, {Put{"k", "v"}}, {}},
                  [&](Store::CommitResult r) { note(fmt::format("d{}", std::get<Outcome>(r).revision)); });
  run({});
  EXPECT_EQ(order, (Keys{"w1", "d1", "w2", "d2", "w3", "d3"}));
}

TEST_P(StoreContract, IsSilentOnceAWatchIsGone) {
  int calls = 0;
  auto watch = store->watch(KeyRange::prefix(""), [&](Revision, const auto&) { ++calls; });
  put("a", "");
  watch.reset();
  put("a", "");
  EXPECT_EQ(calls, 1);
}

TEST_P(StoreContract, LetsAWatchEndItselfAndBeginAnother) {
  std::unique_ptr<Store::Watch> first, second;
  std::vector<Revision> seen;
  first = store->watch(KeyRange::prefix(""), [&](Revision, const auto&) {
    second = store->watch(KeyRange::prefix(""), [&](Revision r, const auto&) { seen.push_back(r); });
    first.reset();
  });
  put("a", "");
  put("a", "");
  put("a", "");
  EXPECT_EQ(seen, (std::vector<Revision>{2, 3}));
}

/// A directory for what a copy needs.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "underway-copy-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(path); }
  bool empty() const { return std::filesystem::is_empty(path); }
  std::string path;
};

/// Yields these.
inline std::function<std::optional<KeyValue>()> yielding(std::vector<KeyValue> all) {
  return [all = std::move(all), at = std::size_t{0}]() mutable {
    return at < all.size() ? std::optional(all[at++]) : std::nullopt;
  };
}

TEST_P(StoreContract, CopiesEveryKeyAsOfOneRevision) {
  put("b", "1");
  put("a", "2");
  put("b", "3");
  auto* whole = dynamic_cast<Whole*>(store.get());
  ASSERT_NE(whole, nullptr);
  std::vector<KeyValue> seen;
  const Scratch scratch;
  EXPECT_EQ(whole->copy(scratch.path, [&](KeyValue&& kv) { seen.push_back(std::move(kv)); }), 3);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].key, "a");
  EXPECT_EQ(seen[1].value, "3");
  EXPECT_EQ(seen[1].create_revision, 1);
  EXPECT_EQ(seen[1].mod_revision, 3);
  EXPECT_EQ(seen[1].version, 2);
  const auto refuse = [](KeyValue&&) { throw Error(Code::exhausted, "full"); };
  EXPECT_THROW(whole->copy(scratch.path, refuse), Error);
  EXPECT_TRUE(scratch.empty());
  EXPECT_EQ(put("c", "").revision, 4) << "it goes on";
}

TEST_P(StoreContract, ReplacesEverythingInOneCommitThatIsNewerThanAll) {
  put("old", "1");
  put("both", "1");
  auto* whole = dynamic_cast<Whole*>(store.get());
  ASSERT_NE(whole, nullptr);
  std::vector<std::string> told;
  const auto watch = store->watch(KeyRange::prefix(""), [&](Revision revision, const std::vector<Event>& events) {
    for (const auto& event : events) {
      EXPECT_EQ(event.key_value.mod_revision, revision);
      told.push_back((event.kind == Event::Kind::put ? "+" : "-") + event.key_value.key);
    }
  });
  EXPECT_EQ(whole->replace(40, yielding({{"both", "2", 7, 30, 4}, {"new", "2", 9, 9, 1}})), 41);
  EXPECT_EQ(store->revision(), 41);
  EXPECT_EQ(keys(KeyRange::prefix("")), (Keys{"both", "new"}));
  EXPECT_EQ(get("both")->value, "2");
  EXPECT_EQ(get("both")->create_revision, 7);
  EXPECT_EQ(get("both")->mod_revision, 41);
  EXPECT_EQ(get("both")->version, 4);
  EXPECT_EQ(put("new", "3").revision, 42);
  EXPECT_EQ(told, (Keys{"-both", "-old", "+both", "+new", "+new"}));
  EXPECT_EQ(whole->replace(0, yielding({})), 43) << "never back";
  EXPECT_TRUE(keys(KeyRange::prefix("")).empty());
}

TEST_P(StoreContract, KeepsWhatItHasWhenAReplacementFails) {
  put("a", "1");
  auto* whole = dynamic_cast<Whole*>(store.get());
  ASSERT_NE(whole, nullptr);
  int given = 0;
  const auto broken = [&]() -> std::optional<KeyValue> {
    if (++given == 3) throw Error(Code::invalid, "it ends here");
    return KeyValue{fmt::format("k{}", given), "", 1, 1, 1};
  };
  EXPECT_THROW(whole->replace(9, broken), Error);
  EXPECT_EQ(store->revision(), 1);
  EXPECT_EQ(keys(KeyRange::prefix("")), (Keys{"a"}));
  EXPECT_EQ(put("b", "1").revision, 2);
}

TEST_P(StoreContract, LetsCallbacksReadAndCommit) {
  std::promise<Outcome> done;
  store->commit({{}, {Put{"a", "1"}}, {}}, [&](Store::CommitResult) {
    EXPECT_EQ(store->range(KeyRange::one("a")).key_values.size(), 1u);
    EXPECT_EQ(store->revision(), 1);
    store->commit({{}, {Put{"a", "2"}}, {}}, [&](Store::CommitResult r) { done.set_value(std::get<Outcome>(r)); });
  });
  EXPECT_EQ(done.get_future().get().revision, 2);
}

TEST_P(StoreContract, CountsExactlyUnderConcurrentCompareAndPut) {
  constexpr int kThreads = 8, kEach = 8;
  put("n", "0");
  std::atomic<int> committed{0}, told{0};
  Revision last = 1;
  const auto watch = store->watch(KeyRange::one("n"), [&](Revision revision, const auto&) {
    EXPECT_EQ(revision, last + 1);
    last = revision;
    ++told;
  });
  const auto increment = [&] {
    for (int done = 0; done < kEach;) {
      const auto now = store->range(KeyRange::one("n")).key_values.at(0);
      const auto outcome = store->commit_and_wait(
          {{{"n", Compare::Target::mod_revision, Compare::Operator::equal, now.mod_revision, {}}},
           {Put{"n", std::to_string(std::stoi(now.value) + 1)}},
           {}});
      if (outcome.succeeded) ++done, ++committed;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(increment);
  for (auto& t : threads) t.join();
  EXPECT_EQ(committed, kThreads * kEach);
  EXPECT_EQ(get("n")->value, std::to_string(kThreads * kEach));
  EXPECT_EQ(told, kThreads * kEach);
  EXPECT_EQ(store->revision(), 1 + kThreads * kEach);
}

TEST_P(StoreContract, FinishesWhatWasSubmittedBeforeItGoes) {
  int done = 0;
  for (int i = 0; i < 3000; ++i)
    store->commit({{}, {Put{std::to_string(i), "v"}}, {}},
                  [&](Store::CommitResult r) { done += std::holds_alternative<Outcome>(r) ? 1 : 0; });
  store.reset();
  EXPECT_EQ(done, 3000);
}

}  // namespace underway::store::testing
