#include "network/detail/addresses.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::network {
namespace {

net::Ip ip(const char* text) { return net::parse_ip(text).value(); }

TEST(Addresses, AreGivenRoundAboutAndTheFirstIsTheBridges) {
  const auto network = net::parse_cidr("10.1.2.0/29").value();  // .2 to .6 are for allocations
  EXPECT_EQ(next_address(network, {}, {}), ip("10.1.2.2"));
  EXPECT_EQ(next_address(network, {}, ip("10.1.2.2")), ip("10.1.2.3")) << "the one given back is not given at once";
  EXPECT_EQ(next_address(network, {ip("10.1.2.4")}, ip("10.1.2.3")), ip("10.1.2.5"));
  EXPECT_EQ(next_address(network, {}, ip("10.1.2.6")), ip("10.1.2.2"));
  EXPECT_EQ(next_address(network, {}, ip("192.168.0.1")), ip("10.1.2.2")) << "of another network, before";
}

TEST(Addresses, ThatNoneIsLeftIsSaid) {
  const auto network = net::parse_cidr("10.1.2.0/30").value();
  EXPECT_EQ(next_address(network, {}, {}), ip("10.1.2.2"));
  try {
    next_address(network, {ip("10.1.2.2")}, {});
    FAIL() << "an address was given twice";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::exhausted);
  }
}

}  // namespace
}  // namespace underway::network
