/// @file
/// underway-init: starts a host and is its pid 1. Static, and libc only: one of it stays resident in every host.
///
///   underway-init launch      run by the provider with descriptors 3 (sealed launch plan), 4 (control socket) and
///                             5 (report pipe): makes the namespaces, sends the pidfd of the new process, and ends.
///                             The new process runs the plan, whose last step is:
///   underway-init supervise [ARGV…]
///                             pid 1 with the control socket as standard input: waits for the word to go (end of file
///                             means that the provider died: so does the host), then keeps ARGV running and reaps.
///                             Ends at SIGTERM, and with it, by the kernel, everything in its pid namespace.

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "host/detail/init_protocol.hpp"
#include "os/process/launch.hpp"

namespace underway::host {
namespace {

using namespace init_protocol;

void send_launched(const Launched& answer, int pidfd) {
  iovec data{const_cast<Launched*>(&answer), sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (pidfd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &pidfd, sizeof pidfd);
  }
  [[maybe_unused]] const ssize_t sent = sendmsg(kControlFd, &message, MSG_NOSIGNAL);  // a dead provider: host ends too
}

int launch() {
  struct stat status{};
  if (fstat(kPlanFd, &status) != 0 || status.st_size <= 0) return 1;
  const auto size = static_cast<size_t>(status.st_size);
  void* plan = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, kPlanFd, 0);
  if (plan == MAP_FAILED) return 1;
  int pidfd = -1;
  clone_args arguments{};
  // Not the cgroup namespace: it is made by the plan, after the process has joined its groups.
  arguments.flags = CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<uintptr_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) {
    setsid();
    dup2(kControlFd, 0);
    close(kPlanFd);
    close(kControlFd);
    os::launch::run(static_cast<const char*>(plan), size, kReportFd, false);
  }
  const int problem = errno;
  send_launched({pid < 0 ? 0 : static_cast<int32_t>(pid), pid < 0 ? problem : 0}, pidfd);
  return pid < 0 ? 1 : 0;
}

int64_t now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

/// Keeps one program running, with growing pauses.
class Agent {
 public:
  explicit Agent(char** argv) : argv_(argv) {}

  bool wanted() const { return argv_[0] != nullptr; }
  /// Milliseconds until the next start; -1 when it runs or there is nothing to run.
  int64_t due_in() const {
    if (!wanted() || pid_ > 0) return -1;
    const int64_t left = start_at_ - now_ms();
    return left > 0 ? left : 0;
  }

  void start() {
    started_at_ = now_ms();
    pid_ = fork();
    if (pid_ == 0) become();
    if (pid_ < 0) schedule("cannot be forked", errno);
  }

  void ended(pid_t pid, int status) {
    if (pid != pid_) return;
    pid_ = 0;
    if (WIFSIGNALED(status)) {
      schedule("was killed by signal", WTERMSIG(status));
    } else {
      schedule("exited with code", WEXITSTATUS(status));
    }
  }

 private:
  static constexpr int64_t kFirstPause = 100, kLongestPause = 5'000, kStable = 10'000;

  void schedule(const char* what, int number) {
    if (now_ms() - started_at_ >= kStable) pause_ = kFirstPause;
    start_at_ = now_ms() + pause_;
    dprintf(2, "underway-init: %s %s %d, starting it again in %lld ms\n", argv_[0], what, number,
            static_cast<long long>(pause_));
    pause_ = pause_ * 2 < kLongestPause ? pause_ * 2 : kLongestPause;
  }

  [[noreturn]] void become() {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setsid();
    execvp(argv_[0], argv_);
    dprintf(2, "underway-init: cannot run %s: %s\n", argv_[0], strerror(errno));
    _exit(127);
  }

  char** argv_;
  pid_t pid_ = 0;
  int64_t pause_ = kFirstPause;
  int64_t started_at_ = 0;
  int64_t start_at_ = 0;
};

/// The console is for what goes wrong early; an agent that talks for years must not fill the disk.
void bound_console() {
  constexpr off_t kLargest = 8 << 20;
  struct stat status{};
  if (fstat(2, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= kLargest) return;
  if (ftruncate(2, 0) == 0) dprintf(2, "underway-init: what was here before was cut away\n");
}

/// False when the provider has gone.
bool wait_for_go() {
  for (;;) {
    char word = 0;
    const ssize_t n = read(0, &word, 1);
    if (n < 0 && errno == EINTR) continue;
    return n == 1 && word == kGo;
  }
}

int supervise(char** argv) {
  prctl(PR_SET_NAME, "underway-init");  // it was executed as /proc/self/exe
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&handled, signal);
  sigprocmask(SIG_BLOCK, &handled, nullptr);  // blocked signals reach even pid 1, which ignores those at their default
  if (!wait_for_go()) return 1;
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, 0);
  close(nothing);
  Agent agent(argv);
  for (;;) {
    int64_t due = agent.due_in();
    if (due == 0) {
      agent.start();
      due = agent.due_in();
    }
    const timespec limit{due / 1000, (due % 1000) * 1'000'000};
    siginfo_t info{};
    const int signal = due < 0 ? sigwaitinfo(&handled, &info) : sigtimedwait(&handled, &info, &limit);
    if (signal == SIGTERM) return 0;
    bound_console();
    int status = 0;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
      agent.ended(pid, status);
    }
  }
}

}  // namespace
}  // namespace underway::host

int main(int argc, char** argv) {
  using namespace underway::host;
  if (argc >= 2 && strcmp(argv[1], "launch") == 0) return launch();
  if (argc >= 2 && strcmp(argv[1], "supervise") == 0 && getpid() == 1) return supervise(argv + 2);
  dprintf(2, "underway-init is started by underway, as the first process of a host\n");
  return 2;
}
