#pragma once
/// @file
/// The event loop of a simulation, and Slurm's part in it: the queue, and EASY backfill. Who makes and removes nodes
/// derives from it.

#include "elastic/detail/chance.hpp"
#include "elastic/detail/machine.hpp"

#include <memory>
#include <queue>

namespace underway::elastic::detail {

enum class SimJobPhase : std::uint8_t { coming, queued, configuring, running, suspending, asleep, resuming, ended };

struct SimJob {
  const TraceJob* trace = nullptr;
  SimJobPhase phase = SimJobPhase::coming;
  Millis submit = 0, run = 0, limit = 0;
  Millis eligible = 0;  ///< it was requeued, and waits until then
  Millis started = -1;  ///< first; -1: never
  Millis since = 0;     ///< it runs, or sleeps
  Millis left = 0;      ///< to run, as of `since`
  Millis ended = 0;
  Millis ends_by = -1;  ///< by its limit; -1: it has no nodes
  Millis asleep = 0;    ///< in all
  std::int64_t suspensions = 0;
  std::int64_t epoch = 0;
  std::size_t type = 0;
  std::vector<std::size_t> nodes;
  std::string home;  ///< where it slept
  bool urgent = false;
};

enum class SimEvent : std::uint8_t { submit, end, booted, decide, sweep, idle_over, suspended, resumed };

class Replay {
 public:
  Replay(const Trace& trace, const SimulationSettings& settings, std::vector<SimType> types, std::string name);
  virtual ~Replay() = default;
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  PeerReport run();

 protected:
  // --- what peers do ---
  /// After everything that happened at this moment, and after jobs were started.
  virtual void settled() {}
  virtual void on_booted(std::size_t) {}
  virtual void on_decide() {}
  virtual void on_sweep(std::size_t) {}
  virtual void on_idle_over(std::size_t) {}
  virtual void on_suspended(std::size_t) {}
  virtual void on_resumed(std::size_t) {}
  virtual void on_idle(std::size_t) {}
  /// Before the queue is looked at.
  virtual void before_queue() {}
  /// Has its nodes: starts now, unless they have to come up first.
  virtual void allocated(std::size_t job) { start(job); }
  /// Whether the queue may have nodes that are off.
  virtual bool wakes() const { return false; }

  void at(Millis when, SimEvent event, std::int64_t what, std::int64_t epoch = 0);
  void start(std::size_t job);
  void release(std::size_t job);  ///< its nodes are idle again
  void requeue(std::size_t job, Millis eligible);
  std::int64_t nodes_needed(const SimJob& job, const SimType& type) const;  ///< 0: it never fits
  /// What backfill counts on, by the job's limit.
  void expect_end(SimJob& job, Millis ends_by);
  void forget_running(SimJob& job);

  Millis now() const { return now_; }
  Machine& machine() { return machine_; }
  std::vector<SimJob>& jobs() { return jobs_; }
  std::vector<std::size_t>& queue() { return queue_; }
  const SimulationSettings& settings() const { return settings_; }
  Chance& chance() { return chance_; }
  PeerReport& report() { return report_; }
  bool over() const { return ended_ == jobs_.size(); }
  TimePoint wall(Millis at) const;

 private:
  struct Planned {
    Millis at;
    std::uint64_t number;
    SimEvent event;
    std::int64_t what, epoch;
    bool operator>(const Planned& other) const { return std::tie(at, number) > std::tie(other.at, other.number); }
  };
  struct Reservation {
    std::size_t type = 0;
    Millis shadow = kForever;
    std::int64_t extra = 0;
  };

  void handle(const Planned& planned);
  void look_at_queue();
  bool try_start(std::size_t job, const Reservation* reservation);
  Reservation reserve(const SimJob& job, std::size_t index) const;
  void finish_report();

  const SimulationSettings& settings_;
  Machine machine_;
  Chance chance_;
  std::vector<SimJob> jobs_;
  std::vector<std::size_t> queue_;  ///< the urgent first, then as they came
  std::priority_queue<Planned, std::vector<Planned>, std::greater<>> events_;
  std::uint64_t numbered_ = 0;
  Millis now_ = 0;
  std::int64_t origin_ = 0;  ///< seconds since the epoch
  std::size_t ended_ = 0;
  PeerReport report_;
};

/// The static nodes, then the policy's classes by price.
std::vector<SimType> types_of(const SimulationSettings& settings, Peer peer);

std::unique_ptr<Replay> make_fixed(const Trace& trace, const SimulationSettings& settings, Peer peer);
std::unique_ptr<Replay> make_power_saving(const Trace& trace, const SimulationSettings& settings);
std::unique_ptr<Replay> make_elastic(const Trace& trace, const SimulationSettings& settings, bool forecast);

}  // namespace underway::elastic::detail
