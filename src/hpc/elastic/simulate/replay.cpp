#include "elastic/detail/replay.hpp"

#include <algorithm>
#include <cmath>

namespace underway::elastic::detail {
namespace {

/// So many jobs behind the first are looked at, as Slurm's bf_max_job_test has it.
constexpr std::size_t kBackfillDepth = 500;
constexpr std::size_t kParts = 240;  ///< of the makespan, for drawing
constexpr Millis kSecond = 1000;

double percentile(std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto index = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size()))) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

}  // namespace

Replay::Replay(const Trace& trace, const SimulationSettings& settings, std::vector<SimType> types, std::string name)
    : settings_(settings), machine_(std::move(types)), chance_(settings.seed) {
  report_.name = std::move(name);
  origin_ = trace.jobs.empty() ? 0 : trace.jobs.front().submit;
  for (const auto& job : trace.jobs) {
    SimJob it;
    it.trace = &job;
    it.submit = it.eligible = (job.submit - origin_) * kSecond;
    it.run = it.left = std::max<std::int64_t>(job.run, 1) * kSecond;
    it.limit = std::max(it.run, job.limit * kSecond);
    it.urgent = std::find(settings.urgent.begin(), settings.urgent.end(), job.partition) != settings.urgent.end();
    const auto& all = machine_.types();
    const bool fits = std::any_of(all.begin(), all.end(), [&](const SimType& type) {
      const std::int64_t nodes = nodes_needed(it, type);
      return nodes > 0 && nodes <= type.type.max_nodes;
    });
    if (!fits) {
      ++report_.impossible;
      continue;
    }
    at(it.submit, SimEvent::submit, static_cast<std::int64_t>(jobs_.size()));
    jobs_.push_back(std::move(it));
  }
}

TimePoint Replay::wall(Millis when) const {
  return TimePoint{std::chrono::seconds{origin_}} + std::chrono::milliseconds{when};
}

void Replay::at(Millis when, SimEvent event, std::int64_t what, std::int64_t epoch) {
  events_.push({when, numbered_++, event, what, epoch});
}

std::int64_t Replay::nodes_needed(const SimJob& job, const SimType& type) const {
  const auto& serves = type.type.partitions;
  if (!serves.empty() && std::find(serves.begin(), serves.end(), job.trace->partition) == serves.end()) return 0;
  if (job.trace->memory_mb > type.type.memory_mb) return 0;
  return std::max(job.trace->nodes, (job.trace->cpus + type.type.vcpus - 1) / type.type.vcpus);
}

PeerReport Replay::run() {
  while (!events_.empty() && !over()) {
    now_ = events_.top().at;
    while (!events_.empty() && events_.top().at == now_) {
      const Planned planned = events_.top();
      events_.pop();
      handle(planned);
    }
    before_queue();
    look_at_queue();
    settled();
  }
  machine_.tick(now_);
  finish_report();
  return std::move(report_);
}

void Replay::handle(const Planned& planned) {
  const auto what = static_cast<std::size_t>(planned.what);
  const auto of_node = [&] { return machine_.node(what).epoch == planned.epoch; };
  const auto of_job = [&] { return jobs_[what].epoch == planned.epoch; };
  switch (planned.event) {
    case SimEvent::submit: {
      if (jobs_[what].phase != SimJobPhase::coming && jobs_[what].phase != SimJobPhase::queued) return;
      jobs_[what].phase = SimJobPhase::queued;
      const auto before = [&](std::size_t a, std::size_t b) {
        return std::tuple(!jobs_[a].urgent, jobs_[a].submit, a) < std::tuple(!jobs_[b].urgent, jobs_[b].submit, b);
      };
      queue_.insert(std::upper_bound(queue_.begin(), queue_.end(), what, before), what);
      return;
    }
    case SimEvent::end:
      if (!of_job()) return;
      jobs_[what].phase = SimJobPhase::ended;
      jobs_[what].ended = now_;
      ++ended_;
      release(what);
      return;
    case SimEvent::booted:
      if (of_node()) on_booted(what);
      return;
    case SimEvent::idle_over:
      if (of_node()) on_idle_over(what);
      return;
    case SimEvent::decide:
      on_decide();
      return;
    case SimEvent::sweep:
      if (of_job()) on_sweep(what);
      return;
    case SimEvent::suspended:
      if (of_job()) on_suspended(what);
      return;
    case SimEvent::resumed:
      if (of_job()) on_resumed(what);
      return;
  }
}

