#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "fixture.hpp"

namespace underway::pool {
namespace {

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
