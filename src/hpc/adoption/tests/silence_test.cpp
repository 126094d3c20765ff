#include "adoption/plan/silence.hpp"

#include "base/error.hpp"

namespace underway::adoption {
namespace {

constexpr std::int64_t kSilentSecond = 1'000'000'000;

/// An Ethernet frame with IPv4 and UDP, from the last bytes of the addresses 10.1.0.x and of the MACs 02:…:x.
struct Udp {
  std::vector<std::uint8_t> bytes;
  net::Packet packet;

  Udp(std::uint8_t from, std::uint8_t to, std::uint16_t port, std::int64_t seconds, std::uint8_t to_mac = 0) {
    bytes = {2, 0, 0, 0, 0, to_mac == 0 ? to : to_mac, 2, 0, 0, 0, 0, from, 8, 0};
    const std::vector<std::uint8_t> ip = {0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 1, 0, from, 10, 1, 0, to};
    bytes.insert(bytes.end(), ip.begin(), ip.end());
    const std::vector<std::uint8_t> udp = {
        0xC0, 0,  static_cast<std::uint8_t>(port >> 8), static_cast<std::uint8_t>(port), 0, 12, 0, 0, 'a', 'b',
        'c',  'd'};
    bytes.insert(bytes.end(), udp.begin(), udp.end());
    packet.time = seconds * kSilentSecond;
    packet.data = bytes.data();
    packet.captured = packet.length = static_cast<std::uint32_t>(bytes.size());
  }
};

Silence check(const std::vector<Udp>& packets, std::int64_t after = 0) {
  SilenceCheck silence(parse_party({"10.1.0.7", "10.1.0.8"}), parse_party({"10.1.0.1", "02:00:00:00:00:01"}),
                       from_unix_nanos(after * kSilentSecond));
  for (const auto& each : packets) silence.add(each.packet);
  return silence.result();
}

TEST(Silence, IsProvenByTrafficThatGoesElsewhere) {
  const Silence silence = check({{7, 2, 6817, 1}, {8, 2, 514, 2}, {9, 1, 514, 3}});
  EXPECT_TRUE(silence.proven());
  EXPECT_EQ(silence.seen_of_nodes, 2);
}

TEST(Silence, IsBrokenByOnePacketInEitherDirection) {
  const Silence silence = check({{7, 1, 514, 5}, {7, 1, 514, 9}, {1, 8, 6818, 6}});
  ASSERT_EQ(silence.broken_by.size(), 2U);
  EXPECT_EQ(silence.broken_by[0].node, "10.1.0.7");
  EXPECT_EQ(silence.broken_by[0].what, "udp/514");
  EXPECT_TRUE(silence.broken_by[0].by_node);
  EXPECT_EQ(silence.broken_by[0].packets, 2);
  EXPECT_EQ(silence.broken_by[0].last, 9 * kSilentSecond);
  EXPECT_FALSE(silence.broken_by[1].by_node);
  EXPECT_FALSE(silence.proven());
}

TEST(Silence, WhatTheServerOnlyRoutesBreaksItToo) {
  const Silence silence = check({Udp(7, 99, 53, 1, 1)});
  ASSERT_EQ(silence.broken_by.size(), 1U);
  EXPECT_EQ(silence.broken_by[0].what, "udp/53");
}

TEST(Silence, CountsFromTheGivenMomentOn) {
  EXPECT_TRUE(check({{7, 1, 67, 5}, {7, 2, 514, 20}}, 10).proven());
  EXPECT_FALSE(check({{7, 1, 67, 5}, {7, 2, 514, 20}}, 5).proven());
}

TEST(Silence, OfNodesThatWereNeverSeenProvesNothing) {
  const Silence silence = check({{9, 1, 514, 1}});
  EXPECT_TRUE(silence.broken_by.empty());
  EXPECT_FALSE(silence.proven());
}

TEST(Silence, PartiesAreNamedByAddressNetworkOrMac) {
  const Party party = parse_party({"10.1.0.0/16", "fd00::1", "02:00:00:00:00:09"});
  EXPECT_EQ(party.networks.size(), 2U);
  EXPECT_EQ(party.macs.size(), 1U);
  EXPECT_THROW(parse_party({"c1"}), Error);
}

}  // namespace
}  // namespace underway::adoption
