// Slurm with us: nodes are made by decide(), and jobs sleep for urgent ones.
#include <algorithm>
#include <unordered_map>

#include "base/numbers.hpp"
#include "elastic/detail/replay.hpp"
#include "elastic/preemption/resume.hpp"
#include "elastic/preemption/victims.hpp"
#include "elastic/tick.hpp"

namespace underway::elastic::detail {
namespace {

/// So much of the queue is looked at: what lies behind has its turn when these have nodes.
constexpr std::size_t kMostPending = 2000;
/// The image of a sleeping VM: what is resident, not what it may use.
constexpr std::int64_t kImageBytes = 700ll * 1024 * 1024;
constexpr double kQuickest = 0.8, kJitter = 0.5;  ///< of the expected time of a boot

Millis in_millis(Duration span) { return std::chrono::duration_cast<std::chrono::milliseconds>(span).count(); }

class ElasticReplay final : public Replay {
 public:
  ElasticReplay(const Trace& trace, const SimulationSettings& settings, bool forecast)
      : Replay(trace, settings, types_of(settings, Peer::elastic),
               std::string(describe::spell(forecast ? Peer::forecast : Peer::elastic))),
        policy_(settings.policy),
        forecasting_(forecast) {
    SimType& fixed = machine().types().front();
    policy_.classes.clear();
    for (const auto& type : machine().types()) policy_.classes.push_back(type.type);
    policy_.classes.front().cost_per_hour = "0";  // it is paid for anyway
    report().learnt = settings.learnt;
    policy_.pack = false;  // jobs have whole nodes
    for (std::int64_t i = 0; i < fixed.type.max_nodes; ++i) alive_.push_back(machine().add(0, SimPhase::idle, 0));
  }

 private:
  // --- when ---

  void settled() override {
    if (decided_now_)
      decided_now_ = false;
    else
      decide_at(now());
  }

  void decide_at(Millis when) {
    when = std::max(when, last_ + in_millis(settings().decide_every));
    if (planned_ >= 0 && planned_ <= when) return;
    planned_ = when;
    at(when, SimEvent::decide, 0);
  }

  void on_decide() override {
    if (planned_ != now()) return;  // an earlier one came between
    planned_ = -1;
    decided_now_ = true;
    Tick tick = look();
    last_ = now();
    Decision decision = decide(policy_, tick, state_);
    state_ = std::move(decision.state);
    for (const auto& grow : decision.grow) make(grow);
    for (const auto& action : decision.shrink) take_away(action.node);
    label_nodes();
    preempt();
    if (forecasting_) decide_at(now() + in_millis(policy_.forecast.step));
    if (decision.look_again != TimePoint{})
      decide_at(std::chrono::ceil<std::chrono::milliseconds>(decision.look_again - wall(0)).count());
  }

  // --- what is seen ---

  Tick look() {
    Tick tick;
    tick.now = wall(now());
    tick.elapsed = std::chrono::milliseconds{now() - std::max<Millis>(last_, 0)};
    if (last_ < 0) tick.elapsed.reset();
    for (const std::size_t index : queue()) {
      if (tick.pending.size() == kMostPending) break;
      tick.pending.push_back(pending(index));
      if (preempting_.contains(index)) tick.pending.back().reason = "JobHeldAdmin";
    }
    for (const std::size_t index : sleepers_) {
      tick.pending.push_back(pending(index));
      tick.pending.back().priority = 2;
    }
    for (const std::size_t index : alive_) tick.nodes.push_back(view(index));
    tick.outcomes = std::move(outcomes_);
    outcomes_.clear();
    if (forecasting_) tick.warm = look_ahead(report().learnt, policy_, tick);
    return tick;
  }

  PendingJob pending(std::size_t index) {
    const SimJob& job = jobs()[index];
    PendingJob out;
    out.id = std::to_string(index);
    out.partition = job.trace->partition;
    out.priority = job.urgent ? 1 : 0;
    out.nodes_min = out.nodes_max = cheapest_size(job);
    out.cpus = std::max(job.trace->cpus, out.nodes_min);
    out.memory_mb = job.trace->memory_mb;
    out.exclusive = true;
    out.reason = "Resources";
    out.submitted = wall(job.submit);
    out.time_limit = std::chrono::milliseconds{job.limit};
    return out;
  }

  /// On how many nodes it costs least.
  std::int64_t cheapest_size(const SimJob& job) {
    std::int64_t best = 1;
    Money least = -1;
    for (const auto& type : machine().types()) {
      if (type.fixed && machine().types().size() > 1) continue;
      const std::int64_t nodes = nodes_needed(job, type);
      if (nodes == 0 || nodes > type.type.max_nodes) continue;
      if (least >= 0 && type.hourly * nodes >= least) continue;
      best = nodes;
      least = type.hourly * nodes;
    }
    return best;
  }

