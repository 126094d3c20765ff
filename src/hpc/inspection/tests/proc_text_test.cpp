#include "inspection/detail/proc_text.hpp"
#include "inspection/detail/ganesha_exports.hpp"

#include "inspection/detail/configured_needs.hpp"
#include "inspection/detail/site_files.hpp"
#include "inspection/detail/socket_table.hpp"
#include "inspection/detail/unit_files.hpp"
#include "net/namespace.hpp"

namespace underway::inspection::detail {
namespace {

using ::testing::ElementsAre;

TEST(ProcText, SocketsAreReadWithTheirAddresses) {
  const auto sockets = parse_inet_sockets(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:1AA3 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 623 1 0000 100 0\n"
      "   1: 00000000000000000000000000000000:1AA1 00000000000000000000000000000000:0000 0A 0:0 0:0 0 64030 0 700 1 0\n"
      "   2: 0000000000000000FFFF00000A004D0A:0050 0000000000000000FFFF00000B004D0A:C350 01 0:0 0:0 0 33 0 701 1 0\n"
      "nonsense\n   3: 0100007F 00000000:0000 0A 0:0 0:0 0 0 0 1 1\n   4: 0100007F:1AA3 0:0 0A");
  ASSERT_EQ(sockets.size(), 3U);
  EXPECT_EQ(sockets[0].local, "127.0.0.1");
  EXPECT_EQ(sockets[0].local_port, 6819);
  EXPECT_EQ(sockets[0].state, 10);
  EXPECT_EQ(sockets[0].inode, 623);
  EXPECT_EQ(sockets[1].local, "::");
  EXPECT_EQ(sockets[2].local, "10.77.0.10");
  EXPECT_EQ(sockets[2].remote, "10.77.0.11");
  EXPECT_EQ(sockets[2].remote_port, 50000);
}

TEST(ProcText, UnixSocketsThatWaitAreToldFromOthers) {
  const auto sockets = parse_unix_sockets(
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000059081942: 00000002 00000000 00010000 0001 01 11 /run/munge/munge.socket.2\n"
      "00000000cf397def: 00000003 00000000 00000000 0001 03 12 /run/munge/munge.socket.2\n"
      "00000000cf397df0: 00000003 00000000 00000000 0001 03 13\n"
      "00000000cf397df1: 00000002 00000000 00000000 0002 01 14 /dev/log\n"
      "00000000cf397df2: 00000002 00000000 00010000 0001 01 15 @abstract name\n");
  ASSERT_EQ(sockets.size(), 5U);
  EXPECT_TRUE(sockets[0].listening);
  EXPECT_FALSE(sockets[1].listening);
  EXPECT_EQ(sockets[2].path, "");
  EXPECT_TRUE(sockets[3].listening);
  EXPECT_EQ(sockets[4].path, "@abstract name");
}

TEST(ProcText, TheUnitIsTheInnermostServiceOfTheCgroup) {
  EXPECT_EQ(unit_of_cgroup("0::/system.slice/slurmctld.service\n"), "slurmctld.service");
  EXPECT_EQ(unit_of_cgroup("9:name=systemd:/system.slice/munge.service/x\n4:memory:/other.service\n"), "munge.service");
  EXPECT_EQ(unit_of_cgroup("0::/user.slice/user-0.slice/session-1.scope\n"), "");
  EXPECT_EQ(unit_of_cgroup("0::/user.slice/user@0.service/app.slice\nbroken"), "");
}

TEST(ProcText, OpenFilesCountWhenTheyAreWritten) {
  EXPECT_TRUE(opened_for_writing("pos:\t0\nflags:\t0102001\nmnt_id:\t9\n"));
  EXPECT_FALSE(opened_for_writing("pos:\t0\nflags:\t0100000\n"));
  EXPECT_FALSE(opened_for_writing("flags:\t?\n"));
  EXPECT_EQ(socket_inode("socket:[4711]"), 4711);
  EXPECT_EQ(socket_inode("pipe:[4711]"), std::nullopt);
  EXPECT_THAT(
      libraries_of_maps("7f-8f r-xp 00 08:01 12 /usr/lib/x86_64-linux-gnu/libmunge.so.2.0.0\n7f-8f rw-p 0 0 0\n"),
      ElementsAre("libmunge.so.2.0.0"));
}

TEST(SocketTable, FindsBothEndsOfAConnectionInsideTheMachine) {
  const auto here = net::Namespace::current();
  SocketTable table(here, 1);
  InetSocket listener{"0.0.0.0", 6819, "0.0.0.0", 0, 10, 1};
  InetSocket client{"127.0.0.1", 40000, "127.0.0.1", 6819, 1, 2};
  InetSocket server{"127.0.0.1", 6819, "127.0.0.1", 40000, 1, 3};
  InetSocket outside{"10.0.0.1", 40001, "10.0.0.9", 6818, 1, 4};
  table.add({listener, client, server, outside}, {InetSocket{"0.0.0.0", 514, "0.0.0.0", 0, 7, 5}});
  table.add({UnixSocket{10, true, "/run/m"}, UnixSocket{11, false, "/run/m"}, UnixSocket{12, false, ""}},
            {{11, 12}, {12, 11}});
  EXPECT_THAT(table.connections(),
              ElementsAre(LocalConnection{2, 3, "tcp 127.0.0.1:6819"}, LocalConnection{12, 11, "/run/m"}));
  EXPECT_TRUE(table.connected({2}));
  EXPECT_FALSE(table.connected({4}));
  ASSERT_EQ(table.listeners({1, 5, 10}).size(), 3U);
  EXPECT_EQ(table.listeners({5})[0].port, 514);
}

TEST(UnitFiles, TellWhatIsStartedAndWhatItNeeds) {
  Unit unit{.name = "slurmdbd.service"};
  read_unit(
      "[Unit]\n# After=x.service\nAfter=network-online.target munge.service \\\n  "
      "mariadb.service\nRequires=munge.service\n"
      "[Service]\nUser=slurm\nExecStart=!/usr/sbin/slurmdbd -D -s \"$A "
      "B\"\nStateDirectory=slurm\nEnvironmentFile=-/etc/default/x\n",
      unit);
  EXPECT_THAT(unit.command, ElementsAre("/usr/sbin/slurmdbd", "-D", "-s", "$A B"));
  EXPECT_EQ(unit.user, "slurm");
  EXPECT_THAT(unit.needs, ElementsAre("After=munge.service", "After=mariadb.service", "Requires=munge.service"));
  EXPECT_THAT(unit.state_directories, ElementsAre("/var/lib/slurm"));
  EXPECT_THAT(unit.environment_files, ElementsAre("/etc/default/x"));
}

TEST(UnitFiles, ShellsAreLookedThrough) {
  Unit unit{.name = "mariadb.service"};
  unit.command = {"/bin/sh", "-c", "VAR=`/usr/bin/galera_recovery`; [ $? -eq 0 ] && exec /usr/sbin/mariadbd $OPTS"};
  EXPECT_EQ(started_by(unit), "/usr/sbin/mariadbd");
  unit.command = {"/bin/bash", "-c", "${NUMACTL} /usr/bin/ganesha.nfsd -C"};
  EXPECT_EQ(started_by(unit), "/usr/bin/ganesha.nfsd");
  unit.command = {"/bin/true"};
  EXPECT_EQ(started_by(unit), "");
  unit.command = {"/usr/sbin/slurmctld", "-D"};
  EXPECT_EQ(started_by(unit), "/usr/sbin/slurmctld");
}

TEST(SiteFiles, CrontabsAreRead) {
  const auto jobs = parse_crontab(
      "# m h\nSHELL=/bin/sh\n*/5 * * * *\troot  /usr/bin/wwgetfiles --token=abc\n@daily bob run it\n1 2 3\n",
      "/etc/cron.d/ww", true);
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].source, "/etc/cron.d/ww:3");
  EXPECT_EQ(jobs[0].when, "*/5 * * * *");
  EXPECT_EQ(jobs[0].command, "/usr/bin/wwgetfiles --token=…");
  EXPECT_EQ(jobs[1].user, "bob");
}

