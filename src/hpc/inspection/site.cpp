#include "inspection/site.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "inspection/detail/configured_needs.hpp"
#include "inspection/detail/root_view.hpp"

namespace underway::inspection {
namespace {

using detail::RootView;
using detail::slurm_setting;

constexpr std::size_t kMostSiteFile = 32U << 20;

std::int64_t number_or(const std::string& text, std::int64_t otherwise) {
  const auto value = leading_number_or<std::int64_t>(text, otherwise);
  return value >= 0 ? value : otherwise;
}

/// The lines of a text without comments, blanks taken away; lines that end in a backslash are joined.
std::vector<std::string> lines_of(std::string_view text, char comment = '#') {
  std::vector<std::string> out;
  std::string joined;
  for (const auto& raw : split(text, '\n')) {
    std::string_view line = std::string_view(raw).substr(0, raw.find(comment));
    line = trim(line);
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    joined += std::string(line) + (goes_on ? " " : "");
    if (goes_on) continue;
    if (!joined.empty()) out.push_back(std::move(joined));
    joined.clear();
  }
  if (!joined.empty()) out.push_back(std::move(joined));
  return out;
}

bool starts_with_word(std::string_view line, std::string_view word) {
  return line.starts_with(word) &&
         (line.size() == word.size() || line[word.size()] == ' ' || line[word.size()] == '\t');
}

class SiteReader {
 public:
  explicit SiteReader(const std::string& root) : root_(root) {}

  Site read() {
    slurm();
    warewulf();
    time();
    logs();
    mail();
    ganglia();
    if (const auto passwd = text("/etc/passwd")) {
      site_.users = parse_people(*passwd);
      site_.service_users = parse_service_users(
          *passwd, {site_.slurm.user, site_.accounting.slurm_user, "slurm", "munge", "mysql", "mariadb"});
    }
    secrets();
    synced();
    return std::move(site_);
  }

 private:
  std::optional<std::string> text(const std::string& path) { return root_.find_text(path, kMostSiteFile, site_.gaps); }

  void slurm() {
    for (const char* directory : {"/etc/slurm/", "/etc/slurm-llnl/"}) {
      const std::string base = directory;
      if (const auto found = text(base + "slurm.conf"); found && site_.slurm.file.empty()) {
        site_.slurm = parse_slurm_conf(*found);
        site_.slurm.file = base + "slurm.conf";
      }
      if (const auto found = text(base + "slurmdbd.conf"); found && site_.accounting.file.empty()) {
        site_.accounting = parse_slurmdbd_conf(*found);
        site_.accounting.file = base + "slurmdbd.conf";
      }
    }
  }

  void warewulf() {
    if (const auto found = text("/etc/warewulf/warewulf.conf")) {
      site_.warewulf.file = "/etc/warewulf/warewulf.conf";
      parse_warewulf_conf(*found, site_.warewulf, site_.gaps);
    }
    if (const auto found = text("/etc/warewulf/nodes.conf")) {
      site_.warewulf.file = "/etc/warewulf/nodes.conf";
      parse_warewulf_nodes(*found, site_.warewulf, site_.gaps);
    }
  }

  void time() {
    for (const char* path : {"/etc/chrony/chrony.conf", "/etc/chrony.conf", "/etc/ntp.conf", "/etc/ntpsec/ntp.conf"}) {
      const auto found = text(path);
      if (!found) continue;
      for (const auto& line : lines_of(*found)) {
        for (const char* word : {"server", "pool", "peer"})
          if (starts_with_word(line, word)) site_.time_servers.push_back(line);
        for (const char* word : {"allow", "restrict"})
          if (starts_with_word(line, word)) site_.time_clients.push_back(line);
      }
    }
  }

  void logs() {
    std::vector<std::string> paths = {"/etc/rsyslog.conf"};
    for (const auto& entry : root_.entries("/etc/rsyslog.d", site_.gaps))
      if (entry.name.ends_with(".conf")) paths.push_back("/etc/rsyslog.d/" + entry.name);
    for (const auto& path : paths) {
      const auto found = text(path);
      if (!found) continue;
      for (const auto& line : lines_of(*found)) {
        const std::string words = lower(line);
        // A forwarding action may name a certificate or a token; the target is all that a plan tells.
        if (words.starts_with("input(") || words.starts_with("$udpserverrun") ||
            words.starts_with("$inputtcpserverrun"))
          site_.log_inputs.push_back(line);
        const auto at = line.find(" @");
        if (at != std::string::npos && line.find('(') == std::string::npos)
          site_.log_outputs.emplace_back(trim(std::string_view(line).substr(at)));
        const auto target = words.find("target=");
        if (words.find("omfwd") != std::string::npos && target != std::string::npos)
          site_.log_outputs.push_back(line.substr(target, line.find_first_of(" )", target) - target));
      }
    }
  }

