#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "os/process/descriptor_limit.hpp"
#include "os/process/process.hpp"

namespace underway::os {
namespace {

enum class Parent { us, nobody };

/// The plan of a spec, the descriptors it names kept open beside it.
struct Prepared {
  LaunchPlan plan;
  /// Namespaces that the very first clone makes.
  int clone_kinds = 0;
  std::vector<Fd> kept;
};

/// What this process was started with, when it has raised it.
std::optional<SpawnSpec::Limit>& descriptors_before() {
  static std::optional<SpawnSpec::Limit> before;
  return before;
}

std::string_view path_of(const std::vector<std::string>& env) {
  for (const auto& variable : env) {
    if (variable.starts_with("PATH=")) return std::string_view(variable).substr(5);
  }
  return kDefaultPath;
}

/// A copy of `fd` (or of /dev/null) out of the way of the numbers that the program will use.
int keep(Prepared& prepared, int fd) {
  constexpr int kOutOfTheWay = 64;
  int copy = -1;
  if (fd >= 0) {
    copy = ::fcntl(fd, F_DUPFD_CLOEXEC, kOutOfTheWay);
  } else {
    const Fd null = open_file("/dev/null", O_RDWR);
    copy = ::fcntl(null.get(), F_DUPFD_CLOEXEC, kOutOfTheWay);
  }
  if (copy < 0) throw errno_error(errno, fmt::format("cannot hand over file descriptor {}", fd));
  prepared.kept.emplace_back(copy);
  return copy;
}

void add_namespaces(Prepared& prepared, const SpawnSpec& spec, Parent parent) {
  LaunchPlan& plan = prepared.plan;
  // Of the cgroup namespace, the present group becomes the root: so it is made last, in the new process.
  const int kinds = spec.unshare & ~CLONE_NEWCGROUP;
  bool fork_needed = parent == Parent::nobody;
  for (const auto* space : spec.join) {
    plan.enter_namespaces(keep(prepared, space->fd().get()), space->kinds());
    fork_needed |= (space->kinds() & CLONE_NEWPID) != 0;
  }
  if (parent == Parent::nobody) {
    plan.fork_detached(kinds);
  } else if (spec.join.empty()) {
    prepared.clone_kinds = kinds;
  } else {
    if (kinds != 0) plan.unshare(kinds);
    if (fork_needed || (kinds & CLONE_NEWPID) != 0) plan.fork_as_sibling();
  }
  if ((spec.unshare & CLONE_NEWCGROUP) != 0) plan.unshare(CLONE_NEWCGROUP);
}

Prepared prepare(const SpawnSpec& spec, Parent parent) {
  if (spec.argv.empty()) throw Error(Code::invalid, "cannot run a program").because("no arguments, not even its name");
  Prepared prepared;
  LaunchPlan& plan = prepared.plan;
  for (const auto& file : spec.join_cgroup) plan.write_file(file, "0");
  if (spec.oom_score_adj) {
    plan.optionally().write_file("/proc/self/oom_score_adj", std::to_string(*spec.oom_score_adj));
  }
  add_namespaces(prepared, spec, parent);
  if (spec.new_session || spec.terminal) plan.new_session();
  plan.append(spec.setup);
  if (const auto& before = descriptors_before()) plan.limit(RLIMIT_NOFILE, before->soft, before->hard);
  for (const auto& limit : spec.limits) plan.limit(limit.resource, limit.soft, limit.hard);
  if (spec.umask) plan.set_umask(*spec.umask);
  const int in = keep(prepared, spec.in), out = keep(prepared, spec.out), err = keep(prepared, spec.err);
  plan.move_fd(in, 0).move_fd(out, 1).move_fd(err, 2);
  for (const auto& [ours, theirs] : spec.fds) plan.move_fd(keep(prepared, ours), theirs);
  if (spec.terminal) plan.controlling_terminal(0);
  plan.change_directory(spec.cwd);
  if (spec.bounding) plan.bound_capabilities(*spec.bounding);
  if (spec.user) plan.become(*spec.user, spec.ambient);
  if (spec.no_new_privileges) plan.no_new_privileges();
  if (spec.parent_death_signal) plan.parent_death_signal(*spec.parent_death_signal);
  const std::string& program = spec.program.empty() ? spec.argv.front() : spec.program;
  const auto candidates = command_candidates(program, path_of(spec.env));
  if (candidates.empty())
    throw Error(Code::not_found, fmt::format("cannot run '{}'", program)).because("its PATH names no directory");
  plan.exec(candidates, spec.argv, spec.env);
  return prepared;
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

/// Forks and lets the child run the plan; hands back the process that runs the program.
ProcessIdentity launch_child(const SpawnSpec& spec, Parent parent) {
  const Prepared prepared = prepare(spec, parent);
  const std::string bytes = prepared.plan.encode();
  Pipe report = open_pipe();
  report.write = report.write.duplicate(64);
  // No signal handler of ours may run in the child before it has reset them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto flags = static_cast<unsigned long>(prepared.clone_kinds | SIGCHLD);
  const long pid = ::syscall(SYS_clone, flags, nullptr, nullptr, nullptr, 0UL);
  if (pid == 0) {
    ::close(report.read.get());
    launch::run(bytes.data(), bytes.size(), report.write.get(), false);
  }
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const std::string doing =
      spec.description.empty() ? fmt::format("starting '{}'", spec.argv.front()) : spec.description;
  if (pid < 0) throw errno_error(error, "cannot fork").while_doing(doing);
  report.write.reset();

  ProcessIdentity runs{static_cast<pid_t>(pid), 0};
  std::optional<launch::Report> failure;
  launch::Report message;
  for (;;) {
    const ssize_t n = ::read(report.read.get(), &message, sizeof message);
    if (n < 0 && errno == EINTR) continue;
    if (n != static_cast<ssize_t>(sizeof message)) break;
    if (message.kind == launch::Report::failure) failure = message;
    if (message.kind == launch::Report::process)
      runs = process_identity(message.pid).value_or(ProcessIdentity{message.pid, 0});
  }
  const bool forked_again = runs.pid != pid;
  if (forked_again) reap(static_cast<pid_t>(pid));
  if (failure) {
    if (!forked_again || parent == Parent::us) reap(runs.pid);
    const auto what = failure->step < 0 ? std::string("read the launch plan")
                                        : prepared.plan.describe(static_cast<std::size_t>(failure->step));
    throw errno_error(failure->error, "cannot " + what).while_doing(doing);
  }
  if (!forked_again && parent == Parent::us) runs = process_identity(runs.pid).value_or(runs);
  return runs;
}

}  // namespace

Child spawn(const SpawnSpec& spec) { return Child(Pidfd::open(launch_child(spec, Parent::us).pid)); }

ProcessIdentity spawn_detached(const SpawnSpec& spec) { return launch_child(spec, Parent::nobody); }

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) throw errno_error(errno, "cannot read the limit of open descriptors");
  if (limit.rlim_cur >= limit.rlim_max) return limit.rlim_cur;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) return limit.rlim_cur;
  descriptors_before() = SpawnSpec::Limit{RLIMIT_NOFILE, limit.rlim_cur, limit.rlim_max};
  return raised.rlim_cur;
}

}  // namespace underway::os
