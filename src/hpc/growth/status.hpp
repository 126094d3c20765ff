#pragma once
/// @file
/// How growth stands: what a person asks for when a Slurm job waits, or when the bill comes.

#include "elastic/explanation.hpp"
#include "model/elastic/policy.hpp"

namespace underway::growth {

/// Of a pool that grows and shrinks.
struct PoolStatus {
  std::string pool;
  model::AskedBy asked_by = model::AskedBy::queue;
  std::int64_t always = 0, most = 0;                                      ///< hosts: its size, and slurm.most
  std::int64_t booting = 0, idle = 0, busy = 0, leaving = 0, asleep = 0;  ///< hosts
  std::string cost_per_hour;      ///< of all of them together, "1.40"; empty: they cost nothing
  std::string trouble;            ///< why no host is asked for although one is needed; empty: nothing keeps it
  std::int64_t failed_boots = 0;  ///< ever
};

/// Of a cluster that has such pools.
struct Status {
  std::string cluster;
  std::int64_t at = 0;             ///< of the newest look at Slurm, ns since the epoch; 0: none yet
  std::string trouble;             ///< why Slurm could not be looked at since; empty: it could
  std::int64_t trouble_since = 0;  ///< ns since the epoch; 0: there is none
  std::int64_t pending = 0;        ///< Slurm jobs that wait; tasks of arrays each count
  std::int64_t running = 0;        ///< and that run
  std::string spent_today;         ///< "12.00"; by UTC. Empty: nothing costs anything
  std::string spent_this_month;
  std::vector<PoolStatus> pools;
  elastic::Explanation explanation;  ///< of the newest decision
  std::vector<std::string> lines;    ///< the same for people
};

/// Why a Slurm job waits.
struct JobExplanation {
  std::string cluster, job;
  std::string state;               ///< Slurm's: "PENDING"; empty: Slurm has no such job in its queue
  std::string reason;              ///< Slurm's word for why it waits
  std::vector<std::string> lines;  ///< for people
};

/// What has happened since the server started, for metrics.
struct Counters {
  std::int64_t looks = 0, failed_looks = 0;
  std::int64_t hosts_asked_for = 0, hosts_given_back = 0, failed_boots = 0;
  std::int64_t hosts_taken_back = 0, jobs_redone = 0;
  double last_decision_ms = 0;
};

const describe::Structure& description(describe::Tag<PoolStatus>);
const describe::Structure& description(describe::Tag<Status>);
const describe::Structure& description(describe::Tag<JobExplanation>);

}  // namespace underway::growth
