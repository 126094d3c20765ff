// What this node measures of itself, for /v1/metrics: the machine, what is given away of it, and each task.
#include "node/detail/node_impl.hpp"
#include "node/fingerprint/loop_metrics.hpp"

namespace underway::node {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
/// A task's numbers are read from some seven files of the kernel: so many tasks hold the loop for some milliseconds.
constexpr std::size_t kTasksAtOnce = 50;

void count(protocol::AllocationCounts& counts, const AllocationRunner& runner) {
  switch (runner.update().client_status) {
    case model::ClientStatus::running:
      ++counts.running;
      return;
    case model::ClientStatus::pending:
      break;
    default:
      ++counts.terminal;
      return;
  }
  switch (runner.awaits_disk()) {
    case AllocationRunner::AwaitsDisk::no:
      ++counts.pending;
      return;
    case AllocationRunner::AwaitsDisk::of_this_node:
      ++counts.blocked;
      return;
    case AllocationRunner::AwaitsDisk::of_another:
      ++counts.migrating;
      return;
  }
}

void add_up(protocol::ResourceSum& sum, const model::AllocatedResources& given) {
  for (const auto& [name, task] : given.tasks) {
    sum.cpu += task.cpu;
    sum.memory_mb += task.memory_mb;
  }
  sum.disk_mb += given.disk_mb;
}

/// What is left of the node; more may have been given than it has now, after a change of its configuration.
protocol::ResourceSum left_of(const model::Node& node, const protocol::ResourceSum& given) {
  const auto left = [](std::int64_t all, std::int64_t reserved, std::int64_t used) {
    return std::max<std::int64_t>(0, all - reserved - used);
  };
  return {left(node.resources.cpu, node.reserved.cpu, given.cpu),
          left(node.resources.memory_mb, node.reserved.memory_mb, given.memory_mb),
          left(node.resources.disk_mb, node.reserved.disk_mb, given.disk_mb)};
}

/// All but what it uses.
protocol::TaskMetrics metrics_of(const model::Allocation& allocation, const TaskRunner& task) {
  protocol::TaskMetrics out{.ns = allocation.ns,
                            .job = allocation.job_id,
                            .group = allocation.group,
                            .alloc = allocation.id,
                            .task = task.task().name};
  out.running = task.running();
  const auto given = allocation.resources.tasks.find(out.task);
  if (given != allocation.resources.tasks.end()) {
    out.cpu_allocated = given->second.cpu;
    out.memory_allocated = given->second.memory_mb * kMiB;
    out.memory_max_allocated = given->second.memory_max_mb * kMiB;
  }
  out.starts = task.starts();
  out.restarts = static_cast<std::int64_t>(task.state().restarts);
  out.oom_kills = task.oom_kills();
  out.failed = task.dead() && task.state().failed;
  out.complete = task.dead() && !task.state().failed;
  return out;
}

void add_usage(protocol::TaskMetrics& out, const TaskSample& sample, std::int64_t core_mhz) {
  const TaskUsage& used = sample.used;
  out.cpu_percent = sample.percent;
  out.cpu_user = sample.user;
  out.cpu_system = sample.system;
  out.cpu_ticks = sample.percent / 100.0 * static_cast<double>(core_mhz);
  out.throttled_time = used.cpu_throttled.count();
  out.throttled_periods = static_cast<std::int64_t>(used.cpu_throttled_periods);
  out.memory_usage = static_cast<std::int64_t>(used.memory_bytes);
  out.memory_max_usage = static_cast<std::int64_t>(used.memory_peak_bytes);
  out.memory_rss = static_cast<std::int64_t>(used.memory_anonymous_bytes);
  out.memory_cache = static_cast<std::int64_t>(used.memory_file_bytes);
  out.memory_swap = static_cast<std::int64_t>(used.memory_swap_bytes);
  out.memory_kernel_usage = static_cast<std::int64_t>(used.memory_kernel_bytes);
}

}  // namespace

awaitable<protocol::ClientMetrics> Node::Impl::measure() {
  protocol::ClientMetrics out;
  const std::int64_t core = self_.resources.cpu / std::max<std::int64_t>(1, self_.resources.cores);
  std::vector<std::shared_ptr<RunningTask>> processes;
  for (const auto& [id, runner] : runners_) {
    count(out.allocations, *runner);
    if (!runner->dead()) add_up(out.allocated, runner->allocation().resources);
    for (const auto& [name, task] : runner->tasks()) {
      out.tasks.push_back(metrics_of(runner->allocation(), *task));
      processes.push_back(task->process());
    }
  }
  out.unallocated = left_of(self_, out.allocated);
  out.loops = measure_loops(loops_);
  const auto sample = [&] { out.host = metrics_host_.sample(Machine{}, options_.data_dir, core, runtime_.now()); };
  co_await blocking(runtime_, sample);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (i % kTasksAtOnce == kTasksAtOnce - 1) co_await asio::post(loop_.executor(), asio::use_awaitable);
    protocol::TaskMetrics& task = out.tasks[i];
    if (processes[i])
      add_usage(task, metrics_samples_.sample(task.alloc, task.task, *processes[i], runtime_.now()), core);
  }
  metrics_samples_.keep([this](const std::string& id) { return runners_.contains(id); });
  co_return out;
}

}  // namespace underway::node
