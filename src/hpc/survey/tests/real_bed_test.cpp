// The known-answer bed with the daemons of Debian, each in its network namespace: what they really say to each other is
// captured live and by tcpdump, and both yield the paper's Table 1 as the wire shows it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/json.hpp"
#include "net/netlink.hpp"
#include "net/nftables.hpp"
#include "os/process.hpp"
#include "survey/live.hpp"
#include "survey/reading.hpp"
#include "tests/bed.hpp"

namespace underway::survey::testing {
namespace {

using namespace std::chrono_literals;

std::string find_program(const std::string& name) {
  for (const auto* directory : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"}) {
    if (os::exists(directory + name)) return directory + name;
  }
  return {};
}

/// mgmt 10.66.0.1 routes for node 10.66.0.11 to outside 203.0.113.2; `boot` has no address yet. All on one bridge but
/// the outside.
class Lab {
 public:
  Lab() {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    ::chmod(directory_.c_str(), 0755);  // munge's socket is for everybody
    net::Netlink bridge(net_of(switch_));
    bridge.add_bridge("br0");
    const auto attach = [&](const os::Namespace& host, const char* port, const char* address) {
      const auto space = net_of(host);
      bridge.add_veth({.name = port, .peer = &space, .peer_name = "eth0", .master = "br0", .peer_mac = {}});
      net::Netlink inside(space);
      inside.set_up("lo");
      inside.set_up("eth0");
      if (address != nullptr) inside.add_address("eth0", *net::parse_cidr(address));
    };
    attach(mgmt, "mgmt", "10.66.0.1/24");
    attach(node, "node", "10.66.0.11/24");
    attach(boot, "boot", nullptr);
    const auto outside_net = net_of(outside);
    net::Netlink gateway(net_of(mgmt));
    gateway.add_veth({.name = "eth1", .peer = &outside_net, .peer_name = "eth0", .master = {}, .peer_mac = {}});
    gateway.add_address("eth1", *net::parse_cidr("203.0.113.1/24"));
    net::Netlink away(outside_net);
    away.set_up("eth0");
    away.add_address("eth0", *net::parse_cidr("203.0.113.2/24"));
    net::Netlink inside(net_of(node));
    inside.set_route({.to = {}, .via = net::parse_ip("10.66.0.1"), .link = "eth0"});
    inside.set_route({.to = net::parse_cidr("239.2.11.71/32"), .via = {}, .link = "eth0"});
    net_of(mgmt).run(
        [] { os::write_all(os::open_file("/proc/sys/net/ipv4/ip_forward", O_WRONLY), "1", "ip_forward"); });
    net::set_masquerade(net_of(mgmt), "nat", {*net::parse_cidr("10.66.0.0/24")});
  }
  ~Lab() {
    daemons_.clear();
    std::filesystem::remove_all(directory_);
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  static net::Namespace net_of(const os::Namespace& space) {
    return net::Namespace::open(fmt::format("/proc/self/fd/{}", space.fd().get()));
  }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    os::make_directories(std::filesystem::path(path(name)).parent_path());
    os::write_file(path(name), text, mode, {}, os::Durability::cached);
    return path(name);
  }
  void daemon(const os::Namespace& where, std::vector<std::string> argv) {
    daemons_.push_back(os::spawn(spec(where, std::move(argv))));
  }
  os::Output run(const os::Namespace& where, std::vector<std::string> argv) {
    return os::run_program(spec(where, std::move(argv)), 20s);
  }
  /// Until it succeeds: the daemon behind it may still be starting.
  bool try_until(const os::Namespace& where, const std::vector<std::string>& argv, const std::string& expect = {}) {
    for (const auto end = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < end;) {
      const auto output = run(where, argv);
      if (output.status.success() && output.out.find(expect) != std::string::npos) return true;
      ::usleep(50'000);
    }
    return false;
  }

  os::Namespace mgmt = os::Namespace::create(CLONE_NEWNET), node = os::Namespace::create(CLONE_NEWNET),
                boot = os::Namespace::create(CLONE_NEWNET), outside = os::Namespace::create(CLONE_NEWNET);

 private:
  os::SpawnSpec spec(const os::Namespace& where, std::vector<std::string> argv) const {
    os::SpawnSpec spec;
    spec.argv = std::move(argv);
    spec.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF=" + path("slurm/slurm.conf")};
    spec.cwd = directory_;
    spec.join = {&where};
    return spec;
  }

  os::Namespace switch_ = os::Namespace::create(CLONE_NEWNET);
  std::string directory_ = "/tmp/survey_bed.XXXXXX";
  std::vector<os::Child> daemons_;
};

void start_http(Lab& lab) {
  lab.file("www/overlay", "files of c1\n");
  lab.daemon(lab.mgmt, {"busybox", "httpd", "-f", "-p", "10.66.0.1:9873", "-h", lab.path("www")});
  lab.daemon(lab.outside, {"busybox", "httpd", "-f", "-p", "203.0.113.2:80", "-h", lab.path("www")});
}

void start_rsyslog(Lab& lab) {
  os::make_directories(lab.path("syslog/server"));
  os::make_directories(lab.path("syslog/client"));
  const auto server =
      lab.file("syslog/server.conf", fmt::format("global(workDirectory=\"{0}/server\")\n"
                                                 "module(load=\"imtcp\")\n"
                                                 "input(type=\"imtcp\" port=\"514\" address=\"10.66.0.1\")\n"
                                                 "action(type=\"omfile\" file=\"{0}/all.log\")\n",
                                                 lab.path("syslog")));
  const auto client = lab.file(
      "syslog/client.conf", fmt::format("global(workDirectory=\"{0}/client\")\n"
                                        "module(load=\"imuxsock\" SysSock.Use=\"off\")\n"
                                        "input(type=\"imuxsock\" socket=\"{0}/log\")\n"
                                        "action(type=\"omfwd\" target=\"10.66.0.1\" port=\"514\" protocol=\"tcp\")\n",
                                        lab.path("syslog")));
  lab.daemon(lab.mgmt, {"rsyslogd", "-n", "-f", server, "-i", lab.path("syslog/server.pid")});
  lab.daemon(lab.node, {"rsyslogd", "-n", "-f", client, "-i", lab.path("syslog/client.pid")});
}

void start_nfs(Lab& lab) {
  lab.file("nfs/export/file", "data\n");
  os::make_directories(lab.path("nfs/recovery"));
  const auto conf = lab.file(
      "nfs/ganesha.conf",
      fmt::format(
          "NFS_CORE_PARAM {{ Protocols = 4; NFS_Port = 2049; Bind_addr = 10.66.0.1; Enable_NLM = false; "
          "Enable_RQUOTA = false; Enable_UDP = false; }}\n"
          "NFSV4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = {0}/recovery; }}\n"
          "EXPORT {{ Export_Id = 1; Path = {0}/export; Pseudo = /export; Access_Type = RW; Squash = No_Root_Squash; "
          "SecType = sys; Protocols = 4; Transports = TCP; FSAL {{ Name = VFS; }} }}\n",
          lab.path("nfs")));
  lab.daemon(lab.mgmt, {"ganesha.nfsd", "-F", "-f", conf, "-L", lab.path("nfs/log"), "-p", lab.path("nfs/pid")});
}

void start_gmond(Lab& lab) {
  const auto conf =
      lab.file("gmond.conf",
               "globals { daemonize = no setuid = no deaf = yes send_metadata_interval = 5 }\n"
               "cluster { name = \"bed\" }\n"
               "udp_send_channel { mcast_join = 239.2.11.71 port = 8649 ttl = 1 }\n"
               "modules { module { name = \"core_metrics\" } }\n"
               "collection_group { collect_every = 2 time_threshold = 2 metric { name = \"heartbeat\" } }\n");
  lab.daemon(lab.node, {"gmond", "-f", "-c", conf});
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

/// Until `wanted` is true of what the file has by now; at most 20 s.
template <class Wanted>
bool wait_for(const std::string& file, const Wanted& wanted) {
  for (const auto end = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < end;) {
    if (wanted(read_traffic({file}, {}))) return true;
    ::usleep(100'000);
  }
  return false;
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
  const auto pipe = os::open_pipe();
  LiveOptions options{.capture = {.interface = "eth0", .macs = {}, .filter = {}},
                      .source = "mgmt/eth0",
                      .journal = lab.path("journal"),
                      .surveyed = {},
                      .interval = 1s,
                      .stop_fd = pipe.read.get()};
  LiveProgress end;
  const auto space = Lab::net_of(lab.mgmt);
  std::thread capture([&] { end = capture_live(space, options, [](const LiveProgress&) {}); });
  for (int i = 0; i < 200 && !os::exists(options.journal); ++i) ::usleep(10'000);
  lab.daemon(lab.mgmt, {"tcpdump", "-Z", "root", "-U", "-i", "eth0", "-w", lab.path("mgmt.pcap")});
  EXPECT_TRUE(lab.try_until(lab.mgmt, {"test", "-s", lab.path("mgmt.pcap")}));

  start_http(lab);
  start_rsyslog(lab);
  start_nfs(lab);
  start_gmond(lab);
  start_slurm(lab);
  start_rest(lab);
  act(lab);
  EXPECT_TRUE(wait_for(options.journal, has_ping));
  // tcpdump writes what it got a second ago; gmond speaks every two.
  const std::int64_t all_done = unix_nanos(SystemClock().now());
  EXPECT_TRUE(wait_for(lab.path("mgmt.pcap"), [&](const Traffic& traffic) { return traffic.last >= all_done; }));

  os::write_all(pipe.write, "x", "pipe");
  capture.join();
  EXPECT_EQ(end.lost, 0U);
  {
    SCOPED_TRACE("live");
    const auto live = read_traffic({options.journal}, {});
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
}  // namespace underway::survey::testing
