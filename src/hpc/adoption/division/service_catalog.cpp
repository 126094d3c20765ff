#include "adoption/division/service_catalog.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::adoption {

const std::vector<KnownService>& ServiceCatalog::table() {
  using D = Discretion;
  // Ports: services(5), and the documentation of each product: slurm.conf(5) (SlurmctldPort, SlurmdPort), warewulf.conf
  // (port 9873), gmond.conf(5) (udp_send_channel), munged(8) (no port: a socket).
  static const std::vector<KnownService> services = {
      {"provisioning",
       "Provisioning",
       D::provisioning,
       {"udp/67", "udp/68", "udp/69", "udp/547", "udp/546", "udp/4011", "tcp/3001", "tcp/3002", "tcp/9873"},
       {"dhcpd", "in.tftpd", "atftpd", "tftpd", "xcatd", "cobblerd", "wwctl", "warewulfd", "kea-dhcp4"},
       {"dhcp", "dhcp6", "tftp"},
       {"/WW/", "/provision/", "/kernel/", "/container/", "/initramfs/", "/efiboot/", "/overlay-system/", ".vnfs",
        ".squashfs", ".ipxe", ".kpxe", "pxelinux", "vmlinuz"},
       {}},
      {"file-synchronisation",
       "File synchronisation",
       D::files,
       {"tcp/873", "tcp/8140", "tcp/4505", "tcp/4506", "tcp/5308"},
       {"rsyncd", "puppetserver", "salt-master", "cf-serverd"},
       {"rsync"},
       {"/WW/file", "/overlay-runtime/", "/overlay-file/"},
       "Underway's file synchronisation sends signed differences, and only when a file has changed."},
      {"slurm",
       "Slurm",
       D::none,
       {"tcp/6817", "tcp/6818", "tcp/6820"},
       {"slurmctld", "slurmrestd", "slurmd"},
       {"slurm"},
       {},
       {}},
      {"slurmdbd", "Slurm's accounting", D::none, {"tcp/6819"}, {"slurmdbd"}, {}, {}, {}},
      {"munge", "Munge", D::none, {}, {"munged"}, {}, {}, {}},
      {"database",
       "Database",
       D::none,
       {"tcp/3306", "tcp/5432"},
       {"mariadbd", "mysqld", "postgres", "mariadb", "mysql", "postgresql"},
       {"mysql", "postgresql"},
       {},
       {}},
      {"ntp", "NTP", D::none, {"udp/123", "udp/323"}, {"chronyd", "ntpd"}, {"ntp"}, {}, {}},
      {"syslog",
       "Syslog",
       D::none,
       {"udp/514", "tcp/514", "tcp/601", "tcp/2514", "tcp/6514", "udp/20514", "tcp/20514"},
       {"rsyslogd", "syslog-ng"},
       {"syslog"},
       {},
       {}},
      {"nfs",
       "NFS",
       D::none,
       {"tcp/2049", "udp/2049", "tcp/111", "udp/111", "tcp/20048", "udp/20048", "udp/875"},
       {"ganesha.nfsd", "nfs-ganesha", "nfs-server", "nfs-kernel-server", "rpc.mountd", "rpc.statd", "rpcbind",
        "rpc.nfsd"},
       {"nfs", "mount", "portmap", "sunrpc"},
       {"program nfs", "program mount", "program portmap", "program nlockmgr", "program status"},
       {}},
      {"routing", "Routing", D::none, {}, {"conntrackd", "keepalived"}, {}, {}, {}},
      {"mail",
       "Mail",
       D::none,
       {"tcp/25", "tcp/587", "tcp/465"},
       {"master", "postfix", "exim4", "sendmail", "sendmail.sendmail"},
       {"smtp"},
       {},
       {}},
      {"ganglia",
       "Ganglia",
       D::none,
       {"udp/8649", "tcp/8649", "tcp/8651", "tcp/8652"},
       {"gmond", "gmetad"},
       {"ganglia"},
       {},
       "Eliminate it: the agent of each node gives the same figures as metrics, and what must be kept can go to "
       "syslog."},
      {"monitoring",
       "Monitoring",
       D::none,
       {"tcp/5666", "tcp/9090", "tcp/9091", "tcp/9100", "tcp/8086", "udp/8125", "tcp/10050", "tcp/10051", "udp/25826",
        "udp/161", "udp/162"},
       {"prometheus", "node_exporter", "nrpe", "nagios4", "influxd", "zabbix_server", "collectd", "snmptrapd"},
       {"snmp", "zabbix"},
       {},
       "Metrics that nodes send can be asked of the agents instead, from anywhere and when it suits."},
      {"dns", "DNS", D::none, {"udp/53", "tcp/53"}, {"named", "dnsmasq", "unbound"}, {"dns"}, {}, {}},
      {"directory",
       "User directory",
       D::none,
       {"tcp/389", "tcp/636", "tcp/88", "udp/88", "tcp/464", "udp/464", "tcp/749"},
       {"slapd", "ns-slapd", "krb5kdc", "ypserv", "kadmind"},
       {"ldap", "kerberos"},
       {},
       {}},
      {"licences",
       "Licences",
       D::none,
       {"tcp/27000", "tcp/27001", "tcp/1700", "tcp/5280"},
       {"lmgrd", "rlm"},
       {},
       {},
       {}},
      {"proxy", "Web proxy", D::none, {"tcp/3128"}, {"squid"}, {}, {}, {}},
      {"power", "Power control", D::none, {"udp/623"}, {"powerman", "powermand", "conmand"}, {"ipmi", "rmcp"}, {}, {}},
      {"ssh", "SSH", D::people, {"tcp/22"}, {"sshd"}, {"ssh"}, {}, {}},
      {"console", "Remote desktop", D::people, {"tcp/3389", "tcp/5900", "tcp/5901"}, {"xrdp"}, {}, {}, {}},
      {"batch",
       "Batch system",
       D::none,
       {"tcp/15001", "tcp/15002", "tcp/15003", "tcp/15004", "tcp/6444", "tcp/6445"},
       {"pbs_server", "pbs_sched", "pbs_comm", "sge_qmaster"},
       {},
       {},
       {}},
      {"filesystem",
       "File system",
       D::none,
       {"tcp/988", "tcp/24007", "tcp/8008", "tcp/8003", "tcp/1191"},
       {"glusterd", "beegfs-mgmtd", "beegfs-meta", "mmfsd"},
       {"lustre"},
       {},
       {}},
  };
  return services;
}

