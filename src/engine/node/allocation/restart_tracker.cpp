#include "node/allocation/restart_tracker.hpp"

#include <fmt/format.h>

#include "model/validate/first_cause.hpp"

namespace underway::node {

namespace {

constexpr std::string_view kWithinPolicy = "Restart within policy";
constexpr std::string_view kNoRestarts = "Policy allows no restarts";
constexpr std::string_view kDelay = "Exceeded allowed attempts, applying a delay until the interval ends";

Duration with_jitter(Duration delay, double jitter) {
  return delay + Duration{static_cast<std::int64_t>(static_cast<double>(delay.count()) * 0.25 * jitter)};
}

}  // namespace

bool runs_forever(model::JobType type, const model::Task& task) {
  if (task.is_sidecar()) return true;
  if (!task.is_main()) return false;
  return type == model::JobType::service || type == model::JobType::system;
}

RestartDecision RestartTracker::decide(EndKind end, bool success, bool forever, TimePoint now, double jitter) {
  if (end == EndKind::asked_restart) return {RestartKind::after, Duration{0}, ""};
  if (end == EndKind::exited && success && !forever) return {RestartKind::done, Duration{0}, ""};
  if (end == EndKind::invalid) return {RestartKind::refuse, Duration{0}, std::string(model::kUnrecoverable)};
  if (policy_.attempts == 0) return {RestartKind::refuse, Duration{0}, std::string(kNoRestarts)};

  const TimePoint start = from_unix_nanos(counters_.interval_start);
  if (counters_.interval_start == 0 || now - start >= policy_.interval) {
    counters_.interval_start = unix_nanos(now);
    counters_.count = 0;
  }
  ++counters_.count;
  if (counters_.count <= policy_.attempts)
    return {RestartKind::after, with_jitter(policy_.delay, jitter), std::string(kWithinPolicy)};
  if (policy_.mode == model::RestartMode::fail)
    return {RestartKind::refuse, Duration{0},
            fmt::format("Exceeded allowed attempts {} in interval {} and mode is \"fail\"", policy_.attempts,
                        human_duration(policy_.interval))};
  const TimePoint interval_end = from_unix_nanos(counters_.interval_start) + policy_.interval;
  return {RestartKind::after, std::max(Duration{0}, interval_end - now), std::string(kDelay)};
}

}  // namespace underway::node
