#include "overlay/freeze.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/error.hpp"

namespace underway::overlay {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Waits for a byte (all is well), the end of the socket (our parent died) or the limit. Only async-signal-safe calls:
/// the parent may have threads.
[[noreturn]] void guard(int parent, int file, int limit_ms) {
  // Locks and pipes of the parent must not live on in here.
  const int low = std::min(parent, file), high = std::max(parent, file);
  ::close_range(0, static_cast<unsigned>(low) - 1, 0);
  if (high > low + 1) ::close_range(static_cast<unsigned>(low) + 1, static_cast<unsigned>(high) - 1, 0);
  ::close_range(static_cast<unsigned>(high) + 1, ~0U, 0);
  struct pollfd waiting = {parent, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, limit_ms);
  } while (ready < 0 && errno == EINTR);
  char done = 0;
  if (ready != 1 || ::read(parent, &done, 1) != 1) ::ioctl(file, FITHAW, 0);
  ::_exit(0);
}

struct Guard {
  os::Fd end;
  int pid;
};
Guard start_guard(const os::Fd& file, Duration limit) {
  std::array<int, 2> ends{};
  // A socket and not a pipe: a write to a guard that has gone must not raise SIGPIPE.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw errno_error(errno, "cannot start the guard of a freeze");
  os::Fd ours(ends[0]), other(ends[1]);
  // Above 2, so that the child can close what lies below.
  const auto theirs = other.duplicate(10), target = file.duplicate(10);
  const int limit_ms = static_cast<int>(duration_cast<milliseconds>(limit).count());
  const pid_t pid = ::fork();
  if (pid < 0) throw errno_error(errno, "cannot start the guard of a freeze");
  if (pid == 0) guard(theirs.get(), target.get(), limit_ms);
  return {std::move(ours), pid};
}

void dismiss(const os::Fd& guard) { static_cast<void>(::send(guard.get(), "x", 1, MSG_NOSIGNAL)); }

/// Lets stopped writers go on when they have waited for as long as they may, whatever the one who stopped them waits
/// for: a peer that reads nothing, a disk that is stuck.
class Patience {
 public:
  Patience(std::function<void(bool)> stop, Duration limit) : stop_(std::move(stop)), limit_(limit) {}
  void set(bool stopped) {
    if (!stopped) return let_go();
    const auto until = steady_clock::now() + limit_;
    stop_(true);
    watch_ = std::jthread([this, until](const std::stop_token& over) { watch(over, until); });
  }

 private:
  void let_go() {
    if (watch_.joinable()) {
      watch_.request_stop();
      watch_.join();
    }
    if (!gone_) stop_(false);
    gone_ = true;
  }
  void watch(const std::stop_token& over, steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_until(lock, over, until, [&] { return over.stop_requested(); })) return;
    try {
      stop_(false);
      gone_ = true;
    } catch (const std::exception&) {
      // Who stopped them tries it again, and hears of it.
    }
  }

  std::function<void(bool)> stop_;
  Duration limit_;
  bool gone_ = false;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread watch_;  ///< joined before the rest goes
};

void flush(const os::Fd& file, const std::string& path) {
  if (::syncfs(file.get()) != 0)
    throw errno_error(errno, fmt::format("cannot write out the file system of '{}'", path));
}

}  // namespace

Frozen Frozen::file_system(const std::string& path, Duration limit) {
  Frozen frozen;
  frozen.limit_ = limit;
  frozen.file_ = os::open_directory(path);
  // Most of the work is done while writers still run; the freeze then finds little left.
  flush(frozen.file_, path);
  auto guard = start_guard(frozen.file_, limit);
  frozen.guard_ = std::move(guard.end);
  frozen.guard_pid_ = guard.pid;
  frozen.since_ = steady_clock::now();
  if (::ioctl(frozen.file_.get(), FIFREEZE, 0) != 0) {
    const int error = errno;
    dismiss(frozen.guard_);  // it must not thaw what somebody else froze
    frozen.file_.reset();
    if (error == EOPNOTSUPP)
      throw Error(Code::unsupported, fmt::format("cannot freeze the file system of '{}'", path))
          .because("its file system has no freezing");
    throw errno_error(error, fmt::format("cannot freeze the file system of '{}'", path))
        .because(error == EBUSY ? "somebody else has frozen it" : "FIFREEZE failed");
  }
  return frozen;
}

Frozen Frozen::writers(std::function<void(bool)> stop, const std::string& path, Duration limit) {
  Frozen frozen;
  frozen.limit_ = limit;
  if (!path.empty()) flush(os::open_directory(path), path);
  frozen.since_ = steady_clock::now();
  frozen.stop_ = [patience = std::make_shared<Patience>(std::move(stop), limit)](bool on) { patience->set(on); };
  frozen.stop_(true);
  return frozen;
}

Frozen::Frozen(Frozen&& other) noexcept
    : file_(std::move(other.file_)),
      guard_(std::move(other.guard_)),
      guard_pid_(std::exchange(other.guard_pid_, -1)),
      stop_(std::exchange(other.stop_, nullptr)),
      since_(other.since_),
      limit_(other.limit_) {}
Frozen& Frozen::operator=(Frozen&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(guard_, other.guard_);
  std::swap(guard_pid_, other.guard_pid_);
  std::swap(stop_, other.stop_);
  since_ = other.since_;
  limit_ = other.limit_;
  return *this;
}
Frozen::~Frozen() {
  try {
    let_go();
  } catch (const std::exception&) {
    // Only a hook of the caller can throw, who knows how to let go of writers that it could not.
  }
}

bool Frozen::let_go() {
  bool held = true;
  if (stop_) std::exchange(stop_, nullptr)(false);
  if (file_) {
    held = ::ioctl(file_.get(), FITHAW, 0) == 0;
    file_.reset();
  }
  until_ = steady_clock::now();  // for the guard's end nobody waits
  if (guard_) {
    // Only after we have thawed: it thaws if we die before this.
    dismiss(guard_);
    guard_.reset();
  }
  if (guard_pid_ > 0) {
    while (::waitpid(guard_pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    guard_pid_ = -1;
  }
  return held;
}

Duration Frozen::thaw() {
  const bool held = let_go();
  const Duration took = until_ - since_;
  if (held && took < limit_) return took;
  throw Error(Code::timeout, "the freeze did not last as long as it was needed")
      .because(
          fmt::format("{} allowed, {} taken: writers went on meanwhile", human_duration(limit_), human_duration(took)))
      .advise("take it again when the disk is less busy");
}

}  // namespace underway::overlay
