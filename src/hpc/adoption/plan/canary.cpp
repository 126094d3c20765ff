// The canary phase: a second slurmctld beside the first.
#include "adoption/plan/adoption.hpp"
#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::adoption {
namespace {

/// Not Slurm's own, and 10,000 away from them, so that they are easily told apart.
constexpr std::int64_t kPortDistance = 10'000;

std::int64_t canary_port(std::int64_t port) {
  return port + kPortDistance <= 65'535 ? port + kPortDistance : port - kPortDistance;
}

std::string key_of(std::string_view line) { return lower(trim(line.substr(0, line.find('=')))); }

/// What the canary says itself, and what concerns the whole cluster's records.
bool is_replaced(const std::string& key) {
  static constexpr std::string_view kKeys[] = {"clustername",
                                               "slurmctldhost",
                                               "controlmachine",
                                               "controladdr",
                                               "backupcontroller",
                                               "backupaddr",
                                               "slurmctldport",
                                               "slurmdport",
                                               "statesavelocation",
                                               "slurmdspooldir",
                                               "slurmctldpidfile",
                                               "slurmdpidfile",
                                               "slurmctldlogfile",
                                               "slurmdlogfile",
                                               "nodename",
                                               "partitionname",
                                               "include",
                                               "nodeset",
                                               "slurmctldprimaryonprog",
                                               "slurmctldprimaryoffprog",
                                               "mailprog",
                                               "downnodes",
                                               "frontendname"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys) || key.starts_with("accounting") ||
         key.starts_with("jobcomp") || key.starts_with("resume") || key.starts_with("suspend") ||
         key.starts_with("federation");
}

/// The line of a node of slurm.conf with that name alone; addresses, which come in lists, are left out.
std::string node_line(const std::string& line, const std::string& node) {
  std::string out = "NodeName=" + node;
  for (const auto& word : split(line, ' ')) {
    const std::string key = key_of(word);
    if (word.empty() || key == "nodename" || key == "nodeaddr" || key == "nodehostname" || key == "port" ||
        key == "state")
      continue;
    out += " " + word;
  }
  return out + " State=UNKNOWN";
}

bool names(const std::string& line, const std::string& node) {
  const auto equals = line.find('=');
  const auto list = trim(std::string_view(line).substr(equals + 1));
  try {
    const auto hosts = slurm::unfold_hosts(std::string(list.substr(0, list.find_first_of(" \t"))));
    return std::find(hosts.begin(), hosts.end(), node) != hosts.end();
  } catch (const Error&) {
    return false;  // a host list that we do not understand: the plan asks for the line
  }
}

}  // namespace

std::string canary_slurm_conf(const inspection::SlurmSite& slurm, const std::vector<std::string>& nodes,
                              const std::string& controller) {
  std::string out = fmt::format(
      "# The canary's own controller: {}'s slurm.conf with other ports and state, without accounting, for {} alone.\n"
      "ClusterName=canary\nSlurmctldHost={}\nSlurmctldPort={}\nSlurmdPort={}\n"
      "StateSaveLocation=/var/spool/slurmctld-canary\nSlurmdSpoolDir=/var/spool/slurmd-canary\n"
      "SlurmctldPidFile=/run/slurmctld-canary.pid\nSlurmdPidFile=/run/slurmd-canary.pid\n"
      "SlurmctldLogFile=/var/log/slurm/slurmctld-canary.log\nSlurmdLogFile=/var/log/slurm/slurmd-canary.log\n"
      "AccountingStorageType=accounting_storage/none\n",
      slurm.cluster.empty() ? "the cluster" : slurm.cluster, join(nodes, ", "), controller,
      canary_port(slurm.slurmctld_port), canary_port(slurm.slurmd_port));
  for (const auto& line : split(slurm.text, '\n')) {
    const auto blank = line.find_first_of(" =\t");
    if (line.empty() || is_replaced(lower(std::string_view(line).substr(0, blank)))) continue;
    out += line + "\n";
  }
  for (const auto& node : nodes) {
    const auto line = std::find_if(slurm.node_lines.begin(), slurm.node_lines.end(),
                                   [&](const std::string& each) { return names(each, node); });
    out += line == slurm.node_lines.end()
               ? fmt::format("# Fill in what slurm.conf says of {}:\nNodeName={} State=UNKNOWN\n", node, node)
               : node_line(*line, node) + "\n";
  }
  return out + fmt::format("PartitionName=canary Nodes={} Default=YES MaxTime=60 State=UP\n", join(nodes, ","));
}

}  // namespace underway::adoption
