#include "traffic/packet/decoder.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace underway::traffic {

/// Bytes left of the frame: `size` were captured, `length` were on the wire.
struct Decoder::Cursor {
  const std::uint8_t* data;
  std::uint32_t size;
  std::uint32_t length;

  bool has(std::uint32_t bytes) const { return size >= bytes; }
  void skip(std::uint32_t bytes) {
    data += bytes;
    size -= bytes;
    length -= bytes;
  }
  /// What lies behind `bytes` is padding.
  void limit(std::uint32_t bytes) {
    length = std::min(length, bytes);
    size = std::min(size, length);
  }
};

namespace {

std::uint16_t u16(const std::uint8_t* p) {
  std::uint16_t value;
  std::memcpy(&value, p, sizeof value);
  return __builtin_bswap16(value);
}
std::uint32_t u32(const std::uint8_t* p) {
  std::uint32_t value;
  std::memcpy(&value, p, sizeof value);
  return __builtin_bswap32(value);
}
std::uint64_t u64(const std::uint8_t* p) {
  std::uint64_t value;
  std::memcpy(&value, p, sizeof value);
  return __builtin_bswap64(value);
}
Mac mac_at(const std::uint8_t* p) { return (std::uint64_t{u32(p)} << 16U) | u16(p + 4); }
Address v6_at(const std::uint8_t* p) { return {u64(p), u64(p + 8)}; }

constexpr std::uint16_t kIpv4 = 0x0800, kArp = 0x0806, kIpv6 = 0x86dd;
constexpr std::uint16_t kTag = 0x8100, kServiceTag = 0x88a8, kOldServiceTag = 0x9100;
constexpr int kMostTags = 4;
constexpr int kMostExtensions = 16;  // RFC 8200 names eight kinds, each at most once or twice

Cast cast_of(Mac destination) {
  if (destination == kBroadcastMac) return Cast::broadcast;
  return ((destination >> 40U) & 1U) != 0 ? Cast::multicast : Cast::unicast;
}

}  // namespace

std::string_view to_string(Malformed kind) {
  static constexpr std::string_view kNames[] = {"",
                                                "unknown link type",
                                                "truncated ethernet",
                                                "truncated vlan tag",
                                                "too many vlan tags",
                                                "truncated arp",
                                                "arp format",
                                                "truncated ipv4",
                                                "ipv4 version",
                                                "ipv4 header length",
                                                "ipv4 total length",
                                                "truncated ipv6",
                                                "ipv6 version",
                                                "ipv6 extension header",
                                                "too many ipv6 extension headers",
                                                "fragment without its first",
                                                "truncated tcp",
                                                "tcp header length",
                                                "truncated udp",
                                                "udp length",
                                                "truncated icmp"};
  static_assert(std::size(kNames) == kMalformedKinds);
  return kNames[static_cast<std::size_t>(kind)];
}

Decoder::Decoder() : fragments_(std::make_unique<std::array<Fragment, kFragments>>()) {}

void Decoder::decode(const net::Packet& packet, Frame& frame) {
  frame = Frame{};
  frame.time = packet.time;
  frame.length = packet.length;
  frame.vlan = packet.vlan;
  link({packet.data, packet.captured, std::max(packet.length, packet.captured)}, packet.link, frame);
}

void Decoder::link(Cursor at, std::uint16_t link_type, Frame& frame) {
  std::uint16_t ether_type = 0;
  if (link_type == net::kLinkEthernet) [[likely]] {
    if (!at.has(14)) {
      frame.malformed = Malformed::truncated_ethernet;
      return;
    }
    frame.destination_mac = mac_at(at.data);
    frame.source_mac = mac_at(at.data + 6);
    frame.cast = cast_of(frame.destination_mac);
    ether_type = u16(at.data + 12);
    at.skip(14);
  } else if (link_type == net::kLinkCooked || link_type == net::kLinkCooked2) {
    const bool second = link_type == net::kLinkCooked2;
    const std::uint32_t size = second ? 20 : 16;
    if (!at.has(size)) {
      frame.malformed = Malformed::truncated_ethernet;
      return;
    }
    const unsigned direction = second ? at.data[10] : u16(at.data);
    const unsigned address_size = second ? at.data[11] : u16(at.data + 4);
    if (address_size == 6) frame.source_mac = mac_at(at.data + (second ? 12 : 6));
    frame.outgoing = direction == 4;
    frame.cast = direction == 1 ? Cast::broadcast : direction == 2 ? Cast::multicast : Cast::unicast;
    ether_type = u16(at.data + (second ? 0 : 14));
    at.skip(size);
  } else if (link_type == net::kLinkRaw || link_type == net::kLinkIpv4 || link_type == net::kLinkIpv6 ||
             link_type == net::kLinkNull) {
    if (link_type == net::kLinkNull) {
      if (!at.has(4)) {
        frame.malformed = Malformed::truncated_ethernet;
        return;
      }
      at.skip(4);
    }
    ether_type = at.has(1) && (at.data[0] >> 4U) == 6 ? kIpv6 : kIpv4;
  } else {
    frame.malformed = Malformed::link_type;
    return;
  }
  for (int tags = 0; ether_type == kTag || ether_type == kServiceTag || ether_type == kOldServiceTag; ++tags) {
    if (tags == kMostTags || !at.has(4)) {
      frame.malformed = tags == kMostTags ? Malformed::too_many_tags : Malformed::truncated_vlan;
      return;
    }
    if (frame.vlan == 0) frame.vlan = u16(at.data) & 0xfffU;
    ether_type = u16(at.data + 2);
    at.skip(4);
  }
  network(at, ether_type, frame);
}

