#pragma once
/// @file
/// A packet taken apart: link, VLAN tags, ARP, IPv4, IPv6, TCP, UDP, ICMP. Every length is checked against what was
/// captured, and whatever is wrong is counted by its kind, never followed. Tunnels (VXLAN, GRE, IPsec, MPLS) are not
/// looked into: they are a flow of their own.

#include "base/json/enumerators.hpp"
#include "net/packet.hpp"
#include "traffic/packet/address.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace underway::traffic {

/// What keeps a packet from being read to its end.
enum class Malformed : std::uint8_t {
  none,
  link_type,
  truncated_ethernet,
  truncated_vlan,
  too_many_tags,
  truncated_arp,
  arp_format,
  truncated_ipv4,
  ipv4_version,
  ipv4_header_length,
  ipv4_total_length,
  truncated_ipv6,
  ipv6_version,
  ipv6_extension,
  ipv6_extensions,
  fragment,
  truncated_tcp,
  tcp_header_length,
  truncated_udp,
  udp_length,
  truncated_icmp,
};
inline constexpr std::size_t kMalformedKinds = kEnumerators<Malformed>;
/// "ipv4 header length"
std::string_view to_string(Malformed kind);

enum class Kind : std::uint8_t { ip, arp, ethernet };
enum class Cast : std::uint8_t { unicast, broadcast, multicast };
inline constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04, kAck = 0x10;
/// Stands for the EtherType of frames that have a length there (spanning tree and other LLC).
inline constexpr std::uint16_t kLlc = 0xffff;

struct Frame {
  std::int64_t time = 0;
  Address source, destination;
  Mac source_mac = 0, destination_mac = 0;  ///< 0: the capture does not have it
  const std::uint8_t* payload = nullptr;    ///< of TCP, UDP, ICMP
  std::uint32_t payload_captured = 0;
  std::uint32_t payload_length = 0;  ///< on the wire
  std::uint32_t length = 0;          ///< of the whole frame on the wire
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint16_t number = 0;  ///< EtherType of Kind::ethernet
  std::uint16_t vlan = 0;
  Kind kind = Kind::ethernet;
  std::uint8_t protocol = 0;  ///< of Kind::ip
  std::uint8_t flags = 0;     ///< TCP
  std::uint8_t type = 0;      ///< ICMP; of ARP the operation
  std::uint8_t code = 0;      ///< ICMP
  std::uint8_t hops = 0;      ///< TTL or hop limit
  Cast cast = Cast::unicast;
  bool outgoing = false;  ///< a cooked capture says that this machine sent it
  bool fragment = false;  ///< a later fragment: belongs to a flow, and has no payload to look at
  Malformed malformed = Malformed::none;

  bool is_tcp() const { return kind == Kind::ip && protocol == 6; }
  bool is_udp() const { return kind == Kind::ip && protocol == 17; }
};

class Decoder {
 public:
  Decoder();
  /// Overwrites all of `frame`. With `malformed` set, what lies below the fault is not to be used; the MACs are, when
  /// they are not 0.
  void decode(const net::Packet& packet, Frame& frame);

 private:
  struct Cursor;
  /// Ports of a datagram's first fragment, for the others. Newer ones overwrite older ones.
  struct Fragment {
    std::uint64_t key = 0;
    std::uint16_t source_port = 0, destination_port = 0;
  };
  static constexpr std::size_t kFragments = 4096;

  void link(Cursor at, std::uint16_t link_type, Frame& frame);
  void network(Cursor at, std::uint16_t ether_type, Frame& frame);
  static void arp(Cursor at, Frame& frame);
  void ipv4(Cursor at, Frame& frame);
  void ipv6(Cursor at, Frame& frame);
  void transport(Cursor at, Frame& frame);
  void later_fragment(std::uint64_t key, Frame& frame) const;
  void first_fragment(std::uint64_t key, const Frame& frame);

  std::unique_ptr<std::array<Fragment, kFragments>> fragments_;
};

/// The packet that an ICMP error quotes: addresses, protocol and ports. False when it is no such error or too short.
bool decode_quoted(const Frame& icmp, Frame& quoted);

}  // namespace underway::traffic
