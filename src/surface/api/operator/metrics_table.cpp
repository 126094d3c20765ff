// The metrics that there are, and the page about them.
#include <fmt/format.h>

#include "api/operator/metrics.hpp"

namespace underway::api {
namespace {

constexpr auto G = MetricKind::gauge, C = MetricKind::counter, S = MetricKind::sample;
constexpr std::string_view kNone = "", kHost = "host", kPlace = "datacenter, host, node_class",
                           kJob = "host, job, namespace",
                           kNode =
                               "datacenter, host, node_class, node_id, node_pool, node_scheduling_eligibility, "
                               "node_status",
                           kCluster = "cluster", kElasticPool = "cluster, phase, pool",
                           kLoop = "loop, and those of the node if it is a node's", kCpu = "cpu, and those of the node",
                           kDisk = "disk, and those of the node",
                           kGroup = "host, job, namespace, task_group; dispatch_id or periodic_id with parent_id",
                           kTask =
                               "alloc_id, host, job, namespace, node_id, task, task_group; dispatch_id or "
                               "periodic_id with parent_id";

constexpr MetricInfo kMetrics[] = {
    {"underway_jobs", G, "", kNone, "Jobs known."},
    {"underway_nodes", G, "", kNone, "Nodes known."},
    {"underway_nodes_ready", G, "", kNone, "Nodes that are ready and eligible."},
    {"underway_nodes_linked", G, "", kNone, "Nodes whose link stands."},
    {"underway_allocations_running", G, "", kNone, "Allocations that run."},
    {"underway_allocations_pending", G, "", kNone, "Allocations that are wanted and do not run yet."},
    {"underway_evaluations_blocked", G, "", kNone, "Evaluations that wait for capacity."},
    {"underway_revision", G, "", kNone, "Revision of the store."},
    {"underway_writable", G, "", kNone, "1 if changes can be written to the disk, 0 if they are refused."},
    {"underway_loop_longest_hold_ms", G, "ms", kNone,
     "The longest that anything kept everybody waiting since the start."},
    {"underway_control_loops_troubled", G, "", kNone,
     "Control loops of the server that have failed for more than a minute, or do not come back from a look."},
    {"underway_control_loop_since_success_seconds", G, "s", kLoop,
     "Since the loop last succeeded, or started if it never did. One that waits for changes may rightly wait long."},
    {"underway_control_loop_failures", G, "", kLoop, "How often the loop has failed in a row."},
    {"underway_control_loop_looking_seconds", G, "s", kLoop,
     "How long the loop's present look takes already; 0 while it waits."},
    {"underway.http.requests", C, "", kNone, "Requests answered."},
    {"underway.loop.holds", C, "", kNone, "Times that anything kept everybody waiting for 50 ms or more."},
    {"underway.http.request_seconds", S, "s", kNone, "How long requests took that did not wait on purpose."},

    {"underway_elastic_hosts", G, "", kElasticPool,
     "Hosts of a pool that grows, by phase: booting, idle, busy, leaving, asleep."},
    {"underway_elastic_pending_slurm_jobs", G, "", kCluster,
     "Slurm jobs that wait in a cluster whose pools grow; tasks of arrays each count."},
    {"underway_elastic_since_look_seconds", G, "s", kCluster,
     "Since Slurm's queue was last read. A look every few seconds is usual; none is told before the first."},
    {"underway_elastic_decision_ms", G, "ms", kNone,
     "How long the newest decision took about how many hosts there be."},
    {"underway.elastic.looks", C, "", kNone, "Looks at Slurm's queue, for pools that grow."},
    {"underway.elastic.failed_looks", C, "", kNone, "Looks at Slurm's queue that failed."},
    {"underway.elastic.hosts_asked_for", C, "", kNone, "Hosts that pools were grown by."},
    {"underway.elastic.hosts_given_back", C, "", kNone, "Hosts that pools were shrunk by."},
    {"underway.elastic.failed_boots", C, "", kNone, "Hosts that were asked for and did not come up in time."},
    {"underway.elastic.hosts_taken_back", C, "", kNone, "Hosts of opportunistic pools that were taken back."},
    {"underway.elastic.jobs_redone", C, "", kNone, "Slurm jobs that were queued again as their host was taken back."},

    {"nomad.nomad.job_status.pending", G, "", kHost, "Jobs that wait."},
    {"nomad.nomad.job_status.running", G, "", kHost, "Jobs that run."},
    {"nomad.nomad.job_status.dead", G, "", kHost, "Jobs that are over."},
    {"nomad.nomad.job_summary.queued", G, "", kGroup, "Allocations of the group that wait for room."},
    {"nomad.nomad.job_summary.starting", G, "", kGroup, "Allocations of the group that do not run yet."},
    {"nomad.nomad.job_summary.running", G, "", kGroup, "Allocations of the group that run."},
    {"nomad.nomad.job_summary.complete", G, "", kGroup, "Allocations of the group that ended as they should."},
    {"nomad.nomad.job_summary.failed", G, "", kGroup, "Allocations of the group that failed."},
    {"nomad.nomad.job_summary.lost", G, "", kGroup, "Allocations of the group whose node is lost."},
    {"nomad.nomad.job_summary.unknown", G, "", kGroup, "Allocations of the group whose node is not heard of."},
    {"nomad.nomad.heartbeat.active", G, "", kHost, "Nodes whose link stands."},

    {"nomad.nomad.broker.total_ready", G, "", kHost, "Evaluations that are to be planned now."},
    {"nomad.nomad.broker.total_pending", G, "", kHost, "Evaluations behind another one of their job."},
    {"nomad.nomad.broker.total_waiting", G, "", kHost, "Evaluations that are to be planned later."},
    {"nomad.nomad.broker.total_unacked", G, "", kHost,
     "Evaluations that are being planned, or whose plan is not durable yet."},
    {"nomad.nomad.broker.service_ready", G, "", kHost, "Of total_ready those of service jobs."},
    {"nomad.nomad.broker.batch_ready", G, "", kHost, "Of total_ready those of batch jobs."},
    {"nomad.nomad.broker.system_ready", G, "", kHost, "Of total_ready those of system jobs."},
    {"nomad.nomad.broker.sysbatch_ready", G, "", kHost, "Of total_ready those of sysbatch jobs."},
    {"nomad.nomad.broker.service_unacked", G, "", kHost, "Of total_unacked those of service jobs."},
    {"nomad.nomad.broker.batch_unacked", G, "", kHost, "Of total_unacked those of batch jobs."},
    {"nomad.nomad.broker.system_unacked", G, "", kHost, "Of total_unacked those of system jobs."},
    {"nomad.nomad.broker.sysbatch_unacked", G, "", kHost, "Of total_unacked those of sysbatch jobs."},
    {"nomad.nomad.broker.eval_waiting", G, "ns", "eval_id, job, namespace",
     "How long an evaluation still waits for its time."},
    {"nomad.nomad.blocked_evals.total_blocked", G, "", kHost, "Evaluations that wait for capacity."},
    {"nomad.nomad.blocked_evals.total_escaped", G, "", kHost,
     "Of those the ones that every change of a node may help, because a constraint names a `unique.` attribute."},
    {"nomad.nomad.blocked_evals.total_quota_limit", G, "", kHost, "Of those the ones that wait for a quota."},
    {"nomad.nomad.blocked_evals.cpu", G, "MHz", kPlace, "What blocked evaluations still want of processors."},
    {"nomad.nomad.blocked_evals.memory", G, "MiB", kPlace, "What blocked evaluations still want of memory."},
    {"nomad.nomad.blocked_evals.job.cpu", G, "MHz", kJob, "The same, by job."},
    {"nomad.nomad.blocked_evals.job.memory", G, "MiB", kJob, "The same, by job."},
    {"nomad.nomad.plan.queue_depth", G, "", kHost, "Plans that are made and not durable yet."},
    {"nomad.nomad.plan.apply", S, "ms", kHost, "To make plans durable."},
    {"nomad.nomad.worker.invoke_scheduler_service", S, "ms", kHost, "To plan an evaluation of a service job."},
    {"nomad.nomad.worker.invoke_scheduler_batch", S, "ms", kHost, "To plan an evaluation of a batch job."},
    {"nomad.nomad.worker.invoke_scheduler_system", S, "ms", kHost, "To plan an evaluation of a system job."},
    {"nomad.nomad.worker.invoke_scheduler_sysbatch", S, "ms", kHost, "To plan an evaluation of a sysbatch job."},
    {"nomad.raft.apply", C, "", kHost, "Commits of the store: there is no Raft below it."},
    {"nomad.raft.commitTime", S, "ms", kHost, "To make a commit of the store durable."},
    {"nomad.raft.lastIndex", G, "", kHost, "Revision of the store: what X-Nomad-Index counts."},
    {"nomad.raft.appliedIndex", G, "", kHost, "The same: what is durable is applied."},
    {"nomad.state.snapshotIndex", G, "", kHost, "The same: what readers see."},

    {"nomad.client.uptime", G, "s", kNode, "Since the machine was started."},
    {"nomad.client.allocated.cpu", G, "MHz", kNode, "What is given to allocations of processors."},
    {"nomad.client.allocated.memory", G, "MiB", kNode, "What is given to allocations of memory."},
    {"nomad.client.allocated.disk", G, "MiB", kNode, "What is given to allocations of the disk."},
    {"nomad.client.unallocated.cpu", G, "MHz", kNode, "What is left of processors."},
    {"nomad.client.unallocated.memory", G, "MiB", kNode, "What is left of memory."},
    {"nomad.client.unallocated.disk", G, "MiB", kNode, "What is left of the disk."},
    {"nomad.client.allocations.running", G, "", kNode, "Allocations on the node that run."},
    {"nomad.client.allocations.pending", G, "", kNode, "Allocations on the node that do not run yet."},
    {"nomad.client.allocations.blocked", G, "", kNode,
     "Allocations on the node that wait for their predecessor's end."},
    {"nomad.client.allocations.migrating", G, "", kNode, "Allocations on the node that fetch a disk of another node."},
    {"nomad.client.allocations.terminal", G, "", kNode, "Allocations on the node that are over and still on its disk."},
    {"nomad.client.host.cpu.total", G, "%", kCpu, "Time in which the processor worked, since the last time asked."},
    {"nomad.client.host.cpu.total_percent", G, "%", kCpu, "The same, by the name of newer versions."},
    {"nomad.client.host.cpu.total_ticks", G, "MHz", kCpu, "The same, of its frequency."},
    {"nomad.client.host.cpu.user", G, "%", kCpu, "Of that, in programs."},
    {"nomad.client.host.cpu.system", G, "%", kCpu, "Of that, in the kernel."},
    {"nomad.client.host.cpu.idle", G, "%", kCpu, "Time in which it did nothing."},
    {"nomad.client.host.memory.total", G, "B", kNode, "Memory of the machine."},
    {"nomad.client.host.memory.available", G, "B", kNode, "Of it what programs can have."},
    {"nomad.client.host.memory.used", G, "B", kNode, "Of it the rest."},
    {"nomad.client.host.memory.free", G, "B", kNode, "Of it what nothing is in, not even a cache."},
    {"nomad.client.host.disk.size", G, "B", kDisk, "Of the file system."},
    {"nomad.client.host.disk.used", G, "B", kDisk, "Of it what is taken."},
    {"nomad.client.host.disk.available", G, "B", kDisk, "Of it what users can have."},
    {"nomad.client.host.disk.used_percent", G, "%", kDisk, "Of it what is taken."},
    {"nomad.client.host.disk.inodes_percent", G, "%", kDisk, "Of its inodes those that are taken."},

    {"nomad.client.allocs.cpu.allocated", G, "MHz", kTask, "What the task was given."},
    {"nomad.client.allocs.cpu.total_percent", G, "%", kTask, "Of one core, since the last time asked."},
    {"nomad.client.allocs.cpu.user", G, "%", kTask, "Of that, in the program."},
    {"nomad.client.allocs.cpu.system", G, "%", kTask, "Of that, in the kernel."},
    {"nomad.client.allocs.cpu.total_ticks", G, "MHz", kTask, "The same, of the cores' frequency."},
    {"nomad.client.allocs.cpu.throttled_time", G, "ns", kTask, "In which it was kept waiting by its limit."},
    {"nomad.client.allocs.cpu.throttled_periods", G, "", kTask, "In which it was kept waiting by its limit."},
    {"nomad.client.allocs.memory.allocated", G, "B", kTask, "What the task was given."},
    {"nomad.client.allocs.memory.max_allocated", G, "B", kTask,
     "What it may take at most, where `memory_max` says so."},
    {"nomad.client.allocs.memory.usage", G, "B", kTask, "What it has taken, caches of files with it."},
    {"nomad.client.allocs.memory.max_usage", G, "B", kTask, "The most of that."},
    {"nomad.client.allocs.memory.rss", G, "B", kTask, "Of it what is no file's."},
    {"nomad.client.allocs.memory.cache", G, "B", kTask, "Of it files'."},
    {"nomad.client.allocs.memory.swap", G, "B", kTask, "What was moved out to disk."},
    {"nomad.client.allocs.memory.kernel_usage", G, "B", kTask, "Of it what the kernel keeps for the task."},
    {"nomad.client.allocs.start", C, "", kTask, "Starts of the task."},
    {"nomad.client.allocs.running", C, "", kTask, "The same: how often it came to run."},
    {"nomad.client.allocs.restart", C, "", kTask, "Restarts of the task, since it was first started."},
    {"nomad.client.allocs.complete", C, "", kTask, "1 once the task has ended as it should."},
    {"nomad.client.allocs.failed", C, "", kTask, "1 once the task has failed."},
    {"nomad.client.allocs.oom_killed", C, "", kTask, "Ends of the task for lack of memory."},

    {"process_cpu_seconds_total", C, "s", kNone, "Processor time of the agent."},
    {"process_resident_memory_bytes", G, "B", kNone, "Memory of the agent."},
    {"process_virtual_memory_bytes", G, "B", kNone, "Address space of the agent."},
    {"process_open_fds", G, "", kNone, "Open files of the agent."},
    {"process_max_fds", G, "", kNone, "How many it may have open."},
    {"process_start_time_seconds", G, "s", kNone, "When the agent was started, since the epoch."},
};

constexpr std::string_view kMetricsIntroduction = R"(# Metrics

`GET /v1/metrics` tells them as JSON, in the form of Nomad's; with `?format=prometheus` for Prometheus, where a name has
`_` for each dot. Names, units and labels are Nomad's wherever it has the same thing, so that its dashboards and alerts
go on.

<!-- generated; UNDERWAY_ACCEPT=1 with test_api_unit rewrites it -->

## Who sees what

Without a token there are counts alone: what this table says without labels, and those of `host` or of the node, which
then have none. Labels name jobs, tasks and nodes. Metrics of a node come with `node { policy = "read" }`, those of a
job with `read-job` in its namespace. A token for Prometheus has

```hcl
node { policy = "read" }
namespace "*" { policy = "read" }
```

and is sent as `authorization { credentials_file = "…" }` of its scrape configuration. `telemetry {
publish_node_metrics = true publish_allocation_metrics = true }` of the agent shows both to everybody, as in Nomad.

## Of which node

An agent tells of its own node: `nomad.client.*` of what runs beside it, `nomad.nomad.*` where it is the server. An
agent that is a node alone listens nowhere by itself. There are two ways to its metrics:

- The server asks it: `/v1/metrics?node_id=ID` tells what that node measures, with `node { policy = "read" }`.
- `telemetry { listen = "ADDRESS:PORT" }` makes it serve `/v1/metrics` and nothing else, by TLS where the agent has a
  `cert_file`. There are no tokens there, so `publish_node_metrics` and `publish_allocation_metrics` say what is shown
  beside counts.

Counters count since the agent was started. The quantiles of a time are those of the newest 256.

## What there is

| metric | kind | unit | labels | |
| --- | --- | --- | --- | --- |
)";

constexpr std::string_view kMissing = R"(
## What Nomad has and this has not

| metrics | why |
| --- | --- |
| `nomad.raft.leader.*`, `.replication.*`, `.state.*`, `.transition.*`, `.thread.*`, `.fsm.*`, `.barrier`, `.commitNumLogs`, `.boltdb.*` | one writer over one store: nobody is elected, and nothing is replicated |
| `nomad.serf.*`, `nomad.memberlist.*`, `nomad.nomad.leader.*`, `nomad.nomad.autopilot.*` | there are no peers |
| `nomad.nomad.rpc.*`, and the time of each RPC (`nomad.nomad.job.register`, `nomad.nomad.client.update_alloc`, `nomad.nomad.eval.*`, …) | clients speak HTTP, nodes their link; `underway.http.*` are its requests |
| `nomad.nomad.fsm.*` | what is decided is applied in memory at once; `nomad.raft.commitTime` is what then takes time |
| `nomad.nomad.plan.evaluate`, `.submit`, `.wait_for_index`, `.node_rejected`, `.rejection_tracker.*`; `nomad.nomad.worker.*` but `invoke_scheduler_*` | who plans also applies: a plan waits for nobody, and collides with none |
| `nomad.nomad.heartbeat.invalidate`, `nomad.scheduler.allocs.rescheduled.*`, `nomad.client.allocations.start` | not measured |
| `nomad.client.allocs.memory.kernel_max_usage`, `nomad.client.allocs.*.total_ticks_count`, `nomad.client.host.cpu.total_ticks_count` | the kernel no longer counts it; sums of what was sampled |
| `nomad.runtime.*` | of Go's; `process_*` tells what the agent takes |
| `nomad.nomad.vault.*`, `nomad.license.*`, `nomad.nomad.volume.*`, `nomad.nomad.plugin.*` | not here |
)";

std::string_view word(MetricKind kind) { return kind == G ? "gauge" : kind == C ? "counter" : "times"; }

}  // namespace

std::span<const MetricInfo> known_metrics() { return kMetrics; }

std::string metrics_reference() {
  std::string page(kMetricsIntroduction);
  for (const auto& metric : kMetrics)
    page += fmt::format("| `{}` | {} | {} | {} | {} |\n", metric.name, word(metric.kind), metric.unit, metric.labels,
                        metric.help);
  return page.append(kMissing);
}

}  // namespace underway::api
