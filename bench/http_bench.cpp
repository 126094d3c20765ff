// The HTTP API: reads of a job per second over 64 kept connections, beside a body that is only sent, and what 10,000
// idle blocking queries cost. The clients are another process, so the memory is the server's alone.
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

#include "acl/identity.hpp"
#include "api/api.hpp"
#include "http/server.hpp"
#include "server/testing/asked.hpp"
#include "store/memory_store.hpp"

namespace {

using namespace underway;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kKept = 64;
constexpr const char* kSecret = "0b5f7c53-5f0e-4e0a-9a55-3f7ad3b6a0c1";
constexpr int kIdle = 9'900;  // both processes stay below a usual limit of 10,000 descriptors and more

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// What this process, the server, has used of its processor.
std::chrono::microseconds processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
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
  static void ask(int fd, std::string_view path, std::string_view headers = {}) {
    const std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: bench\r\n{}\r\n", path, headers);
    if (::send(fd, request.data(), request.size(), 0) < 0) ::_exit(1);
  }
  /// Reads one whole response.
  static void answer(int fd) {
    std::string text;
    std::size_t whole = std::string::npos;
    while (text.size() < whole) {
      char buffer[16384];
      const ssize_t size = ::recv(fd, buffer, sizeof buffer, 0);
      if (size <= 0) ::_exit(1);
      text.append(buffer, static_cast<std::size_t>(size));
      const std::size_t head = text.find("\r\n\r\n");
      if (whole != std::string::npos || head == std::string::npos) continue;
      const std::size_t length = text.find("Content-Length: ");
      if (!text.starts_with("HTTP/1.1 200") || length > head) ::_exit(1);
      whole = head + 4 + std::strtoul(text.c_str() + length + 16, nullptr, 10);
    }
  }

 private:
  sockaddr_in address_{};
};

/// How many requests were answered in two seconds.
long hammer(const Clients& clients, std::string_view path, std::string_view headers = {}) {
  std::vector<int> open;
  for (int i = 0; i < kKept; ++i) open.push_back(clients.connect());
  long answered = 0;
  const auto end = Clock::now() + 2s;
  while (Clock::now() < end) {
    for (const int fd : open) Clients::ask(fd, path, headers);
    for (const int fd : open) Clients::answer(fd);
    answered += kKept;
  }
  for (const int fd : open) ::close(fd);
  return answered;
}

/// Tells the parent a figure over `to_parent` when it is done with a step, and waits to be told to go on.
void be_the_clients(int from_parent, int to_parent) {
  const auto hear = [&](long& figure) {
    if (::read(from_parent, &figure, sizeof figure) != sizeof figure) ::_exit(1);
  };
  const auto report = [&](long figure) {
    if (::write(to_parent, &figure, sizeof figure) < 0) ::_exit(1);
  };
  long port = 0;
  long index = 0;
  hear(port);
  const Clients clients(static_cast<std::uint16_t>(port));
  report(hammer(clients, "/static"));
  report(hammer(clients, "/v1/job/web"));
  report(hammer(clients, "/v1/job/web", fmt::format("X-Nomad-Token: {}\r\n", kSecret)));
  hear(index);
  std::vector<int> open;
  for (int i = 0; i < kIdle; ++i) {
    open.push_back(clients.connect());
    Clients::ask(open.back(), fmt::format("/v1/job/web?wait=5m&index={}", index));
  }
  for (const int fd : open) Clients::answer(fd);
  report(kIdle);
}

/// Of the size of a usual service: two tasks with their templates.
model::Job make_job() {
  model::Job job;
  job.id = "web";
  job.groups.resize(1);
  job.groups[0].name = "web";
  job.groups[0].tasks.resize(2);
  for (auto& task : job.groups[0].tasks) {
    task.name = fmt::format("task{}", &task - job.groups[0].tasks.data());
    task.driver = "exec";
    task.config = boost::json::object{{"command", "/usr/sbin/slurmctld"}, {"args", boost::json::array{"-D"}}};
    task.env = {{"PATH", "/usr/sbin:/usr/bin"}, {"LANG", "C.UTF-8"}};
    task.templates.resize(1);
    task.templates[0].destination = "local/slurm.conf";
    for (int line = 0; line < 40; ++line)
      task.templates[0].data += fmt::format("NodeName=c{} CPUs=8 State=UNKNOWN\n", line);
  }
  job.canonicalize();
  return job;
}

