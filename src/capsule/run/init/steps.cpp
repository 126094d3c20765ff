#include "run/init/steps.hpp"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/init/service.hpp"

namespace underway::run::init {

void StepRun::begin(const Spec& spec, Moment moment, int client) {
  spec_ = &spec;
  moment_ = moment;
  client_ = client;
  active_ = true;
  at_ = 0;
  result_ = 0;
  size_ = line_ = 0;
  tail_[0] = '\0';
  next();
}

/// Starts the next step of the moment, or ends the run.
void StepRun::next() {
  while (at_ < spec_->step_count && spec_->steps[at_].moment != moment_) ++at_;
  if (at_ == spec_->step_count) return finish(0);
  const StepSpec& step = spec_->steps[at_++];
  killed_ = false;
  if (!open_log_pipe(pipe_)) return finish(126);
  pid_ = start_program(step.command, {}, step.user, pipe_[1], pipe_[1]);
  close(pipe_[1]);
  pipe_[1] = -1;
  if (pid_ < 0) {
    pid_ = 0;
    return finish(126);
  }
  kill_at_ = now_ms() + step.timeout_ms;
}

void StepRun::finish(int result) {
  if (pipe_[0] >= 0) close(pipe_[0]);
  pipe_[0] = -1;
  kill_at_ = 0;
  result_ = result;
  active_ = false;
}

void StepRun::drain() {
  char buffer[1024];
  while (pipe_[0] >= 0) {
    const ssize_t n = read(pipe_[0], buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      // At its end the pipe would be readable for ever.
      if (n == 0) close(pipe_[0]);
      if (n == 0) pipe_[0] = -1;
      return;
    }
    const auto size = static_cast<size_t>(n);
    if (size_ + size > kTail) {
      const size_t drop = size_ + size - kTail;
      memmove(tail_, tail_ + drop, size_ - drop);
      size_ -= drop;
      line_ = line_ > drop ? line_ - drop : 0;
    }
    memcpy(tail_ + size_, buffer, size);
    size_ += size;
    tail_[size_] = '\0';
    for (char* end = strchr(tail_ + line_, '\n'); end != nullptr; end = strchr(tail_ + line_, '\n')) {
      say("step %s: %.*s", kMoments[static_cast<int>(moment_)],
          static_cast<int>(end - tail_ - static_cast<ptrdiff_t>(line_)), tail_ + line_);
      line_ = static_cast<size_t>(end - tail_) + 1;
    }
  }
}

bool StepRun::ended(pid_t pid, int status) {
  if (!active_ || pid != pid_) return false;
  kill(-pid_, SIGKILL);
  drain();
  pid_ = 0;
  const int code = killed_ ? 124 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (pipe_[0] >= 0) close(pipe_[0]);
  pipe_[0] = -1;
  if (code != 0)
    finish(code);
  else
    next();
  return true;
}

void StepRun::tick(int64_t now) {
  if (kill_at_ == 0 || now < kill_at_ || pid_ <= 0) return;
  kill_at_ = 0;
  killed_ = true;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
}

}  // namespace underway::run::init
