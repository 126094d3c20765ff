#pragma once
/// @file
/// The services of a capsule and what becomes of them: started in the order of their dependencies, asked whether they
/// are ready, started again with growing pauses, stopped in reverse order.

#include <poll.h>

#include "run/init/child.hpp"
#include "run/init/spec.hpp"

namespace underway::run::init {

/// Lines of a program's output, each with the program's name before it, on our own output.
class LogLines {
 public:
  /// `out`: 1 or 2.
  void begin(const char* name, int out) {
    name_ = name;
    out_ = out;
  }
  bool open() { return open_log_pipe(ends_); }
  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  /// Takes what is there.
  void drain();
  /// What has no line break yet, as a line.
  void flush();

 private:
  const char* name_ = "";
  int out_ = 1;
  int ends_[2] = {-1, -1};
  size_t size_ = 0;
  char line_[2048];
};

enum class ServiceState : uint8_t {
  waiting,   ///< for others to be ready
  starting,  ///< runs, not ready yet
  ready,
  paused,    ///< ended, is started again in a moment
  done,      ///< ended well, and is not started again
  failed,    ///< ended badly, and is given up
  stopping,  ///< was asked to end
  stopped,
};
const char* to_text(ServiceState state);

class Service {
 public:
  static constexpr int64_t kSettleMs = 1'000;

  bool begin(const ServiceSpec& spec, int attempts);

  const ServiceSpec& spec() const { return *spec_; }
  ServiceState state() const { return state_; }
  /// Others that wait for it may go on.
  bool usable() const { return state_ == ServiceState::ready || state_ == ServiceState::done; }
  /// Nothing of it runs, and nothing will.
  bool over() const {
    return state_ == ServiceState::done || state_ == ServiceState::failed || state_ == ServiceState::stopped;
  }
  bool running() const { return pid_ > 0; }
  /// It is to serve and does not: not yet, or not at the moment. Without a command that says whether it is ready it has
  /// kSettleMs to get there.
  bool away(int64_t now) const;
  pid_t pid() const { return pid_; }
  int restarts() const { return restarts_; }
  int last_code() const { return code_; }
  int last_signal() const { return signal_; }
  int64_t since() const { return since_; }

  void start();
  /// Whether `pid` was one of its processes, which has ended with `status` (waitpid(2)).
  bool ended(pid_t pid, int status);
  /// What is due by the clock: start again, ask whether it is ready, give up waiting, kill.
  void tick(int64_t now);
  /// When tick() is to be called next, or it is not away any more; 0: not by the clock.
  int64_t due() const;
  void signal(int number) const;
  /// Ends it and starts it again at once.
  void restart();
  /// Asks it to end; it is over when nothing runs.
  void stop();
  LogLines& out() { return out_; }
  LogLines& err() { return err_; }

 private:
  void enter(ServiceState state);
  void main_ended(int status);
  void ready_ended(int status);
  void pause_or_give_up();
  void kill_all() const;

  const ServiceSpec* spec_ = nullptr;
  ServiceState state_ = ServiceState::waiting;
  int attempts_ = 0;
  pid_t pid_ = 0, ready_pid_ = 0;
  int restarts_ = 0, failures_ = 0, code_ = 0, signal_ = 0;
  bool restart_asked_ = false;
  int64_t since_ = 0, started_at_ = 0, start_at_ = 0, ready_by_ = 0, ask_at_ = 0, kill_at_ = 0, settled_at_ = 0;
  int64_t pause_ = 0, ask_pause_ = 0;
  LogLines out_, err_;
};

/// Our own words, among the services' errors.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace underway::run::init
