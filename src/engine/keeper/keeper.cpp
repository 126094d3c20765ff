// The keeper: holds one task. The contract is in protocol.hpp. A static program on libc alone: it stays resident once
// per task on every node, so it owns a few pages and sleeps in poll(2) until something happens.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "keeper/log_file.hpp"
#include "keeper/proc_files.hpp"
#include "keeper/protocol.hpp"
#include "os/launch.hpp"

namespace underway::keeper {
namespace {

constexpr int kMaxClients = 4;
/// How long processes that do not die (uninterruptible I/O) may keep the result from being told.
constexpr std::int64_t kPatience = 10'000;
/// How often the control directory is looked for when the kernel has no inotify instance left for this user (128 by
/// default, fs.inotify.max_user_instances): the only wake-ups of a keeper in which nothing happens.
constexpr std::int64_t kLookEvery = 2'000;
/// Bytes that a pipe holds at most, if its user had it enlarged (/proc/sys/fs/pipe-max-size).
constexpr std::size_t kLargestPipe = 1 << 20;

struct Spec {
  char log_name[200] = {};
  std::uint32_t log_index[2] = {0, 0};
  std::uint32_t log_files = 10;
  std::uint64_t log_bytes = 10 << 20;
  long clone = 0;
  /// The program of the plan starts the task, and has not ended yet.
  bool adopts = false;
  char cgroup_kill[512] = {}, cgroup_procs[512] = {}, oom_events[512] = {};
  const char* plan = nullptr;
  std::size_t plan_size = 0;
  void* mapped = nullptr;
  std::size_t mapped_size = 0;
};

struct Stream {
  int pipe = -1;
  LogFile log;
};

Spec spec;
State state;
Stream streams[2];
int clients[kMaxClients] = {-1, -1, -1, -1};
int signals = -1;
int reports = -1;
/// The task as this process numbers it; 0 when it has been reaped.
pid_t task = 0;
/// Monotonic milliseconds at which everything gets SIGKILL; 0: no such order.
std::int64_t kill_at = 0;
/// When the task's process ended; 0 before.
std::int64_t ending_since = 0;
std::uint64_t oom_kills_before = 0;
bool told = false;
bool collected = false;
/// inotify of the control directory, once the task has ended.
int removals = -1;
char buffer[16384];

std::int64_t now_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}
std::int64_t now_ms() { return now_ns(CLOCK_MONOTONIC) / 1'000'000; }

std::uint64_t oom_kills() {
  char text[1024];
  const char* at = text;
  std::size_t size = spec.oom_events[0] != '\0' ? read_small(spec.oom_events, text, sizeof text) : 0;
  Field field{};
  while (next_field(at, size, field)) {
    if (field.is("oom_kill")) return static_cast<std::uint64_t>(field.number());
  }
  return 0;
}

void write_state(bool flush) {
  char text[kMaxPacket];
  const std::size_t size = format_state(state, text, sizeof text);
  const int fd = openat(kDirectoryFd, "state.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool whole = fd >= 0 && write(fd, text, size) == static_cast<ssize_t>(size) && (!flush || fsync(fd) == 0);
  if (fd >= 0) close(fd);
  whole = whole && renameat(kDirectoryFd, "state.new", kDirectoryFd, kStateFile) == 0;
  if (!whole) {
    // The disk is full: the old file has its block already, so overwrite that. The end mark tells a torn one.
    const int old = openat(kDirectoryFd, kStateFile, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (old < 0) return;
    if (pwrite(old, text, size, 0) == static_cast<ssize_t>(size)) fsync(old);
    close(old);
  } else if (flush) {
    fsync(kDirectoryFd);
  }
}

void drop_client(int& client) {
  close(client);
  client = -1;
}

void tell(int& client) {
  char text[kMaxPacket];
  const std::size_t size = format_state(state, text, sizeof text);
  // A client that does not read is not waited for; it finds the file when it comes back.
  if (send(client, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) drop_client(client);
}

void state_changed(bool flush) {
  write_state(flush);
  for (int& client : clients) {
    if (client >= 0) tell(client);
  }
}

void put_text(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] ssize_t n = write(fd, text, strlen(text));  // there is nobody to tell
  close(fd);
}

bool leaves_rest() { return state.kill_mode == KillMode::process; }

/// SIGKILL to all that ends with the task.
void kill_task() {
  if (leaves_rest()) {
    if (task > 0) kill(task, SIGKILL);
    return;
  }
  if (spec.cgroup_kill[0] != '\0') put_text(spec.cgroup_kill, "1");
  if (getpid() == 1) {
    kill(-1, SIGKILL);  // everything with our process numbers
    return;
  }
  if (spec.cgroup_procs[0] != '\0') kill_listed(spec.cgroup_procs);
  if (task > 0) {
    kill(-task, SIGKILL);
    kill(task, SIGKILL);
  }
  // What became an orphan is our child (PR_SET_CHILD_SUBREAPER). A grandchild becomes one when its parent dies, and
  // the SIGCHLD of that brings us here again.
  kill_listed("/proc/thread-self/children");
}

bool read_spec() {
  struct stat st{};
  if (fstat(kSpecFd, &st) != 0 || st.st_size <= 0) return false;
  void* memory = mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ, MAP_PRIVATE, kSpecFd, 0);
  if (memory == MAP_FAILED) return false;
  spec.mapped = memory;
  spec.mapped_size = static_cast<std::size_t>(st.st_size);
  const char* text = static_cast<const char*>(memory);
  auto size = spec.mapped_size;
  const auto copy = [](const Field& field, char* out, std::size_t room) {
    memcpy(out, field.value, field.value_size < room ? field.value_size : room - 1);
  };
  Field field{};
  if (!next_field(text, size, field) || !field.is("keeper-spec")) return false;
  while (next_field(text, size, field)) {
    if (field.is("log_name")) copy(field, spec.log_name, sizeof spec.log_name - 8);
    if (field.is("log_stdout")) spec.log_index[0] = static_cast<std::uint32_t>(field.number());
    if (field.is("log_stderr")) spec.log_index[1] = static_cast<std::uint32_t>(field.number());
    if (field.is("log_files")) spec.log_files = static_cast<std::uint32_t>(field.number());
    if (field.is("log_bytes")) spec.log_bytes = static_cast<std::uint64_t>(field.number());
    if (field.is("kill_mode") && field.says(to_text(KillMode::process))) state.kill_mode = KillMode::process;
    if (field.is("adopts")) spec.adopts = field.number() != 0;
    if (field.is("clone")) spec.clone = static_cast<long>(field.number());
    if (field.is("cgroup_kill")) copy(field, spec.cgroup_kill, sizeof spec.cgroup_kill);
    if (field.is("cgroup_procs")) copy(field, spec.cgroup_procs, sizeof spec.cgroup_procs);
    if (field.is("oom_events")) copy(field, spec.oom_events, sizeof spec.oom_events);
  }
  spec.plan = text;
  spec.plan_size = size;
  return true;
}

/// Forks the task. What it reports before its program runs comes through `reports`. Without log files its output goes
/// to /dev/null, and does not wake us.
bool start_task() {
  int out[2], err[2], report[2];
  const bool logs = spec.log_files > 0;
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || pipe2(report, O_CLOEXEC) != 0) return false;
  if (logs && (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)) return false;
  const long pid = syscall(SYS_clone, static_cast<unsigned long>(spec.clone | SIGCHLD), nullptr, nullptr, nullptr, 0UL);
  if (pid < 0) return false;
  if (pid == 0) {
    close(report[0]);
    dup2(null, 0);
    dup2(logs ? out[1] : null, 1);
    dup2(logs ? err[1] : null, 2);
    os::launch::run(spec.plan, spec.plan_size, report[1], true);
  }
  task = static_cast<pid_t>(pid);
  close(null);
  close(report[1]);
  reports = report[0];
  if (!logs) return true;
  close(out[1]);
  close(err[1]);
  streams[0].pipe = out[0];
  streams[1].pipe = err[0];
  char name[sizeof spec.log_name];
  const char* const suffix[] = {".stdout", ".stderr"};
  for (int i = 0; i < 2; ++i) {
    fcntl(streams[i].pipe, F_SETFL, O_NONBLOCK);
    strcat(strcpy(name, spec.log_name), suffix[i]);
    streams[i].log.begin(kLogFd, name, spec.log_index[i], spec.log_files, spec.log_bytes);
  }
  return true;
}

void fail(int step, int error) {
  state.phase = Phase::failed;
  state.step = step;
  state.error = error;
  state.finished = now_ns(CLOCK_REALTIME);
}

void task_runs() {
  if (state.phase == Phase::running) return;  // its end was seen before the end of the report
  state.phase = Phase::running;
  state.started = now_ns(CLOCK_REALTIME);
  // The secrets in the spec are no longer ours.
  close(kSpecFd);
  munmap(spec.mapped, spec.mapped_size);
  state_changed(false);
}

void read_report() {
  os::launch::Report report;
  const ssize_t n = read(reports, &report, sizeof report);
  if (n < 0 && errno == EINTR) return;
  if (n == static_cast<ssize_t>(sizeof report)) {
    if (report.kind == os::launch::Report::process && state.task_pid == 0) {
      state.task_pid = report.pid > 0 ? report.pid : task;
      state.task_start = start_time_of(state.task_pid);
      write_state(false);
    }
    if (report.kind == os::launch::Report::failure) fail(report.step, report.error);
    return;
  }
  close(reports);
  reports = -1;
  // A failure is told once the child is reaped; and the child may be one that starts the task.
  if (state.phase != Phase::failed && !spec.adopts) task_runs();
}

/// The number that the program left which started the task; 0 when there is no such process.
pid_t started_task() {
  char text[16] = {};
  const int fd = openat(kDirectoryFd, kPidFile, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  const pid_t pid = n > 0 ? static_cast<pid_t>(strtol(text, nullptr, 10)) : 0;
  return pid > 1 && kill(pid, 0) == 0 ? pid : 0;
}

bool is_child(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/// Before anything else is reaped: the task may have ended already, and be known by its number alone. False while that
/// cannot be done yet.
bool adopt() {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(task), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || info.si_pid == 0)
    return false;
  if (state.phase == Phase::failed) {  // it did not come to run
    spec.adopts = false;
    return true;
  }
  const bool good = info.si_code == CLD_EXITED && info.si_status == 0;
  const pid_t started = good ? started_task() : 0;
  if (started == 0) {
    spec.adopts = false;
    fail(kAdoptionStep, info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status);
    return true;  // what it left is killed as it is reaped
  }
  // A helper of the program may still be its parent; when that ends, the task falls to us, and a signal says so.
  if (!is_child(started)) return false;
  int status = 0;
  waitpid(task, &status, __WALL);
  spec.adopts = false;
  task = started;
  state.task_pid = started;
  state.task_start = start_time_of(started);
  task_runs();
  return true;
}

/// One bufferful; false when the pipe has nothing more at present.
bool drain(Stream& stream) {
  const ssize_t n = read(stream.pipe, buffer, sizeof buffer);
  if (n > 0) {
    state.dropped += stream.log.write(buffer, static_cast<std::size_t>(n));
    return true;
  }
  if (n < 0 && errno == EINTR) return true;
  if (n == 0) {
    close(stream.pipe);
    stream.pipe = -1;
  }
  return false;
}

/// Reaps every child that has ended; false while there are others.
bool reap_children() {
  if (spec.adopts && !adopt()) return false;
  for (;;) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) return errno == ECHILD;
    if (info.si_pid == 0) return false;
    const bool is_task = info.si_pid == task;
    if (is_task) kill_task();  // while its number, not yet reaped, is surely its own
    int status = 0;
    waitpid(info.si_pid, &status, __WALL);
    if (!is_task) continue;
    state.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    state.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    task = 0;
    ending_since = now_ms();
  }
}

