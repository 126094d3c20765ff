#include "slurm/queue.hpp"

#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {

namespace {

/// Flags behind a state: no answer, powering up, rebooting, … Source: sinfo(1), NODE STATE CODES.
constexpr std::string_view kStateFlags = "*~#!%$@^+-";

}  // namespace

std::vector<std::string> nodes_command() { return {"sinfo", "-h", "-N", "-o", "%N|%n|%T|%E"}; }

std::vector<std::string> drain_command(const std::vector<std::string>& nodes, const std::string& reason) {
  return {"scontrol", "update", "nodename=" + fold_hosts(nodes), "state=drain", "reason=" + reason};
}

std::vector<std::string> resume_command(const std::vector<std::string>& nodes) {
  return {"scontrol", "update", "nodename=" + fold_hosts(nodes), "state=resume"};
}

std::vector<std::string> jobs_command(const std::vector<std::string>& nodes) {
  std::vector<std::string> words = {"squeue", "-h", "-t", kStatesWithNodes, "-o", "%A|%N"};
  if (!nodes.empty()) words.insert(words.end(), {"-w", fold_hosts(nodes)});
  return words;
}

std::vector<NodeState> parse_nodes(std::string_view text) {
  std::vector<NodeState> nodes;
  std::set<std::string> known;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() < 3) continue;
    NodeState node{std::string(trim(fields[0])), std::string(trim(fields[1])), std::string(trim(fields[2])), {}};
    node.state.erase(node.state.find_last_not_of(kStateFlags) + 1);
    for (std::size_t i = 3; i < fields.size(); ++i) node.reason += (i > 3 ? "|" : "") + std::string(fields[i]);
    if (!node.name.empty() && known.insert(node.name).second) nodes.push_back(std::move(node));
  }
  return nodes;
}

std::map<std::string, std::vector<std::string>> parse_jobs(std::string_view text) {
  std::map<std::string, std::vector<std::string>> jobs;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() != 2 || fields[0].empty()) continue;
    try {
      for (const auto& name : unfold_hosts(std::string(fields[1]))) jobs[name].emplace_back(fields[0]);
    } catch (const Error&) {
      continue;  // no host list: the job has no nodes now
    }
  }
  return jobs;
}

}  // namespace underway::slurm
