// Networks of allocations in the kernel: the test's own network stands for the node's.
#include "network/network.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "net/namespace.hpp"
#include "net/netlink.hpp"
#include "net/nftables.hpp"
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::network {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kFirst = "00000000-0000-4000-8000-000000000001";
constexpr const char* kSecond = "00000000-0000-4000-8000-000000000002";

sockaddr_in at(const std::string& address, int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address.c_str(), &out.sin_addr);
  return out;
}

/// Says its name to everybody who connects, in the namespace that it is made in.
class Greeter {
 public:
  Greeter(const std::string& pin, int port, std::string name) : name_(std::move(name)) {
    net::Namespace::open(pin).run([&] { listener_ = os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); });
    const int on = 1;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const auto address = at("0.0.0.0", port);
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 8) != 0)
      throw errno_error(errno, "cannot listen");
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        pollfd waiting{listener_.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 20) <= 0) continue;
        const os::Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (peer) (void)!::write(peer.get(), name_.data(), name_.size());
      }
    });
  }

 private:
  std::string name_;
  os::Fd listener_;
  std::jthread thread_;
};

/// What is said at that address, asked from inside of `in`; "nothing" when nobody answers.
std::string ask(const net::Namespace& in, const std::string& address, int port) {
  os::Fd socket;
  in.run([&] { socket = os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); });
  const timeval limit{2, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const auto to = at(address, port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return "nothing";
  std::array<char, 64> said{};
  const ssize_t n = ::read(socket.get(), said.data(), said.size());
  return n > 0 ? std::string(said.data(), static_cast<std::size_t>(n)) : "nothing";
}

std::string shell(const std::string& line) {
  os::SpawnSpec spec;
  spec.argv = {"/bin/sh", "-c", line};
  spec.env = {"PATH=" + std::string(os::kDefaultPath)};
  return os::run_program(std::move(spec), std::chrono::seconds{20}).out;
}

class NetworkTest : public ::testing::Test {
 protected:
  NetworkTest() {
    if (::mkdtemp(directory_.data()) == nullptr) throw errno_error(errno, "cannot make a directory");
    options.directory = directory_ + "/network";
    options.bridge = "uwtest0";
    options.cni_config_dir = directory_ + "/cni";
    net::Netlink(machine).set_up("lo");
    restart();
  }
  ~NetworkTest() override {
    networks->keep_only({});
    net::Netlink(machine).remove_link(options.bridge);
    networks.reset();
    os::remove_tree(directory_);
  }
  /// What a new agent has.
  void restart() {
    networks.reset();
    networks = make_networks(options);
  }
  Attachment bridge(const std::string& id, int host_port, const std::string& host_ip = "127.0.0.1") {
    return networks->attach({id, "bridge", {{"http", host_port, 8080, host_ip}}, {}});
  }
  static std::vector<std::string> links() {
    std::vector<std::string> names;
    for (const auto& link : net::Netlink(net::Namespace::current()).links()) names.push_back(link.name);
    return names;
  }
  void edit_record(const std::string& id, const std::string& from, const std::string& to) {
    const std::string path = options.directory + "/records/" + id + ".json";
    std::string text = os::read_file(path);
    const auto begin = text.find(from);
    ASSERT_NE(begin, std::string::npos) << text;
    os::write_file(path, text.replace(begin, from.size(), to), 0600);
  }

  std::string directory_ = "/tmp/underway-network-XXXXXX";
  net::Namespace machine = net::Namespace::current();
  Options options;
  std::unique_ptr<AllocationNetworks> networks;
};

TEST_F(NetworkTest, TwoAllocationsHaveTheSamePortAndAreReachedByTheNodes) {
  const auto first = bridge(kFirst, 21001), second = bridge(kSecond, 21002);
  EXPECT_EQ(first.status.address, "172.26.64.2");
  EXPECT_EQ(second.status.address, "172.26.64.3");
  EXPECT_EQ(first.status.interface_name, "eth0");
  const Greeter one(first.namespace_path, 8080, "one"), two(second.namespace_path, 8080, "two");
  EXPECT_EQ(ask(machine, "127.0.0.1", 21001), "one") << "by the node's port";
  EXPECT_EQ(ask(machine, "127.0.0.1", 21002), "two");
  EXPECT_EQ(ask(machine, "172.26.64.2", 8080), "one") << "by its own address";
  const auto inside = net::Namespace::open(first.namespace_path);
  EXPECT_EQ(ask(inside, "172.26.64.3", 8080), "two") << "from another allocation";
  EXPECT_EQ(ask(inside, "127.0.0.1", 21002), "nothing") << "the node's loopback is not the allocation's";
}

TEST_F(NetworkTest, ThePortOfANodesAddressIsReachedFromElsewhereFromItsAllocationsAndFromItself) {
  options.hairpin = true;  // where bridged packets pass the rules too (br_netfilter), one to itself needs that
  restart();
  auto elsewhere = net::Namespace::create("elsewhere");
  net::Netlink here(machine), there(elsewhere);
  here.add_veth({.name = "uplink", .peer = &elsewhere, .master = "", .peer_mac = ""});
  here.add_address("uplink", net::parse_cidr("10.3.3.1/24").value());
  there.set_up("eth0");
  there.add_address("eth0", net::parse_cidr("10.3.3.2/24").value());
  const auto first = bridge(kFirst, 21001, "10.3.3.1"), second = bridge(kSecond, 21002, "10.3.3.1");
  const Greeter greeter(first.namespace_path, 8080, "one");
  EXPECT_EQ(ask(elsewhere, "10.3.3.1", 21001), "one");
  EXPECT_EQ(ask(machine, "10.3.3.1", 21001), "one");
  EXPECT_EQ(ask(net::Namespace::open(second.namespace_path), "10.3.3.1", 21001), "one") << "a neighbour";
  EXPECT_EQ(ask(net::Namespace::open(first.namespace_path), "10.3.3.1", 21001), "one") << "itself";
  // The way out: who is asked sees the node's address, and has no route to the allocation's.
  const std::string pin = directory_ + "/elsewhere";
  elsewhere.pin(pin);
  {
    const Greeter outside(pin, 9090, "outside");
    EXPECT_EQ(ask(net::Namespace::open(second.namespace_path), "10.3.3.2", 9090), "outside");
  }
  net::unpin(pin);
  here.remove_link("uplink");
}

TEST_F(NetworkTest, NothingIsLeftOfWhatWasDetached) {
  const auto before = links();
  const auto made = bridge(kFirst, 21001);
  EXPECT_THAT(net::list_tables(machine), Contains("alloc-uwtest0"));
  networks->detach(kFirst);
  networks->detach(kFirst);
  EXPECT_FALSE(net::is_pinned(made.namespace_path));
  EXPECT_FALSE(os::exists(made.namespace_path));
  EXPECT_THAT(net::list_tables(machine), Not(Contains("alloc-uwtest0")));
  auto after = links();
  std::erase(after, "uwtest0");
  EXPECT_EQ(after, before);
  EXPECT_EQ(networks->find(kFirst), std::nullopt);
}

TEST_F(NetworkTest, ANewAgentFindsWhatTheOldOneMadeAndRemovesWhatIsNobodys) {
  const auto first = bridge(kFirst, 21001);
  bridge(kSecond, 21002);
  restart();
  ASSERT_TRUE(networks->find(kFirst));
  EXPECT_EQ(networks->find(kFirst)->status.address, first.status.address);
  EXPECT_EQ(bridge(kFirst, 21001).namespace_path, first.namespace_path);
  const Greeter greeter(first.namespace_path, 8080, "one");
  EXPECT_THAT(networks->keep_only({kFirst}), ElementsAre(kSecond));
  EXPECT_EQ(networks->find(kSecond), std::nullopt);
  EXPECT_EQ(ask(machine, "127.0.0.1", 21001), "one") << "the other one's stays";
}

TEST_F(NetworkTest, WhatAnAgentLeftHalfMadeIsMadeAnewWithItsAddress) {
  bridge(kFirst, 21001);
  const auto second = bridge(kSecond, 21002);
  edit_record(kSecond, ",\"Ready\":true", "");
  restart();
  EXPECT_EQ(networks->find(kSecond), std::nullopt);
  const auto again = bridge(kSecond, 21002);
  EXPECT_EQ(again.status.address, second.status.address);
  const Greeter two(again.namespace_path, 8080, "two");
  EXPECT_EQ(ask(machine, "127.0.0.1", 21002), "two");
}

TEST_F(NetworkTest, AfterABootItIsMadeAnewWithItsAddress) {
  bridge(kFirst, 21001);
  const auto second = bridge(kSecond, 21002);
  for (const auto* id : {kFirst, kSecond}) net::unpin(options.directory + "/ns/" + id);
  restart();
  EXPECT_EQ(networks->find(kSecond), std::nullopt);
  EXPECT_EQ(bridge(kSecond, 21002).status.address, second.status.address);
}

TEST_F(NetworkTest, NoneIsLoopbackAlone) {
  const auto made = networks->attach({kFirst, "none", {}, {}});
  net::Netlink inside(net::Namespace::open(made.namespace_path));
  ASSERT_EQ(inside.links().size(), 1u);
  EXPECT_TRUE(inside.get_link("lo").up);
  EXPECT_EQ(made.status.address, "");
  EXPECT_THAT(links(), Not(Contains("uwtest0"))) << "nobody needs the bridge";
}

TEST_F(NetworkTest, ASubnetThatTheNodeHasElsewhereIsRefused) {
  net::Netlink here(machine);
  here.add_bridge("office0");
  here.add_address("office0", net::parse_cidr("172.26.70.1/24").value());
  try {
    bridge(kFirst, 21001);
    ADD_FAILURE() << "it was made";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::conflict);
    EXPECT_THAT(error.one_line(), HasSubstr("interface 'office0' of this node has 172.26.70.1/24"));
  }
  EXPECT_EQ(networks->find(kFirst), std::nullopt);
  EXPECT_FALSE(os::exists(options.directory + "/ns/" + kFirst));
  here.remove_link("office0");
}

