#include "run/init/attach.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace underway::run::init {
namespace {

struct Change {
  pid_t pid;
  int status;
};
/// Taken down while seize() waited: a full list leaves the rest to next_change().
constexpr int kMostChanges = 1024;
Change changes[kMostChanges];
volatile int taken_down = 0, told = 0;

void take_down(int) {
  const int error = errno;
  while (taken_down < kMostChanges) {
    Change& next = changes[taken_down];
    next.pid = waitpid(-1, &next.status, WNOHANG);
    if (next.pid <= 0) break;
    taken_down = taken_down + 1;
  }
  errno = error;
}

/// Without SA_NOCLDSTOP: of stops, too, signalfd is to hear.
void hear_of_children() {
  static bool done = false;
  if (done) return;
  struct sigaction action{};
  action.sa_handler = take_down;
  action.sa_flags = SA_RESTART;
  sigaction(SIGCHLD, &action, nullptr);
  done = true;
}

}  // namespace

bool seize(pid_t thread, unsigned long options) {
  hear_of_children();
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_UNBLOCK, &child, nullptr);
  const bool seized = syscall(SYS_ptrace, PTRACE_SEIZE, thread, nullptr, options) == 0;
  const int error = errno;
  sigprocmask(SIG_BLOCK, &child, nullptr);
  errno = error;
  return seized;
}

bool next_change(pid_t& pid, int& status) {
  if (told < taken_down) {
    pid = changes[told].pid;
    status = changes[told].status;
    told = told + 1;
    return true;
  }
  taken_down = 0;
  told = 0;
  pid = waitpid(-1, &status, WNOHANG);
  return pid > 0;
}

pid_t tracer_of(pid_t thread) {
  char text[1024];
  snprintf(text, sizeof text, "/proc/%d/status", thread);
  const int fd = open(text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  text[size > 0 ? size : 0] = '\0';
  constexpr const char kBefore[] = "\nTracerPid:";  // a program's name has no line break there (proc_pid_status(5))
  const char* at = strstr(text, kBefore);
  return at != nullptr ? static_cast<pid_t>(strtol(at + sizeof kBefore - 1, nullptr, 10)) : -1;
}

}  // namespace underway::run::init
