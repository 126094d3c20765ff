#include "store/sqlite_store.hpp"

#include "temporary_directory.hpp"

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <future>

namespace underway::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Transaction put_in_file(const std::string& key, const std::string& value) { return {{}, {Put{key, value}}, {}}; }

/// What opening throws.
Error refusal(const std::string& path) {
  try {
    const SqliteStore store(path);
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::internal, "it opened");
}

void run_sql(const std::string& path, const char* sql) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(raw);
  sqlite3_close(raw);
}

/// Runs `body` in a child that then dies without closing anything.
void in_dying_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(SqliteStore, KeepsKeysAndRevisionsOverAReopening) {
  const TemporaryDirectory directory;
  {
    SqliteStore store(directory.path("s.db"));
    store.commit_and_wait(put_in_file("a", "1"));
    store.commit_and_wait(put_in_file("a", "2"));
    store.commit_and_wait(put_in_file("gone", ""));
    store.commit_and_wait({{}, {Delete{KeyRange::one("gone")}}, {}});
  }
  EXPECT_FALSE(fs::exists(directory.path("s.db-wal"))) << "closing leaves one file and its lock";
  SqliteStore store(directory.path("s.db"));
  EXPECT_EQ(store.revision(), 4) << "also of deletions";
  const auto all = store.range(KeyRange::prefix(""));
  ASSERT_EQ(all.key_values.size(), 1u);
  EXPECT_EQ(all.key_values[0].create_revision, 1);
  EXPECT_EQ(all.key_values[0].mod_revision, 2);
  EXPECT_EQ(all.key_values[0].version, 2);
  EXPECT_EQ(store.commit_and_wait(put_in_file("b", "")).revision, 5);
}

TEST(SqliteStore, NamesTheProcessThatHasIt) {
  const TemporaryDirectory directory;
  const SqliteStore store(directory.path("s.db"));
  const Error error = refusal(directory.path("s.db"));
  EXPECT_EQ(error.code(), Code::conflict);
  EXPECT_THAT(error.text(), HasSubstr(fmt::format("s.db.lock' is held by process {}", ::getpid())));
}

TEST(SqliteStore, KeepsOtherProgramsOut) {
  const TemporaryDirectory directory;
  const SqliteStore store(directory.path("s.db"));
  const pid_t child = ::fork();
  if (child == 0) {  // POSIX locks are per process: only another one meets them
    sqlite3* raw = nullptr;
    sqlite3_open(directory.path("s.db").c_str(), &raw);
    ::_exit(sqlite3_exec(raw, "SELECT count(*) FROM kv", nullptr, nullptr, nullptr) == SQLITE_BUSY ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SqliteStore, SaysWhatIsWrongWithThePath) {
  const TemporaryDirectory directory;
  EXPECT_EQ(refusal(directory.path("absent/s.db")).code(), Code::not_found);
  EXPECT_THAT(refusal(directory.path("absent/s.db")).text(), HasSubstr("absent/s.db"));
  fs::create_directory(directory.path("s.db"));
  EXPECT_THAT(refusal(directory.path("s.db")).text(), HasSubstr("s.db"));
  EXPECT_NE(refusal("/proc/s.db").message(), "it opened");
}

TEST(SqliteStore, RefusesANewerSchemaUntouched) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("s.db");
  {
    SqliteStore(path).commit_and_wait(put_in_file("a", "1"));
  }
  run_sql(path, "PRAGMA user_version = 99");
  const Error error = refusal(path);
  EXPECT_EQ(error.code(), Code::unsupported);
  EXPECT_THAT(error.text(), HasSubstr("schema 99"));
  run_sql(path, "PRAGMA user_version = 1");
  EXPECT_EQ(SqliteStore(path).revision(), 1);
}

TEST(SqliteStore, RefusesTheDatabaseOfAnotherProgram) {
  const TemporaryDirectory directory;
  run_sql(directory.path("s.db"), "CREATE TABLE theirs (x)");
  EXPECT_EQ(refusal(directory.path("s.db")).code(), Code::invalid);
  std::ofstream(directory.path("text")) << "This is a letter to my aunt, and not a database at all.\n";
  EXPECT_EQ(refusal(directory.path("text")).code(), Code::internal);
}

TEST(SqliteStore, FindsDamageAfterAnUncleanEnd) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("s.db");
  in_dying_child([&] {
    auto* store = new SqliteStore(path, {.checkpoint_pages = 1});  // not closed: the child dies with it open
    Transaction transaction;
    for (int i = 0; i < 100; ++i) transaction.then.push_back(Put{fmt::format("key{}", i), std::string(2000, 'v')});
    store->commit_and_wait(std::move(transaction));
    store->commit_and_wait(put_in_file("last", ""));  // by now the first is in the database itself
  });
  fs::remove(path + "-wal");
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 20);
    file << std::string(4096 * 3, '\xa5');
  }
  const Error error = refusal(path);
  EXPECT_EQ(error.code(), Code::internal);
  EXPECT_THAT(error.text(), HasSubstr("damaged"));
  EXPECT_THAT(error.advice(), HasSubstr("backup"));
}

