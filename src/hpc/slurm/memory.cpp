#include "slurm/memory.hpp"

#include <cmath>

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::slurm {

std::optional<double> megabytes_in(std::string_view text) {
  constexpr double kMost = 1e12;
  if (text.empty() || !is_digit(text.front())) return std::nullopt;  // "inf" would be a number, too
  const auto number = parse_leading_number<double>(text);
  if (!number || number->rest.size() > 1) return std::nullopt;
  const auto unit = std::string_view("KMGTP").find(number->rest.empty() ? 'M' : number->rest.front());
  if (unit == std::string_view::npos) return std::nullopt;
  const double megabytes = std::ldexp(number->value, 10 * (static_cast<int>(unit) - 1));
  return megabytes <= kMost ? std::optional(megabytes) : std::nullopt;
}

}  // namespace underway::slurm
