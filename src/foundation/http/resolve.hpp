#pragma once
/// @file
/// From the name of a host to its addresses.

#include <boost/asio/ip/tcp.hpp>

#include "async/loop.hpp"

namespace underway::http {

using asio::awaitable;

/// Of an address, itself. A name is looked up on a thread of its own, which the C library may keep for half a minute:
/// who is cancelled meanwhile does not wait for it. Throws Error(unavailable).
awaitable<std::vector<asio::ip::tcp::endpoint>> resolve(std::string host, std::uint16_t port);

}  // namespace underway::http
