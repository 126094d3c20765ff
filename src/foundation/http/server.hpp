#pragma once
/// @file
/// The HTTP/1.1 server: keep-alive, pipelining, chunked streaming, gzip, WebSocket, TLS, TCP and unix sockets. A
/// waiting request costs a few kilobytes and no thread, so blocking queries are cheap; it is cancelled when its client
/// goes away.

#include "http/endpoint.hpp"
#include "http/router.hpp"
#include "http/tls.hpp"
#include "http/websocket.hpp"

namespace underway::http {

struct ServerOptions {
  std::size_t header_limit = 64u << 10;                ///< bytes of request line and headers (431)
  std::size_t body_limit = 16u << 20;                  ///< bytes of a body, where the route says nothing else (413)
  std::size_t connection_limit = 20'000;               ///< further clients are answered 503 and closed
  Duration header_timeout = std::chrono::seconds{10};  ///< from a request's first byte (or accept) to its last header
  Duration body_timeout = std::chrono::seconds{60};    ///< longest pause between two pieces of a body
  Duration idle_timeout = std::chrono::seconds{120};   ///< of a kept-alive connection between requests
  Duration send_timeout = std::chrono::seconds{30};    ///< a client that takes no byte for so long is dropped
  std::size_t handshakes_at_once = 8;                  ///< TLS handshakes computed before everything else is looked at
  std::size_t gzip_from = 1024;                        ///< smaller bodies are not compressed
  async::Pool* pool = nullptr;                         ///< compresses bodies of 64 KiB and more, if there is one
  std::string server_name = "underway";                ///< the Server header
  WebSocketOptions websocket = {};
  /// Asked of every request, whole but for a streamed body, before a route is looked for: an answer refuses it. Absent:
  /// none is. It throws nothing.
  std::function<std::optional<Response>(const Request&)> refuse = {};
};

/// Thread: one loop. `router` must outlive the server and not change while it serves.
class Server {
 public:
  Server(async::Executor executor, const Router& router, ServerOptions options = {});
  /// Breaks what is left; `stop` first.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Starts serving there and returns the endpoint with the port it got. A stale unix socket is replaced, one with a
  /// living listener is not. Throws Error: conflict (taken; the advice says how to find by whom), denied, invalid.
  Endpoint listen(const Endpoint& endpoint, std::optional<TlsContext> tls = {});
  /// The same with a context that is replaced while it listens.
  Endpoint listen(const Endpoint& endpoint, std::shared_ptr<const TlsHolder> tls);

  /// Serves a connected, nonblocking stream socket, which becomes the server's, as if it had been accepted. Requests
  /// come from `peer`, whoever the kernel says is at the other end.
  void adopt(int fd, Peer peer);

  /// Stops accepting, lets running requests end for at most `grace`, then cancels them and waits until all are gone.
  awaitable<void> stop(Duration grace);

  std::size_t connections() const;
  const std::vector<Endpoint>& endpoints() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace underway::http
