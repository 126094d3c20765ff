#pragma once
/// @file
/// Keeps a node linked: dials, hands over the connection, and dials again with back-off and jitter when it ends, trying
/// the servers in turn. What the node runs does not depend on it.

#include "async/retry.hpp"
#include "http/client.hpp"
#include "link/connection.hpp"

namespace underway::link {

struct DiallerOptions {
  std::vector<std::string> servers;  ///< "unix:///run/underway/agent.sock", "https://mgmt:4646"; at least one
  std::string path = "/v1/underway/link";
  /// Before each dial: what to dial that server with. Its failure is one of the dial. Absent: without TLS.
  std::function<awaitable<std::optional<http::TlsContext>>(std::string server)> prepare;
  async::RetryPolicy retry = {std::chrono::milliseconds(200), std::chrono::seconds(10), 2.0, 0.5, {}};
  Duration ping_every = std::chrono::seconds(5);
  Duration dead_after = std::chrono::seconds(15);  ///< a server that is silent for so long is given up
  ConnectionOptions connection;
};

class Dialler {
 public:
  /// `linked` is called with each new connection, whose run() goes on beside it; when it returns, or throws, or the
  /// link ends, the connection is closed and the next one is dialled.
  using Linked = std::function<awaitable<void>(std::shared_ptr<Connection>)>;
  /// Throws invalid when an address is none.
  Dialler(async::Executor executor, DiallerOptions options, std::function<Handlers()> handlers, Linked linked);

  /// Dials until cancelled.
  awaitable<void> run();
  bool connected() const { return connected_; }

 private:
  awaitable<void> link_once(const std::string& server);

  async::Executor executor_;
  DiallerOptions options_;
  std::function<Handlers()> handlers_;
  Linked linked_;
  bool connected_ = false;
  async::SteadyTime linked_since_ = async::kNever;  ///< of the present or last connection
};

}  // namespace underway::link
