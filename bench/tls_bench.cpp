// TLS as nodes use it: handshakes per second and core, full (mutual, P-256) and resumed; what a linked node costs a
// server in memory, beside the same links in the clear; and what the API feels while all nodes of a large cluster link
// again at once. Server and clients share one process and mostly one core, so a server alone does about twice as many
// handshakes. Usage: tls_bench [links [nodes that link again]]
#include <fmt/core.h>
#include <malloc.h>
#include <openssl/ssl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "async/group.hpp"
#include "base/random.hpp"
#include "crypto/authority.hpp"
#include "http/client.hpp"
#include "http/server.hpp"

namespace {

using namespace underway;
using namespace std::chrono_literals;
using async::awaitable;

constexpr Duration kMeasured = 3s;

/// Resident memory of this process, bytes.
double resident() {
  ::malloc_trim(0);
  std::ifstream in("/proc/self/statm");
  std::size_t total = 0, pages = 0;
  in >> total >> pages;
  return static_cast<double>(pages) * 4096;
}

awaitable<http::Response> pong(http::Request) { co_return http::text(200, "pong"); }
awaitable<void> hold(std::shared_ptr<http::WebSocket> socket) {
  while (co_await socket->read()) {
  }
}
awaitable<http::Response> link(http::Request) {
  http::Response response;
  response.upgrade = hold;
  co_return response;
}

struct World {
  World() {
    router.add("GET", "/ping", "ping", pong);
    router.add("GET", "/link", "link", link);
    const auto now = SystemClock().now();
    const auto authority = crypto::Authority::make("bench", 24h, now);
    const auto own = authority.issue({.common_name = "server", .names = {"server"}, .server = true}, now);
    const auto node = authority.issue({.common_name = "node", .names = {"client.global.nomad"}}, now);
    ca = authority.certificate();
    const std::string chain = own.certificate + ca;
    const http::TlsTexts texts{.certificate = chain, .key = own.key.bytes(), .authority = ca};
    mutual = server.listen({.host = "127.0.0.1"}, http::TlsContext::server(texts, http::ClientCertificates::requested));
    one_sided = server.listen({.host = "127.0.0.1"}, http::TlsContext::server(texts));
    plain = server.listen({.host = "127.0.0.1"});
    client.emplace(http::TlsContext::client(
        http::TlsTexts{.certificate = node.certificate, .key = node.key.bytes(), .authority = ca}, "server"));
  }
  http::ClientOptions options() const {
    http::ClientOptions options;
    options.tls = client;
    return options;
  }

  async::Loop loop;
  http::Router router;
  http::Server server{loop.executor(), router, {.connection_limit = 100'000, .idle_timeout = 1h}};
  std::string ca;
  http::Endpoint mutual, one_sided, plain;
  std::optional<http::TlsContext> client;
};

/// A new connection for every request: handshake, one small exchange, end.
awaitable<void> mutual_handshakes(World& world) {
  const auto end = std::chrono::steady_clock::now() + kMeasured;
  std::size_t done = 0;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < end) {
    http::Client client(world.loop.executor(), {.endpoint = world.mutual, .tls = true}, world.options());
    co_await client.send(http::request("GET", "/ping"));
    ++done;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("full handshakes, mutual, client and server on one core   {:8.0f} / s\n",
             static_cast<double>(done) / took.count());
}

awaitable<void> memory(World& world, const char* what, http::Url url, std::size_t count) {
  std::vector<std::unique_ptr<http::Client>> clients;
  std::vector<std::shared_ptr<http::WebSocket>> sockets;
  const double before = resident();
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<http::Client>(world.loop.executor(), url, world.options()));
    auto request = http::request("GET", "/link");
    sockets.push_back(co_await clients.back()->dial(std::move(request)));
  }
  // Both ends are here, so an end costs half.
  fmt::print("{:<56} {:8.1f} KiB per link and end ({} links)\n", what,
             (resident() - before) / 1024 / 2 / static_cast<double>(count), count);
  for (const auto& socket : sockets) socket->abort();
  sockets.clear();
  clients.clear();
  co_await async::sleep_for(200ms);
}

/// Resumption needs a client of OpenSSL's own: ours shows its certificate anew each time. Returns handshakes per
/// second.
double one_sided_handshakes(std::uint16_t port, bool resume) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(::SSL_CTX_new(::TLS_client_method()),
                                                                  &::SSL_CTX_free);
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  ::SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT);
  SSL_SESSION* session = nullptr;
  std::size_t done = 0, resumed = 0;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < start + kMeasured) {
    BIO* connection = ::BIO_new_ssl_connect(context.get());
    SSL* ssl = nullptr;
    ::BIO_get_ssl(connection, &ssl);
    ::BIO_set_conn_hostname(connection, fmt::format("127.0.0.1:{}", port).c_str());
    if (resume && session != nullptr) ::SSL_set_session(ssl, session);
    static constexpr std::string_view kRequest = "GET /ping HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n";
    char answer[4096];
    if (::BIO_do_connect(connection) != 1 || ::BIO_write(connection, kRequest.data(), kRequest.size()) <= 0)
      std::abort();
    while (::BIO_read(connection, answer, sizeof answer) > 0) {
    }
    if (::SSL_session_reused(ssl) == 1) ++resumed;
    ++done;
    ::SSL_SESSION_free(session);
    session = ::SSL_get1_session(ssl);
    ::BIO_free_all(connection);
  }
  ::SSL_SESSION_free(session);
  if (resume && resumed + 1 < done) fmt::print("only {} of {} handshakes were resumed\n", resumed, done);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return static_cast<double>(done) / took.count();
}

