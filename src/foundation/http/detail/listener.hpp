#pragma once
/// @file
/// A listening socket, TCP or unix.

#include <boost/asio/posix/stream_descriptor.hpp>

#include "http/detail/transport.hpp"
#include "http/endpoint.hpp"

namespace underway::http::detail {

/// Binds and listens. Removes its unix socket when destroyed.
class Listener {
 public:
  /// Throws Error: conflict (taken), denied, invalid.
  Listener(const async::Executor& executor, Endpoint endpoint);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const Endpoint& endpoint() const { return endpoint_; }
  /// The next connection's descriptor, nonblocking and close-on-exec. When the process has no descriptors left, it
  /// pauses and tries again. Throws Error only when the listener itself is broken.
  awaitable<int> accept();
  void close();

 private:
  Endpoint endpoint_;
  asio::posix::stream_descriptor socket_;
};

}  // namespace underway::http::detail