TEST_F(NetworkTest, ANodeWithoutNftOffersNoBridge) {
  EXPECT_TRUE(fingerprint(options).contains("network.bridge"));
  const std::string program(trim(shell("command -v nft")));
  ASSERT_EQ(shell("mount --bind /dev/null " + program + " && echo hidden"), "hidden\n") << program;
  const auto attributes = fingerprint(options);
  std::string why;
  try {
    bridge(kFirst, 21001);
  } catch (const Error& error) {
    why = error.text();
  }
  shell("umount " + program);
  EXPECT_FALSE(attributes.contains("network.bridge"));
  EXPECT_TRUE(attributes.contains("network.none"));
  EXPECT_THAT(why, HasSubstr("changing nftables in network namespace 'this machine'"));
  EXPECT_EQ(networks->find(kFirst), std::nullopt);
}

TEST_F(NetworkTest, TheBridgeSendsBackWhenItIsToldSo) {
  options.hairpin = true;
  restart();
  bridge(kFirst, 21001);
  EXPECT_THAT(shell("ip -d link show type veth"), HasSubstr("hairpin on"));
}

TEST_F(NetworkTest, CniPluginsMakeWhatTheirConfigurationSays) {
  if (!os::exists("/usr/lib/cni/bridge")) GTEST_SKIP() << "needs Debian's containernetworking-plugins";
  os::make_directories(options.cni_config_dir);
  os::write_file(options.cni_config_dir + "/lab.conflist",
                 R"({"cniVersion":"0.4.0","name":"lab","plugins":[{"type":"bridge","bridge":"uwcni0","isGateway":true,)"
                 R"("ipam":{"type":"host-local","dataDir":")" +
                     directory_ + R"(/ipam","ranges":[[{"subnet":"10.4.4.0/24"}]]}}]})",
                 0644);
  EXPECT_THAT(fingerprint(options), Contains(std::pair<const std::string, std::string>("network.cni.lab", "1")));
  const auto made = networks->attach({kFirst, "cni/lab", {}, {}});
  EXPECT_EQ(made.status.address, "10.4.4.2");
  const Greeter greeter(made.namespace_path, 8080, "one");
  EXPECT_EQ(ask(machine, "10.4.4.2", 8080), "one");
  restart();
  EXPECT_EQ(networks->attach({kFirst, "cni/lab", {}, {}}).status.address, "10.4.4.2") << "it is found again";
  networks->detach(kFirst);
  EXPECT_FALSE(os::exists(made.namespace_path));
  EXPECT_FALSE(os::exists(directory_ + "/ipam/lab/10.4.4.2")) << "its address was given back";
  net::Netlink(machine).remove_link("uwcni0");
}

TEST_F(NetworkTest, ACniNetworkThatIsNotThereIsNamed) {
  try {
    networks->attach({kFirst, "cni/wan", {}, {}});
    ADD_FAILURE() << "it was made";
  } catch (const Error& error) {
    EXPECT_THAT(error.one_line(), HasSubstr("there is no CNI network 'wan'"));
  }
}

}  // namespace
}  // namespace underway::network