ServiceCatalog::ServiceCatalog(std::string_view etc_services) {
  for (const auto& raw : split(etc_services, '\n')) {
    const auto line = trim(std::string_view(raw).substr(0, raw.find('#')));
    const auto blank = line.find_first_of(" \t");
    if (blank == std::string_view::npos) continue;
    const auto rest = trim(line.substr(blank));
    const auto port = rest.substr(0, rest.find_first_of(" \t"));  // "22/tcp"
    const auto slash = port.find('/');
    if (slash == std::string_view::npos || etc_services_.size() > 20'000) continue;
    etc_services_.try_emplace(fmt::format("{}/{}", port.substr(slash + 1), port.substr(0, slash)),
                              std::string(line.substr(0, blank)));
  }
}

const KnownService* ServiceCatalog::find(std::string_view name) {
  for (const auto& service : table())
    if (service.name == name) return &service;
  return nullptr;
}

namespace {

const KnownService* find_in(std::vector<std::string_view> KnownService::* words, std::string_view word) {
  if (word.empty()) return nullptr;
  for (const auto& service : ServiceCatalog::table()) {
    const auto& list = service.*words;
    if (std::find(list.begin(), list.end(), word) != list.end()) return &service;
  }
  return nullptr;
}

}  // namespace

const KnownService* ServiceCatalog::find_program(std::string_view program, std::string_view unit) const {
  if (const auto* known = find_in(&KnownService::programs, program)) return known;
  return find_in(&KnownService::programs, unit.substr(0, unit.rfind('.')));
}
const KnownService* ServiceCatalog::find_door(std::string_view door) const {
  return find_in(&KnownService::doors, door);
}
const KnownService* ServiceCatalog::find_application(std::string_view application) const {
  return find_in(&KnownService::applications, application);
}

const KnownService* ServiceCatalog::find_hint(std::string_view hint) const {
  const KnownService* best = nullptr;
  std::size_t longest = 0;
  for (const auto& service : table()) {
    for (const auto& part : service.hints) {
      if (part.size() <= longest || hint.find(part) == std::string_view::npos) continue;
      best = &service;
      longest = part.size();
    }
  }
  return best;
}

std::string ServiceCatalog::name_of_door(std::string_view door) const {
  const auto found = etc_services_.find(door);
  return found == etc_services_.end() ? std::string{} : found->second;
}

bool is_base_program(std::string_view executable, std::string_view name) {
  static constexpr std::string_view kNames[] = {"dbus-daemon", "dbus-broker", "agetty", "polkitd", "udevd",
                                                "cron",        "crond",       "init",   "login"};
  return executable.find("/systemd/") != std::string_view::npos || name == "systemd" || name.starts_with("systemd-") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace underway::adoption
