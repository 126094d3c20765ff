#include "slurm/reconcile/reconcile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {
namespace {

bool wait_together(const SlurmJob& job) { return job.waiting.find('[') != std::string::npos; }

/// What cancels it for people, and no task that runs.
std::string cancel_of(const SlurmJob& job) {
  const auto& name = job.waiting.empty() ? job.name : job.waiting;
  if (name.find("...") != std::string::npos)  // squeue prints no more than 64 characters of them
    return fmt::format("`scancel` with the names of its tasks that have run (not {}: that ends them all)", job.id);
  return fmt::format("`scancel {}`{}", name,
                     job.is_array ? fmt::format(" (not {}: that ends all tasks of its array)", job.id) : "");
}

}  // namespace

std::optional<std::vector<std::string>> enter_spared(const std::string& job, const std::optional<SlurmJob>& slurm_job,
                                                     const std::optional<End>& end) {
  if (!end || end->state.empty() || end->sent_back) return std::nullopt;
  const bool waits = slurm_job && will_start(slurm_job->state);
  return enter_command(waits && !slurm_job->is_array ? Enter::end : Enter::row, job, *end);
}

namespace {

/// Clocks of nodes and of the controller differ by less.
constexpr std::int64_t kClocks = 60;

class Comparison {
 public:
  Comparison(const std::map<std::string, std::string>& host_of,
             const std::map<std::string, std::set<std::string>>& hosts, Duration behind, const Known& known)
      : host_of_(host_of), hosts_(hosts), behind_(behind), known_of_(known) {
    for (const auto& [host, jobs] : hosts) {
      for (const auto& job : jobs) runs_on_[job].push_back(host);
    }
  }

  void look_at(const SlurmJob& job, bool has_steps) {
    const auto found = runs_on_.find(job.id);
    const bool runs = found != runs_on_.end();
    if (will_start(job.state) && runs) {
      add(Finding::Kind::doubled, job, found->second,
          fmt::format("Slurm job {} of {} runs on {}, and slurmctld would start it again; it is held. When it has "
                      "ended: {}, or `scontrol release {}` to run it once more",
                      job.name, job.user, fold_hosts(found->second), cancel_of(job), job.name));
      out_.commands.push_back({"scontrol", "hold", job.name});
      out_.held.insert(job.id);
      spare(job.id, found->second);
    } else if (const auto end = will_start(job.state) ? end_of_waiting(job) : std::nullopt) {
      has_run(job, *end);
    } else if (will_start(job.state) && behind_ > kLongBehind && !job.held) {
      waited_.push_back(job.name);
      out_.held.insert(job.id);
    } else if (holds_nodes(job.state) && !runs && has_steps) {
      look_for_ghost(job);
    } else if (runs && !holds_nodes(job.state) && !will_start(job.state) && !is_ending(job.state)) {
      stranger(job.id, job.user, found->second, fmt::format("which slurmctld has as {}", job.state));
    } else if (runs && holds_nodes(job.state)) {
      will_be_reported(job);
    }
    known_.insert(job.id);
    if (will_start(job.state) && wait_together(job) && !job.held && !out_.held.contains(job.id)) arrays_.push_back(job);
  }

  Reconciliation conclude() {
    for (const auto& [job, hosts] : runs_on_) {
      if (known_.contains(job)) continue;
      forgotten_.insert(job);
      stranger(job, "", hosts, "which slurmctld does not know");
      out_.unknown_up_to = std::max(out_.unknown_up_to, leading_number_or<std::int64_t>(job, 0));
    }
    look_at_those_that_have_run();
    look_at_accepted();
    hold_those_that_waited();
    hold_arrays_that_go_on();
    for (const auto& [node, host] : host_of_) {
      if (out_.spare.contains(host)) out_.drain.push_back(node);
    }
    return std::move(out_);
  }

