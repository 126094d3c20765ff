#include "run/init/child.hpp"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

namespace underway::run::init {
namespace {

constexpr int kMaxGroups = 256;

[[noreturn]] void give_up(const char* what, const char* name) {
  dprintf(2, "cannot %s '%s': %s\n", what, name, errno != 0 ? strerror(errno) : "not found in /etc/passwd");
  _exit(127);
}

/// By the files of the image alone: a static program has no name service, and the services' network may not be up.
const passwd* find_user(const char* name) {
  FILE* file = fopen("/etc/passwd", "re");
  if (file == nullptr) return nullptr;
  const passwd* found = nullptr;
  while ((found = fgetpwent(file)) != nullptr && strcmp(found->pw_name, name) != 0) {
  }
  if (found == nullptr) errno = 0;
  return found;  // the file stays open: the entry's texts belong to it, and exec closes it
}

int groups_of(const passwd& user, gid_t (&groups)[kMaxGroups]) {
  int count = 0;
  groups[count++] = user.pw_gid;
  FILE* file = fopen("/etc/group", "re");
  while (file != nullptr && count < kMaxGroups) {
    const group* entry = fgetgrent(file);
    if (entry == nullptr) break;
    for (char** member = entry->gr_mem; *member != nullptr; ++member) {
      if (strcmp(*member, user.pw_name) == 0 && entry->gr_gid != user.pw_gid) groups[count++] = entry->gr_gid;
      if (count == kMaxGroups) break;
    }
  }
  return count;
}

void become(const char* name) {
  const passwd* user = find_user(name);
  if (user == nullptr) give_up("become user", name);
  gid_t groups[kMaxGroups];
  const int count = groups_of(*user, groups);
  if (setgroups(static_cast<size_t>(count), groups) != 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0 ||
      setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0) {
    give_up("become user", name);
  }
  setenv("USER", user->pw_name, 1);
  setenv("LOGNAME", user->pw_name, 1);
  setenv("HOME", user->pw_dir, 1);
}

[[noreturn]] void run(const Words& command, const Words& environment, const char* user, int out, int err) {
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < 65; ++signal) sigaction(signal, &by_default, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setsid();
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, 0);
  dup2(out >= 0 ? out : nothing, 1);
  dup2(err >= 0 ? err : nothing, 2);
  syscall(SYS_close_range, 3U, ~0U, 1U << 2);  // CLOSE_RANGE_CLOEXEC
  if (*user != '\0') become(user);
  for (int n = 0; n < environment.count; ++n) putenv(environment.items[n]);
  if (chdir("/") != 0) give_up("enter", "/");
  execve(command.items[0], command.items, environ);
  give_up("run", command.items[0]);
}

}  // namespace

pid_t start_program(const Words& command, const Words& environment, const char* user, int out, int err) {
  const pid_t pid = fork();
  if (pid == 0) run(command, environment, user, out, err);
  return pid;
}

int64_t now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

bool open_log_pipe(int (&ends)[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return true;
}

}  // namespace underway::run::init
