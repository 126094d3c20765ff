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
  constexpr std::size_t kPiece = 64U << 10, kQueued = 64;  // 2 to 4 MiB
  auto& queue = line->queue;
  try {
    while (true) {
      std::string bytes = co_await read_some(line->socket.get());
      if (bytes.empty()) break;
      // A serial line comes in drops: counted one by one, a few hundred bytes would be too many.
      if (!queue.empty() && queue.back().size() + bytes.size() <= kPiece) {
        queue.back() += bytes;
      } else {
        if (queue.size() == kQueued) {
          line->left_out += queue.front().size();
          queue.pop_front();
        }
        queue.push_back(std::move(bytes));
      }
      line->changed.notify_all();
      // A guest that never falls silent must not have the loop for itself.
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
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
  // Beside what the guest says, so that a file that keeps it has nothing of ours in it.
  if (const auto left_out = std::exchange(line->left_out, 0))
    co_return Output{true, fmt::format("\r\n[{} bytes left out: they came faster than they were read]\r\n", left_out)};
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
