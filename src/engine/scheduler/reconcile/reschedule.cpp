#include "scheduler/reconcile/reschedule.hpp"

namespace underway::scheduler {

using model::Allocation;
using model::DelayFunction;
using model::RescheduleEvent;
using model::ReschedulePolicy;

namespace {

/// Delays need the last two of them, people see a little more. Source: Nomad keeps five.
constexpr std::size_t kKeptEvents = 5;

/// When the server heard that it failed.
std::int64_t end_of(const Allocation& failed) { return std::max(failed.modify_time, failed.create_time); }

}  // namespace

Duration reschedule_delay(const Allocation& failed, const ReschedulePolicy& policy) {
  const auto& events = failed.reschedules;
  if (policy.delay_function == DelayFunction::constant) return policy.delay;
  if (events.empty()) return std::min(policy.delay, policy.max_delay);
  // One that ran longer than the longest delay counts as recovered: the delay starts anew.
  if (end_of(failed) - events.back().time > policy.max_delay.count()) return std::min(policy.delay, policy.max_delay);
  const Duration last = std::min(events.back().delay, policy.max_delay);
  if (policy.delay_function == DelayFunction::exponential) return std::min(last * 2, policy.max_delay);
  if (events.size() == 1) return last;
  const Duration before = std::min((events.end() - 2)->delay, policy.max_delay);
  // After the delay has started anew the sequence does so too.
  return before > last ? last : std::min(before + last, policy.max_delay);
}

std::optional<std::int64_t> replacement_time(const Allocation& failed, const ReschedulePolicy& policy) {
  if (failed.transition.reschedule) return end_of(failed);
  if (!policy.enabled()) return std::nullopt;
  const std::int64_t end = end_of(failed);
  if (!policy.unlimited) {
    const auto recent = [&](const RescheduleEvent& event) { return end - event.time <= policy.interval.count(); };
    if (std::count_if(failed.reschedules.begin(), failed.reschedules.end(), recent) >= policy.attempts)
      return std::nullopt;
  }
  return end + reschedule_delay(failed, policy).count();
}

std::vector<RescheduleEvent> reschedules_after(const Allocation& failed, const ReschedulePolicy& policy,
                                               std::int64_t now) {
  std::vector<RescheduleEvent> events = failed.reschedules;
  events.push_back({now, failed.id, failed.node_id, reschedule_delay(failed, policy)});
  const std::size_t kept =
      policy.unlimited ? kKeptEvents : std::max(kKeptEvents, static_cast<std::size_t>(policy.attempts));
  if (events.size() > kept) events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(kept));
  return events;
}

}  // namespace underway::scheduler
