// Addresses on the host's bridges: asked for before, announced after, and gone with the capsule.
#include <unistd.h>

#include "net/sysctl.hpp"
#include "os/file.hpp"
#include "run/network.hpp"
#include "tests/capsules.hpp"

namespace underway::run {
namespace {

/// Says its name to whoever connects to port 7.
std::string serve(const std::string& word) { return fmt::format("while true; do echo {} | nc -l -p 7; done", word); }

TEST_F(Capsules, AreReachedAtTheirAddress) {
  const auto client = neighbour("client", "10.9.0.1/24");
  auto& task = start(spec("web", config(serve("hello"), "10.9.0.5/24")));
  EXPECT_TRUE(eventually([&] { return client.ask("10.9.0.5", 7) == "hello"; }));
  EXPECT_THAT(shell(task, "ip addr show eth0"), HasSubstr("02:02:0a:09:00:05"));
  EXPECT_EQ(shell(task, "ls /sys/class/net"), "eth0\nlo");
  end(task);
  EXPECT_EQ(client.ask("10.9.0.5", 7), "");
}

TEST_F(Capsules, MoveTheirAddressWithoutTheNeighboursNoticing) {
  const auto client = neighbour("client", "10.9.0.1/24");
  auto& first = start(spec("one", config(serve("one"), "10.9.0.5/24")));
  ASSERT_TRUE(eventually([&] { return client.ask("10.9.0.5", 7) == "one"; }));
  end(first);
  // The client's neighbour table still has the first one's place.
  auto& second = start(spec("two", config(serve("two"), "10.9.0.5/24", R"({})")));
  EXPECT_TRUE(eventually([&] { return client.ask("10.9.0.5", 7) == "two"; }, seconds{2}));
  end(second);
}

TEST_F(Capsules, AreSilentBeforeAnybodyHearsThatTheyEnded) {
  const auto client = neighbour("client", "10.9.0.1/24");
  const auto run = spec("one", config(serve("one"), "10.9.0.5/24"));
  auto& first = start(run);
  ASSERT_TRUE(eventually([&] { return client.ask("10.9.0.5", 7) == "one"; }));
  // Somebody has got into its network and keeps it alive, addresses and all.
  const auto inside = net::Namespace::of_process(first.status().process.pid, "the network of one");
  first.stop(SIGKILL, {});
  ASSERT_TRUE(first.wait(seconds{10}));
  auto& second = start(spec("two", config(serve("two"), "10.9.0.5/24")));
  EXPECT_TRUE(eventually([&] { return client.ask("10.9.0.5", 7) == "two"; }));
  end(second);
  first.destroy();
}

TEST_F(Capsules, AreNotStartedWhileSomebodyElseHasTheirAddress) {
  const auto holder = neighbour("holder", "10.9.0.5/24");
  const auto mac = net::Netlink(holder.inside).get_link("eth0").mac;
  const auto run = spec("web", config("echo acted; sleep 1000", "10.9.0.5/24"));
  const auto text = failure_of([&] { start(run); });
  EXPECT_THAT(text, HasSubstr("an address of the capsule is already in use"));
  EXPECT_THAT(text, HasSubstr("10.9.0.5 on network 'test' is that of " + mac));
  EXPECT_EQ(out(run), "");
  EXPECT_EQ(traces(), std::vector<std::string>{});
  // Also not beside another capsule, which goes on undisturbed.
  auto& first = start(spec("one", config(serve("one"), "10.9.0.6/24")));
  EXPECT_THAT(failure_of([&] { start(spec("two", config("sleep 1000", "10.9.0.6/24"))); }),
              HasSubstr("10.9.0.6 on network 'test' is that of 02:02:0a:09:00:06"));
  EXPECT_TRUE(eventually([&] { return holder.ask("10.9.0.6", 7) == "one"; }));
  end(first);
}

TEST_F(Capsules, SayWhichBridgesThereAreWhenTheirsIsMissing) {
  add_bridge("br-other");
  const auto more = R"({"network": [{"cluster": [{"addresses": ["10.9.0.5/24"]}]}]})";
  const auto text = failure_of([&] { start(spec("web", config("sleep 1000", "", more))); });
  EXPECT_THAT(text, HasSubstr("cannot join network 'cluster': this host has no bridge 'br-cluster'"));
  EXPECT_THAT(text, HasSubstr("its bridges are br-test, br-other"));
  const auto lo = R"({"network": [{"cluster": [{"bridge": "lo", "addresses": ["10.9.0.5/24"]}]}]})";
  EXPECT_THAT(failure_of([&] { start(spec("web", config("sleep 1000", "", lo), 2)); }),
              HasSubstr("'lo' is a link of another kind"));
}

TEST_F(Capsules, JoinSeveralNetworksWithRoutesAndSettings) {
  add_bridge("br-bmc");
  const auto gateway = neighbour("gateway", "10.9.0.1/24");
  const auto bmc = neighbour("bmc", "10.8.0.1/24", "br-bmc");
  net::set_sysctl(gateway.inside, "net.ipv4.ip_forward", "1");
  net::Netlink(gateway.inside).add_address("lo", *net::parse_cidr("192.0.2.1/32"));
  const auto more = R"({"network": [{"test": [{"addresses": ["10.9.0.5/24", "10.9.1.5/24"], "gateway": "10.9.0.1"}]},
                                    {"bmc": [{"addresses": ["10.8.0.5/24"], "interface": "bmc0", "mtu": 1400,
                                              "mac": "02:aa:00:00:00:01", "routes": [{"10.7.0.0/16": "10.8.0.1"}]}]}],
                        "sysctl": [{"net.ipv4.conf.all.rp_filter": 2, "net.ipv4.ip_forward": "1"}],
                        "dns": [{"servers": ["10.9.0.1"], "search": ["hpc.example"], "hosts": [{"c1": "10.9.0.11"}]}]})";
  auto& task = start(spec("web", config("sleep 1000", "", more)));
  EXPECT_THAT(shell(task, "ip route"), testing::AllOf(HasSubstr("default via 10.9.0.1 dev eth0"),
                                                      HasSubstr("10.7.0.0/16 via 10.8.0.1 dev bmc0")));
  EXPECT_THAT(shell(task, "ip addr show bmc0"),
              testing::AllOf(HasSubstr("mtu 1400"), HasSubstr("02:aa:00:00:00:01"), HasSubstr("10.8.0.5/24")));
  EXPECT_EQ(shell(task, "cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/conf/all/rp_filter"), "1\n2");
  EXPECT_EQ(shell(task, "ping -c 1 -W 5 192.0.2.1 > /dev/null && ping -c 1 -W 5 10.8.0.1 > /dev/null && echo both"),
            "both");
  EXPECT_EQ(shell(task, "cat /etc/resolv.conf; grep c1 /etc/hosts; grep web /etc/hosts"),
            "nameserver 10.9.0.1\nsearch hpc.example\n10.9.0.11 c1\n10.9.0.5 web");
  end(task);
}

