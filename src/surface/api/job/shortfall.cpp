#include "api/job/shortfall.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "model/validate/first_cause.hpp"
#include "ownership/capsules.hpp"
#include "server/job/job_decisions.hpp"
#include "server/job/standstill.hpp"

namespace underway::api {

using model::Allocation;
using model::ClientStatus;
using model::Deployment;
using model::DeploymentStatus;

namespace {

constexpr std::size_t kNamedShort = 5;

bool is_bad(const Allocation& allocation) {
  return allocation.client_status == ClientStatus::failed || allocation.health.healthy == false;
}

/// Whether it has worked for so long since its verdict that nobody needs to mend anything: its verdict stands, and a
/// program that crashed once when it was first started has run ever since.
bool has_recovered(const Allocation& allocation, TimePoint now) {
  constexpr auto kSteady = std::chrono::minutes(5);
  if (allocation.client_status != ClientStatus::running || !allocation.health.ready) return false;
  return std::ranges::all_of(allocation.task_states, [&](const auto& entry) {
    const auto& task = entry.second;
    return task.state != model::TaskRunState::running ||
           from_unix_nanos(std::max(task.started_at, task.last_restart)) + kSteady <= now;
  });
}

/// What its tasks failed of; else what its node found wrong with it.
std::string cause_of(const Allocation& allocation) {
  if (const auto cause = model::first_cause(allocation.task_states)) return cause->text;
  return allocation.health.description.empty() ? allocation.client_description : allocation.health.description;
}

/// What of a job runs, and what of one of its versions does not work.
struct Picture {
  std::map<std::int64_t, std::size_t> running;  ///< by version
  std::size_t wanted = 0;
  std::set<std::string> bad_nodes;
  std::size_t recovered = 0;
  std::string cause;

