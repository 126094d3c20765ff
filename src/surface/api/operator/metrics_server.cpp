// What the server measures.
#include <fmt/format.h>

#include "api/cluster/troubles.hpp"
#include "api/operator/metrics_source.hpp"
#include "base/json/enumerators.hpp"
#include "node/fingerprint/loop_metrics.hpp"

namespace underway::api {
namespace {

constexpr double kMilliseconds = 1000;
constexpr const auto& kTypes = kNamesOf<model::JobType>;

/// What a group still wants, of each.
struct WantedSeries {
  double cpu = 0, memory = 0;
};

WantedSeries wanted_by(const model::TaskGroup& group, std::int64_t count) {
  WantedSeries wanted;
  for (const auto& task : group.tasks) {
    wanted.cpu += static_cast<double>(task.resources.cpu);
    wanted.memory += static_cast<double>(task.resources.memory_mb);
  }
  return {wanted.cpu * static_cast<double>(count), wanted.memory * static_cast<double>(count)};
}

/// Job labels as Nomad has them: of what another job started also by which.
LabelsPtr job_labels(const std::string& host, const std::string& ns, const std::string& job, Labels more = {}) {
  Labels out = std::move(more);
  out.emplace_back("job", job);
  out.emplace_back("namespace", ns);
  if (!host.empty()) out.emplace_back("host", host);
  for (const auto& [mark, name] : {std::pair("/dispatch-", "dispatch_id"), std::pair("/periodic-", "periodic_id")}) {
    const auto at = job.find(mark);
    if (at == std::string::npos) continue;
    out.emplace_back("parent_id", job.substr(0, at));
    out.emplace_back(name, job.substr(at + std::string_view(mark).size()));
  }
  return labels(std::move(out));
}

void add_own(Exposition& to, const ServerSnapshot& from) {
  const auto count = [](auto value) { return static_cast<double>(value); };
  to.gauge("underway_jobs", count(from.jobs));
  to.gauge("underway_nodes", count(from.nodes));
  to.gauge("underway_nodes_ready", count(from.ready));
  to.gauge("underway_nodes_linked", count(from.linked));
  to.gauge("underway_allocations_running", count(from.running));
  to.gauge("underway_allocations_pending", count(from.pending));
  to.gauge("underway_evaluations_blocked", count(from.blocked.size()));
  to.gauge("underway_revision", count(from.revision));
  to.gauge("underway_writable", from.writable ? 1 : 0);
  to.gauge("underway_loop_longest_hold_ms", count(from.longest_hold_ms));
  to.gauge("underway_control_loops_troubled", count(from.troubled_loops));
  to.counter("underway.http.requests", count(from.meter.requests()));
  to.counter("underway.loop.holds", count(from.holds));
  to.sample("underway.http.request_seconds", from.meter.times(), 1);
}

/// Pools that grow and shrink: how many hosts they have in which phase, and what was done so far.
void add_growth(Exposition& to, const ServerSnapshot& from) {
  using growth::PoolStatus;
  constexpr std::pair<const char*, std::int64_t PoolStatus::*> kPhases[] = {{"booting", &PoolStatus::booting},
                                                                            {"idle", &PoolStatus::idle},
                                                                            {"busy", &PoolStatus::busy},
                                                                            {"leaving", &PoolStatus::leaving},
                                                                            {"asleep", &PoolStatus::asleep}};
  if (!from.growth) return;
  const auto count = [](std::int64_t value) { return static_cast<double>(value); };
  for (const auto& cluster : from.growing) {
    for (const auto& pool : cluster.pools) {
      for (const auto& [phase, hosts] : kPhases)
        to.gauge("underway_elastic_hosts", count(pool.*hosts),
                 labels({{"cluster", cluster.cluster}, {"phase", phase}, {"pool", pool.pool}}));
    }
    if (cluster.at == 0) continue;  // what is not known is not told as 0
    const auto names = labels({{"cluster", cluster.cluster}});
    const std::chrono::duration<double> since = from.now - from_unix_nanos(cluster.at);
    to.gauge("underway_elastic_pending_slurm_jobs", count(cluster.pending), names);
    to.gauge("underway_elastic_since_look_seconds", std::max(since.count(), 0.0), names);
  }
  to.gauge("underway_elastic_decision_ms", from.growth->last_decision_ms);
  to.counter("underway.elastic.looks", count(from.growth->looks));
  to.counter("underway.elastic.failed_looks", count(from.growth->failed_looks));
  to.counter("underway.elastic.hosts_asked_for", count(from.growth->hosts_asked_for));
  to.counter("underway.elastic.hosts_given_back", count(from.growth->hosts_given_back));
  to.counter("underway.elastic.failed_boots", count(from.growth->failed_boots));
  to.counter("underway.elastic.hosts_taken_back", count(from.growth->hosts_taken_back));
  to.counter("underway.elastic.jobs_redone", count(from.growth->jobs_redone));
}

/// Evaluations that wait to be planned: of one job one at a time.
void add_broker(Exposition& to, const ServerSnapshot& from, const LabelsPtr& host, const MetricsView& view) {
  std::array<std::int64_t, 4> ready{};
  std::int64_t pending = 0, waiting = 0, unacked = 0;
  std::unordered_set<std::string> seen;
  for (const auto& evaluation : from.evaluations) {
    const TimePoint due = from_unix_nanos(evaluation->wait_until);
    if (due > from.now) {
      ++waiting;
      if (view.job(evaluation->ns))
        to.gauge("nomad.nomad.broker.eval_waiting", static_cast<double>((due - from.now).count()),
                 labels({{"eval_id", evaluation->id}, {"job", evaluation->job_id}, {"namespace", evaluation->ns}}));
    } else if (!seen.insert(evaluation->ns + '\0' + evaluation->job_id).second) {
      ++pending;
    } else {
      ++ready[static_cast<std::size_t>(evaluation->type)];
    }
  }
  std::int64_t all = 0;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    all += ready[i];
    unacked += from.writer.planning[i];
    to.gauge(fmt::format("nomad.nomad.broker.{}_ready", kTypes[i]), static_cast<double>(ready[i]), host);
    to.gauge(fmt::format("nomad.nomad.broker.{}_unacked", kTypes[i]), static_cast<double>(from.writer.planning[i]),
             host);
  }
  to.gauge("nomad.nomad.broker.total_ready", static_cast<double>(all), host);
  to.gauge("nomad.nomad.broker.total_pending", static_cast<double>(pending), host);
  to.gauge("nomad.nomad.broker.total_waiting", static_cast<double>(waiting), host);
  to.gauge("nomad.nomad.broker.total_unacked", static_cast<double>(unacked), host);
}

void add_wants(Exposition& to, const ServerSnapshot& from, const MetricsView& view) {
  std::map<std::pair<std::string, std::string>, WantedSeries> places;  // datacenter, class
  for (const auto& evaluation : from.blocked) {
    const auto job = from.blocked_jobs.find(evaluation->id);
    if (job == from.blocked_jobs.end()) continue;
    WantedSeries all;
    for (const auto& [name, count] : evaluation->queued) {
      const auto* group = job->second->find_group(name);
      if (group == nullptr) continue;
      const WantedSeries wanted = wanted_by(*group, count);
      all.cpu += wanted.cpu;
      all.memory += wanted.memory;
      const auto failed = evaluation->failed_groups.find(name);
      if (failed == evaluation->failed_groups.end()) continue;
      std::vector<std::string> classes;
      for (const auto& [class_name, exhausted] : failed->second.class_exhausted) classes.push_back(class_name);
      if (classes.empty()) classes.emplace_back();
      for (const auto& [datacenter, available] : failed->second.nodes_available) {
        for (const auto& class_name : classes) {
          places[{datacenter, class_name}].cpu += wanted.cpu;
          places[{datacenter, class_name}].memory += wanted.memory;
        }
      }
    }
    if (!view.job(evaluation->ns)) continue;
    const auto names = job_labels(view.nodes ? from.host : "", evaluation->ns, evaluation->job_id);
    to.gauge("nomad.nomad.blocked_evals.job.cpu", all.cpu, names);
    to.gauge("nomad.nomad.blocked_evals.job.memory", all.memory, names);
  }
  if (!view.nodes) return;
  for (const auto& [place, wanted] : places) {
    const auto names = labels({{"datacenter", place.first}, {"host", from.host}, {"node_class", place.second}});
    to.gauge("nomad.nomad.blocked_evals.cpu", wanted.cpu, names);
    to.gauge("nomad.nomad.blocked_evals.memory", wanted.memory, names);
  }
}

void add_blocked(Exposition& to, const ServerSnapshot& from, const LabelsPtr& host, const MetricsView& view) {
  std::int64_t escaped = 0, by_quota = 0;
  for (const auto& evaluation : from.blocked) {
    escaped += evaluation->escaped_class ? 1 : 0;
    by_quota += evaluation->quota_limit_reached.empty() ? 0 : 1;
  }
  to.gauge("nomad.nomad.blocked_evals.total_blocked", static_cast<double>(from.blocked.size()), host);
  to.gauge("nomad.nomad.blocked_evals.total_escaped", static_cast<double>(escaped), host);
  to.gauge("nomad.nomad.blocked_evals.total_quota_limit", static_cast<double>(by_quota), host);
  add_wants(to, from, view);
}

void add_summary(Exposition& to, const server::GroupCounts& counts, std::int64_t queued, const LabelsPtr& names) {
  const std::pair<std::string_view, std::int64_t> all[] = {
      {"nomad.nomad.job_summary.queued", queued},          {"nomad.nomad.job_summary.starting", counts.starting},
      {"nomad.nomad.job_summary.running", counts.running}, {"nomad.nomad.job_summary.complete", counts.complete},
      {"nomad.nomad.job_summary.failed", counts.failed},   {"nomad.nomad.job_summary.lost", counts.lost},
      {"nomad.nomad.job_summary.unknown", counts.unknown}};
  for (const auto& [name, value] : all) to.gauge(name, static_cast<double>(value), names);
}

/// The groups that a job has, and those that it had and of which allocations are left.
void add_summaries(Exposition& to, const ServerSnapshot& from, const MetricsView& view) {
  std::unordered_map<std::string, std::int64_t> queued;
  for (const auto& evaluation : from.blocked)
    for (const auto& [group, count] : evaluation->queued)
      queued[server::Measures::group_key(evaluation->ns, evaluation->job_id, group)] = count;
  const std::string host = view.nodes ? from.host : "";
  const auto tell = [&](const model::Job& job, const std::string& group, const server::GroupCounts& counts) {
    const auto waits = queued.find(server::Measures::group_key(job.ns, job.id, group));
    add_summary(to, counts, waits == queued.end() ? 0 : waits->second,
                job_labels(host, job.ns, job.id, {{"task_group", group}}));
  };
  std::unordered_map<std::string, const model::Job*> shown;  // by the beginning of their groups' keys
  for (const auto& job : from.rows) {
    if (!view.job(job->ns) || (!view.dispatched && job->dispatched)) continue;
    shown.emplace(server::Measures::group_key(job->ns, job->id, ""), job.get());
    for (const auto& group : job->groups) {
      const auto counts = from.groups.find(server::Measures::group_key(job->ns, job->id, group.name));
      tell(*job, group.name, counts == from.groups.end() ? server::GroupCounts{} : counts->second);
    }
  }
  for (const auto& [key, counts] : from.groups) {
    const auto name = key.rfind('\0') + 1;
    const auto job = shown.find(key.substr(0, name));
    if (job == shown.end()) continue;
    const std::string group = key.substr(name);
    if (job->second->find_group(group) == nullptr) tell(*job->second, group, counts);
  }
}

}  // namespace

