#include "http/server.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "async/group.hpp"
#include "base/log.hpp"
#include "http/detail/connection.hpp"
#include "http/detail/listener.hpp"

namespace underway::http {

struct Server::Impl : std::enable_shared_from_this<Server::Impl> {
  Impl(async::Executor executor, const Router& router, ServerOptions options)
      : state(std::make_shared<detail::ServerState>(executor, router, std::move(options))),
        tasks(std::move(executor), "http server") {}

  static awaitable<void> accept_from(std::shared_ptr<Impl> impl, std::shared_ptr<detail::Listener> listener,
                                     std::shared_ptr<const TlsHolder> tls);
  void take(int fd, const TlsHolder* tls, std::optional<Peer> peer = {});

  std::shared_ptr<detail::ServerState> state;
  std::vector<std::shared_ptr<detail::Listener>> listeners;
  std::vector<Endpoint> endpoints;
  async::TaskGroup tasks;
  bool told_full = false;
};

awaitable<void> Server::Impl::accept_from(std::shared_ptr<Impl> impl, std::shared_ptr<detail::Listener> listener,
                                          std::shared_ptr<const TlsHolder> tls) {
  while (true) {
    const int fd = co_await listener->accept();
    impl->take(fd, tls.get());
  }
}

void Server::Impl::take(int fd, const TlsHolder* tls, std::optional<Peer> peer) {
  auto& connections = state->connections;
  if (state->stopping) {
    ::close(fd);
    return;
  }
  detail::Budget::Share room = state->place_for(peer ? *peer : detail::peer_of(fd));
  if (!room.hold(1)) {
    if (!std::exchange(told_full, true)) {
      log::warn("http: {} connections are open, further clients are refused", connections.size());
    }
    static constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 20\r\nConnection: close\r\n\r\ntoo many connections";
    if (tls == nullptr) [[maybe_unused]]
      const auto sent = ::send(fd, kFull.data(), kFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(fd);
    return;
  }
  told_full = false;
  auto transport = detail::accepted(state->executor, fd, tls);
  if (peer) transport->peer() = *std::move(peer);
  const auto connection = std::make_shared<detail::Connection>(state, std::move(transport), std::move(room));
  const auto place = connections.insert(connections.end(), connection);
  connection->start([shared = state, place] {
    shared->connections.erase(place);
    shared->ended.notify_all();
  });
}

Server::Server(async::Executor executor, const Router& router, ServerOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), router, std::move(options))) {}

Server::~Server() {
  impl_->state->stopping = true;
  impl_->tasks.cancel();
  const auto left = impl_->state->connections;
  for (const auto& connection : left) connection->cancel();
}

Endpoint Server::listen(const Endpoint& endpoint, std::optional<TlsContext> tls) {
  return listen(endpoint, tls ? std::make_shared<const TlsHolder>(std::move(*tls)) : nullptr);
}

Endpoint Server::listen(const Endpoint& endpoint, std::shared_ptr<const TlsHolder> tls) {
  auto listener = std::make_shared<detail::Listener>(impl_->state->executor, endpoint);
  impl_->listeners.push_back(listener);
  impl_->endpoints.push_back(listener->endpoint());
  impl_->tasks.spawn(fmt::format("accepting on {}", to_string(listener->endpoint())),
                     Impl::accept_from(impl_, listener, std::move(tls)));
  return listener->endpoint();
}

void Server::adopt(int fd, Peer peer) { impl_->take(fd, nullptr, std::move(peer)); }

awaitable<void> Server::stop(Duration grace) {
  const auto impl = impl_;
  const auto state = impl->state;
  state->stopping = true;
  for (const auto& listener : impl->listeners) listener->close();
  co_await impl->tasks.stop();
  const auto open = state->connections;
  for (const auto& connection : open) connection->finish();
  const auto deadline = async::deadline_in(grace);
  while (!state->connections.empty() && co_await state->ended.wait_until(deadline)) {
  }
  const auto left = state->connections;
  for (const auto& connection : left) connection->cancel();
  while (!state->connections.empty()) co_await state->ended.wait();
  co_await state->farewells.stop();
}

std::size_t Server::connections() const { return impl_->state->connections.size(); }
std::size_t Server::held_bytes() const { return impl_->state->bodies.held() + impl_->state->strangers.held(); }
const std::vector<Endpoint>& Server::endpoints() const { return impl_->endpoints; }

}  // namespace underway::http
