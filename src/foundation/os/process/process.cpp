#include "os/process/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::os {
namespace {

struct Stat {
  char state = '?';
  std::uint64_t start_time = 0;
};

/// The name in parentheses may hold anything, so the fields are counted from the last ')'.
std::optional<Stat> read_stat(pid_t pid) {
  std::optional<std::string> text;
  try {
    text = find_file(fmt::format("/proc/{}/stat", pid), 8192);
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;  // ESRCH while reading: it has just gone
  }
  if (!text) return std::nullopt;
  const auto close = text->rfind(')');
  if (close == std::string::npos) return std::nullopt;
  const auto fields = split(trim(std::string_view(*text).substr(close + 1)), ' ');
  if (fields.size() < 20 || fields[0].empty()) return std::nullopt;
  Stat stat{.state = fields[0][0]};
  stat.start_time = leading_number_or(fields[19], stat.start_time);
  return stat;
}

ExitStatus from_siginfo(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {.code = info.si_status};
  return {.signal = info.si_status};
}

int to_milliseconds(Duration within) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(within).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, 1'000'000'000));
}

struct SignalName {
  int number;
  const char* name;
};
constexpr SignalName kSignals[] = {{SIGHUP, "HUP"},   {SIGINT, "INT"},       {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},
                                   {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"},     {SIGBUS, "BUS"},   {SIGFPE, "FPE"},
                                   {SIGKILL, "KILL"}, {SIGUSR1, "USR1"},     {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
                                   {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"},     {SIGTERM, "TERM"}, {SIGSTKFLT, "STKFLT"},
                                   {SIGCHLD, "CHLD"}, {SIGCONT, "CONT"},     {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"},
                                   {SIGTTIN, "TTIN"}, {SIGTTOU, "TTOU"},     {SIGURG, "URG"},   {SIGXCPU, "XCPU"},
                                   {SIGXFSZ, "XFSZ"}, {SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"},
                                   {SIGIO, "IO"},     {SIGPWR, "PWR"},       {SIGSYS, "SYS"}};

}  // namespace

std::optional<ProcessIdentity> process_identity(pid_t pid) {
  const auto stat = read_stat(pid);
  if (!stat) return std::nullopt;
  return ProcessIdentity{pid, stat->start_time};
}

bool is_running(const ProcessIdentity& identity) {
  const auto stat = read_stat(identity.pid);
  return stat && stat->start_time == identity.start_time && stat->state != 'Z' && stat->state != 'X';
}

std::string to_string(const ExitStatus& status) {
  if (status.signal != 0) return fmt::format("signal {} ({})", status.signal, signal_name(status.signal).substr(3));
  return fmt::format("exit code {}", status.code);
}

std::optional<int> find_signal(std::string_view name) {
  if (const auto number = parse_number<int>(name)) return *number >= 1 && *number <= SIGRTMAX ? number : std::nullopt;
  std::string key = upper(name);
  if (key.starts_with("SIG")) key.erase(0, 3);
  for (const auto& signal : kSignals) {
    if (key == signal.name) return signal.number;
  }
  if (key.starts_with("RTMIN+")) {
    const auto offset = find_signal(std::string_view(key).substr(6));
    if (offset && SIGRTMIN + *offset <= SIGRTMAX) return SIGRTMIN + *offset;
  }
  return std::nullopt;
}

std::string signal_name(int number) {
  for (const auto& signal : kSignals) {
    if (signal.number == number) return fmt::format("SIG{}", signal.name);
  }
  if (number >= SIGRTMIN && number <= SIGRTMAX) return fmt::format("SIGRTMIN+{}", number - SIGRTMIN);
  return fmt::format("SIG{}", number);
}

Pidfd Pidfd::open(pid_t pid) {
  const long raw = ::syscall(SYS_pidfd_open, pid, 0);
  if (raw < 0) throw errno_error(errno, fmt::format("cannot open process {}", pid));
  return {pid, Fd(static_cast<int>(raw))};
}

std::optional<Pidfd> Pidfd::find(const ProcessIdentity& identity) {
  const long raw = ::syscall(SYS_pidfd_open, identity.pid, 0);
  if (raw < 0) return std::nullopt;
  Pidfd pidfd(identity.pid, Fd(static_cast<int>(raw)));
  // Read after opening: if the start time still matches, the descriptor is of this very process.
  const auto now = process_identity(identity.pid);
  if (!now || *now != identity) return std::nullopt;
  return pidfd;
}

bool Pidfd::signal(int number) const {
  if (::syscall(SYS_pidfd_send_signal, fd_.get(), number, nullptr, 0) == 0) return true;
  if (errno == ESRCH) return false;
  throw errno_error(errno, fmt::format("cannot send {} to process {}", signal_name(number), pid_));
}

bool Pidfd::wait_gone(Duration within) const { return wait_for(fd_.get(), POLLIN, to_milliseconds(within)); }

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pidfd_, other.pidfd_);
  std::swap(ended_, other.ended_);
  return *this;
}

Child::~Child() {
  if (!pidfd_.fd() || ended_) return;
  ::syscall(SYS_pidfd_send_signal, pidfd_.fd().get(), SIGKILL, nullptr, 0);
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.fd().get()), &info, WEXITED | __WALL) != 0 && errno == EINTR) {
  }
}

