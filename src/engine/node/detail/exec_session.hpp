#pragma once
/// @file
/// The pipes or the terminal of a command, as an ExecSession.

#include <deque>

#include "async/event.hpp"
#include "async/group.hpp"
#include "node/runtime.hpp"
#include "os/process/process.hpp"

namespace underway::node::detail {

class ChildSession final : public ExecSession {
 public:
  /// With `terminal`, it is both ends and the pipes are empty.
  ChildSession(const async::Executor& executor, os::Child child, os::Fd in, os::Fd out, os::Fd err, os::Fd terminal);

  awaitable<std::optional<Output>> read() override;
  awaitable<void> write(std::string bytes) override;
  void end_input() override;
  void resize(int width, int height) override;
  awaitable<TaskEnd> wait() override;
  void kill() override;

 private:
  /// Outlives the session until its pumps have noticed that they are cancelled.
  struct Outputs {
    std::deque<Output> queue;
    int open = 0;  ///< that have not ended
    bool given_up = false;
    async::Event changed;
  };
  static awaitable<void> pump(std::shared_ptr<os::Fd> from, bool error, std::shared_ptr<Outputs> outputs);

  os::Child child_;
  os::Fd in_;
  bool terminal_;
  bool waited_ = false;
  std::shared_ptr<Outputs> outputs_ = std::make_shared<Outputs>();
  async::TaskGroup pumps_;
};

}  // namespace underway::node::detail
