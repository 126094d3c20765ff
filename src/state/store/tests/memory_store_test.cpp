#include "store/memory_store.hpp"

namespace underway::store {
namespace {

Transaction put(const std::string& key, const std::string& value) { return {{}, {Put{key, value}}, {}}; }

TEST(MemoryStore, FailsOneGroupWholeWhenAsked) {
  MemoryStore store;
  store.commit_and_wait(put("a", "1"));
  store.fail_next_commit(Error(Code::exhausted, "disk full"));
  try {
    store.commit_and_wait({{}, {Put{"a", "2"}, Put{"b", "2"}, Delete{KeyRange::one("a")}, Put{"a", "3"}}, {}});
    FAIL() << "it was acknowledged";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::exhausted);
  }
  const auto left = store.range(KeyRange::prefix(""));
  ASSERT_EQ(left.key_values.size(), 1u);
  EXPECT_EQ(left.key_values[0].value, "1");
  EXPECT_EQ(left.key_values[0].version, 1);
  EXPECT_EQ(store.commit_and_wait(put("b", "2")).revision, 2);
}

TEST(MemoryStore, AcknowledgesNothingWhileHeld) {
  MemoryStore store;
  store.hold();
  std::atomic<int> done{0};
  for (int i = 0; i < 3; ++i) store.commit(put("a", "1"), [&](Store::CommitResult) { ++done; });
  EXPECT_TRUE(store.range(KeyRange::one("a")).key_values.empty()) << "a reader sees only what is durable";
  EXPECT_EQ(done, 0);
  EXPECT_EQ(store.waiting(), 3u);
  store.release();
  EXPECT_EQ(store.commit_and_wait({}).revision, 3);
  EXPECT_EQ(done, 3);
}

TEST(MemoryStore, TellsHeldCommittersThatItCloses) {
  std::vector<Code> codes;
  {
    MemoryStore store;
    store.hold();
    store.commit(put("a", "1"), [&](Store::CommitResult r) { codes.push_back(std::get<Error>(r).code()); });
  }
  EXPECT_EQ(codes, std::vector{Code::unavailable});
}

TEST(MemoryStore, MovesOnlyByStepsWhenAskedTo) {
  MemoryStore store(MemoryStore::Mode::stepped);
  std::vector<Revision> done, seen;
  const auto watch = store.watch(KeyRange::prefix(""), [&](Revision r, const auto&) { seen.push_back(r); });
  const auto note = [&](Store::CommitResult r) { done.push_back(std::get<Outcome>(r).revision); };
  store.commit(put("a", "1"), note);
  store.commit(put("a", "2"), note);
  EXPECT_TRUE(done.empty());
  EXPECT_TRUE(store.step());
  EXPECT_EQ(done, (std::vector<Revision>{1, 2}));
  EXPECT_EQ(seen, done);
  EXPECT_FALSE(store.step());
  EXPECT_EQ(store.range(KeyRange::one("a")).key_values.at(0).value, "2");
}

}  // namespace
}  // namespace underway::store
