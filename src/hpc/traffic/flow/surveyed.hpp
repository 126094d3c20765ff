#pragma once
/// @file
/// Which machine is surveyed, and what lies around it.

#include "net/address.hpp"
#include "net/packet.hpp"
#include "traffic/packet/address.hpp"

#include <span>
#include <string>
#include <vector>

namespace underway::traffic {

struct Surveyed {
  std::vector<Mac> macs;
  std::vector<Address> addresses;
  std::vector<net::Cidr> networks;  ///< whose members reach each other without a router
  bool inferred = false;

  bool has(Mac mac) const;
  bool has(const Address& address) const;
  void learn(const Address& address);
  /// Whether both lie in one of the networks.
  bool neighbours(const Address& a, const Address& b) const;
  bool is_local(const Address& address) const;
  bool empty() const { return macs.empty() && addresses.empty(); }
};

/// Each of `texts` is a MAC, an address, or an address with the prefix of its network ("10.1.0.1/16").
/// Errors: invalid, naming what is neither.
Surveyed parse_surveyed(const std::vector<std::string>& texts);

/// What is not given is found in `packets`, the front of a capture: the machine is the one that most others talk to, or
/// if that is undecided the one that answers at most doors; its addresses are those that it uses as its own; a network
/// is what the addresses seen have in common, at least a /24.
void infer(Surveyed& surveyed, std::span<const net::Packet> packets);

/// Whether a packet with this TTL or hop limit comes from its source itself: routers take one away from the numbers
/// that systems begin with.
inline bool undiminished(std::uint8_t hops) { return hops == 64 || hops == 128 || hops == 255 || hops == 1; }

}  // namespace underway::traffic
