#include "scheduler/reconcile/reconcile.hpp"

#include <map>
#include <set>

#include "scheduler/reconcile/reschedule.hpp"

namespace underway::scheduler {

using model::Allocation;
using model::ClientStatus;
using model::JobType;

bool of_earlier_job(const Allocation& allocation, const model::Job& job) {
  if (allocation.job_version != job.version) return true;
  return allocation.create_index > 0 && allocation.create_index < job.create_index;
}

bool wants_successor(const Allocation& allocation) {
  if (!allocation.server_terminal() || !allocation.next_allocation.empty()) return false;
  return allocation.transition.migrate || allocation.desired_status == model::DesiredStatus::evict ||
         allocation.client_status == ClientStatus::lost;
}

namespace {

/// Sorts a group's allocations by what becomes of them, then fits their number to the count.
class GroupReconciler {
 public:
  GroupReconciler(const model::Job& job, const model::TaskGroup& group, const FleetIndex& fleet, std::int64_t now,
                  Duration slack)
      : job_(job),
        group_(group),
        fleet_(fleet),
        policy_(reschedule_policy(job, group)),
        now_(now),
        soon_(now + slack.count()) {}

  GroupPlan run(const std::vector<AllocationRow>& allocations) {
    for (const auto& allocation : allocations) classify(allocation);
    settle_returned();
    stop_surplus();
    replace();
    fill();
    for (auto& allocation : live_) hand_over(std::move(allocation));
    plan_.ignore += static_cast<std::int64_t>(waiting_.size());
    return std::move(plan_);
  }

 private:
  bool batch() const { return job_.type == JobType::batch; }

  void classify(const AllocationRow& allocation) {
    const Allocation& a = *allocation;
    if (a.server_terminal()) note_gone(allocation);
    if (batch() && a.client_status == ClientStatus::complete && !sent_away(a)) {
      if (of_earlier_job(a, job_)) return;
      ++finished_;
      ++plan_.ignore;
      indexes_.insert(a.index());
      return;
    }
    if (a.server_terminal() || a.client_status == ClientStatus::complete || a.client_status == ClientStatus::lost)
      return;
    if (a.client_status == ClientStatus::failed) return classify_failed(allocation);
    switch (standing_of(a, fleet_, now_)) {
      case Standing::lost:
        plan_.stops.push_back({allocation, kLost, true});
        replaceable_.push_back({a.index(), allocation, false});
        break;
      case Standing::silenced:
      case Standing::unknown:
        classify_unknown(allocation);
        break;
      case Standing::returned:
        returned_.push_back(allocation);
        break;
      case Standing::migrates:
      case Standing::stands:
        live_.push_back(allocation);
    }
  }

  /// Of a batch job: it was ended before its work was done.
  static bool sent_away(const Allocation& a) {
    return a.server_terminal() && (a.transition.migrate || a.desired_status == model::DesiredStatus::evict);
  }

  void note_gone(const AllocationRow& allocation) {
    if (job_.create_index > 0 && allocation->create_index < job_.create_index) return;
    AllocationRow& newest = gone_[allocation->index()];
    if (!newest || newest->create_index < allocation->create_index) newest = allocation;
  }

  /// It keeps its place among the count, unless a replacement shall stand in for it.
  void classify_unknown(const AllocationRow& allocation) {
    if (!model::disconnect_policy(*allocation).replaces()) return live_.push_back(allocation);
    replaceable_.push_back({allocation->index(), allocation, false});
    ++plan_.ignore;
    note_unknown(allocation);
  }

  void note_unknown(const AllocationRow& allocation) {
    if (allocation->client_status != ClientStatus::unknown) plan_.silenced.push_back(allocation);
    plan_.next_loss = earlier(plan_.next_loss, given_up_at(*allocation, now_).value_or(0));
  }

  void classify_failed(const AllocationRow& allocation) {
    if (batch() && of_earlier_job(*allocation, job_)) return;
    const auto when = replacement_time(*allocation, policy_);
    if (when && *when <= soon_) {
      replaceable_.push_back({allocation->index(), allocation, true});
      return;
    }
    waiting_.push_back(allocation);
  }

  /// Of those that came back and what replaced them one of each name goes on.
  void settle_returned() {
    for (auto& original : returned_) {
      const auto replacement = std::find_if(live_.begin(), live_.end(), [&](const AllocationRow& other) {
        return other->index() == original->index() && other->unknown_since == 0;
      });
      if (replacement == live_.end() || original_goes_on(*original, **replacement)) {
        if (replacement != live_.end()) {
          plan_.stops.push_back({*replacement, kOtherGoesOn, false});
          live_.erase(replacement);
        }
        plan_.settled.push_back(original);
        live_.push_back(std::move(original));
      } else {
        plan_.stops.push_back({original, kOtherGoesOn, false});
      }
    }
  }

