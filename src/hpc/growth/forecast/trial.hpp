#pragma once
/// @file
/// What acting on the forecast of demand would have been worth on the Slurm jobs that a cluster has had: its own
/// accounting, replayed with and without (elastic/simulate). Pure; trials.hpp asks Slurm, and writes down.

#include "elastic/simulate/simulation.hpp"
#include "model/cluster.hpp"
#include "server/request.hpp"
#include "slurm/elastic/node_record.hpp"
#include "tables/records.hpp"

namespace underway::growth {

struct ClusterFacts;

/// What was found; one per cluster.
struct ForecastTrial {
  std::string cluster;
  std::string of;         ///< digest of the policy and the pools that were tried: of others it says nothing
  std::int64_t at = 0;    ///< ns since the epoch
  std::int64_t jobs = 0;  ///< that were replayed
  bool act = false;
  std::string why;            ///< for people
  elastic::Forecasts learnt;  ///< what the trace teaches, as of its end

  /// Whether it speaks of the cluster as it is declared now, and of these days.
  bool holds(const std::string& digest, TimePoint now) const;
};
/// After so long another trial is due; one that is as old as two of them is believed no more.
inline constexpr Duration kTrialEvery = std::chrono::hours(24);

/// Whether a forecast could do anything there: it is not switched off, and a pool grows by the queue.
bool is_forecast(const model::Cluster& cluster);
/// What a trial depends on.
std::string trial_digest(const ClusterFacts& facts);

/// Jobs that ran in a span of time, from Slurm's accounting, with times in UTC. The words are those of 20.11 to 24.11.
std::vector<std::string> past_jobs_command(TimePoint begin, TimePoint end);
/// How far back a trial looks: fourteen seasons, at least a day and at most four weeks.
Duration trial_span(const elastic::ForecastPolicy& policy);
inline constexpr std::size_t kMostTrialJobs = 50'000;  ///< the newest: replayed twice in some four seconds

/// Adds the jobs of an older span. A job that is in both is one. Untrusted: lines that make no sense are left out.
void add_past_jobs(elastic::Trace& trace, std::string_view printed);

/// Replays: what the first third of the jobs teaches is judged by the others. Jobs of partitions that none of the pools
/// serves are left out, and so are static nodes of such alone. A trace that is shorter than three seasons says nothing.
ForecastTrial try_forecast(const ClusterFacts& facts, const std::vector<slurm::NodeRecord>& records,
                           elastic::Trace trace, TimePoint now);

struct NoteTrial {
  ForecastTrial trial;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteTrial& request,
                                         const server::Context& context);

const describe::Structure& description(describe::Tag<ForecastTrial>);

}  // namespace underway::growth

namespace underway::tables {

template <>
struct RecordOf<growth::ForecastTrial> {
  static constexpr std::string_view kind = "forecast-trial";
  static std::string name(const growth::ForecastTrial& trial) { return trial.cluster; }
};

}  // namespace underway::tables
