#pragma once
/// @file
/// How many nodes will be wanted, by the time of day and by how it was on the days before; and whether to believe it.

#include "elastic/tick.hpp"

#include <map>
#include <string>
#include <vector>

namespace underway::elastic {

/// Seasonal EWMA: what was wanted in each step of the season (a quarter of an hour of a day), averaged over the seasons
/// with the policy's weight, corrected by how far the last step was off. Described, so that it is kept as a record.
/// Source: simple exponential smoothing per season's step (Hyndman and Athanasopoulos, "Forecasting", ch. 8); the
/// baseline that a learned model would first have to beat.
struct Forecast {
  std::vector<double> level;       ///< nodes wanted, by step of the season
  std::vector<std::int64_t> seen;  ///< how many seasons each is made of
  double error = 0;                ///< EWMA of what was wanted less what was forecast
  std::int64_t step = -1;          ///< the one that is being observed, since the epoch
  double highest = 0;              ///< wanted in it so far
};

/// Tells the forecast how many nodes are in use or wanted now. The most within a step is the step's.
void observe(Forecast& forecast, const ForecastPolicy& policy, double wanted, TimePoint now);
/// How many nodes will be wanted at `then`; absent while no season has been seen in full there.
std::optional<double> expect(const Forecast& forecast, const ForecastPolicy& policy, TimePoint then);

using Forecasts = std::map<std::string, Forecast>;  ///< by class
/// Tells the forecasts how many nodes are in use, and returns how many shall be idle (Tick::warm): as many as are
/// expected to be in use when one that is asked for now is up, or a step later, less those that are. Classes that are
/// urgent are left out: others would sleep for work that may not come.
std::map<std::string, std::int64_t> look_ahead(Forecasts& forecasts, const Policy& policy, const Tick& tick);

/// What the same trace cost with and without acting on the forecast.
struct Comparison {
  Duration reactive_p95{}, forecast_p95{};
  Duration reactive_mean{}, forecast_mean{};
  double idle_node_hours = 0;  ///< that the forecast added
};

struct Trust {
  bool act = false;
  Duration saved_p95{};            ///< of the wait
  double saved_per_node_hour = 0;  ///< seconds of p95 wait, per idle node-hour that it cost
  std::string why;
};

/// It acts when it saves waiting (p95), and neither p95 nor mean is worse than the reactive policy's by more than
/// `never_worse`. In `shadow` the answer is the same with `act` false.
Trust judge(const Comparison& comparison, const ForecastPolicy& policy);

const describe::Structure& description(describe::Tag<Forecast>);

}  // namespace underway::elastic
