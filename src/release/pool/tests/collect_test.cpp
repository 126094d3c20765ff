#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/text.hpp"
#include "fixture.hpp"

namespace underway::pool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Digest> sorted(std::vector<Digest> digests) {
  std::ranges::sort(digests);
  return digests;
}

/// The kernel's clock of files is coarse: until it shows another moment than `since`.
void wait_for_another_moment(const std::string& directory, std::int64_t since) {
  for (std::int64_t now = since; now == since;) {
    os::write_file(directory + "/tick", "", 0644, {}, os::Durability::cached);
    struct stat st{};
    ::stat((directory + "/tick").c_str(), &st);
    now = st.st_ctim.tv_sec * 1'000'000'000 + st.st_ctim.tv_nsec;
  }
}
std::int64_t changed_at(const std::string& path) {
  struct stat st{};
  EXPECT_EQ(::stat(path.c_str(), &st), 0);
  return st.st_ctim.tv_sec * 1'000'000'000 + st.st_ctim.tv_nsec;
}

TEST_F(Pools, CollectWhatNobodyRefersToAfterItsGrace) {
  const auto p = pool();
  const auto a = p.add_bytes("a").digest, b = p.add_bytes("bb").digest, c = p.add_bytes("ccc").digest;
  const auto now = os::file_clock_now();
  EXPECT_THAT(p.collect(std::vector{b}, kHour, now).files, IsEmpty());
  const auto freed = p.collect(sorted({b}), kHour, now + 2 * kHour);
  EXPECT_EQ(sorted(freed.files), sorted({a, c}));
  EXPECT_EQ(freed.bytes, 4U);
  EXPECT_EQ(freed.parts, 0U);
  EXPECT_TRUE(p.has(b));
  EXPECT_FALSE(p.has(a));
  EXPECT_THAT(p.collect({}, kHour, now + 2 * kHour).files, ElementsAre(b));
}

TEST_F(PoolsOnDisk, LeaveWhatWasHeldThoughItIsOld) {
  const auto p = pool();
  const auto a = p.add_bytes("a").digest, b = p.add_bytes("b").digest, c = p.add_bytes("c").digest;
  struct stat before{}, after{};
  ASSERT_EQ(::stat(p.path_of(a).c_str(), &before), 0);
  wait_for_another_moment(directory_,
                          std::max({changed_at(p.path_of(a)), changed_at(p.path_of(b)), changed_at(p.path_of(c))}));
  EXPECT_TRUE(p.hold(a));
  EXPECT_FALSE(p.add_bytes("b").is_new);
  const auto held = from_unix_nanos(std::min(changed_at(p.path_of(a)), changed_at(p.path_of(b))));
  EXPECT_THAT(p.collect({}, kHour, held + kHour - std::chrono::nanoseconds(1)).files, ElementsAre(c));
  ASSERT_EQ(::stat(p.path_of(a).c_str(), &after), 0);
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec) << "its date for web servers is what it was";
  EXPECT_FALSE(p.hold(c));
  EXPECT_THAT(p.hold(std::vector{a, c}), ElementsAre(c));
  EXPECT_EQ(p.collect({}, kHour, from_unix_nanos(std::max(changed_at(p.path_of(a)), changed_at(p.path_of(b)))) + kHour)
                .files.size(),
            2U);
}

/// Whether somebody waits for the lock of a file (proc(5): locks).
bool is_waited_for(std::uint64_t inode) {
  for (const auto& line : split(os::read_file("/proc/locks"), '\n'))
    if (line.find("-> FLOCK") != std::string::npos && line.find(":" + std::to_string(inode) + " ") != std::string::npos)
      return true;
  return false;
}

TEST_F(Pools, SeeWhatWasHeldWhileTheyWaitedForIt) {
  const auto p = pool();
  const auto a = p.add_bytes("a").digest;
  const auto added = changed_at(p.path_of(a));
  wait_for_another_moment(directory_, added);
  const auto shard = at("pool/sha256/" + to_hex(a).substr(0, 2));
  const auto directory = os::open_directory(shard);
  ASSERT_EQ(::flock(directory.get(), LOCK_EX), 0);
  std::atomic<bool> done = false;
  std::jthread collector([&] {
    p.collect({}, kHour, from_unix_nanos(added) + kHour);
    done = true;
  });
  while (!done && !is_waited_for(inode_of(shard))) std::this_thread::yield();
  // As another process holds it, which has the lock.
  EXPECT_EQ(::chmod(p.path_of(a).c_str(), 0444), 0);
  ::flock(directory.get(), LOCK_UN);
  collector.join();
  EXPECT_TRUE(p.has(a));
}

TEST_F(Pools, CountNoBytesThatOtherLinksKeep) {
  const auto p = pool();
  const auto a = p.add_bytes("aaaa").digest;
  os::make_directories(at("tree"));
  p.link_into(a, at("tree"), "a");
  const auto file = p.open(p.add_bytes("open").digest);
  const auto freed = p.collect({}, {}, os::file_clock_now() + kHour);
  EXPECT_EQ(freed.files.size(), 2U);
  EXPECT_EQ(freed.bytes, 4U);
  EXPECT_EQ(os::read_file(at("tree/a")), "aaaa");
  EXPECT_EQ(text_of(file), "open");
}

