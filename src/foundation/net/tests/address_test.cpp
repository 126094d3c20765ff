#include "net/address.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "net/netlink.hpp"

namespace underway::net {
namespace {

Cidr cidr(std::string_view text) { return parse_cidr(text).value(); }

TEST(Address, ReadsAndWritesBothFamilies) {
  for (const char* text : {"0.0.0.0", "10.77.0.10", "255.255.255.255", "::", "fd00::1", "2001:db8::ff00:42:8329"}) {
    const auto ip = parse_ip(text);
    ASSERT_TRUE(ip) << text;
    EXPECT_EQ(to_string(*ip), text);
  }
}

TEST(Address, RefusesWhatIsNoAddress) {
  for (const char* text : {"", "10.77.0", "10.77.0.256", "010.0.0.1", "10.0.0.1 ", "fe80::1%eth0", "host", "1:2:3"}) {
    EXPECT_FALSE(parse_ip(text)) << text;
  }
  EXPECT_FALSE(parse_ip(std::string_view("10.0.0.1\0x", 10)));
}

TEST(Address, RefusesPrefixesThatAreNone) {
  for (const char* text :
       {"10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8x", "::/129", "/8"}) {
    EXPECT_FALSE(parse_cidr(text)) << text;
  }
}

TEST(Cidr, KeepsTheAddressAndKnowsItsNetwork) {
  EXPECT_EQ(to_string(cidr("10.77.0.10/24")), "10.77.0.10/24");
  EXPECT_EQ(to_string(cidr("10.77.0.10/24").network()), "10.77.0.0/24");
  EXPECT_EQ(to_string(cidr("10.77.129.1/17").network()), "10.77.128.0/17");
  EXPECT_EQ(to_string(cidr("10.77.0.10/24").broadcast()), "10.77.0.255");
  EXPECT_EQ(to_string(cidr("fd00:77::1234/64").network()), "fd00:77::/64");
}

TEST(Cidr, ContainsExactlyItsOwnAddresses) {
  EXPECT_TRUE(cidr("10.77.0.0/23").contains(*parse_ip("10.77.1.255")));
  EXPECT_FALSE(cidr("10.77.0.0/23").contains(*parse_ip("10.77.2.0")));
  EXPECT_FALSE(cidr("0.0.0.0/0").contains(*parse_ip("::1")));
  EXPECT_TRUE(cidr("0.0.0.0/0").contains(*parse_ip("8.8.8.8")));
}

TEST(Cidr, OverlapIsSymmetric) {
  EXPECT_TRUE(cidr("10.0.0.0/8").overlaps(cidr("10.77.0.0/24")));
  EXPECT_TRUE(cidr("10.77.0.0/24").overlaps(cidr("10.0.0.0/8")));
  EXPECT_FALSE(cidr("10.77.0.0/24").overlaps(cidr("10.77.1.0/24")));
}

TEST(Cidr, CountsHostsAndRefusesTheOnesBeyond) {
  EXPECT_EQ(cidr("10.77.0.0/24").usable_hosts(), 254U);
  EXPECT_EQ(cidr("10.77.0.0/30").usable_hosts(), 2U);
  EXPECT_EQ(cidr("10.77.0.0/31").usable_hosts(), 2U);
  EXPECT_EQ(cidr("10.77.0.0/32").usable_hosts(), 1U);
  EXPECT_EQ(cidr("0.0.0.0/0").usable_hosts(), 4294967294U);
  EXPECT_EQ(cidr("fd00::/64").usable_hosts(), std::uint64_t{1} << 63);
  EXPECT_EQ(to_string(cidr("10.77.0.0/16").host(300)), "10.77.1.44");
  EXPECT_EQ(to_string(cidr("fd00::/64").host(65536)), "fd00::1:0");
  EXPECT_THROW(cidr("10.77.0.0/30").host(4), Error);
  EXPECT_THROW(Ip::v4(0xffffffff).plus(1), Error);
}

TEST(LinkName, KeepsValidNamesAndShortensOthersReproducibly) {
  EXPECT_EQ(link_name("login.mgmt"), "login.mgmt");
  const auto shortened = link_name("compute-node-0001.management");
  EXPECT_EQ(shortened.size(), kMaxLinkName);
  EXPECT_EQ(shortened, link_name("compute-node-0001.management"));
  EXPECT_NE(shortened, link_name("compute-node-0002.management"));
  EXPECT_EQ(link_name("a/b:c").find_first_of("/:"), std::string::npos);
}

}  // namespace
}  // namespace underway::net
