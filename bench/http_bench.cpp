// HTTP: requests per second over 64 kept connections, and what 10,000 idle blocking queries cost. The clients are
// another process, so the memory is the server's alone.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "async/event.hpp"
#include "http/server.hpp"

namespace {

using namespace underway;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kKept = 64;
constexpr int kIdle = 9'900;  // both processes stay below a usual limit of 10,000 descriptors and more

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

double seconds(Clock::duration span) { return std::chrono::duration<double>(span).count(); }

/// The other process: plain blocking sockets.
class Clients {
 public:
  explicit Clients(std::uint16_t port) {
    address_.sin_family = AF_INET;
    address_.sin_port = htons(port);
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  int connect() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0) {
      std::perror("http_bench: connect");
      ::_exit(1);
    }
    return fd;
  }
  static void ask(int fd, std::string_view path) {
    const std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: bench\r\n\r\n", path);
    if (::send(fd, request.data(), request.size(), 0) < 0) ::_exit(1);
  }
  /// Reads one response that ends in "}".
  static void answer(int fd) {
    char buffer[16384];
    ssize_t size = 0;
    do {
      size = ::recv(fd, buffer, sizeof buffer, 0);
      if (size <= 0) ::_exit(1);
    } while (buffer[size - 1] != '}');
  }

 private:
  sockaddr_in address_{};
};

/// How many requests were answered in two seconds.
long hammer(const Clients& clients) {
  std::vector<int> open;
  for (int i = 0; i < kKept; ++i) open.push_back(clients.connect());
  long answered = 0;
  const auto end = Clock::now() + 2s;
  while (Clock::now() < end) {
    for (const int fd : open) Clients::ask(fd, "/job");
    for (const int fd : open) Clients::answer(fd);
    answered += kKept;
  }
  for (const int fd : open) ::close(fd);
  return answered;
}

/// Tells the parent a figure over `pipe` when it is done with a step, and waits to be told to go on.
void be_the_clients(std::uint16_t port, int from_parent, int to_parent) {
  const Clients clients(port);
  const auto report = [&](long figure) {
    if (::write(to_parent, &figure, sizeof figure) < 0) ::_exit(1);
  };
  report(hammer(clients));
  char go = 0;
  if (::read(from_parent, &go, 1) != 1) ::_exit(1);
  std::vector<int> open;
  for (int i = 0; i < kIdle; ++i) {
    open.push_back(clients.connect());
    Clients::ask(open.back(), "/wait?index=7");
  }
  for (const int fd : open) Clients::answer(fd);
  report(kIdle);
}

asio::awaitable<http::Response> job(http::Request) {
  static const std::string body = "{\"ID\":\"web\",\"Meta\":\"" + std::string(6000, 'x') + "\"}";
  co_return http::json(body);
}

struct Waiting {
  async::Event changed;
  int count = 0;
};
asio::awaitable<http::Response> wait(Waiting& waiting) {
  ++waiting.count;
  co_await waiting.changed.wait_for(5min);
  co_return http::json("{\"Index\":8}");
}

long await_report(async::Loop& loop, int fd) {
  long figure = -1;
  std::jthread reader([&] {
    if (::read(fd, &figure, sizeof figure) != sizeof figure) figure = -1;
    loop.stop();
  });
  loop.run();
  return figure;
}

int run() {
  const rlimit files{20'000, 20'000};
  ::setrlimit(RLIMIT_NOFILE, &files);
  int down[2];
  int up[2];
  if (::pipe(down) != 0 || ::pipe(up) != 0) return 1;
  Waiting waiting;
  http::Router router;
  router.add("GET", "/job", "job", job);
  router.add("GET", "/wait", "wait", [&waiting](http::Request) { return wait(waiting); });
  async::Loop loop;
  http::Server server(loop.executor(), router);
  const auto endpoint = server.listen(http::Endpoint{.host = "127.0.0.1"});
  const pid_t child = ::fork();
  if (child == 0) {
    be_the_clients(endpoint.port, down[0], up[1]);
    ::_exit(0);
  }
  ::close(up[1]);
  const long answered = await_report(loop, up[0]);
  fmt::print("GET of a 6 kB job, {} kept connections, one thread: {:.0f} requests/s\n", kKept,
             static_cast<double>(answered) / 2.0);

  const std::size_t before = resident_bytes();
  if (::write(down[1], "g", 1) != 1) return 1;
  loop.context().restart();
  while (waiting.count < kIdle) loop.context().run_one_for(1s);
  const std::size_t after = resident_bytes();
  fmt::print("{} idle blocking queries: {:.1f} kB resident each ({:.1f} MB before, {:.1f} MB with them)\n", kIdle,
             static_cast<double>(after - before) / kIdle / 1e3, static_cast<double>(before) / 1e6,
             static_cast<double>(after) / 1e6);
  const auto started = Clock::now();
  waiting.changed.notify_all();
  if (await_report(loop, up[0]) != kIdle) return 1;
  fmt::print("waking and answering all of them: {:.0f} ms\n", seconds(Clock::now() - started) * 1e3);
  loop.run_until_done(server.stop(0s));
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.text());
    return 1;
  }
}
