#include "api/meter.hpp"

#include <algorithm>
#include <cmath>

namespace underway::api {

double Meter::Times::deviation() const {
  if (count == 0) return 0;
  // Rounding may leave a little less than nothing.
  return std::sqrt(std::max(0.0, sum_of_squares / static_cast<double>(count) - mean() * mean()));
}

void Meter::time(Duration took) {
  const double seconds = std::chrono::duration<double>(std::max(took, Duration{0})).count();  // clocks are set
  times_.least = times_.count == 0 ? seconds : std::min(times_.least, seconds);
  times_.most = std::max(times_.most, seconds);
  times_.sum += seconds;
  times_.sum_of_squares += seconds * seconds;
  ++times_.count;
}

}  // namespace underway::api
