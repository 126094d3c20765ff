#include "server/job/periodic.hpp"

#include "base/log.hpp"
#include "server/job/start_decisions.hpp"

namespace underway::server {
namespace {

/// A wall clock may jump while we sleep by another one.
constexpr auto kLongestSleep = std::chrono::seconds(1);

async::awaitable<void> start_what_is_due(Writer& writer) {
  const auto launches = co_await writer.apply(StartDueJobs{});
  for (const auto& text : launches.trouble) log::warn("server: {}", text);
  for (const auto& id : launches.started) log::info("server: started '{}' by the clock", id);
  for (const auto& id : launches.skipped)
    log::info("server: periodic job '{}' was due and not started: it prohibits overlap, and a child still runs", id);
}

}  // namespace

async::awaitable<void> start_by_the_clock(Writer& writer, const Clock& clock) {
  model::Revision seen = -1;
  TimePoint looked{};
  std::optional<TimePoint> due;
  while (true) {
    const auto* tables = co_await writer.settled();
    const TimePoint now = clock.now();
    // Asked anew when a record changed, and when the clock was set back.
    const auto revision = tables->revision_of(tables::records_scope());
    if (revision != seen || !due || now < looked) due = next_launch(*tables, now);
    seen = revision;
    looked = now;
    if (!due || *due > now) {
      const Duration pause =
          due ? std::clamp<Duration>(*due - now, std::chrono::milliseconds(1), kLongestSleep) : Duration(kLongestSleep);
      co_await async::sleep_for(pause);
      continue;
    }
    std::optional<std::string> failure;
    try {
      co_await start_what_is_due(writer);
    } catch (const Error& error) {
      failure = error.one_line();
    }
    if (!failure) continue;
    log::error("server: periodic jobs are not started, trying again in 1 s: {}", *failure);
    co_await async::sleep_for(kLongestSleep);
  }
}

}  // namespace underway::server
