/// Children that commit are killed at random moments; what they had acknowledged must be there, whole.

#include "store/sqlite_store.hpp"

#include "temporary_directory.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

namespace underway::store {
namespace {

constexpr int kRounds = 25;
constexpr int kWriters = 4;
constexpr int kParts = 3;

std::string key(int round, int writer, int number, int part) {
  return fmt::format("t/{}/{}/{}/{}", round, writer, number, part);
}

/// Commits until it is killed; each transaction writes kParts keys, and is told to the pipe once acknowledged.
[[noreturn]] void commit_for_ever(const std::string& path, int round, int pipe) {
  SqliteStore store(path, {.checkpoint_pages = 64});
  const auto write_all = [&](int writer) {
    for (int number = 0;; ++number) {
      Transaction transaction;
      for (int part = 0; part < kParts; ++part)
        transaction.then.push_back(Put{key(round, writer, number, part), std::string(1 + number % 3000, 'v')});
      store.commit_and_wait(std::move(transaction));
      const int message[2] = {writer, number};
      if (::write(pipe, message, sizeof message) != sizeof message) ::_exit(1);
    }
  };
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) threads.emplace_back(write_all, writer);
  for (auto& thread : threads) thread.join();
  ::_exit(1);
}

/// Starts a child, kills it `after` its first acknowledgement, and returns the last acknowledged number per writer.
std::vector<int> acknowledged_until_killed(const std::string& path, int round, std::chrono::microseconds after) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    commit_for_ever(path, round, ends[1]);
  }
  ::close(ends[1]);
  pollfd readable{ends[0], POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 30'000), 1) << "the child committed nothing";
  std::this_thread::sleep_for(after);
  ::kill(child, SIGKILL);
  std::vector<int> last(kWriters, -1);
  int message[2];
  while (::read(ends[0], message, sizeof message) == sizeof message) {
    EXPECT_EQ(message[1], last[message[0]] + 1);
    last[message[0]] = message[1];
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
  return last;
}

TEST(SqliteStoreCrash, LosesNothingAcknowledgedAndTearsNothing) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("s.db");
  std::mt19937 random(20261121);
  std::int64_t acknowledged = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const auto after = std::chrono::microseconds(std::uniform_int_distribution(0, 120'000)(random));
    const auto last = acknowledged_until_killed(path, round, after);
    SqliteStore store(path);
    std::map<std::string, int> parts;  // of each transaction that left anything
    for (const auto& kv : store.range(KeyRange::prefix(fmt::format("t/{}/", round))).key_values)
      ++parts[kv.key.substr(0, kv.key.rfind('/'))];
    for (const auto& [transaction, count] : parts) EXPECT_EQ(count, kParts) << transaction << " is torn";
    for (int writer = 0; writer < kWriters; ++writer) {
      for (int number = 0; number <= last[writer]; ++number, ++acknowledged)
        EXPECT_TRUE(parts.contains(fmt::format("t/{}/{}/{}", round, writer, number))) << writer << " lost " << number;
    }
    const auto newest = store.revision();
    EXPECT_EQ(store.commit_and_wait({{}, {Put{"after", ""}}, {}}).revision, newest + 1);
  }
  RecordProperty("acknowledged", static_cast<int>(acknowledged));
  EXPECT_GT(acknowledged, kRounds);
}

constexpr int kReplacedKeys = 400;

/// Replaces everything by keys of one generation after the other, until it is killed.
[[noreturn]] void replace_for_ever(const std::string& path, int pipe) {
  SqliteStore store(path, {.checkpoint_pages = 64});
  for (int generation = 1;; ++generation) {
    int made = 0;
    store.replace(0, [&]() -> std::optional<KeyValue> {
      if (made == kReplacedKeys + generation % 7) return std::nullopt;
      return KeyValue{fmt::format("k/{:04}", made++), std::to_string(generation), 1, 1, 1};
    });
    if (::write(pipe, &generation, sizeof generation) != sizeof generation) ::_exit(1);
  }
}

TEST(SqliteStoreCrash, HasTheOldOrTheNewStateAfterAReplacementAndNeverAMixture) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("s.db");
  std::mt19937 random(20261122);
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      replace_for_ever(path, ends[1]);
    }
    ::close(ends[1]);
    pollfd readable{ends[0], POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, 30'000), 1) << "the child replaced nothing";
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(0, 60'000)(random)));
    ::kill(child, SIGKILL);
    int acknowledged = 0, generation = 0;
    while (::read(ends[0], &generation, sizeof generation) == sizeof generation) acknowledged = generation;
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    SqliteStore store(path);
    const auto all = store.range(KeyRange::prefix("")).key_values;
    ASSERT_FALSE(all.empty());
    const int found = std::stoi(all.front().value);
    EXPECT_GE(found, acknowledged);
    EXPECT_EQ(all.size(), static_cast<std::size_t>(kReplacedKeys + found % 7));
    for (const auto& kv : all) {
      EXPECT_EQ(kv.value, all.front().value) << kv.key;
      EXPECT_EQ(kv.mod_revision, store.revision());
    }
  }
}

}  // namespace
}  // namespace underway::store
