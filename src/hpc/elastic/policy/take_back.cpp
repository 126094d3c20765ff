// Opportunistic capacity goes back when its owner wants it: no job is lost, each is redone at most once.
#include <algorithm>

#include "elastic/detail/round.hpp"

namespace underway::elastic::detail {
namespace {

/// Processor-seconds that are lost with the job's nodes: since it began, or since its last checkpoint.
double lost_work(const RunningJob& job, TimePoint now) {
  const Duration lost = std::max(now - std::max(job.started, job.kept), Duration{0});
  return std::chrono::duration<double>(lost).count() * static_cast<double>(job.cpus_per_node) *
         static_cast<double>(job.nodes.size());
}

class Recalling {
 public:
  explicit Recalling(Round& round) : round_(round) {
    for (const auto& job : round.tick.running) jobs_.emplace(job.id, &job);
  }

  void serve(const Recall& recall) {
    left_ = recall.nodes;
    take_free(recall, NodePhase::idle);
    take_free(recall, NodePhase::booting);
    while (left_ > 0 && take_cheapest(recall)) {
    }
    if (left_ > 0)
      round_.note(fmt::format("class '{}': {} of {} recalled nodes stay, their jobs were taken back once already",
                              recall.class_name, left_, recall.nodes));
  }

 private:
  void take_free(const Recall& recall, NodePhase phase) {
    for (const auto& node : round_.tick.nodes) {
      if (left_ == 0) return;
      if (node.class_name != recall.class_name || node.phase != phase || !node.jobs.empty()) continue;
      if (!round_.gone.insert(node.name).second) continue;
      round_.out.take_back.push_back({node.name, round_.now(), {}});
      --left_;
    }
  }

  /// A job may have several nodes: who takes one has the others for nothing, so the choice is made anew each time.
  bool take_cheapest(const Recall& recall) {
    const NodeView* best = nullptr;
    double least = 0;
    for (const auto& node : round_.tick.nodes) {
      if (node.class_name != recall.class_name || node.jobs.empty() || round_.gone.contains(node.name)) continue;
      const auto lost = cost(node);
      if (lost && (best == nullptr || *lost < least)) {
        best = &node;
        least = *lost;
      }
    }
    if (best == nullptr) return false;
    round_.gone.insert(best->name);
    TakeBack back{best->name, round_.now() + round_.policy.promises.notice, {}};
    for (const auto& job : best->jobs) {
      if (!taken_.insert(job).second) continue;
      ++round_.state.redone[job];
      back.jobs.push_back(job);
    }
    round_.out.take_back.push_back(std::move(back));
    --left_;
    return true;
  }

  /// Absent: one of its jobs has been taken back before.
  std::optional<double> cost(const NodeView& node) const {
    double lost = 0;
    for (const auto& id : node.jobs) {
      if (taken_.contains(id)) continue;
      if (round_.state.redone.contains(id)) return std::nullopt;
      const auto found = jobs_.find(id);
      if (found != jobs_.end()) lost += lost_work(*found->second, round_.now());
    }
    return lost;
  }

  Round& round_;
  std::unordered_map<std::string_view, const RunningJob*> jobs_;
  std::unordered_set<std::string> taken_;  ///< by this decision
  std::int64_t left_ = 0;
};

}  // namespace

void take_back(Round& round) {
  if (round.tick.recalls.empty()) return;
  Recalling recalling(round);
  for (const auto& recall : round.tick.recalls) recalling.serve(recall);
}

}  // namespace underway::elastic::detail