void Replay::start(std::size_t index) {
  SimJob& job = jobs_[index];
  job.phase = SimJobPhase::running;
  if (job.started < 0) job.started = now_;
  job.since = now_;
  expect_end(job, now_ + job.limit - (job.run - job.left));
  at(now_ + job.left, SimEvent::end, static_cast<std::int64_t>(index), ++job.epoch);
}

void Replay::expect_end(SimJob& job, Millis ends_by) {
  forget_running(job);
  job.ends_by = ends_by;
  machine_.types()[job.type].running.emplace(job.ends_by, static_cast<std::int64_t>(job.nodes.size()));
}

void Replay::forget_running(SimJob& job) {
  auto& running = machine_.types()[job.type].running;
  const auto found = running.find({job.ends_by, static_cast<std::int64_t>(job.nodes.size())});
  if (job.ends_by >= 0 && found != running.end()) running.erase(found);
  job.ends_by = -1;
}

void Replay::release(std::size_t index) {
  SimJob& job = jobs_[index];
  forget_running(job);
  for (const std::size_t node : job.nodes) {
    machine_.node(node).job = -1;
    if (machine_.node(node).phase != SimPhase::busy) continue;
    machine_.set(node, SimPhase::idle, now_);
    on_idle(node);
  }
  job.nodes.clear();
}

void Replay::requeue(std::size_t index, Millis eligible) {
  SimJob& job = jobs_[index];
  release(index);
  ++job.epoch;
  job.phase = SimJobPhase::queued;
  at(eligible, SimEvent::submit, static_cast<std::int64_t>(index));
}

/// EASY backfill: the first job that does not fit has a reservation, and no other delays it (Lifka 1995).
void Replay::look_at_queue() {
  std::optional<Reservation> reservation;
  std::size_t looked = 0;
  std::vector<std::size_t> left;
  left.reserve(queue_.size());
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    if (reservation && ++looked > kBackfillDepth) {
      left.insert(left.end(), queue_.begin() + static_cast<std::ptrdiff_t>(i), queue_.end());
      break;
    }
    if (try_start(queue_[i], reservation ? &*reservation : nullptr)) continue;
    if (!reservation) reservation = reserve(jobs_[queue_[i]], queue_[i]);
    left.push_back(queue_[i]);
  }
  queue_ = std::move(left);
}

bool Replay::try_start(std::size_t index, const Reservation* reservation) {
  SimJob& job = jobs_[index];
  for (std::size_t t = 0; t < machine_.types().size(); ++t) {
    const SimType& type = machine_.types()[t];
    const std::int64_t nodes = nodes_needed(job, type);
    if (nodes == 0 || machine_.available(type, static_cast<std::int64_t>(index), wakes()) < nodes) continue;
    if (reservation != nullptr && reservation->type == t && now_ + job.limit > reservation->shadow &&
        nodes > reservation->extra)
      continue;
    job.type = t;
    job.nodes = machine_.take(t, static_cast<std::int64_t>(index), nodes, now_);
    job.phase = SimJobPhase::configuring;
    allocated(index);
    return true;
  }
  return false;
}

