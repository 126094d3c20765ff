#include "async/log_lines.hpp"

namespace underway::async {

LogLines::LogLines(Executor executor, log::Level lowest)
    : shared_(std::make_shared<Shared>(std::move(executor))),
      tap_(lowest, [shared = shared_](const log::Line& line) { take(shared, line); }) {}

void LogLines::take(const std::shared_ptr<Shared>& shared, const log::Line& line) {
  const std::lock_guard lock(shared->mutex);
  if (shared->lines.size() == kMost) {
    shared->lines.pop_front();
    ++shared->dropped;
  }
  shared->lines.push_back(line);
  if (std::exchange(shared->posted, true)) return;
  asio::post(shared->executor, [shared] {
    {
      const std::lock_guard again(shared->mutex);
      shared->posted = false;
    }
    shared->more.notify_all();
  });
}

std::optional<log::Line> LogLines::take_next() {
  const std::lock_guard lock(shared_->mutex);
  if (const std::size_t dropped = std::exchange(shared_->dropped, 0); dropped > 0) {
    const TimePoint time = shared_->lines.empty() ? TimePoint{} : shared_->lines.front().time;
    return log::Line{time, log::Level::warn, fmt::format("{} lines were lost: they are not read fast enough", dropped)};
  }
  if (shared_->lines.empty()) return std::nullopt;
  auto line = std::move(shared_->lines.front());
  shared_->lines.pop_front();
  return line;
}

awaitable<std::optional<log::Line>> LogLines::next(SteadyTime deadline) {
  const auto shared = shared_;
  while (true) {
    if (auto line = take_next()) co_return line;
    if (!co_await shared->more.wait_until(deadline)) co_return std::nullopt;
  }
}

}  // namespace underway::async