std::optional<ExitStatus> Child::wait(Duration within) {
  if (ended_) return ended_;
  if (!pidfd_.wait_gone(within)) return std::nullopt;
  return wait();
}

ExitStatus Child::wait() {
  if (ended_) return *ended_;
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.fd().get()), &info, WEXITED | __WALL) != 0) {
    if (errno != EINTR) throw errno_error(errno, fmt::format("cannot wait for process {}", pid()));
  }
  ended_ = from_siginfo(info);
  return *ended_;
}

ExitStatus Child::kill() {
  if (!ended_) static_cast<void>(signal(SIGKILL));
  return wait();
}

Pidfd Child::release() { return std::move(pidfd_); }

Output run_program(SpawnSpec spec, Duration within, std::size_t limit) {
  Pipe out = open_pipe(), err = open_pipe();
  spec.out = out.write.get();
  spec.err = err.write.get();
  Child child = spawn(spec);
  out.write.reset();
  err.write.reset();
  Output output;
  const auto deadline = std::chrono::steady_clock::now() + within;
  std::array<std::pair<Fd*, std::string*>, 2> streams{{{&out.read, &output.out}, {&err.read, &output.err}}};
  std::array<char, 16384> buffer;
  while (out.read || err.read) {
    const auto left = deadline - std::chrono::steady_clock::now();
    pollfd polled[2] = {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}};
    const int ready = left.count() > 0 ? ::poll(polled, 2, to_milliseconds(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      throw Error(Code::timeout, fmt::format("'{}' did not end", spec.argv.at(0)))
          .because(fmt::format("waited {}", human_duration(within)));
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const ssize_t n = ::read(streams[i].first->get(), buffer.data(), buffer.size());
      if (n > 0) streams[i].second->append(buffer.data(), static_cast<std::size_t>(n));
      if (n == 0) streams[i].first->reset();
      if (output.out.size() + output.err.size() > limit) {
        throw Error(Code::too_large, fmt::format("'{}' wrote too much", spec.argv.at(0)))
            .because(fmt::format("more than {}", human_bytes(limit)));
      }
    }
  }
  const auto status = child.wait(std::max(deadline - std::chrono::steady_clock::now(), Duration{}));
  if (!status) {
    throw Error(Code::timeout, fmt::format("'{}' did not end", spec.argv.at(0)))
        .because(fmt::format("waited {}", human_duration(within)));
  }
  output.status = *status;
  return output;
}

Terminal open_terminal() {
  Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  std::array<char, 64> name;
  if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0 ||
      ::ptsname_r(master.get(), name.data(), name.size()) != 0) {
    throw errno_error(errno, "cannot open a pseudo terminal");
  }
  Fd slave = open_file(name.data(), O_RDWR | O_NOCTTY);
  return {std::move(master), std::move(slave)};
}

void resize_terminal(const Fd& master, unsigned short rows, unsigned short columns) {
  winsize size{};
  size.ws_row = rows;
  size.ws_col = columns;
  if (::ioctl(master.get(), TIOCSWINSZ, &size) != 0) throw errno_error(errno, "cannot resize a terminal");
}

std::vector<std::string> environment(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> list;
  list.reserve(variables.size());
  for (const auto& [name, value] : variables) list.push_back(name + "=" + value);
  return list;
}

std::map<std::string, std::string> initial_environment(const ProcessIdentity& process) {
  std::map<std::string, std::string> variables;
  const std::string text = find_file(fmt::format("/proc/{}/environ", process.pid)).value_or("");
  if (!is_running(process)) return variables;  // the number may have been given to another one
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    const std::string_view entry = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string_view name = entry.substr(0, equals);
    if (std::all_of(name.begin(), name.end(), plain)) variables.emplace(name, entry.substr(equals + 1));
  }
  return variables;
}

}  // namespace underway::os
