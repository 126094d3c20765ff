// Attempts of checks on the real network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>

#include "http/testing/slow_names.hpp"
#include "node/kernel_runtime.hpp"

namespace underway::node {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;
using ::testing::HasSubstr;

class KernelProbe : public ::testing::Test {
 protected:
  ProbeAnswer probe(ProbeRequest request) { return loop.run_until_done(runtime.probe(std::move(request))); }

  async::Loop loop;
  async::Pool pool{1};
  SystemClock clock;
  KernelRuntime runtime{loop, pool, clock};
};

TEST_F(KernelProbe, OfTcpPassesWhereSomebodyListens) {
  tcp::acceptor acceptor(loop.context(), {asio::ip::make_address("127.0.0.1"), 0});
  const auto port = acceptor.local_endpoint().port();
  for (const char* address : {"127.0.0.1", "localhost"}) {
    const auto answer = probe({.address = address, .port = port, .timeout = 5s});
    EXPECT_TRUE(answer.passed) << address << ": " << answer.output;
  }
  acceptor.close();
  const auto answer = probe({.address = "127.0.0.1", .port = port, .timeout = 5s});
  EXPECT_FALSE(answer.passed);
  EXPECT_EQ(answer.output, "Connection refused");
}

TEST_F(KernelProbe, ANameThatIsNotThereFails) {
  const auto answer = probe({.address = "nobody.slow", .port = 80, .timeout = 5s});
  EXPECT_FALSE(answer.passed);
  EXPECT_THAT(answer.output, HasSubstr("cannot find host 'nobody.slow'"));
}

TEST_F(KernelProbe, ANameThatIsLookedForTooLongIsTooLate) {
  const http::testing::SlowNames slow;
  const auto tcp = probe({.address = "nobody.slow", .port = 80, .timeout = 20ms});
  EXPECT_FALSE(tcp.passed);
  EXPECT_EQ(tcp.output, "no answer within 20ms");
  const auto http =
      probe({.address = "nobody.slow", .port = 80, .timeout = 20ms, .http = true, .method = "GET", .path = "/"});
  EXPECT_FALSE(http.passed);
  EXPECT_THAT(http.output, HasSubstr("took longer than 20ms"));
}

}  // namespace
}  // namespace underway::node
