#pragma once
/// @file
/// What the neighbours on a link need to be told, and what listens in a namespace.

#include <cstdint>
#include <set>
#include <string>

#include "net/address.hpp"
#include "net/namespace.hpp"

namespace underway::net {

/// Broadcasts a gratuitous ARP (RFC 5944 §4.6, request and reply form) for `address` from `link`, so that neighbours
/// learn a moved address at once: without it they keep the old one for more than 40 s (measured).
/// Errors: not_found (no such link), unavailable (link down), invalid (IPv6 has none).
void announce_address(const Namespace& in, const std::string& link, const Ip& address);

/// TCP ports with a listener in the namespace, IPv4 and IPv6 (sock_diag(7)).
std::set<std::uint16_t> listening_tcp_ports(const Namespace& in);
bool tcp_listening(const Namespace& in, std::uint16_t port);

}  // namespace underway::net
