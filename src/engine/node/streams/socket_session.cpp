#include "node/detail/socket_session.hpp"

#include <sys/socket.h>

#include "base/error.hpp"
#include "node/kernel_runtime.hpp"

namespace underway::node::detail {

SocketSession::SocketSession(const async::Executor& executor, os::Fd line, std::shared_ptr<void> turn)
    : turn_(std::move(turn)), pumps_(executor, "console") {
  os::set_nonblocking(line, true);
  line_->socket = std::move(line);
  pumps_.spawn("output", pump(line_));
}

awaitable<void> SocketSession::pump(std::shared_ptr<Line> line) {
  constexpr std::size_t kQueued = 64;  // pieces of at most 64 KiB
  try {
    while (true) {
      std::string bytes = co_await read_some(line->socket.get());
      if (bytes.empty()) break;
      if (line->queue.size() == kQueued) {
        line->left_out += line->queue.front().size();
        line->queue.pop_front();
      }
      line->queue.push_back(std::move(bytes));
      line->changed.notify_all();
    }
  } catch (const Error&) {
    // Its QEMU is gone; the task's end says how.
  }
  line->ended = true;
  line->changed.notify_all();
}

awaitable<std::optional<ExecSession::Output>> SocketSession::read() {
  const std::shared_ptr<Line> line = line_;
  while (line->queue.empty() && !line->ended) co_await line->changed.wait();
  if (const auto left_out = std::exchange(line->left_out, 0))
    co_return Output{false, fmt::format("\r\n[{} bytes were not read in time, and are in the log]\r\n", left_out)};
  if (line->queue.empty()) co_return std::nullopt;
  Output output{false, std::move(line->queue.front())};
  line->queue.pop_front();
  co_return output;
}

awaitable<void> SocketSession::write(std::string bytes) {
  if (!line_->ended) co_await write_fully(line_->socket.get(), std::move(bytes));
}

awaitable<TaskEnd> SocketSession::wait() {
  const std::shared_ptr<Line> line = line_;
  while (!line->ended) co_await line->changed.wait();
  co_return TaskEnd{};
}

void SocketSession::kill() {
  ::shutdown(line_->socket.get(), SHUT_RDWR);
  line_->ended = true;
  line_->changed.notify_all();
}

}  // namespace underway::node::detail