  void note_bad(const Allocation& allocation) {
    bad_nodes.insert(allocation.node_name);
    if (cause.empty()) cause = cause_of(allocation);
  }
  /// The newest of the versions that run beside `version`; nothing when only that runs.
  std::optional<std::int64_t> other_version(std::int64_t version) const {
    for (auto it = running.rbegin(); it != running.rend(); ++it) {
      if (it->first != version) return it->first;
    }
    return std::nullopt;
  }
  /// "; 5 of 6 run version 2"; empty when all is of `version`.
  std::string others(std::int64_t version) const {
    std::string out;
    for (const auto& [other, count] : running) {
      if (other == version) continue;
      out += out.empty() ? fmt::format("; {} of {} run version {}", count, wanted, other)
                         : fmt::format(", {} version {}", count, other);
    }
    return out;
  }
};

/// What belongs to the rollout counts by its verdict, also when something else runs in its place by now; without `now`
/// also when it has recovered.
Picture picture_of(const tables::Tables& tables, const model::Job& job, std::int64_t version, const Deployment* rollout,
                   std::optional<TimePoint> now = {}) {
  Picture picture;
  for (const auto& row : tables.allocations_of_job(job.ns, job.id)) {
    const bool of_rollout = rollout != nullptr && row->deployment_id == rollout->id;
    if (is_bad(*row) && (of_rollout || (!row->server_terminal() && row->job_version == version))) {
      if (now && has_recovered(*row, *now))
        ++picture.recovered;
      else
        picture.note_bad(*row);
    }
    if (row->server_terminal()) continue;
    if (!row->client_terminal()) ++picture.running[row->job_version];
    if (!row->client_terminal() || row->client_status == ClientStatus::failed) ++picture.wanted;
  }
  return picture;
}

/// "version 3 failed on c1"
std::string failed_on(std::int64_t version, const Picture& picture) {
  return fmt::format("version {} failed", version) +
         (picture.bad_nodes.empty()
              ? ""
              : " on " + join_some(std::vector(picture.bad_nodes.begin(), picture.bad_nodes.end()), kNamedShort));
}

/// Where to go back to: what runs, else the newest stable version.
std::optional<std::int64_t> version_to_go_back_to(const tables::Tables& tables, const model::Job& job,
                                                  const Picture& picture) {
  if (const auto other = picture.other_version(job.version)) return other;
  std::optional<std::int64_t> newest;
  for (const auto& row : tables.job_versions(job.ns, job.id)) {
    if (row->job.stable && row->job.version < job.version) newest = std::max(newest.value_or(0), row->job.version);
  }
  return newest;
}

std::string advice_after_failure(const model::Job& job, std::optional<std::int64_t> back) {
  return "mend the file and apply it" +
         (back ? fmt::format(", or go back: underway job revert {} {}", job.id, *back) : "");
}

bool all_healthy(const Deployment& rollout) {
  return std::all_of(rollout.groups.begin(), rollout.groups.end(),
                     [](const auto& group) { return group.second.healthy_allocs >= group.second.desired_total; });
}

wire::Shortfall of_rollout(const tables::Tables& tables, const model::Job& job, const Deployment& rollout,
                           const Picture& picture, TimePoint now) {
  const std::string id = rollout.id.substr(0, 8);
  const std::string others = picture.others(job.version);
  wire::Shortfall out{
      .job = job.id, .version = job.version, .needs_you = true, .what = {}, .why = picture.cause, .advice = {}};
  static const ownership::CapsuleGuard guard;
  std::int64_t healthy = 0, desired = 0;
  for (const auto& [name, state] : rollout.groups) {
    healthy += state.healthy_allocs;
    desired += state.desired_total;
  }
  if (rollout.status == DeploymentStatus::paused) {
    out.what = fmt::format("the rollout of version {} is paused", job.version) + others;
    out.advice = "underway deployment resume " + id;
  } else if (waits_for_person(rollout)) {
    out.what =
        fmt::format("the rollout of version {} waits for somebody to promote its canaries", job.version) + others;
    out.advice = fmt::format("underway deployment promote {0}, or: underway deployment fail {0}", id);
  } else if (!picture.bad_nodes.empty()) {
    out.goes_on = true;
    out.what = failed_on(job.version, picture) + ", and its rollout goes on" + others;
    out.advice = "underway deployment fail " + id + ", then " +
                 advice_after_failure(job, version_to_go_back_to(tables, job, picture));
  } else if (const auto still = server::find_standstill(tables, rollout, now, &guard)) {
    out.what = fmt::format("the rollout of version {} has stood still for {}: {} of {} healthy", job.version,
                           human_duration(still->since), healthy, desired) +
               others;
    out.why = still->why;
    out.advice = still->advice;
  } else {
    out.needs_you = false;
    out.what = fmt::format("version {} is being rolled out: {} of {} healthy", job.version, healthy, desired) + others;
    out.advice = "underway deployment status -monitor " + id;
  }
  return out;
}

}  // namespace

bool waits_for_person(const Deployment& rollout) {
  return rollout.requires_promotion() &&
         std::any_of(rollout.groups.begin(), rollout.groups.end(), [](const auto& group) {
           return group.second.desired_canaries > 0 && !group.second.promoted && !group.second.auto_promote;
         });
}

std::optional<wire::Shortfall> shortfall_of(const tables::Tables& tables, const model::Job& job, TimePoint now) {
  if (job.stop || job.runs_to_its_end() || job.starts_others()) return std::nullopt;
  const auto& rollouts = tables.deployments_of_job(job.ns, job.id);
  const Deployment* rollout =
      !rollouts.empty() && rollouts.front()->job_version == job.version ? rollouts.front().get() : nullptr;
  const auto picture = picture_of(tables, job, job.version, rollout, now);
  if (rollout != nullptr && rollout->active()) {
    auto out = of_rollout(tables, job, *rollout, picture, now);
    // All that runs is of its version, and only waits to be found well.
    if (!out.needs_you && picture.others(job.version).empty()) return std::nullopt;
    return out;
  }
  const std::string others = picture.others(job.version);
  const bool works_again = picture.recovered > 0 && picture.bad_nodes.empty() && others.empty();
  const bool rollout_failed =
      rollout != nullptr && rollout->status == DeploymentStatus::failed && !all_healthy(*rollout) && !works_again;
  if (picture.bad_nodes.empty() && others.empty() && !rollout_failed) return std::nullopt;
  wire::Shortfall out{
      .job = job.id, .version = job.version, .needs_you = true, .what = {}, .why = picture.cause, .advice = {}};
  if (rollout_failed || !picture.bad_nodes.empty()) {
    out.what = failed_on(job.version, picture) + others;
    out.advice = advice_after_failure(job, version_to_go_back_to(tables, job, picture));
  } else {
    // The scheduler has not come to them, or they wait: a node that is drained, one that is not heard of.
    out.needs_you = false;
    out.what = fmt::format("version {} is registered", job.version) + others;
    out.advice = "underway job explain " + job.id;
  }
  if (out.why.empty() && rollout_failed) out.why = rollout->status_description;
  return out;
}

std::optional<wire::Shortfall> failed_before(const tables::Tables& tables, const model::Job& proposed) {
  for (const auto& row : tables.job_versions(proposed.ns, proposed.id)) {
    if (!server::same_specification(row->job, proposed)) continue;
    for (const auto& rollout : tables.deployments_of_job(proposed.ns, proposed.id)) {
      if (rollout->job_version != row->job.version || rollout->status != DeploymentStatus::failed) continue;
      const auto picture = picture_of(tables, proposed, row->job.version, rollout.get());
      return wire::Shortfall{.job = proposed.id,
                             .version = row->job.version,
                             .needs_you = true,
                             .what = failed_on(row->job.version, picture) + ", and is what is declared here",
                             .why = picture.cause.empty() ? rollout->status_description : picture.cause,
                             .advice = "mend the file before it is applied again"};
    }
  }
  return std::nullopt;
}

}  // namespace underway::api
