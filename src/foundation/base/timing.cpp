#include "base/timing.hpp"

#include <algorithm>
#include <cmath>

namespace underway {

void Timing::add(Duration took) {
  const double seconds = std::chrono::duration<double>(std::max(took, Duration{0})).count();  // clocks are set
  least = count == 0 ? seconds : std::min(least, seconds);
  most = std::max(most, seconds);
  sum += seconds;
  sum_of_squares += seconds * seconds;
  newest_[static_cast<std::size_t>(count) % newest_.size()] = static_cast<float>(seconds);
  ++count;
}

double Timing::deviation() const {
  if (count == 0) return 0;
  // Rounding may leave a little less than nothing.
  return std::sqrt(std::max(0.0, sum_of_squares / static_cast<double>(count) - mean() * mean()));
}

double Timing::quantile(double share) const {
  const std::size_t known = std::min(static_cast<std::size_t>(count), newest_.size());
  if (known == 0) return 0;
  auto sorted = newest_;
  const auto rank = static_cast<std::size_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(known)));
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(sorted.begin(), at, sorted.begin() + static_cast<std::ptrdiff_t>(known));
  return *at;
}

}  // namespace underway
