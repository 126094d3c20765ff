#pragma once
/// @file
/// Makes a WebSocket of a transport whose handshake is done.

#include "http/detail/frames.hpp"
#include "http/detail/transport.hpp"

namespace underway::http::detail {

/// `early` is what came after the handshake already.
std::shared_ptr<WebSocket> make_websocket(std::shared_ptr<Transport> transport, Side self, WebSocketOptions options,
                                          std::string early);

}  // namespace underway::http::detail
