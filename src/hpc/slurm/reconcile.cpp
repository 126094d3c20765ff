#include "slurm/reconcile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::int64_t number_of(std::string_view text) {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

/// It holds its nodes now.
bool holds_nodes(const std::string& state) { return state == "RUNNING" || state == "SUSPENDED"; }
/// It will be started, again.
bool will_start(const std::string& state) {
  return state == "PENDING" || state == "REQUEUED" || state == "REQUEUE_HOLD" || state == "SPECIAL_EXIT";
}
/// Its end is under way: steps may be there or not.
bool is_ending(const std::string& state) {
  return state == "COMPLETING" || state == "CONFIGURING" || state == "STAGE_OUT";
}

}  // namespace

std::vector<std::string> beliefs_command() { return {"squeue", "-h", "-t", "all", "-o", "%A|%T|%u|%N|%r"}; }

std::vector<std::string> steps_command() { return {"squeue", "-s", "-h", "-o", "%i"}; }

std::vector<Belief> parse_beliefs(std::string_view text) {
  std::vector<Belief> out;
  for (const auto& line : split(text, '\n')) {
    const auto fields = split(trim(line), '|');
    if (fields.size() != 5 || !is_number(fields[0])) continue;
    Belief belief{std::string(fields[0]), std::string(fields[1]), std::string(fields[2]), {}};
    belief.held = fields[4].starts_with("JobHeld");
    try {
      if (!fields[3].empty()) belief.nodes = unfold_hosts(std::string(fields[3]));
    } catch (const Error&) {
      continue;  // no host list: whatever this is, it is not a line of squeue
    }
    out.push_back(std::move(belief));
  }
  return out;
}

std::set<std::string> parse_steps(std::string_view text) {
  std::set<std::string> out;
  for (const auto& line : split(text, '\n')) {
    const auto step = trim(line);
    const auto dot = step.find('.');
    if (dot != std::string_view::npos && is_number(step.substr(0, dot))) out.emplace(step.substr(0, dot));
  }
  return out;
}

std::optional<std::set<std::string>> parse_host_steps(std::string_view text) {
  const auto trimmed = trim(text);
  if (!trimmed.ends_with("looked")) return std::nullopt;
  return parse_steps(trimmed);
}

namespace {

class Comparison {
 public:
  Comparison(const std::map<std::string, std::string>& host_of,
             const std::map<std::string, std::set<std::string>>& hosts, Duration behind)
      : host_of_(host_of), hosts_(hosts), behind_(behind) {
    for (const auto& [host, jobs] : hosts) {
      for (const auto& job : jobs) runs_on_[job].push_back(host);
    }
  }

  void look_at(const Belief& job, bool has_steps) {
    const auto found = runs_on_.find(job.id);
    const bool runs = found != runs_on_.end();
    if (will_start(job.state) && runs) {
      add(Finding::Kind::doubled, job, found->second,
          fmt::format("Slurm job {} of {} runs on {}, and slurmctld would start it again; it is held. When it has "
                      "ended: `scancel {}`, or `scontrol release {}` to run it once more",
                      job.id, job.user, fold_hosts(found->second), job.id, job.id));
      out_.commands.push_back({"scontrol", "hold", job.id});
      spare(job.id, found->second);
    } else if (will_start(job.state) && behind_ > kLongBehind && !job.held) {
      waited_.push_back(job.id);
    } else if (holds_nodes(job.state) && !runs && has_steps) {
      look_for_ghost(job);
    } else if (runs && !holds_nodes(job.state) && !will_start(job.state) && !is_ending(job.state)) {
      stranger(job.id, job.user, found->second, fmt::format("which slurmctld has as {}", job.state));
    }
    known_.insert(job.id);
  }

  Reconciliation conclude() {
    for (const auto& [job, hosts] : runs_on_) {
      if (known_.contains(job)) continue;
      stranger(job, "", hosts, "which slurmctld does not know");
      out_.unknown_up_to = std::max(out_.unknown_up_to, number_of(job));
    }
    hold_those_that_waited();
    for (const auto& [node, host] : host_of_) {
      if (out_.spare.contains(host)) out_.drain.push_back(node);
    }
    return std::move(out_);
  }

