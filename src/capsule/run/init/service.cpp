#include "run/init/service.hpp"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

namespace underway::run::init {
namespace {

constexpr int64_t kFirstPause = 100, kLongestPause = 10'000;
/// A service that ran this long has not failed in a row.
constexpr int64_t kStable = 10'000;
constexpr int64_t kFirstAsk = 5, kLongestAsk = 1'000;

void write_all(int fd, const char* text, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, text, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the keeper is gone, and we are about to be
    text += n;
    size -= static_cast<size_t>(n);
  }
}

}  // namespace

void say(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int size = vsnprintf(text, sizeof text - 1, format, arguments);
  va_end(arguments);
  if (size < 0) return;
  size_t length = static_cast<size_t>(size) < sizeof text - 1 ? static_cast<size_t>(size) : sizeof text - 2;
  text[length++] = '\n';
  constexpr const char kWho[] = "init: ";
  write_all(2, kWho, sizeof kWho - 1);
  write_all(2, text, length);
}

void LogLines::flush() {
  if (size_ == 0) return;
  // One write for a line: output and errors of several services stay whole lines.
  char text[sizeof line_ + 128];
  const int head = snprintf(text, 100, "%s: ", name_);
  const auto start = static_cast<size_t>(head > 0 && head < 100 ? head : 0);
  memcpy(text + start, line_, size_);
  text[start + size_] = '\n';
  write_all(out_, text, start + size_ + 1);
  size_ = 0;
}

void LogLines::drain() {
  char buffer[4096];
  for (int turn = 0; turn < 16; ++turn) {  // one that never stops talking shall not keep us from the others
    const ssize_t n = read(ends_[0], buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    for (ssize_t at = 0; at < n; ++at) {
      if (buffer[at] != '\n') line_[size_++] = buffer[at];
      if (buffer[at] == '\n' && size_ == 0) write_all(out_, "\n", 1);
      if (buffer[at] == '\n' || size_ == sizeof line_) flush();
    }
  }
}

const char* to_text(ServiceState state) {
  constexpr const char* kNames[] = {"waiting", "starting", "ready", "paused", "done", "failed", "stopping", "stopped"};
  static_assert(sizeof kNames / sizeof kNames[0] == static_cast<size_t>(ServiceState::stopped) + 1);
  return kNames[static_cast<int>(state)];
}

bool Service::begin(const ServiceSpec& spec, int attempts) {
  spec_ = &spec;
  attempts_ = attempts;
  since_ = now_ms();
  out_.begin(spec.name, 1);
  err_.begin(spec.name, 2);
  return out_.open() && err_.open();
}

void Service::enter(ServiceState state) {
  state_ = state;
  since_ = now_ms();
}

void Service::start() {
  start_at_ = 0;
  started_at_ = now_ms();
  pid_ = start_program(spec_->command, spec_->environment, spec_->user, out_.writing(), err_.writing());
  if (pid_ < 0) {
    say("%s: cannot be forked: %s", spec_->name, strerror(errno));
    pid_ = 0;
    pause_or_give_up();
    return;
  }
  if (spec_->ready.count == 0) {
    settled_at_ = started_at_ + kSettleMs;
    enter(ServiceState::ready);
    return;
  }
  enter(ServiceState::starting);
  ready_by_ = started_at_ + spec_->ready_ms;
  ask_pause_ = kFirstAsk;
  ask_at_ = started_at_ + ask_pause_;
}

void Service::kill_all() const {
  if (pid_ > 0) kill(-pid_, SIGKILL);
  if (pid_ > 0) kill(pid_, SIGKILL);
  if (ready_pid_ > 0) kill(-ready_pid_, SIGKILL);
}

bool Service::ended(pid_t pid, int status) {
  if (pid == ready_pid_) {
    ready_ended(status);
    return true;
  }
  if (pid != pid_) return false;
  main_ended(status);
  return true;
}

void Service::ready_ended(int status) {
  ready_pid_ = 0;
  if (state_ != ServiceState::starting) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    ask_at_ = 0;
    ready_by_ = 0;
    enter(ServiceState::ready);
    return;
  }
  ask_pause_ = ask_pause_ * 2 < kLongestAsk ? ask_pause_ * 2 : kLongestAsk;
  ask_at_ = now_ms() + ask_pause_;
}

