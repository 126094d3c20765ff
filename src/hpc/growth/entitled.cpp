#include "growth/entitled.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace underway::growth {
namespace {

struct Serving {
  const PoolFacts* pool = nullptr;
  std::set<std::string> partitions;
};

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// Why the pool is for this job; empty: it is not.
std::string entitlement(const elastic::PoolClass& type, const slurm::QueuedJob& job) {
  if (!type.owner.empty() && job.account == type.owner)
    return fmt::format("it is of account '{}', which pool '{}' serves", job.account, type.name);
  if (!job.qos.empty() && has(type.qos, job.qos))
    return fmt::format("it is of QOS '{}', which pool '{}' serves", job.qos, type.name);
  const auto nodes = std::max(job.nodes_min, job.nodes_max);
  if (nodes <= type.up_to_nodes && job.gres.empty() && job.reservation.empty())
    return fmt::format("it is of {} node{}, and pool '{}' serves jobs of up to {}", nodes, nodes == 1 ? "" : "s",
                       type.name, type.up_to_nodes);
  return {};
}

bool can_have_others(const slurm::QueuedJob& job) {
  return job.waits() && job.named_nodes.empty() && job.id.find('+') == std::string::npos;
}

/// As scontrol takes it: "17_[3-9]" waits as 17.
std::string number_of(const slurm::QueuedJob& job) { return job.id.substr(0, job.id.find('_')); }

std::optional<EntitledJob> entitled(const slurm::QueuedJob& job, const std::vector<Serving>& serving) {
  EntitledJob out{.job = number_of(job)};
  for (const auto& [pool, partitions] : serving) {
    const auto why = entitlement(pool->type, job);
    const bool named = std::any_of(job.partitions.begin(), job.partitions.end(),
                                   [&](const auto& name) { return partitions.contains(name); });
    if (why.empty() || named) continue;
    for (const auto& name : partitions) {
      if (!has(out.partitions, name)) out.partitions.push_back(name);  // two pools may be in one
    }
    if (out.why.empty()) out.why = why;
  }
  if (out.partitions.empty()) return std::nullopt;
  out.partitions.insert(out.partitions.end(), job.partitions.begin(), job.partitions.end());
  return out;
}

}  // namespace

std::set<std::string> partitions_of(const PoolFacts& pool, const SlurmLook& slurm) {
  std::set<std::string> out(pool.type.partitions.begin(), pool.type.partitions.end());
  const std::set<std::string> names(pool.all_names.begin(), pool.all_names.end());
  for (const auto& record : slurm.records) {
    if (names.contains(record.name)) out.insert(record.partitions.begin(), record.partitions.end());
  }
  return out;
}

std::vector<EntitledJob> entitled_jobs(const ClusterFacts& facts, const SlurmLook& slurm) {
  std::vector<Serving> serving;
  for (const auto& pool : facts.pools) {
    if (pool.type.is_for_some()) serving.push_back({&pool, partitions_of(pool, slurm)});
  }
  std::vector<EntitledJob> out;
  if (serving.empty()) return out;
  for (const auto& job : slurm.queue) {
    if (!can_have_others(job)) continue;
    if (auto found = entitled(job, serving)) out.push_back(std::move(*found));
  }
  return out;
}

void put_into_partitions(std::vector<slurm::QueuedJob>& queue, const std::vector<EntitledJob>& jobs) {
  std::map<std::string_view, const EntitledJob*> by_number;
  for (const auto& job : jobs) by_number.emplace(job.job, &job);
  if (by_number.empty()) return;
  for (auto& job : queue) {
    if (!can_have_others(job)) continue;
    if (const auto at = by_number.find(number_of(job)); at != by_number.end()) job.partitions = at->second->partitions;
  }
}

bool was_done_for_tasks(std::string_view told) { return told.find(": No error") != std::string_view::npos; }

slurm::Command partitions_command(const EntitledJob& job) {
  return {"scontrol", "update", "jobid=" + job.job, "partition=" + join(job.partitions, ",")};
}

}  // namespace underway::growth