TEST_F(Capsules, HaveIpv6AddressesThatTheKernelHasAskedFor) {
  if (!os::exists("/proc/sys/net/ipv6")) GTEST_SKIP() << "no IPv6";
  auto& task = start(spec("one", config("sleep 1000", "fd00:9::5/64")));
  EXPECT_THAT(shell(task, "ip -6 addr show eth0"),
              testing::AllOf(HasSubstr("fd00:9::5/64"), Not(HasSubstr("fd00:9::5/64 scope global tentative"))));
  EXPECT_THAT(failure_of([&] { start(spec("two", config("sleep 1000", "fd00:9::5/64"))); }),
              HasSubstr("fd00:9::5 on network 'test': the kernel found another holder"));
  end(task);
}

TEST_F(Capsules, TagTheirFramesOrSayThatTheKernelCannot) {
  const auto more = R"({"network": [{"test": [{"addresses": ["10.9.0.5/24"], "vlan": 12}]}]})";
  const auto run = spec("web", config("sleep 1000", "", more));
  try {
    auto& task = start(run);
    EXPECT_EQ(shell(task, "ls /sys/class/net"), "eth0\neth0.12\nlo");
    end(task);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::unsupported);
    EXPECT_THAT(e.text(), HasSubstr("this kernel has no VLAN links"));
    EXPECT_EQ(traces(), std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace underway::run
