// `ephemeral_disk`, while tasks run: no file system is asked to hold them to it, so what they have is measured.
#include <algorithm>

#include "base/text.hpp"
#include "node/allocation/allocation_runner.hpp"
#include "node/task/task_event.hpp"

namespace underway::node {
namespace {

// To measure a million files takes seconds of one core: that is a fiftieth of the time, at most.
constexpr Duration kPause = std::chrono::seconds(15), kLongestPause = std::chrono::minutes(10);
constexpr int kShare = 50;

}  // namespace

awaitable<void> AllocationRunner::watch_disk() {
  Duration pause = kPause;
  while (true) {
    while (dead()) co_await task_event_.wait();
    async::Event over;
    const auto timer = context_.runtime.after(pause, [&over] { over.notify_all(); });
    co_await over.wait();
    if (dead() || stopping_) continue;
    DiskUse use;
    Duration took{};
    co_await blocking(context_.runtime, [&use, &took, root = directory_.root()] {
      const auto begun = std::chrono::steady_clock::now();
      use = measure_disk(root);
      took = std::chrono::steady_clock::now() - begun;
    });
    pause = std::clamp<Duration>(took * kShare, kPause, kLongestPause);
    judge_disk(use);
  }
}

/// Not restarted here: what it has written is still there. Elsewhere it begins empty.
void AllocationRunner::judge_disk(const DiskUse& use) {
  const std::int64_t asked = group_of(*allocation_).ephemeral_disk.size_mb;
  if (use.bytes >> 20 <= static_cast<std::uint64_t>(asked) || dead() || stopping_) return;
  const auto has = [&](const auto& entry) {
    const auto it = use.parts.find(entry.first);
    return entry.second->dead() ? std::uint64_t{0} : it == use.parts.end() ? 1 : it->second + 1;
  };
  const auto most = std::ranges::max_element(runners_, {}, has);
  const auto& [name, runner] = *most;
  const std::string what =
      fmt::format("The allocation has {} on disk, its ephemeral_disk is {}: {} of it task '{}', {} what they share",
                  human_bytes(use.bytes), human_bytes(static_cast<std::uint64_t>(asked) << 20), human_bytes(has(*most)),
                  name, human_bytes(use.parts.contains("alloc") ? use.parts.at("alloc") : 0));
  const std::int64_t below = context_.options.enforce_disk_below;
  if (below >= 100 || use.free_percent < below) {
    runner->kill(event::make(protocol::event::kDiskExceeded, what), true);
  } else if (!std::exchange(told_of_disk_, true)) {
    tell_all(event::make(protocol::event::kDiskExceeded,
                         fmt::format("{}. It fails when less than {}% of the disk of the node are free", what, below)));
  }
}

}  // namespace underway::node
