#pragma once
/// @file
/// What listens in a namespace.

#include <cstdint>
#include <set>
#include <string>

#include "net/namespace.hpp"

namespace underway::net {

/// TCP ports with a listener in the namespace, IPv4 and IPv6 (sock_diag(7)).
std::set<std::uint16_t> listening_tcp_ports(const Namespace& in);
bool tcp_listening(const Namespace& in, std::uint16_t port);

}  // namespace underway::net
