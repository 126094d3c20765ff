#include "net/capture.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/error.hpp"
#include "net/netlink.hpp"

namespace underway::net {
namespace {

/// Two namespaces on one cable.
class Live : public testing::Test {
 protected:
  Live() : here_(Namespace::create("here")), there_(Namespace::create("there")) {
    Netlink here(here_);
    Netlink there(there_);
    here.add_veth(
        {.name = "eth0", .peer = &there_, .peer_name = "eth0", .master = {}, .peer_mac = "02:00:00:00:00:02"});
    here.add_address("eth0", *parse_cidr("10.9.0.1/24"));
    there.add_address("eth0", *parse_cidr("10.9.0.2/24"));
    there.set_up("eth0");
    there.set_up("lo");
  }
  void send(const std::string& to, std::uint16_t port, int times) const {
    there_.run([&] {
      const os::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      ::inet_pton(AF_INET, to.c_str(), &address.sin_addr);
      for (int i = 0; i < times; ++i)
        ::sendto(socket.get(), "hello", 5, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    });
  }
  /// UDP packets to `port`, waiting until `expect` came, or nothing for six times as long as a packet waits in the
  /// ring.
  static int received(Capture& capture, std::uint16_t port, int expect) {
    std::array<Packet, 64> batch;
    int seen = 0;
    for (int waits = 0; waits < 3 && seen < expect;) {
      const std::size_t count = capture.next(batch);
      for (std::size_t i = 0; i < count; ++i) {
        const auto* p = batch[i].data;
        if (batch[i].captured >= 42 && p[12] == 8 && p[13] == 0 && p[23] == 17 && (p[36] << 8 | p[37]) == port) ++seen;
      }
      if (count > 0) continue;
      pollfd poll{capture.fd(), POLLIN, 0};
      if (::poll(&poll, 1, 200) == 0) ++waits;
    }
    return seen;
  }
  Namespace here_, there_;
};

TEST_F(Live, SeesEveryPacketWithItsTimeAndLength) {
  auto capture = Capture::open(here_, {.interface = "eth0", .macs = {}, .filter = {}});
  send("10.9.0.1", 4711, 100);
  EXPECT_EQ(received(capture, 4711, 100), 100);
  EXPECT_EQ(capture.counts().lost, 0U);
  EXPECT_GE(capture.counts().received, 100U);
}

TEST_F(Live, TheKernelFiltersByMacAndExpression) {
  auto other = Capture::open(here_, {.interface = "eth0", .macs = {"02:00:00:00:00:99"}, .filter = {}});
  auto chosen = Capture::open(here_, {.interface = "eth0", .macs = {"02:00:00:00:00:02"}, .filter = "udp port 4712"});
  send("10.9.0.1", 4711, 5);
  send("10.9.0.1", 4712, 7);
  EXPECT_EQ(received(chosen, 4712, 7), 7);
  EXPECT_EQ(chosen.counts().received, 7U);
  EXPECT_EQ(other.counts().received, 0U);
}

TEST_F(Live, ALossIsCounted) {
  auto capture = Capture::open(here_, {.interface = "eth0", .macs = {}, .filter = "udp port 4713", .memory = 2U << 20});
  send("10.9.0.1", 4713, 40'000);
  const auto counts = capture.counts();
  EXPECT_GT(counts.lost, 0U);
  const int seen = received(capture, 4713, static_cast<int>(counts.received - counts.lost));
  EXPECT_EQ(static_cast<std::uint64_t>(seen) + counts.lost, counts.received) << "nothing is missed in silence";
}

TEST_F(Live, TheLoopbackShowsEachPacketOnce) {
  auto capture = Capture::open(there_, {.interface = "lo", .macs = {}, .filter = "udp port 4714"});
  send("127.0.0.1", 4714, 10);
  EXPECT_EQ(received(capture, 4714, 11), 10);
}

TEST_F(Live, AnInterfaceThatGoesAwayIsTold) {
  auto capture = Capture::open(here_, {.interface = "eth0", .macs = {}, .filter = {}});
  Netlink(here_).set_down("eth0");
  std::array<Packet, 8> batch;
  while (capture.next(batch) > 0) {
  }
  Netlink(here_).set_up("eth0");
  Netlink(here_).remove_link("eth0");
  try {
    while (capture.next(batch) > 0) {
    }
    FAIL() << "the interface is gone";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::unavailable);
    EXPECT_EQ(e.message(), "interface 'eth0' is gone");
  }
}

TEST_F(Live, SaysWhatIsWrong) {
  const auto code = [&](const CaptureOptions& options) {
    try {
      Capture::open(here_, options);
    } catch (const Error& e) {
      return e.code();
    }
    return Code::internal;
  };
  EXPECT_EQ(code({.interface = "none", .macs = {}, .filter = {}}), Code::not_found);
  EXPECT_EQ(code({.interface = "", .macs = {}, .filter = {}}), Code::not_found);
  EXPECT_EQ(code({.interface = "eth0", .macs = {}, .filter = "prot 7"}), Code::invalid);
}

TEST_F(Live, ANamespaceKnowsItsOwnAddresses) {
  const auto own = own_addresses(there_);
  EXPECT_EQ(own.macs, (std::vector<std::string>{"02:00:00:00:00:02"}));
  EXPECT_NE(std::find(own.addresses.begin(), own.addresses.end(), *parse_cidr("10.9.0.2/24")), own.addresses.end());
}

}  // namespace
}  // namespace underway::net
