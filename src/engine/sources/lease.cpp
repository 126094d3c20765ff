#include "sources/lease.hpp"

namespace underway::sources {

namespace {

constexpr Duration kShortestLease = std::chrono::seconds(1);

Duration part_of(Duration lease, double part) {
  return std::max(kShortestLease, Duration{static_cast<std::int64_t>(static_cast<double>(lease.count()) * part)});
}

std::optional<std::int64_t> number_of(const gotemplate::Secret& secret, std::string_view name) {
  const auto* value = secret.data.if_contains(name);
  boost::json::error_code wrong;
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto number = value->to_number<std::int64_t>(wrong);
  return wrong || number <= 0 || number > 1LL << 40 ? std::nullopt : std::optional(number);
}

}  // namespace

Duration until_renewal(Duration lease, double random) { return part_of(lease, 0.45 + 0.05 * random); }
Duration until_replacement(Duration lease, double random) { return part_of(lease, 0.85 + 0.05 * random); }

Duration until_reread(const gotemplate::Secret& secret, Duration otherwise, TimePoint now, double random) {
  if (secret.data.contains("certificate")) {
    // Seconds since 1970.
    const auto end = number_of(secret, "expiration");
    const Duration left = end ? from_unix_nanos(*end % (1LL << 33) * 1'000'000'000) - now : Duration{0};
    if (left > kShortestLease) return until_replacement(left, random);
  }
  if (secret.data.contains("rotation_period")) {
    // One second later, so that the new one is there.
    if (const auto ttl = number_of(secret, "ttl")) return std::chrono::seconds(*ttl % (1LL << 31) + 1);
  }
  return otherwise;
}

}  // namespace underway::sources
