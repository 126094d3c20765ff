#include "harness/command.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace underway::harness {
namespace {

using Clock = std::chrono::steady_clock;

/// Beside other tests all takes longer.
constexpr int kBusy = 4;

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

/// In the child: becomes the command, in a process group of its own.
[[noreturn]] void become(const Command& command, pid_t parent, int in, int out, int err) {
  ::setpgid(0, 0);
  if (command.ends_with_us) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);  // which had ended before that
  }
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (!command.directory.empty() && ::chdir(command.directory.c_str()) != 0) ::_exit(126);
  for (const auto& [key, value] : command.env) ::setenv(key.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const auto& argument : command.argv) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  }
  ~Pipe() {
    for (const int fd : ends) {
      if (fd >= 0) ::close(fd);
    }
  }
  void close_end(int index) { ::close(std::exchange(ends[static_cast<std::size_t>(index)], -1)); }
};

/// Appends what is there to `text`; false at the end of the file.
bool drain(int fd, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

/// Writes what fits now of `left` and takes it off; false when that was all, or nobody reads.
bool feed(int fd, std::string_view& left) {
  const ssize_t put = ::write(fd, left.data(), left.size());
  if (put > 0) left.remove_prefix(static_cast<std::size_t>(put));
  return !left.empty() && (put > 0 || errno == EAGAIN);
}

/// The three streams at once, as a command may wait for one before it goes on with another; false when the deadline
/// came first.
bool converse(Pipe& in, Pipe& out, Pipe& err, std::string_view input, Clock::time_point deadline, Finished& finished) {
  ::fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  if (input.empty()) in.close_end(1);
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    std::array<pollfd, 3> fds{{{in.ends[1], POLLOUT, 0}, {out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left, 1000)));
    if (fds[0].revents != 0 && !feed(in.ends[1], input)) in.close_end(1);
    if (fds[1].revents != 0 && !drain(out.ends[0], finished.out)) out.close_end(0);
    if (fds[2].revents != 0 && !drain(err.ends[0], finished.err)) err.close_end(0);
  }
  return true;
}

}  // namespace

Finished run(const Command& command) {
  // A command that ends before it has read its input is no reason to die.
  ::signal(SIGPIPE, SIG_IGN);
  Pipe in, out, err;
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(command, parent, in.ends[0], out.ends[1], err.ends[1]);
  ::setpgid(pid, pid);
  in.close_end(0);
  out.close_end(1);
  err.close_end(1);
  Finished finished;
  finished.timed_out = !converse(in, out, err, command.input, Clock::now() + kBusy * command.limit, finished);
  if (finished.timed_out) ::kill(-pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  finished.exit_code = exit_code_of(status);
  return finished;
}

Finished shell(const std::string& line, std::chrono::seconds limit) {
  return run({.argv = {"/bin/sh", "-c", line}, .limit = limit});
}

Background::Background(const Command& command) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  // In memory: some tests may write to no disk.
  output_ = ::memfd_create("output", MFD_CLOEXEC);
  if (output_ < 0) throw std::runtime_error("memfd_create failed");
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(command, parent, null, output_, output_);
  ::setpgid(pid_, pid_);
  ::close(null);
}

Background::Background(Background&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::exchange(other.output_, -1)) {}

Background::~Background() {
  if (output_ >= 0) ::close(output_);
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Background::signal(int number) const { ::kill(pid_, number); }

std::string Background::told() const { return read_text("/proc/self/fd/" + std::to_string(output_)); }

int Background::wait(std::chrono::seconds limit) {
  int status = 0;
  const bool ended = eventually(limit, [&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
  if (!ended) return -1;
  pid_ = -1;
  return exit_code_of(status);
}

namespace {

/// Whether `holds` is true before the deadline.
bool wait_until(Clock::time_point deadline, const std::function<bool()>& holds) {
  constexpr Clock::duration kOften = std::chrono::milliseconds(20), kSeldom = std::chrono::milliseconds(200);
  for (;;) {
    const auto asked = Clock::now();
    if (holds()) return true;
    const auto now = Clock::now();
    if (now >= deadline) return false;
    // Who asks by running programs leaves the processor to those of whom it asks.
    std::this_thread::sleep_for(std::min(std::clamp(2 * (now - asked), kOften, kSeldom), deadline - now));
  }
}

}  // namespace

bool eventually(std::chrono::seconds limit, const std::function<bool()>& holds) {
  return wait_until(Clock::now() + kBusy * limit, holds);
}

bool stays(std::chrono::seconds span, const std::function<bool()>& holds) {
  return !wait_until(Clock::now() + span, [&] { return !holds(); });
}

std::string read_text(const std::string& path) {
  // A file of /proc fails with ESRCH when its process ends while it is read: then that is all that it said.
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  if (std::filesystem::is_symlink(path)) std::filesystem::remove(path);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = "/tmp/underway-test-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

namespace {

void find_processes(const std::string& state_dir, std::vector<std::string>& out) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos || std::stoi(pid) == ::getpid()) continue;
    std::string line = read_text("/proc/" + pid + "/cmdline");
    for (char& c : line) {
      if (c == '\0') c = ' ';
    }
    const std::string environment = read_text("/proc/" + pid + "/environ");
    if (line.find(state_dir) != std::string::npos || environment.find(state_dir) != std::string::npos) {
      out.push_back("process " + pid + ": " + line);
    }
  }
}

void find_mounts(const std::string& state_dir, std::vector<std::string>& out) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(state_dir) != std::string::npos) out.push_back("mount: " + line);
  }
}

void find_lines(const char* what, const std::string& command, std::vector<std::string>& out) {
  const std::string text = shell(command).out;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (end > start) out.push_back(std::string(what) + ": " + text.substr(start, end - start));
    start = end + 1;
  }
}

}  // namespace

std::vector<std::string> leftovers(const std::string& state_dir, const std::string& name) {
  std::string table = name;
  for (char& c : table) c = c == '-' ? '_' : c;
  std::vector<std::string> out;
  find_processes(state_dir, out);
  find_mounts(state_dir, out);
  // Not of one whose name begins like ours.
  const std::string group = "-path '*/underway/" + name;
  find_lines("cgroup", "find /sys/fs/cgroup -type d \\( " + group + "' -o " + group + "/*' \\) 2>/dev/null", out);
  find_lines("link", "ip -o link show | grep -F '" + name + "' || true", out);
  find_lines("nftables", "nft list tables 2>/dev/null | grep underway_" + table + " || true", out);
  return out;
}

}  // namespace underway::harness
