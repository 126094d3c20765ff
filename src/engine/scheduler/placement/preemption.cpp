#include "scheduler/placement/preemption.hpp"

#include <cmath>

namespace underway::scheduler {

namespace {

constexpr double kParallelPenalty = 50;  // per allocation above what its group lets go at a time

/// Of a size to what is needed, each as a part of what is needed.
double distance(const Amount& needed, const Amount& size) {
  const auto part = [](std::int64_t wanted, std::int64_t there) {
    return wanted > 0 ? static_cast<double>(wanted - there) / static_cast<double>(wanted) : 0;
  };
  return std::hypot(part(needed.memory_mb, size.memory_mb), part(needed.cpu, size.cpu),
                    part(needed.disk_mb, size.disk_mb));
}

Amount plus(const Amount& a, const Amount& b) {
  return {a.cpu + b.cpu, a.memory_mb + b.memory_mb, a.disk_mb + b.disk_mb};
}
Amount minus(const Amount& a, const Amount& b) {
  return {a.cpu - b.cpu, a.memory_mb - b.memory_mb, a.disk_mb - b.disk_mb};
}
bool covers(const Amount& room, const Amount& needed) {
  return room.cpu >= needed.cpu && room.memory_mb >= needed.memory_mb && room.disk_mb >= needed.disk_mb;
}

}  // namespace

struct Preemption::Candidate {
  tables::Row<model::Allocation> row;
  Amount size;
  std::int64_t priority = 0;
  std::int64_t max_parallel = 0;
  bool holds_port = false;  ///< that is asked for
  bool holds = false;       ///< cores or devices, alone
};

Preemption::Preemption(FleetIndex& fleet, const Situation& situation) : fleet_(fleet), situation_(situation) {}

bool Preemption::possible() const {
  return situation_.on_node && fleet_.any_of_priority(situation_.job->priority - kPreemptionDistance);
}

std::int64_t Preemption::preempted_of(const model::Allocation& allocation) const {
  const auto it = of_group_.find({allocation.ns, allocation.job_id, allocation.group});
  return it == of_group_.end() ? 0 : it->second;
}

std::vector<Preemption::Candidate> Preemption::candidates_on(Slot slot) const {
  const model::Job& job = *situation_.job;
  std::vector<Candidate> out;
  for (const auto& row : situation_.on_node(fleet_.node(slot).id)) {
    if (row->terminal() || !row->job || gone_.contains(row->id)) continue;
    if (row->ns == job.ns && row->job_id == job.id) continue;
    if (row->job->priority + kPreemptionDistance > job.priority) continue;
    if (situation_.spared && situation_.spared(*row, job.priority)) continue;
    Candidate& candidate = out.emplace_back(Candidate{row, amount_of(*row), row->job->priority});
    candidate.holds = hold_of(*row) != nullptr;
    const auto* group = row->job->find_group(row->group);
    if (group != nullptr) candidate.max_parallel = model::migrate_policy(*row->job, *group).max_parallel;
  }
  return out;
}

std::optional<Victims> Preemption::choose(Slot slot, const Ask& ask) const {
  auto candidates = candidates_on(slot);
  const auto lower = [](const Candidate& a, const Candidate& b) {
    return std::tie(a.priority, a.row->id) < std::tie(b.priority, b.row->id);
  };
  std::sort(candidates.begin(), candidates.end(), lower);
  const Room& room = fleet_.room(slot);
  const Amount free{room.cpu, room.memory_mb, room.disk_mb};
  // Nobody else can give up a port that is held.
  for (const auto* port : ask.static_ports) {
    if (port->ignore_collision) continue;
    const auto address = fleet_.address_of_network(slot, port->host_network);
    if (!address) return std::nullopt;
    const std::string& ip = fleet_.node(slot).addresses[*address].first;
    for (auto& candidate : candidates) {
      const auto& ports = candidate.row->resources.ports;
      candidate.holds_port |= std::any_of(ports.begin(), ports.end(), [&](const model::AllocatedPort& held) {
        return held.value == port->value && held.host_ip == ip;
      });
    }
  }
  std::vector<Candidate> chosen;
  Amount available = free, needed = ask.amount;
  const auto choose_one = [&](std::size_t index) {
    available = plus(available, candidates[index].size);
    needed = minus(needed, candidates[index].size);
    chosen.push_back(std::move(candidates[index]));
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(index));
  };
  for (std::size_t i = candidates.size(); i-- > 0;) {
    if (candidates[i].holds_port) choose_one(i);
  }
  while (!covers(available, ask.amount)) {
    if (candidates.empty()) return std::nullopt;
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::max();
    for (std::size_t i = 0; i < candidates.size() && candidates[i].priority == candidates[0].priority; ++i) {
      const Candidate& candidate = candidates[i];
      const std::int64_t beyond = preempted_of(*candidate.row) + 1 - candidate.max_parallel;
      const bool penalised = candidate.max_parallel > 0 && beyond > 0;
      const double far =
          distance(needed, candidate.size) + (penalised ? static_cast<double>(beyond) * kParallelPenalty : 0);
      if (far >= least) continue;
      least = far;
      nearest = i;
    }
    choose_one(nearest);
  }
  if (!ask.has_ports() && !ask.holds) return needed_of(std::move(chosen), available, ask.amount);
  while (!fits_without(slot, ask, chosen)) {
    const auto holds =
        std::find_if(candidates.begin(), candidates.end(), [](const Candidate& candidate) { return candidate.holds; });
    if (!ask.holds || holds == candidates.end()) return std::nullopt;
    choose_one(static_cast<std::size_t>(holds - candidates.begin()));
  }
  return needed_on(slot, ask, std::move(chosen));
}

bool Preemption::fits_without(Slot slot, const Ask& ask, const std::vector<Candidate>& gone) const {
  const std::size_t mark = fleet_.mark();
  for (const auto& victim : gone) fleet_.give(*victim.row);
  const bool enough = fits(fleet_, slot, ask);
  fleet_.rollback(mark);
  return enough;
}

// The last ones chosen are of the highest priority: they stay first.

Victims Preemption::needed_of(std::vector<Candidate> chosen, Amount available, const Amount& needed) {
  Victims victims;
  for (std::size_t i = chosen.size(); i-- > 0;) {
    const Amount without = minus(available, chosen[i].size);
    if (covers(without, needed))
      available = without;
    else
      victims.push_back(std::move(chosen[i].row));
  }
  return victims;
}

Victims Preemption::needed_on(Slot slot, const Ask& ask, std::vector<Candidate> chosen) const {
  for (std::size_t i = chosen.size(); i-- > 0;) {
    Candidate candidate = std::move(chosen[i]);
    chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
    if (!fits_without(slot, ask, chosen))
      chosen.insert(chosen.begin() + static_cast<std::ptrdiff_t>(i), std::move(candidate));
  }
  Victims victims;
  for (auto& candidate : chosen) victims.push_back(std::move(candidate.row));
  return victims;
}

void Preemption::take(const Victims& victims) {
  for (const auto& victim : victims) {
    gone_.insert(victim->id);
    ++of_group_[{victim->ns, victim->job_id, victim->group}];
  }
}

double Preemption::term(const Victims& victims) {
  double most = 0, sum = 0;
  for (const auto& victim : victims) {
    const auto priority = static_cast<double>(victim->job->priority);
    most = std::max(most, priority);
    sum += priority;
  }
  const double net = most > 0 ? most + sum / most : 0;
  return 1 / (1 + std::exp(0.0048 * (net - 2048)));
}

}  // namespace underway::scheduler
