#include "scheduler/detail/reconcile.hpp"

#include <set>

namespace underway::scheduler::detail {

using model::Allocation;
using model::ClientStatus;
using model::JobType;
using ById = std::unordered_map<std::string_view, const Allocation*>;

namespace {

std::int64_t end_of(const Allocation& allocation) {
  std::int64_t end = 0;
  for (const auto& [name, state] : allocation.task_states) end = std::max(end, state.finished_at);
  return end > 0 ? end : std::max(allocation.modify_time, allocation.create_time);
}

const Allocation* failed_predecessor(const Allocation& allocation, const ById& by_id) {
  const auto it = by_id.find(allocation.previous_allocation);
  return it == by_id.end() || it->second->client_status != ClientStatus::failed ? nullptr : it->second;
}

}  // namespace

std::optional<std::int64_t> replacement_time(const Allocation& failed, JobType type, const ById& by_id) {
  const std::int64_t end = end_of(failed);
  const auto ns = [](Duration duration) { return static_cast<std::int64_t>(duration.count()); };
  if (type == JobType::sysbatch) return std::nullopt;
  if (type == JobType::batch) {
    const Allocation* previous = failed_predecessor(failed, by_id);
    if (previous != nullptr && end - end_of(*previous) <= ns(std::chrono::hours(24))) return std::nullopt;
    return end + ns(std::chrono::seconds(5));
  }
  const Duration longest = std::chrono::hours(1);
  Duration delay = std::chrono::seconds(30);
  const Allocation* current = &failed;
  // One that ran longer than the longest delay counts as recovered: the delay starts anew.
  while (delay < longest && end_of(*current) - current->create_time <= ns(longest)) {
    current = failed_predecessor(*current, by_id);
    if (current == nullptr) break;
    delay *= 2;
  }
  return end + ns(std::min(delay, longest));
}

bool node_lost(const FleetIndex& fleet, const Allocation& allocation) {
  const Slot slot = fleet.find(allocation.node_id);
  return slot == kNoSlot || !fleet.node(slot).node || fleet.node(slot).node->status == model::NodeStatus::down;
}

bool of_earlier_job(const Allocation& allocation, const model::Job& job) {
  if (allocation.job_version != job.version) return true;
  return allocation.create_index > 0 && allocation.create_index < job.create_index;
}

namespace {

/// Sorts a group's allocations by what becomes of them, then fits their number to the count.
class GroupReconciler {
 public:
  GroupReconciler(const model::Job& job, const model::TaskGroup& group, const FleetIndex& fleet, const ById& by_id,
                  std::int64_t now)
      : job_(job), group_(group), fleet_(fleet), by_id_(by_id), now_(now) {}

  GroupPlan run(const std::vector<AllocationRow>& allocations) {
    for (const auto& allocation : allocations) classify(allocation);
    stop_surplus();
    replace();
    fill();
    for (auto& allocation : live_) {
      const bool current = allocation->job_version == job_.version;
      (current ? plan_.keep : plan_.outdated).push_back(std::move(allocation));
    }
    plan_.ignore += static_cast<std::int64_t>(waiting_.size());
    return std::move(plan_);
  }

 private:
  bool batch() const { return job_.type == JobType::batch; }

  void classify(const AllocationRow& allocation) {
    const Allocation& a = *allocation;
    if (batch() && a.client_status == ClientStatus::complete) {
      if (of_earlier_job(a, job_)) return;
      ++finished_;
      ++plan_.ignore;
      indexes_.insert(a.index());
      return;
    }
    if (a.server_terminal() || a.client_status == ClientStatus::complete || a.client_status == ClientStatus::lost)
      return;
    if (a.client_status == ClientStatus::failed) {
      classify_failed(allocation);
    } else if (node_lost(fleet_, a)) {
      plan_.stops.push_back({allocation, kLost, true});
      replaceable_.push_back({a.index(), allocation, false});
    } else {
      live_.push_back(allocation);
    }
  }

