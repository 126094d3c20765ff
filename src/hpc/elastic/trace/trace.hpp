#pragma once
/// @file
/// What ran on a cluster once, or might: jobs with when they came, how long they ran and what they asked for. Read line
/// by line, so that a trace of years costs no more memory than its jobs do.

#include "base/clock.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::elastic {

struct TraceJob {
  std::string id;
  std::string user, account, partition;
  std::int64_t submit = 0;     ///< seconds since the epoch
  std::int64_t run = 0;        ///< seconds
  std::int64_t limit = 0;      ///< seconds that it asked for; 0: nobody knows
  std::int64_t nodes = 0;      ///< 0: as many as its processors take
  std::int64_t cpus = 1;       ///< in all
  std::int64_t memory_mb = 0;  ///< per node; 0: nobody knows
};

/// What was wrong with a trace: all of it is counted, the first hundred are kept.
struct TraceProblems {
  std::vector<std::string> lines;  ///< "line 17: …"
  std::size_t count = 0;

  static constexpr std::size_t kKept = 100;
  void add(std::size_t line, std::string_view what);
};

struct Trace {
  std::vector<TraceJob> jobs;                ///< by submit time, then id
  std::int64_t max_nodes = 0, max_cpus = 0;  ///< of the machine, if the trace says so
  std::size_t never_ran = 0;  ///< jobs that are left out: cancelled before they started, or still pending
  std::size_t steps = 0;      ///< lines of job steps
};

inline constexpr std::size_t kMaxTraceLine = 64 * 1024;  ///< bytes; longer ones are a problem
inline constexpr std::size_t kMaxTraceJobs = 10'000'000;

enum class TraceFormat { swf, sacct };
/// By the first line that is not empty: sacct's has bars between its columns.
TraceFormat guess_format(std::string_view beginning);

/// Standard Workload Format: header comments behind ';', then 18 numbers a line, -1 for what is not known.
/// Source: Feitelson, cs.huji.ac.il/labs/parallel/workload/swf.html (version 2.2).
Trace read_swf(std::istream& in, TraceProblems& problems);
/// `sacct --parsable2` with any columns in any order that have JobID, Submit, an elapsed time or Start and End, and
/// nodes or processors. Lines of steps are passed over. Times are read as UTC: only differences matter. Source:
/// sacct(1) of 20.11 to 24.11.
Trace read_sacct(std::istream& in, TraceProblems& problems);
Trace read_trace(std::istream& in, TraceFormat format, TraceProblems& problems);

/// What such a line was before: for tests, and to hand a generated trace to other simulators.
std::string write_swf(const Trace& trace);

/// "2-03:04:05", "03:04:05", "04:05", "04:05.123": seconds. Nothing: it is none, or none that ends ("UNLIMITED").
std::optional<std::int64_t> parse_slurm_span(std::string_view text);
/// "4Gn", "4000Mc", "1.5G", "512": MiB per node of so many with so many processors in all. Suffix n: per node, c: per
/// processor; without (from 21.08 on): for the whole job.
std::optional<std::int64_t> parse_slurm_memory(std::string_view text, std::int64_t nodes, std::int64_t cpus);

}  // namespace underway::elastic
