// Jobs of the queue as the policy sees them.
#include "growth/detail/views.hpp"

#include "base/text.hpp"

namespace underway::growth::detail {
namespace {

bool serves(const elastic::PoolClass& type, const std::string& partition) {
  return type.partitions.empty() ||
         std::find(type.partitions.begin(), type.partitions.end(), partition) != type.partitions.end();
}

/// Of several the first that nodes can be made for: Slurm takes the job wherever it can start first.
std::string partition_of(const slurm::QueuedJob& job, const elastic::Policy& policy) {
  for (const auto& partition : job.partitions) {
    if (std::any_of(policy.classes.begin(), policy.classes.end(),
                    [&](const auto& type) { return serves(type, partition); }))
      return partition;
  }
  return job.partitions.empty() ? "" : job.partitions.front();
}

/// What no host of a pool has, whatever is made: as features that no class can have.
std::vector<std::string> out_of_reach(const slurm::QueuedJob& job) {
  std::vector<std::string> out;
  if (!job.gres.empty()) out.push_back(job.gres);
  if (!job.named_nodes.empty()) out.push_back("node:" + job.named_nodes);
  if (!job.reservation.empty()) out.push_back("reservation:" + job.reservation);
  return out;
}

std::vector<std::string> needs(const slurm::QueuedJob& job) {
  auto out = job.features;
  for (auto& more : out_of_reach(job)) out.push_back(std::move(more));
  return out;
}

elastic::PendingJob pending(const slurm::QueuedJob& job, const elastic::Policy& policy) {
  elastic::PendingJob out;
  out.id = job.id;
  out.user = job.user;
  out.account = job.account;
  out.qos = job.qos;
  out.partition = partition_of(job, policy);
  out.priority = job.priority;
  out.nodes_min = std::max<std::int64_t>(job.nodes_min, 1);
  out.nodes_max = job.nodes_max;
  out.cpus = std::max(job.cpus, out.nodes_min);
  out.memory_mb = job.memory_mb;
  out.features = needs(job);
  out.exclusive = job.exclusive;
  out.array_remaining = job.array_remaining;
  out.array_limit = job.array_limit;
  out.reason = job.reason;
  out.submitted = job.submitted;
  if (job.reason == "BeginTime") out.eligible_at = job.starts;
  out.time_limit = job.time_limit;
  return out;
}

elastic::RunningJob running(const slurm::QueuedJob& job) {
  elastic::RunningJob out;
  out.id = job.id;
  out.user = job.user;
  out.account = job.account;
  out.qos = job.qos;
  out.partition = job.partitions.empty() ? "" : job.partitions.front();
  out.priority = job.priority;
  out.nodes = job.nodes;
  const auto nodes = std::max<std::int64_t>(static_cast<std::int64_t>(job.nodes.size()), 1);
  out.cpus_per_node = (job.cpus + nodes - 1) / nodes;
  out.memory_mb = job.memory_mb;
  out.started = job.starts;
  out.ends = job.ends;
  out.ending = job.state == "COMPLETING";
  return out;
}

/// "17_3" -> "17", and "17_[4-9%2]" too.
std::string_view array_of(std::string_view id) { return id.substr(0, id.find('_')); }

}  // namespace

void add_jobs(elastic::Tick& tick, const std::vector<slurm::QueuedJob>& queue, elastic::Policy& policy,
              const std::map<std::string, std::set<std::string>>& partitions) {
  for (auto& type : policy.classes) {
    const auto known = partitions.find(type.name);
    if (type.partitions.empty() && known != partitions.end())
      type.partitions.assign(known->second.begin(), known->second.end());
  }
  std::map<std::string, std::int64_t, std::less<>> tasks;  // of arrays, that run
  for (const auto& job : queue) {
    if (job.waits()) continue;
    tick.running.push_back(running(job));
    if (job.id.find('_') != std::string::npos) ++tasks[std::string(array_of(job.id))];
  }
  for (const auto& job : queue) {
    if (!job.waits()) continue;
    tick.pending.push_back(pending(job, policy));
    if (const auto at = tasks.find(array_of(job.id)); at != tasks.end()) tick.pending.back().array_running = at->second;
  }
}

bool is_job(const slurm::QueuedJob& job, const std::string& name) {
  if (job.id == name) return true;
  // What waits of an array is one line: "17_[3-9]".
  return job.id.find('[') != std::string::npos && array_of(job.id) == array_of(name);
}

bool is_of_shape(const slurm::QueuedJob& job, const elastic::ShapeExplanation& shape) {
  const auto nodes = std::max<std::int64_t>(job.nodes_min, 1);
  const auto cpus = std::max<std::int64_t>((std::max(job.cpus, nodes) + nodes - 1) / nodes, 1);
  return shape.nodes == nodes && shape.cpus == cpus && shape.memory_mb == job.memory_mb &&
         shape.features == needs(job) &&
         (shape.partition.empty() ||
          std::find(job.partitions.begin(), job.partitions.end(), shape.partition) != job.partitions.end());
}

}  // namespace underway::growth::detail
