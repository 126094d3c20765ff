#pragma once
/// @file
/// The HTTP/1.1 client, for TCP, TLS and unix sockets. `Client` is for coroutines, `BlockingClient` for plain
/// synchronous programs. Any status is a Response, not a failure; failures are Errors that name the address:
/// unavailable (cannot connect, connection lost), timeout, invalid (no HTTP spoken there), too_large.

#include "http/endpoint.hpp"
#include "http/message.hpp"
#include "http/tls.hpp"
#include "http/websocket.hpp"

namespace underway::http {

struct ClientOptions {
  Duration connect_timeout = std::chrono::seconds{10};  ///< resolving, connecting and the TLS handshake
  Duration timeout = std::chrono::minutes{11};          ///< of a whole exchange; above the longest blocking query
  Duration idle_timeout = std::chrono::seconds{60};     ///< kept connections are not used after this long
  std::size_t connections_kept = 8;
  std::size_t body_limit = 256u << 20;
  Headers headers = {};                ///< added to every request that does not set them itself
  std::optional<TlsContext> tls = {};  ///< for https; without it the system's authorities are trusted
  WebSocketOptions websocket = {};
};

/// A response whose body is read piece by piece.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  /// The next piece as it arrives; nothing at the end of the body. Waits as long as it takes, unless `idle` (since the
  /// last byte) passes: Error(timeout). Throws Error(unavailable) when the body ends early.
  virtual awaitable<std::optional<std::string>> read(Duration idle = Duration::max()) = 0;
};

/// Thread: one loop. Cancelling a call breaks its connection, no other.
class Client {
 public:
  Client(async::Executor executor, Url url, ClientOptions options = {});
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// Sends and awaits the whole response (gzip is undone). `timeout` overrides the options'.
  awaitable<Response> send(Request request, std::optional<Duration> timeout = {});
  /// Sends and returns when the response's head is there.
  awaitable<std::unique_ptr<ResponseStream>> open(Request request, std::optional<Duration> head_timeout = {});
  /// Opens a WebSocket on `target`. A server that refuses throws Error with its status' code and its text.
  awaitable<std::shared_ptr<WebSocket>> dial(Request request);

  const Url& url() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Blocks its thread; owns a loop of its own.
class BlockingClient {
 public:
  explicit BlockingClient(Url url, ClientOptions options = {});

  Response send(Request request, std::optional<Duration> timeout = {});
  /// Calls `piece` for each piece of the body until its end or until it returns false. `head` sees the response before
  /// the first piece; a body is read only if it returns true. Returns the status.
  int stream(Request request, const std::function<bool(int status, const Headers&)>& head,
             const std::function<bool(std::string_view)>& piece);

  /// For what needs more than one wait at a time (an exec session): run coroutines on the loop that `client` uses.
  async::Loop& loop() { return loop_; }
  Client& client() { return client_; }

 private:
  async::Loop loop_;
  Client client_;
};

/// The Code that fits a status of a failed request: 403 denied, 404 not_found, …
Code code_of_status(int status);

}  // namespace underway::http
