#include "adoption/testing/paper_site.hpp"

namespace underway::adoption::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kDay = 86'400'000'000'000;
constexpr std::int64_t kStart = 1'561'939'200'000'000'000;  // 2019-07-01

traffic::Rhythm every(Duration period, Duration jitter) {
  return {1000, period - jitter, period, period + jitter, jitter};
}

traffic::ServiceFlow with(traffic::ServiceFlow flow, std::string application, std::vector<std::string> hints,
                          traffic::Rhythm rhythm) {
  flow.application = std::move(application);
  flow.hints = std::move(hints);
  flow.opened = rhythm;
  return flow;
}

}  // namespace

traffic::ServiceFlow flow(traffic::Protocol protocol, std::int64_t port, traffic::Part part, traffic::Pattern pattern,
                          std::int64_t nodes) {
  traffic::ServiceFlow out;
  out.protocol = protocol;
  out.port = port;
  out.part = part;
  out.pattern = pattern;
  out.server = part == traffic::Part::routes ? "" : part == traffic::Part::opens ? "10.1.1.1" : "10.1.0.1";
  for (std::int64_t i = 1; i <= nodes; ++i)
    out.clients.push_back(
        part == traffic::Part::opens ? "10.1.0.1" : fmt::format("10.1.{}.{}", 1 + (i - 1) / 250, 1 + (i - 1) % 250));
  if (part == traffic::Part::opens) out.clients.resize(1);
  out.client_count = static_cast<std::int64_t>(out.clients.size());
  out.opens = 100 * nodes;
  out.packets_to_server = 400 * nodes;
  out.packets_to_clients = pattern == traffic::Pattern::one_way ? 0 : 400 * nodes;
  out.bytes_to_server = out.packets_to_server * 200;
  out.bytes_to_clients = out.packets_to_clients * 300;
  if (pattern == traffic::Pattern::one_way) out.unanswered = out.opens;
  out.first = kStart;
  out.last = kStart + 2 * kDay;
  return out;
}

inspection::Program program(std::string name, std::string unit, std::vector<inspection::Listener> listens,
                            std::vector<inspection::Need> needs) {
  inspection::Program out;
  out.executable = "/usr/sbin/" + name;
  out.name = std::move(name);
  out.unit = std::move(unit);
  out.user = "root";
  out.pids = {1000};
  out.listens = std::move(listens);
  out.needs = std::move(needs);
  return out;
}

