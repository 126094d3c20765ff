#include "node/task/task_api.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <system_error>
#include <thread>

#include "base/json/json.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "link/relay.hpp"
#include "node/streams/file_access.hpp"

namespace underway::node {

// --- the socket

namespace {

constexpr const char* kName = "api.sock";
constexpr int kBacklog = 64;

/// The directory guards the socket (0700, of the task's user), and every request needs a token: so whoever gets there
/// may connect, root of a container and the users below it alike.
constexpr mode_t kMode = 0666;

/// bind(2) below an open directory: allocations have longer paths than fit into sun_path. The mode is right from the
/// start, without a chmod(2) that somebody could lead elsewhere: it is 0777 less the umask (unix(7)), and a thread may
/// have a umask of its own (unshare(2), CLONE_FS).
int bind_below(const os::Fd& socket, const os::Fd& directory, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  fmt::format("/proc/self/fd/{}/{}", directory.get(), name).copy(address.sun_path, sizeof address.sun_path - 1);
  int failed = 0;
  const auto bind = [&] {
    if (::unshare(CLONE_FS) != 0) {
      failed = errno;
      return;
    }
    ::umask(0777 & ~kMode);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) failed = errno;
  };
  try {
    std::thread(bind).join();
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return failed;
}

}  // namespace

os::Fd listen_for_task(const std::string& allocation_root, const std::string& task) {
  const std::string what = fmt::format("{}/secrets/{}", task, kName);
  const os::Fd directory =
      Beneath(allocation_root).open(fmt::format("{}/secrets", task), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  os::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw errno_error(errno, fmt::format("cannot make a socket for '{}'", what));
  // Under a name of its own first: whoever finds it finds it listening, and rename(2) replaces whatever is there.
  const std::string temporary = fmt::format(".{}.{}", kName, hex(random_bytes(6)));
  if (const int failed = bind_below(socket, directory, temporary); failed != 0)
    throw errno_error(failed, fmt::format("cannot make '{}' in '{}'", what, allocation_root));
  const bool there = ::listen(socket.get(), kBacklog) == 0 &&
                     ::renameat(directory.get(), temporary.c_str(), directory.get(), kName) == 0;
  if (there) return socket;
  const int failed = errno;
  ::unlinkat(directory.get(), temporary.c_str(), 0);
  throw errno_error(failed, fmt::format("cannot make '{}' in '{}'", what, allocation_root));
}

// --- who comes

struct TaskApi::Node {
  async::Executor executor;
  Open open;
  std::size_t serving = 0;
};

struct TaskApi::Listener::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<Node> of, os::Fd fd, protocol::TaskApiRequest whose)
      : node(std::move(of)),
        who(std::move(whose)),
        listening(node->executor, fd.release()),
        work(node->executor, "Task API of " + who.task) {}

  static awaitable<void> accept(std::shared_ptr<State> state);
  static awaitable<void> serve(std::shared_ptr<State> state, std::shared_ptr<link::Socket> socket,
                               std::shared_ptr<void> slot);
  static awaitable<void> refuse(std::shared_ptr<State> state, std::shared_ptr<link::Socket> socket, Error why,
                                std::shared_ptr<void> slot);
  void take(int fd);
  /// Counts until it is destroyed.
  static std::shared_ptr<void> slot_of(std::shared_ptr<State> state, bool served);

  std::shared_ptr<Node> node;
  protocol::TaskApiRequest who;
  asio::posix::stream_descriptor listening;
  std::size_t serving = 0, refusing = 0;
  async::Event ended;
  bool closed = false;
  async::TaskGroup work;
};

namespace {

/// How long somebody who is refused may take to read why.
constexpr Duration kLinger = std::chrono::seconds(2);

awaitable<void> drain(std::shared_ptr<link::Socket> socket) {
  static thread_local std::array<char, 4096> piece;
  while (true) {
    const auto got = ::recv(socket->native_handle(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) co_return;
    if (got < 0) co_await socket->async_wait(link::Socket::wait_read, asio::use_awaitable);
  }
}

std::string answer_of(const std::string& task, const Error& why) {
  const bool passes = why.code() == Code::unavailable || why.code() == Code::timeout || why.code() == Code::exhausted;
  const std::string body = fmt::format("the Task API of task '{}' cannot be reached: {}{}\n", task, why.one_line(),
                                       passes ? "; try again" : "");
  return fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      body.size(), body);
}

}  // namespace

