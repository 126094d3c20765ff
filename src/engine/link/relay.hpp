#pragma once
/// @file
/// A connected socket at the end of a stream: what comes in at one is written to the other, both ways, unchanged.
/// What one side does not take waits in the stream's window and in the socket's buffer, and nowhere else.

#include <boost/asio/generic/stream_protocol.hpp>

#include "link/connection.hpp"

namespace underway::link {

using Socket = asio::generic::stream_protocol::socket;

/// A socket over a connected descriptor of a unix socket, which it takes over.
std::shared_ptr<Socket> unix_socket(const async::Executor& executor, int fd);

/// How it ended.
struct Relayed {
  bool delivered = false;           ///< the socket got bytes of the peer
  std::optional<Error> broken_off;  ///< by the peer or the link, before the peer had ended
};

/// Returns when both directions have ended, each in its own time: the end of the one is passed on and leaves the other
/// open. Sooner when the stream is broken off. The socket stays open; nothing else may read or write it meanwhile.
awaitable<Relayed> relay(std::shared_ptr<Stream> stream, std::shared_ptr<Socket> socket);

}  // namespace underway::link
