// What a node measures of itself, and what the agent takes.
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "api/operator/metrics_source.hpp"
#include "base/numbers.hpp"
#include "os/file.hpp"

namespace underway::api {
namespace {

Labels with(Labels base, std::string_view name, std::string value) {
  base.emplace_back(name, std::move(value));
  return base;
}

/// A node by itself does not know whether it is eligible.
Labels labels_of(const model::Node& node, const MetricsView& view) {
  Labels out{{"node_id", node.id},
             {"host", node.name},
             {"datacenter", node.datacenter},
             {"node_class", node.node_class.empty() ? "none" : node.node_class},  // as Nomad says it
             {"node_pool", node.node_pool},
             {"node_status", std::string(describe::spell(node.status))}};
  if (view.eligibility) out.emplace_back("node_scheduling_eligibility", std::string(describe::spell(node.eligibility)));
  return out;
}

void add_counts(Exposition& to, const protocol::AllocationCounts& counts, const LabelsPtr& names) {
  to.gauge("nomad.client.allocations.running", static_cast<double>(counts.running), names);
  to.gauge("nomad.client.allocations.pending", static_cast<double>(counts.pending), names);
  to.gauge("nomad.client.allocations.blocked", static_cast<double>(counts.blocked), names);
  to.gauge("nomad.client.allocations.migrating", static_cast<double>(counts.migrating), names);
  to.gauge("nomad.client.allocations.terminal", static_cast<double>(counts.terminal), names);
}

void add_cpus(Exposition& to, const protocol::HostStats& host, const model::Node& node, const Labels& base) {
  const std::int64_t core_mhz = node.resources.cpu / std::max<std::int64_t>(1, node.resources.cores);
  const auto core = static_cast<double>(core_mhz);
  for (const auto& cpu : host.cpu) {
    const auto names = labels(with(base, "cpu", cpu.cpu));
    to.gauge("nomad.client.host.cpu.total", cpu.total_percent, names);
    to.gauge("nomad.client.host.cpu.total_percent", cpu.total_percent, names);
    to.gauge("nomad.client.host.cpu.total_ticks", cpu.total_percent / 100 * core, names);
    to.gauge("nomad.client.host.cpu.user", cpu.user, names);
    to.gauge("nomad.client.host.cpu.system", cpu.system, names);
    to.gauge("nomad.client.host.cpu.idle", cpu.idle, names);
  }
}

void add_disks(Exposition& to, const protocol::HostStats& host, const Labels& base) {
  for (const auto& disk : host.disks) {
    const auto names = labels(with(base, "disk", disk.device));
    to.gauge("nomad.client.host.disk.size", static_cast<double>(disk.size), names);
    to.gauge("nomad.client.host.disk.used", static_cast<double>(disk.used), names);
    to.gauge("nomad.client.host.disk.available", static_cast<double>(disk.available), names);
    to.gauge("nomad.client.host.disk.used_percent", disk.used_percent, names);
    to.gauge("nomad.client.host.disk.inodes_percent", disk.inodes_used_percent, names);
  }
}

void add_host(Exposition& to, const protocol::ClientMetrics& from, const model::Node& node, const Labels& base) {
  const auto names = labels(base);
  to.gauge("nomad.client.uptime", static_cast<double>(from.host.uptime), names);
  to.gauge("nomad.client.allocated.cpu", static_cast<double>(from.allocated.cpu), names);
  to.gauge("nomad.client.allocated.memory", static_cast<double>(from.allocated.memory_mb), names);
  to.gauge("nomad.client.allocated.disk", static_cast<double>(from.allocated.disk_mb), names);
  to.gauge("nomad.client.unallocated.cpu", static_cast<double>(from.unallocated.cpu), names);
  to.gauge("nomad.client.unallocated.memory", static_cast<double>(from.unallocated.memory_mb), names);
  to.gauge("nomad.client.unallocated.disk", static_cast<double>(from.unallocated.disk_mb), names);
  to.gauge("nomad.client.host.memory.total", static_cast<double>(from.host.memory.total), names);
  to.gauge("nomad.client.host.memory.available", static_cast<double>(from.host.memory.available), names);
  to.gauge("nomad.client.host.memory.used", static_cast<double>(from.host.memory.used), names);
  to.gauge("nomad.client.host.memory.free", static_cast<double>(from.host.memory.free), names);
  add_cpus(to, from.host, node, base);
  add_disks(to, from.host, base);
}

LabelsPtr labels_of(const protocol::TaskMetrics& task, const model::Node& node) {
  Labels out{{"alloc_id", task.alloc}, {"job", task.job},          {"namespace", task.ns}, {"task", task.task},
             {"host", node.name},      {"task_group", task.group}, {"node_id", node.id}};
  for (const auto& [mark, name] : {std::pair("/dispatch-", "dispatch_id"), std::pair("/periodic-", "periodic_id")}) {
    const auto at = task.job.find(mark);
    if (at == std::string::npos) continue;
    out.emplace_back("parent_id", task.job.substr(0, at));
    out.emplace_back(name, task.job.substr(at + std::string_view(mark).size()));
  }
  return labels(std::move(out));
}

/// What it uses is told while it runs; how it fared as long as it is here.
void add_task(Exposition& to, const protocol::TaskMetrics& task, const model::Node& node) {
  const auto names = labels_of(task, node);
  to.counter("nomad.client.allocs.start", static_cast<double>(task.starts), names);
  to.counter("nomad.client.allocs.running", static_cast<double>(task.starts), names);
  to.counter("nomad.client.allocs.restart", static_cast<double>(task.restarts), names);
  to.counter("nomad.client.allocs.complete", task.complete ? 1 : 0, names);
  to.counter("nomad.client.allocs.failed", task.failed ? 1 : 0, names);
  to.counter("nomad.client.allocs.oom_killed", static_cast<double>(task.oom_kills), names);
  if (!task.running) return;
  const auto gauge = [&](std::string_view name, auto value) { to.gauge(name, static_cast<double>(value), names); };
  gauge("nomad.client.allocs.cpu.allocated", task.cpu_allocated);
  gauge("nomad.client.allocs.cpu.total_percent", task.cpu_percent);
  gauge("nomad.client.allocs.cpu.user", task.cpu_user);
  gauge("nomad.client.allocs.cpu.system", task.cpu_system);
  gauge("nomad.client.allocs.cpu.total_ticks", task.cpu_ticks);
  gauge("nomad.client.allocs.cpu.throttled_time", task.throttled_time);
  gauge("nomad.client.allocs.cpu.throttled_periods", task.throttled_periods);
  gauge("nomad.client.allocs.memory.allocated", task.memory_allocated);
  if (task.memory_max_allocated > 0) gauge("nomad.client.allocs.memory.max_allocated", task.memory_max_allocated);
  gauge("nomad.client.allocs.memory.usage", task.memory_usage);
  gauge("nomad.client.allocs.memory.max_usage", task.memory_max_usage);
  gauge("nomad.client.allocs.memory.rss", task.memory_rss);
  gauge("nomad.client.allocs.memory.cache", task.memory_cache);
  gauge("nomad.client.allocs.memory.swap", task.memory_swap);
  gauge("nomad.client.allocs.memory.kernel_usage", task.memory_kernel_usage);
}

}  // namespace

void add_client_metrics(Exposition& to, const protocol::ClientMetrics& from, const model::Node& node,
                        const MetricsView& view) {
  const Labels base = labels_of(node, view);
  add_counts(to, from.allocations, view.nodes ? labels(base) : nullptr);
  if (view.nodes) add_host(to, from, node, base);
  if (view.nodes) add_loop_metrics(to, from.loops, base);
  for (const auto& task : from.tasks)
    if (view.job(task.ns)) add_task(to, task, node);
}

/// Source: proc(5), /proc/pid/stat and /proc/pid/limits.
void add_process_metrics(Exposition& to) {
  const std::string stat = os::find_file("/proc/self/stat").value_or("");
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream fields(stat.substr(name_end + 1));
  std::vector<std::string> all{std::istream_iterator<std::string>(fields), {}};
  if (all.size() < 22) return;
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  // From the third field, the state, on.
  to.counter("process_cpu_seconds_total", (leading_number_or(all[11], 0.0) + leading_number_or(all[12], 0.0)) / ticks);
  to.gauge("process_virtual_memory_bytes", leading_number_or(all[20], 0.0));
  to.gauge("process_resident_memory_bytes",
           leading_number_or(all[21], 0.0) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  to.gauge("process_open_fds", static_cast<double>(os::list_directory("/proc/self/fd").size()));
  std::ifstream boot("/proc/stat");
  for (std::string line; std::getline(boot, line);) {
    if (line.starts_with("btime "))
      to.gauge("process_start_time_seconds",
               leading_number_or(line.substr(6), 0.0) + leading_number_or(all[19], 0.0) / ticks);
  }
  std::ifstream limits("/proc/self/limits");
  for (std::string line; std::getline(limits, line);) {
    constexpr std::string_view kOpen = "Max open files";
    if (!line.starts_with(kOpen)) continue;
    std::istringstream rest(line.substr(kOpen.size()));
    double soft = 0;
    if (rest >> soft) to.gauge("process_max_fds", soft);
  }
}

}  // namespace underway::api
