#include "guest/boot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/error.hpp"
#include "net/netlink.hpp"
#include "os/file.hpp"

namespace underway::guest {
namespace {

/// A root and a namespace with two links, as a machine that boots has them.
class Booting : public testing::Test {
 protected:
  Booting() {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    net::Netlink here(machine_);
    here.add_veth({.name = "up0", .peer = &switch_, .peer_name = "a", .master = "", .peer_mac = ""});
    here.set_mac("up0", "52:54:00:00:00:01");
    seed_.instance = "one";
    seed_.hostname = "v1";
    seed_.links.push_back({.mac = "52:54:00:00:00:01",
                           .name = "eth0",
                           .addresses = {*net::parse_cidr("10.78.0.20/24")},
                           .gateway = net::parse_ip("10.78.0.1"),
                           .nameservers = {*net::parse_ip("10.78.0.2")},
                           .mtu = 1400});
    seed_.files.push_back({"/etc/underway/join-token", "secret\n", 0600});
    seed_.commands = {{"/bin/false"}, {"/bin/sh", "-c", "echo ran >> " + directory_ + "/ran"}};
  }
  ~Booting() override { std::filesystem::remove_all(directory_); }

  bool boot_it() const {
    BootOptions options;
    options.root = directory_ + "/root";
    return boot(seed_, machine_, options);
  }
  std::string text(const std::string& path) const { return os::find_file(directory_ + path).value_or("none"); }

  std::string directory_ = "/tmp/underway-test-XXXXXX";
  net::Namespace machine_ = net::Namespace::create("machine");
  net::Namespace switch_ = net::Namespace::create("switch");
  Seed seed_;
};

TEST_F(Booting, SetsUpLinksNamesFilesAndRunsCommandsOnce) {
  EXPECT_TRUE(boot_it());
  net::Netlink here(machine_);
  const auto link = here.get_link("eth0");
  EXPECT_TRUE(link.up);
  EXPECT_EQ(link.mtu, 1400U);
  EXPECT_THAT(here.addresses("eth0"), testing::Contains(*net::parse_cidr("10.78.0.20/24")));
  EXPECT_TRUE(here.get_link("lo").up);
  EXPECT_EQ(text("/root/etc/hostname"), "v1\n");
  EXPECT_THAT(text("/root/etc/hosts"), testing::HasSubstr("10.78.0.20 v1\n"));
  EXPECT_EQ(text("/root/etc/resolv.conf"), "nameserver 10.78.0.2\n");
  EXPECT_EQ(text("/root/etc/underway/join-token"), "secret\n");
  struct stat found{};
  ASSERT_EQ(::stat((directory_ + "/root/etc/underway/join-token").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600U);
  EXPECT_EQ(text("/ran"), "ran\n") << "a command that fails keeps no other from running";

  os::write_file(directory_ + "/root/etc/underway/join-token", "used\n", 0600);
  EXPECT_FALSE(boot_it()) << "the same instance";
  EXPECT_EQ(text("/root/etc/underway/join-token"), "used\n");
  EXPECT_EQ(text("/ran"), "ran\n");
  seed_.instance = "two";
  EXPECT_TRUE(boot_it());
  EXPECT_EQ(text("/ran"), "ran\nran\n");
}

TEST_F(Booting, KnowsTheHostsOfItsSeedInEveryBoot) {
  seed_.files.push_back({"/etc/hosts", "127.0.0.1 localhost\n10.78.0.10 mgmt\n10.78.0.20 v1\n", 0644});
  EXPECT_TRUE(boot_it());
  EXPECT_THAT(text("/root/etc/hosts"), testing::HasSubstr("10.78.0.10 mgmt\n"));
  EXPECT_FALSE(boot_it());
  EXPECT_THAT(text("/root/etc/hosts"), testing::HasSubstr("10.78.0.10 mgmt\n"));
}

TEST_F(Booting, SetsUpTheOtherLinksWhenOneIsMissing) {
  seed_.links.insert(
      seed_.links.begin(),
      SeedLink{.mac = "52:54:00:00:00:99", .name = "", .addresses = {}, .gateway = {}, .nameservers = {}});
  try {
    boot_it();
    FAIL() << "nothing was missed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_THAT(error.one_line(), testing::HasSubstr("52:54:00:00:00:99"));
  }
  EXPECT_TRUE(net::Netlink(machine_).get_link("eth0").up);
  EXPECT_EQ(text("/ran"), "ran\n");
}

TEST_F(Booting, NeedsASeed) {
  EXPECT_THROW(read_seed(directory_), Error);
  for (const auto& [name, content] : render(seed_)) os::write_file(directory_ + "/" + name, content);
  EXPECT_EQ(read_seed(directory_).hostname, "v1");
}

}  // namespace
}  // namespace underway::guest
