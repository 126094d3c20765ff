// The HTTP API under its heaviest readers, through the real server and real sockets: a list of 10,000 jobs in one page,
// plain and filtered, the plan of a job of 1,000 groups, and 1,000 who follow 1,000 events a second. The clients are
// another process, so what is told of the processor is the server's alone. Usage: api_bench
// [lists|plan|events|deaf|bodies]
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <vector>

#include "api/api.hpp"
#include "async/group.hpp"
#include "http/server.hpp"
#include "server/testing/asked.hpp"
#include "store/memory_store.hpp"

namespace {

using namespace underway;
using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr int kJobs = 10'000;
constexpr int kFollowers = 1'000;
constexpr int kEventsPerSecond = 1'000;
constexpr auto kSpan = 5s;

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

model::Job make_job(int number) {
  model::Job job;
  job.id = fmt::format("service-{:05}", number);
  job.meta["team"] = number % 10 == 0 ? "hpc" : "web";
  job.groups.resize(1);
  job.groups[0].name = "group";
  job.groups[0].tasks.resize(1);
  job.groups[0].tasks[0].name = "task";
  job.groups[0].tasks[0].driver = "exec";
  job.canonicalize();
  return job;
}

int connect_to(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    std::perror("api_bench: connect");
    ::_exit(1);
  }
  return fd;
}

void ask(int fd, const std::string& target) {
  const std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: bench\r\n\r\n", target);
  if (::send(fd, request.data(), request.size(), 0) < 0) ::_exit(1);
}

void put(int fd, const std::string& target, const std::string& body) {
  const std::string request =
      fmt::format("PUT {} HTTP/1.1\r\nHost: bench\r\nContent-Length: {}\r\n\r\n{}", target, body.size(), body);
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t size = ::send(fd, request.data() + sent, request.size() - sent, 0);
    if (size <= 0) ::_exit(1);
    sent += static_cast<std::size_t>(size);
  }
}

/// Reads one whole response; returns the size of its body.
std::size_t answer(int fd) {
  std::vector<char> buffer(1 << 20);
  std::string head;
  std::size_t got = 0, whole = 0;
  while (whole == 0 || got < whole) {
    const ssize_t size = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (size <= 0) ::_exit(1);
    got += static_cast<std::size_t>(size);
    if (whole > 0) continue;
    head.append(buffer.data(), static_cast<std::size_t>(size));
    const std::size_t end = head.find("\r\n\r\n"), length = head.find("Content-Length: ");
    if (end == std::string::npos) continue;
    if (!head.starts_with("HTTP/1.1 200") || length > end) {
      std::fputs(head.c_str(), stderr);
      ::_exit(1);
    }
    whole = end + 4 + std::strtoul(head.c_str() + length + 16, nullptr, 10);
  }
  return whole;
}

void time_lists(std::uint16_t port) {
  const std::pair<const char*, const char*> targets[] = {
      {"all jobs", "/v1/jobs"},
      {"with a filter that wants a tenth", "/v1/jobs?filter=Meta.team%20%3D%3D%20hpc"},
      {"with a pattern that wants none", "/v1/jobs?filter=ID%20matches%20%60x%24%60"},
      {"a page of 50", "/v1/jobs?per_page=50"},
  };
  for (const auto& [name, target] : targets) {
    const int fd = connect_to(port);
    std::vector<double> took;
    std::size_t size = 0;
    for (int i = 0; i < 15; ++i) {
      const auto begin = SteadyClock::now();
      ask(fd, target);
      size = answer(fd);
      took.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
    }
    ::close(fd);
    std::sort(took.begin(), took.end());
    fmt::print("list of {} jobs, {:<34} {:7.1f} ms median, {:7.1f} ms best, {:9} bytes\n", kJobs, name,
               took[took.size() / 2], took.front(), size);
  }
}

constexpr int kGroups = 1'000, kNodes = 1'000;

/// Each group asks for something of its own, so that none is placed by what was found for another.
model::Job make_wide_job() {
  model::Job job = make_job(0);
  job.id = "wide";
  const model::TaskGroup group = job.groups[0];
  job.groups.assign(kGroups, group);
  for (int i = 0; i < kGroups; ++i) {
    auto& added = job.groups[static_cast<std::size_t>(i)];
    added.name = fmt::format("group-{}", i);
    added.tasks[0].resources.cpu = 100 + i;
    added.tasks[0].env["NUMBER"] = std::to_string(i);
  }
  return job;
}