traffic::Traffic paper_traffic() {
  traffic::Traffic t;
  t.sources = {"prov0.journal"};
  t.first = kStart;
  t.last = kStart + 2 * kDay;
  t.packets = 9'000'000;
  t.bytes = 2'000'000'000;
  t.surveyed_addresses = {"10.1.0.1"};
  t.local_networks = {"10.1.0.0/16"};
  const auto tcp = [](std::int64_t port, std::int64_t nodes = 450) {
    return flow(traffic::Protocol::tcp, port, traffic::Part::serves, traffic::Pattern::connection, nodes);
  };
  const auto udp = [](std::int64_t port, traffic::Pattern pattern, std::int64_t nodes = 450) {
    return flow(traffic::Protocol::udp, port, traffic::Part::serves, pattern, nodes);
  };
  // A node boots: DHCP, the bootstrap by TFTP, the image by HTTP from the same web server as the files.
  t.flows.push_back(with(udp(67, traffic::Pattern::request_response, 1), "dhcp", {}, {}));
  t.flows.push_back(with(udp(69, traffic::Pattern::request_response, 1), "tftp",
                         {"READ /warewulf/ipxe/bin-x86_64/undionly.kpxe"}, {}));
  // (1) files, every five minutes
  t.flows.push_back(with(tcp(80), "http",
                         {"GET /WW/file?hwaddr=00:25:90:aa:bb:cc", "GET /WW/vnfs?hwaddr=00:25:90:aa:bb:cc"},
                         every(5min, 20s)));
  // (2) syslog, (3) NFS, (4) the outside, (5) Ganglia
  t.flows.push_back(with(udp(514, traffic::Pattern::one_way), "syslog", {}, {500, 1s, 40s, 10min, 90s}));
  t.flows.push_back(with(tcp(2049), "nfs", {"program nfs version 3"}, {300, 1s, 70s, 20min, 200s}));
  auto outside = flow(traffic::Protocol::tcp, 443, traffic::Part::routes, traffic::Pattern::connection, 60);
  outside.destinations = {"128.163.0.10", "151.101.2.132"};
  outside.destination_count = 2;
  t.flows.push_back(outside);
  t.flows.push_back(with(udp(8649, traffic::Pattern::one_way), "ganglia", {}, every(20s, 1s)));
  // (6) Slurm, both ways
  t.flows.push_back(with(tcp(6817), "slurm", {}, {900, 10s, 100s, 300s, 60s}));
  for (int i = 1; i <= 3; ++i) {
    auto to_node = with(flow(traffic::Protocol::tcp, 6818, traffic::Part::opens, traffic::Pattern::connection, 1),
                        "slurm", {}, every(100s, 2s));
    to_node.server = fmt::format("10.1.1.{}", i);
    t.flows.push_back(to_node);
  }
  // (7) mail, (8) NTP
  t.flows.push_back(with(tcp(25, 40), "smtp", {}, {20, 60s, 3600s, 9000s, 2000s}));
  t.flows.push_back(with(udp(123, traffic::Pattern::request_response), "ntp", {}, every(1024s, 3s)));
  // The server to nodes: an administrator's shell. And what is no service.
  t.flows.push_back(
      with(flow(traffic::Protocol::tcp, 22, traffic::Part::opens, traffic::Pattern::connection, 1), "ssh", {}, {}));
  t.flows.push_back(flow(traffic::Protocol::arp, 0, traffic::Part::hears, traffic::Pattern::broadcast));
  return t;
}

inspection::HostSurvey paper_host() {
  inspection::HostSurvey host;
  host.host = "sms";
  host.taken_at = kStart;
  host.forwards = true;
  host.nat_rules = {"-A POSTROUTING -o eth1 -j MASQUERADE"};
  host.exports = {{"/opt/ohpc/pub", "*(ro,no_subtree_check)", true, "/etc/exports"}};
  host.programs = {
      program("dhcpd", "dhcpd.service", {{"udp", "0.0.0.0", 67}}),
      program("in.tftpd", "tftp.service", {{"udp", "0.0.0.0", 69}}),
      program("httpd", "httpd.service", {{"tcp", "0.0.0.0", 80}},
              {{"mysqld", "connection", "/var/lib/mysql/mysql.sock"}}),
      program("rsyslogd", "rsyslog.service", {{"udp", "0.0.0.0", 514}, {"unix", "/dev/log", 0}}),
      program("rpc.mountd", "nfs-mountd.service", {{"tcp", "0.0.0.0", 20048}}),
      program("gmond", "gmond.service", {{"udp", "0.0.0.0", 8649}}),
      program("slurmctld", "slurmctld.service", {{"tcp", "0.0.0.0", 6817}},
              {{"munged", "library", "libmunge.so.2"}, {"slurmdbd", "connection", "tcp 127.0.0.1:6819"}}),
      program("slurmdbd", "slurmdbd.service", {{"tcp", "127.0.0.1", 6819}},
              {{"munged", "library", "libmunge.so.2"}, {"mysqld", "connection", "/var/lib/mysql/mysql.sock"}}),
      program("munged", "munge.service", {{"unix", "/run/munge/munge.socket.2", 0}}),
      program("mysqld", "mariadb.service", {{"unix", "/var/lib/mysql/mysql.sock", 0}}),
      program("master", "postfix.service", {{"tcp", "0.0.0.0", 25}}),
      program("chronyd", "chronyd.service", {{"udp", "0.0.0.0", 123}}),
      program("sshd", "sshd.service", {{"tcp", "0.0.0.0", 22}}),
      program("cupsd", "cups.service", {{"tcp", "127.0.0.1", 631}}),
  };
  return host;
}

}  // namespace underway::adoption::testing