  NodeView view(std::size_t index) {
    const SimNode& node = machine().node(index);
    NodeView out;
    out.name = node.name;
    out.class_name = machine().types()[node.type].type.name;
    out.since = wall(node.since);
    out.booted = wall(node.booted);
    out.gang = node.gang;
    const bool busy = node.job >= 0 || node.phase == SimPhase::busy || (node.held_for >= 0 && node.gang.empty());
    out.phase = busy ? NodePhase::busy : node.phase == SimPhase::booting ? NodePhase::booting : NodePhase::idle;
    if (busy) {
      out.jobs = {std::to_string(node.job >= 0 ? node.job : node.held_for)};
    } else {
      out.cpus_free = machine().types()[node.type].type.vcpus;
      out.memory_free_mb = machine().types()[node.type].type.memory_mb;
    }
    return out;
  }

  // --- what is done ---

  void make(const Grow& grow) {
    std::size_t type = 0;
    while (machine().types()[type].type.name != grow.class_name) ++type;
    const PoolClass& pool_class = machine().types()[type].type;
    for (std::int64_t i = 0; i < grow.count; ++i) {
      const std::size_t index = machine().add(type, SimPhase::booting, now());
      SimNode& node = machine().node(index);
      by_name_[node.name] = index;
      node.gang = grow.gang;
      if (!grow.gang.empty()) node.held_for = leading_number_or<std::int64_t>(grow.gang, -1);
      ++report().boots;
      alive_.push_back(index);
      const bool fails = chance().happens(settings().boot_failures);
      const double part = kQuickest + kJitter * chance().uniform();
      const auto takes = static_cast<Millis>(static_cast<double>(in_millis(pool_class.start_time)) * part);
      node.ready_at = fails ? -1 : now() + takes;
      at(now() + (fails ? 2 * takes : takes), SimEvent::booted, static_cast<std::int64_t>(index), node.epoch);
    }
  }

  void on_booted(std::size_t index) override {
    const SimNode& node = machine().node(index);
    const std::string& name = machine().types()[node.type].type.name;
    if (node.ready_at >= 0) {
      outcomes_.push_back({name, node.name, BootResult::up, {}});
      machine().set(index, SimPhase::idle, now());
    } else {
      ++report().failed_boots;
      outcomes_.push_back({name, node.name, BootResult::failed, {}});
      lose(index);
    }
  }

  void take_away(const std::string& name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || machine().node(found->second).job >= 0) return;
    lose(found->second);
  }

  void lose(std::size_t index) {
    machine().set(index, SimPhase::gone, now());
    by_name_.erase(machine().node(index).name);
    alive_.erase(std::find(alive_.begin(), alive_.end(), index));
  }

  /// Nodes of gangs that are complete or given up are anybody's.
  void label_nodes() {
    std::set<std::string> forming;
    for (const auto& gang : state_.gangs) {
      if (gang.forming) forming.insert(gang.label);
    }
    for (const std::size_t index : alive_) {
      SimNode& node = machine().node(index);
      if (node.gang.empty() || forming.contains(node.gang)) continue;
      machine().hold(index, -1);
      node.gang.clear();
    }
  }

  void allocated(std::size_t job) override {
    preempting_.erase(job);
    start(job);
  }

  // --- who sleeps ---

  void preempt() {
    if (settings().urgent.empty()) return;
    for (const std::size_t index : queue()) {
      if (!jobs()[index].urgent) break;  // the urgent stand first
      if (preempting_.contains(index)) continue;
      for (std::size_t type = 1; type < machine().types().size(); ++type) {
        if (preempt_for(index, type)) break;
      }
    }
  }

  bool preempt_for(std::size_t index, std::size_t t) {
    const SimType& type = machine().types()[t];
    const SimJob& job = jobs()[index];
    UrgentNeed need;
    need.job = std::to_string(index);
    need.priority = 1;
    need.nodes = nodes_needed(job, type);
    need.cpus = type.type.vcpus;
    need.expected = std::chrono::milliseconds{job.limit};
    if (need.nodes == 0) return false;
    std::vector<VictimHost> hosts;
    std::vector<Candidate> candidates;
    for (const std::size_t i : alive_) {
      const SimNode& node = machine().node(i);
      if (node.type != t || node.held_for >= 0) continue;
      if (node.phase == SimPhase::idle) hosts.push_back({node.name, type.type.vcpus, type.type.memory_mb, {}, {}});
      if (node.job < 0 || node.phase != SimPhase::busy) continue;
      hosts.push_back({node.name, 0, 0, {}, {}});
      candidates.push_back(candidate(static_cast<std::size_t>(node.job), node, type));
    }
    const Victims victims = choose_victims(need, hosts, candidates, policy_.promises);
    if (!victims.found) return false;
    preempting_.insert(index);
    for (const auto& victim : victims.jobs) suspend(static_cast<std::size_t>(*parse_number<std::int64_t>(victim)));
    for (const auto& host : victims.hosts) machine().hold(by_name_.at(host), static_cast<std::int64_t>(index));
    return true;
  }