void Decoder::network(Cursor at, std::uint16_t ether_type, Frame& frame) {
  if (ether_type == kIpv4) [[likely]]
    return ipv4(at, frame);
  if (ether_type == kIpv6) return ipv6(at, frame);
  if (ether_type == kArp) return arp(at, frame);
  frame.kind = Kind::ethernet;
  frame.number = ether_type < 0x600 ? kLlc : ether_type;
  frame.source = Address::of_mac(frame.source_mac);
  frame.destination = Address::of_mac(frame.destination_mac);
}

void Decoder::arp(Cursor at, Frame& frame) {
  frame.kind = Kind::arp;
  if (!at.has(28)) {
    frame.malformed = Malformed::truncated_arp;
    return;
  }
  const std::uint8_t* p = at.data;
  if (u16(p) != 1 || u16(p + 2) != kIpv4 || p[4] != 6 || p[5] != 4) {  // Ethernet and IPv4 (RFC 826)
    frame.malformed = Malformed::arp_format;
    return;
  }
  frame.type = static_cast<std::uint8_t>(std::min<unsigned>(u16(p + 6), 255));
  frame.source = Address::v4(u32(p + 14));
  frame.destination = Address::v4(u32(p + 24));
}

void Decoder::ipv4(Cursor at, Frame& frame) {
  frame.kind = Kind::ip;
  if (!at.has(20)) {
    frame.malformed = Malformed::truncated_ipv4;
    return;
  }
  const std::uint8_t* p = at.data;
  if ((p[0] >> 4U) != 4) {
    frame.malformed = Malformed::ipv4_version;
    return;
  }
  const std::uint32_t header = (p[0] & 0xfU) * 4U;
  // A segment that the network card will cut up has no length yet: Linux writes 0 above 64 KiB.
  const std::uint32_t total = u16(p + 2) == 0 ? at.length : u16(p + 2);
  if (header < 20) {
    frame.malformed = Malformed::ipv4_header_length;
    return;
  }
  if (total < header || total > at.length) {
    frame.malformed = Malformed::ipv4_total_length;
    return;
  }
  at.limit(total);
  if (!at.has(header)) {
    frame.malformed = Malformed::truncated_ipv4;
    return;
  }
  frame.hops = p[8];
  frame.protocol = p[9];
  frame.source = Address::v4(u32(p + 12));
  frame.destination = Address::v4(u32(p + 16));
  if (frame.destination_mac == 0 && frame.destination.is_multicast()) frame.cast = Cast::multicast;
  const std::uint16_t fragment = u16(p + 6);
  at.skip(header);
  if ((fragment & 0x3fffU) == 0) [[likely]]
    return transport(at, frame);
  const std::uint64_t key = mix(mix(frame.source.low, frame.destination.low), (std::uint64_t{u16(p + 4)} << 8U) | p[9]);
  if ((fragment & 0x1fffU) != 0) return later_fragment(key, frame);
  transport(at, frame);
  first_fragment(key, frame);
}

