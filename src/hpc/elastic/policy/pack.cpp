// Fewer nodes for the same jobs: those that will be free soonest take no new ones, and what would keep a node for long
// is moved. Best fit decreasing is within 11/9 of the fewest nodes (Johnson 1973, "Near-optimal bin packing
// algorithms").
#include <algorithm>

#include "elastic/detail/round.hpp"

namespace underway::elastic::detail {
namespace {

/// A job is moved when it would keep its node for more than so many times the time that an idle node is kept.
constexpr int kStraggles = 2;

struct Packed {
  const NodeView* node = nullptr;
  std::int64_t cpus = 0, memory_mb = 0;  ///< free
  std::vector<const RunningJob*> jobs;
  TimePoint free_at{};  ///< far away when nobody knows
};

using Jobs = std::unordered_map<std::string_view, const RunningJob*>;

bool smaller(const RunningJob* a, const RunningJob* b) {
  return std::tuple(-a->cpus_per_node, -a->memory_mb, a->id) < std::tuple(-b->cpus_per_node, -b->memory_mb, b->id);
}

/// The node that the job fits most tightly; null: none.
Packed* best_fit(std::vector<Packed*>& nodes, const RunningJob& job) {
  Packed* best = nullptr;
  for (auto* node : nodes) {
    if (node->cpus < job.cpus_per_node || node->memory_mb < job.memory_mb) continue;
    if (best == nullptr || std::pair(node->cpus, node->memory_mb) < std::pair(best->cpus, best->memory_mb)) best = node;
  }
  return best;
}

class Packing {
 public:
  Packing(Round& round, Book& book, const Jobs& jobs) : round_(round), book_(book), jobs_(jobs) {}

  void run() {
    collect();
    const std::int64_t spare =
        std::min(static_cast<std::int64_t>(nodes_.size()) - fewest(), book_.counted - book_.type->min_nodes);
    if (spare <= 0) return;
    std::sort(nodes_.begin(), nodes_.end(), [](const Packed& a, const Packed& b) {
      return std::tie(a.free_at, a.node->name) < std::tie(b.free_at, b.node->name);
    });
    std::vector<Packed*> stay;
    for (std::size_t i = static_cast<std::size_t>(spare); i < nodes_.size(); ++i) stay.push_back(&nodes_[i]);
    for (std::size_t i = 0; i < static_cast<std::size_t>(spare); ++i) empty(nodes_[i], stay);
  }

 private:
  /// Busy nodes whose jobs are all known and have but the one node.
  void collect() {
    for (const auto* node : book_.busy) {
      Packed packed{node, node->cpus_free, node->memory_free_mb, {}, node->free_at};
      if (packed.free_at == TimePoint{}) packed.free_at = TimePoint::max();
      bool simple = !node->jobs.empty();
      for (const auto& id : node->jobs) {
        const auto found = jobs_.find(id);
        simple = simple && found != jobs_.end() && found->second->nodes.size() == 1;
        if (simple) packed.jobs.push_back(found->second);
      }
      if (simple) nodes_.push_back(std::move(packed));
    }
  }

  /// How many nodes their jobs need, best fit decreasing.
  std::int64_t fewest() const {
    std::vector<const RunningJob*> jobs;
    for (const auto& node : nodes_) jobs.insert(jobs.end(), node.jobs.begin(), node.jobs.end());
    std::sort(jobs.begin(), jobs.end(), smaller);
    OpenNodes open(book_.type->vcpus, book_.type->memory_mb);
    std::int64_t used = 0;
    for (const auto* job : jobs) {
      const Need need{std::max<std::int64_t>(job->cpus_per_node, 1), job->memory_mb, false};
      if (open.place(need, 1) == 1) continue;
      ++used;
      open.add_empty(1);
      open.place(need, 1);
    }
    return used;
  }

  void empty(Packed& packed, std::vector<Packed*>& stay) {
    const Duration left = packed.free_at == TimePoint::max() ? Duration::max() : packed.free_at - round_.now();
    round_.out.drain.push_back(
        {packed.node->name,
         fmt::format("its {} fit elsewhere; free in {}", packed.jobs.size() == 1 ? "job would" : "jobs would",
                     left == Duration::max() ? "nobody knows when" : human_duration(left))});
    if (left > keep_alive_of(round_.policy, *book_.type) * kStraggles) move_all(packed, stay);
  }

  /// All of the node's jobs or none: a node with one job left is as dear as before.
  void move_all(Packed& packed, std::vector<Packed*>& stay) {
    const auto movable = [&](const RunningJob* job) { return job->suspendable; };
    if (!std::all_of(packed.jobs.begin(), packed.jobs.end(), movable)) return;
    std::sort(packed.jobs.begin(), packed.jobs.end(), smaller);
    std::vector<std::pair<const RunningJob*, Packed*>> moves;
    for (const auto* job : packed.jobs) {
      Packed* to = best_fit(stay, *job);
      if (to == nullptr) break;
      to->cpus -= job->cpus_per_node;
      to->memory_mb -= job->memory_mb;
      moves.emplace_back(job, to);
    }
    if (moves.size() == packed.jobs.size()) {
      for (const auto& [job, to] : moves) round_.out.moves.push_back({job->id, packed.node->name, to->node->name});
      return;
    }
    for (const auto& [job, to] : moves) {
      to->cpus += job->cpus_per_node;
      to->memory_mb += job->memory_mb;
    }
  }

  Round& round_;
  Book& book_;
  const Jobs& jobs_;
  std::vector<Packed> nodes_;
};

}  // namespace

void pack(Round& round) {
  Jobs jobs;
  for (auto& book : round.supply->books()) {
    // While somebody waits for the class, or it grows, its nodes will be full soon enough.
    if (book.short_of_nodes || book.grown > 0 || book.busy.size() < 2 || book.counted <= book.type->min_nodes) continue;
    if (jobs.empty()) {
      for (const auto& job : round.tick.running) jobs.emplace(job.id, &job);
    }
    Packing(round, book, jobs).run();
  }
}

}  // namespace underway::elastic::detail
