#pragma once
/// @file
/// The log of this process as a stream for one who reads on a loop, and perhaps slowly.

#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "async/event.hpp"
#include "base/log_tap.hpp"

namespace underway::async {

/// Keeps the newest lines for a reader that is behind, and tells how many it has lost.
class LogLines {
 public:
  /// Lines kept. Source: the buffer of Nomad's monitor.
  static constexpr std::size_t kMost = 512;

  LogLines(Executor executor, log::Level lowest);
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

  /// The next line; nothing when `deadline` comes first. Thread: the loop's, one reader.
  awaitable<std::optional<log::Line>> next(SteadyTime deadline);

 private:
  /// What loggers reach, on any thread.
  struct Shared {
    explicit Shared(Executor own) : executor(std::move(own)) {}
    Executor executor;
    std::mutex mutex;
    std::deque<log::Line> lines;
    std::size_t dropped = 0;
    bool posted = false;  ///< the loop is about to look
    Event more;           ///< the loop's
  };
  static void take(const std::shared_ptr<Shared>& shared, const log::Line& line);
  std::optional<log::Line> take_next();

  std::shared_ptr<Shared> shared_;
  log::Tap tap_;
};

}  // namespace underway::async
