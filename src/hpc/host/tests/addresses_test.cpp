#include "host/addresses.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::host {
namespace {

net::Cidr cidr(std::string_view text) { return net::parse_cidr(text).value(); }
net::Ip ip(std::string_view text) { return net::parse_ip(text).value(); }

TEST(AssignAddresses, StartsAtTenInARoomyNetworkAndGoesUp) {
  const auto given = assign_addresses(cidr("10.77.0.0/24"), {}, {"mgmt", "login", "c1"});
  EXPECT_EQ(to_string(given.at("mgmt")), "10.77.0.10/24");
  EXPECT_EQ(to_string(given.at("login")), "10.77.0.11/24");
  EXPECT_EQ(to_string(given.at("c1")), "10.77.0.12/24");
}

TEST(AssignAddresses, PassesOverWhatIsUsedAndRepeatsItself) {
  const std::set<net::Ip> used = {ip("10.77.0.10"), ip("10.77.0.12")};
  const auto given = assign_addresses(cidr("10.77.0.0/24"), used, {"a", "b"});
  EXPECT_EQ(to_string(given.at("a").ip), "10.77.0.11");
  EXPECT_EQ(to_string(given.at("b").ip), "10.77.0.13");
  EXPECT_EQ(given, assign_addresses(cidr("10.77.0.0/24"), used, {"a", "b"}));
}

TEST(AssignAddresses, UsesTheSkippedBeginningBeforeItGivesUp) {
  std::vector<std::string> names;
  for (int n = 0; n < 61; ++n) names.push_back("c" + std::to_string(n));
  const auto given = assign_addresses(cidr("10.0.0.0/26"), {}, names);
  std::set<net::Ip> different;
  for (const auto& [name, address] : given) different.insert(address.ip);
  EXPECT_EQ(different.size(), 61U);
  EXPECT_EQ(*different.begin(), ip("10.0.0.2"));
  EXPECT_EQ(*different.rbegin(), ip("10.0.0.62"));
  names.push_back("one-too-many");
  try {
    assign_addresses(cidr("10.0.0.0/26"), {}, names);
    ADD_FAILURE() << "gave more addresses than there are";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::exhausted);
    EXPECT_NE(e.message().find("one-too-many"), std::string::npos);
  }
}

TEST(AssignAddresses, LeavesTheGatewayOfASmallNetwork) {
  const auto given = assign_addresses(cidr("10.0.0.0/29"), {}, {"a", "b", "c", "d", "e"});
  EXPECT_EQ(to_string(given.at("a").ip), "10.0.0.2");
  EXPECT_EQ(to_string(given.at("e").ip), "10.0.0.6");
  EXPECT_THROW(assign_addresses(cidr("10.0.0.0/31"), {}, {"a"}), Error);
}

}  // namespace
}  // namespace underway::host
