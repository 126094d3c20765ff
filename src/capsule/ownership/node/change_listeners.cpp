#include "ownership/node/detail/change_listeners.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::ownership::detail {
namespace {

using std::chrono::steady_clock;

/// Without a listener it is looked at, which costs more, so that is tried again.
constexpr auto kTryAgain = std::chrono::minutes(1);
/// One whose server has not asked for so long has moved away, or is not copied any more.
constexpr auto kForgotten = std::chrono::minutes(5);

}  // namespace

ChangeListener::ChangeListener(const std::string& upper)
    : id(fmt::format("{:x}", steady_clock::now().time_since_epoch().count())), listener(upper) {}

std::shared_ptr<ChangeListener> ChangeListeners::at(const std::string& upper) {
  const std::lock_guard lock(mutex_);
  const auto now = steady_clock::now();
  std::erase_if(slots_, [&](const auto& slot) { return now - slot.second.asked > kForgotten; });
  const auto [found, fresh] = slots_.try_emplace(upper);
  auto& slot = found->second;
  slot.asked = now;
  struct stat place = {};
  const std::pair<dev_t, ino_t> of =
      ::stat(upper.c_str(), &place) == 0 ? std::pair(place.st_dev, place.st_ino) : std::pair<dev_t, ino_t>();
  if (slot.of != of) slot.change_listener.reset();
  slot.of = of;
  if (slot.change_listener || (!fresh && now - slot.failed < kTryAgain)) return slot.change_listener;
  try {
    slot.change_listener = std::make_shared<ChangeListener>(upper);
  } catch (const Error& error) {
    if (fresh) log::warn("node: {}", error.one_line());
    slot.failed = now;
  }
  return slot.change_listener;
}

void ChangeListeners::give_up(const std::string& upper, const Error& error) {
  if (error.code() == Code::unavailable) return forget(upper);
  const std::lock_guard lock(mutex_);
  auto& slot = slots_[upper];
  if (std::exchange(slot.change_listener, nullptr)) log::warn("node: {}", error.one_line());
  slot.asked = slot.failed = steady_clock::now();
}

void ChangeListeners::forget(const std::string& upper) {
  const std::lock_guard lock(mutex_);
  slots_.erase(upper);
}

std::string Seen::text() const {
  return change_listener.empty() ? look : fmt::format("{} {} {}", look, change_listener, heard);
}

Seen Seen::parse(const std::string& text) {
  const auto parts = split(text, ' ');
  Seen seen;
  seen.look = parts[0];
  if (parts.size() != 3) return seen;
  seen.change_listener = parts[1];
  seen.heard = leading_number_or(parts[2], seen.heard);
  return seen;
}

}  // namespace underway::ownership::detail
