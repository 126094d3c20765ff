#include "api/job/explain.hpp"

#include <set>
#include <unordered_map>

#include "api/cluster/status.hpp"
#include "api/nomad/stubs.hpp"
#include "base/allowance.hpp"
#include "base/text.hpp"
#include "model/job/policy.hpp"
#include "model/validate/first_cause.hpp"
#include "ownership/capsules.hpp"
#include "server/gate_cache.hpp"
#include "server/job/dependencies.hpp"

namespace underway::api {

using model::Allocation;
using model::ClientStatus;
using tables::Row;

namespace {

constexpr std::size_t kNamed = 5;
/// Of groups and nodes: an answer of some 40 MB.
constexpr std::size_t kMostVerdicts = 100'000;
/// Of 100 ns (Allowance): who asks chooses how many there are.
constexpr std::uint64_t kStepsOfGroup = 20;
constexpr std::uint64_t kStepsOfAllocation = 30;
constexpr std::uint64_t kStepsOfLook = 2;

using Rows = std::vector<Row<Allocation>>;

std::string plural(std::size_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

std::string short_id(const std::string& id) { return id.substr(0, 8); }

std::string when(std::int64_t unix_ns, TimePoint now) {
  const TimePoint at = from_unix_nanos(unix_ns);
  return fmt::format("at {} (in {})", format_time(at), human_duration(std::max(at - now, Duration{0})));
}

/// Allocations of which the same is to be said.
struct Alike {
  std::set<std::string> nodes;
  std::vector<std::string> why;
  std::string advice;
  std::size_t count = 0;

  void add(const Allocation& allocation) {
    ++count;
    nodes.insert(allocation.node_name);
  }
  void because(std::string line) {
    if (why.size() < kNamed && std::find(why.begin(), why.end(), line) == why.end()) why.push_back(std::move(line));
  }
};

class GroupExplainer {
 public:
  /// `rows`: of the group.
  GroupExplainer(const tables::Tables& tables, const model::Job& job, const model::TaskGroup& group, const Rows& rows,
                 TimePoint now)
      : tables_(tables), job_(job), group_(group), rows_(rows), now_(now) {}

  wire::ExplainedGroup explain() {
    out_.name = group_.name;
    const bool counted = job_.type == model::JobType::service || job_.type == model::JobType::batch;
    if (counted && !job_.stop) out_.wanted = group_.count;
    Allowance::spend(kStepsOfGroup);
    for (const auto& row : rows_) {
      Allowance::spend(kStepsOfAllocation);
      look_at(*row);
    }
    const std::int64_t missing = look_at_placement();
    if (!counted && !job_.stop) {
      out_.wanted = out_.placed + missing;
      tell_of_nodes_out_of_use();
    } else if (missing > 0) {
      tell_of_nodes_out_of_use();
    }
    tell_alike();
    look_at_rollout();
    return std::move(out_);
  }

 private:
  void look_at(const Allocation& allocation) {
    if (allocation.server_terminal()) {
      if (allocation.client_terminal()) return;
      list(allocation);
      stopping_.add(allocation);
      return;
    }
    if (allocation.client_status == ClientStatus::failed || allocation.client_status == ClientStatus::lost)
      return look_at_failed(allocation);
    if (allocation.client_terminal()) return;
    list(allocation);
    ++out_.placed;
    out_.running += allocation.client_status == ClientStatus::running ? 1 : 0;
    out_.ready += allocation.is_ready() ? 1 : 0;
    if (allocation.job_version != job_.version) {
      outdated_.add(allocation);
      older_version_ = std::max(older_version_, allocation.job_version);
    }
    if (!look_at_node(allocation)) look_at_start(allocation);
  }

  void list(const Allocation& allocation) {
    auto entry = describe::project<wire::ExplainedAllocation>(allocation);
    entry.where = where(allocation);
    out_.allocations.push_back(std::move(entry));
  }

  /// Why it is on its node.
  std::string where(const Allocation& allocation) const {
    std::string text;
    if (job_.type == model::JobType::system || job_.type == model::JobType::sysbatch) {
      text = fmt::format("a {} job runs on every node of pool '{}' that suits it", describe::spell(job_.type),
                         job_.node_pool);
    } else {
      const auto& metric = allocation.metrics;
      const std::int64_t suited = metric.nodes_evaluated - metric.nodes_filtered;
      text = suited == 1 ? fmt::format("the only one of {} nodes that suits", metric.nodes_evaluated)
                         : fmt::format("the best of {} nodes that suit", suited);
      for (const auto& score : metric.scores) {
        if (score.node_id != allocation.node_id || suited == 1) continue;
        text += fmt::format(", score {:.3f}", score.norm_score);
        for (const auto& [term, value] : score.scores) text += fmt::format(", {} {:.3f}", term, value);
      }
    }
    if (!allocation.previous_allocation.empty())
      text += fmt::format("; it replaces {}", short_id(allocation.previous_allocation));
    return text;
  }

  /// Whether its node is what is wrong.
  bool look_at_node(const Allocation& allocation) {
    if (allocation.client_status == ClientStatus::unknown) {
      auto& alike = unknown_[""];
      alike.add(allocation);
      alike.because(fmt::format("{} is not heard of since {}", allocation.node_name,
                                format_time(from_unix_nanos(allocation.unknown_since))));
      alike.advice = "underway node status " + allocation.node_name;
      return true;
    }
    const auto node = tables_.find_node(allocation.node_id);
    const bool system = job_.type == model::JobType::system || job_.type == model::JobType::sysbatch;
    const bool drained = node && node->drain && !(system && node->drain->ignore_system_jobs);
    if (!drained && !allocation.transition.migrate) return false;
    auto& alike = migrating_[""];
    alike.add(allocation);
    std::string why = system ? "system jobs stop last" : "it goes when others of its job work elsewhere (migrate)";
    if (allocation.transition.migrate) why = "it moves when there is a place for it";
    if (node && node->slurm_drain && !node->slurm_drain->description.empty()) why = node->slurm_drain->description;
    alike.because(fmt::format("{} is being drained: {}", allocation.node_name, why));
    alike.advice = "underway node drain -monitor " + allocation.node_name;
    return true;
  }

  void look_at_start(const Allocation& allocation) {
    if (const auto waits = server::waiting_for(answers_, allocation, &guard_)) {
      auto& alike = (allocation.is_ready() ? unsupported_ : waiting_)[*waits];
      alike.add(allocation);
      describe_dependencies(allocation, alike);
      return;
    }
    if (allocation.is_ready() || look_at_restarts(allocation)) return;
    const bool runs = allocation.client_status == ClientStatus::running;
    auto& alike = runs ? unready_[""] : starting_[""];
    alike.add(allocation);
    std::string why = allocation.health.description;
    if (why.empty()) why = cause_in_words(allocation);
    if (why.empty() && runs) why = "its checks do not pass yet";
    if (!why.empty()) alike.because(fmt::format("{} on {}: {}", short_id(allocation.id), allocation.node_name, why));
    if (alike.advice.empty())
      alike.advice = fmt::format("underway alloc {} {}", runs ? "checks" : "status", short_id(allocation.id));
  }

  /// Whether a task of it has failed, and is to be started again.
  bool look_at_restarts(const Allocation& allocation) {
    for (const auto& [task, state] : allocation.task_states) {
      if (state.state == model::TaskRunState::running || (!state.failed && state.restarts == 0)) continue;
      auto& alike = failed_["starting again after a failure"];
      alike.add(allocation);
      alike.because(fmt::format("{} on {}: {}, {}", short_id(allocation.id), allocation.node_name,
                                cause_in_words(allocation),
                                plural(static_cast<std::size_t>(state.restarts), "restart")));
      if (alike.advice.empty())
        alike.advice = fmt::format("underway alloc logs -stderr {} {}", short_id(allocation.id), task);
      return true;
    }
    return false;
  }

  void describe_dependencies(const Allocation& allocation, Alike& alike) const {
    const auto tell = [&](const model::Dependency& dependency) {
      const bool here = dependency.scope == model::DependencyScope::node;
      std::string state =
          state_of_dependency(dependency, here ? allocation.node_id : "", here ? allocation.node_name : "");
      if (state.empty()) return;
      alike.because(std::move(state));
      alike.advice = tables_.find_job(job_.ns, dependency.job)
                         ? "underway job explain " + dependency.job
                         : fmt::format("underway job run FILE (which declares '{}')", dependency.job);
    };
    for (const auto& dependency : job_.depends_on) tell(dependency);
    for (const auto& dependency : group_.depends_on) tell(dependency);
  }

  /// What keeps a dependency from working; empty when it works. `node_id` empty: anywhere.
  std::string state_of_dependency(const model::Dependency& dependency, const std::string& node_id,
                                  const std::string& node_name) const {
    const auto other = tables_.find_job(job_.ns, dependency.job);
    if (!other) return fmt::format("'{}' is not registered", dependency.job);
    if (other->stop) return fmt::format("'{}' is stopped", dependency.job);
    std::string state;
    for (const auto& row : tables_.allocations_of_job(job_.ns, dependency.job)) {
      Allowance::spend(kStepsOfLook);
      if (row->server_terminal() || (!node_id.empty() && row->node_id != node_id)) continue;
      if (row->is_ready() && row->client_status == ClientStatus::running) return {};
      const auto words = cause_in_words(*row);
      state = fmt::format("'{}' on {} is {}{}{}", dependency.job, row->node_name, describe::spell(row->client_status),
                          row->client_status == ClientStatus::running ? " and not healthy yet" : "",
                          words.empty() ? "" : ": " + words);
    }
    if (!state.empty()) return state;
    return node_id.empty() ? fmt::format("'{}' is placed nowhere", dependency.job)
                           : fmt::format("'{}' is not placed on {}", dependency.job, node_name);
  }

  void look_at_failed(const Allocation& allocation) {
    if (!allocation.next_allocation.empty() || job_.stop) return;
    const std::string status(describe::spell(allocation.client_status));
    const auto follow_up = tables_.find_evaluation(allocation.follow_up_eval);
    std::string words = cause_in_words(allocation);
    auto& alike = failed_[status];
    alike.add(allocation);
    std::string line = fmt::format("{} on {}", short_id(allocation.id), allocation.node_name);
    if (!words.empty()) line += ": " + words;
    if (follow_up && !follow_up->terminal() && follow_up->wait_until > 0)
      line += "; it is replaced " + when(follow_up->wait_until, now_);
    else if (!model::reschedule_policy(job_, group_).enabled())
      line += "; its group says not to replace what failed (reschedule)";
    else if (!allocation.reschedules.empty())
      line += fmt::format("; it was replaced {} before", plural(allocation.reschedules.size(), "time"));
    alike.because(std::move(line));
    // What could not be started has written nothing.
    const auto cause = model::first_cause(allocation.task_states);
    alike.advice =
        (cause && cause->hopeless ? "mend the job's file; underway alloc status " : "underway alloc logs -stderr ") +
        short_id(allocation.id);
  }

  /// How many could not be placed.
  std::int64_t look_at_placement() {
    for (const auto& evaluation : tables_.evaluations_of_job(job_.ns, job_.id)) {
      Allowance::spend(kStepsOfLook);
      if (evaluation->status == model::EvalStatus::pending && evaluation->wait_until <= unix_nanos(now_)) {
        out_.reasons.push_back(
            {"placement", fmt::format("evaluation {} has not been looked at yet", short_id(evaluation->id)), {}, ""});
      }
      const auto it = evaluation->failed_groups.find(group_.name);
      if (evaluation->status != model::EvalStatus::blocked || it == evaluation->failed_groups.end()) continue;
      const auto queued = evaluation->queued.find(group_.name);
      const std::int64_t missing =
          queued != evaluation->queued.end() ? queued->second : it->second.coalesced_failures + 1;
      wire::Reason reason;
      reason.kind = "placement";
      reason.what = plural(static_cast<std::size_t>(missing), "allocation") + " cannot be placed";
      reason.why = why_unplaced(*evaluation, it->second);
      reason.why.push_back(fmt::format("evaluation {} waits for a node to change, to come, or to have room again",
                                       short_id(evaluation->id)));
      reason.advice = "underway job explain -nodes " + job_.id;
      out_.reasons.push_back(std::move(reason));
      return missing;
    }
    return 0;
  }

  std::vector<std::string> why_unplaced(const model::Evaluation& evaluation, const model::AllocMetric& metric) const {
    std::vector<std::string> lines;
    const std::string about = "group " + group_.name + ": ";
    if (evaluation.status_description.starts_with(about))
      lines.push_back(evaluation.status_description.substr(about.size()));
    if (metric.nodes_evaluated == 0)
      lines.push_back(
          fmt::format("no node of pool '{}' is ready in the datacenters that the job asks for", job_.node_pool));
    const auto of = [&](std::int64_t nodes) { return fmt::format("{} of {} nodes: ", nodes, metric.nodes_evaluated); };
    for (const auto& [reason, nodes] : metric.constraint_filtered)
      lines.push_back(of(nodes) + scheduler::filter_in_words(reason));
    for (const auto& [dimension, nodes] : metric.dimension_exhausted) {
      const bool amount = dimension == "cpu" || dimension == "memory" || dimension == "disk";
      lines.push_back(of(nodes) + (amount ? "not enough " + dimension + " is free" : dimension));
    }
    return lines;
  }

  /// Nodes that might have taken one, if somebody had not said otherwise.
  void tell_of_nodes_out_of_use() {
    std::set<std::string> draining, ineligible, silent;
    for (const auto& node : tables_.nodes()) {
      Allowance::spend(kStepsOfLook);
      if (job_.node_pool != "all" && node->node_pool != job_.node_pool) continue;
      if (node->silent())
        silent.insert(node->name);
      else if (node->drain)
        draining.insert(node->name);
      else if (node->eligibility == model::Eligibility::ineligible)
        ineligible.insert(node->name);
    }
    const auto tell = [&](const std::set<std::string>& names, const char* state, const std::string& advice) {
      if (names.empty()) return;
      out_.reasons.push_back({"node",
                              fmt::format("{} {}: {}", plural(names.size(), "node"), state,
                                          join_some(std::vector(names.begin(), names.end()), kNamed)),
                              {},
                              advice + *names.begin()});
    };
    tell(ineligible, "not eligible", "underway node eligibility -enable ");
    tell(draining, "being drained", "underway node drain -monitor ");
    tell(silent, "not heard of", "underway node status ");
  }

  void look_at_rollout() {
    const auto& rollouts = tables_.deployments_of_job(job_.ns, job_.id);
    if (rollouts.empty() || rollouts.front()->job_version != job_.version) return;
    const model::Deployment& rollout = *rollouts.front();
    const auto it = rollout.groups.find(group_.name);
    if (it == rollout.groups.end()) return;
    const auto& state = it->second;
    const std::string id = short_id(rollout.id);
    const std::string behind =
        outdated_.count == 0
            ? std::string()
            : fmt::format("{} still run an older version: on {}", plural(outdated_.count, "allocation"),
                          join_some(std::vector(outdated_.nodes.begin(), outdated_.nodes.end()), kNamed));
    wire::Reason reason;
    reason.kind = "rollout";
    if (!behind.empty()) reason.why.push_back(behind);
    if (state.unhealthy_allocs > 0)
      reason.why.push_back(
          fmt::format("{} unhealthy", plural(static_cast<std::size_t>(state.unhealthy_allocs), "allocation")));
    if (rollout.status == model::DeploymentStatus::paused) {
      reason.what = fmt::format("rollout {} of version {} is paused", id, rollout.job_version);
      reason.advice = "underway deployment resume " + id;
    } else if (state.desired_canaries > 0 && !state.promoted && rollout.active()) {
      reason.what = fmt::format("rollout {} of version {}: {} of {} healthy; the others follow when promoted", id,
                                rollout.job_version, state.healthy_allocs,
                                plural(static_cast<std::size_t>(state.desired_canaries), "canary allocation"));
      if (rollout.requires_promotion() && !state.auto_promote && state.healthy_allocs >= state.desired_canaries)
        reason.advice = "underway deployment promote " + id;
    } else if (rollout.status == model::DeploymentStatus::failed &&
               (outdated_.count > 0 || state.healthy_allocs < state.desired_total)) {
      reason.what =
          fmt::format("rollout {} of version {} has failed: nothing more is changed", id, rollout.job_version);
      reason.why.push_back(rollout.status_description);
      reason.advice = outdated_.count > 0 ? fmt::format("underway job revert {} {}", job_.id, older_version_)
                                          : "underway job history -p " + job_.id;
    } else if (rollout.status == model::DeploymentStatus::running && state.healthy_allocs < state.desired_total) {
      const auto policy = model::update_policy(job_, group_);
      reason.what = fmt::format("rollout {} of version {} goes on: {} of {} healthy, {} at a time", id,
                                rollout.job_version, state.healthy_allocs, state.desired_total, policy.max_parallel);
      if (state.require_progress_by > 0)
        reason.why.push_back("it fails unless another one becomes healthy " + when(state.require_progress_by, now_));
    } else {
      return;
    }
    out_.reasons.push_back(std::move(reason));
  }

  void tell(const char* kind, Alike& alike, const std::string& state) {
    if (alike.count == 0) return;
    out_.reasons.push_back({kind,
                            fmt::format("{} {}: on {}", plural(alike.count, "allocation"), state,
                                        join_some(std::vector(alike.nodes.begin(), alike.nodes.end()), kNamed)),
                            std::move(alike.why), std::move(alike.advice)});
  }

  void tell_alike() {
    for (auto& [what, alike] : waiting_) tell("dependency", alike, "waiting for " + what);
    for (auto& [what, alike] : unsupported_) tell("dependency", alike, "running on without " + what);
    for (auto& [status, alike] : failed_) tell("failure", alike, status);
    for (auto& [none, alike] : unready_) tell("health", alike, "running and not ready");
    for (auto& [none, alike] : starting_) tell("start", alike, "being started");
    for (auto& [none, alike] : migrating_) tell("drain", alike, "to leave a node that is being drained");
    for (auto& [none, alike] : unknown_) tell("node", alike, "not heard of");
    tell("stop", stopping_, "still stopping");
  }

  using ByState = std::map<std::string, Alike>;
  const tables::Tables& tables_;
  server::GateCache answers_{tables_};
  ownership::CapsuleGuard guard_;
  const model::Job& job_;
  const model::TaskGroup& group_;
  const Rows& rows_;
  TimePoint now_;
  wire::ExplainedGroup out_;
  std::int64_t older_version_ = 0;
  ByState waiting_, unsupported_, failed_, unready_, starting_, migrating_, unknown_;
  Alike stopping_, outdated_;
};

void ask_nodes(const model::Job& job, std::vector<scheduler::NodeVerdict> verdicts, wire::ExplainedGroup& group) {
  std::set<std::string> served;
  if (job.type == model::JobType::system || job.type == model::JobType::sysbatch) {
    for (const auto& allocation : group.allocations) served.insert(allocation.node_id);
  }
  for (auto& verdict : verdicts) {
    if (served.contains(verdict.node->id)) verdict.against = "it has its one: a system job has one on each node";
    group.nodes.push_back({verdict.node->id, verdict.node->name, std::move(verdict.against)});
  }
}

/// Before any node is asked: so many verdicts are more than anybody reads, and than there is memory for.
void check_verdicts(const tables::Tables& tables, const model::Job& job) {
  const std::size_t nodes = tables.nodes().size();
  if (job.groups.size() * nodes <= kMostVerdicts) return;
  throw Error(Code::too_large, fmt::format("job '{}' cannot be explained node by node", job.id))
      .because(fmt::format("{} on {} are {} verdicts; {} are told at most", plural(job.groups.size(), "group"),
                           plural(nodes, "node"), job.groups.size() * nodes, kMostVerdicts))
      .advise("leave -nodes out: for each reason it is counted how many nodes have it");
}

std::unordered_map<std::string_view, Rows> rows_by_group(const tables::Tables& tables, const model::Job& job) {
  std::unordered_map<std::string_view, Rows> out;
  for (const auto& row : tables.allocations_of_job(job.ns, job.id)) {
    Allowance::spend(kStepsOfLook);
    out[row->group].push_back(row);
  }
  return out;
}

/// What is nearest: what holds up everything, then what somebody can do.
std::string nearest_advice(const wire::Explanation& explanation) {
  for (const auto& reason : explanation.reasons) {
    if (!reason.advice.empty()) return reason.advice;
  }
  for (const auto& group : explanation.groups) {
    for (const auto& reason : group.reasons) {
      if (!reason.advice.empty()) return reason.advice;
    }
  }
  return {};
}

}  // namespace

wire::Explanation explain_job(const tables::Tables& tables, const model::Job& job, TimePoint now,
                              const JudgeNodes& judge) {
  if (judge) check_verdicts(tables, job);
  auto out = describe::project<wire::Explanation>(job);
  if (job.stop) out.reasons.push_back({"stop", "the job is stopped", {}, "underway job run FILE"});
  auto rows = rows_by_group(tables, job);
  for (const auto& group : job.groups) {
    auto& entry = out.groups.emplace_back(GroupExplainer(tables, job, group, rows[group.name], now).explain());
    if (judge) ask_nodes(job, judge(group), entry);
  }
  out.advice = nearest_advice(out);
  return out;
}

}  // namespace underway::api