TEST(SiteFiles, ExportsAreReadAndReadOnlyUnlessTheySayOtherwise) {
  const auto exports = parse_exports(
      "# x\n/opt/ohpc/pub *(ro,no_subtree_check) \\\n  10.0.0.0/8\n\"/srv/a b\" c1(rw,sync)\nrelative c2\n/home "
      "*(sync,rw)",
      "/etc/exports");
  ASSERT_EQ(exports.size(), 3U);
  EXPECT_EQ(exports[0].path, "/opt/ohpc/pub");
  EXPECT_TRUE(exports[0].read_only);
  EXPECT_EQ(exports[1].path, "/srv/a b");
  EXPECT_FALSE(exports[1].read_only);
  EXPECT_FALSE(exports[2].read_only);
}

TEST(SiteFiles, ExportsOfGaneshaAreReadWithTheirClients) {
  const auto read = parse_ganesha(R"(# Path = /no;
%include "exports.d/home.conf"
NFS_CORE_PARAM { Protocols = 4; CLIENT { Clients = x; } }
Export {
  Export_Id = 1; Path = "/srv/a b"; Pseudo = /a; # comment }
  Access_Type = RO;
  FSAL { Name = VFS; Path = /not/this; }
  client { Clients = 10.0.0.0/8, c1; Access_Type = RW; }
}
EXPORT { Path = /opt; Access_Type = RO }
EXPORT { Path = relative; }
EXPORT { Path = /closed;
)",
                                  "/etc/ganesha/ganesha.conf");
  ASSERT_EQ(read.exports.size(), 2U);
  EXPECT_EQ(read.exports[0].path, "/srv/a b");
  EXPECT_EQ(read.exports[0].clients, "10.0.0.0/8, c1(RW) *(RO)");
  EXPECT_FALSE(read.exports[0].read_only);
  EXPECT_EQ(read.exports[1].path, "/opt");
  EXPECT_EQ(read.exports[1].clients, "*(RO)");
  EXPECT_TRUE(read.exports[1].read_only);
  EXPECT_THAT(read.includes, ElementsAre("exports.d/home.conf"));
}

