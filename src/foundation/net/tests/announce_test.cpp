#include "net/announce.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"
#include "net/netlink.hpp"
#include "net/sysctl.hpp"

namespace underway::net {
namespace {

Cidr announced_network(std::string_view text) { return parse_cidr(text).value(); }

/// Two namespaces joined by a bridge in a third, whose ports forward.
struct Segment {
  Namespace switching = Namespace::create("switch");
  Namespace left = Namespace::create("left");
  Namespace right = Namespace::create("right");
  Netlink at_switch{switching};
  Netlink at_left{left};
  Netlink at_right{right};

  Segment() {
    at_switch.add_bridge("br0");
    at_switch.add_veth({.name = "l", .peer = &left, .master = "br0"});
    at_switch.add_veth({.name = "r", .peer = &right, .master = "br0"});
    at_left.set_up("eth0");
    at_right.set_up("eth0");
    at_right.add_address("eth0", announced_network("10.9.0.2/24"));
    for (int n = 0; n < 2000 && !(at_switch.port_forwards("l") && at_switch.port_forwards("r")); ++n) ::usleep(1000);
  }
};

/// Whether the right side hears a frame for which `holds` is true while the left side does `act`, which is repeated.
bool heard(const Segment& segment, std::uint16_t protocol, const std::function<void()>& act,
           const std::function<bool(const unsigned char*, ssize_t)>& holds) {
  int hearing = -1;
  segment.right.run([&] { hearing = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(protocol)); });
  bool yes = false;
  for (int attempt = 0; attempt < 50 && !yes; ++attempt) {
    act();
    pollfd waiting{hearing, POLLIN, 0};
    while (!yes && ::poll(&waiting, 1, 100) == 1) {
      unsigned char frame[128] = {};
      const auto size = ::recv(hearing, frame, sizeof frame, 0);
      yes = holds(frame, size);
    }
  }
  ::close(hearing);
  return yes;
}

TEST(Announce, NeighboursHearTheAddress) {
  const Segment segment;
  EXPECT_TRUE(heard(
      segment, ETH_P_ARP, [&] { Announcer(segment.left).announce("eth0", *parse_ip("10.9.0.99")); },
      [](const unsigned char* frame, ssize_t size) {
        const unsigned char expected[] = {10, 9, 0, 99};
        return size >= 42 && std::memcmp(frame + 28, expected, 4) == 0 && std::memcmp(frame + 38, expected, 4) == 0;
      }));
}

TEST(Announce, NeighboursHearAnIpv6Address) {
  const Segment segment;
  const auto address = *parse_ip("fd00:77::5");
  EXPECT_TRUE(heard(
      segment, ETH_P_IPV6, [&] { Announcer(segment.left).announce("eth0", address); },
      [&](const unsigned char* frame, ssize_t size) {
        return size >= 86 && frame[54] == 136 && std::memcmp(frame + 62, address.bytes().data(), 16) == 0;
      }));
}

TEST(Announce, ANeighbourThatKnewTheAddressElsewhereLearnsItsNewPlace) {
  Segment segment;
  segment.at_left.add_address("eth0", announced_network("10.9.0.1/24"));
  const auto neighbour = [&] {
    std::string text;
    segment.right.run([&] {
      FILE* file = std::fopen("/proc/thread-self/net/arp", "re");
      char line[256];
      while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) text += line;
      if (file != nullptr) std::fclose(file);
    });
    return text;
  };
  segment.right.run([] {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(9);
    ::inet_pton(AF_INET, "10.9.0.1", &to.sin_addr);
    ::sendto(fd, "x", 1, 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
    ::close(fd);
  });
  const auto first = segment.at_left.get_link("eth0").mac;
  for (int n = 0; n < 1000 && neighbour().find(first) == std::string::npos; ++n) ::usleep(2000);
  ASSERT_NE(neighbour().find(first), std::string::npos) << neighbour();
  segment.at_left.set_mac("eth0", "02:02:00:00:00:77");
  for (int n = 0; n < 1000 && neighbour().find("02:02:00:00:00:77") == std::string::npos; ++n) {
    Announcer(segment.left).announce("eth0", *parse_ip("10.9.0.1"));
    ::usleep(2000);
  }
  EXPECT_NE(neighbour().find("02:02:00:00:00:77"), std::string::npos) << neighbour();
}

TEST(Announce, SaysWhyItCannot) {
  Segment segment;
  EXPECT_THROW(Announcer(segment.left).announce("eth7", *parse_ip("10.9.0.1")), Error);
  segment.at_left.set_down("eth0");
  try {
    Announcer(segment.left).announce("eth0", *parse_ip("10.9.0.1"));
    ADD_FAILURE() << "announced on a link that is down";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::unavailable) << e.text();
  }
}

