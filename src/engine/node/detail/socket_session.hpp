#pragma once
/// @file
/// The serial line of a virtual machine, as an ExecSession. Nobody is made to wait: what a guest says while its reader
/// is slow is left out, as on a line that nobody is on, so that a console that somebody has forgotten stops no machine.

#include <deque>

#include "async/event.hpp"
#include "async/group.hpp"
#include "node/runtime.hpp"
#include "os/fd.hpp"

namespace underway::node::detail {

class SocketSession final : public ExecSession {
 public:
  /// `line`: connected. `turn` is held as long as the session is there.
  SocketSession(const async::Executor& executor, os::Fd line, std::shared_ptr<void> turn);

  awaitable<std::optional<Output>> read() override;
  awaitable<void> write(std::string bytes) override;
  /// A line has no end of input.
  void end_input() override {}
  void resize(int, int) override {}
  /// Once the machine has ended; with success.
  awaitable<TaskEnd> wait() override;
  void kill() override;

 private:
  /// Outlives the session until its pump has noticed that it is cancelled.
  struct Line {
    os::Fd socket;
    std::deque<std::string> queue;
    std::uint64_t left_out = 0;  ///< bytes, since something was read last
    bool ended = false;
    async::Event changed;
  };
  static awaitable<void> pump(std::shared_ptr<Line> line);

  std::shared_ptr<Line> line_ = std::make_shared<Line>();
  std::shared_ptr<void> turn_;
  async::TaskGroup pumps_;
};

}  // namespace underway::node::detail
