#include "scheduler/reconcile/standing.hpp"

namespace underway::scheduler {

using model::Allocation;
using model::ClientStatus;
using model::NodeStatus;
using model::Reconcile;

namespace {

const model::Node* node_of(const Allocation& allocation, const FleetIndex& fleet) {
  const Slot slot = fleet.find(allocation.node_id);
  return slot == kNoSlot ? nullptr : fleet.node(slot).node.get();
}

Standing on_silent_node(const Allocation& allocation, std::int64_t now) {
  const bool known = allocation.client_status == ClientStatus::unknown;
  // What has not told yet that it runs is started elsewhere: nobody would miss it less if we waited. Unless it must not
  // run twice: its node may just have started it.
  if (!known && allocation.client_status != ClientStatus::running && !model::may_run_still(allocation))
    return Standing::lost;
  if (!model::disconnect_policy(allocation).unknown_for()) return Standing::lost;
  if (!known) return Standing::silenced;
  const auto end = given_up_at(allocation, now);
  return end && *end <= now ? Standing::lost : Standing::unknown;
}

/// When the last of its tasks was started, by the node's clock; 0: not all of them have.
std::int64_t running_since(const Allocation& allocation) {
  std::int64_t since = 0;
  for (const auto& [name, task] : allocation.task_states) since = std::max(since, task.started_at);
  return since;
}

double score_of(const Allocation& allocation) {
  for (const auto& score : allocation.metrics.scores) {
    if (score.node_id == allocation.node_id) return score.norm_score;
  }
  return 0;
}

}  // namespace

Standing standing_of(const Allocation& allocation, const FleetIndex& fleet, std::int64_t now) {
  const model::Node* node = node_of(allocation, fleet);
  if (node == nullptr || node->status == NodeStatus::down) return Standing::lost;
  if (node->status == NodeStatus::disconnected) {
    const Standing standing = on_silent_node(allocation, now);
    if (standing == Standing::lost || !has_to_go(allocation, fleet, now)) return standing;
    return Standing::migrates;
  }
  if (allocation.transition.migrate) return Standing::migrates;
  // Its node is back and has not told of it yet.
  if (allocation.client_status == ClientStatus::unknown) return Standing::unknown;
  return allocation.unknown_since > 0 ? Standing::returned : Standing::stands;
}

std::optional<std::int64_t> given_up_at(const Allocation& allocation, std::int64_t now) {
  const auto patience = model::disconnect_policy(allocation).unknown_for();
  const std::int64_t since = allocation.unknown_since > 0 ? allocation.unknown_since : now;
  if (!patience || patience->count() > std::numeric_limits<std::int64_t>::max() - since) return std::nullopt;
  return since + patience->count();
}

bool has_to_go(const Allocation& allocation, const FleetIndex& fleet, std::int64_t now) {
  const model::Node* node = node_of(allocation, fleet);
  return allocation.transition.migrate && node != nullptr && node->drain && node->drain->forced(now);
}

bool original_goes_on(const Allocation& original, const Allocation& replacement) {
  // A newer version is what is wanted, wherever it runs.
  if (original.job_version != replacement.job_version) return original.job_version > replacement.job_version;
  switch (model::disconnect_policy(original).reconcile) {
    case Reconcile::keep_original:
      return true;
    case Reconcile::keep_replacement:
      return false;
    case Reconcile::longest_running: {
      const std::int64_t mine = running_since(original), its = running_since(replacement);
      return its == 0 || (mine > 0 && mine <= its);
    }
    case Reconcile::best_score:
      return score_of(original) >= score_of(replacement);
  }
  return true;
}

}  // namespace underway::scheduler