awaitable<void> run(World& world, std::size_t links) {
  co_await mutual_handshakes(world);
  co_await memory(world, "memory of an idle link, mutual TLS", {.endpoint = world.mutual, .tls = true}, links);
  co_await memory(world, "memory of an idle link, plain", {.endpoint = world.plain}, links);
}

/// One node that dials until it is linked, as they all do when the server was started anew.
awaitable<void> link_again(World& world, async::Loop& loop, std::vector<std::shared_ptr<http::WebSocket>>& linked,
                           std::size_t& tries) {
  http::Client client(loop.executor(), {.endpoint = world.mutual, .tls = true}, world.options());
  while (true) {
    bool done = true;
    ++tries;
    try {
      linked.push_back(co_await client.dial(http::request("GET", "/link")));
    } catch (const Error&) {
      done = false;
    }
    if (done) co_return;
    co_await async::sleep_for(1s);
  }
}

/// Asks all the time on a connection that it has, and each time on a new one; how long each answer took, in ms.
struct Asked {
  std::vector<double> kept, fresh;
  std::size_t refused = 0;
};
awaitable<void> keep_asking(World& world, async::Loop& loop, const std::atomic<bool>& over, Asked& asked) {
  const http::Url url{.endpoint = world.mutual, .tls = true};
  http::Client kept(loop.executor(), url, world.options());
  const auto ask = [&](http::Client& client, std::vector<double>& times) -> awaitable<void> {
    const auto start = std::chrono::steady_clock::now();
    try {
      co_await client.send(http::request("GET", "/ping"));
    } catch (const Error&) {
      ++asked.refused;
    }
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  };
  while (!over) {
    co_await ask(kept, asked.kept);
    http::Client fresh(loop.executor(), url, world.options());
    co_await ask(fresh, asked.fresh);
    co_await async::sleep_for(5ms);
  }
}

double at(std::vector<double>& times, double part) {
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
}

/// What the nodes' process tells: how many are linked, after how many tries and how long.
struct LinkedAgain {
  std::size_t linked = 0, tries = 0;
  double seconds = 0;
};

LinkedAgain link_all_again(World& world, std::size_t nodes) {
  async::Loop loop;
  LinkedAgain result;
  std::vector<std::shared_ptr<http::WebSocket>> linked;
  const auto start = std::chrono::steady_clock::now();
  async::TaskGroup dialling(loop.executor(), "nodes");
  for (std::size_t i = 0; i < nodes; ++i) dialling.spawn("node", link_again(world, loop, linked, result.tries));
  while (linked.size() < nodes && std::chrono::steady_clock::now() < start + 120s) loop.context().run_one_for(100ms);
  result.linked = linked.size();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  loop.run_until_done(dialling.stop());
  return result;
}

/// The nodes are a process of their own, since one may have too few open files for both ends. It begins when it is told
/// and tells what became of it.
struct Nodes {
  Nodes(World& world, std::size_t count) {
    if (::pipe(go) != 0 || ::pipe(result) != 0) std::abort();
    child = ::fork();
    if (child != 0) return;
    char byte = 0;
    if (::read(go[0], &byte, 1) != 1) ::_exit(1);
    const LinkedAgain found = link_all_again(world, count);
    ::_exit(::write(result[1], &found, sizeof found) == sizeof found ? 0 : 1);
  }
  LinkedAgain run() {
    LinkedAgain found;
    if (::write(go[1], "g", 1) != 1 || ::read(result[0], &found, sizeof found) != sizeof found) std::abort();
    ::waitpid(child, nullptr, 0);
    return found;
  }
  int go[2] = {}, result[2] = {};
  pid_t child = 0;
};

void reconnect(World& world, Nodes& nodes, std::size_t count) {
  std::atomic<bool> over = false, answered = false;
  Asked asked;
  std::thread serving([&] {
    while (!answered) world.loop.context().run_one_for(100ms);
  });
  std::thread asking([&] {
    async::Loop loop;
    loop.run_until_done(keep_asking(world, loop, over, asked));
  });
  const LinkedAgain found = nodes.run();
  over = true;
  asking.join();
  answered = true;
  serving.join();
  fmt::print("{} of {} nodes link again at once, {} tries             {:8.1f} s\n", found.linked, count, found.tries,
             found.seconds);
  const auto tell = [](const char* what, std::vector<double>& times) {
    fmt::print("  the API meanwhile, {} {} requests, median {:.1f} ms, 99 % {:.1f} ms, longest {:.1f} ms\n", what,
               times.size(), at(times, 0.5), at(times, 0.99), at(times, 1));
  };
  tell("a kept connection:", asked.kept);
  tell("new connections:  ", asked.fresh);
  fmt::print("  the API meanwhile, refused:           {}\n", asked.refused);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t links = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 1000;
  const std::size_t again = argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 10'000;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  World world;
  Nodes nodes(world, again);
  world.loop.run_until_done(run(world, links));
  for (const bool resume : {false, true}) {
    double rate = 0;
    bool over = false;
    std::thread client([&] {
      rate = one_sided_handshakes(world.one_sided.port, resume);
      asio::post(world.loop.executor(), [&over] { over = true; });
    });
    while (!over) world.loop.context().run_one_for(100ms);
    client.join();
    fmt::print(
        "{:<56} {:8.0f} / s\n",
        resume ? "resumed handshakes, server's certificate alone" : "full handshakes, server's certificate alone",
        rate);
  }
  reconnect(world, nodes, again);
  world.loop.run_until_done(world.server.stop(Duration{0}));
  return 0;
}
