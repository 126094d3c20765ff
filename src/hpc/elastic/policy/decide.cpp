#include <algorithm>
#include <cmath>

#include "elastic/detail/round.hpp"
#include "elastic/policy/boots.hpp"

namespace underway::elastic {
namespace detail {
namespace {

/// Smaller differences between the two clocks are the time that it takes to read them, and the slewing of chrony.
constexpr Duration kStep = std::chrono::seconds{5};

/// Moves what is remembered as a time along with a clock that was set: nothing happens early or late because of it.
void follow_clock(Round& round) {
  State& state = round.state;
  const std::int64_t now = unix_nanos(round.now());
  if (state.last_tick != 0) {
    std::int64_t step = now - state.last_tick;
    if (round.tick.elapsed)
      step -= round.tick.elapsed->count();
    else
      step = std::min<std::int64_t>(step, 0);  // forwards it may as well be that nobody looked for a while
    if (std::abs(step) >= kStep.count()) {
      for (auto& [name, type] : state.classes) {
        for (auto* when : {&type.opened_at, &type.filled_at, &type.backoff_until}) *when += *when == 0 ? 0 : step;
        for (auto& when : type.failures) when += step;
      }
      for (auto& gang : state.gangs) {
        for (auto* when : {&gang.deadline, &gang.not_before}) *when += *when == 0 ? 0 : step;
      }
      state.stepped_at = std::max(now, state.last_tick);
      state.stepped_by = step;
      round.note(
          fmt::format("the clock was set by {}{}", step < 0 ? "-" : "+", human_duration(Duration{std::abs(step)})));
    }
  }
  state.last_tick = now;
}

void settle_boots(Round& round) {
  for (const auto& type : round.policy.classes) pass_time(round.state.classes[type.name], round.policy, round.now());
  for (const auto& outcome : round.tick.outcomes) {
    const auto found = round.state.classes.find(outcome.class_name);
    if (found != round.state.classes.end()) settle(found->second, round.policy, outcome, round.now());
  }
}

/// Boots that take too long: each counts once, however long it takes until the node is gone.
void end_slow_boots(Round& round) {
  std::vector<std::string> still;
  auto& known = round.state.timed_out;
  for (const auto& node : round.tick.nodes) {
    if (node.phase != NodePhase::booting) continue;
    const PoolClass* type = round.policy.find_class(node.class_name);
    if (type == nullptr) continue;
    const TimePoint until = round.since(node.since) + type->boot_timeout;
    if (round.now() < until) {
      round.look_again(until);
      continue;
    }
    if (std::find(known.begin(), known.end(), node.name) == known.end())
      settle(round.state.classes[type->name], round.policy, {type->name, node.name, BootResult::failed, {}},
             round.now());
    still.push_back(node.name);
    round.remove(node, fmt::format("it has not come up within {}", human_duration(type->boot_timeout)));
  }
  known = std::move(still);
}

void forget_ended_jobs(Round& round) {
  if (round.state.redone.empty()) return;
  std::unordered_set<std::string_view> there;
  for (const auto& job : round.tick.pending) there.insert(job.id);
  for (const auto& job : round.tick.running) there.insert(job.id);
  std::erase_if(round.state.redone, [&](const auto& entry) { return !there.contains(entry.first); });
  for (const auto& [job, times] : round.state.redone) round.out.protect.push_back(job);
}

void explain(Round& round) {
  Explanation& explanation = round.out.explanation;
  explanation.at = unix_nanos(round.now());
  explanation.not_cured = std::move(round.demand.not_cured);
  explanation.thresholds = std::move(round.demand.thresholds);
  for (auto& shape : round.demand.shapes) explanation.shapes.push_back(std::move(shape.explained));
  std::map<std::string_view, std::int64_t> shrunk;
  if (!round.out.shrink.empty()) {
    std::set<std::string_view> names;
    for (const auto& action : round.out.shrink) names.insert(action.node);
    for (const auto& node : round.tick.nodes) shrunk[node.class_name] += names.contains(node.name) ? 1 : 0;
  }
  for (const auto& book : round.supply->books()) {
    ClassExplanation& it = explanation.classes.emplace_back();
    it.name = book.type->name;
    it.running = book.state->running;
    it.booting = book.state->booting - book.grown;
    it.asleep = book.state->asleep;
    it.idle = static_cast<std::int64_t>(book.idle.size());
    it.draining = static_cast<std::int64_t>(book.draining.size());
    it.max_nodes = book.type->max_nodes;
    it.grown = book.grown;
    it.shrunk = shrunk[book.type->name];
    it.kept = book.kept;
  }
}

}  // namespace
}  // namespace detail

Decision decide(const Policy& policy, const Tick& tick, const State& state) {
  detail::Round round{policy, tick, state, {}, {}, {}, {}, {}, {}};
  detail::follow_clock(round);
  detail::settle_boots(round);
  detail::end_slow_boots(round);
  detail::take_back(round);
  round.demand = detail::demand_of(policy, tick, round.state);
  detail::settle_gangs(round);
  round.supply.emplace(policy, tick, round.state, round.gone, round.forming);
  detail::grow(round);
  detail::shrink(round);
  if (policy.pack) detail::pack(round);
  detail::forget_ended_jobs(round);
  detail::explain(round);
  round.out.state = std::move(round.state);
  return std::move(round.out);
}

}  // namespace underway::elastic
