// Slurm without us: nodes that are always on, and Slurm's own power saving.
#include "elastic/detail/replay.hpp"

namespace underway::elastic::detail {
namespace {

Millis millis(Duration span) { return std::chrono::duration_cast<std::chrono::milliseconds>(span).count(); }

class FixedReplay final : public Replay {
 public:
  FixedReplay(const Trace& trace, const SimulationSettings& settings, Peer peer)
      : Replay(trace, settings, types_of(settings, peer), std::string(describe::spell(peer))) {
    for (std::size_t t = 0; t < machine().types().size(); ++t) {
      for (std::int64_t i = 0; i < machine().types()[t].type.max_nodes; ++i) machine().add(t, SimPhase::idle, 0);
    }
  }
};

/// A job is given nodes that are off at once; they are resumed, and it starts when all of them are up: a batch job at
/// the next sweep (PERIODIC_TIMEOUT of slurmctld). Nodes that are idle for SuspendTime are switched off. One that does
/// not come up within ResumeTimeout sends the job back to the queue.
class PowerSavingReplay final : public Replay {
 public:
  PowerSavingReplay(const Trace& trace, const SimulationSettings& settings)
      : Replay(trace, settings, types_of(settings, Peer::power_saving),
               std::string(describe::spell(Peer::power_saving))) {
    for (std::size_t t = 0; t < machine().types().size(); ++t) {
      const bool fixed = machine().types()[t].fixed;
      for (std::int64_t i = 0; i < machine().types()[t].type.max_nodes; ++i)
        machine().add(t, fixed ? SimPhase::idle : SimPhase::off, 0);
    }
  }

 private:
  bool wakes() const override { return true; }

  void allocated(std::size_t index) override {
    SimJob& job = jobs()[index];
    bool waits = false;
    for (const std::size_t node : job.nodes) {
      if (machine().node(node).phase != SimPhase::booting) continue;
      waits = true;
      ++report().boots;
      const auto& type = machine().types()[job.type].type;
      const bool fails = chance().happens(settings().boot_failures);
      const double slow = 0.8 + 0.5 * chance().uniform();
      machine().node(node).ready_at =
          fails ? -1 : now() + static_cast<Millis>(static_cast<double>(millis(type.start_time)) * slow);
      at(fails ? now() + millis(settings().resume_timeout) : machine().node(node).ready_at, SimEvent::booted,
         static_cast<std::int64_t>(node), machine().node(node).epoch);
    }
    if (waits)
      expect_end(job, now() + job.limit);
    else
      start(index);
  }

  void on_booted(std::size_t index) override {
    const auto owner = static_cast<std::size_t>(machine().node(index).job);
    if (machine().node(index).ready_at < 0) {
      ++report().failed_boots;
      give_back(owner);
      return;
    }
    machine().set(index, SimPhase::busy, now());
    const SimJob& job = jobs()[owner];
    for (const std::size_t node : job.nodes) {
      if (machine().node(node).phase == SimPhase::booting) return;
    }
    const Millis sweep = millis(settings().sweep);
    const Millis next = sweep > 0 ? (now() / sweep + 1) * sweep : now();
    at(next, SimEvent::sweep, static_cast<std::int64_t>(owner), job.epoch);
  }

  void on_sweep(std::size_t index) override { start(index); }

  /// The job goes back to the queue; nodes that are up stay idle, the others are switched off.
  void give_back(std::size_t index) {
    for (const std::size_t node : jobs()[index].nodes) {
      if (machine().node(node).phase == SimPhase::booting) {
        machine().node(node).job = -1;
        machine().set(node, SimPhase::off, now());
      }
    }
    requeue(index, now() + millis(settings().requeue));
  }

  void on_idle(std::size_t index) override {
    if (!machine().types()[machine().node(index).type].fixed)
      at(now() + millis(settings().suspend_time), SimEvent::idle_over, static_cast<std::int64_t>(index),
         machine().node(index).epoch);
  }
  void on_idle_over(std::size_t index) override { machine().set(index, SimPhase::off, now()); }
};

}  // namespace

std::unique_ptr<Replay> make_fixed(const Trace& trace, const SimulationSettings& settings, Peer peer) {
  return std::make_unique<FixedReplay>(trace, settings, peer);
}

std::unique_ptr<Replay> make_power_saving(const Trace& trace, const SimulationSettings& settings) {
  return std::make_unique<PowerSavingReplay>(trace, settings);
}

}  // namespace underway::elastic::detail
