#pragma once
/// @file
/// Why the policy did what it did, as data with numbers; render() says it in words.

#include "base/json/describe.hpp"

#include <map>
#include <string>
#include <vector>

namespace underway::elastic {

/// Why a class does not serve a job.
enum class Obstacle : std::uint8_t {
  partition,      ///< it serves others
  cpus,           ///< its nodes have too few
  memory,         ///< or too little
  features,       ///< or lack one
  opportunistic,  ///< the job lost its node once already
  max_nodes,      ///< the class has all that it may have
  total_nodes,    ///< all classes together have
  quota,          ///< the provider gives no more
  budget,         ///< the money does not reach
  backing_off,    ///< the provider refused, and is left alone for a while
  breaker,        ///< its nodes did not come up
  rate,           ///< the next boots are asked for in a moment
  gang,           ///< there is room for some nodes of the job, not for all
  gang_waits,     ///< the job's nodes did not all come up in time, and it waits before the next attempt
};

struct Refusal {
  std::string class_name;
  Obstacle obstacle = Obstacle::cpus;
  std::int64_t need = 0, have = 0;  ///< in the obstacle's unit: nodes, processors, MiB, micro-units of money
  std::string what;                 ///< which feature, which limit
  std::int64_t until = 0;           ///< nanoseconds since the epoch; 0: nobody knows
};

/// Slurm jobs that ask for the same.
struct ShapeExplanation {
  std::string partition;
  std::int64_t nodes = 1, cpus = 1, memory_mb = 0;  ///< processors and memory per node
  std::vector<std::string> features;
  std::int64_t jobs = 0;              ///< tasks of arrays each count
  std::vector<std::string> examples;  ///< a few of their ids
  std::int64_t fit_now = 0;           ///< on nodes that are up or being made
  std::int64_t booting = 0;           ///< nodes are asked for now
  std::int64_t waiting = 0;           ///< and these wait, for:
  std::vector<Refusal> refusals;
};

struct ClassExplanation {
  std::string name;
  std::int64_t running = 0, idle = 0, booting = 0, asleep = 0, max_nodes = 0;
  std::int64_t grown = 0, shrunk = 0, draining = 0;
  std::string kept;  ///< why idle nodes stay; empty: none is idle, or they go
};

/// A threshold that is not reached.
struct ThresholdExplanation {
  std::string partition;
  std::int64_t jobs = 0;  ///< that have waited for as long
  std::int64_t of = 0;    ///< as are needed
  std::int64_t minutes = 0;
};

struct Explanation {
  std::int64_t at = 0;
  std::vector<ClassExplanation> classes;
  std::vector<ShapeExplanation> shapes;
  std::vector<ThresholdExplanation> thresholds;
  std::map<std::string, std::int64_t> not_cured;  ///< Slurm jobs that more nodes do not help, by Slurm's reason
  std::vector<std::string> notes;                 ///< what else was done: gangs given up, nodes taken back
};

/// For people, a line each: "3 of 12 jobs of partition 'batch' wait: class 'small' has 32 GiB of memory, they need 64
/// GiB".
std::vector<std::string> render(const Explanation& explanation);
/// One refusal, as in that line.
std::string render(const Refusal& refusal, std::int64_t now);

const describe::Enumeration& description(describe::Tag<Obstacle>);
const describe::Structure& description(describe::Tag<Refusal>);
const describe::Structure& description(describe::Tag<ShapeExplanation>);
const describe::Structure& description(describe::Tag<ClassExplanation>);
const describe::Structure& description(describe::Tag<ThresholdExplanation>);
const describe::Structure& description(describe::Tag<Explanation>);

}  // namespace underway::elastic