TEST(SiteFiles, GaneshaMayBeAnything) {
  EXPECT_TRUE(parse_ganesha("}}}}=;;{{{\"", "x").exports.empty());
  EXPECT_TRUE(parse_ganesha(std::string(100'000, '{') + std::string(100'000, '}'), "x").exports.empty());
}

TEST(SiteFiles, RulesThatTranslateAddressesAreFound) {
  EXPECT_THAT(nat_lines("*nat\n# -j MASQUERADE\n-A POSTROUTING -o eth1 -j MASQUERADE\n-A INPUT -j ACCEPT\n  oifname "
                        "\"pub\" snat to 1.2.3.4\n"),
              ElementsAre("-A POSTROUTING -o eth1 -j MASQUERADE", "oifname \"pub\" snat to 1.2.3.4"));
  EXPECT_TRUE(enables_forwarding("net.ipv4.ip_forward = 1\n"));
  EXPECT_FALSE(enables_forwarding("net/ipv4/ip_forward=1\nnet.ipv4.ip_forward=0"));
}

TEST(ConfiguredNeeds, ReadSlurmsSettings) {
  const char* text = "# AuthType=auth/none\nauthtype = auth/munge # here\nStorageHost=localhost StoragePort=3306\n";
  EXPECT_EQ(slurm_setting(text, "AuthType"), "auth/munge");
  EXPECT_EQ(slurm_setting(text, "StorageHost"), "localhost");
  EXPECT_EQ(slurm_setting(text, "Missing"), "");
}

}  // namespace
}  // namespace underway::inspection::detail