void time_plans(std::uint16_t port) {
  const std::string body = fmt::format(R"({{"Job":{},"Diff":true}})", json::encode(make_wide_job()));
  const int fd = connect_to(port);
  std::vector<double> took;
  std::size_t size = 0;
  for (int i = 0; i < 15; ++i) {
    const auto begin = SteadyClock::now();
    put(fd, "/v1/job/wide/plan", body);
    size = answer(fd);
    took.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
  }
  ::close(fd);
  std::sort(took.begin(), took.end());
  fmt::print("plan of a job of {} groups on {} nodes, {} bytes of JSON: {:.1f} ms median, {:.1f} ms best, {} bytes\n",
             kGroups, kNodes, body.size(), took[took.size() / 2], took.front(), size);
}

/// Follows until the server hangs up; returns lines that every follower has read, as the slowest has.
void follow(std::uint16_t port, int report) {
  const int poll = ::epoll_create1(0);
  struct Follower {
    int fd;
    long events = 0;
  };
  std::vector<Follower> followers;
  for (int i = 0; i < kFollowers; ++i) {
    followers.push_back({connect_to(port)});
    ask(followers.back().fd, "/v1/event/stream?topic=Evaluation&index=999999999");
  }
  for (std::size_t i = 0; i < followers.size(); ++i) {
    epoll_event wanted{EPOLLIN, {.u64 = i}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, followers[i].fd, &wanted);
  }
  const long ready = 0;
  if (::write(report, &ready, sizeof ready) < 0) ::_exit(1);
  std::size_t open = followers.size();
  std::vector<char> buffer(1 << 20);
  while (open > 0) {
    epoll_event news[64];
    const int count = ::epoll_wait(poll, news, 64, -1);
    for (int i = 0; i < count; ++i) {
      auto& follower = followers[news[i].data.u64];
      const ssize_t size = ::recv(follower.fd, buffer.data(), buffer.size(), 0);
      if (size <= 0) {
        ::epoll_ctl(poll, EPOLL_CTL_DEL, follower.fd, nullptr);
        --open;
        continue;
      }
      static constexpr std::string_view kMark = "\"Topic\":";
      const std::string_view text(buffer.data(), static_cast<std::size_t>(size));
      for (auto at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + 1)) ++follower.events;
    }
  }
  long least = followers.front().events, most = 0;
  for (const auto& follower : followers) {
    least = std::min(least, follower.events);
    most = std::max(most, follower.events);
  }
  fmt::print("each of {} followers read {} to {} events\n", kFollowers, least, most);
}

/// Asks as the others do, and reads nothing.
void be_deaf(std::uint16_t port, int report) {
  std::vector<int> open;
  for (int i = 0; i < kFollowers; ++i) {
    open.push_back(connect_to(port));
    ask(open.back(), "/v1/event/stream?topic=Evaluation&index=999999999");
  }
  const long ready = 0;
  if (::write(report, &ready, sizeof ready) < 0) ::_exit(1);
  ::pause();
}

/// Sends a body of 100 MB for as long as the server takes it.
void send_too_much(std::uint16_t port) {
  const int fd = connect_to(port);
  const std::string head = "PUT /v1/jobs HTTP/1.1\r\nHost: bench\r\nContent-Length: 100000000\r\n\r\n";
  const auto begin = SteadyClock::now();
  if (::send(fd, head.data(), head.size(), 0) < 0) ::_exit(1);
  char first[13] = {};
  if (::recv(fd, first, 12, 0) != 12) ::_exit(1);
  fmt::print("a body of 100 MB is answered \"{}\" after {:.1f} ms, before a byte of it was sent\n", first,
             std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
  const std::string piece(1 << 20, 'x');
  std::size_t sent = 0;
  while (sent < 100'000'000) {
    const ssize_t size = ::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL);
    if (size <= 0) break;
    sent += static_cast<std::size_t>(size);
  }
  fmt::print("who sends it all the same is cut off after {} MB\n", sent >> 20);
}

struct World {
  explicit World(Duration send_timeout = 30s) : server(loop.executor(), store, clock, ids, {}), api{server, {}, clock} {
    server.start();
    api::add_routes(router, api);
    http::ServerOptions options;
    options.pool = &pool;
    options.send_timeout = send_timeout;
    http.emplace(loop.executor(), router, options);
    http::Endpoint endpoint;
    endpoint.host = "127.0.0.1";
    port = http->listen(endpoint).port;
  }
  async::Loop loop;
  async::Pool pool{1};
  store::MemoryStore store;
  SystemClock clock;
  SystemIds ids;
  server::Server server;
  http::Router router;
  api::Api api;
  std::optional<http::Server> http;
  std::uint16_t port = 0;
};

/// Runs `clients` in another process, and the server in this one until that has ended or `work` has.
template <class Clients, class Work>
void beside(World& world, Clients clients, Work work, bool killed = false) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    clients(world.port);
    std::fflush(stdout);
    ::_exit(0);
  }
  world.loop.run_until_done(work(world));
  if (killed) ::kill(child, SIGKILL);
  world.loop.run_until_done(world.http->stop(Duration{0}));
  world.loop.run_until_done(world.server.stop());
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0 && !killed) std::exit(1);
}

