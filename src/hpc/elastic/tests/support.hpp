#pragma once
/// @file
/// Short ways to write queues, nodes and policies down.

#include "elastic/tick.hpp"

#include <fmt/format.h>

namespace underway::elastic::testing {

using namespace std::chrono_literals;

inline constexpr TimePoint kNow{std::chrono::seconds{1'700'000'000}};

inline PoolClass make_class(std::string name, std::int64_t vcpus = 4, std::int64_t memory_mb = 32 * 1024,
                            std::int64_t max_nodes = 10, std::string cost = "0.10") {
  PoolClass type;
  type.name = std::move(name);
  type.vcpus = vcpus;
  type.memory_mb = memory_mb;
  type.max_nodes = max_nodes;
  type.cost_per_hour = std::move(cost);
  return type;
}

inline Policy make_policy(std::vector<PoolClass> classes = {make_class("small")}) {
  Policy policy;
  policy.classes = std::move(classes);
  policy.boot_burst = 100;
  policy.pack = false;
  return policy;
}

inline PendingJob make_job(std::string id, std::int64_t cpus = 4, std::int64_t nodes = 1, std::int64_t priority = 100) {
  PendingJob job;
  job.id = std::move(id);
  job.partition = "batch";
  job.cpus = cpus * nodes;
  job.nodes_min = job.nodes_max = nodes;
  job.priority = priority;
  job.reason = "Resources";
  job.submitted = kNow - 1min;
  return job;
}

inline NodeView make_node(std::string name, NodePhase phase, std::string class_name = "small", Duration ago = 10s) {
  NodeView node;
  node.name = std::move(name);
  node.class_name = std::move(class_name);
  node.phase = phase;
  node.since = kNow - ago;
  node.cpus_free = phase == NodePhase::busy ? 0 : 4;
  node.memory_free_mb = phase == NodePhase::busy ? 0 : 32 * 1024;
  if (phase == NodePhase::busy) node.jobs = {"on-" + node.name};
  return node;
}

inline RunningJob make_running(std::string id, std::vector<std::string> nodes, std::int64_t cpus = 4,
                               Duration ago = 1h) {
  RunningJob job;
  job.id = std::move(id);
  job.nodes = std::move(nodes);
  job.cpus_per_node = cpus;
  job.started = kNow - ago;
  return job;
}

inline Tick make_tick(std::vector<PendingJob> pending = {}, std::vector<NodeView> nodes = {}) {
  Tick tick;
  tick.now = kNow;
  tick.pending = std::move(pending);
  tick.nodes = std::move(nodes);
  return tick;
}

/// "small 3, small 4 for 7/1": what is asked for.
inline std::string grown(const Decision& decision) {
  std::string out;
  for (const auto& grow : decision.grow)
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", grow.class_name, grow.count,
                       grow.gang.empty() ? "" : " for " + grow.gang);
  return out;
}

inline std::string shrunk(const Decision& decision) {
  std::string out;
  for (const auto& action : decision.shrink) out += (out.empty() ? "" : " ") + action.node;
  return out;
}

inline std::string said(const Decision& decision) {
  std::string out;
  for (const auto& line : render(decision.explanation)) out += line + "\n";
  return out;
}

}  // namespace underway::elastic::testing