 private:
  void add(Finding::Kind kind, const Belief& job, std::vector<std::string> hosts, std::string text) {
    out_.findings.push_back({kind, job.id, job.user, std::move(hosts), std::move(text)});
  }

  void spare(const std::string& job, const std::vector<std::string>& hosts) {
    for (const auto& host : hosts) out_.spare[host].insert(job);
  }

  void hold_those_that_waited() {
    if (waited_.empty()) return;
    constexpr std::size_t kTogether = 500;  // ids in one command
    for (std::size_t i = 0; i < waited_.size(); i += kTogether) {
      const auto from = waited_.begin() + static_cast<std::ptrdiff_t>(i);
      const auto to = from + static_cast<std::ptrdiff_t>(std::min(kTogether, waited_.size() - i));
      out_.commands.push_back({"scontrol", "hold", join(std::vector<std::string>(from, to), ",")});
    }
    out_.findings.push_back(
        {Finding::Kind::waited,
         waited_.front(),
         "",
         {},
         fmt::format(
             "{} Slurm jobs ({} to {}) waited when slurmctld wrote the state that it was started from, {} before "
             "it was last seen; whether they have run since nobody knows, so they are held: `scontrol release ID` "
             "those that have not, `scancel ID` the others",
             waited_.size(), waited_.front(), waited_.back(), human_duration(behind_))});
  }

  void stranger(const std::string& job, const std::string& user, const std::vector<std::string>& hosts,
                const std::string& what) {
    out_.findings.push_back(
        {Finding::Kind::unknown, job, user, hosts,
         fmt::format("Slurm job {} runs on {}, {}: it is in no account, and runs on. Its nodes take no "
                     "other job until it has ended. Tell its user, or end it there: `pkill -f 'slurmstepd: .{}\\.'`",
                     job, fold_hosts(hosts), what, job)});
    spare(job, hosts);
  }

  void look_for_ghost(const Belief& job) {
    std::vector<std::string> blind, looked;
    for (const auto& node : job.nodes) {
      const auto host = host_of_.find(node);
      const bool seen = host != host_of_.end() && hosts_.contains(host->second);
      (seen ? looked : blind).push_back(node);
    }
    if (!blind.empty()) {
      return add(
          Finding::Kind::unseen, job, blind,
          fmt::format("Slurm job {} of {} runs for slurmctld; whether it does on {} cannot be seen now, so it is "
                      "left alone",
                      job.id, job.user, fold_hosts(blind)));
    }
    add(Finding::Kind::ghost, job, looked,
        fmt::format(
            "Slurm job {} of {} ran on {} when slurmctld wrote its state, and runs there no more: it ended while "
            "slurmctld was away, with which result nobody knows; it is ended now",
            job.id, job.user, fold_hosts(looked)));
    out_.commands.push_back({"scancel", job.id});
  }

  const std::map<std::string, std::string>& host_of_;
  const std::map<std::string, std::set<std::string>>& hosts_;
  std::map<std::string, std::vector<std::string>> runs_on_;
  std::set<std::string> known_;
  Duration behind_;
  std::vector<std::string> waited_;
  Reconciliation out_;
};

}  // namespace

Reconciliation reconcile(const std::vector<Belief>& beliefs, const std::set<std::string>& with_steps,
                         const std::map<std::string, std::string>& host_of,
                         const std::map<std::string, std::set<std::string>>& hosts, Duration behind) {
  Comparison comparison(host_of, hosts, behind);
  for (const auto& job : beliefs) comparison.look_at(job, with_steps.contains(job.id));
  return comparison.conclude();
}

std::set<std::string> cut_off(const std::set<std::string>& silent, const std::vector<Belief>& beliefs,
                              const std::map<std::string, std::string>& host_of,
                              const std::map<std::string, std::set<std::string>>& hosts) {
  std::set<std::string> out;
  for (const auto& job : beliefs) {
    for (const auto& node : job.nodes) {
      const auto host = host_of.find(node);
      if (!holds_nodes(job.state) || !silent.contains(node) || host == host_of.end()) continue;
      const auto seen = hosts.find(host->second);
      if (seen != hosts.end() && seen->second.contains(job.id)) out.insert(node);
    }
  }
  return out;
}

}  // namespace underway::slurm
