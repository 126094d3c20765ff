#pragma once
/// @file
/// The nodes of a simulated machine: which are idle, which run what until when, and what they cost. Time is
/// milliseconds since the first job of the trace.

#include "elastic/simulate/simulation.hpp"
#include "model/elastic/money.hpp"

#include <map>
#include <set>

namespace underway::elastic::detail {

using Millis = std::int64_t;
inline constexpr Millis kForever = INT64_MAX / 4;

enum class SimPhase : std::uint8_t { gone, off, booting, idle, busy, draining };

struct SimNode {
  std::size_t type = 0;
  std::string name;
  SimPhase phase = SimPhase::gone;
  Millis since = 0, booted = 0;
  Millis ready_at = 0;     ///< of one that boots
  std::int64_t epoch = 0;  ///< grows whenever what was planned for the node does not hold any more
  std::int64_t job = -1;
  std::string gang;  ///< its nodes are for one job only
  std::int64_t held_for = -1;
};

struct SimType {
  PoolClass type;
  Money hourly = 0;
  bool fixed = false;
  std::set<std::size_t> idle;                              ///< for anybody
  std::map<std::int64_t, std::set<std::size_t>> held;      ///< for one job
  std::set<std::size_t> off;                               ///< can be woken by Slurm
  std::multiset<std::pair<Millis, std::int64_t>> running;  ///< ends by limit, nodes
  std::int64_t named = 0;
};

/// What is summed up over time, and drawn.
struct Meter {
  Millis last = 0;
  std::int64_t paid = 0, busy = 0;  ///< nodes, now
  double paid_ms = 0, busy_ms = 0, cost = 0;
  Money per_hour = 0;
  std::vector<std::tuple<Millis, std::int64_t, std::int64_t>> history;  ///< when, paid, busy
};

class Machine {
 public:
  explicit Machine(std::vector<SimType> types) : types_(std::move(types)) {}

  std::vector<SimType>& types() { return types_; }
  const std::vector<SimType>& types() const { return types_; }
  SimNode& node(std::size_t index) { return nodes_[index]; }
  const std::vector<SimNode>& nodes() const { return nodes_; }
  const Meter& meter() const { return meter_; }

  std::size_t add(std::size_t type, SimPhase phase, Millis now);
  /// Moves a node to another phase: lists, money and history follow.
  void set(std::size_t index, SimPhase phase, Millis now);
  /// Idle nodes become one job's, or anybody's (-1).
  void hold(std::size_t index, std::int64_t job);
  /// How many nodes of the type the job could have now; with those that are off, if `wake`.
  std::int64_t available(const SimType& type, std::int64_t job, bool wake) const;
  /// Takes nodes that are available: the job's own first, then idle ones, then those that are off.
  std::vector<std::size_t> take(std::size_t type, std::int64_t job, std::int64_t count, Millis now);
  void tick(Millis now);  ///< sums up until now

 private:
  static bool paid(SimPhase phase) { return phase != SimPhase::gone && phase != SimPhase::off; }

  std::vector<SimType> types_;
  std::vector<SimNode> nodes_;
  Meter meter_;
};

}  // namespace underway::elastic::detail
