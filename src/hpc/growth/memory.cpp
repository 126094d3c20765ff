#include "growth/memory.hpp"

#include "base/json/json.hpp"
#include "model/elastic/money.hpp"

namespace underway::growth {

using describe::Builder;
using describe::Structure;
using describe::Tag;

void spend(Spending& spending, std::int64_t hourly, Duration span, TimePoint now) {
  const auto date = format_time(now).substr(0, 10);
  const auto month = date.substr(0, 7);
  if (spending.day != date) spending.today = 0;
  if (spending.month != month) spending.this_month = 0;
  spending.day = date;
  spending.month = month;
  const auto cost = model::cost_of(hourly, span);
  spending.today += cost;
  spending.this_month += cost;
}

namespace {

/// Without what changes by time alone.
elastic::State decisions_of(elastic::State state) {
  state.last_tick = 0;
  for (auto& [name, type] : state.classes) {
    type.running = type.booting = type.asleep = 0;
    type.tokens = 0;
    type.filled_at = 0;
    type.rate = 0;
  }
  return state;
}

}  // namespace

bool worth_writing(const Memory& written, const Memory& now) {
  constexpr std::int64_t kMinute = 60'000'000'000;
  if (json::to_value(decisions_of(written.state)) != json::to_value(decisions_of(now.state))) return true;
  if (written.learnt_at != now.learnt_at || written.reservations != now.reservations) return true;
  const bool spent = written.spending.today != now.spending.today || written.spending.day != now.spending.day;
  const bool learnt = json::to_value(written.forecasts) != json::to_value(now.forecasts);
  return (spent || learnt) && now.written_at - written.written_at >= kMinute;
}

const Structure& description(Tag<Spending>) {
  static const Structure s = Builder<Spending>("spending", "What hosts have cost, by UTC.")
                                 .wire<&Spending::day>("Day", "The day, as 2026-11-27.")
                                 .wire<&Spending::month>("Month", "The month, as 2026-11.")
                                 .wire<&Spending::today>("Today", "On that day, in millionths of the site's currency.")
                                 .wire<&Spending::this_month>("ThisMonth", "In that month.")
                                 .done();
  return s;
}

const Structure& description(Tag<Memory>) {
  static const Structure s =
      Builder<Memory>("growth", "What is remembered of a cluster's growth.")
          .wire<&Memory::cluster>("Cluster", "The cluster.")
          .wire<&Memory::state>("State", "What its policy remembers.")
          .wire<&Memory::spending>("Spending", "What its hosts have cost.")
          .wire<&Memory::forecasts>("Forecasts", "How many of its hosts are expected to be in use, by pool.")
          .wire<&Memory::learnt_at>("LearntAt", "Unix time in nanoseconds of the trial that they began with.")
          .wire<&Memory::reservations>("Reservations", "Names of Slurm's reservations that were made for it.")
          .wire<&Memory::written_at>("WrittenAt", "Unix time in nanoseconds at which it was written down.")
          .done();
  return s;
}

}  // namespace underway::growth