std::shared_ptr<void> TaskApi::Listener::State::slot_of(std::shared_ptr<State> state, bool served) {
  ++(served ? state->serving : state->refusing);
  if (served) ++state->node->serving;
  State* const key = state.get();
  return {key, [state = std::move(state), served](void*) {
            --(served ? state->serving : state->refusing);
            if (served) --state->node->serving;
            state->ended.notify_all();
          }};
}

awaitable<void> TaskApi::Listener::State::accept(std::shared_ptr<State> state) {
  while (!state->closed) {
    // Those beyond wait in the backlog.
    if (state->serving + state->refusing >= 2 * kPerTask) {
      co_await state->ended.wait();
      continue;
    }
    const int fd = ::accept4(state->listening.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
      state->take(fd);
    else if (errno == EAGAIN)
      co_await state->listening.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    else if (errno != EINTR && errno != ECONNABORTED)
      co_await async::sleep_for(std::chrono::milliseconds{100});  // no descriptor or no memory is left: accept(2)
  }
}

void TaskApi::Listener::State::take(int fd) {
  const auto self = shared_from_this();
  const auto socket = link::unix_socket(node->executor, fd);
  const bool own = serving < kPerTask;
  if (own && node->serving < kPerNode) return work.spawn("a connection", serve(self, socket, slot_of(self, true)));
  const Error full = Error(Code::exhausted, own ? "too many connections of tasks are open on this node"
                                                : "too many connections of the task are open")
                         .because(fmt::format("the limit is {}", own ? kPerNode : kPerTask));
  work.spawn("a refusal", refuse(self, socket, full, slot_of(self, false)));
}

awaitable<void> TaskApi::Listener::State::serve(std::shared_ptr<State> state, std::shared_ptr<link::Socket> socket,
                                                std::shared_ptr<void> slot) {
  std::optional<Error> refused;
  try {
    const auto stream = co_await state->node->open(std::string(protocol::kTaskApiStream), json::to_value(state->who));
    const auto end = co_await link::relay(stream, socket);
    if (!end.delivered) refused = end.broken_off;
  } catch (const Error& error) {
    refused = error;
  }
  if (refused) co_await refuse(state, socket, *refused, slot);
}

awaitable<void> TaskApi::Listener::State::refuse(std::shared_ptr<State> state, std::shared_ptr<link::Socket> socket,
                                                 Error why, std::shared_ptr<void>) {
  const std::string text = answer_of(state->who.task, why);
  // It fits into a buffer that is empty; whoever has filled it is no client that reads answers.
  (void)::send(socket->native_handle(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(socket->native_handle(), SHUT_WR);
  // Closed now, a client that still sends its request would fail before it reads the answer.
  try {
    co_await async::within(kLinger, "reading a refusal", drain(socket));
  } catch (const Error&) {
    // It was told; whether it listens is its own affair.
  }
}

TaskApi::Listener::Listener(std::shared_ptr<State> state) : state_(std::move(state)) {
  state_->work.spawn("accepting", State::accept(state_));
}

TaskApi::Listener::~Listener() { close(); }

void TaskApi::Listener::close() {
  state_->closed = true;
  boost::system::error_code ignored;
  state_->listening.close(ignored);
  state_->work.cancel();
}

awaitable<void> TaskApi::Listener::stop() {
  const auto state = state_;
  close();
  co_await state->work.stop();
}

TaskApi::TaskApi(async::Executor executor, Open open)
    : node_(std::make_shared<Node>(Node{std::move(executor), std::move(open)})) {}

std::unique_ptr<TaskApi::Listener> TaskApi::serve(os::Fd listening, protocol::TaskApiRequest who) {
  return std::unique_ptr<Listener>(
      new Listener(std::make_shared<Listener::State>(node_, std::move(listening), std::move(who))));
}

}  // namespace underway::node
