#include "elastic/policy/boots.hpp"

#include <algorithm>
#include <cmath>

namespace underway::elastic {
namespace {

constexpr double kSlowest = 1.0 / 16;   ///< of the policy's rate: one success still shows soon that all is well
constexpr double kRecovery = 1.0 / 20;  ///< of the policy's rate, per success

double rate_of(const ClassState& state, const Policy& policy) {
  return state.rate > 0 ? std::min(state.rate, policy.boot_rate) : policy.boot_rate;
}

void open(ClassState& state, TimePoint now) {
  state.breaker = BreakerState::open;
  state.opened_at = unix_nanos(now);
}

void count_failure(ClassState& state, const Policy& policy, TimePoint now) {
  ++state.failed_boots;
  state.failures.push_back(unix_nanos(now));
  const bool many = static_cast<std::int64_t>(state.failures.size()) >= policy.breaker.failures;
  if (state.breaker == BreakerState::half_open || (state.breaker == BreakerState::closed && many)) open(state, now);
}

void back_off(ClassState& state, const Policy& policy, TimePoint now) {
  const auto doublings = std::min<std::int64_t>(state.refusals++, 20);
  const Duration pause = std::min(policy.backoff * (std::int64_t{1} << doublings), policy.max_backoff);
  state.backoff_until = unix_nanos(now + pause);
}

}  // namespace

void pass_time(ClassState& state, const Policy& policy, TimePoint now) {
  const auto burst = static_cast<double>(policy.boot_burst);
  const std::int64_t at = unix_nanos(now);
  if (state.tokens < 0) {
    state.tokens = burst;
  } else if (at > state.filled_at) {  // a clock that was set back gives nothing, and takes nothing
    const double seconds = static_cast<double>(at - state.filled_at) * 1e-9;
    state.tokens = std::min(burst, state.tokens + seconds * rate_of(state, policy));
  }
  state.filled_at = at;
  std::erase_if(state.failures, [&](std::int64_t when) { return when + policy.breaker.window.count() <= at; });
  if (state.breaker == BreakerState::open && state.opened_at + policy.breaker.cooldown.count() <= at)
    state.breaker = BreakerState::half_open;
}

void settle(ClassState& state, const Policy& policy, const BootOutcome& outcome, TimePoint now) {
  switch (outcome.result) {
    case BootResult::up:
      state.refusals = 0;
      state.rate = std::min(policy.boot_rate, rate_of(state, policy) + policy.boot_rate * kRecovery);
      if (state.breaker == BreakerState::half_open) state.breaker = BreakerState::closed;
      return;
    case BootResult::refused:
    case BootResult::over_quota:
      back_off(state, policy, now);
      return;
    case BootResult::control_plane:
      state.rate = std::max(rate_of(state, policy) / 2, policy.boot_rate * kSlowest);
      state.tokens = 0;
      return;
    case BootResult::failed:
      count_failure(state, policy, now);
      return;
    case BootResult::lost:
      if (outcome.uptime < policy.min_uptime) count_failure(state, policy, now);
      return;
  }
}

bool backing_off(const ClassState& state, TimePoint now) { return state.backoff_until > unix_nanos(now); }

std::int64_t boots_allowed(const ClassState& state, TimePoint now) {
  if (state.breaker == BreakerState::open || backing_off(state, now)) return 0;
  if (state.breaker == BreakerState::half_open) return state.booting > 0 ? 0 : 1;
  return static_cast<std::int64_t>(std::floor(std::max(state.tokens, 0.0)));
}

}  // namespace underway::elastic