  void classify_failed(const AllocationRow& allocation) {
    if (batch() && of_earlier_job(*allocation, job_)) return;
    const auto when = replacement_time(*allocation, job_.type, by_id_);
    if (when && *when <= now_) {
      replaceable_.push_back({allocation->index(), allocation, true});
      return;
    }
    waiting_.push_back(allocation);
    if (when && (plan_.next_attempt == 0 || *when < plan_.next_attempt)) plan_.next_attempt = *when;
  }

  /// Highest numbers first; those whose number another one has too before all others.
  void stop_surplus() {
    std::vector<AllocationRow> all = live_;
    all.insert(all.end(), waiting_.begin(), waiting_.end());
    const auto by_index = [](const AllocationRow& a, const AllocationRow& b) {
      return std::make_tuple(a->index(), a->client_terminal(), -a->job_version, std::string_view(a->id)) <
             std::make_tuple(b->index(), b->client_terminal(), -b->job_version, std::string_view(b->id));
    };
    std::sort(all.begin(), all.end(), by_index);
    const auto same_index = [](const AllocationRow& a, const AllocationRow& b) { return a->index() == b->index(); };
    std::vector<AllocationRow> order, doubles;
    for (const auto& allocation : all)
      (!order.empty() && same_index(order.back(), allocation) ? doubles : order).push_back(allocation);
    order.insert(order.end(), doubles.begin(), doubles.end());
    std::int64_t surplus = static_cast<std::int64_t>(order.size()) + finished_ - group_.count;
    std::set<std::string_view> stopped;
    for (; surplus > 0 && !order.empty(); --surplus) {
      plan_.stops.push_back({order.back(), kNotNeeded, false});
      stopped.insert(order.back()->id);
      order.pop_back();
    }
    const auto is_stopped = [&](const AllocationRow& a) { return stopped.contains(a->id); };
    std::erase_if(live_, is_stopped);
    std::erase_if(waiting_, is_stopped);
    if (waiting_.empty()) plan_.next_attempt = 0;
    for (const auto& allocation : order) indexes_.insert(allocation->index());
    room_ = group_.count - finished_ - static_cast<std::int64_t>(order.size());
  }

  void replace() {
    std::sort(replaceable_.begin(), replaceable_.end(), [](const Missing& a, const Missing& b) {
      return std::make_tuple(a.index, std::string_view(a.previous->id)) <
             std::make_tuple(b.index, std::string_view(b.previous->id));
    });
    for (auto& one : replaceable_) {
      // A lost one that had already failed its number over to another allocation is not replaced twice.
      if (room_ > 0 && one.index >= 0 && indexes_.insert(one.index).second) {
        --room_;
        plan_.missing.push_back(std::move(one));
      } else if (one.previous_failed) {
        plan_.stops.push_back({one.previous, kNotNeeded, false});
      }
    }
  }

  void fill() {
    for (std::int64_t index = 0; room_ > 0; ++index) {
      if (!indexes_.insert(index).second) continue;
      --room_;
      plan_.missing.push_back({index, nullptr, false});
    }
  }

  const model::Job& job_;
  const model::TaskGroup& group_;
  const FleetIndex& fleet_;
  const ById& by_id_;
  std::int64_t now_;

  GroupPlan plan_;
  std::vector<AllocationRow> live_;
  std::vector<AllocationRow> waiting_;  ///< failed, not to be replaced yet or ever
  std::vector<Missing> replaceable_;
  std::set<std::int64_t> indexes_;  ///< numbers in use
  std::int64_t finished_ = 0;       ///< batch: ended well
  std::int64_t room_ = 0;
};

}  // namespace

GroupPlan reconcile_group(const model::Job& job, const model::TaskGroup& group,
                          const std::vector<AllocationRow>& allocations, const FleetIndex& fleet, const ById& by_id,
                          std::int64_t now_with_slack) {
  return GroupReconciler(job, group, fleet, by_id, now_with_slack).run(allocations);
}

}  // namespace underway::scheduler::detail