void reap() {
  const bool all_gone = reap_children();
  if (ending_since == 0 || told) return;
  if (!all_gone) kill_task();
  if (reports >= 0) return;
  if (!all_gone && !leaves_rest() && now_ms() - ending_since < kPatience) return;
  for (Stream& stream : streams) {
    // What is left running may write on for ever; the task's own words lie within what a pipe holds.
    for (std::size_t taken = 0; stream.pipe >= 0 && (taken < kLargestPipe || !leaves_rest()); taken += sizeof buffer) {
      if (!drain(stream)) break;
    }
    stream.log.close();
  }
  if (state.phase != Phase::failed) {
    state.phase = Phase::exited;
    state.finished = now_ns(CLOCK_REALTIME);
    state.oom_killed = (state.signal != 0 || state.code != 0) && oom_kills() > oom_kills_before;
  }
  told = true;
  ending_since = 0;
  kill_at = 0;
  state_changed(true);
}

void obey(const char* text, std::size_t size) {
  Field field{};
  if (!next_field(text, size, field)) return;
  const auto number = static_cast<int>(field.number());
  if (field.is("collect")) collected = told;
  if (field.is("signal") && task > 0 && number > 0) kill(task, number);
  if (field.is("stop") && task > 0 && number > 0) {
    kill(task, number);
    const auto* space = static_cast<const char*>(memchr(field.value, ' ', field.value_size));
    std::int64_t wait = 0;
    if (space != nullptr) {
      const auto used = static_cast<std::size_t>(space + 1 - field.value);
      wait = Field{space, 0, space + 1, field.value_size - used}.number();
    }
    const std::int64_t at = now_ms() + (wait > 0 ? wait : 0);
    if (kill_at == 0 || at < kill_at) kill_at = at;
  }
}

