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

/// Who sends a body, as far as its head tells.
struct Sender {
  enum class Kind {
    refused,   ///< nothing of the body is taken; the route answers what it answers to the head alone
    stranger,  ///< shows nothing that is known here
    known,
    trusted,  ///< its bodies are not counted
  };
  Kind kind = Kind::known;
  std::string name = {};  ///< bodies are shared out by it; empty: by the address
};

/// Set by the server for the route of a request whose body was refused and therefore not read. What a client sends
/// under this name is thrown away.
inline constexpr std::string_view kUnreadBody = "X-Underway-Unread-Body";

struct ServerOptions {
  std::size_t header_limit = 64u << 10;  ///< bytes of request line and headers (431)
  std::size_t body_limit = 16u << 20;    ///< bytes of a body, where the route says nothing else (413)
  /// Of clients: further ones are answered 503 and closed, and one address gets no more than are left for all others.
  /// Root and this program's own user are always taken on a unix socket.
  std::size_t connection_limit = 20'000;
  std::size_t bodies_limit = 256u << 20;    ///< bytes of bodies held at once; no sender gets more than is left
  std::size_t strangers_limit = 32u << 20;  ///< the same of strangers' bodies, and of heads that are not whole
  Duration header_timeout = std::chrono::seconds{10};  ///< from a request's first byte (or accept) to its last header
  Duration body_timeout = std::chrono::seconds{60};    ///< longest pause between two pieces of a body
  Duration body_deadline = std::chrono::minutes{10};   ///< for a whole body
  Duration stranger_deadline = std::chrono::seconds{30};  ///< for a stranger's
  Duration idle_timeout = std::chrono::seconds{120};      ///< of a kept-alive connection between requests
  Duration send_timeout = std::chrono::seconds{30};       ///< a client that takes no byte for so long is dropped
  std::size_t handshakes_at_once = 8;    ///< TLS handshakes computed before everything else is looked at
  std::size_t gzip_from = 1024;          ///< smaller bodies are not compressed
  async::Pool* pool = nullptr;           ///< compresses bodies of 64 KiB and more, if there is one
  std::string server_name = "underway";  ///< the Server header
  WebSocketOptions websocket = {};
  /// Instead of websocket.message_limit, of peers that show no certificate: each holds a message and parts of the next.
  std::size_t uncertified_message_limit = 16u << 20;
  /// Asked of every request's head, before a route is looked for: an answer refuses it. Absent: none is. It throws
  /// nothing.
  std::function<std::optional<Response>(const Request&)> refuse = {};
  /// Asked of the head of every request with a body, before any of that is taken. Absent: everybody is known. It throws
  /// nothing.
  std::function<awaitable<Sender>(Request)> admit = {};
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
  /// Bytes of bodies, and of heads that are not whole, which are held now.
  std::size_t held_bytes() const;
  const std::vector<Endpoint>& endpoints() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace underway::http
