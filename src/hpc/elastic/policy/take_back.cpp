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
    for (const auto& node : round.tick.nodes) {
      if (node.taken) round.gone.insert(node.name);
    }
  }

  /// A job may begin on a node between the decision that it goes and Slurm's knowing of it.
  void catch_up() {
    for (const auto& node : round_.tick.nodes) {
      if (!node.taken) continue;
      TakeBack back{node.name, round_.now() + round_.policy.promises.notice, {}};
      for (const auto& id : node.jobs) {
        if (!ends(id) && why_spared(id).empty()) redo(id, back);
      }
      if (!back.jobs.empty()) round_.out.take_back.push_back(std::move(back));
    }
  }

  void serve(const Recall& recall) {
    if (!recall.named.empty()) return serve_named(recall);
    left_ = recall.nodes;
    take_free(recall, NodePhase::idle);
    take_free(recall, NodePhase::booting);
    while (left_ > 0 && take_cheapest(recall)) {
    }
    if (left_ > 0) tell_staying(recall);
  }

 private:
  bool is_of(const NodeView& node, const Recall& recall) const {
    return node.class_name == recall.class_name && !round_.gone.contains(node.name);
  }
  bool ends(const std::string& id) const {
    const auto found = jobs_.find(id);
    return found != jobs_.end() && found->second->ending;
  }

  /// Why its nodes are not taken; empty: they may be.
  std::string why_spared(const std::string& id) const {
    if (taken_.contains(id) || ends(id)) return {};
    if (round_.state.redone.contains(id)) return fmt::format("job {} was taken back once already", id);
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || found->second->not_redone.empty()) return {};
    return fmt::format("job {} {}", id, found->second->not_redone);
  }
  std::string why_spared(const NodeView& node) const {
    if (node.phase == NodePhase::asleep) return "it sleeps";
    for (const auto& id : node.jobs) {
      if (auto why = why_spared(id); !why.empty()) return why;
    }
    return {};
  }

  void serve_named(const Recall& recall) {
    for (const auto& name : recall.named) {
      const auto at = std::find_if(round_.tick.nodes.begin(), round_.tick.nodes.end(),
                                   [&](const NodeView& node) { return node.name == name && is_of(node, recall); });
      const auto why = at == round_.tick.nodes.end() ? "it is not there, or somebody else holds it" : why_spared(*at);
      if (why.empty())
        take(*at, recall);
      else
        round_.out.staying.push_back({name, why, recall.id});
    }
  }

  void tell_staying(const Recall& recall) {
    const auto before = round_.out.staying.size();
    for (const auto& node : round_.tick.nodes) {
      if (is_of(node, recall)) round_.out.staying.push_back({node.name, why_spared(node), recall.id});
    }
    if (round_.out.staying.size() > before)
      round_.note(fmt::format("class '{}': {} of {} recalled nodes stay, their jobs cannot be taken back",
                              recall.class_name, left_, recall.nodes));
  }

  void redo(const std::string& id, TakeBack& back) {
    if (!taken_.insert(id).second) return;
    ++round_.state.redone[id];
    back.jobs.push_back(id);
  }

  void take(const NodeView& node, const Recall& recall) {
    round_.gone.insert(node.name);
    const bool busy = std::any_of(node.jobs.begin(), node.jobs.end(), [&](const auto& id) { return !ends(id); });
    TakeBack back{node.name, busy ? round_.now() + round_.policy.promises.notice : round_.now(), {}, recall.id};
    for (const auto& id : node.jobs) {
      if (!ends(id)) redo(id, back);
    }
    round_.out.take_back.push_back(std::move(back));
    --left_;
  }

  void take_free(const Recall& recall, NodePhase phase) {
    for (const auto& node : round_.tick.nodes) {
      if (left_ == 0) return;
      if (is_of(node, recall) && node.phase == phase && node.jobs.empty()) take(node, recall);
    }
  }

  /// A job may have several nodes: who takes one has the others for nothing, so the choice is made anew each time.
  bool take_cheapest(const Recall& recall) {
    const NodeView* best = nullptr;
    double least = 0;
    for (const auto& node : round_.tick.nodes) {
      if (!is_of(node, recall) || node.jobs.empty() || !why_spared(node).empty()) continue;
      const auto lost = cost(node);
      if (best == nullptr || lost < least) {
        best = &node;
        least = lost;
      }
    }
    if (best == nullptr) return false;
    take(*best, recall);
    return true;
  }

  double cost(const NodeView& node) const {
    double lost = 0;
    for (const auto& id : node.jobs) {
      const auto found = jobs_.find(id);
      if (found != jobs_.end() && !taken_.contains(id) && !ends(id)) lost += lost_work(*found->second, round_.now());
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
  const bool any_taken =
      std::any_of(round.tick.nodes.begin(), round.tick.nodes.end(), [](const NodeView& node) { return node.taken; });
  if (round.tick.recalls.empty() && !any_taken) return;
  Recalling recalling(round);
  recalling.catch_up();
  for (const auto& recall : round.tick.recalls) recalling.serve(recall);
}

}  // namespace underway::elastic::detail
