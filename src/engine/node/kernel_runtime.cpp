#include "node/kernel_runtime.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>

#include "base/error.hpp"
#include "os/process/process.hpp"

extern char** environ;

namespace underway::node {

namespace {

/// Lends a descriptor to Asio: its own number, so that closing one never takes the other away.
class Watched {
 public:
  Watched(const async::Executor& executor, int fd) : descriptor_(executor) {
    const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) throw errno_error(errno, "cannot watch a descriptor");
    descriptor_.assign(copy);
  }
  asio::posix::stream_descriptor& operator*() { return descriptor_; }

 private:
  asio::posix::stream_descriptor descriptor_;
};

awaitable<void> wait_for(int fd, asio::posix::stream_descriptor::wait_type what) {
  Watched watched(co_await asio::this_coro::executor, fd);
  co_await (*watched).async_wait(what, asio::use_awaitable);
}

class ChildProgram final : public Program {
 public:
  ChildProgram(os::Child child, os::Fd output, Duration within)
      : child_(std::move(child)), output_(std::move(output)), within_(within) {
    os::set_nonblocking(output_, true);
  }

  awaitable<ProgramResult> wait() override {
    ProgramResult result;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_after(within_);
    timer.async_wait([this, timed_out = std::weak_ptr<bool>(timed_out_)](boost::system::error_code failed) {
      const auto flag = timed_out.lock();
      if (failed || !flag) return;
      *flag = true;
      kill();
    });
    constexpr std::size_t kKept = 64U << 10;
    while (true) {
      const std::string bytes = co_await read_some(output_.get());
      if (bytes.empty()) break;
      if (result.output.size() < kKept) result.output += bytes.substr(0, kKept - result.output.size());
    }
    co_await readable(child_.pidfd().fd().get());
    const os::ExitStatus status = child_.wait();
    result.exit_code = status.code;
    result.signal = status.signal;
    result.timed_out = *timed_out_;
    co_return result;
  }
  void kill() override { child_.signal(SIGKILL); }

 private:
  os::Child child_;
  os::Fd output_;
  Duration within_;
  std::shared_ptr<bool> timed_out_ = std::make_shared<bool>(false);
};

}  // namespace

awaitable<void> readable(int fd) { co_await wait_for(fd, asio::posix::stream_descriptor::wait_read); }

awaitable<std::string> read_some(int fd) {
  std::string bytes(64U << 10, '\0');
  while (true) {
    const auto got = ::read(fd, bytes.data(), bytes.size());
    if (got >= 0) {
      bytes.resize(static_cast<std::size_t>(got));
      bytes.shrink_to_fit();
      co_return bytes;
    }
    if (errno == EIO) co_return std::string{};
    if (errno != EAGAIN && errno != EINTR) throw errno_error(errno, "cannot read a command's output");
    co_await wait_for(fd, asio::posix::stream_descriptor::wait_read);
  }
}

awaitable<void> write_fully(int fd, std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const auto put = ::write(fd, rest.data(), rest.size());
    if (put >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(put));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) throw errno_error(errno, "cannot write a command's input");
    co_await wait_for(fd, asio::posix::stream_descriptor::wait_write);
  }
}

std::shared_ptr<void> KernelRuntime::after(Duration span, std::function<void()> callback) {
  auto timer = std::make_shared<asio::steady_timer>(loop_.executor());
  timer->expires_at(async::deadline_in(span));
  // Destroying the timer may come too late for a handler that is already queued: it asks whether the token lives.
  timer->async_wait(
      [alive = std::weak_ptr<void>(timer), callback = std::move(callback)](boost::system::error_code failed) {
        if (!failed && !alive.expired()) callback();
      });
  return timer;
}

void KernelRuntime::on_pool(std::function<void()> job, std::function<void(std::exception_ptr)> done) {
  const auto home = loop_.executor();
  auto busy = asio::make_work_guard(home);
  asio::post(pool_.executor(), [home, busy = std::move(busy), job = std::move(job), done = std::move(done)]() mutable {
    std::exception_ptr failure;
    try {
      job();
    } catch (...) {
      failure = std::current_exception();
    }
    asio::post(home, [done = std::move(done), failure = std::move(failure)] { done(failure); });
  });
}

std::shared_ptr<Program> KernelRuntime::start_program(std::vector<std::string> argv, std::string input,
                                                      Duration within) {
  const os::Fd in = os::sealed_memory("request", input);
  ::lseek(in.get(), 0, SEEK_SET);
  os::Pipe out = os::open_pipe();
  os::SpawnSpec spec;
  spec.argv = std::move(argv);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) spec.env.emplace_back(*entry);
  spec.in = in.get();
  spec.out = out.write.get();
  spec.err = out.write.get();
  spec.new_session = true;
  spec.parent_death_signal = SIGKILL;
  return std::make_shared<ChildProgram>(os::spawn(spec), std::move(out.read), within);
}

}  // namespace underway::node
