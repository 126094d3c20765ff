#include <sys/file.h>

#include <algorithm>
#include <atomic>
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

}  // namespace
}  // namespace underway::pool