  void mail() {
    const auto found = text("/etc/postfix/main.cf");
    if (!found) return;
    for (const auto& line : lines_of(*found)) {
      const auto equals = line.find('=');
      if (equals == std::string::npos) continue;
      const std::string key(trim(std::string_view(line).substr(0, equals)));
      for (const char* wanted : {"relayhost", "mynetworks", "myhostname", "inet_interfaces", "mydestination"})
        if (key == wanted) site_.mail[key] = std::string(trim(std::string_view(line).substr(equals + 1)));
    }
  }

  /// Channels of gmond.conf(5): blocks that do not nest.
  void ganglia() {
    const auto found = text("/etc/ganglia/gmond.conf");
    if (!found) return;
    std::string channel;
    for (const auto& line : lines_of(*found)) {
      if (channel.empty()) {
        if (line.find("_channel") != std::string::npos && line.find('{') != std::string::npos)
          channel = std::string(trim(std::string_view(line).substr(0, line.find('{'))));
      } else if (line.find('}') != std::string::npos) {
        site_.ganglia.push_back(std::move(channel));
        channel.clear();
      } else if (channel.size() < 400) {
        const auto equals = line.find('=');
        if (equals != std::string::npos)
          channel += fmt::format(" {} {}", trim(std::string_view(line).substr(0, equals)),
                                 trim(std::string_view(line).substr(equals + 1)));
      }
    }
  }

  void secrets() {
    static constexpr std::pair<const char*, const char*> kSecrets[] = {
        {"/etc/munge/munge.key", "munge key"},
        {"/etc/slurm/jwt_hs256.key", "key of Slurm's tokens"},
        {"/var/spool/slurmctld/jwt_hs256.key", "key of Slurm's tokens"},
        {"/etc/chrony/chrony.keys", "keys of chrony"},
        {"/etc/shadow", "passwords of users"},
        {"/etc/krb5.keytab", "Kerberos keys of the machine"},
        {"/etc/ssh/ssh_host_ed25519_key", "SSH key of the machine"},
        {"/etc/ssh/ssh_host_rsa_key", "SSH key of the machine"},
        {"/etc/postfix/sasl_passwd", "passwords of the mail relay"},
    };
    for (const auto& [path, what] : kSecrets)
      if (root_.exists(path)) site_.secrets.push_back({path, what});
    if (site_.accounting.has_password) site_.secrets.push_back({site_.accounting.file, "password of the database"});
  }

  void sync(const std::string& path, std::string why, std::string capsule, std::string then = {}) {
    if (path.empty() || !root_.exists(path)) return;
    SyncedFile file{path, false, "root", "root", std::move(capsule), std::move(then), std::move(why)};
    site_.synced_files.push_back(std::move(file));
  }
  void sync_secret(const std::string& path, const std::string& owner, std::string why, std::string capsule) {
    if (path.empty() || !root_.exists(path)) return;
    SyncedFile file{path, true, owner, owner, std::move(capsule), {}, std::move(why)};
    site_.synced_files.push_back(std::move(file));
  }

  void synced() {
    const std::string controllers = "slurm-*";  // and the canary's
    sync("/etc/passwd", "users", "*");
    sync("/etc/group", "groups", "*");
    sync_secret("/etc/shadow", "root", "passwords of users", controllers);
    sync(site_.slurm.file, "Slurm, on nodes and in the controller's capsule", controllers, "scontrol reconfigure");
    if (!site_.slurm.file.empty()) {
      const std::string base = site_.slurm.file.substr(0, site_.slurm.file.rfind('/') + 1);
      for (const char* name :
           {"cgroup.conf", "gres.conf", "topology.conf", "plugstack.conf", "job_container.conf", "acct_gather.conf",
            "burst_buffer.conf", "helpers.conf", "mpi.conf", "oci.conf", "job_submit.lua"})
        sync(base + name, "Slurm", controllers, "scontrol reconfigure");
    }
    sync_secret(site_.accounting.file, site_.accounting.slurm_user, "slurmdbd, in the controller's capsule alone",
                "slurm-services");
    sync_secret("/etc/munge/munge.key", "munge", "munge, on nodes and in the controller's capsule", controllers);
  }

