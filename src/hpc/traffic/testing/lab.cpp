#include "traffic/testing/lab.hpp"

#include <fcntl.h>

#include "net/nftables.hpp"

namespace underway::traffic::testing {

std::string find_program(const std::string& name) {
  for (const auto* directory : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"}) {
    if (os::exists(directory + name)) return directory + name;
  }
  return {};
}

Lab::Lab() {
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
  net_of(mgmt).run([] { os::write_all(os::open_file("/proc/sys/net/ipv4/ip_forward", O_WRONLY), "1", "ip_forward"); });
  net::set_masquerade(net_of(mgmt), "nat", {*net::parse_cidr("10.66.0.0/24")});
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

std::size_t start_nfs(Lab& lab, const std::string& access) {
  lab.file("nfs/export/file", "data\n");
  os::make_directories(lab.path("nfs/recovery"));
  const auto conf = lab.file(
      "nfs/ganesha.conf",
      fmt::format(
          "NFS_CORE_PARAM {{ Protocols = 4; NFS_Port = 2049; Bind_addr = 10.66.0.1; Enable_NLM = false; "
          "Enable_RQUOTA = false; Enable_UDP = false; }}\n"
          "NFSV4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = {0}/recovery; }}\n"
          "EXPORT {{ Export_Id = 1; Path = {0}/export; Pseudo = /export; Access_Type = {1}; Squash = No_Root_Squash; "
          "SecType = sys; Protocols = 4; Transports = TCP; FSAL {{ Name = VFS; }} }}\n",
          lab.path("nfs"), access));
  return lab.daemon(lab.mgmt, {"ganesha.nfsd", "-F", "-f", conf, "-L", lab.path("nfs/log"), "-p", lab.path("nfs/pid")});
}

std::size_t start_gmond(Lab& lab) {
  const auto conf =
      lab.file("gmond.conf",
               "globals { daemonize = no setuid = no deaf = yes send_metadata_interval = 5 }\n"
               "cluster { name = \"bed\" }\n"
               "udp_send_channel { mcast_join = 239.2.11.71 port = 8649 ttl = 1 }\n"
               "modules { module { name = \"core_metrics\" } }\n"
               "collection_group { collect_every = 2 time_threshold = 2 metric { name = \"heartbeat\" } }\n");
  return lab.daemon(lab.node, {"gmond", "-f", "-c", conf});
}

LiveCapture::LiveCapture(const Lab& lab, const std::string& name)
    : options_{.capture = {.interface = "eth0", .macs = {}, .filter = {}},
               .source = "mgmt/eth0",
               .journal = lab.path(name),
               .surveyed = {},
               .interval = 1s,
               .stop_fd = pipe_.read.get(),
               .limits = {},
               .clock = &clock_} {
  thread_ = std::thread([this, space = std::make_shared<net::Namespace>(Lab::net_of(lab.mgmt))] {
    end_ = capture_live(*space, options_, [](const LiveProgress&) {});
  });
  for (int i = 0; i < 200 && !os::exists(options_.journal); ++i) ::usleep(10'000);
}

const LiveProgress& LiveCapture::stop() {
  if (thread_.joinable()) {
    os::write_all(pipe_.write, "x", "pipe");
    thread_.join();
  }
  return end_;
}

}  // namespace underway::traffic::testing
