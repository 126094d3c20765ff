#include "impact/prospect.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "impact/detail/parts.hpp"
#include "model/capsule/capsule_name.hpp"
#include "model/job/policy.hpp"
#include "scheduler/reconcile/update.hpp"
#include "scheduler/schedule.hpp"

namespace underway::impact {

using model::Job;
using model::JobType;
using model::TaskGroup;
using model::UpdatePolicy;

namespace {

constexpr std::size_t kNamed = 3;
/// slurm.conf(5): SlurmdTimeout.
constexpr auto kSlurmdTimeout = std::chrono::seconds(300);

/// As slurm.conf has it.
std::string slurm_seconds(Duration span) {
  return fmt::format("{} s", std::chrono::duration_cast<std::chrono::seconds>(span).count());
}

/// Of a slurm.conf that says nothing of it the default; nothing when its value is not known yet, as in a template.
std::optional<Duration> slurmd_timeout_in(std::string_view text) {
  for (const auto& row : split(text, '\n')) {
    const auto line = trim(std::string_view(row));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || lower(trim(line.substr(0, equals))) != "slurmdtimeout") continue;
    const auto value = parse_leading_number<std::int64_t>(trim(line.substr(equals + 1)));
    const bool whole = value && (value->rest.empty() || value->rest[0] == ' ' || value->rest[0] == '#');
    return whole ? std::optional<Duration>(std::chrono::seconds(value->value)) : std::nullopt;
  }
  return kSlurmdTimeout;
}

/// What the slurm.conf of the job's cluster says, where a job of it brings one.
std::optional<Duration> slurmd_timeout(const tables::Tables& tables, const Job& slurmd) {
  for (const auto& row : tables.jobs(slurmd.ns)) {
    if (row->stop || row->cluster != slurmd.cluster) continue;
    for (const auto& group : row->groups) {
      for (const auto& task : group.tasks) {
        for (const auto& given : task.templates) {
          if (given.data.find("SlurmctldHost") != std::string::npos) return slurmd_timeout_in(given.data);
        }
      }
    }
  }
  return std::nullopt;
}

/// What is the same for all groups of a job, looked up once: a client chooses how many there are.
class OfJob {
 public:
  OfJob(const tables::Tables& tables, const Job& current, const Job& proposed) : tables_(tables), proposed_(proposed) {
    const auto versions = tables.job_versions(current.ns, current.id);
    has_stable_version = std::any_of(versions.begin(), versions.end(), [](const auto& row) { return row->job.stable; });
  }
  std::optional<Duration> slurmd_timeout() const {
    if (!timeout_) timeout_ = impact::slurmd_timeout(tables_, proposed_);
    return *timeout_;
  }
  bool has_stable_version = false;

 private:
  const tables::Tables& tables_;
  const Job& proposed_;
  mutable std::optional<std::optional<Duration>> timeout_;
};

class Foresight {
 public:
  Foresight(const OfJob& known, const Job& current, const Job& proposed, const TaskGroup& before,
            const TaskGroup& after, std::set<std::string> first, std::size_t count)
      : known_(known),
        current_(current),
        proposed_(proposed),
        before_(before),
        after_(after),
        first_(std::move(first)),
        count_(count),
        policy_(model::update_policy(proposed, after)) {}

  Prospect look() const { return {name(), rollout(), if_it_fails()}; }

 private:
  bool system() const { return proposed_.type == JobType::system; }
  /// Placed beside those that they shall replace, which go on until they are promoted.
  bool beside() const { return !system() && policy_.canary > 0; }
  bool slurmd() const { return detail::slurmd_of(before_) != nullptr; }

  std::string name() const {
    if (model::capsule_task(after_) != nullptr)
      return fmt::format("capsule '{}'", model::capsule_name(proposed_, after_));
    return proposed_.groups.size() == 1 ? proposed_.id : fmt::format("group '{}' of '{}'", after_.name, proposed_.id);
  }

  std::size_t canaries() const {
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(policy_.canary, 0));
    // Of a system job it is percent of the nodes, rounded up.
    return std::min(count_, system() ? (count_ * wanted + 99) / 100 : wanted);
  }
  std::size_t at_a_time() const {
    return std::min(count_, static_cast<std::size_t>(std::max<std::int64_t>(policy_.max_parallel, 1)));
  }

