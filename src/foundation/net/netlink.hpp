#pragma once
/// @file
/// Links, addresses and routes of one network namespace, over route netlink. A Netlink is one socket: it belongs to
/// the namespace it was opened in and may be used from any one thread at a time. Every failure names link and
/// namespace.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/address.hpp"
#include "net/namespace.hpp"

namespace underway::net {

/// The kernel's limit on a link's name, without the terminating zero (IFNAMSIZ, linux/if.h).
inline constexpr std::size_t kMaxLinkName = 15;

/// `wanted` if it is a valid link name, otherwise a shortened one with a hash of all of it: the same text always gives
/// the same name.
std::string link_name(const std::string& wanted);

struct Link {
  int index = 0;
  std::string name;
  std::string kind;  ///< "bridge", "veth", … ; empty for hardware and `lo`
  std::string mac;   ///< "02:00:…"; empty when it has none
  int master = 0;    ///< index of its bridge; 0 for none
  bool up = false;   ///< administratively
  unsigned mtu = 0;

  bool operator==(const Link&) const = default;
};

/// A pair of veth ends: `name` here, `peer_name` in `peer`.
struct VethPair {
  std::string name;
  const Namespace* peer = nullptr;  ///< required
  std::string peer_name = "eth0";
  std::string master;    ///< bridge that `name` joins; empty for none
  std::string peer_mac;  ///< empty: the kernel chooses
};

enum class AddressState {
  absent,
  tentative,  ///< the kernel still asks whether somebody else has it (RFC 4862 §5.4)
  duplicate,  ///< somebody else has it: the kernel does not use it
  ready,
};

struct Route {
  std::optional<Cidr> to;  ///< absent: the default route
  std::optional<Ip> via;
  std::string link;  ///< may be empty when `via` is given
};

class Netlink {
 public:
  explicit Netlink(const Namespace& in);
  ~Netlink();
  Netlink(Netlink&&) noexcept;
  Netlink& operator=(Netlink&&) noexcept;

  std::vector<Link> links() const;
  std::optional<Link> find_link(const std::string& name) const;
  /// Errors: not_found.
  Link get_link(const std::string& name) const;

  /// A bridge without spanning tree, forwarding at once, and up. Errors: conflict when the name is taken.
  void add_bridge(const std::string& name);
  /// Both ends in one request; `pair.name` is up, the peer is down. Errors: conflict when a name is taken.
  void add_veth(const VethPair& pair);
  /// A tagged sub-interface (IEEE 802.1Q) of `parent`, down. Errors: unsupported where the kernel has no such links;
  /// conflict when the name is taken.
  void add_vlan(const std::string& name, const std::string& parent, int id);
  /// False when there is no such link. Deleting one end of a veth deletes both.
  bool remove_link(const std::string& name);
  void rename_link(const std::string& name, const std::string& to);
  void set_master(const std::string& name, const std::string& bridge);
  void clear_master(const std::string& name);
  /// Whether a bridge passes on what comes from its port `name`: a moment after both ends of the port are up. What is
  /// sent before is lost. Errors: not_found (no such port).
  bool port_forwards(const std::string& name) const;
  /// Frames that came by this port of a bridge may leave by it again. Errors: not_found (no such port).
  void set_hairpin(const std::string& name);
  /// Also while it is up, where the driver can (veth, bridge).
  void set_mac(const std::string& name, const std::string& mac);
  void set_mtu(const std::string& name, unsigned mtu);
  void set_up(const std::string& name);
  void set_down(const std::string& name);

  /// Idempotent: an address that is there already is fine.
  void add_address(const std::string& link, const Cidr& address);
  /// False when it was not there.
  bool remove_address(const std::string& link, const Cidr& address);
  std::vector<Cidr> addresses(const std::string& link) const;
  AddressState address_state(const std::string& link, const Ip& address) const;

  /// Idempotent, replacing a route to the same destination.
  void set_route(const Route& route);

 private:
  class Socket;
  std::unique_ptr<Socket> socket_;
};

}  // namespace underway::net