Replay::Reservation Replay::reserve(const SimJob& job, std::size_t index) const {
  Reservation best;
  for (std::size_t t = 0; t < machine_.types().size(); ++t) {
    const SimType& type = machine_.types()[t];
    const std::int64_t nodes = nodes_needed(job, type);
    if (nodes == 0) continue;
    std::int64_t free = machine_.available(type, static_cast<std::int64_t>(index), wakes());
    for (const auto& [ends, count] : type.running) {
      free += count;
      if (free < nodes) continue;
      if (ends < best.shadow) best = {t, ends, free - nodes};
      break;
    }
  }
  return best;
}

void Replay::finish_report() {
  std::vector<double> waits, urgent;
  double slowdown = 0;
  for (const auto& job : jobs_) {
    if (job.phase != SimJobPhase::ended) continue;
    ++report_.jobs;
    const double wait = static_cast<double>(job.started - job.submit) / kSecond,
                 run = static_cast<double>(job.run) / kSecond;
    waits.push_back(wait);
    if (job.urgent) urgent.push_back(wait);
    report_.wait_mean += wait;
    slowdown += std::max(1.0, static_cast<double>(job.ended - job.submit) / kSecond / std::max(run, 10.0));
    report_.makespan = std::max(report_.makespan, static_cast<double>(job.ended) / kSecond);
    report_.most_asleep = std::max(report_.most_asleep, static_cast<double>(job.asleep) / kSecond);
  }
  std::sort(waits.begin(), waits.end());
  std::sort(urgent.begin(), urgent.end());
  const double count = std::max<double>(1, static_cast<double>(report_.jobs));
  report_.wait_mean /= count;
  report_.slowdown = slowdown / count;
  report_.wait_p50 = percentile(waits, 0.50);
  report_.wait_p95 = percentile(waits, 0.95);
  report_.urgent_p95 = percentile(urgent, 0.95);
  const Meter& meter = machine_.meter();
  report_.node_hours = meter.paid_ms / 3.6e6;
  report_.utilisation = meter.paid_ms > 0 ? meter.busy_ms / meter.paid_ms : 0;
  report_.cost = static_cast<Money>(meter.cost);
  report_.nodes.assign(kParts, 0);
  report_.busy.assign(kParts, 0);
  const double part = std::max(1.0, static_cast<double>(now_) / kParts);
  for (std::size_t i = 0; i < meter.history.size(); ++i) {
    const auto& [from, paid, busy] = meter.history[i];
    const Millis to = i + 1 < meter.history.size() ? std::get<0>(meter.history[i + 1]) : now_;
    for (double at = static_cast<double>(from); at < static_cast<double>(to);) {
      const auto index = std::min(static_cast<std::size_t>(at / part), kParts - 1);
      const double end = index + 1 == kParts ? static_cast<double>(to)
                                             : std::min(static_cast<double>(to), part * static_cast<double>(index + 1));
      if (end <= at) break;
      report_.nodes[index] += (end - at) / part * static_cast<double>(paid);
      report_.busy[index] += (end - at) / part * static_cast<double>(busy);
      at = end;
    }
  }
}

std::vector<SimType> types_of(const SimulationSettings& settings, Peer peer) {
  std::vector<SimType> types;
  SimType fixed;
  fixed.type.name = "static";
  fixed.type.vcpus = settings.cpus_per_node;
  fixed.type.memory_mb = settings.memory_mb;
  fixed.type.min_nodes = fixed.type.max_nodes = settings.nodes;
  fixed.hourly = parse_money(settings.cost_per_hour).value_or(0);
  fixed.fixed = true;
  types.push_back(std::move(fixed));
  if (peer == Peer::fixed) return types;
  for (const auto& type : settings.policy.classes) {
    SimType it;
    it.type = type;
    it.hourly = type.hourly();
    types.push_back(std::move(it));
  }
  std::sort(types.begin() + 1, types.end(), [](const SimType& a, const SimType& b) {
    return std::tie(a.hourly, a.type.name) < std::tie(b.hourly, b.type.name);
  });
  return types;
}

}  // namespace underway::elastic::detail
