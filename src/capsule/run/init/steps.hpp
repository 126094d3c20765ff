#pragma once
/// @file
/// Steps: commands that are run at a moment of the capsule's life, one after the other, each with a limit.

#include "run/init/child.hpp"
#include "run/init/spec.hpp"

namespace underway::run::init {

/// All steps of one moment, being run.
class StepRun {
 public:
  /// As much of the output's end as is told to who asked.
  static constexpr size_t kTail = 4096;

  bool active() const { return active_; }
  Moment moment() const { return moment_; }
  /// Begins with the first step of `moment`; a moment without steps has succeeded at once. `client`: who asked, or -1.
  void begin(const Spec& spec, Moment moment, int client);
  /// Once active() is false: 0, an exit code, or 128 and a signal; 124 when it took too long.
  int result() const { return result_; }
  bool succeeded() const { return result_ == 0; }
  int client() const { return client_; }
  void forget_client() { client_ = -1; }
  const char* tail() const { return tail_; }

  int reading() const { return pipe_[0]; }
  void drain();
  bool ended(pid_t pid, int status);
  void tick(int64_t now);
  int64_t due() const { return kill_at_; }

 private:
  void next();
  void finish(int result);

  const Spec* spec_ = nullptr;
  Moment moment_ = Moment::check;
  bool active_ = false, killed_ = false;
  int at_ = 0, result_ = 0, client_ = -1;
  pid_t pid_ = 0;
  int64_t kill_at_ = 0;
  int pipe_[2] = {-1, -1};
  size_t size_ = 0, line_ = 0;
  char tail_[kTail + 1] = {};
};

}  // namespace underway::run::init
