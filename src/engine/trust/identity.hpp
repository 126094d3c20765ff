#pragma once
/// @file
/// What a certificate says about a node, and what a server makes of the certificate that a link's peer shows.

#include "crypto/authority.hpp"
#include "http/message.hpp"

namespace underway::trust {

/// The certificate of a node: Nomad's name of its role, its own name, and its id.
crypto::Leaf node_leaf(std::string_view region, const std::string& node_id, const std::string& name, Duration lifetime);

struct LinkIdentity {
  std::string node_id;  ///< empty: a certificate of the site's own authority that names no id: any node
  TimePoint until;      ///< the link ends then, unless the certificate was renewed
};

/// Throws Error(denied), saying what is wrong with the peer's certificate and what heals it.
LinkIdentity identify_node(const http::Peer& peer, std::string_view region);

}  // namespace underway::trust