TEST_F(Pools, CollectPartsThatNobodyGoesOnWith) {
  const auto p = pool();
  p.receive({.digest = digest_of("a"), .size = 1}).append(0, "x");
  auto held = p.receive({.digest = digest_of("bb"), .size = 2});
  held.append(0, "b");
  const auto now = os::file_clock_now();
  EXPECT_EQ(p.collect({}, kHour, now).parts, 0U);
  const auto freed = p.collect({}, kHour, now + 2 * kHour);
  EXPECT_EQ(freed.parts, 1U);
  EXPECT_EQ(freed.bytes, 1U);
  held.append(1, "b");
  held.finish();
  EXPECT_TRUE(p.has(digest_of("bb"))) << "whoever is at it is not disturbed, however long it takes";
}

TEST_F(Pools, CollectNothingByAListThatIsNotSorted) {
  const auto p = pool();
  auto digests = sorted({p.add_bytes("a").digest, p.add_bytes("b").digest});
  std::swap(digests[0], digests[1]);
  EXPECT_THAT(failure_of([&] { p.collect(digests, {}, os::file_clock_now() + kHour); }), HasSubstr("not sorted"));
  EXPECT_TRUE(p.has(digests[0]) && p.has(digests[1]));
}

/// So many that most are old when they are held again, and a grace so short that collectors always find some.
constexpr int kTexts = 3000;
constexpr Duration kGrace = std::chrono::milliseconds(20);
constexpr std::size_t kEnough = 2000;  // files that were collected

/// The rule of pool.hpp: holds or adds one, calls `use` within half of the grace, or holds it again.
template <class Use, class Unuse>
Digest use_one(const Pool& p, std::mt19937& random, Use&& use, Unuse&& unuse) {
  const std::string text = "text " + std::to_string(random() % kTexts);
  const auto digest = digest_of(text);
  for (;;) {
    const auto begin = std::chrono::steady_clock::now();
    if (!p.hold(digest)) p.add_bytes(text);
    use(digest);
    if (std::chrono::steady_clock::now() - begin < kGrace / 2) return digest;
    unuse(digest);
  }
}

TEST_F(Pools, LoseNothingToCollectorsWhileThreadsAdd) {
  const auto p = pool();
  std::mutex mutex;
  std::multiset<Digest> used;
  std::atomic<int> lost = 0;
  std::atomic<std::size_t> freed = 0;
  const auto use = [&](const Digest& digest) {
    const std::lock_guard lock(mutex);
    used.insert(digest);
  };
  const auto unuse = [&](const Digest& digest) {
    const std::lock_guard lock(mutex);
    used.erase(used.find(digest));
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      while (freed < kEnough) {
        const auto digest = use_one(p, random, use, unuse);
        for (int look = 0; look < 20; ++look) lost += !p.has(digest);
        unuse(digest);
      }
    });
  for (int collector = 0; collector < 2; ++collector)
    threads.emplace_back([&] {
      while (freed < kEnough) {
        const auto now = os::file_clock_now();
        std::vector<Digest> in_use;
        {
          const std::lock_guard lock(mutex);
          in_use.assign(used.begin(), used.end());
        }
        freed += p.collect(in_use, kGrace, now).files.size();
      }
    });
  threads.clear();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(parts(), 0U);
  expect_sound(p);
}

TEST_F(Pools, LoseNothingToCollectorsWhileProcessesAdd) {
  const auto p = pool();
  // What is used is a file with its name: it is there as a whole from one moment on.
  os::make_directories(at("used"));
  std::vector<pid_t> adders;
  for (unsigned t = 0; t < 3; ++t)
    adders.push_back(in_child([&] {
      const auto mine = pool();
      std::mt19937 random(t);
      const auto name = [&](const Digest& digest) { return at("used/" + to_hex(digest) + "-" + std::to_string(t)); };
      const auto use = [&](const Digest& digest) { os::open_file(name(digest), O_CREAT | O_WRONLY); };
      const auto unuse = [&](const Digest& digest) { ::unlink(name(digest).c_str()); };
      while (!os::exists(at("enough"))) {
        const auto digest = use_one(mine, random, use, unuse);
        for (int look = 0; look < 20; ++look)
          if (!mine.has(digest)) ::_exit(9);
        unuse(digest);
      }
    }));
  for (std::size_t freed = 0; freed < kEnough;) {
    const auto now = os::file_clock_now();
    std::vector<Digest> in_use;
    for (const auto& entry : os::list_directory(at("used"))) in_use.push_back(*parse_hex(entry.name.substr(0, 64)));
    freed += p.collect(in_use, kGrace, now).files.size();
  }
  os::write_file(at("enough"), "");
  for (const pid_t adder : adders) EXPECT_EQ(status_of(adder), 0) << "9 << 8: a file that was used is gone";
  expect_sound(p);
}

}  // namespace
}  // namespace underway::pool
