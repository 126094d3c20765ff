#include "traffic/packet/decoder.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "traffic/testing/wire.hpp"

namespace underway::traffic::testing {
namespace {

const Machine kA{0x0200'0000'000a, "10.1.0.10"};
const Machine kB{0x0200'0000'000b, "10.1.0.11"};
const Machine kA6{0x0200'0000'000a, "fd00::a"};
const Machine kB6{0x0200'0000'000b, "fd00::b"};

Frame decode(const net::Packet& packet) {
  Decoder decoder;
  Frame frame;
  decoder.decode(packet, frame);
  return frame;
}
Frame decode(const Wire& wire) { return decode(wire.packets().front()); }
Frame decode(const std::string& bytes, std::uint16_t link = net::kLinkEthernet) {
  return decode({.data = reinterpret_cast<const std::uint8_t*>(bytes.data()),
                 .captured = static_cast<std::uint32_t>(bytes.size()),
                 .length = static_cast<std::uint32_t>(bytes.size()),
                 .link = link});
}
std::string bytes_of(const Wire& wire) {
  const auto packet = wire.packets().front();
  return {reinterpret_cast<const char*>(packet.data), packet.captured};
}

TEST(Decoder, TakesTcpApart) {
  Wire wire;
  wire.tcp(kA, 40'000, kB, 6817, kSyn, "hello");
  const Frame frame = decode(wire);
  EXPECT_EQ(frame.malformed, Malformed::none);
  EXPECT_EQ(frame.source_mac, kA.mac);
  EXPECT_EQ(frame.destination_mac, kB.mac);
  EXPECT_EQ(to_string(frame.source), "10.1.0.10");
  EXPECT_EQ(to_string(frame.destination), "10.1.0.11");
  EXPECT_EQ(frame.source_port, 40'000);
  EXPECT_EQ(frame.destination_port, 6817);
  EXPECT_EQ(frame.flags, kSyn);
  EXPECT_EQ(frame.payload_length, 5U);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(frame.payload), frame.payload_captured), "hello");
}

TEST(Decoder, PaddingOfShortFramesIsNoPayload) {
  Wire wire;
  wire.tcp(kA, 1, kB, 2, kAck);
  EXPECT_EQ(decode(bytes_of(wire) + std::string(6, '\0')).payload_length, 0U);
}

TEST(Decoder, TheOutermostTagIsTheNetworkAndTheKernelsCountsFirst) {
  Wire wire;
  wire.udp(kA, 5, kB, 6, "x", {.vlan = 42});
  EXPECT_EQ(decode(wire).vlan, 42);
  const std::string frame_bytes = bytes_of(wire);
  const std::string two = frame_bytes.substr(0, 12) + be16(0x88a8) + be16(0x6000 | 7) + frame_bytes.substr(12);
  EXPECT_EQ(decode(two).vlan, 7) << "without priority bits";
  EXPECT_EQ(decode(two).destination_port, 6);
  auto packet = wire.packets().front();
  packet.vlan = 9;
  EXPECT_EQ(decode(packet).vlan, 9);
}

TEST(Decoder, ReadsIpv6ThroughItsExtensionHeaders) {
  const std::string hop(std::string{IPPROTO_ROUTING, 0} + std::string(6, '\0'));
  const std::string routing(std::string{IPPROTO_AH, 1} + std::string(14, '\0'));
  const std::string authentication(std::string{IPPROTO_DSTOPTS, 4} + std::string(22, '\0'));
  const std::string options(std::string{IPPROTO_UDP, 0} + std::string(6, '\0'));
  Wire wire;
  wire.ip(kA6, kB6, IPPROTO_HOPOPTS,
          hop + routing + authentication + options + be16(5) + be16(123) + be16(9) + be16(0) + "y");
  const Frame frame = decode(wire);
  EXPECT_EQ(frame.malformed, Malformed::none);
  EXPECT_EQ(to_string(frame.source), "fd00::a");
  EXPECT_EQ(frame.protocol, IPPROTO_UDP);
  EXPECT_EQ(frame.destination_port, 123);
  EXPECT_EQ(frame.payload_length, 1U);
}

/// An IPv4 packet of UDP 5 -> 2049 as two fragments.
std::pair<std::string, std::string> fragments() {
  Wire first;
  first.ip(kA, kB, IPPROTO_UDP, be16(5) + be16(2049) + be16(32) + be16(0) + std::string(16, 'a'));
  Wire second;
  second.ip(kA, kB, IPPROTO_UDP, std::string(8, 'b'));
  std::string head = bytes_of(first);
  std::string tail = bytes_of(second);
  head[20] = 0x20;  // more fragments
  tail[21] = 3;     // offset 24
  return {head, tail};
}

TEST(Decoder, LaterFragmentsBelongToTheFirst) {
  const auto [head, tail] = fragments();
  Decoder decoder;
  Frame frame;
  const auto take = [&](const std::string& bytes) {
    decoder.decode({.data = reinterpret_cast<const std::uint8_t*>(bytes.data()),
                    .captured = static_cast<std::uint32_t>(bytes.size()),
                    .length = static_cast<std::uint32_t>(bytes.size())},
                   frame);
  };
  take(tail);
  EXPECT_EQ(frame.malformed, Malformed::fragment) << "nothing is known of the first yet";
  take(head);
  EXPECT_EQ(frame.malformed, Malformed::none);
  take(tail);
  EXPECT_EQ(frame.malformed, Malformed::none);
  EXPECT_TRUE(frame.fragment);
  EXPECT_EQ(frame.destination_port, 2049);
  EXPECT_EQ(frame.payload, nullptr);
}

TEST(Decoder, ReadsArpAndFramesThatAreNotIp) {
  Wire wire;
  wire.arp(kA, kB);
  const Frame arp = decode(wire);
  EXPECT_EQ(arp.kind, Kind::arp);
  EXPECT_EQ(arp.cast, Cast::broadcast);
  EXPECT_EQ(to_string(arp.destination), "10.1.0.11");
  Wire lldp;
  lldp.ethernet(0x0180'c200'000e, kA.mac, 0x88cc, "\x02\x07");
  EXPECT_EQ(decode(lldp).number, 0x88cc);
  EXPECT_EQ(decode(lldp).cast, Cast::multicast);
  EXPECT_EQ(to_string(decode(lldp).source), "02:00:00:00:00:0a");
  Wire stp;
  stp.ethernet(0x0180'c200'0000, kA.mac, 38, std::string(38, '\x42'));
  EXPECT_EQ(decode(stp).number, kLlc);
}

TEST(Decoder, ReadsCookedAndRawCaptures) {
  Wire wire;
  wire.udp(kA, 5, kB, 53, "x");
  const std::string ip = bytes_of(wire).substr(14);
  const std::string mac = bytes_of(wire).substr(6, 6);
  const Frame cooked = decode(be16(4) + be16(1) + be16(6) + mac + be16(0) + be16(0x0800) + ip, net::kLinkCooked);
  EXPECT_TRUE(cooked.outgoing);
  EXPECT_EQ(cooked.source_mac, kA.mac);
  EXPECT_EQ(cooked.destination_port, 53);
  const Frame second = decode(
      be16(0x0800) + be16(0) + be32(3) + be16(1) + std::string("\x00\x06", 2) + mac + be16(0) + ip, net::kLinkCooked2);
  EXPECT_FALSE(second.outgoing);
  EXPECT_EQ(second.destination_port, 53);
  EXPECT_EQ(decode(ip, net::kLinkRaw).destination_port, 53);
  EXPECT_EQ(decode(be32(0x0200'0000) + ip, net::kLinkNull).destination_port, 53);
  EXPECT_EQ(decode(ip, 147).malformed, Malformed::link_type);
}

/// `change` is made to a good frame.
struct Bad {
  const char* name;
  std::string bytes;
  Malformed expect;
};

std::vector<Bad> bad_frames() {
  Wire tcp4;
  tcp4.tcp(kA, 1, kB, 2, kAck, "data");
  const std::string t = bytes_of(tcp4);
  Wire udp6;
  udp6.udp(kA6, 1, kB6, 2, "data");
  const std::string u = bytes_of(udp6);
  const auto with = [](std::string bytes, std::size_t at, char value) {
    bytes[at] = value;
    return bytes;
  };
  std::string tags = t.substr(0, 12);
  for (int i = 0; i < 5; ++i) tags += be16(0x8100) + be16(5);
  std::string chain;
  for (int i = 0; i < 17; ++i) chain += std::string{IPPROTO_DSTOPTS, 0} + std::string(6, '\0');
  Wire endless;
  endless.ip(kA6, kB6, IPPROTO_DSTOPTS, chain);
  Wire beyond;
  beyond.ip(kA6, kB6, IPPROTO_DSTOPTS, std::string{IPPROTO_UDP, 99} + std::string(6, '\0'));
  Wire arp;
  arp.arp(kA, kB);
  const std::string a = bytes_of(arp);
  return {{"13 bytes", t.substr(0, 13), Malformed::truncated_ethernet},
          {"a tag cut off", t.substr(0, 12) + be16(0x8100) + "x", Malformed::truncated_vlan},
          {"five tags", tags + t.substr(12), Malformed::too_many_tags},
          {"half an IPv4 header", t.substr(0, 30), Malformed::truncated_ipv4},
          {"IPv4 of version 5", with(t, 14, 0x55), Malformed::ipv4_version},
          {"IPv4 header of 16 bytes", with(t, 14, 0x44), Malformed::ipv4_header_length},
          {"IPv4 longer than the frame", with(t, 16, 0x7f), Malformed::ipv4_total_length},
          {"IPv4 shorter than its header", with(t, 17, 0x10), Malformed::ipv4_total_length},
          {"IPv4 options cut off", with(t, 14, 0x4f).substr(0, 60), Malformed::ipv4_total_length},
          {"half a TCP header", with(t, 17, 30).substr(0, 44), Malformed::truncated_tcp},
          {"TCP header of 4 bytes", with(t, 46, 0x10), Malformed::tcp_header_length},
          {"TCP header longer than the packet", with(t, 46, '\xf0'), Malformed::tcp_header_length},
          {"half an IPv6 header", u.substr(0, 40), Malformed::truncated_ipv6},
          {"IPv6 of version 4", with(u, 14, 0x40), Malformed::ipv6_version},
          {"half a UDP header", u.substr(0, 58), Malformed::truncated_udp},
          {"UDP of 3 bytes", with(u, 59, 3), Malformed::udp_length},
          {"17 extension headers", bytes_of(endless), Malformed::ipv6_extensions},
          {"an extension header beyond the end", bytes_of(beyond), Malformed::ipv6_extension},
          {"half an ARP", a.substr(0, 30), Malformed::truncated_arp},
          {"ARP for token ring", with(a, 15, 6), Malformed::arp_format}};
}

TEST(Decoder, CountsWhatIsMalformedByItsKind) {
  for (const auto& bad : bad_frames()) {
    SCOPED_TRACE(bad.name);
    EXPECT_EQ(to_string(decode(bad.bytes).malformed), to_string(bad.expect));
  }
}

TEST(Decoder, NoPrefixOfAnyFrameHarms) {
  for (const auto& bad : bad_frames()) {
    for (std::size_t size = 0; size <= bad.bytes.size(); ++size) decode(std::string(bad.bytes, 0, size));
  }
}

TEST(Decoder, ASnappedPacketIsReadAsFarAsItGoes) {
  Wire wire;
  wire.tcp(kA, 1, kB, 443, kAck, std::string(1000, 'x'));
  auto packet = wire.packets().front();
  packet.captured = 60;
  const Frame frame = decode(packet);
  EXPECT_EQ(frame.malformed, Malformed::none);
  EXPECT_EQ(frame.payload_length, 1000U);
  EXPECT_EQ(frame.payload_captured, 6U);
}

TEST(Decoder, KnowsWhatAnIcmpErrorQuotes) {
  Wire asked;
  asked.udp(kA, 5000, kB, 514, "x");
  Wire wire;
  wire.icmp(kB, kA, 3, 3, bytes_of(asked).substr(14, 28));
  Frame quoted;
  ASSERT_TRUE(decode_quoted(decode(wire), quoted));
  EXPECT_EQ(to_string(quoted.source), "10.1.0.10");
  EXPECT_EQ(quoted.destination_port, 514);
  Wire cut;
  cut.icmp(kB, kA, 3, 3, bytes_of(asked).substr(14, 22));
  EXPECT_FALSE(decode_quoted(decode(cut), quoted));
}

TEST(Address, IsWrittenAsPeopleDo) {
  EXPECT_EQ(mac_text(0x0200'0000'000a), "02:00:00:00:00:0a");
  EXPECT_EQ(parse_mac("02:00:00:00:00:0A"), 0x0200'0000'000aULL);
  EXPECT_EQ(parse_mac("02-00-00-00-00-0a"), 0x0200'0000'000aULL);
  EXPECT_EQ(parse_mac("02:00:00:00:00"), std::nullopt);
  EXPECT_EQ(parse_mac("02:00:00:00:00:0g"), std::nullopt);
  EXPECT_EQ(to_string(Address::v4(0x0a01'0001)), "10.1.0.1");
  EXPECT_EQ(to_string(from_ip(*net::parse_ip("fe80::1"))), "fe80::1");
  EXPECT_TRUE(from_ip(*net::parse_ip("ff02::1")).is_multicast());
  EXPECT_TRUE(from_ip(*net::parse_ip("fe80::1")).is_link_local());
  EXPECT_TRUE(from_ip(*net::parse_ip("239.1.1.1")).is_multicast());
}

}  // namespace
}  // namespace underway::traffic::testing
