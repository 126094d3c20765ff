#include "http/resolve.hpp"

#include <gtest/gtest.h>

#include "http/client.hpp"
#include "http/testing/slow_names.hpp"

namespace underway::http {
namespace {

using namespace std::chrono_literals;
using asio::ip::make_address;
using asio::ip::tcp;

TEST(Resolve, FindsNamesAndTakesAddressesAsTheyAre) {
  async::Loop loop;
  EXPECT_EQ(loop.run_until_done(resolve("10.0.0.7", 80)), std::vector{tcp::endpoint(make_address("10.0.0.7"), 80)});
  EXPECT_EQ(loop.run_until_done(resolve("::1", 80)), std::vector{tcp::endpoint(make_address("::1"), 80)});
  const auto found = loop.run_until_done(resolve("localhost", 81));
  ASSERT_FALSE(found.empty());
  for (const auto& endpoint : found) EXPECT_TRUE(endpoint.address().is_loopback() && endpoint.port() == 81);
}

TEST(Resolve, SaysWhichHostIsNotFound) {
  async::Loop loop;
  try {
    loop.run_until_done(resolve("nobody.slow", 80));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unavailable);
    EXPECT_EQ(error.message(), "cannot find host 'nobody.slow'");
  }
}

TEST(Resolve, WhoGivesUpDoesNotWaitForTheNameServers) {
  async::Loop loop;
  const testing::SlowNames slow;
  EXPECT_THROW(loop.run_until_done(async::within(20ms, "looking up a name", resolve("nobody.slow", 80))), Error);
  ClientOptions options;
  options.connect_timeout = 20ms;
  Client client(loop.executor(), Url{.endpoint = {.host = "nobody.slow", .port = 80}}, options);
  try {
    loop.run_until_done(client.send({.method = "GET", .target = "/"}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::timeout) << error.text();
  }
}

}  // namespace
}  // namespace underway::http