  RootView root_;
  Site site_;
};

/// The directory of the file that a setting names, if it is one of its own.
void add_directory(std::string_view text, const char* key, std::vector<std::string>& out) {
  const std::string file = slurm_setting(text, key);
  const auto slash = file.rfind('/');
  if (!file.starts_with('/') || slash == 0 || file.find("/../") != std::string::npos) return;
  if (std::find(out.begin(), out.end(), file.substr(0, slash)) == out.end()) out.push_back(file.substr(0, slash));
}

}  // namespace

SlurmSite parse_slurm_conf(std::string_view text) {
  SlurmSite site;
  site.cluster = slurm_setting(text, "ClusterName");
  site.controller = slurm_setting(text, "SlurmctldHost");
  if (site.controller.empty()) site.controller = slurm_setting(text, "ControlMachine");
  site.state_directory = slurm_setting(text, "StateSaveLocation");
  site.slurmctld_port = number_or(slurm_setting(text, "SlurmctldPort"), site.slurmctld_port);
  site.slurmd_port = number_or(slurm_setting(text, "SlurmdPort"), site.slurmd_port);
  site.slurmd_timeout = number_or(slurm_setting(text, "SlurmdTimeout"), site.slurmd_timeout);
  if (auto user = slurm_setting(text, "SlurmUser"); !user.empty()) site.user = std::move(user);
  site.accounting = lower(slurm_setting(text, "AccountingStorageType")) == "accounting_storage/slurmdbd";
  site.accounting_host = slurm_setting(text, "AccountingStorageHost");
  for (const char* key : {"SlurmctldLogFile", "SlurmSchedLogFile", "SlurmctldPidFile"})
    add_directory(text, key, site.directories);
  for (const char* key : {"PluginDir", "MailProg", "PrologSlurmctld", "EpilogSlurmctld", "ResumeProgram",
                          "SuspendProgram", "RebootProgram", "SlurmctldPrimaryOnProg", "SlurmctldPrimaryOffProg"})
    if (const auto value = slurm_setting(text, key); value.starts_with('/'))
      site.programs.push_back(fmt::format("{}={}", key, value));
  for (const auto& line : lines_of(text)) {
    const std::string words = lower(line);
    if (words.find("pass") != std::string::npos) continue;  // JobCompPass, AccountingStoragePass
    site.text += line + "\n";
    if (words.starts_with("nodename=")) site.node_lines.push_back(line);
    if (words.starts_with("partitionname=")) site.partition_lines.push_back(line);
    if (words.starts_with("include ")) site.includes.emplace_back(trim(std::string_view(line).substr(8)));
  }
  return site;
}

AccountingSite parse_slurmdbd_conf(std::string_view text) {
  AccountingSite site;
  site.host = slurm_setting(text, "StorageHost");
  site.user = slurm_setting(text, "StorageUser");
  if (auto name = slurm_setting(text, "StorageLoc"); !name.empty()) site.database = std::move(name);
  site.has_password = !slurm_setting(text, "StoragePass").empty();
  if (auto user = slurm_setting(text, "SlurmUser"); !user.empty()) site.slurm_user = std::move(user);
  for (const char* key : {"LogFile", "PidFile"}) add_directory(text, key, site.directories);
  return site;
}

std::vector<std::string> parse_people(std::string_view passwd) {
  std::vector<std::string> out;
  for (const auto& line : split(passwd, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 7) continue;
    const auto uid = number_or(parts[2], 0);
    if (uid < 1000 || uid == 65534 || parts[6].ends_with("/nologin") || parts[6].ends_with("/false")) continue;
    out.push_back(parts[0]);
  }
  return out;
}

std::vector<std::string> parse_service_users(std::string_view passwd, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& line : split(passwd, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 7 || parts[0] == "root" || std::find(names.begin(), names.end(), parts[0]) == names.end())
      continue;
    out.push_back(fmt::format("{} {}:{}", parts[0], number_or(parts[2], 0), number_or(parts[3], 0)));
  }
  return out;
}

Site read_site(const std::string& root) { return SiteReader(root).read(); }

}  // namespace underway::inspection