void Service::main_ended(int status) {
  kill(-pid_, SIGKILL);  // what it left in its session would hold its ports and files
  if (ready_pid_ > 0) kill(-ready_pid_, SIGKILL);
  pid_ = 0;
  kill_at_ = ready_by_ = ask_at_ = settled_at_ = 0;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  out_.drain();
  err_.drain();
  out_.flush();
  err_.flush();
  if (state_ == ServiceState::stopping) {
    const bool as_asked = signal_ == spec_->stop_signal || code_ == 128 + spec_->stop_signal;
    if (signal_ == SIGKILL)
      say("%s: did not end in time and was killed", spec_->name);
    else if (!as_asked && (signal_ != 0 || code_ != 0))
      say("%s: did not end well: %s %d", spec_->name, signal_ != 0 ? "signal" : "exit code",
          signal_ != 0 ? signal_ : code_);
    enter(ServiceState::stopped);
    return;
  }
  if (restart_asked_) {
    restart_asked_ = false;
    ++restarts_;
    start();
    return;
  }
  const bool well = code_ == 0 && signal_ == 0;
  if (well && spec_->restart != Restart::always) {
    enter(ServiceState::done);
    return;
  }
  if (spec_->restart == Restart::never) {
    say("%s: ended with %s %d", spec_->name, signal_ != 0 ? "signal" : "exit code", signal_ != 0 ? signal_ : code_);
    enter(ServiceState::failed);
    return;
  }
  pause_or_give_up();
}

void Service::pause_or_give_up() {
  const int64_t now = now_ms();
  if (now - started_at_ >= kStable) {
    failures_ = 0;
    pause_ = 0;
  }
  ++failures_;
  const char* how = signal_ != 0 ? "signal" : "exit code";
  const int number = signal_ != 0 ? signal_ : code_;
  if (attempts_ > 0 && failures_ >= attempts_) {
    say("%s: ended with %s %d, %d times in a row: given up", spec_->name, how, number, failures_);
    enter(ServiceState::failed);
    return;
  }
  pause_ = pause_ == 0 ? kFirstPause : pause_ * 2 < kLongestPause ? pause_ * 2 : kLongestPause;
  start_at_ = now + pause_;
  say("%s: ended with %s %d, starting it again in %lld ms", spec_->name, how, number, static_cast<long long>(pause_));
  enter(ServiceState::paused);
}

bool Service::away(int64_t now) const {
  if (state_ == ServiceState::ready) return restart_asked_ || now < settled_at_;
  return state_ == ServiceState::waiting || state_ == ServiceState::starting || state_ == ServiceState::paused;
}

void Service::tick(int64_t now) {
  if (now >= settled_at_) settled_at_ = 0;
  if (start_at_ != 0 && now >= start_at_) {
    ++restarts_;
    start();
  }
  if (ready_by_ != 0 && now >= ready_by_) {
    say("%s: is not ready after %lld ms", spec_->name, static_cast<long long>(spec_->ready_ms));
    ready_by_ = ask_at_ = 0;
    kill_all();
  }
  if (ask_at_ != 0 && now >= ask_at_ && ready_pid_ == 0) {
    ask_at_ = 0;
    // What it says while the answer is no would fill the log; what it says in the end is of no interest.
    ready_pid_ = start_program(spec_->ready, spec_->environment, spec_->user, -1, -1);
    if (ready_pid_ < 0) ready_pid_ = 0;
    if (ready_pid_ == 0) ask_at_ = now + kLongestAsk;
  }
  if (kill_at_ != 0 && now >= kill_at_) {
    kill_at_ = 0;
    kill_all();
  }
}

int64_t Service::due() const {
  int64_t due = 0;
  for (const int64_t at : {start_at_, ready_by_, ask_at_, kill_at_, settled_at_}) {
    if (at != 0 && (due == 0 || at < due)) due = at;
  }
  return due;
}

void Service::signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

void Service::restart() {
  failures_ = 0;
  pause_ = 0;
  if (pid_ == 0) {
    if (state_ == ServiceState::waiting) return;  // it starts when it may
    ++restarts_;
    start();
    return;
  }
  restart_asked_ = true;
  kill(pid_, spec_->stop_signal);
  kill_at_ = now_ms() + spec_->stop_ms;
}

void Service::stop() {
  start_at_ = ready_by_ = ask_at_ = 0;
  if (pid_ == 0) {
    if (!over()) enter(ServiceState::stopped);
    return;
  }
  if (state_ == ServiceState::stopping) return;
  restart_asked_ = false;
  enter(ServiceState::stopping);
  kill(pid_, spec_->stop_signal);
  kill_at_ = now_ms() + spec_->stop_ms;
}

}  // namespace underway::run::init
