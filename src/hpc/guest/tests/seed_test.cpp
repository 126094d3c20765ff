#include "guest/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace underway::guest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Seed whole() {
  Seed seed{.instance = "7f3a", .hostname = "v1", .links = {}, .files = {}, .commands = {}};
  seed.links.push_back({.mac = "52:54:00:12:34:56",
                        .name = "eth0",
                        .addresses = {*net::parse_cidr("10.78.0.20/24"), *net::parse_cidr("fd00::20/64")},
                        .gateway = net::parse_ip("10.78.0.1"),
                        .nameservers = {*net::parse_ip("10.78.0.2")},
                        .mtu = 1450});
  seed.files.push_back({"/etc/underway/join-token", "secret: \"#\"\n\x01", 0600});
  seed.commands.push_back({"systemctl", "enable", "--now", "under way"});
  return seed;
}

TEST(Seed, IsReadAsItWasWritten) {
  const auto seed = parse_seed(render(whole()));
  EXPECT_EQ(seed.instance, "7f3a");
  EXPECT_EQ(seed.hostname, "v1");
  ASSERT_EQ(seed.links.size(), 1U);
  const auto& link = seed.links[0];
  EXPECT_EQ(link.mac, "52:54:00:12:34:56");
  EXPECT_EQ(link.name, "eth0");
  EXPECT_EQ(link.addresses, whole().links[0].addresses);
  EXPECT_EQ(link.gateway, net::parse_ip("10.78.0.1"));
  EXPECT_EQ(link.nameservers, whole().links[0].nameservers);
  EXPECT_EQ(link.mtu, 1450U);
  ASSERT_EQ(seed.files.size(), 1U);
  EXPECT_EQ(seed.files[0].path, "/etc/underway/join-token");
  EXPECT_EQ(seed.files[0].content, "secret: \"#\"\n\x01");
  EXPECT_EQ(seed.files[0].mode, 0600U);
  EXPECT_THAT(seed.commands, ElementsAre(ElementsAre("systemctl", "enable", "--now", "under way")));
}

/// As people write it, and as the documentation of cloud-init has it.
TEST(Seed, IsReadFromYamlOfOthers) {
  const auto seed = parse_seed({{"meta-data", "instance-id: i-abcdefg\nlocal-hostname: myhost\n"},
                                {"user-data",
                                 "#cloud-config\n"
                                 "package_update: true\n"
                                 "write_files:\n"
                                 "- encoding: b64\n"
                                 "  content: aGVsbG8K\n"
                                 "  owner: root:root\n"
                                 "  path: /etc/motd\n"
                                 "  permissions: '0644'\n"
                                 "- path: /root/plain\n"
                                 "  content: |\n"
                                 "    one\n"
                                 "    two\n"
                                 "runcmd:\n"
                                 "- [ls, -l, /]\n"
                                 "- echo 'a b' > /tmp/x\n"},
                                {"network-config",
                                 "network:\n"
                                 "  version: 2\n"
                                 "  ethernets:\n"
                                 "    id0:\n"
                                 "      match:\n"
                                 "        macaddress: '00:11:22:33:44:AA'\n"
                                 "      set-name: eth1\n"
                                 "      addresses:\n"
                                 "        - 192.168.14.2/24\n"
                                 "      routes:\n"
                                 "        - to: default\n"
                                 "          via: 192.168.14.1\n"
                                 "      nameservers:\n"
                                 "        search: [foo.local]\n"
                                 "        addresses: [8.8.8.8]\n"}});
  EXPECT_EQ(seed.instance, "i-abcdefg");
  EXPECT_EQ(seed.hostname, "myhost");
  ASSERT_EQ(seed.files.size(), 2U);
  EXPECT_EQ(seed.files[0].content, "hello\n");
  EXPECT_EQ(seed.files[1].content, "one\ntwo\n");
  EXPECT_EQ(seed.files[1].mode, 0644U);
  EXPECT_THAT(seed.commands,
              ElementsAre(ElementsAre("ls", "-l", "/"), ElementsAre("/bin/sh", "-c", "echo 'a b' > /tmp/x")));
  ASSERT_EQ(seed.links.size(), 1U);
  EXPECT_EQ(seed.links[0].mac, "00:11:22:33:44:aa");
  EXPECT_EQ(seed.links[0].gateway, net::parse_ip("192.168.14.1"));
}

TEST(Seed, SaysAllThatIsWrongByFileAndLine) {
  try {
    parse_seed(
        {{"meta-data", "- no\n"},
         {"user-data",
          "#cloud-config\n"
          "write_files:\n"
          "- path: relative\n"
          "  permissions: '9'\n"
          "- path: /x\n"
          "  encoding: gz\n"
          "runcmd: 7\n"},
         {"network-config",
          "version: 2\nethernets:\n  a:\n    addresses: [here]\n    routes: [{to: 10.0.0.0/8, via: 1.2.3.4}]\n"}});
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    EXPECT_THAT(
        error.reasons(),
        ElementsAre("meta-data:1: it is no mapping", "user-data:3: a file of write_files has no absolute 'path'",
                    "user-data:3: '9' are no permissions like 0600",
                    "user-data:5: the encoding 'gz' is not known here; b64 is", "user-data:7: 'runcmd' is no list",
                    "network-config:4: a link is not named by match.macaddress",
                    "network-config:4: 'here' is no address like 10.1.0.5/24",
                    "network-config:5: a route to '10.0.0.0/8': only the default route is set here"));
  }
}

TEST(Seed, RefusesScriptsOldNetworksAndWhatIsTooLarge) {
  const auto reason = [](const SeedFiles& files) {
    try {
      parse_seed(files);
    } catch (const Error& error) {
      return error.one_line();
    }
    return std::string("it was read");
  };
  EXPECT_THAT(reason({{"user-data", "#!/bin/sh\n"}}), HasSubstr("does not begin with #cloud-config"));
  EXPECT_THAT(reason({{"network-config", "version: 1\nconfig: []\n"}}), HasSubstr("only 2 is read here"));
  EXPECT_THAT(reason({{"meta-data", "a: " + std::string(2U << 20, 'x')}}), HasSubstr("too long"));
  EXPECT_THAT(reason({{"meta-data", "a: [\n"}}), HasSubstr("meta-data"));
}

}  // namespace
}  // namespace underway::guest