void add_loop_metrics(Exposition& to, const std::vector<protocol::LoopMetrics>& loops, const Labels& base) {
  for (const auto& loop : loops) {
    Labels own = base;
    own.emplace_back("loop", loop.name);
    const auto names = labels(std::move(own));
    to.gauge("underway_control_loop_since_success_seconds", loop.since_success, names);
    to.gauge("underway_control_loop_looking_seconds", loop.looking, names);
    to.gauge("underway_control_loop_failures", static_cast<double>(loop.failures), names);
  }
}

ServerSnapshot take_snapshot(const server::Server& server, const tables::Tables& tables, server::WriterMeasures writer,
                             const MetricsView& view) {
  const server::Measures& measures = server.measures();
  ServerSnapshot out;
  out.revision = tables.revision();
  out.nodes = measures.nodes();
  out.ready = measures.nodes_ready();
  out.linked = static_cast<std::int64_t>(server.linked_nodes());
  out.jobs = measures.jobs();
  out.running = measures.allocations_running();
  out.pending = measures.allocations_pending();
  for (const auto status : {model::JobStatus::pending, model::JobStatus::running, model::JobStatus::dead})
    out.by_status[static_cast<std::size_t>(status)] = measures.jobs(status);
  const auto& loops = server.loops().health();
  out.loops = node::measure_loops(server.loops());
  out.troubled_loops = std::ranges::count_if(loops, &async::LoopHealth::needs_somebody);
  out.writer = std::move(writer);
  out.evaluations = tables.pending_evaluations();
  out.blocked = tables.blocked_evaluations();
  for (const auto& evaluation : out.blocked)
    if (auto job = tables.find_job(evaluation->ns, evaluation->job_id))
      out.blocked_jobs[evaluation->id] = std::move(job);
  if (!view.jobs()) return out;
  out.rows = tables.jobs();
  out.groups = measures.groups();
  return out;
}

