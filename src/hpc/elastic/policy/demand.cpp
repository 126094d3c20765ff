#include <algorithm>

#include "elastic/detail/shapes.hpp"
#include "elastic/policy/curable.hpp"

namespace underway::elastic::detail {
namespace {

constexpr std::size_t kExamples = 3;

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2));
}

std::size_t shape_hash(const PendingJob& job, bool redone) {
  std::size_t seed = std::hash<std::string>{}(job.partition);
  for (const auto& feature : job.features) seed = mix(seed, std::hash<std::string>{}(feature));
  seed = mix(seed, static_cast<std::size_t>(job.nodes_min));
  seed = mix(seed, static_cast<std::size_t>(job.cpus));
  seed = mix(seed, static_cast<std::size_t>(job.memory_mb));
  return mix(seed, (job.exclusive ? 2u : 0u) + (redone ? 1u : 0u));
}

bool alike(const PendingJob& a, const PendingJob& b) {
  return a.nodes_min == b.nodes_min && a.cpus == b.cpus && a.memory_mb == b.memory_mb && a.exclusive == b.exclusive &&
         a.partition == b.partition && a.features == b.features;
}

class Gathering {
 public:
  Gathering(const Policy& policy, const Tick& tick, const State& state)
      : tick_(tick), state_(state), thresholds_(policy.thresholds) {
    if (thresholds_.empty()) thresholds_.push_back({});
  }

  Demand run() {
    out_.jobs.reserve(tick_.pending.size());
    for (const auto& job : tick_.pending) look_at(job);
    const auto first = [](const Wanted& a, const Wanted& b) {
      if (a.priority != b.priority) return a.priority > b.priority;
      if (a.submitted != b.submitted) return a.submitted < b.submitted;
      return a.job->id < b.job->id;
    };
    if (!std::is_sorted(out_.jobs.begin(), out_.jobs.end(), first))
      std::sort(out_.jobs.begin(), out_.jobs.end(), first);
    judge_thresholds();
    return std::move(out_);
  }

 private:
  void look_at(const PendingJob& job) {
    if (!cures(job.reason)) {
      out_.not_cured[job.reason] += job.array_remaining;
      return;
    }
    if (job.eligible_at > tick_.now) {
      out_.not_cured["BeginTime"] += job.array_remaining;
      return;
    }
    const std::int64_t tasks = job.startable();
    if (tasks < job.array_remaining)
      out_.not_cured["JobArrayTaskLimit"] += job.array_remaining - std::max<std::int64_t>(tasks, 0);
    if (tasks <= 0) return;
    const std::size_t shape = shape_of(job);
    out_.shapes[shape].tasks += tasks;
    auto& explained = out_.shapes[shape].explained;
    explained.jobs += tasks;
    if (explained.examples.size() < kExamples) explained.examples.push_back(job.id);
    out_.jobs.push_back({job.priority, job.submitted, &job, shape, tasks});
    count_waiting(job, tasks);
  }

  /// Neighbours in the queue mostly wait for the same reason.
  bool cures(const std::string& reason) {
    if (last_reason_ == nullptr || *last_reason_ != reason) {
      last_reason_ = &reason;
      last_cured_ = capacity_cures(reason);
    }
    return last_cured_;
  }

  std::size_t shape_of(const PendingJob& job) {
    const bool redone = !state_.redone.empty() && state_.redone.contains(job.id);
    if (!out_.shapes.empty()) {
      const Shape& last = out_.shapes[last_shape_];
      if (last.redone == redone && alike(*last.sample, job)) return last_shape_;
    }
    auto& found = by_hash_[shape_hash(job, redone)];
    for (const std::size_t index : found) {
      const Shape& shape = out_.shapes[index];
      if (shape.redone == redone && alike(*shape.sample, job)) return last_shape_ = index;
    }
    found.push_back(out_.shapes.size());
    Shape shape;
    shape.sample = &job;
    shape.cpus = std::max<std::int64_t>(job.cpus_per_node(), 1);
    shape.redone = redone;
    shape.explained.partition = job.partition;
    shape.explained.nodes = std::max<std::int64_t>(job.nodes_min, 1);
    shape.explained.cpus = shape.cpus;
    shape.explained.memory_mb = job.memory_mb;
    shape.explained.features = job.features;
    out_.shapes.push_back(std::move(shape));
    return last_shape_ = out_.shapes.size() - 1;
  }

  void count_waiting(const PendingJob& job, std::int64_t tasks) {
    if (counts_ == nullptr || *counts_partition_ != job.partition) {
      counts_ = &waited_[job.partition];
      counts_partition_ = &job.partition;
      counts_->resize(thresholds_.size());
    }
    const Duration waited = tick_.now - std::max(job.submitted, job.eligible_at);
    for (std::size_t i = 0; i < thresholds_.size(); ++i) {
      if (waited >= std::chrono::minutes(thresholds_[i].minutes)) (*counts_)[i] += tasks;
    }
  }

  void judge_thresholds() {
    for (const auto& [partition, counts] : waited_) {
      bool& reached = out_.reached[partition];
      for (std::size_t i = 0; i < counts.size(); ++i) reached = reached || counts[i] >= thresholds_[i].jobs;
      for (std::size_t i = 0; i < counts.size() && !reached; ++i)
        out_.thresholds.push_back({partition, counts[i], thresholds_[i].jobs, thresholds_[i].minutes});
    }
  }

  const Tick& tick_;
  const State& state_;
  std::vector<Threshold> thresholds_;
  Demand out_;
  std::unordered_map<std::size_t, std::vector<std::size_t>> by_hash_;
  std::map<std::string, std::vector<std::int64_t>> waited_;
  std::vector<std::int64_t>* counts_ = nullptr;
  const std::string* counts_partition_ = nullptr;
  const std::string* last_reason_ = nullptr;
  bool last_cured_ = false;
  std::size_t last_shape_ = 0;
};

}  // namespace

Demand demand_of(const Policy& policy, const Tick& tick, const State& state) {
  return Gathering(policy, tick, state).run();
}

}  // namespace underway::elastic::detail
