#pragma once
/// @file
/// The capsule's network: a namespace of its own, a veth pair onto a bridge of the host for each network, addresses
/// that nobody else has.
///
///   Network network = Network::plug(networks, owner, ledger);   // links, recorded first; no addresses yet
///   network.require_free();                                     // conflict: who has one of the addresses
///   network.use_addresses();  network.announce();
///
/// The links go with the namespace, that is with keeper and capsule; their host ends have names that follow from the
/// owner, so that they are found again after a crash.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/announce.hpp"
#include "net/namespace.hpp"
#include "net/netlink.hpp"
#include "os/ledger.hpp"
#include "run/config/config.hpp"

namespace underway::run {

/// A host's bridge that somebody joins, and the end of the veth pair on the host.
struct Port {
  std::string network;
  std::string bridge;
  std::string host_link;
  std::string interface;  ///< in the capsule
  std::string tagged;     ///< the VLAN link on it; empty: none
  std::int64_t vlan = 0;
  std::int64_t mtu = 0;
  std::string mac;  ///< that it has once its addresses are used
  std::vector<net::Cidr> addresses;
  std::string gateway;
  std::map<std::string, std::string> routes;

  /// Where the addresses are.
  const std::string& link() const { return tagged.empty() ? interface : tagged; }
};
/// Pure.
std::vector<Port> ports_of(const std::vector<NetworkConfig>& networks, const std::string& owner);

class Network {
 public:
  /// Errors: not_found (no such bridge, naming those that there are), invalid (no bridge), unsupported (VLAN).
  static Network plug(const std::vector<NetworkConfig>& networks, const std::string& owner, os::Ledger* ledger);

  const net::Namespace& inside() const { return inside_; }
  /// Throws conflict, naming each address that somebody has, and by which hardware address.
  /// Blocks: yes, some 16 ms.
  void require_free(const net::ProbeSchedule& schedule = {});
  /// Addresses, hardware addresses, routes. IPv6 addresses are probed by the kernel meanwhile; throws conflict as
  /// require_free.
  void use_addresses();
  void announce();
  void set(const std::map<std::string, std::string>& sysctl) const;

 private:
  Network(net::Namespace inside, std::vector<Port> ports) : inside_(std::move(inside)), ports_(std::move(ports)) {}
  /// Made where this object stays: it refers to `inside_`.
  net::Announcer& announcer();
  net::Namespace inside_;
  std::vector<Port> ports_;
  std::unique_ptr<net::Announcer> announcer_;
};

/// Takes the host's ends of the links of `owner` down: nothing passes them any more. Idempotent; what fails is logged.
void silence(const os::Ledger& ledger, const std::string& owner);
/// Teaches the ledger to undo "capsule-link".
void register_undo(os::Ledger& ledger);

}  // namespace underway::run
