#pragma once
/// @file
/// A captured packet, as capture files and live captures hand it over: a view of bytes that somebody else holds.

#include <cstdint>

namespace underway::net {

/// How a packet begins. The numbers are those of capture files (www.tcpdump.org/linktypes.html).
enum LinkType : std::uint16_t {
  kLinkNull = 0,  ///< BSD loopback: 4 bytes address family in host order
  kLinkEthernet = 1,
  kLinkRaw = 101,     ///< IPv4 or IPv6, no header
  kLinkCooked = 113,  ///< tcpdump -i any
  kLinkIpv4 = 228,
  kLinkIpv6 = 229,
  kLinkCooked2 = 276,  ///< tcpdump -i any, since libpcap 1.10
};

struct Packet {
  std::int64_t time = 0;  ///< ns since the epoch
  const std::uint8_t* data = nullptr;
  std::uint32_t captured = 0;  ///< bytes at `data`
  std::uint32_t length = 0;    ///< bytes on the wire, at least `captured`
  std::uint16_t link = kLinkEthernet;
  std::uint16_t vlan = 0;  ///< of a tag that the kernel took out of the frame; 0 for none
};

}  // namespace underway::net
