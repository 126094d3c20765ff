#include "net/netlink.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"
#include "net/neighbours.hpp"

namespace underway::net {
namespace {

Cidr network_of(std::string_view text) { return parse_cidr(text).value(); }

/// Two namespaces joined by a bridge in a third.
struct Wire {
  Namespace switching = Namespace::create("switch");
  Namespace left = Namespace::create("left");
  Namespace right = Namespace::create("right");
  Netlink at_switch{switching};
  Netlink at_left{left};
  Netlink at_right{right};

  Wire() {
    at_switch.add_bridge("br0");
    at_switch.add_veth({.name = "l", .peer = &left, .master = "br0"});
    at_switch.add_veth({.name = "r", .peer = &right, .master = "br0"});
    at_left.set_up("eth0");
    at_right.set_up("eth0");
    at_left.add_address("eth0", network_of("10.9.0.1/24"));
    at_right.add_address("eth0", network_of("10.9.0.2/24"));
  }
};

int listen_in(const Namespace& in, std::uint16_t& port) {
  int listener = -1;
  in.run([&] { listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener, 1), 0);
  EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port = ntohs(address.sin_port);
  return listener;
}

TEST(Netlink, TwoNamespacesTalkOverABridgeInAThird) {
  Wire wire;
  std::uint16_t port = 0;
  const int listener = listen_in(wire.right, port);
  EXPECT_TRUE(tcp_listening(wire.right, port));
  EXPECT_FALSE(tcp_listening(wire.left, port));
  int client = -1;
  wire.left.run([&] { client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
  timeval limit{5, 0};
  ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  ::inet_pton(AF_INET, "10.9.0.2", &to.sin_addr);
  EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to), 0) << std::strerror(errno);
  ::close(client);
  ::close(listener);
}

TEST(Netlink, DescribesWhatItMade) {
  Wire wire;
  const auto bridge = wire.at_switch.get_link("br0");
  EXPECT_EQ(bridge.kind, "bridge");
  EXPECT_TRUE(bridge.up);
  const auto end = wire.at_switch.get_link("l");
  EXPECT_EQ(end.kind, "veth");
  EXPECT_EQ(end.master, bridge.index);
  EXPECT_EQ(wire.at_switch.links().size(), 4U);
  const auto addresses = wire.at_left.addresses("eth0");
  EXPECT_EQ(std::count(addresses.begin(), addresses.end(), network_of("10.9.0.1/24")), 1);
  EXPECT_FALSE(wire.at_left.find_link("br0"));
}

TEST(Netlink, AnAddressIsAddedAndTakenOnce) {
  Wire wire;
  wire.at_left.add_address("eth0", network_of("10.9.0.7/24"));
  wire.at_left.add_address("eth0", network_of("10.9.0.7/24"));
  EXPECT_TRUE(wire.at_left.remove_address("eth0", network_of("10.9.0.7/24")));
  EXPECT_FALSE(wire.at_left.remove_address("eth0", network_of("10.9.0.7/24")));
}

TEST(Netlink, DeletingOneEndOfAVethDeletesBoth) {
  Wire wire;
  EXPECT_TRUE(wire.at_switch.remove_link("l"));
  EXPECT_FALSE(wire.at_switch.remove_link("l"));
  EXPECT_FALSE(wire.at_left.find_link("eth0"));
}

TEST(Netlink, RenamesMovesAndStopsALink) {
  Wire wire;
  wire.at_switch.add_bridge("br1");
  wire.at_switch.set_down("l");
  wire.at_switch.rename_link("l", "port1");
  wire.at_switch.set_master("port1", "br1");
  EXPECT_EQ(wire.at_switch.get_link("port1").master, wire.at_switch.get_link("br1").index);
  wire.at_switch.clear_master("port1");
  EXPECT_EQ(wire.at_switch.get_link("port1").master, 0);
  EXPECT_FALSE(wire.at_switch.get_link("port1").up);
}

TEST(Netlink, SetsRoutesAndReplacesThem) {
  Wire wire;
  wire.at_left.set_route({.via = parse_ip("10.9.0.2")});
  wire.at_left.set_route({.via = parse_ip("10.9.0.3")});
  wire.at_left.set_route({.to = network_of("10.8.0.0/16"), .link = "eth0"});
  EXPECT_THROW(wire.at_left.set_route({.via = parse_ip("10.200.0.1")}), Error);
}

TEST(Netlink, AVethHasTheHardwareAddressAskedFor) {
  Wire wire;
  wire.at_switch.add_veth({.name = "x", .peer = &wire.left, .peer_name = "eth1", .peer_mac = "02:11:22:33:44:55"});
  EXPECT_EQ(wire.at_left.get_link("eth1").mac, "02:11:22:33:44:55");
}

TEST(Netlink, ErrorsNameLinkAndNamespace) {
  Wire wire;
  try {
    wire.at_switch.add_bridge("br0");
    ADD_FAILURE() << "made a bridge twice";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::conflict);
    EXPECT_EQ(e.message(), "cannot create bridge 'br0' in network namespace 'switch'");
  }
  try {
    wire.at_left.set_up("eth9");
    ADD_FAILURE() << "set a missing link up";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::not_found);
    EXPECT_EQ(e.message(), "no link 'eth9' in network namespace 'left'");
  }
  EXPECT_THROW(wire.at_switch.add_veth({.name = "l", .peer = &wire.left, .peer_name = "eth5"}), Error);
}

TEST(Netlink, ChangesTheHardwareAddressOfALinkThatIsUp) {
  Wire wire;
  wire.at_left.set_mac("eth0", "02:02:0a:4d:00:05");
  EXPECT_EQ(wire.at_left.get_link("eth0").mac, "02:02:0a:4d:00:05");
  wire.at_left.set_mtu("eth0", 1400);
  EXPECT_EQ(wire.at_left.get_link("eth0").mtu, 1400U);
  EXPECT_EQ(wire.at_left.address_state("eth0", network_of("10.9.0.1/24").ip), AddressState::ready);
  EXPECT_EQ(wire.at_left.address_state("eth0", network_of("10.9.0.7/24").ip), AddressState::absent);
}

TEST(Netlink, AVlanIsMadeOrRefusedInClearWords) {
  Wire wire;
  EXPECT_THROW(wire.at_left.add_vlan("eth0.4095", "eth0", 4095), Error);
  try {
    wire.at_left.add_vlan("eth0.12", "eth0", 12);
    EXPECT_EQ(wire.at_left.get_link("eth0.12").kind, "vlan");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::unsupported) << e.text();
    EXPECT_NE(e.text().find("CONFIG_VLAN_8021Q"), std::string::npos) << e.text();
  }
}

}  // namespace
}  // namespace underway::net