  std::string rollout() const {
    if (!policy_.rolls()) return count_ == 1 ? "at once" : fmt::format("all {} at once", count_);
    std::string out;
    const auto first = canaries();
    if (first > 0 && first < count_)
      out = fmt::format("{} of {} first, then {}{} at a time", first, count_,
                        policy_.auto_promote ? "" : "when somebody promotes it ", at_a_time());
    else if (first > 0)
      out = policy_.auto_promote ? "as a canary" : "as a canary, until somebody promotes it";
    else
      out = count_ == 1 ? "watched" : fmt::format("{} of {} at a time", at_a_time(), count_);
    if (goes_back()) return out + "; it goes back by itself when one fails";
    return out + (policy_.progress_deadline == Duration{0} ? "; it stops with the first that fails"
                                                           : "; it stops when one fails");
  }

  /// A cluster's job goes back with the first that is bad, and without a stable version to what works beside that.
  bool of_cluster() const { return !current_.cluster.empty(); }
  bool has_version_to_go_back_to() const { return of_cluster() || known_.has_stable_version; }
  bool goes_back() const { return policy_.rolls() && policy_.auto_revert && has_version_to_go_back_to(); }

  static Duration longest_kill(const TaskGroup& group) {
    Duration longest{0};
    for (const auto& task : group.tasks) longest = std::max(longest, task.kill_timeout);
    return longest;
  }
  /// The old one is stopped, the new one has until then to show that it works, and is stopped.
  Duration longest_absence() const {
    const bool at_once = policy_.progress_deadline == Duration{0} || (of_cluster() && goes_back());
    return longest_kill(before_) + (at_once ? policy_.healthy_deadline : policy_.progress_deadline) +
           longest_kill(after_);
  }

  /// "c1 is", "c1, c2 and 4 more are", "2 of 3 are"
  std::string who() const {
    const std::size_t touched = !policy_.rolls() ? count_
                                : canaries() > 0 ? std::min(canaries(), at_a_time())
                                                 : at_a_time();
    if (system() && policy_.rolls() && !first_.empty()) {
      std::vector<std::string> names(first_.begin(), first_.end());
      const std::size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
      names.resize(names.size() - more);
      return join(names, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "") +
             (first_.size() == 1 ? " is" : " are");
    }
    if (system()) return count_ == 1 ? "its node is" : fmt::format("all {} nodes are", count_);
    return count_ == 1 ? name() + " is"
                       : fmt::format("{} of {} of {} {}", touched, count_, name(), touched == 1 ? "is" : "are");
  }

  std::string if_it_fails() const {
    if (beside() && policy_.rolls())
      return "what runs now goes on beside it" + std::string(goes_back() ? "; then it goes back" : "");
    std::string out =
        who() + (system() ? " without " + (slurmd() ? std::string("slurmd") : name()) : std::string(" away"));
    const auto timeout = slurmd() ? known_.slurmd_timeout() : std::nullopt;
    if (!goes_back()) {
      out += " until somebody mends it";
      if (timeout) out += fmt::format(", SlurmdTimeout is {}", slurm_seconds(*timeout));
      if (policy_.rolls() && policy_.auto_revert) out += ": no earlier version is known to be good yet";
      return out;
    }
    out += fmt::format(" for at most {}", human_duration(longest_absence()));
    if (timeout)
      out += fmt::format(
          ", SlurmdTimeout is {}{}", slurm_seconds(*timeout),
          longest_absence() < *timeout || *timeout == Duration{0} ? "" : ", after which Slurm queues its jobs again");
    return out + "; then it goes back";
  }

  const OfJob& known_;
  const Job& current_;
  const Job& proposed_;
  const TaskGroup& before_;
  const TaskGroup& after_;
  const std::set<std::string> first_;
  const std::size_t count_;
  const UpdatePolicy policy_;
};

}  // namespace

std::vector<Prospect> prospects_of(const tables::Tables& tables, const Job& proposed, const Places& first) {
  std::vector<Prospect> out;
  const auto current = tables.find_job(proposed.ns, proposed.id);
  if (!current || current->stop || proposed.stop || proposed.runs_to_its_end()) return out;
  const OfJob known(tables, *current, proposed);
  const detail::Living living(tables, *current);
  const auto groups = detail::groups_by_name(proposed);
  for (const auto& before : current->groups) {
    const auto found = groups.find(before.name);
    const auto* after = found == groups.end() ? nullptr : found->second;
    const auto live = living.of(before.name);
    if (after == nullptr || live == 0) continue;
    if (current->meta == proposed.meta && !scheduler::tasks_updated(before, *after)) continue;
    const auto places = first.find(before.name);
    const auto wanted =
        proposed.type == JobType::system ? live : static_cast<std::size_t>(std::max<std::int64_t>(after->count, 0));
    if (wanted == 0) continue;
    out.push_back(Foresight(known, *current, proposed, before, *after,
                            places == first.end() ? std::set<std::string>() : places->second, std::min(live, wanted))
                      .look());
  }
  return out;
}

}  // namespace underway::impact
