#include "cli/alloc/exec_terminal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.hpp"
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

std::optional<char> escape_of(const Arguments& arguments) {
  const std::string given = arguments.get("e", "~");
  if (given == "none") return std::nullopt;
  if (given.size() != 1) throw Error(Code::invalid, fmt::format("-e '{}' is no character", given));
  return given.front();
}

std::optional<std::string> EscapeFilter::pass(std::string_view typed) {
  std::string out;
  for (const char c : typed) {
    if (at_ == Indexed::escaped && c == '.') return std::nullopt;
    if (at_ == Indexed::beginning && c == escape_) {
      at_ = Indexed::escaped;
      continue;
    }
    if (at_ == Indexed::escaped && c != escape_) out += escape_;
    out += c;
    at_ = c == '\n' || c == '\r' ? Indexed::beginning : Indexed::within;
  }
  return out;
}

std::optional<std::string> typed_to_console(std::string_view typed) {
  constexpr char kLeave = 0x1d;  // a terminal sends it for Ctrl-]
  if (typed.find(kLeave) != std::string_view::npos) return std::nullopt;
  return std::string(typed);
}

int run_in_terminal(sdk::ExecSession session, bool interactive, std::optional<char> escape,
                    const std::function<int(const sdk::ExecSession&)>& start) {
  if (!interactive) session.in = -1;
  std::optional<RawMode> raw;
  bool closed = false;
  if (session.tty && escape) {
    session.filter = [filter = EscapeFilter(*escape), &closed](std::string_view typed) mutable {
      auto passed = filter.pass(typed);
      closed = !passed;
      return passed;
    };
  }
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
  try {
    return start(session);
  } catch (const Error&) {
    if (!closed) throw;
  }
  raw.reset();
  say("\nConnection closed");
  return kFailed;
}

}  // namespace underway::cli
