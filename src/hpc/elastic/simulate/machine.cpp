#include "elastic/detail/machine.hpp"

namespace underway::elastic::detail {

void Machine::tick(Millis now) {
  const auto span = static_cast<double>(now - meter_.last);
  meter_.paid_ms += span * static_cast<double>(meter_.paid);
  meter_.busy_ms += span * static_cast<double>(meter_.busy);
  meter_.cost += span / 3.6e6 * static_cast<double>(meter_.per_hour);
  meter_.last = now;
}

std::size_t Machine::add(std::size_t type, SimPhase phase, Millis now) {
  SimNode node;
  node.type = type;
  node.name = fmt::format("{}-{}", types_[type].type.name, ++types_[type].named);
  node.booted = now;
  nodes_.push_back(std::move(node));
  set(nodes_.size() - 1, phase, now);
  return nodes_.size() - 1;
}

void Machine::set(std::size_t index, SimPhase phase, Millis now) {
  SimNode& node = nodes_[index];
  SimType& type = types_[node.type];
  tick(now);
  if (node.phase == SimPhase::idle) {
    type.idle.erase(index);
    if (node.held_for >= 0) type.held[node.held_for].erase(index);
  }
  if (node.phase == SimPhase::off) type.off.erase(index);
  const auto count = [&](SimPhase which, std::int64_t by) {
    if (!paid(which)) return;
    meter_.paid += by;
    meter_.per_hour += by * type.hourly;
    if (which == SimPhase::busy) meter_.busy += by;
  };
  count(node.phase, -1);
  count(phase, 1);
  if (meter_.history.empty() || std::get<0>(meter_.history.back()) != now) meter_.history.emplace_back(now, 0, 0);
  meter_.history.back() = {now, meter_.paid, meter_.busy};
  node.phase = phase;
  node.since = now;
  ++node.epoch;
  if (phase == SimPhase::idle) (node.held_for >= 0 ? type.held[node.held_for] : type.idle).insert(index);
  if (phase == SimPhase::off) type.off.insert(index);
}

void Machine::hold(std::size_t index, std::int64_t job) {
  SimNode& node = nodes_[index];
  if (node.held_for == job) return;
  SimType& type = types_[node.type];
  if (node.phase == SimPhase::idle) {
    (node.held_for >= 0 ? type.held[node.held_for] : type.idle).erase(index);
    (job >= 0 ? type.held[job] : type.idle).insert(index);
  }
  node.held_for = job;
}

std::int64_t Machine::available(const SimType& type, std::int64_t job, bool wake) const {
  std::size_t nodes = type.idle.size() + (wake ? type.off.size() : 0);
  const auto own = type.held.find(job);
  if (own != type.held.end()) nodes += own->second.size();
  return static_cast<std::int64_t>(nodes);
}

std::vector<std::size_t> Machine::take(std::size_t type, std::int64_t job, std::int64_t count, Millis now) {
  std::vector<std::size_t> out;
  const auto from = [&](const std::set<std::size_t>& nodes) {
    for (auto it = nodes.begin(); it != nodes.end() && static_cast<std::int64_t>(out.size()) < count; ++it)
      out.push_back(*it);
  };
  const auto own = types_[type].held.find(job);
  if (own != types_[type].held.end()) from(own->second);
  from(types_[type].idle);
  from(types_[type].off);
  for (const std::size_t index : out) {
    const bool was_off = nodes_[index].phase == SimPhase::off;
    set(index, was_off ? SimPhase::booting : SimPhase::busy, now);
    nodes_[index].job = job;
    nodes_[index].held_for = -1;
    nodes_[index].gang.clear();
  }
  return out;
}

}  // namespace underway::elastic::detail
