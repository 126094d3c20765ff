#include "slurm/sleep/node_sleep.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "slurm/hostlist.hpp"
#include "slurm/queue.hpp"
#include "slurm/sleep/job_sleep.hpp"

namespace underway::slurm {
namespace {

bool contains(const std::vector<std::string>& all, const std::string& name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// The first node of a job that is none of `nodes`; empty: all are.
std::string one_besides(const NodeJob& job, const std::set<std::string>& nodes) {
  const auto at =
      std::find_if(job.nodes.begin(), job.nodes.end(), [&](const auto& node) { return !nodes.contains(node); });
  return at == job.nodes.end() ? std::string() : *at;
}
/// And one that is, other than `node`.
std::string one_among(const NodeJob& job, const std::set<std::string>& nodes, const std::string& node) {
  const auto at = std::find_if(job.nodes.begin(), job.nodes.end(),
                               [&](const auto& it) { return it != node && nodes.contains(it); });
  return at == job.nodes.end() ? std::string() : *at;
}

}  // namespace

Command node_jobs_command(const std::vector<std::string>& nodes) {
  Command out = {"squeue", "-h", "-t", kStatesWithNodes};
  if (!nodes.empty()) out.insert(out.end(), {"-w", fold_hosts(nodes)});
  out.insert(out.end(), {"-o", "%A|%T|%N"});
  return out;
}

std::vector<NodeJob> parse_node_jobs(std::string_view text) {
  std::vector<NodeJob> out;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() != 3 || fields[0].empty() || fields[1].empty()) continue;
    const bool is_number = fields[0].find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number) continue;
    out.push_back({std::string(fields[0]), std::string(fields[1]), unfold_hosts(std::string(fields[2]))});
  }
  return out;
}

std::string stand_in(const std::vector<NodeRecord>& records, const std::vector<std::string>& sleeping,
                     const std::vector<NodeJob>& jobs, const std::string& now) {
  const auto speaks_of_them = [&](const std::string& node) {
    return std::any_of(jobs.begin(), jobs.end(), [&](const NodeJob& job) {
      return contains(job.nodes, node) &&
             std::any_of(sleeping.begin(), sleeping.end(), [&](const auto& name) { return contains(job.nodes, name); });
    });
  };
  std::string first;
  for (const auto& record : records) {
    const bool answers = record.responds() && record.state != "UNKNOWN" && record.state != "FUTURE" &&
                         !record.powering_up() && !record.address.empty() && record.address != kNowhere;
    if (!answers || contains(sleeping, record.name) || speaks_of_them(record.name)) continue;
    if (record.address == now) return now;
    if (first.empty()) first = record.address;
  }
  return first;
}

std::map<std::string, std::string> companions(const std::vector<NodeJob>& jobs, const std::vector<std::string>& nodes) {
  std::map<std::string, std::string> out;
  std::set<std::string> group(nodes.begin(), nodes.end());
  // Until no job brings in another one.
  for (auto before = std::size_t{0}; before != group.size();) {
    before = group.size();
    for (const auto& job : jobs) {
      if (one_among(job, group, "").empty()) continue;
      for (const auto& node : job.nodes) {
        if (group.insert(node).second) out.emplace(node, job.id);
      }
    }
  }
  return out;
}

SleepPlan plan_sleep(const std::string& node, const NodeRecord* record, const std::vector<NodeJob>& jobs,
                     const std::vector<std::string>& suspended, const std::string& answers, const Sleepers& all,
                     bool moves) {
  SleepPlan out;
  if (record == nullptr || record->state == "DOWN" || record->state == "FUTURE") {
    out.done = true;
    return out;
  }
  if (answers.empty()) {
    out.suspended = suspended;
    out.why = "no other node of Slurm answers, which has to do it for this one while it sleeps";
    return out;
  }
  const bool held = record->draining();
  if (!held) out.commands.push_back(drain_command({node}, kAsleepReason));
  std::vector<std::string> awake;
  std::string besides;
  for (const auto& job : jobs) {
    const bool runs = job.state == "RUNNING";
    const bool ours = contains(suspended, job.id);
    if (runs || ours || all.suspended.contains(job.id)) out.suspended.push_back(job.id);
    // One that somebody suspended before us sleeps on when the node wakes.
    if (job.state == "SUSPENDED") continue;
    awake.push_back(job.id);
    const auto other = moves ? std::string() : one_besides(job, all.to_sleep);
    if (!other.empty()) besides = fmt::format("the Slurm job {} is on {}, too, which is not to sleep", job.id, other);
    if (runs && held && ours && other.empty()) out.commands.push_back(suspend_command(job.id));
  }
  if (!held || !awake.empty()) {
    out.why = awake.empty() ? fmt::format("{} takes jobs", node)
              : !besides.empty()
                  ? besides
                  : fmt::format("Slurm job{} {} on {} {} not suspended yet", awake.size() == 1 ? "" : "s",
                                join_some(awake, 5), node, awake.size() == 1 ? "is" : "are");
    return out;
  }
  if (record->address != answers) out.commands.push_back(address_command({{node, answers}}));
  out.done = true;
  return out;
}

SleepPlan plan_waking(const std::string& node, const NodeRecord* record, const std::vector<NodeJob>& jobs,
                      const std::vector<std::string>& suspended, const std::string& address, bool let_in,
                      const Sleepers& all) {
  SleepPlan out;
  if (record == nullptr) {
    out.done = true;
    return out;
  }
  if (!address.empty() && record->address != address) out.commands.push_back(address_command({{node, address}}));
  std::vector<std::string> told;
  for (const auto& job : jobs) {
    if (!contains(suspended, job.id) || job.state != "SUSPENDED") continue;
    out.suspended.push_back(job.id);
    if (const auto other = one_among(job, all.away, node); !other.empty()) {
      out.why = fmt::format("the Slurm job {} goes on when {} is awake, too", job.id, other);
      continue;
    }
    told.push_back(job.id);
    out.commands.push_back(wake_command(job.id));
  }
  if (let_in && record->draining() && record->reason == kAsleepReason) out.commands.push_back(admit_command({node}));
  out.done = out.commands.empty();
  if (!told.empty())
    out.why = fmt::format("Slurm job{} {} on {} {} told to go on", told.size() == 1 ? "" : "s", join_some(told, 5),
                          node, told.size() == 1 ? "is" : "are");
  return out;
}

std::vector<Command> lost_commands(const NodeRecord& record, const std::vector<NodeJob>& jobs,
                                   const std::vector<std::string>& suspended, const std::string& address) {
  std::vector<Command> out;
  if (!address.empty() && record.address != address) out.push_back(address_command({{record.name, address}}));
  // Slurm takes the priority of a job that it suspends, and gives it back to one that goes on: queued again without it
  // a job is held (JobHeldAdmin) until somebody releases it. Seen with 22.05.
  for (const auto& job : jobs) {
    if (contains(suspended, job.id) && job.state == "SUSPENDED") out.push_back(wake_command(job.id));
  }
  const bool theirs = record.draining() && !held_by_us(record) && !record.reason.empty();
  out.push_back({"scontrol", "update", "nodename=" + record.name, "state=down",
                 "reason=" + (theirs ? record.reason : kAbsentReason)});
  return out;
}

}  // namespace underway::slurm
