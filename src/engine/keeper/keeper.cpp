// The keeper: holds one task. The contract is in protocol.hpp. A static program on libc alone: it stays resident once
// per task on every node, so it owns a few pages and sleeps in poll(2) until something happens.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "keeper/clients.hpp"
#include "keeper/control_directory.hpp"
#include "keeper/log_file.hpp"
#include "keeper/proc_files.hpp"
#include "keeper/protocol.hpp"
#include "os/process/launch.hpp"

namespace underway::keeper {
namespace {

/// How long processes that do not die (uninterruptible I/O) may keep the result from being told.
constexpr std::int64_t kPatience = 10'000;
/// How often the control directory is looked for when the kernel has no inotify instance left for this user (128 by
/// default, fs.inotify.max_user_instances): the only wake-ups of a keeper in which nothing happens.
constexpr std::int64_t kLookEvery = 2'000;
/// Bytes that a pipe holds at most, if its user had it enlarged (/proc/sys/fs/pipe-max-size).
constexpr std::size_t kLargestPipe = 1 << 20;

struct Stream {
  int pipe = -1;
  LogFile log;
};

Spec spec;
State state;
Stream streams[2];
Clients clients;
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
/// Watched once the result is told.
Removal removal;
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

void state_changed(bool flush) {
  write_state(state, flush);
  clients.tell(state);
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
  forget_plan(spec);
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
      write_state(state, false);
    }
    if (report.kind == os::launch::Report::failure) fail(report.step, report.error);
    return;
  }
  close(reports);
  reports = -1;
  // A failure is told once the child is reaped; and the child may be one that starts the task.
  if (state.phase != Phase::failed && !spec.adopts) task_runs();
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

void serve(int place) {
  char text[kMaxPacket];
  if (const std::size_t size = clients.receive(place, text); size > 0) obey(text, size);
}

/// The result is told, and waits to be collected: asleep, until a message comes or the directory goes.
void watch_directory() {
  removal.watch();
  if (removal.happened()) collected = true;
}

int poll_timeout() {
  std::int64_t until = kill_at;
  // While the rest is dying, look again now and then: the end of a process that is not our child tells us nothing.
  if (ending_since != 0) until = now_ms() + 50;
  if (told && removal.descriptor() < 0) until = now_ms() + kLookEvery;
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
  removal.close();
  clients.drop_all();
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
    if (told && removal.descriptor() < 0) watch_directory();
    if (collected) return;
    constexpr int kFixed = 6;
    pollfd polled[kFixed + Clients::kMost];
    const int fixed[kFixed] = {signals, reports, streams[0].pipe, streams[1].pipe, kSocketFd, removal.descriptor()};
    for (int i = 0; i < kFixed; ++i) polled[i] = {fixed[i], POLLIN, 0};
    for (int i = 0; i < Clients::kMost; ++i) polled[kFixed + i] = {clients.descriptor(i), POLLIN, 0};
    if (poll(polled, kFixed + Clients::kMost, poll_timeout()) < 0 && errno != EINTR) _exit(1);
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
    if (polled[4].revents != 0) clients.admit(state);
    for (int i = 0; i < Clients::kMost; ++i) {
      const pollfd& client = polled[kFixed + i];
      // Its place may be a newer one's by now.
      if (client.revents != 0 && client.fd >= 0 && clients.descriptor(i) == client.fd) serve(i);
    }
    if (polled[5].revents != 0 && removal.happened()) collected = true;
  }
}

/// Typed by hand it has none of its descriptors, and would look for them without end.
bool started_by_an_agent() {
  for (int fd = kSpecFd; fd <= kLogFd; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) return false;
  }
  return true;
}

int keep() {
  if (!started_by_an_agent()) {
    constexpr char kText[] = "underway-keeper is started by underway, and holds one task\n";
    return write(STDERR_FILENO, kText, sizeof kText - 1) < 0 ? 1 : 2;
  }
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
  const bool understood = read_spec(spec);
  state.kill_mode = spec.kill_mode;
  write_state(state, false);
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
