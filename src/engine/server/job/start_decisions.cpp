#include "server/job/start_decisions.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/job/cron.hpp"
#include "server/job/job_decisions.hpp"

namespace underway::server {

using model::Job;
using model::PeriodicLaunch;

namespace {

/// A clock that is set back by less is waited for; by more, and the record of the last launch is set back too.
constexpr auto kClockSlack = std::chrono::minutes(1);

std::int64_t next_after(const Job& job, TimePoint after) {
  const auto time = model::next_time(job.periodic->expressions(), job.periodic->time_zone, after);
  return time ? unix_nanos(*time) : 0;
}

std::string record_name(const Job& job) { return job.ns + "/" + job.id; }

/// What the child has of its parent, and what it does not.
Job derive(const Job& parent, std::string id, const Context& context) {
  Job child = parent;
  child.id = child.name = std::move(id);
  child.parent_id = parent.id;
  child.version_tag.reset();
  child.stop = false;
  child.stable = false;
  child.status = model::JobStatus::pending;
  child.status_description.clear();
  child.version = 0;
  child.submit_time = unix_nanos(context.now);
  child.create_index = child.modify_index = 0;
  child.job_modify_index = context.revision;
  return child;
}

Started start_into(std::vector<Change>& changes, const Tables& tables, Job child, model::EvalTrigger trigger,
                   const Context& context) {
  Started started{child.id, {}};
  if (child.starts_others()) {
    note_clock(changes, tables, child, context);
  } else {
    auto evaluation = new_evaluation(child, trigger, context);
    started.eval_id = evaluation.id;
    changes.push_back(tables::PutEvaluation{std::move(evaluation)});
  }
  changes.insert(changes.begin(), tables::PutJob{std::move(child), std::nullopt});
  return started;
}

bool overlaps(const Tables& tables, const Job& job) {
  if (!job.periodic->prohibit_overlap) return false;
  const auto children = count_children(tables, job);
  return children.pending + children.running > 0;
}

std::string periodic_id(const Job& job, std::int64_t second) { return fmt::format("{}/periodic-{}", job.id, second); }

Started launch(std::vector<Change>& changes, const Tables& tables, const Job& job, std::int64_t second,
               const Context& context) {
  Job child = derive(job, periodic_id(job, second), context);
  child.periodic.reset();
  std::vector<Change> own;
  auto started = start_into(own, tables, std::move(child), model::EvalTrigger::periodic_job, context);
  std::move(own.begin(), own.end(), std::back_inserter(changes));
  return started;
}

tables::Row<Job> get_parent(const Tables& tables, const std::string& ns, const std::string& id) {
  auto job = tables.find_job(ns, id);
  if (!job) throw Error(Code::not_found, "job not found").because(fmt::format("no job '{}' in namespace '{}'", id, ns));
  if (job->stop) throw Error(Code::invalid, fmt::format("Specified job \"{}\" is stopped", id));
  return job;
}

/// Starts what is due of one job, and moves its record on.
void tick(Decision<Launches>& decision, const Tables& tables, const Job& job, PeriodicLaunch row,
          const Context& context) {
  const TimePoint since = from_unix_nanos(row.launch);
  if (since > context.now + kClockSlack) {
    decision.result.trouble.push_back(
        fmt::format("the clock was set back: periodic job '{}' goes on from {}", job.id, format_time(context.now)));
    row.launch = unix_nanos(context.now);
    row.next = next_after(job, context.now);
    decision.changes.push_back(tables::put_record(row));
    return;
  }
  const auto due = model::last_time(job.periodic->expressions(), job.periodic->time_zone, since, context.now);
  if (due) {
    const std::int64_t second = unix_seconds(*due);
    row.launch = unix_nanos(*due);
    if (overlaps(tables, job))
      decision.result.skipped.push_back(job.id);
    else if (!tables.find_job(job.ns, periodic_id(job, second)))
      decision.result.started.push_back(launch(decision.changes, tables, job, second, context).job_id);
  }
  row.next = next_after(job, std::max(context.now, from_unix_nanos(row.launch)));
  decision.changes.push_back(tables::put_record(row));
}

void refuse_payload(const Job& job, const std::string& payload) {
  using model::PayloadRule;
  const PayloadRule rule = job.parameterized->payload;
  if (payload.size() > model::kDispatchPayloadBytes) {
    throw Error(Code::invalid,
                fmt::format("Payload exceeds maximum size; {} > {}", payload.size(), model::kDispatchPayloadBytes))
        .advise("put it where the task can fetch it as an artifact");
  }
  if (rule == PayloadRule::required && payload.empty())
    throw Error(Code::invalid, "Payload is not provided but required by parameterized job");
  if (rule == PayloadRule::forbidden && !payload.empty())
    throw Error(Code::invalid, "Payload is not allowed but is provided");
}

void refuse_meta(const Job& job, const model::StringMap& meta) {
  const auto& required = job.parameterized->meta_required;
  const auto& optional = job.parameterized->meta_optional;
  const auto among = [](const auto& keys, const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  std::vector<std::string> foreign, missing;
  for (const auto& [key, value] : meta) {
    if (!among(required, key) && !among(optional, key)) foreign.push_back(key);
  }
  if (!foreign.empty())
    throw Error(Code::invalid,
                fmt::format("Dispatch request included unpermitted metadata keys: [{}]", join(foreign, " ")));
  for (const auto& key : required) {
    if (!meta.contains(key)) missing.push_back(key);
  }
  if (!missing.empty())
    throw Error(Code::invalid, fmt::format("Dispatch did not provide required meta keys: [{}]", join(missing, " ")));
}

void refuse_dispatch(const Job& job, const DispatchJob& request) {
  if (!job.parameterized || job.dispatched)
    throw Error(Code::invalid, fmt::format("Specified job \"{}\" is not a parameterized job", job.id));
  refuse_payload(job, request.payload);
  refuse_meta(job, request.meta);
  if (request.id_prefix_template.find_first_of(std::string_view(" \t\n\0", 4)) != std::string::npos)
    throw Error(Code::invalid, "the prefix of a dispatch's id has no spaces");
  if (request.priority) refuse_priority(*request.priority);
}

}  // namespace

bool starts_by_the_clock(const Job& job) {
  return job.periodic && job.periodic->enabled && !job.stop && (!job.parameterized || job.dispatched);
}

void note_clock(std::vector<Change>& changes, const Tables& tables, const Job& job, const Context& context) {
  if (starts_by_the_clock(job)) {
    PeriodicLaunch row{job.ns, job.id, unix_nanos(context.now), next_after(job, context.now)};
    changes.push_back(tables::put_record(row));
  } else if (tables::find_record<PeriodicLaunch>(tables, record_name(job))) {
    changes.push_back(tables::delete_record<PeriodicLaunch>(record_name(job)));
  }
}

Decision<Launches> decide(const Tables& tables, const StartDueJobs&, const Context& context) {
  Decision<Launches> decision;
  for (auto& row : tables::records<PeriodicLaunch>(tables)) {
    const auto job = tables.find_job(row.ns, row.job_id);
    if (!job || !starts_by_the_clock(*job)) {
      decision.changes.push_back(tables::delete_record<PeriodicLaunch>(row.ns + "/" + row.job_id));
      continue;
    }
    const bool ahead = from_unix_nanos(row.launch) > context.now + kClockSlack;
    if (!ahead && (row.next == 0 || from_unix_nanos(row.next) > context.now)) continue;
    try {
      tick(decision, tables, *job, row, context);
    } catch (const Error& error) {  // its time zone went away with an upgrade of the system's database
      decision.result.trouble.push_back(
          fmt::format("periodic job '{}' cannot be started, trying again in 1 min: {}", job->id, error.one_line()));
      row.next = unix_nanos(context.now + std::chrono::minutes(1));
      decision.changes.push_back(tables::put_record(row));
    }
  }
  return decision;
}

std::optional<TimePoint> next_launch(const Tables& tables, TimePoint now) {
  std::optional<TimePoint> first;
  for (const auto& row : tables::records<PeriodicLaunch>(tables)) {
    if (from_unix_nanos(row.launch) > now + kClockSlack) return now;
    if (row.next == 0) continue;
    const TimePoint next = from_unix_nanos(row.next);
    if (!first || next < *first) first = next;
  }
  return first;
}

Decision<Started> decide(const Tables& tables, const ForcePeriodic& request, const Context& context) {
  const auto& [ns, id] = request;
  const auto job = get_parent(tables, ns, id);
  if (!starts_by_the_clock(*job)) {
    throw Error(Code::invalid, "can't force launch non-periodic job")
        .because(job->periodic ? "its periodic block is disabled, or it is to be dispatched first"
                               : fmt::format("job '{}' has no periodic block", id));
  }
  if (overlaps(tables, *job)) {
    throw Error(Code::conflict, fmt::format("job '{}' prohibits overlap, and a child of it is not over yet", id))
        .advise(fmt::format("see `underway job status {}`", id));
  }
  std::int64_t second = unix_seconds(context.now);
  while (tables.find_job(ns, periodic_id(*job, second))) ++second;
  Decision<Started> decision;
  decision.result = launch(decision.changes, tables, *job, second, context);
  return decision;
}

Decision<Started> decide(const Tables& tables, const DispatchJob& request, const Context& context) {
  const auto job = get_parent(tables, request.ns, request.id);
  refuse_dispatch(*job, request);
  Decision<Started> decision;
  if (!request.idempotency_token.empty()) {
    for (const auto& child : children_of(tables, *job)) {
      if (child->dispatch_token != request.idempotency_token) continue;
      decision.result.job_id = child->id;
      return decision;
    }
  }
  const std::string prefix = request.id_prefix_template.empty() ? "" : request.id_prefix_template + "-";
  const std::string id =
      fmt::format("{}/dispatch-{}{}-{}", job->id, prefix, unix_seconds(context.now), context.ids.uuid().substr(0, 8));
  Job child = derive(*job, id, context);
  child.dispatched = true;
  child.dispatch_token = request.idempotency_token;
  if (!request.payload.empty()) child.payload = base64_encode(request.payload);
  child.priority = request.priority.value_or(job->priority);
  for (const auto& [key, value] : request.meta) child.meta.insert_or_assign(key, value);
  decision.result = start_into(decision.changes, tables, std::move(child), model::EvalTrigger::job_register, context);
  return decision;
}

std::vector<tables::Row<Job>> children_of(const Tables& tables, const Job& parent) {
  auto children = tables.jobs(parent.ns, parent.id + "/");
  std::erase_if(children, [&](const auto& job) { return job->parent_id != parent.id; });
  return children;
}

Children count_children(const Tables& tables, const Job& parent) {
  Children out;
  for (const auto& child : children_of(tables, parent)) {
    ++(child->status == model::JobStatus::dead      ? out.dead
       : child->status == model::JobStatus::running ? out.running
                                                    : out.pending);
  }
  return out;
}

}  // namespace underway::server
