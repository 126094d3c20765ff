#pragma once
/// @file
/// The nftables of all allocations on the node's bridge, from their records. Pure.

#include <map>
#include <string>

#include "net/address.hpp"
#include "network/detail/record.hpp"

namespace underway::network {

/// A document for net::run_nftables that replaces the table. Ports that are mapped to an allocation; traffic that
/// leaves the bridge's network, or that comes back to it by a mapped port, is masqueraded; and what an allocation sends
/// to the host's own loopback addresses is dropped.
std::string rules_of(const std::string& table, const std::string& bridge, const net::Cidr& network,
                     const std::map<std::string, Record>& records);

}  // namespace underway::network
