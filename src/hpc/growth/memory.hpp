#pragma once
/// @file
/// What is written down of a cluster's growth, beside the hosts that its pools are to have (model/elastic/growth.hpp).

#include "elastic/policy/forecast.hpp"
#include "elastic/state.hpp"
#include "tables/pool_hosts.hpp"

namespace underway::growth {

/// What hosts have cost, by UTC.
struct Spending {
  std::string day, month;                  ///< "2026-11-27" and "2026-11": of these
  std::int64_t today = 0, this_month = 0;  ///< millionths of the site's currency
};

struct Memory {
  std::string cluster;
  elastic::State state;
  Spending spending;
  elastic::Forecasts forecasts;  ///< by pool
  std::int64_t learnt_at = 0;    ///< ns since the epoch: of the trial (forecast/trial.hpp) that they began with
  std::vector<std::string> reservations = {};  ///< names of Slurm's that are ours (reserve/bookings.hpp)
  std::int64_t written_at = 0;                 ///< ns since the epoch
};

/// Adds what hosts have cost in `span` until `now`, `hourly` for all of them together; what was spent on other days and
/// in other months is forgotten.
void spend(Spending& spending, std::int64_t hourly, Duration span, TimePoint now);

/// Whether what has changed must not be lost with the server: boots that failed, jobs whose nodes are made. What fills
/// up or adds up by time alone may be a minute old.
bool worth_writing(const Memory& written, const Memory& now);

const describe::Structure& description(describe::Tag<Spending>);
const describe::Structure& description(describe::Tag<Memory>);

}  // namespace underway::growth

namespace underway::tables {

template <>
struct RecordOf<growth::Memory> {
  static constexpr std::string_view kind = "growth";
  static std::string name(const growth::Memory& memory) { return memory.cluster; }
};

}  // namespace underway::tables
