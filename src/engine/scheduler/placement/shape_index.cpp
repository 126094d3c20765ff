#include "scheduler/placement/shape_index.hpp"

#include "scheduler/feasibility/constraint.hpp"
#include "scheduler/feasibility/volumes.hpp"

#include <cmath>

namespace underway::scheduler {

std::int16_t ShapeIndex::reason_code(std::string reason) {
  const auto it = std::find(reasons_.begin(), reasons_.end(), reason);
  if (it != reasons_.end()) return static_cast<std::int16_t>(kFirstReason + (it - reasons_.begin()));
  reasons_.push_back(std::move(reason));
  return static_cast<std::int16_t>(kFirstReason + static_cast<std::int16_t>(reasons_.size()) - 1);
}

namespace {

/// A node tells by attributes which networks it makes for groups: "network.bridge", "network.cni.<name>".
bool has_network(const model::Node& node, std::string mode) {
  std::replace(mode.begin(), mode.end(), '/', '.');
  return node.attributes.contains("network." + mode);
}

}  // namespace

std::int16_t ShapeIndex::compute_class_verdict(const model::Node& node) {
  if (!ask_.in_scope(node.node_pool, node.datacenter)) return kOutOfScope;
  for (const auto* constraint : ask_.class_constraints) {
    if (!holds(*constraint, node)) return reason_code(in_words(*constraint));
  }
  for (const auto& network : ask_.group->networks) {
    // As Nomad says it of a node that cannot make the group's network.
    if (network.mode != "host" && !has_network(node, network.mode)) return reason_code("missing network");
  }
  for (const auto* driver : ask_.drivers) {
    const auto it = node.drivers.find(*driver);
    if (it == node.drivers.end()) return reason_code(fmt::format("missing driver {}", *driver));
    if (!it->second.healthy) return reason_code(fmt::format("unhealthy driver {}", *driver));
  }
  return kFeasible;
}

std::int16_t ShapeIndex::class_verdict(FleetIndex& fleet, Slot slot) {
  if (memory_ == Memory::none) return compute_class_verdict(*fleet.node(slot).node);
  if (class_generation_ != fleet.class_generation()) {
    class_verdicts_.clear();
    class_affinities_.clear();
    class_generation_ = fleet.class_generation();
  }
  const std::uint32_t id = fleet.node(slot).class_id;
  if (id >= class_verdicts_.size()) class_verdicts_.resize(fleet.class_count(), kUnknown);
  std::int16_t& known = class_verdicts_[id];
  if (known == kUnknown) known = compute_class_verdict(*fleet.node(slot).node);
  return known;
}

std::int16_t ShapeIndex::compute_verdict(FleetIndex& fleet, Slot slot) {
  const std::int16_t by_class = class_verdict(fleet, slot);
  if (by_class != kFeasible) return by_class;
  for (const auto* constraint : ask_.node_constraints) {
    if (!holds(*constraint, *fleet.node(slot).node)) return reason_code(in_words(*constraint));
  }
  if (ask_.holds && !has_devices(*fleet.node(slot).node, *ask_.group)) return reason_code("missing devices");
  for (const auto* volume : ask_.volumes) {
    if (!volume->per_alloc && !has_volume(*fleet.node(slot).node, *volume, 0, ask_.job->ns))
      return reason_code(kNoVolumes);
  }
  for (const auto* list : {&ask_.static_ports, &ask_.dynamic_ports}) {
    for (const auto* port : *list) {
      if (!fleet.address_of_network(slot, port->host_network))
        return reason_code(fmt::format("missing host network \"{}\" for port \"{}\"", port->host_network, port->label));
    }
  }
  return kFeasible;
}

std::int16_t ShapeIndex::verdict_if_ready(FleetIndex& fleet, Slot slot) {
  if (memory_ == Memory::none) return compute_verdict(fleet, slot);
  if (slot >= known_.size()) known_.resize(fleet.slot_count());
  Known& known = known_[slot];
  if (known.verdict == kUnknown || known.row_version != fleet.node(slot).row_version) {
    known.verdict = compute_verdict(fleet, slot);
    known.row_version = fleet.node(slot).row_version;
  }
  return known.verdict;
}

std::int16_t ShapeIndex::verdict(FleetIndex& fleet, Slot slot) {
  const std::int16_t found = verdict_if_ready(fleet, slot);
  return found != kOutOfScope && !fleet.node(slot).ready() ? std::int16_t{kNotReady} : found;
}

double ShapeIndex::affinity(FleetIndex& fleet, Slot slot) {
  if (!ask_.has_affinities()) return 0;
  const NodeSlot& entry = fleet.node(slot);
  if (memory_ == Memory::none)
    return attraction(ask_.class_affinities, *entry.node) + attraction(ask_.node_affinities, *entry.node);
  if (slot >= attracted_.size()) attracted_.resize(fleet.slot_count());
  Attracted& known = attracted_[slot];
  if (known.row_version == entry.row_version) return known.term;
  class_verdict(fleet, slot);  // which forgets what is known of classes when their numbers have changed
  if (entry.class_id >= class_affinities_.size())
    class_affinities_.resize(fleet.class_count(), std::numeric_limits<double>::quiet_NaN());
  double& of_class = class_affinities_[entry.class_id];
  if (std::isnan(of_class)) of_class = attraction(ask_.class_affinities, *entry.node);
  known = {entry.row_version, of_class + attraction(ask_.node_affinities, *entry.node)};
  return known.term;
}

double ShapeIndex::fit(const Room& room, const Amount& amount) {
  const Fit asked{room.cpu - amount.cpu, room.memory_mb - amount.memory_mb, room.per_cpu, room.per_memory};
  if (!(asked == fit_of_)) {
    fit_of_ = asked;
    fit_ = fit_score(room, amount, ask_.algorithm);
  }
  return fit_;
}

Terms ShapeIndex::base_score(FleetIndex& fleet, Slot slot) {
  const bool feasible = verdict(fleet, slot) == kFeasible;
  Known& known = known_[slot];
  if (known.counted != feasible) {
    feasible ? ++feasible_ : --feasible_;
    known.counted = feasible;
  }
  if (!feasible || !fits(fleet, slot, ask_)) return {};
  const double attracted = affinity(fleet, slot);
  const Worth worth = worth_on(fleet, slot, ask_);
  return {fit(fleet.room(slot), worth.amount) + attracted + worth.devices.value_or(0),
          1 + (attracted == 0 ? 0 : 1) + (worth.devices ? 1 : 0)};
}

void ShapeIndex::rebuild(FleetIndex& fleet) {
  feasible_ = 0;
  known_.resize(fleet.slot_count());
  for (auto& known : known_) known.counted = false;
  if (spread()) {
    cells_.rebuild(fleet, ask_.spread_attributes());
    for (const Slot slot : fleet.ordered()) cells_.set(slot, base_score(fleet, slot));
  } else {
    slots_ = fleet.ordered();
    positions_.assign(fleet.slot_count(), 0);
    leaves_ = leaves_for(slots_.size());
    tree_.assign(2 * leaves_, kNever);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      positions_[slots_[i]] = static_cast<std::uint32_t>(i);
      tree_[leaves_ + i] = base_score(fleet, slots_[i]).mean();
    }
    build_winners(tree_.data(), leaves_);
  }
  membership_ = fleet.membership();
  seen_ = fleet.log_end();
}

void ShapeIndex::catch_up(FleetIndex& fleet) {
  if (membership_ != fleet.membership() || seen_ < fleet.log_begin()) {
    rebuild(fleet);
    return;
  }
  const auto attributes = ask_.spread_attributes();
  for (; seen_ < fleet.log_end(); ++seen_) {
    const Slot slot = fleet.logged(seen_);
    // A slot without a node is in no tree: it only carries what a lost node still has on its books.
    if (slot == kNoSlot || !fleet.node(slot).node) continue;
    if (spread() && cells_.moved(fleet, slot, attributes)) return rebuild(fleet);
    set_score(slot, base_score(fleet, slot));
  }
}

Slot ShapeIndex::best(const SpreadState* spread, std::uint64_t seed) const {
  if (spread != nullptr) return cells_.best(*spread, seed);
  return tree_[1] == kNever ? kNoSlot : slots_[winner(tree_.data(), leaves_, seed)];
}

}  // namespace underway::scheduler
