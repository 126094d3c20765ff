#pragma once
/// @file
/// Replays a trace of jobs under different ways to run the same machine, and says what each would have meant for those
/// who wait and for who pays. Virtual time, seeded: the same trace and settings give the same report.

#include "elastic/policy.hpp"
#include "elastic/policy/forecast.hpp"
#include "elastic/trace/trace.hpp"

namespace underway::elastic {

/// Who runs the machine.
enum class Peer : std::uint8_t {
  fixed,         ///< Slurm with the static nodes alone, EASY backfill (Lifka 1995)
  fixed_all,     ///< the same with all that the policy may ever have, always on
  power_saving,  ///< the same, switched off and on by Slurm's power saving
  elastic,       ///< the static nodes, and what the policy makes
  forecast,      ///< the same, acting on its forecast
};

/// Jobs have whole nodes to themselves, all of one class, as on most clusters that have multi-node jobs: what the
/// policy gains from small jobs that share nodes is not counted.
struct SimulationSettings {
  std::int64_t nodes = 0;           ///< static ones, always on
  std::int64_t cpus_per_node = 16;  ///< of those
  std::int64_t memory_mb = 65536;
  std::string cost_per_hour = "0";  ///< of one of them
  Policy policy;
  std::uint64_t seed = 1;
  double boot_failures = 0;  ///< part of all boots
  Forecasts learnt;          ///< what the peer that forecasts knows already
  Duration decide_every = std::chrono::seconds{10};
  // Slurm's power saving. Its defaults where it has some (slurm.conf(5)), else what sites set.
  Duration suspend_time = std::chrono::minutes{10};
  Duration resume_timeout = std::chrono::minutes{10};
  Duration sweep = std::chrono::seconds{30};   ///< PERIODIC_TIMEOUT: a batch job on woken nodes starts at the next
  Duration requeue = std::chrono::minutes{2};  ///< after a node did not come up
  // Preemption. Jobs of these partitions do not wait for those of others on nodes that can sleep.
  std::vector<std::string> urgent;
  Duration suspend = std::chrono::seconds{4};  ///< 692 MiB resident: 3.7 s to a file, 1.65 s back (measured)
  Duration resume = std::chrono::seconds{2};
};

struct PeerReport {
  std::string name;
  std::int64_t jobs = 0;                             ///< that ended
  std::int64_t impossible = 0;                       ///< that no node of this peer is large enough for
  double wait_mean = 0, wait_p50 = 0, wait_p95 = 0;  ///< seconds
  double slowdown = 0;     ///< mean of (wait + run) / max(run, 10 s), at least 1: bounded (Feitelson 1998)
  double urgent_p95 = 0;   ///< seconds, of urgent jobs
  double utilisation = 0;  ///< of the node-hours that were paid for
  double node_hours = 0;
  Money cost = 0;
  std::int64_t boots = 0, failed_boots = 0, suspensions = 0, migrations = 0;
  double most_asleep = 0;     ///< seconds, of one job
  double makespan = 0;        ///< seconds
  std::vector<double> nodes;  ///< paid for, on average, in equal parts of the makespan
  std::vector<double> busy;
  Forecasts learnt;  ///< of the peer that forecasts, as of the trace's end
};

struct SimulationReport {
  std::vector<PeerReport> peers;
  std::optional<Trust> forecast;  ///< what the policy's forecast is worth on this trace
};

/// Everything that makes the settings senseless.
std::vector<std::string> problems(const SimulationSettings& settings);
PeerReport replay(const Trace& trace, const SimulationSettings& settings, Peer peer);
/// What the forecast is worth, by what `elastic` and `forecast` came to on the same trace.
Trust trust_in(const PeerReport& reactive, const PeerReport& forecast, const ForecastPolicy& policy);
/// All peers; `forecast` only where the policy does not switch it off.
SimulationReport simulate(const Trace& trace, const SimulationSettings& settings);

/// A table, bars of the waits, and how many nodes there were over time: plain text, at most `width` columns.
std::string chart(const SimulationReport& report, std::size_t width = 80);

const describe::Enumeration& description(describe::Tag<Peer>);
const describe::Structure& description(describe::Tag<PeerReport>);
const describe::Structure& description(describe::Tag<Trust>);
const describe::Structure& description(describe::Tag<SimulationReport>);

}  // namespace underway::elastic
