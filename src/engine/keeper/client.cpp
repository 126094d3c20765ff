#include "keeper/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/numbers.hpp"
#include "os/file.hpp"

namespace underway::keeper {
namespace {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

int milliseconds_until(SteadyTime deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

/// An address below an open directory: a unix path is at most 107 bytes (unix(7)), an allocation's is longer.
sockaddr_un address_in(const os::Fd& directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = fmt::format("/proc/self/fd/{}/{}", directory.get(), kSocketFile);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

os::Fd open_socket() {
  os::Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) throw errno_error(errno, "cannot open a unix socket");
  return fd;
}

os::Fd listen_in(const os::Fd& directory, const std::string& path) {
  os::Fd fd = open_socket();
  ::unlinkat(directory.get(), kSocketFile, 0);
  const sockaddr_un address = address_in(directory);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::fchmodat(directory.get(), kSocketFile, 0600, 0) != 0 || ::listen(fd.get(), 8) != 0) {
    throw errno_error(errno, fmt::format("cannot listen in '{}'", path));
  }
  return fd;
}

/// The lock if nobody holds it, i.e. if no keeper lives.
std::optional<os::Fd> take_lock(const std::string& directory) {
  os::Fd fd = os::open_file(directory + "/" + kLockFile, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno == EWOULDBLOCK) return std::nullopt;
  throw errno_error(errno, fmt::format("cannot lock '{}'", directory));
}

void check_line(const std::string& text) {
  if (text.find('\n') == std::string::npos && text.size() < 500) return;
  throw Error(Code::invalid, fmt::format("'{}' cannot be handed to a keeper", text))
      .because("a line break, or too long");
}

std::string encode(const LaunchSpec& spec, const os::Cgroup::Files& cgroup) {
  std::string text = "keeper-spec 1\n";
  const auto line = [&](std::string_view key, const std::string& value) {
    check_line(value);
    text += fmt::format("{} {}\n", key, value);
  };
  line("log_name", spec.logs.name);
  line("log_stdout", std::to_string(last_log_index(spec.logs.directory, spec.logs.name + ".stdout")));
  line("log_stderr", std::to_string(last_log_index(spec.logs.directory, spec.logs.name + ".stderr")));
  line("log_files", std::to_string(spec.logs.max_files));
  line("log_bytes", std::to_string(spec.logs.max_bytes));
  line("clone", std::to_string(spec.namespaces));
  line("kill_mode", to_text(spec.kill_mode));
  line("adopts", spec.adopts ? "1" : "0");
  line("cgroup_kill", cgroup.kill);
  line("cgroup_procs", cgroup.procs);
  line("oom_events", cgroup.oom_events);
  return text + "\n" + spec.plan.encode();
}

bool task_ended(const State& state) { return state.phase != Phase::starting && state.phase != Phase::running; }
bool task_begun(const State& state) { return state.phase != Phase::starting; }
bool any_state(const State& state) { return state.keeper_pid != 0; }

Error start_error(const LaunchSpec& spec, const State& state) {
  if (state.step == kAdoptionStep) {
    return Error(Code::unavailable, "the task was not started")
        .because(fmt::format("the program that was to start it ended with {}",
                             state.error > 0 ? fmt::format("exit code {}", state.error) : "no task behind it"));
  }
  const auto what = state.step < 0 ? std::string("fork") : spec.plan.describe(static_cast<std::size_t>(state.step));
  return errno_error(state.error, "cannot " + what);
}

void kill_process(const os::ProcessIdentity& task) {
  const auto process = os::Pidfd::find(task);
  if (!process) return;
  static_cast<void>(process->signal(SIGKILL));
  if (!process->wait_gone(std::chrono::seconds{5}) && os::is_running(task)) {
    throw Error(Code::timeout, fmt::format("process {} of a lost task does not die", task.pid));
  }
}

/// Everything that was in the task's session. Its number is safe to use: while a member lives, the kernel gives it to
/// nobody else; and if a process has it that began at another time, no member lives.
void kill_session(const os::ProcessIdentity& task) {
  const auto now = os::process_identity(task.pid);
  if (now && *now != task) return;
  ::kill(-task.pid, SIGKILL);
  kill_process(task);
}

}  // namespace

std::uint32_t last_log_index(const std::string& directory, const std::string& stream) {
  std::uint32_t last = 0;
  if (!os::exists(directory)) return last;
  for (const auto& entry : os::list_directory(directory)) {
    if (!entry.name.starts_with(stream + ".")) continue;
    const auto index = parse_number<std::uint32_t>(std::string_view(entry.name).substr(stream.size() + 1));
    // A file of our making has at most nine digits; the task may have put any other there.
    if (index && *index < 1'000'000'000) last = std::max(last, *index);
  }
  return last;
}

Client Client::launch(const LaunchSpec& spec, const os::CgroupSystem& system, Duration within) {
  os::make_directories(spec.directory, 0700);
  os::make_directories(spec.logs.directory, 0755);
  auto lock = take_lock(spec.directory);
  if (!lock) {
    throw Error(Code::conflict, fmt::format("cannot start a task in '{}'", spec.directory))
        .because("a keeper lives there already");
  }
  const os::Fd directory = os::open_directory(spec.directory);
  ::unlinkat(directory.get(), kStateFile, 0);
  os::Cgroup::Files files;
  if (spec.cgroup) {
    if (auto group = os::Cgroup::find(system, *spec.cgroup)) {
      files = group->files();
      group->release();
    }
  }
  const os::Fd memory = os::sealed_memory("underway-task", encode(spec, files));
  // The task may write beside it: a link in its place would lead to any directory of the machine.
  const os::Fd logs = os::open_file(spec.logs.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  Client client(spec.directory, spec.cgroup, system);
  {
    const os::Fd listening = listen_in(directory, spec.directory);
    os::SpawnSpec keeper{.argv = {"underway-keeper", spec.description}, .program = spec.program};
    keeper.new_session = true;
    keeper.unshare = spec.own_process_numbers ? CLONE_NEWPID : 0;
    keeper.oom_score_adj = -999;
    if (spec.network != nullptr) keeper.join = {spec.network};
    keeper.fds = {{memory.get(), kSpecFd},
                  {listening.get(), kSocketFd},
                  {lock->get(), kLockFd},
                  {directory.get(), kDirectoryFd},
                  {logs.get(), kLogFd}};
    static_cast<void>(os::spawn_detached(keeper));
  }
  lock->reset();  // the keeper's copy holds the lock from here on
  client.connect(within);
  if (!client.wait_state(within, task_begun)) {
    client.stop(SIGKILL, {});
    if (client.wait(std::chrono::seconds{5})) client.discard();
    throw Error(Code::timeout, fmt::format("the task of '{}' does not start", spec.directory))
        .because(fmt::format("not running after {}", human_duration(within)));
  }
  if (client.state_.phase == Phase::failed) {
    client.discard();
    throw start_error(spec, client.state_);
  }
  return client;
}

Client Client::attach(const std::string& directory, const std::optional<std::string>& cgroup,
                      const os::CgroupSystem& system, Duration within) {
  Client client(directory, cgroup, system);
  if (!os::exists(directory)) {
    client.state_.phase = Phase::lost;
    return client;
  }
  client.connect(within);
  return client;
}

void Client::connect(Duration within) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  const os::Fd directory = os::open_directory(directory_);
  const sockaddr_un address = address_in(directory);
  while (!socket_) {
    if (const auto lock = take_lock(directory_)) return settle();
    os::Fd socket = open_socket();
    const auto left = milliseconds_until(deadline);
    const timeval limit{left / 1000, left % 1000 * 1000 + 1};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      socket_ = std::move(socket);
    } else if (left == 0 || (errno != ECONNREFUSED && errno != EAGAIN && errno != ENOENT)) {
      throw errno_error(errno, fmt::format("cannot reach the keeper in '{}'", directory_));
    } else {
      // Refused with the lock held: it is ending just now, or about to begin. Both take milliseconds.
      ::poll(nullptr, 0, std::min(left, 5));
    }
  }
  if (!wait_state(std::chrono::milliseconds(milliseconds_until(deadline)), any_state)) {
    throw Error(Code::unavailable, fmt::format("the keeper in '{}' does not answer", directory_))
        .because("it holds its lock, but told no state in time");
  }
}

bool Client::poll() {
  bool changed = false;
  std::array<char, kMaxPacket> packet;
  while (socket_) {
    const ssize_t n = ::recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (n > 0) {
      State state;
      if (parse_state(packet.data(), static_cast<std::size_t>(n), state)) {
        state_ = state;
        changed = true;
      }
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    socket_.reset();
    if (ended()) break;  // it went after telling the end
    // Either it has died, or it dropped us because we did not read for long: connect tells which.
    connect(std::chrono::seconds{5});
    changed = true;
  }
  return changed;
}

bool Client::wait_state(Duration within, bool (*enough)(const State&)) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  for (;;) {
    poll();
    if (enough(state_)) return true;
    if (!socket_) return false;
    if (!os::wait_for(socket_.get(), POLLIN, milliseconds_until(deadline))) return false;
  }
}

bool Client::wait(Duration within) { return wait_state(within, task_ended); }

void Client::settle() {
  State last;
  const auto text = os::find_file(directory_ + "/" + kStateFile, 64 * kMaxPacket);
  if (text) static_cast<void>(parse_state(text->data(), text->size(), last));
  state_ = last;
  if (task_ended(last)) return;
  const os::ProcessIdentity task{last.task_pid, last.task_start};
  const bool whole = last.kill_mode == KillMode::control_group;
  // With own process numbers the kernel has killed all already, and the rest finds nothing.
  if (task.pid > 1) whole ? kill_session(task) : kill_process(task);
  if (cgroup_ && whole) {
    if (auto group = os::Cgroup::find(system_, *cgroup_)) {
      group->kill_all();
      group->release();
    }
  }
  state_.phase = Phase::lost;
}

void Client::send(const std::string& request) {
  if (!socket_) return;
  if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE &&
      errno != ECONNRESET) {
    throw errno_error(errno, fmt::format("cannot reach the keeper in '{}'", directory_));
  }
}

void Client::signal(int number) { send(fmt::format("signal {}", number)); }

void Client::stop(int number, Duration grace) {
  send(fmt::format("stop {} {}", number, std::chrono::ceil<milliseconds>(grace).count()));
}

void Client::collect() {
  if (!ended()) throw Error(Code::conflict, fmt::format("the task of '{}' has not ended", directory_));
  dismiss();
  os::remove_tree(directory_);
}

/// Its end is the end of the connection; only then may another begin here.
void Client::dismiss() {
  if (!socket_) return;
  send("collect");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{5};
  std::array<char, kMaxPacket> packet;
  while (os::wait_for(socket_.get(), POLLIN, milliseconds_until(deadline))) {
    if (::recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT) <= 0) break;
  }
  socket_.reset();
}

/// Of a task that did not begin. Whoever wanted it may have mounted something in the directory, and takes it away when
/// told why.
void Client::discard() {
  dismiss();
  try {
    os::remove_tree(directory_);
  } catch (const Error& e) {
    log::debug("keeper: '{}' stays: {}", directory_, e.one_line());
  }
}

}  // namespace underway::keeper