void admit() {
  const int client = accept4(kSocketFd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != 0 && peer.uid != geteuid())) {
    close(client);
    return;
  }
  // The newest four matter: an agent that was killed leaves a closed one, and no agent opens many.
  static int next = 0;
  int* slot = nullptr;
  for (int& candidate : clients) {
    if (candidate < 0) slot = &candidate;
  }
  if (slot == nullptr) slot = &clients[next++ % kMaxClients];
  if (*slot >= 0) close(*slot);
  *slot = client;
  tell(*slot);
}

void serve(int& client) {
  char text[kMaxPacket];
  const ssize_t n = recv(client, text, sizeof text, MSG_DONTWAIT);
  if (n > 0) obey(text, static_cast<std::size_t>(n));
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) drop_client(client);
}

/// Whoever removed the control directory will not come for the result: an agent that was killed between writing it
/// down and collecting it, or an administrator who cleaned up.
void look_for_directory() {
  char events[4096];
  while (removals >= 0 && read(removals, events, sizeof events) > 0) {
  }
  struct stat lock{};
  if (fstat(kLockFd, &lock) == 0 && lock.st_nlink == 0) collected = true;
}

/// The result is told, and waits to be collected: asleep, until a message comes or the directory goes.
void watch_directory() {
  removals = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  char path[] = "/proc/self/fd/0";
  path[sizeof path - 2] = static_cast<char>('0' + kDirectoryFd);
  if (removals >= 0 && inotify_add_watch(removals, path, IN_DELETE) < 0) {
    close(removals);
    removals = -1;
  }
  look_for_directory();
}

