#pragma once
/// @file
/// Traces that look like those of clusters, for who has none at hand. The same settings give the same trace.

#include "elastic/trace/trace.hpp"

namespace underway::elastic {

/// In the manner of Lublin and Feitelson 2003, "The workload on parallel supercomputers": arrivals by the hour of the
/// day and less at weekends, a quarter of the jobs serial and most others powers of two, run times lognormal.
struct TraceSettings {
  std::uint64_t seed = 1;
  std::int64_t days = 7;
  double jobs_per_day = 500;
  std::int64_t largest_nodes = 32;  ///< of one job; a power of two is best
  std::int64_t cpus_per_node = 16;
  double median_run = 1200;   ///< seconds
  double spread = 1.5;        ///< sigma of the logarithm: half of an hour's jobs run for minutes, a few for days
  double bursts_per_day = 2;  ///< somebody submits many alike at once
  std::int64_t burst_jobs = 60;
  std::int64_t start = 1'700'006'400;  ///< a midnight, UTC
};

Trace generate_trace(const TraceSettings& settings);

}  // namespace underway::elastic
