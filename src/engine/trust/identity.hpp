#pragma once
/// @file
/// What a certificate says about a node, and what a server makes of the certificate that a link's peer shows.

#include "crypto/authority.hpp"
#include "http/message.hpp"

namespace underway::trust {

/// Who a node is and what it may be, as far as its certificate says so; what is empty is not said.
struct Identity {
  std::string node_id;
  std::string name;
  std::string pool;
  std::string cluster;    ///< of a host of ours, whose name is `name`
  std::string member_of;  ///< the cluster of a node that is no host of ours
  bool operator==(const Identity&) const = default;
};

/// The certificate of a node: Nomad's name of its role, and its identity. `name` is its common name, for people.
crypto::Leaf node_leaf(std::string_view region, const Identity& identity, const std::string& name, Duration lifetime);

struct PeerIdentity {
  Identity identity;  ///< of a site's own certificate all empty
  TimePoint until;    ///< the link ends then, unless the certificate was renewed
};

/// Throws Error(denied), saying what is wrong with the peer's certificate and what heals it.
PeerIdentity identify_node(const http::Peer& peer, std::string_view region);

}  // namespace underway::trust
