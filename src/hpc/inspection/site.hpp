#pragma once
/// @file
/// What the configuration of an existing management server says: Slurm, time, logs, exports, NAT, mail, Warewulf,
/// users. Only what a plan needs is taken; passwords and keys are noticed and never read into it.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::inspection {

/// A secret that is there; its content is nobody's business.
struct SecretFile {
  std::string path;
  std::string what;  ///< "munge key"
};

struct SlurmSite {
  std::string file;  ///< "/etc/slurm/slurm.conf"; empty: no Slurm here
  std::string cluster;
  std::string controller;  ///< as written: "sms(10.1.0.1)"
  std::int64_t slurmctld_port = 6817;
  std::int64_t slurmd_port = 6818;
  std::string state_directory;
  std::string user = "root";
  std::int64_t slurmd_timeout = 300;  ///< seconds; 0: never
  bool accounting = false;            ///< through slurmdbd
  std::string accounting_host;
  std::vector<std::string> node_lines;       ///< "NodeName=c[1-4] CPUs=8"
  std::vector<std::string> partition_lines;  ///< "PartitionName=main Nodes=c[1-4]"
  std::vector<std::string> includes;
  std::vector<std::string> directories;  ///< of slurmctld's logs and pid files
  std::vector<std::string> programs;  ///< that slurmctld runs or loads from elsewhere: "MailProg=/usr/local/bin/mail"
  std::string text;                   ///< without what holds a password
};

struct AccountingSite {
  std::string file;  ///< of slurmdbd; empty: none
  std::string host;
  std::string database = "slurm_acct_db";
  std::string user;
  std::string slurm_user = "root";       ///< as whom slurmdbd runs
  std::vector<std::string> directories;  ///< of slurmdbd's log and pid file
  bool has_password = false;
};

struct WarewulfNode {
  std::string name;
  std::vector<std::string> addresses;
  std::vector<std::string> profiles;
};

struct WarewulfSite {
  std::string file;  ///< empty: none
  std::string address, netmask, network;
  std::int64_t port = 0;
  std::string dhcp_start, dhcp_end;
  std::vector<WarewulfNode> nodes;
};

struct SyncedFile {
  std::string path;
  bool secret = false;
  std::string owner, group;
  std::string capsule;  ///< that gets it; `*` stands for any run of characters
  std::string then;     ///< a command to be typed once, when all have it
  std::string why;
};

struct Site {
  SlurmSite slurm;
  AccountingSite accounting;
  WarewulfSite warewulf;
  std::vector<std::string> time_servers;    ///< "server ntp.example.org iburst"
  std::vector<std::string> time_clients;    ///< "allow 10.1.0.0/16"
  std::vector<std::string> log_inputs;      ///< "imudp 514"
  std::vector<std::string> log_outputs;     ///< "@@splunk.example.org:514"
  std::map<std::string, std::string> mail;  ///< relayhost, mynetworks, myhostname, inet_interfaces
  std::vector<std::string> ganglia;         ///< "udp_send_channel host sms port 8649"
  std::vector<std::string> users;           ///< people (uid 1000 and above, with a shell)
  std::vector<std::string> service_users;   ///< whose numbers state has: "slurm 64030:64030"
  std::vector<SecretFile> secrets;
  std::vector<SyncedFile> synced_files;  ///< what capsules must have as nodes have it
  std::vector<std::string> gaps;
};

/// Reads the files below `root` ("/", or the root directory of a machine that is off). Changes nothing. Blocks: yes.
Site read_site(const std::string& root);

// The parts, for untrusted texts: what makes no sense is left out, or told in the gaps.
SlurmSite parse_slurm_conf(std::string_view text);
AccountingSite parse_slurmdbd_conf(std::string_view text);
/// nodes.conf and warewulf.conf of Warewulf 4 (YAML).
void parse_warewulf_nodes(std::string_view text, WarewulfSite& site, std::vector<std::string>& gaps);
void parse_warewulf_conf(std::string_view text, WarewulfSite& site, std::vector<std::string>& gaps);
/// People in /etc/passwd.
std::vector<std::string> parse_people(std::string_view passwd);
/// Name and numbers of those of `names` that are in /etc/passwd.
std::vector<std::string> parse_service_users(std::string_view passwd, const std::vector<std::string>& names);

}  // namespace underway::inspection
