#include "host/etc_files.hpp"

#include <gtest/gtest.h>

namespace underway::host {
namespace {

net::Cidr network_of(std::string_view text) { return net::parse_cidr(text).value(); }

TEST(HostsFile, GivesThePlainNameToTheFirstNetworkAHostIsOn) {
  const HostAddresses hosts = {
      {"mgmt", {{"cluster", network_of("10.77.0.10/24")}, {"admin", network_of("10.78.0.10/24")}}},
      {"c1", {{"admin", network_of("10.78.0.12/24")}}}};
  EXPECT_EQ(render_hosts_file({"cluster", "admin"}, hosts),
            "127.0.0.1 localhost\n"
            "::1 localhost ip6-localhost ip6-loopback\n"
            "10.78.0.12 c1\n"
            "10.77.0.10 mgmt\n"
            "10.78.0.10 mgmt-admin\n");
}

TEST(Nsswitch, ChangesOnlyTheLineOfHosts) {
  EXPECT_EQ(rewrite_nsswitch("passwd: files systemd\n hosts: files mymachines resolve dns\n# end\n"),
            "passwd: files systemd\nhosts:          files dns\n# end\n");
  EXPECT_EQ(rewrite_nsswitch(""), "hosts:          files dns\n");
  EXPECT_EQ(rewrite_nsswitch("hosts: a\nhosts: b"), "hosts:          files dns\n");
}

TEST(Tmpfiles, ReadsTheDirectoriesBelowRun) {
  const auto found = parse_tmpfiles({{"a.conf",
                                      "# a comment\n"
                                      "d /run/mysqld 0755 mysql root -\n"
                                      "D!\t/run/lock/sub/ :1777 - :adm 10d\n"
                                      "d /var/run/munge\n"}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].path, "/run/lock/sub");
  EXPECT_EQ(found[0].owner, "root");
  EXPECT_EQ(found[0].group, "adm");
  EXPECT_EQ(found[0].mode, "1777");
  EXPECT_EQ(found[1].path, "/run/munge");
  EXPECT_EQ(found[1].mode, "0755");
  EXPECT_EQ(found[2].owner, "mysql");
}

TEST(Tmpfiles, LeavesOutEverythingElse) {
  const auto found =
      parse_tmpfiles({{"a.conf",
                       "d /var/lib/x 0755 root root\nL /run/link - - - - /x\nf /run/file 0644\nd\nd /run\n"
                       "d /run/user/%U 0755\nd \"/run/a b\" 0755\nd /run/../etc 0755\nd /run/m rwx\nq /run/q\n"}});
  EXPECT_TRUE(found.empty());
}

TEST(Tmpfiles, TheFirstLineForAPathWins) {
  const auto found = parse_tmpfiles({{"10.conf", "d /run/x 0700"}, {"20.conf", "d /run/x 0755"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].mode, "0700");
}

}  // namespace
}  // namespace underway::host