int poll_timeout() {
  std::int64_t until = kill_at;
  // While the rest is dying, look again now and then: the end of a process that is not our child tells us nothing.
  if (ending_since != 0) until = now_ms() + 50;
  if (told && removals < 0) until = now_ms() + kLookEvery;
  if (until == 0) return -1;
  const std::int64_t left = until - now_ms();
  return left > 0 ? static_cast<int>(left < 1'000'000 ? left : 1'000'000) : 0;
}

/// Nobody needs us any more but those who were left running with the ends of our pipes: without a reader their next
/// word would kill them (SIGPIPE), and a full pipe would stop them. What they say now belongs to no task's log.
void serve_those_left() {
  // What others wait for goes first, the connections last: their end is what the agent takes for ours.
  for (Stream& stream : streams) stream.log.close();
  for (int fd = kSocketFd; fd <= kLogFd; ++fd) close(fd);
  if (removals >= 0) close(removals);
  for (int& client : clients) {
    if (client >= 0) drop_client(client);
  }
  // Those that were adopted are reaped by the kernel from here on.
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, nullptr);
  while (waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
  }
  close(signals);
  while (streams[0].pipe >= 0 || streams[1].pipe >= 0) {
    pollfd polled[] = {{streams[0].pipe, POLLIN, 0}, {streams[1].pipe, POLLIN, 0}};
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return;
    for (int i = 0; i < 2; ++i) {
      if (polled[i].revents == 0 || read(streams[i].pipe, buffer, sizeof buffer) != 0) continue;
      close(streams[i].pipe);
      streams[i].pipe = -1;
    }
  }
}