TEST(Probe, FindsWhoHoldsAnAddressAndNobodyForAFreeOne) {
  Segment segment;
  const std::vector<Claim> claims = {{"eth0", *parse_ip("10.9.0.2")}, {"eth0", *parse_ip("10.9.0.3")}};
  std::vector<Holder> holders;
  for (int n = 0; n < 50 && holders.empty(); ++n) holders = Announcer(segment.left).find_holders(claims);
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(to_string(holders[0].claim.address), "10.9.0.2");
  EXPECT_EQ(holders[0].mac, segment.at_right.get_link("eth0").mac);
}

TEST(Probe, TwoWhoAskAtOnceSeeEachOther) {
  Segment segment;
  const std::vector<Claim> claims = {{"eth0", *parse_ip("10.9.0.50")}};
  const ProbeSchedule long_enough{.probes = 20, .between = std::chrono::milliseconds{20}};
  std::vector<Holder> seen_left, seen_right;
  std::thread other([&] { seen_right = Announcer(segment.right).find_holders(claims, long_enough); });
  seen_left = Announcer(segment.left).find_holders(claims, long_enough);
  other.join();
  EXPECT_TRUE(!seen_left.empty() || !seen_right.empty());
}

TEST(Probe, LeavesNothingFalseBehind) {
  Segment segment;
  // A probe names no sender: a holder's neighbours keep its hardware address (RFC 5227 §2.1.1).
  EXPECT_TRUE(heard(
      segment, ETH_P_ARP,
      [&] { static_cast<void>(Announcer(segment.left).find_holders({{"eth0", *parse_ip("10.9.0.9")}})); },
      [](const unsigned char* frame, ssize_t size) {
        const unsigned char nobody[4] = {}, asked[] = {10, 9, 0, 9};
        return size >= 42 && std::memcmp(frame + 28, nobody, 4) == 0 && std::memcmp(frame + 38, asked, 4) == 0;
      }));
  EXPECT_THROW(static_cast<void>(Announcer(segment.left).find_holders({{"eth0", *parse_ip("fd00::1")}})), Error);
}

TEST(Probe, TheKernelFindsTheOtherHolderOfAnIpv6Address) {
  Segment segment;
  const auto address = announced_network("fd00:77::5/64");
  for (const auto* side : {&segment.left, &segment.right}) {
    set_sysctl(*side, "net.ipv6.conf.eth0.router_solicitation_delay", "0");
    set_sysctl(*side, "net.ipv6.neigh.eth0.retrans_time_ms", "50");
  }
  const auto settled = [&](const Netlink& at) {
    for (int n = 0; n < 4000 && at.address_state("eth0", address.ip) == AddressState::tentative; ++n) ::usleep(1000);
    return at.address_state("eth0", address.ip);
  };
  segment.at_right.add_address("eth0", address);
  ASSERT_EQ(settled(segment.at_right), AddressState::ready);
  segment.at_left.add_address("eth0", address);
  EXPECT_EQ(settled(segment.at_left), AddressState::duplicate);
}

TEST(Sysctl, IsOfItsNamespaceAlone) {
  const Segment segment;
  set_sysctl(segment.right, "net.ipv4.ip_forward", "0");
  set_sysctl(segment.left, "net.ipv4.ip_forward", "1");
  EXPECT_EQ(get_sysctl(segment.left, "net.ipv4.ip_forward"), "1");
  EXPECT_EQ(get_sysctl(segment.right, "net.ipv4.ip_forward"), "0");
  EXPECT_THROW(set_sysctl(segment.left, "kernel.hostname", "x"), Error);
  EXPECT_THROW(set_sysctl(segment.left, "net.ipv4.no_such", "1"), Error);
}

}  // namespace
}  // namespace underway::net