  Candidate candidate(std::size_t index, const SimNode& node, const SimType& type) {
    const SimJob& job = jobs()[index];
    Candidate out;
    out.job = std::to_string(index);
    out.hosts = {node.name};
    out.cpus = type.type.vcpus;
    out.memory_mb = type.type.memory_mb;
    out.suspendable = job.phase == SimJobPhase::running && job.nodes.size() == 1 && !job.urgent;
    out.suspend = settings().suspend;
    out.restart = settings().resume;
    out.suspensions = job.suspensions;
    out.asleep = std::chrono::milliseconds{job.asleep};
    return out;
  }

  void suspend(std::size_t index) {
    SimJob& job = jobs()[index];
    job.left -= now() - job.since;
    job.since = now();
    job.phase = SimJobPhase::suspending;
    ++job.suspensions;
    ++report().suspensions;
    at(now() + in_millis(settings().suspend), SimEvent::suspended, static_cast<std::int64_t>(index), ++job.epoch);
  }

  void on_suspended(std::size_t index) override {
    SimJob& job = jobs()[index];
    job.home = machine().node(job.nodes.front()).name;
    job.phase = SimJobPhase::asleep;
    release(index);
    sleepers_.push_back(index);
  }

  /// Whoever sleeps goes on as soon as there is room: an urgent job has to ask anew, so that no promise is broken by
  /// one urgent job after the other.
  void before_queue() override {
    if (sleepers_.empty()) return;
    std::vector<Sleeper> sleepers;
    for (const std::size_t index : sleepers_) sleepers.push_back(sleeper(index));
    std::vector<ResumeHost> hosts;
    std::int64_t rooms = 0;
    for (const std::size_t i : alive_) {
      const SimNode& node = machine().node(i);
      const bool idle = node.phase == SimPhase::idle && node.held_for < 0;
      const bool home = node.job >= 0 && std::any_of(sleepers.begin(), sleepers.end(),
                                                     [&](const Sleeper& s) { return s.host == node.name; });
      if (!idle && !home) continue;
      rooms += idle ? 1 : 0;
      const Millis free_at = idle ? now() : std::max(jobs()[static_cast<std::size_t>(node.job)].ends_by, now() + 1);
      const PoolClass& type = machine().types()[node.type].type;
      hosts.push_back({node.name, type.vcpus, type.memory_mb, wall(free_at), {}});
    }
    if (rooms == 0) return;
    const ResumeTimes times{125'000'000, settings().resume};
    for (const auto& plan : plan_resumes(sleepers, hosts, times, policy_.promises, wall(now()))) wake(plan);
  }

  Sleeper sleeper(std::size_t index) {
    const SimJob& job = jobs()[index];
    const Millis sleeps = now() - job.since;
    const PoolClass& type = machine().types()[job.type].type;
    return {std::to_string(index),
            job.trace->account,
            job.home,
            type.vcpus,
            job.trace->memory_mb,
            {},
            kImageBytes,
            wall(job.since),
            std::chrono::milliseconds{job.asleep + sleeps}};
  }

  void wake(const Resume& plan) {
    const auto index = static_cast<std::size_t>(*parse_number<std::int64_t>(plan.job));
    const std::size_t node = by_name_.at(plan.to);
    SimJob& job = jobs()[index];
    sleepers_.erase(std::find(sleepers_.begin(), sleepers_.end(), index));
    report().migrations += plan.migrates() ? 1 : 0;
    job.type = machine().node(node).type;
    job.nodes = {node};
    job.phase = SimJobPhase::resuming;
    machine().set(node, SimPhase::busy, now());
    machine().node(node).job = static_cast<std::int64_t>(index);
    const auto works = std::chrono::ceil<std::chrono::milliseconds>(plan.works_at - wall(0)).count();
    at(works, SimEvent::resumed, static_cast<std::int64_t>(index), ++job.epoch);
  }

  void on_resumed(std::size_t index) override {
    SimJob& job = jobs()[index];
    job.asleep += now() - job.since;
    start(index);
  }

  Policy policy_;
  State state_;
  bool forecasting_;
  std::vector<std::size_t> alive_;  ///< nodes, oldest first
  std::unordered_map<std::string, std::size_t> by_name_;
  std::vector<BootOutcome> outcomes_;
  std::set<std::size_t> preempting_;  ///< urgent jobs whose room is being made
  std::vector<std::size_t> sleepers_;
  Millis last_ = -1'000'000'000;
  Millis planned_ = -1;
  bool decided_now_ = false;
};

}  // namespace

std::unique_ptr<Replay> make_elastic(const Trace& trace, const SimulationSettings& settings, bool forecast) {
  return std::make_unique<ElasticReplay>(trace, settings, forecast);
}

}  // namespace underway::elastic::detail