void run() {
  while (!collected) {
    if (told && removals < 0) watch_directory();
    if (collected) return;
    pollfd polled[6 + kMaxClients];
    const int fds[] = {signals,    reports,    streams[0].pipe, streams[1].pipe, kSocketFd,
                       clients[0], clients[1], clients[2],      clients[3],      removals};
    for (int i = 0; i < 6 + kMaxClients; ++i) polled[i] = {fds[i], POLLIN, 0};
    if (poll(polled, 6 + kMaxClients, poll_timeout()) < 0 && errno != EINTR) _exit(1);
    if (polled[1].revents != 0) read_report();
    for (int i = 0; i < 2; ++i) {
      if (polled[2 + i].revents != 0 && streams[i].pipe >= 0) drain(streams[i]);
    }
    if (polled[0].revents != 0) {
      signalfd_siginfo info;
      while (read(signals, &info, sizeof info) > 0) {
      }
    }
    if (polled[0].revents != 0 || ending_since != 0) reap();
    if (kill_at != 0 && now_ms() >= kill_at) {
      kill_at = 0;
      kill_task();
    }
    if (polled[4].revents != 0) admit();
    for (int i = 0; i < kMaxClients; ++i) {
      if (polled[5 + i].revents != 0 && clients[i] == fds[5 + i] && clients[i] >= 0) serve(clients[i]);
    }
    if (polled[5 + kMaxClients].revents != 0) look_for_directory();
  }
}

int keep() {
  // Signals are facts to read, never interruptions; what is meant for us comes through the socket.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int fd = kSpecFd; fd <= kLogFd; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);

  state.keeper_pid = own_pid();
  state.keeper_start = start_time_of(state.keeper_pid);
  state.phase = Phase::starting;
  // Read first: whoever finds this state after our death must know what may be killed.
  const bool understood = read_spec();
  write_state(false);
  if (signals < 0 || !understood) {
    fail(-1, errno != 0 ? errno : EINVAL);
  } else {
    oom_kills_before = oom_kills();
    if (!start_task()) fail(-1, errno);
  }
  if (state.phase == Phase::failed) {
    told = true;
    state_changed(true);
  }
  run();
  if (leaves_rest()) serve_those_left();
  return 0;
}

}  // namespace
}  // namespace underway::keeper

int main() { return underway::keeper::keep(); }
