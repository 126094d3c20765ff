#include "link/dialler.hpp"

#include "base/log.hpp"

namespace underway::link {

Dialler::Dialler(async::Executor executor, DiallerOptions options, std::function<Handlers()> handlers, Linked linked)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      linked_(std::move(linked)) {
  if (options_.servers.empty()) throw Error(Code::invalid, "no server is named for the link");
  for (const auto& server : options_.servers) http::parse_url(server);
}

awaitable<void> Dialler::run() {
  async::Backoff backoff(options_.retry);
  std::string last_logged;
  for (std::size_t attempt = 0;; ++attempt) {
    const std::string& server = options_.servers[attempt % options_.servers.size()];
    std::string failure = "the server hung up";
    try {
      co_await link_once(server);
    } catch (const Error& error) {
      failure = error.one_line();
    }
    connected_ = false;
    // A server that takes links and drops them at once is one to spare, as is one that cannot be reached.
    if (std::chrono::steady_clock::now() - std::exchange(linked_since_, async::kNever) > options_.retry.most)
      backoff.reset();
    const Duration pause = backoff.next().value_or(options_.retry.most);
    // One line when the reason changes; a server that is away for a day does not fill the journal.
    if (failure != last_logged) log::warn("link: {}: {}; dialling again, tasks keep running", server, failure);
    last_logged = std::move(failure);
    co_await async::sleep_for(pause);
  }
}

awaitable<void> Dialler::link_once(const std::string& server) {
  http::ClientOptions client_options;
  if (options_.prepare) client_options.tls = co_await options_.prepare(server);
  client_options.websocket.ping_every = options_.ping_every;
  client_options.websocket.dead_after = options_.dead_after;
  http::Client client(executor_, http::parse_url(server), client_options);
  auto request = http::request("GET", options_.path);
  const auto socket = co_await client.dial(std::move(request));
  const auto connection = Connection::make(executor_, socket, Side::dialler, handlers_(), options_.connection);
  connected_ = true;
  linked_since_ = std::chrono::steady_clock::now();
  async::TaskGroup beside(executor_, "link");
  std::exception_ptr failure;
  const auto serve = [](Linked linked, std::shared_ptr<Connection> link) -> awaitable<void> {
    try {
      co_await linked(link);
    } catch (const Error& error) {
      log::warn("link: {}", error.one_line());
    }
    link->abort();
  };
  beside.spawn("session", serve(linked_, connection));
  try {
    co_await connection->run();
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await beside.stop();
  co_await asio::this_coro::throw_if_cancelled(true);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace underway::link
