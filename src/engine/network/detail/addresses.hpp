#pragma once
/// @file
/// Which address of a network is given next.

#include <optional>
#include <set>

#include "net/address.hpp"

namespace underway::network {

/// The first free one after `last`, round about: an address that was just given back is known to others for a while.
/// The network's first is the bridge's own. Pure. Errors: exhausted.
net::Ip next_address(const net::Cidr& network, const std::set<net::Ip>& taken, const std::optional<net::Ip>& last);

}  // namespace underway::network
