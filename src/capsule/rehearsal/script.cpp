#include "rehearsal/detail/script.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::rehearsal::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kKept = 8192;
constexpr int kTookTooLong = 124;  // as timeout(1)
constexpr auto kScriptLookEvery = milliseconds{100};

/// Takes what has come; false at the end.
bool take(const os::Fd& from, std::string& said) {
  char buffer[4096];
  const auto size = ::read(from.get(), buffer, sizeof buffer);
  if (size <= 0) return size < 0 && (errno == EAGAIN || errno == EINTR);
  said.append(buffer, static_cast<std::size_t>(size));
  if (said.size() > 2 * kKept) said.erase(0, said.size() - kKept);
  return true;
}

/// Both streams of a command as they come, until it has ended.
class Listener {
 public:
  explicit Listener(driver::ExecSession& session) : session_(session) {
    session.in.reset();
    os::set_nonblocking(session.out, true);
    os::set_nonblocking(session.err, true);
  }

  /// True when the command has ended.
  bool listen() {
    std::array<pollfd, 3> waiting = {pollfd{session_.child.pidfd().fd().get(), POLLIN, 0},
                                     pollfd{session_.out.get(), POLLIN, 0}, pollfd{session_.err.get(), POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(kScriptLookEvery.count())) <= 0) return false;
    if ((waiting[1].revents != 0) && !take(session_.out, said)) session_.out.reset();
    if ((waiting[2].revents != 0) && !take(session_.err, said)) session_.err.reset();
    return waiting[0].revents != 0;
  }
  /// What was said last; who holds the streams still is not waited for.
  void finish() {
    for (const auto* stream : {&session_.out, &session_.err}) {
      while (*stream && os::wait_for(stream->get(), POLLIN, 0) && take(*stream, said)) {
      }
    }
  }

  std::string said;

 private:
  driver::ExecSession& session_;
};

}  // namespace

std::string tail_of(std::string_view text, std::size_t limit) {
  text = trim(text);
  if (text.size() > limit) {
    text.remove_prefix(text.size() - limit);
    if (const auto line = text.find('\n'); line != std::string_view::npos && line < limit / 2)
      text.remove_prefix(line + 1);
    while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80) text.remove_prefix(1);
  }
  std::string out(text);
  if (is_utf8(out)) return out;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return out;
}

model::RehearsalFinding run_inside(driver::TaskHandle& clone, const std::string& name,
                                   const std::vector<std::string>& command, Duration patience,
                                   const std::function<void()>& check_cancelled) {
  model::RehearsalFinding finding{.name = name};
  const auto since = steady_clock::now();
  const auto took = [&] { return std::chrono::duration_cast<Duration>(steady_clock::now() - since); };
  try {
    auto session = clone.exec({.argv = command});
    Listener listener(session);
    bool in_time = true;
    while (!listener.listen()) {
      check_cancelled();
      in_time = took() < patience;
      if (in_time) continue;
      ::kill(-session.child.pid(), SIGKILL);  // it leads a session of its own
      session.child.kill();
      break;
    }
    listener.finish();
    const auto status = in_time ? session.child.wait() : os::ExitStatus{.code = kTookTooLong};
    finding.result = status.signal != 0 ? 128 + status.signal : status.code;
    finding.output = tail_of(listener.said);
    if (!in_time) finding.output += fmt::format("\nit did not end within {}", human_duration(patience));
  } catch (const Error& e) {
    if (e.code() == Code::unavailable) throw;  // cancelled
    finding.result = e.code() == Code::not_found ? 127 : 126;
    finding.output = tail_of(e.one_line());
  }
  finding.passed = finding.result == 0;
  finding.took = took();
  return finding;
}

}  // namespace underway::rehearsal::detail