 private:
  void add(Finding::Kind kind, const SlurmJob& job, std::vector<std::string> hosts, std::string text) {
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

  /// Tasks of an array get numbers of their own when they are started. Whatever has run and is not known to slurmctld
  /// may be one that it has still waiting among others, and would start again. What brought a script of its own is
  /// none.
  void hold_arrays_that_go_on() {
    std::map<std::string, std::vector<std::string>> tasks;  // by array
    std::vector<std::string> unclear;
    for (const auto& job : forgotten_) {
      const auto name = known_of_.names.find(job);
      if (name != known_of_.names.end()) {
        if (is_array_task(name->second)) tasks[name->second.substr(0, name->second.find('_'))].push_back(name->second);
      } else if (!known_of_.accepted.contains(job)) {
        unclear.push_back(job);
      }
    }
    for (const auto& array : arrays_) {
      if (const auto begun = tasks.find(array.id); begun != tasks.end()) {
        hold_array(array, fmt::format("{} of it ran since slurmctld wrote its state: `scancel {}`",
                                      join(begun->second, ", "), join(begun->second, " ")));
      } else if (!unclear.empty()) {
        hold_array(array, fmt::format("{} Slurm jobs that slurmctld does not know ({}) ran since it wrote its state; "
                                      "they may be tasks of it, the accounting does not say: `scancel` those that are",
                                      unclear.size(), few_of(unclear)));
      }
    }
  }

  static std::string few_of(const std::vector<std::string>& jobs) {
    constexpr std::size_t kFew = 10;
    const auto end = jobs.begin() + static_cast<std::ptrdiff_t>(std::min(kFew, jobs.size()));
    return join(std::vector<std::string>(jobs.begin(), end), ", ") + (jobs.size() > kFew ? ", …" : "");
  }

  void hold_array(const SlurmJob& array, const std::string& why) {
    add(Finding::Kind::waited, array, {},
        fmt::format(
            "Slurm job array {} of {} waits for slurmctld as {}, and is held: {}, by their names and not by {}, "
            "which ends all; then `scontrol release {}`",
            array.id, array.user, array.waiting, why, array.id, array.id));
    out_.commands.push_back({"scontrol", "hold", array.name});
    out_.held.insert(array.id);
  }

  void stranger(const std::string& job, const std::string& user, const std::vector<std::string>& hosts,
                const std::string& what) {
    out_.findings.push_back(
        {Finding::Kind::unknown, job, user, hosts,
         fmt::format("Slurm job {} runs on {}, {}: it runs on. Its nodes take no "
                     "other job until it has ended. Tell its user, or end it there: `pkill -f 'slurmstepd: .{}\\.'`",
                     job, fold_hosts(hosts), what, job)});
    spare(job, hosts);
  }

  void look_for_ghost(const SlurmJob& job) {
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
                      job.name, job.user, fold_hosts(blind)));
    }
    const auto end = end_of(job);
    const auto ran = fmt::format("Slurm job {} of {} ran on {} when slurmctld wrote its state, and ", job.name,
                                 job.user, fold_hosts(looked));
    if (end && end->sent_back) {
      add(Finding::Kind::ghost, job, looked,
          ran + fmt::format("was sent back to the queue since; it is there and held: `scontrol release {}`", job.name));
      out_.commands.push_back({"scontrol", "requeuehold", job.name});
      return;
    }
    if (!end && never_began(job)) return send_back(job, looked);
    std::string why = "with which result its nodes do not say (SlurmdDebug=verbose has them write it)";
    if (end && !end->state.empty()) {
      why =
          fmt::format("{}, and that cannot be entered: there is no {} beside slurmctld", describe_end(*end), kEnterEnd);
    }
    Finding lost{
        Finding::Kind::ghost, job.id, job.user, looked,
        ran + "runs there no more: it ended while slurmctld was away, " + why + "; it is CANCELLED in the accounting"};
    if (end && !end->state.empty() && known_of_.can_enter && !ends_all(job, *end))
      return enter(job, *end, looked, std::move(lost));
    out_.findings.push_back(std::move(lost));
    out_.commands.push_back({"scancel", job.name});
  }

  /// slurmctld writes down that a job runs, and then tells its nodes; it may stop in between. Only of a moment ago: the
  /// logs of nodes are kept for a while.
  bool never_began(const SlurmJob& job) const {
    constexpr std::int64_t kMoment = 60;
    if (job.start == 0 || known_of_.state_time == 0 || job.start + kMoment < known_of_.state_time) return false;
    const auto node = known_of_.nodes.find(job.id);
    if (node != known_of_.nodes.end() && node->second.start + kClocks >= job.start) return false;
    return std::all_of(job.nodes.begin(), job.nodes.end(),
                       [&](const auto& name) { return known_of_.logged.contains(name); });
  }

  void send_back(const SlurmJob& job, const std::vector<std::string>& nodes) {
    add(Finding::Kind::returned, job, nodes,
        fmt::format(
            "Slurm job {} of {} had just been started on {} for slurmctld, and never began there: it waits again",
            job.name, job.user, fold_hosts(nodes)));
    out_.commands.push_back({"scontrol", "requeue", job.name});
    // Slurm lets what was queued again wait for two minutes.
    out_.commands.push_back({"scontrol", "update", "JobId=" + job.name, "StartTime=now"});
  }

  /// How this run of the job ended. Slurm's own word counts more than the node's.
  std::optional<End> end_of(const SlurmJob& job) const {
    const auto account = known_of_.accounts.find(job.id);
    if (account != known_of_.accounts.end() && std::abs(account->second.start - job.start) <= 1) return account->second;
    const auto node = known_of_.nodes.find(job.id);
    if (node == known_of_.nodes.end() || job.start == 0 || node->second.end + kClocks < job.start) return std::nullopt;
    auto end = node->second;
    end.end = std::max(end.end, job.start);
    return end;
  }

  /// How a job ended since the state was written.
  std::optional<End> end_since(const std::string& job) const {
    for (const auto* ends : {&known_of_.accounts, &known_of_.nodes}) {
      const auto found = ends->find(job);
      if (found == ends->end() || known_of_.state_time == 0 || found->second.end < known_of_.state_time) continue;
      if (!found->second.sent_back) return found->second;
    }
    return std::nullopt;
  }

  /// What enters a cancelled job is `scancel` by its id, and that of an array's last task is the whole array's.
  static bool ends_all(const SlurmJob& job, const End& end) { return end.state == "CANCELLED" && job.name != job.id; }

  /// What was submitted later than that is another job: numbers come back with an older state.
  std::optional<End> end_of_waiting(const SlurmJob& job) const {
    auto end = end_since(job.id);
    if (end && job.submitted > end->end) end.reset();
    return end;
  }

  void enter(const SlurmJob& job, const End& end, const std::vector<std::string>& hosts, Finding unless) {
    add(Finding::Kind::ended, job, hosts,
        fmt::format("Slurm job {} of {} ended while slurmctld was away: {}, as {}; it is entered so", job.id, job.user,
                    describe_end(end), end.of_accounts ? "the accounting has it" : "its node says"));
    unless.text += ", as its end could not be entered";
    out_.entries.push_back({enter_command(Enter::end, job.id, end), {"scancel", job.name}, std::move(unless)});
  }

  /// It waits for slurmctld, and has run since.
  void has_run(const SlurmJob& job, const End& end) {
    Finding held{
        Finding::Kind::waited,
        job.id,
        job.user,
        {},
        fmt::format("Slurm job {} of {} waited when slurmctld wrote its state, and has run since ({}); it is "
                    "held: {}, or `scontrol release {}` to run it once more",
                    job.name, job.user, end.state.empty() ? "with which result is not known" : describe_end(end),
                    cancel_of(job), job.name)};
    if (known_of_.can_enter && !end.state.empty() && !job.is_array) {
      enter(job, end, {}, std::move(held));
      out_.entries.back().otherwise = {"scontrol", "hold", job.name};
      return;
    }
    out_.findings.push_back(std::move(held));
    out_.commands.push_back({"scontrol", "hold", job.name});
    out_.held.insert(job.id);
  }

  /// Its slurmstepd is there still and has something to tell: it asks every 15 s whether slurmctld is there.
  void will_be_reported(const SlurmJob& job) {
    const auto node = known_of_.nodes.find(job.id);
    if (node == known_of_.nodes.end() || !node->second.of_batch || !known_of_.can_enter) return;
    if (job.start == 0 || node->second.end + kClocks < job.start || node->second.start + kClocks < job.start) return;
    auto end = node->second;
    end.end = std::max(end.end, job.start);
    if (end.state.empty()) end.state = "COMPLETED";  // not used: slurmstepd tells
    out_.entries.push_back({enter_command(Enter::reported, job.id, end), {}, {}});
  }

  /// What slurmctld does not know, and has run and ended since its state. Its number is not given out again.
  void look_at_those_that_have_run() {
    std::vector<Finding> rows;
    for (const auto& [job, _] : known_of_.nodes) {
      const auto end = end_since(job);
      if (!end || known_.contains(job) || runs_on_.contains(job)) continue;
      forgotten_.insert(job);
      out_.unknown_up_to = std::max(out_.unknown_up_to, leading_number_or<std::int64_t>(job, 0));
      if (end->of_accounts) continue;  // it is as it should be
      const bool enters = known_of_.can_enter && !end->state.empty();
      if (enters) out_.entries.push_back({enter_command(Enter::row, job, *end), {}, {}});
      rows.push_back({Finding::Kind::row,
                      job,
                      "",
                      {},
                      fmt::format("Slurm job {} has run and ended ({}), and slurmctld does not know it: its state is "
                                  "older. Its row in the accounting, if there is one (`sacct -j {}`), {}",
                                  job, end->state.empty() ? "with which result is not known" : describe_end(*end), job,
                                  enters ? "gets that end" : "has none")});
    }
    tell_of_rows(std::move(rows));
  }

  /// A state of weeks ago lacks thousands: nobody reads a line for each.
  void tell_of_rows(std::vector<Finding> rows) {
    constexpr std::size_t kFew = 5;
    if (rows.size() <= kFew) {
      std::move(rows.begin(), rows.end(), std::back_inserter(out_.findings));
      return;
    }
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return leading_number_or<std::int64_t>(a.job, 0) < leading_number_or<std::int64_t>(b.job, 0);
    });
    auto all = std::move(rows.front());
    all.text = fmt::format(
        "{} Slurm jobs, {} to {}, have run and ended, and slurmctld does not know them: its state is older. Their rows "
        "in "
        "the accounting, if there are some (`sacct`), {}",
        rows.size(), all.job, rows.back().job, known_of_.can_enter ? "get the ends that are known" : "have none");
    out_.findings.push_back(std::move(all));
  }

  void look_at_accepted() {
    for (const auto& [job, user] : known_of_.accepted) {
      if (known_.contains(job) || runs_on_.contains(job) || known_of_.nodes.contains(job)) continue;
      if (known_of_.accounts.contains(job)) continue;
      out_.kept.insert(job);
      out_.unknown_up_to = std::max(out_.unknown_up_to, leading_number_or<std::int64_t>(job, 0));
      out_.findings.push_back(
          {Finding::Kind::accepted,
           job,
           user,
           {},
           fmt::format("Slurm job {}{} was accepted after slurmctld had written its state, has not run, and is "
                       "known to it no more. Its script and environment lie beside slurmctld in StateSaveLocation, "
                       "underway-accepted/hash.{}/job.{}: submit it again",
                       job, user.empty() ? "" : " of " + user, leading_number_or<std::int64_t>(job, 0) % 10, job)});
    }
  }

  const std::map<std::string, std::string>& host_of_;
  const std::map<std::string, std::set<std::string>>& hosts_;
  std::map<std::string, std::vector<std::string>> runs_on_;
  std::set<std::string> known_;
  Duration behind_;
  const Known& known_of_;
  std::vector<std::string> waited_;
  std::set<std::string> forgotten_;  ///< ids of those that run, or have run since, and are unknown
  std::vector<SlurmJob> arrays_;     ///< of which several tasks wait, and which are not held
  Reconciliation out_;
};

}  // namespace

Reconciliation reconcile(const std::vector<SlurmJob>& slurm_jobs, const std::set<std::string>& with_steps,
                         const std::map<std::string, std::string>& host_of,
                         const std::map<std::string, std::set<std::string>>& hosts, Duration behind,
                         const Known& known) {
  Comparison comparison(host_of, hosts, behind, known);
  for (const auto& job : slurm_jobs) comparison.look_at(job, with_steps.contains(job.name));
  return comparison.conclude();
}

std::vector<std::string> not_held(const std::set<std::string>& held, const std::vector<SlurmJob>& slurm_jobs) {
  std::vector<std::string> out;
  for (const auto& job : slurm_jobs) {
    if (held.contains(job.id) && will_start(job.state) && !job.held) out.push_back(job.name);
  }
  return out;
}

std::set<std::string> cut_off(const std::set<std::string>& silent, const std::vector<SlurmJob>& slurm_jobs,
                              const std::map<std::string, std::string>& host_of,
                              const std::map<std::string, std::set<std::string>>& hosts) {
  std::set<std::string> out;
  for (const auto& job : slurm_jobs) {
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
