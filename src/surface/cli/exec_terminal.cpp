#include "cli/exec_terminal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <optional>

#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int resize_pipe[2] = {-1, -1};

void on_resize(int) {
  // The pipe does not block; a full one already tells of a change.
  [[maybe_unused]] const auto ignored = ::write(resize_pipe[1], "w", 1);
}

/// Raw mode for as long as it lives.
class RawMode {
 public:
  RawMode() {
    if (::tcgetattr(0, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    changed_ = ::tcsetattr(0, TCSADRAIN, &raw) == 0;
  }
  ~RawMode() {
    if (changed_) ::tcsetattr(0, TCSADRAIN, &before_);
  }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

 private:
  termios before_{};
  bool changed_ = false;
};

}  // namespace

int run_in_terminal(sdk::ExecSession session, bool interactive,
                    const std::function<int(const sdk::ExecSession&)>& start) {
  if (!interactive) session.in = -1;
  std::optional<RawMode> raw;
  if (session.tty && is_terminal(0)) {
    raw.emplace();
    session.window = [] { return terminal_size(0); };
    if (::pipe2(resize_pipe, O_CLOEXEC | O_NONBLOCK) == 0) {
      session.resized = resize_pipe[0];
      struct sigaction action{};
      action.sa_handler = on_resize;
      action.sa_flags = SA_RESTART;
      ::sigaction(SIGWINCH, &action, nullptr);
    }
  }
  return start(session);
}

}  // namespace underway::cli
