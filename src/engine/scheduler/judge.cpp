#include "scheduler/judge.hpp"

#include "base/allowance.hpp"
#include "scheduler/feasibility/volumes.hpp"
#include "scheduler/placement/placer.hpp"

namespace underway::scheduler {

namespace {

/// Of 100 ns (Allowance): who asks chooses how many groups there are, and each is asked of every node.
constexpr std::uint64_t kStepsOfPeer = 2;
constexpr std::uint64_t kStepsOfNode = 20;

std::string not_ready(const model::Node& node) {
  if (node.drain) return "it is being drained";
  if (node.status != model::NodeStatus::ready) return fmt::format("it is {}", describe::spell(node.status));
  return "it is not eligible for new allocations";
}

std::string out_of_scope(const model::Node& node, const model::Job& job) {
  if (job.node_pool != "all" && node.node_pool != job.node_pool)
    return fmt::format("it is in node pool '{}', the job asks for '{}'", node.node_pool, job.node_pool);
  return fmt::format("it is in datacenter '{}', for which the job does not ask", node.datacenter);
}

/// With the figures where it is about an amount.
std::string exhausted(const std::string& dimension, const Amount& asked, const std::optional<NodeUsage>& usage) {
  const auto amount = [&](std::int64_t Amount::* part, const char* unit) {
    return fmt::format("{}: asks {} {}, {} {} are free", dimension, asked.*part, unit,
                       usage->capacity.*part - usage->used.*part, unit);
  };
  if (usage && dimension == "cpu") return amount(&Amount::cpu, "MHz");
  if (usage && dimension == "memory") return amount(&Amount::memory_mb, "MiB");
  if (usage && dimension == "disk") return amount(&Amount::disk_mb, "MiB");
  return dimension;
}

}  // namespace

std::string filter_in_words(const std::string& reason) {
  for (const std::string_view state : {"missing driver ", "unhealthy driver "}) {
    if (!reason.starts_with(state)) continue;
    return fmt::format("driver '{}' is {} there", reason.substr(state.size()), state.substr(0, state.find(' ')));
  }
  if (reason == "distinct_hosts") return "another allocation of the job is there already (distinct_hosts)";
  if (reason.starts_with("distinct_property") || reason.starts_with("missing property")) return reason;
  if (reason == kNoVolumes) return "it does not lend a volume that the group asks for, or only for reading";
  return fmt::format("the constraint {} does not hold there", reason);
}

std::vector<NodeVerdict> judge_nodes(const tables::Tables& tables, Fleet& fleet, const tables::Row<model::Job>& job,
                                     const model::TaskGroup& group) {
  FleetIndex& index = fleet.index();
  Peers peers(index);
  for (const auto& allocation : tables.allocations_of_job(job->ns, job->id)) {
    Allowance::spend(kStepsOfPeer);
    const Slot slot = index.find(allocation->node_id);
    if (!allocation->terminal() && slot != kNoSlot) peers.add(slot, allocation->group);
  }
  const Ask ask(job, group);
  Placer placer(index, peers, ask, 0, Placer::Use::visiting);
  std::vector<NodeVerdict> verdicts;
  for (const auto& node : tables.nodes()) {
    Allowance::spend(kStepsOfNode);
    const Slot slot = index.find(node->id);
    NodeVerdict& verdict = verdicts.emplace_back();
    verdict.node = node;
    if (slot == kNoSlot || !node->ready()) {
      verdict.against = not_ready(*node);
      continue;
    }
    if (!placer.in_scope(slot)) {
      verdict.against = out_of_scope(*node, *job);
      continue;
    }
    model::AllocMetric metric;
    placer.judge(slot, metric);
    for (const auto& [reason, count] : metric.constraint_filtered) verdict.against = filter_in_words(reason);
    for (const auto& [dimension, count] : metric.dimension_exhausted)
      verdict.against = exhausted(dimension, ask.amount, fleet.usage(node->id));
  }
  return verdicts;
}

}  // namespace underway::scheduler