void add_server_metrics(Exposition& to, const ServerSnapshot& from, const MetricsView& view) {
  const LabelsPtr host = view.nodes ? labels({{"host", from.host}}) : nullptr;
  add_own(to, from);
  add_growth(to, from);
  if (view.nodes) add_loop_metrics(to, from.loops);
  to.gauge("nomad.nomad.job_status.pending", static_cast<double>(from.by_status[0]), host);
  to.gauge("nomad.nomad.job_status.running", static_cast<double>(from.by_status[1]), host);
  to.gauge("nomad.nomad.job_status.dead", static_cast<double>(from.by_status[2]), host);
  to.gauge("nomad.nomad.heartbeat.active", static_cast<double>(from.linked), host);
  add_summaries(to, from, view);
  add_broker(to, from, host, view);
  add_blocked(to, from, host, view);
  to.gauge("nomad.nomad.plan.queue_depth", static_cast<double>(from.writer.plans), host);
  to.sample("nomad.nomad.plan.apply", from.writer.plan_commits, kMilliseconds, host);
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    to.sample(fmt::format("nomad.nomad.worker.invoke_scheduler_{}", kTypes[i]), from.writer.scheduling[i],
              kMilliseconds, host);
  to.counter("nomad.raft.apply", static_cast<double>(from.writer.commits.count), host);
  to.sample("nomad.raft.commitTime", from.writer.commits, kMilliseconds, host);
  for (const auto* name : {"nomad.raft.lastIndex", "nomad.raft.appliedIndex", "nomad.state.snapshotIndex"})
    to.gauge(name, static_cast<double>(from.revision), host);
}

}  // namespace underway::api
