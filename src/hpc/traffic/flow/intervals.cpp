#include "traffic/flow/intervals.hpp"

#include <algorithm>
#include <bit>

namespace underway::traffic {
namespace {

constexpr unsigned kFirstBit = 20;  // 2^20 ns is a millisecond: what is shorter is a burst

std::uint16_t step_of(std::int64_t nanoseconds) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds, 1LL << kFirstBit));
  const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1;
  const auto sixteenth = static_cast<unsigned>((value >> (exponent - 4)) & 0xfU);
  return static_cast<std::uint16_t>((exponent - kFirstBit) * 16 + sixteenth);
}

std::int64_t middle_of(std::uint16_t step) {
  const unsigned exponent = kFirstBit + step / 16U;
  const std::uint64_t width = std::uint64_t{1} << (exponent - 4);
  return static_cast<std::int64_t>((std::uint64_t{1} << exponent) + width * (step % 16U) + width / 2);
}

}  // namespace

void Intervals::add(std::int64_t nanoseconds) {
  if (nanoseconds >= 0) add_step(step_of(nanoseconds), 1);
}

void Intervals::add_step(std::uint16_t step, std::uint64_t times) {
  const auto at = std::lower_bound(steps_.begin(), steps_.end(), step,
                                   [](const auto& entry, std::uint16_t wanted) { return entry.first < wanted; });
  if (at != steps_.end() && at->first == step)
    at->second += times;
  else
    steps_.insert(at, {step, times});
}

void Intervals::add(const Intervals& others) {
  for (const auto& [step, times] : others.steps_) add_step(step, times);
}

Rhythm Intervals::rhythm() const {
  std::uint64_t all = 0;
  for (const auto& [step, times] : steps_) all += times;
  if (all == 0) return {};
  const auto quantile = [&](double fraction) {
    const auto rank = static_cast<std::uint64_t>(fraction * static_cast<double>(all - 1));
    std::uint64_t before = 0;
    for (const auto& [step, times] : steps_) {
      before += times;
      if (rank < before) return Duration{middle_of(step)};
    }
    return Duration{middle_of(steps_.back().first)};
  };
  return {.intervals = static_cast<std::int64_t>(std::min<std::uint64_t>(all, 1ULL << 62U)),
          .low = quantile(0.1),
          .median = quantile(0.5),
          .high = quantile(0.9),
          .jitter = (quantile(0.75) - quantile(0.25)) / 2};
}

}  // namespace underway::traffic
