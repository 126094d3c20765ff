// Jobs of several nodes: all of them in time, or none is kept.
#include <algorithm>

#include "elastic/detail/round.hpp"

namespace underway::elastic::detail {
namespace {

struct Marked {
  std::vector<const NodeView*> booting, up;
};

/// The nodes of each gang, by label.
std::map<std::string, Marked> marked_nodes(const Tick& tick, const std::unordered_set<std::string>& gone) {
  std::map<std::string, Marked> out;
  for (const auto& node : tick.nodes) {
    if (node.gang.empty() || gone.contains(node.name)) continue;
    Marked& marked = out[node.gang];
    (node.phase == NodePhase::booting ? marked.booting : marked.up).push_back(&node);
  }
  return out;
}

void give_up(Round& round, Gang& gang, const Marked& marked) {
  const auto has = static_cast<std::int64_t>(marked.up.size());
  for (const auto* node : marked.booting)
    round.remove(*node, fmt::format("{} of {} nodes of Slurm job {} were up in time", has, gang.nodes, gang.job));
  for (const auto* node : marked.up) {
    if (node->phase == NodePhase::idle && node->jobs.empty()) round.freed.insert(node->name);
  }
  const auto doublings = std::min<std::int64_t>(gang.attempts++, 20);
  const Duration pause = std::min(round.policy.backoff * (std::int64_t{1} << doublings), round.policy.max_backoff);
  gang.forming = false;
  gang.not_before = unix_nanos(round.now() + pause);
  round.note(fmt::format(
      "Slurm job {}: {} of {} nodes of class '{}' were up in time; they are given back, and tried again in {}",
      gang.job, has, gang.nodes, gang.class_name, human_duration(pause)));
}

}  // namespace

void settle_gangs(Round& round) {
  auto& gangs = round.state.gangs;
  if (gangs.empty()) return;
  std::unordered_map<std::string_view, std::int64_t> tasks;  // of gangs that would start now
  for (const auto& wanted : round.demand.jobs) {
    if (wanted.job->gang()) tasks[wanted.job->id] += wanted.tasks;
  }
  const auto marked = marked_nodes(round.tick, round.gone);
  std::vector<Gang> left;
  for (auto& gang : gangs) {
    const auto found = tasks.find(gang.job);
    if (found == tasks.end() || found->second <= 0) continue;  // it runs, or is gone, or waits for something else
    const auto mine = marked.find(gang.label);
    const Marked nodes = mine == marked.end() ? Marked{} : mine->second;
    if (gang.forming) {
      --found->second;
      if (static_cast<std::int64_t>(nodes.up.size()) >= gang.nodes) continue;  // complete: anybody's, and so this job's
      if (unix_nanos(round.now()) >= gang.deadline) {
        give_up(round, gang, nodes);
      } else {
        round.forming.insert(gang.label);
        round.look_again(from_unix_nanos(gang.deadline));
      }
    }
    if (!gang.forming)
      round.look_again(std::max(from_unix_nanos(gang.not_before), round.now() + std::chrono::seconds{1}));
    left.push_back(std::move(gang));
  }
  gangs = std::move(left);
}

}  // namespace underway::elastic::detail
