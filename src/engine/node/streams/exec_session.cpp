#include "node/detail/exec_session.hpp"

#include <signal.h>

#include "base/error.hpp"
#include "node/kernel_runtime.hpp"

namespace underway::node::detail {

ChildSession::ChildSession(const async::Executor& executor, os::Child child, os::Fd in, os::Fd out, os::Fd err,
                           os::Fd terminal)
    : child_(std::move(child)), terminal_(static_cast<bool>(terminal)), pumps_(executor, "exec") {
  std::shared_ptr<os::Fd> first, second;
  if (terminal_) {
    in_ = terminal.duplicate();
    first = std::make_shared<os::Fd>(std::move(terminal));
  } else {
    in_ = std::move(in);
    first = std::make_shared<os::Fd>(std::move(out));
    second = std::make_shared<os::Fd>(std::move(err));
  }
  os::set_nonblocking(in_, true);
  for (const auto& output : {first, second}) {
    if (!output) continue;
    os::set_nonblocking(*output, true);
    ++outputs_->open;
    pumps_.spawn("output", pump(output, output == second, outputs_));
  }
}

awaitable<void> ChildSession::pump(std::shared_ptr<os::Fd> from, bool error, std::shared_ptr<Outputs> outputs) {
  // A reader that is slow stops the command, not us.
  constexpr std::size_t kQueued = 16;
  try {
    while (true) {
      while (outputs->queue.size() >= kQueued) co_await outputs->changed.wait();
      std::string bytes = co_await read_some(from->get());
      if (bytes.empty()) break;
      outputs->queue.push_back({error, std::move(bytes)});
      outputs->changed.notify_all();
    }
  } catch (const Error&) {
    // The command is gone; its end says how.
  }
  --outputs->open;
  outputs->changed.notify_all();
}

awaitable<std::optional<ExecSession::Output>> ChildSession::read() {
  const std::shared_ptr<Outputs> outputs = outputs_;
  while (outputs->queue.empty() && outputs->open > 0 && !outputs->given_up) co_await outputs->changed.wait();
  if (outputs->queue.empty()) co_return std::nullopt;
  Output output = std::move(outputs->queue.front());
  outputs->queue.pop_front();
  outputs->changed.notify_all();
  co_return output;
}

awaitable<void> ChildSession::write(std::string bytes) {
  if (in_) co_await write_fully(in_.get(), std::move(bytes));
}

void ChildSession::end_input() {
  // A terminal's end of input is a character (termios(3), VEOF), not a hang-up.
  if (terminal_) {
    const char end_of_transmission = 4;
    if (in_) (void)!::write(in_.get(), &end_of_transmission, 1);
    return;
  }
  in_.reset();
}

void ChildSession::resize(int width, int height) {
  if (terminal_ && in_ && width > 0 && height > 0)
    os::resize_terminal(in_, static_cast<unsigned short>(height), static_cast<unsigned short>(width));
}

awaitable<TaskEnd> ChildSession::wait() {
  co_await readable(child_.pidfd().fd().get());
  const os::ExitStatus status = child_.wait();
  waited_ = true;
  TaskEnd end;
  end.exit_code = status.signal != 0 ? 128 + status.signal : status.code;
  end.signal = status.signal;
  co_return end;
}

void ChildSession::kill() {
  // It leads a process group of its own: its children go with it. Until it is waited for, nobody else has its number.
  if (!waited_) (void)::kill(-child_.pid(), SIGKILL);
  child_.signal(SIGKILL);
  // One that has left the group may hold the pipes for ever.
  outputs_->given_up = true;
  outputs_->changed.notify_all();
}

}  // namespace underway::node::detail
