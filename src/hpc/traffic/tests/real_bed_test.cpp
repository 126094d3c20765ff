// The known-answer bed with the daemons of Debian, each in its network namespace: what they really say to each other is
// captured live and by tcpdump, and both yield the paper's Table 1 as the wire shows it.
#include "base/json/json.hpp"
#include "traffic/testing/bed.hpp"
#include "traffic/testing/lab.hpp"

namespace underway::traffic::testing {
namespace {

void start_http(Lab& lab) {
  lab.file("www/overlay", "files of c1\n");
  lab.daemon(lab.mgmt, {"busybox", "httpd", "-f", "-p", "10.66.0.1:9873", "-h", lab.path("www")});
  lab.daemon(lab.outside, {"busybox", "httpd", "-f", "-p", "203.0.113.2:80", "-h", lab.path("www")});
}

void start_slurm(Lab& lab) {
  for (const auto* name : {"munge", "slurm/state", "slurm/spool"}) os::make_directories(lab.path(name), 0755);
  lab.file("munge/key", std::string(128, 'k') + std::to_string(::getpid()), 0400);
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  lab.file("slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\n");
  lab.file(
      "slurm/slurm.conf",
      fmt::format("ClusterName=bed\nSlurmctldHost={1}(10.66.0.1)\nSlurmUser=root\nSlurmdUser=root\n"
                  "AuthType=auth/munge\nAuthInfo=socket={0}/munge/socket\nStateSaveLocation={0}/slurm/state\n"
                  "SlurmdSpoolDir={0}/slurm/spool\nSlurmctldPidFile={0}/slurm/ctld.pid\nSlurmdPidFile={0}/slurm/d.pid\n"
                  "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSlurmdTimeout=6\nReturnToService=2\n"
                  "MpiDefault=none\nJobAcctGatherType=jobacct_gather/none\nSlurmdParameters=config_overrides\n"
                  "NodeName=c1 NodeAddr=10.66.0.11 CPUs=1\nPartitionName=all Nodes=c1 Default=YES\n",
                  lab.path(""), std::string(host.data()).substr(0, std::string(host.data()).find('.'))));
  lab.daemon(lab.mgmt,
             {"munged", "-F", "--force", "-S", lab.path("munge/socket"), "--key-file=" + lab.path("munge/key"),
              "--pid-file=" + lab.path("munge/pid"), "--seed-file=" + lab.path("munge/seed")});
  lab.daemon(lab.mgmt, {"slurmctld", "-D", "-f", lab.path("slurm/slurm.conf")});
  lab.daemon(lab.node, {"slurmd", "-D", "-N", "c1", "-f", lab.path("slurm/slurm.conf")});
}

void start_rest(Lab& lab) {
  lab.daemon(lab.mgmt, {"smtp-sink", "-u", "nobody", "10.66.0.1:25", "10"});
  const auto chrony = lab.file("chrony.conf", fmt::format("local stratum 5\nallow\nbindaddress 10.66.0.1\ncmdport 0\n"
                                                          "bindcmdaddress /\npidfile {}\n",
                                                          lab.path("chrony.pid")));
  lab.daemon(lab.mgmt, {"chronyd", "-x", "-d", "-f", chrony});
  lab.file("tftp/pxelinux.0", std::string(5000, 'b'));
  lab.daemon(lab.mgmt,
             {"dnsmasq", "-k", "-p", "0", "-C", "/dev/null", "--dhcp-range=10.66.0.100,10.66.0.120,1h",
              "--interface=eth0", "--bind-interfaces", "--dhcp-leasefile=" + lab.path("leases"), "--no-ping",
              "--enable-tftp", "--tftp-root=" + lab.path("tftp"), "--user=root", "-x", lab.path("dnsmasq.pid")});
}

/// What nodes do in a month, in seconds.
void act(Lab& lab) {
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(lab.try_until(lab.node, {"busybox", "wget", "-qO-", "http://10.66.0.1:9873/overlay"}, "files of c1"));
  EXPECT_TRUE(lab.try_until(lab.node, {"busybox", "wget", "-qO-", "http://203.0.113.2/overlay"}, "files of c1"));
  EXPECT_TRUE(lab.try_until(lab.node, {"logger", "-u", lab.path("syslog/log"), "hello"}));
  EXPECT_TRUE(lab.try_until(lab.node, {"grep", "-q", "hello", lab.path("syslog/all.log")}));
  EXPECT_TRUE(lab.try_until(lab.node, {"nfs-cat", "nfs://10.66.0.1/export/file?version=4"}, "data"));
  EXPECT_TRUE(lab.try_until(lab.node, {"sh", "-c",
                                       "printf 'Subject: ended\\n\\njob 7\\n' | msmtp -C /dev/null --host=10.66.0.1 "
                                       "--port=25 --auth=off --tls=off -f slurm@c1 user@mgmt"}));
  EXPECT_TRUE(
      lab.try_until(lab.node, {"chronyd", "-Q", "-t", "5", "-f", "/dev/null", "server 10.66.0.1 iburst maxsamples 1"}));
  EXPECT_TRUE(lab.try_until(lab.boot, {"busybox", "udhcpc", "-i", "eth0", "-n", "-q", "-f", "-s", "/bin/true"}));
  net::Netlink(Lab::net_of(lab.boot)).add_address("eth0", *net::parse_cidr("10.66.0.119/24"));
  EXPECT_TRUE(
      lab.try_until(lab.boot, {"busybox", "tftp", "-g", "-r", "pxelinux.0", "-l", lab.path("got"), "10.66.0.1"}));
  EXPECT_TRUE(lab.try_until(lab.node, {"sinfo", "-h", "-o", "%t"}, "idle"));
}

/// slurmctld pings on its own time.
bool has_ping(const Traffic& traffic) {
  return std::any_of(traffic.flows.begin(), traffic.flows.end(),
                     [](const ServiceFlow& flow) { return flow.port == 6818 && flow.packets_to_clients > 0; });
}

void expect_table(const Traffic& traffic) {
  struct Row {
    Part part;
    Protocol protocol;
    std::int64_t port;
    const char* application;
    const char* server;
  };
  for (const auto& row : std::vector<Row>{{Part::serves, Protocol::tcp, 9873, "http", "10.66.0.1"},
                                          {Part::serves, Protocol::tcp, 514, "syslog", "10.66.0.1"},
                                          {Part::serves, Protocol::tcp, 2049, "nfs", "10.66.0.1"},
                                          {Part::routes, Protocol::tcp, 80, "http", ""},
                                          {Part::hears, Protocol::udp, 8649, "ganglia", "239.2.11.71"},
                                          {Part::serves, Protocol::tcp, 6817, "slurm", "10.66.0.1"},
                                          {Part::opens, Protocol::tcp, 6818, "slurm", "10.66.0.11"},
                                          {Part::serves, Protocol::tcp, 25, "smtp", "10.66.0.1"},
                                          {Part::serves, Protocol::udp, 123, "ntp", "10.66.0.1"},
                                          {Part::serves, Protocol::udp, 67, "dhcp", "10.66.0.1"},
                                          {Part::serves, Protocol::udp, 69, "tftp", "10.66.0.1"}}) {
    const auto flow = flow_at(traffic, row.part, row.protocol, row.port);
    SCOPED_TRACE(door(flow));
    EXPECT_EQ(flow.application, row.application);
    EXPECT_EQ(flow.server, row.server);
    EXPECT_EQ(flow.client_count, 1);
    EXPECT_EQ(flow.opening, Opening::seen);
    if (row.part == Part::serves) EXPECT_GT(flow.packets_to_clients, 0);
  }
  EXPECT_EQ(flow_at(traffic, Part::routes, Protocol::tcp, 80).destinations, (std::vector<std::string>{"203.0.113.2"}));
  EXPECT_GE(flow_at(traffic, Part::serves, Protocol::tcp, 9873).opens, 3);
  EXPECT_EQ(flow_at(traffic, Part::serves, Protocol::tcp, 514).open_now, 1);
  const auto tftp = flow_at(traffic, Part::serves, Protocol::udp, 69);
  EXPECT_GE(tftp.bytes_to_clients, 5000);
  EXPECT_TRUE(traffic.malformed.empty()) << json::encode(traffic);
}

TEST(RealBed, WhatDebiansDaemonsSayIsNamedLiveAndFromAFile) {
  for (const auto* program : {"busybox", "rsyslogd", "logger", "ganesha.nfsd", "nfs-cat", "gmond", "munged",
                              "slurmctld", "slurmd", "sinfo", "smtp-sink", "msmtp", "chronyd", "dnsmasq", "tcpdump"}) {
    if (find_program(program).empty()) GTEST_SKIP() << program << " is not installed";
  }
  Lab lab;
  LiveCapture capture(lab, "journal");
  lab.daemon(lab.mgmt, {"tcpdump", "-Z", "root", "-U", "-i", "eth0", "-w", lab.path("mgmt.pcap")});
  EXPECT_TRUE(lab.try_until(lab.mgmt, {"test", "-s", lab.path("mgmt.pcap")}));

  start_http(lab);
  start_rsyslog(lab);
  start_nfs(lab);
  start_gmond(lab);
  start_slurm(lab);
  start_rest(lab);
  act(lab);
  EXPECT_TRUE(wait_for(capture.journal(), has_ping));
  // tcpdump writes what it got a second ago; gmond speaks every two.
  const std::int64_t all_done = unix_nanos(SystemClock().now());
  EXPECT_TRUE(wait_for(lab.path("mgmt.pcap"), [&](const Traffic& traffic) { return traffic.last >= all_done; }));

  const auto end = capture.stop();
  EXPECT_EQ(end.lost, 0U);
  {
    SCOPED_TRACE("live");
    const auto live = read_traffic({capture.journal()}, {});
    EXPECT_EQ(live.packets, static_cast<std::int64_t>(end.packets));
    EXPECT_TRUE(live.problems.empty());
    expect_table(live);
  }
  {
    SCOPED_TRACE("from tcpdump's file, the server found");
    const auto file = read_traffic({lab.path("mgmt.pcap")}, {});
    EXPECT_TRUE(file.inferred);
    expect_table(file);
  }
}

}  // namespace
}  // namespace underway::traffic::testing