void Decoder::ipv6(Cursor at, Frame& frame) {
  frame.kind = Kind::ip;
  if (!at.has(40)) {
    frame.malformed = Malformed::truncated_ipv6;
    return;
  }
  const std::uint8_t* p = at.data;
  if ((p[0] >> 4U) != 6) {
    frame.malformed = Malformed::ipv6_version;
    return;
  }
  std::uint8_t next = p[6];
  frame.hops = p[7];
  frame.source = v6_at(p + 8);
  frame.destination = v6_at(p + 24);
  if (frame.destination_mac == 0 && frame.destination.is_multicast()) frame.cast = Cast::multicast;
  const std::uint32_t body = u16(p + 4);
  at.skip(40);
  if (body != 0) at.limit(body);  // 0: a jumbogram, or a segment that the network card will cut up
  std::uint64_t fragment_key = 0;
  for (int extensions = 0;; ++extensions) {
    const bool fragment = next == IPPROTO_FRAGMENT;
    const bool authentication = next == IPPROTO_AH;
    if (!fragment && !authentication && next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
        next != 135 && next != 139 && next != 140)  // mobility, host identity, shim6 (RFC 7045)
      break;
    if (extensions == kMostExtensions) {
      frame.malformed = Malformed::ipv6_extensions;
      return;
    }
    const std::uint32_t size = !at.has(8)       ? ~0U
                               : fragment       ? 8U
                               : authentication ? (at.data[1] + 2U) * 4U
                                                : (at.data[1] + 1U) * 8U;
    if (!at.has(size)) {
      frame.malformed = Malformed::ipv6_extension;
      return;
    }
    const std::uint16_t offset = fragment ? u16(at.data + 2) : 0;
    if (fragment && (offset & 0xfff9U) != 0) {  // not an atomic fragment (RFC 6946)
      fragment_key = mix(mix(frame.source.low ^ frame.source.high, frame.destination.low ^ frame.destination.high),
                         u32(at.data + 4));
      if ((offset & 0xfff8U) != 0) {
        frame.protocol = at.data[0];
        return later_fragment(fragment_key, frame);
      }
    }
    next = at.data[0];
    at.skip(size);
  }
  frame.protocol = next;
  transport(at, frame);
  if (fragment_key != 0) first_fragment(fragment_key, frame);
}

void Decoder::later_fragment(std::uint64_t key, Frame& frame) const {
  frame.fragment = true;
  const Fragment& first = (*fragments_)[key % kFragments];
  if (first.key != key) {
    frame.malformed = Malformed::fragment;
    return;
  }
  frame.source_port = first.source_port;
  frame.destination_port = first.destination_port;
}

void Decoder::first_fragment(std::uint64_t key, const Frame& frame) {
  if (frame.malformed == Malformed::none)
    (*fragments_)[key % kFragments] = {key, frame.source_port, frame.destination_port};
}

void Decoder::transport(Cursor at, Frame& frame) {
  const std::uint8_t* p = at.data;
  std::uint32_t header = 0;
  switch (frame.protocol) {
    case IPPROTO_TCP:
      if (!at.has(14)) {  // the flags are the last that is needed; a snapped packet may end behind them
        frame.malformed = Malformed::truncated_tcp;
        return;
      }
      frame.source_port = u16(p);
      frame.destination_port = u16(p + 2);
      frame.flags = p[13];
      header = (p[12] >> 4U) * 4U;
      if (header < 20 || header > at.length) {
        frame.malformed = Malformed::tcp_header_length;
        return;
      }
      break;
    case IPPROTO_UDP:
      if (!at.has(8)) {
        frame.malformed = Malformed::truncated_udp;
        return;
      }
      frame.source_port = u16(p);
      frame.destination_port = u16(p + 2);
      header = 8;
      if (u16(p + 4) != 0 && u16(p + 4) < 8) {
        frame.malformed = Malformed::udp_length;
        return;
      }
      break;
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
      if (!at.has(4)) {
        frame.malformed = Malformed::truncated_icmp;
        return;
      }
      frame.type = p[0];
      frame.code = p[1];
      header = std::min<std::uint32_t>(8, at.length);
      break;
    default:
      break;
  }
  frame.payload_length = at.length - header;
  if (at.size > header) {
    frame.payload = p + header;
    frame.payload_captured = at.size - header;
  }
}

bool decode_quoted(const Frame& icmp, Frame& quoted) {
  const std::uint8_t* p = icmp.payload;
  const std::uint32_t size = icmp.payload_captured;
  quoted = Frame{};
  quoted.kind = Kind::ip;
  quoted.vlan = icmp.vlan;
  std::uint32_t header = 40;
  if (icmp.protocol == IPPROTO_ICMP) {
    if (size < 20 || (p[0] >> 4U) != 4) return false;
    header = (p[0] & 0xfU) * 4U;
    quoted.protocol = p[9];
    quoted.source = Address::v4(u32(p + 12));
    quoted.destination = Address::v4(u32(p + 16));
  } else {
    if (size < 40 || (p[0] >> 4U) != 6) return false;
    quoted.protocol = p[6];
    quoted.source = v6_at(p + 8);
    quoted.destination = v6_at(p + 24);
  }
  if (quoted.protocol != IPPROTO_TCP && quoted.protocol != IPPROTO_UDP) return false;
  if (header < 20 || size < header + 4) return false;
  quoted.source_port = u16(p + header);
  quoted.destination_port = u16(p + header + 2);
  return true;
}

}  // namespace underway::traffic
