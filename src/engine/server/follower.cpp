#include "server/follower.hpp"

#include "async/loop_clock.hpp"

namespace underway::server {
namespace {

/// The clock may be set while we sleep by another one.
constexpr Duration kLongestSleep = std::chrono::seconds(1);

}  // namespace

void Follower::look() {
  asked_ = true;
  woken_->notify_all();
}

bool Follower::is_due(const Tables& tables, bool anew) {
  if (!options_.due) return false;
  const TimePoint now = clock_.now();
  if (anew || now < asked_at_) due_ = options_.due(tables);
  asked_at_ = now;
  return due_ && *due_ <= now;
}

async::SteadyTime Follower::next_look(async::SteadyTime latest) const {
  if (!due_) return latest;
  return std::min(latest, async::deadline_in(std::min(*due_ - asked_at_, kLongestSleep)));
}

async::awaitable<void> Follower::wait_for_news() {
  const auto woken = woken_;
  if (!asked_ && options_.gather > Duration{0}) co_await async::sleep_for(options_.gather);
  const auto* tables = co_await writer_.settled();
  const auto pause = options_.again ? options_.again(*tables) : std::nullopt;
  const auto latest = pause ? async::deadline_in(*pause) : async::kNever;
  for (bool first = true;; first = false) {
    auto scopes = options_.scopes(*tables);
    if (asked_ || writer_.has_changed(scopes, seen_) || is_due(*tables, first) || async::LoopClock::now() >= latest)
      break;
    const auto waiter = writer_.wait(std::move(scopes), [woken] { woken->notify_all(); });
    co_await woken->wait_until(next_look(latest));
    tables = co_await writer_.settled();
  }
  asked_ = false;
  seen_ = tables->revision();
}

async::awaitable<void> Follower::wait_until_due() {
  const auto woken = woken_;
  if (!asked_ && options_.gather > Duration{0}) co_await async::sleep_for(options_.gather);
  const auto* tables = co_await writer_.settled();
  for (bool first = true; !asked_; first = false) {
    const bool changed = writer_.has_changed(options_.scopes(*tables), seen_);
    seen_ = tables->revision();
    if (is_due(*tables, first || changed)) break;
    co_await woken->wait_until(next_look(async::deadline_in(kLongestSleep)));
    tables = co_await writer_.settled();
  }
  asked_ = false;
}

}  // namespace underway::server