TEST(SqliteStore, FailsOnlyWhatDoesNotFitWhenFull) {
  const TemporaryDirectory directory;
  SqliteStore store(directory.path("s.db"), {.max_pages = 100});
  store.commit_and_wait(put_in_file("kept", std::string(100'000, 'k')));
  try {
    store.commit_and_wait({{}, {Put{"small", "s"}, Put{"big", std::string(400'000, 'b')}}, {}});
    FAIL() << "400 kB went into 400 kB of which 100 were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::exhausted);
    EXPECT_THAT(error.text(), HasSubstr("full"));
    EXPECT_FALSE(error.advice().empty());
  }
  EXPECT_EQ(store.revision(), 1);
  EXPECT_TRUE(store.range(KeyRange::one("small")).key_values.empty());
  store.commit_and_wait({{}, {Delete{KeyRange::one("kept")}}, {}});
  EXPECT_EQ(store.commit_and_wait(put_in_file("big", std::string(200'000, 'b'))).revision, 3) << "usable again";
}

TEST(SqliteStore, RefusesAValueOverItsBoundAlone) {
  const TemporaryDirectory directory;
  SqliteStore store(directory.path("s.db"), {.max_value_bytes = 1000});
  try {
    store.commit_and_wait(put_in_file("a", std::string(1001, 'a')));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::too_large);
  }
  EXPECT_EQ(store.commit_and_wait(put_in_file("a", std::string(1000, 'a'))).revision, 1);
}

TEST(SqliteStore, CommitsWhatWaitsAsOneGroup) {
  const TemporaryDirectory directory;
  SqliteStore store(directory.path("s.db"));
  constexpr int kCount = 2000;
  std::promise<void> first_arrived, filled;
  store.commit(put_in_file("first", ""), [&](Store::CommitResult) {
    first_arrived.set_value();
    filled.get_future().wait();  // the writer is busy while the queue fills
  });
  first_arrived.get_future().wait();
  for (int i = 0; i < kCount; ++i) store.commit(put_in_file(std::to_string(i), ""), [](Store::CommitResult) {});
  filled.set_value();
  store.commit_and_wait({});
  EXPECT_LE(store.statistics().groups, 1u + 5u) << "of at most 1,024 operations each";
  EXPECT_EQ(store.revision(), kCount + 1);
}

TEST(SqliteStore, KeepsTheWriteAheadLogShort) {
  const TemporaryDirectory directory;
  SqliteStore store(directory.path("s.db"), {.checkpoint_pages = 30});
  std::uintmax_t largest = 0;
  for (int i = 0; i < 100; ++i) {
    store.commit_and_wait(put_in_file(fmt::format("k{}", i % 10), std::string(10'000, 'x')));
    largest = std::max(largest, fs::file_size(directory.path("s.db-wal")));
  }
  EXPECT_GE(store.statistics().checkpoints, 5u);
  EXPECT_LT(largest, 60u * 4200u);
}

TEST(SqliteStore, BacksUpWhileItIsWritten) {
  const TemporaryDirectory directory;
  SqliteStore store(directory.path("s.db"));
  for (int i = 0; i < 20; ++i)  // 4 MB: more than one step of the backup
    store.commit_and_wait(
        {{}, {Put{fmt::format("l/{}", i), std::string(200'000, 'l')}, Put{fmt::format("r/{}", i), "r"}}, {}});
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 20; !stop; ++i)
      store.commit_and_wait({{}, {Put{fmt::format("l/{}", i), "l"}, Put{fmt::format("r/{}", i), "r"}}, {}});
  });
  store.backup(directory.path("copy.db"));
  stop = true;
  writer.join();
  SqliteStore copy(directory.path("copy.db"));
  const auto left = copy.range(KeyRange::prefix("l/")).key_values;
  EXPECT_GE(left.size(), 20u);
  EXPECT_EQ(left.size(), copy.range(KeyRange::prefix("r/")).key_values.size()) << "a transaction is whole or absent";
  EXPECT_EQ(copy.revision(), static_cast<Revision>(left.size())) << "its revision is that of its state";
  EXPECT_FALSE(fs::exists(directory.path("copy.db.partial")));
}

TEST(SqliteStore, SaysWhyABackupFailed) {
  const TemporaryDirectory directory;
  SqliteStore store(directory.path("s.db"));
  try {
    store.backup(directory.path("absent/copy.db"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_THAT(error.text(), HasSubstr("absent/copy.db"));
  }
  EXPECT_EQ(store.commit_and_wait(put_in_file("a", "")).revision, 1);
}

}  // namespace
}  // namespace underway::store