  /// Those that have to move anyway before others, then the highest numbers; but first of all those whose number
  /// another one has too.
  void stop_surplus() {
    std::vector<AllocationRow> all = live_;
    all.insert(all.end(), waiting_.begin(), waiting_.end());
    const auto by_index = [](const AllocationRow& a, const AllocationRow& b) {
      const auto rank = [](const AllocationRow& row) {
        return std::make_tuple(row->index(), row->client_terminal(), row->transition.migrate, -row->job_version,
                               std::string_view(row->id));
      };
      return rank(a) < rank(b);
    };
    std::sort(all.begin(), all.end(), by_index);
    std::vector<AllocationRow> order, leaving, doubles;
    std::optional<std::int64_t> last;
    for (const auto& allocation : all) {
      const bool again = last == allocation->index();
      (again ? doubles : allocation->transition.migrate ? leaving : order).push_back(allocation);
      last = allocation->index();
    }
    order.insert(order.end(), leaving.begin(), leaving.end());
    order.insert(order.end(), doubles.begin(), doubles.end());
    // Of those with the same number only one stays, even when there are too few.
    std::int64_t surplus = std::max(static_cast<std::int64_t>(order.size()) + finished_ - group_.count,
                                    static_cast<std::int64_t>(doubles.size()));
    std::set<std::string_view> stopped;
    for (; surplus > 0 && !order.empty(); --surplus) {
      plan_.stops.push_back({order.back(), kNotNeeded, false});
      stopped.insert(order.back()->id);
      order.pop_back();
    }
    // By number from here on: what changes a few at a time changes in that order.
    live_.clear();
    waiting_.clear();
    for (const auto& allocation : all) {
      if (stopped.contains(allocation->id)) continue;
      (allocation->client_terminal() ? waiting_ : live_).push_back(allocation);
    }
    for (const auto& allocation : waiting_) {
      const auto when = replacement_time(*allocation, policy_);
      (when ? plan_.waiting : plan_.ended).push_back(allocation);
      plan_.next_attempt = earlier(plan_.next_attempt, when.value_or(0));
    }
    for (const auto& allocation : order) indexes_.insert(allocation->index());
    room_ = group_.count - finished_ - static_cast<std::int64_t>(order.size());
  }

  void replace() {
    std::sort(replaceable_.begin(), replaceable_.end(), [](const Missing& a, const Missing& b) {
      return std::make_tuple(a.index, std::string_view(a.previous->id)) <
             std::make_tuple(b.index, std::string_view(b.previous->id));
    });
    for (auto& replaceable : replaceable_) {
      // A lost one that had already failed its number over to another allocation is not replaced twice.
      if (room_ > 0 && replaceable.index >= 0 && indexes_.insert(replaceable.index).second) {
        --room_;
        plan_.missing.push_back(std::move(replaceable));
      } else if (replaceable.previous_failed) {
        plan_.stops.push_back({replaceable.previous, kNotNeeded, false});
      }
    }
  }

  void fill() {
    for (std::int64_t index = 0; room_ > 0; ++index) {
      if (!indexes_.insert(index).second) continue;
      --room_;
      const auto gone = gone_.find(index);
      const bool follows = gone != gone_.end() && wants_successor(*gone->second);
      plan_.missing.push_back({index, follows ? gone->second : nullptr, false});
    }
  }

  void hand_over(AllocationRow allocation) {
    const Standing standing = standing_of(*allocation, fleet_, now_);
    // Nobody can tell a node that is not heard of what to do: what it runs is not counted as wrong.
    const bool unheard = standing == Standing::silenced || standing == Standing::unknown;
    if (unheard) note_unknown(allocation);
    if (standing == Standing::migrates) return plan_.migrating.push_back(std::move(allocation));
    const bool current = allocation->job_version == job_.version;
    (current || unheard ? plan_.keep : plan_.outdated).push_back(std::move(allocation));
  }

  const model::Job& job_;
  const model::TaskGroup& group_;
  const FleetIndex& fleet_;
  model::ReschedulePolicy policy_;
  std::int64_t now_;
  std::int64_t soon_;  ///< what is due by then is due

  GroupPlan plan_;
  std::vector<AllocationRow> live_;
  std::vector<AllocationRow> returned_;
  std::vector<AllocationRow> waiting_;  ///< failed, not to be replaced yet or ever
  std::vector<Missing> replaceable_;
  std::map<std::int64_t, AllocationRow> gone_;  ///< by number: the newest that is not wanted any more
  std::set<std::int64_t> indexes_;              ///< numbers in use
  std::int64_t finished_ = 0;                   ///< batch: ended well
  std::int64_t room_ = 0;
};

}  // namespace

GroupPlan reconcile_group(const model::Job& job, const model::TaskGroup& group,
                          const std::vector<AllocationRow>& allocations, const FleetIndex& fleet, std::int64_t now,
                          Duration slack) {
  return GroupReconciler(job, group, fleet, now, slack).run(allocations);
}

}  // namespace underway::scheduler