/// A token with two policies.
asio::awaitable<void> put_token(server::Server& server) {
  const auto decided = [](const tables::Tables&, const server::Context&) {
    server::Decision<server::Nothing> decision;
    model::AclToken token;
    token.accessor_id = "bench";
    token.secret_hash = acl::hash_secret(kSecret);
    token.policies = {"reader", "writer"};
    model::AclPolicy reader;
    reader.name = "reader";
    reader.rules = "namespace \"*\" { policy = \"read\" }\nnode { policy = \"read\" }";
    model::AclPolicy writer;
    writer.name = "writer";
    writer.rules = "namespace \"default\" { policy = \"write\" }";
    decision.changes = {tables::PutAclToken{token}, tables::PutAclPolicy{reader}, tables::PutAclPolicy{writer}};
    return decision;
  };
  co_await server.apply(server::testing::asked(decided));
}

asio::awaitable<void> put_job(server::Server& server, model::Job job) {
  server::RegisterJob request{std::move(job), {}, {}};
  co_await server.apply(std::move(request));
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
  const pid_t child = ::fork();  // before there are threads
  if (child == 0) {
    be_the_clients(down[0], up[1]);
    ::_exit(0);
  }
  ::close(up[1]);
  const auto tell = [&](long figure) { return ::write(down[1], &figure, sizeof figure) == sizeof figure; };

  async::Loop loop;
  store::MemoryStore store;
  SystemClock clock;
  SystemIds ids;
  server::Options options;
  options.root_by_raw_exec = true;
  server::Server control(loop.executor(), store, clock, ids, options);
  api::Api api{.server = control, .agent = {}, .clock = clock};
  api.access.limits = {1'000'000'000, 0, 1'000'000};
  http::Router router;
  api::add_routes(router, api);
  loop.run_until_done(put_job(control, make_job()));
  loop.run_until_done(put_token(control));
  const std::string body = loop.run_until_done(router.handle(http::request("GET", "/v1/job/web"))).body;
  router.add("GET", "/static", "static",
             [&body](http::Request) -> asio::awaitable<http::Response> { co_return http::json(body); });
  http::Server server(loop.executor(), router);
  const auto endpoint = server.listen(http::Endpoint{.host = "127.0.0.1"});
  if (!tell(endpoint.port)) return 1;

  fmt::print(
      "{:<58} {:>12} {:>12}\n",
      fmt::format("{} kept connections, one thread, a job of {:.1f} kB", kKept, static_cast<double>(body.size()) / 1e3),
      "requests/s", "CPU us each");
  const std::pair<const char*, bool> steps[] = {
      {"a body that is only sent", false}, {"GET /v1/job/:id", false}, {"the same, with a token", true}};
  for (const auto& [what, acl] : steps) {
    api.access.acl = acl;
    loop.context().restart();
    const auto used = processor_time();
    const auto answered = static_cast<double>(await_report(loop, up[0]));
    fmt::print("{:<58} {:>12.0f} {:>12.1f}\n", what, answered / 2.0,
               static_cast<double>((processor_time() - used).count()) / answered);
  }

  api.access.acl = false;
  const std::size_t before = resident_bytes();
  if (!tell(control.writer().tables().revision())) return 1;
  loop.context().restart();
  while (server.connections() < kIdle || loop.context().run_one_for(200ms) > 0) loop.context().run_one_for(1s);
  const std::size_t after = resident_bytes();
  fmt::print("{:<58} {:>9.1f} kB\n", fmt::format("{} idle GET /v1/job/:id?index=…, resident each", kIdle),
             static_cast<double>(after - before) / kIdle / 1e3);
  auto changed = make_job();
  changed.groups[0].count = 2;
  const auto started = Clock::now();
  loop.context().restart();
  loop.run_until_done(put_job(control, std::move(changed)));
  loop.context().restart();
  if (await_report(loop, up[0]) != kIdle) return 1;
  fmt::print("{:<58} {:>9.0f} ms\n", "the job changes: until all of them are answered",
             seconds(Clock::now() - started) * 1e3);
  loop.context().restart();
  loop.run_until_done(server.stop(0s));
  loop.run_until_done(control.stop());
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
