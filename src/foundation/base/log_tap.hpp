#pragma once
/// @file
/// Listens to what this process logs, beside standard error: for those who watch from afar.

#include <functional>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace underway::log {

struct Line {
  TimePoint time{};
  Level level = Level::info;
  std::string message;
};

/// "2026-11-21T11:40:00.123Z info elected"; as JSON {"@timestamp","@level","@message"}, Nomad's names. No newline.
std::string text_of(const Line& line);
std::string json_of(const Line& line);

class Tap {
 public:
  /// From now on every line of `lowest` or above comes to `take`, also those that standard error does not show. `take`
  /// is called by whoever logs, on any thread and one at a time: it must be quick, and must not log.
  Tap(Level lowest, std::function<void(const Line&)> take);
  /// When it returns, `take` is not running and is not called again.
  ~Tap();
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;
};

}  // namespace underway::log