async::awaitable<void> until_ended() {
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == 0)
    co_await async::sleep_for(5ms);
}

void bench_lists() {
  World world;
  for (int begin = 0; begin < kJobs; begin += 500) {
    const auto decided = [begin](const server::Tables&, const server::Context&) {
      server::Decision<server::Nothing> decision;
      for (int i = begin; i < begin + 500; ++i) decision.changes.push_back(tables::PutJob{make_job(i), std::nullopt});
      return decision;
    };
    world.loop.run_until_done(world.server.apply(server::testing::asked(decided)));
  }
  const double before = processor_seconds();
  beside(world, time_lists, [](World&) { return until_ended(); });
  fmt::print("the server used {:.2f} s of a processor for 60 lists\n", processor_seconds() - before);
}

void bench_plan() {
  World world;
  const auto decided = [](const server::Tables&, const server::Context&) {
    server::Decision<server::Nothing> decision;
    for (int i = 0; i < kNodes; ++i) {
      model::Node node;
      node.id = fmt::format("{:08x}-0000-4000-8000-000000000000", i);
      node.name = fmt::format("c{}", i);
      node.attributes = {{"kernel.name", "linux"}, {"unique.hostname", node.name}};
      node.resources.cpu = 64'000;
      node.resources.memory_mb = 131'072;
      node.resources.disk_mb = 1'000'000;
      node.drivers["exec"] = {true, true, "", {}};
      node.status = model::NodeStatus::ready;
      node.computed_class = model::compute_class(node);
      decision.changes.push_back(tables::PutNode{std::move(node)});
    }
    return decision;
  };
  world.loop.run_until_done(world.server.apply(server::testing::asked(decided)));
  beside(world, time_plans, [](World&) { return until_ended(); });
}

/// `hearing`: whether those who follow read.
async::awaitable<void> make_events(World& world, int ready, bool hearing) {
  long word = 0;
  while (::read(ready, &word, sizeof word) != sizeof word) co_await async::sleep_for(5ms);
  co_await async::sleep_for(500ms);
  const double used = processor_seconds(), memory = resident_mib();
  const auto begin = SteadyClock::now();
  const long all = kEventsPerSecond * std::chrono::duration_cast<std::chrono::seconds>(kSpan).count();
  long made = 0;
  while (made < all) {
    const auto due =
        static_cast<long>(std::chrono::duration<double>(SteadyClock::now() - begin).count() * kEventsPerSecond);
    for (; made < std::min(due, all); ++made) {
      const auto decided = [made](const server::Tables&, const server::Context& context) {
        server::Decision<server::Nothing> decision;
        model::Evaluation evaluation;
        evaluation.id = context.ids.uuid();
        evaluation.job_id = fmt::format("service-{}", made % 100);
        evaluation.status = model::EvalStatus::complete;
        decision.changes.push_back(tables::PutEvaluation{std::move(evaluation)});
        return decision;
      };
      co_await world.server.apply(server::testing::asked(decided));
    }
    co_await async::sleep_for(1ms);
  }
  const double took = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  // What is on its way arrives.
  co_await async::sleep_for(500ms);
  if (!hearing) {
    co_await async::sleep_for(3s);
    fmt::print(
        "{} who never read, {} events: {} of them are still connected, {:.0f} MiB resident before and {:.0f} after\n",
        kFollowers, made, world.http->connections(), memory, resident_mib());
    co_return;
  }
  fmt::print("{} followers, {} events in {:.1f} s: {:.2f} of one core, {:.0f} MiB resident before and {:.0f} after\n",
             kFollowers, made, took, (processor_seconds() - used) / took, memory, resident_mib());
}

void bench_events(bool hearing) {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK) != 0) std::exit(1);
  World world(hearing ? 30s : 1s);
  beside(
      world, [&](std::uint16_t port) { hearing ? follow(port, ends[1]) : be_deaf(port, ends[1]); },
      [&](World& serving) { return make_events(serving, ends[0], hearing); }, !hearing);
}

void bench_bodies() {
  World world;
  const double memory = resident_mib();
  beside(world, send_too_much, [](World&) { return until_ended(); });
  fmt::print("the server had {:.0f} MiB resident before and {:.0f} after\n", memory, resident_mib());
}

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count > 1 ? words[1] : "";
  rlimit files{4096, 4096};
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (what.empty() || what == "lists") bench_lists();
  if (what.empty() || what == "plan") bench_plan();
  if (what.empty() || what == "events") bench_events(true);
  if (what.empty() || what == "deaf") bench_events(false);
  if (what.empty() || what == "bodies") bench_bodies();
  return 0;
}
