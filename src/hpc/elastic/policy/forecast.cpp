#include "elastic/policy/forecast.hpp"

#include <algorithm>
#include <cmath>

namespace underway::elastic {
namespace {

/// Of the correction by the last steps: half of it is from the last two.
constexpr double kErrorWeight = 0.3;

std::int64_t step_of(const ForecastPolicy& policy, TimePoint at) {
  const std::int64_t nanos = unix_nanos(at), step = policy.step.count();
  return nanos / step - (nanos % step < 0 ? 1 : 0);
}

std::size_t steps_in(const ForecastPolicy& policy) { return static_cast<std::size_t>(policy.season / policy.step); }

std::size_t place_of(const ForecastPolicy& policy, std::int64_t step) {
  const auto steps = static_cast<std::int64_t>(steps_in(policy));
  return static_cast<std::size_t>((step % steps + steps) % steps);
}

void close_step(Forecast& forecast, const ForecastPolicy& policy, std::int64_t step, double wanted) {
  const std::size_t place = place_of(policy, step);
  double& level = forecast.level[place];
  if (forecast.seen[place]++ == 0) {
    level = wanted;
    return;
  }
  forecast.error += kErrorWeight * (wanted - level - forecast.error);
  level += policy.weight * (wanted - level);
}

}  // namespace

void observe(Forecast& forecast, const ForecastPolicy& policy, double wanted, TimePoint now) {
  if (forecast.level.size() != steps_in(policy)) {  // new, or the policy was changed: begin anew
    forecast = {};
    forecast.level.resize(steps_in(policy));
    forecast.seen.resize(steps_in(policy));
  }
  const std::int64_t step = step_of(policy, now);
  if (forecast.step < 0 || step < forecast.step) {  // a clock that was set back: what is known stays
    forecast.step = step;
    forecast.highest = wanted;
    return;
  }
  // Steps in which nobody looked teach nothing.
  if (step > forecast.step) close_step(forecast, policy, forecast.step, forecast.highest);
  forecast.highest = step == forecast.step ? std::max(forecast.highest, wanted) : wanted;
  forecast.step = step;
}

std::optional<double> expect(const Forecast& forecast, const ForecastPolicy& policy, TimePoint then) {
  if (forecast.level.size() != steps_in(policy)) return std::nullopt;
  const std::size_t place = place_of(policy, step_of(policy, then));
  if (forecast.seen[place] == 0) return std::nullopt;
  return std::max(0.0, forecast.level[place] + forecast.error);
}

std::map<std::string, std::int64_t> look_ahead(Forecasts& forecasts, const Policy& policy, const Tick& tick) {
  std::map<std::string, std::int64_t> busy;
  for (const auto& node : tick.nodes) busy[node.class_name] += node.phase == NodePhase::busy ? 1 : 0;
  std::map<std::string, std::int64_t> out;
  for (const auto& type : policy.classes) {
    if (type.urgent || type.min_nodes >= type.max_nodes) continue;
    auto& forecast = forecasts[type.name];
    observe(forecast, policy.forecast, static_cast<double>(busy[type.name]), tick.now);
    double expected = 0;
    for (const Duration ahead : {type.start_time, type.start_time + policy.forecast.step})
      expected = std::max(expected, expect(forecast, policy.forecast, tick.now + ahead).value_or(0));
    const auto spare = static_cast<std::int64_t>(std::ceil(expected - 0.5)) - busy[type.name];
    if (spare > 0) out[type.name] = spare;
  }
  std::erase_if(forecasts, [&](const auto& entry) { return policy.find_class(entry.first) == nullptr; });
  return out;
}

Trust judge(const Comparison& comparison, const ForecastPolicy& policy) {
  Trust out;
  const auto seconds = [](Duration span) { return std::chrono::duration<double>(span).count(); };
  out.saved_p95 = comparison.reactive_p95 - comparison.forecast_p95;
  if (comparison.idle_node_hours > 0) out.saved_per_node_hour = seconds(out.saved_p95) / comparison.idle_node_hours;
  const auto worse = [&](Duration reactive, Duration forecast) {
    return seconds(forecast) > seconds(reactive) * (1 + policy.never_worse);
  };
  const std::string numbers = fmt::format(
      "p95 of the wait {} instead of {}, mean {} instead of {}, {:.1f} idle node-hours more",
      human_duration(comparison.forecast_p95), human_duration(comparison.reactive_p95),
      human_duration(comparison.forecast_mean), human_duration(comparison.reactive_mean), comparison.idle_node_hours);
  if (worse(comparison.reactive_p95, comparison.forecast_p95) ||
      worse(comparison.reactive_mean, comparison.forecast_mean)) {
    out.why = "it makes jobs wait longer: " + numbers;
  } else if (out.saved_p95 <= Duration{0}) {
    out.why = "it saves nothing: " + numbers;
  } else if (policy.mode != ForecastMode::act) {
    out.why = "it would help, and is not switched on: " + numbers;
  } else {
    out.act = true;
    out.why = "it helps: " + numbers;
  }
  return out;
}

const describe::Structure& description(describe::Tag<Forecast>) {
  static const describe::Structure s =
      describe::Builder<Forecast>("forecast", "How many nodes were wanted, by the time of day.")
          .wire<&Forecast::level>("Level", "Nodes wanted, by step of the season.")
          .wire<&Forecast::seen>("Seen", "How many seasons each is made of.")
          .wire<&Forecast::error>("Error", "By how much it was too low of late.")
          .wire<&Forecast::step>("Step", "The one that is being observed.")
          .wire<&Forecast::highest>("Highest", "Wanted in it so far.")
          .done();
  return s;
}

}  // namespace underway::elastic
