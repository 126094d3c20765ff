#include "scheduler/placement/placer.hpp"

#include "scheduler/feasibility/constraint.hpp"
#include "scheduler/feasibility/volumes.hpp"

namespace underway::scheduler {

Peers::~Peers() {
  for (const Slot slot : touched_) {
    if (slot < job_.size()) job_[slot] = 0;
    for (auto& [name, counts] : groups_) {
      if (slot < counts.size()) counts[slot] = 0;
    }
  }
  fleet_.return_counts(std::move(job_));
  for (auto& [name, counts] : groups_) fleet_.return_counts(std::move(counts));
}

std::vector<std::uint32_t>& Peers::counts(const std::string& group) {
  const auto it = groups_.find(group);
  return it != groups_.end() ? it->second : groups_.emplace(group, fleet_.take_counts()).first->second;
}

void Peers::add(Slot slot, const std::string& group) {
  auto& in_group = counts(group);
  if (job_[slot]++ == 0) touched_.push_back(slot);
  ++in_group[slot];
}

void Peers::remove(Slot slot, const std::string& group) {
  --job_[slot];
  --counts(group)[slot];
}

namespace {

std::int64_t count_in_scope(const FleetIndex& fleet, const Ask& ask) {
  std::int64_t count = 0;
  for (const auto& [pool, datacenters] : fleet.ready_by_pool()) {
    for (const auto& [datacenter, ready] : datacenters) {
      if (ask.in_scope(pool, datacenter)) count += ready;
    }
  }
  return count;
}

}  // namespace

Placer::Placer(FleetIndex& fleet, Peers& peers, Ask ask, std::uint64_t seed, Use use, QuotaBook* quota)
    : fleet_(fleet),
      peers_(peers),
      quota_(quota),
      seed_(seed),
      group_(ask.group->name),
      group_counts_(&peers.of_group(group_)),
      desired_(static_cast<double>(std::max<std::int64_t>(1, ask.group->count))),
      pinned_(use == Use::ranking && ask.pin != Pin::none),
      ranked_(use == Use::ranking && !pinned_),
      in_scope_(count_in_scope(fleet, ask)) {
  if (quota_ != nullptr) use_ = use_of(*ask.group);
  if (pinned_) {
    pinned_slots_ = ask.pinned_slots(fleet, pinned_slots_);
    shape_ = std::make_shared<ShapeIndex>(std::move(ask), ShapeIndex::Memory::none);
  } else {
    const std::string key = ask.shape_key();
    shape_ = fleet.find_shape(key);
    // Its ask points into an older version of the job, or another job, that asks for the same: names may differ.
    if (!shape_) {
      shape_ = std::make_shared<ShapeIndex>(ask);
      fleet.keep_shape(key, shape_);
    }
    shape_->adopt(std::move(ask));
    if (ranked_) shape_->catch_up(fleet);
  }
  if (ranked_ && shape_->spread()) spread_.emplace(shape_->ask(), shape_->cells());
  for (const Slot slot : peers_.touched()) count_spread(slot, (*group_counts_)[slot], peers_.of_job(slot));
  for (const auto& rule : shape_->ask().distinct_properties) read_property(rule);
  for (const Slot slot : peers_.touched()) override_score(slot);
  for (const auto& property : properties_) {
    for (std::size_t value = 0; value < property.slots.size(); ++value) {
      if (property.used[value] < property.rule.limit) continue;
      for (const Slot slot : property.slots[value]) override_score(slot);
    }
  }
}

Placer::~Placer() {
  // Scores that hold only for this job's sake must not be found by the next one.
  for (const Slot slot : overridden_) fleet_.log_change(slot);
}

void Placer::read_property(const DistinctProperty& rule) {
  Property property;
  property.rule = rule;
  std::unordered_map<std::string, std::uint32_t> values;
  for (const Slot slot : fleet_.ordered()) {
    auto value = model::resolve_target(rule.constraint->ltarget, *fleet_.node(slot).node);
    if (!value) continue;
    const auto [it, fresh] = values.try_emplace(*value, static_cast<std::uint32_t>(values.size()));
    if (fresh) {
      property.slots.emplace_back();
      property.used.push_back(0);
      property.values.push_back(std::move(*value));
    }
    property.slots[it->second].push_back(slot);
    property.value_of.emplace(slot, it->second);
  }
  for (const Slot slot : peers_.touched()) {
    const auto it = property.value_of.find(slot);
    if (it != property.value_of.end())
      property.used[it->second] += rule.whole_job ? peers_.of_job(slot) : (*group_counts_)[slot];
  }
  properties_.push_back(std::move(property));
  // Nodes without the property can never be taken.
  for (const Slot slot : fleet_.ordered()) {
    if (ranked_ && !properties_.back().value_of.contains(slot)) override_score(slot);
  }
}

void Placer::count_property(Slot slot, std::int64_t change) {
  for (auto& property : properties_) {
    const auto it = property.value_of.find(slot);
    if (it == property.value_of.end()) continue;
    std::int64_t& used = property.used[it->second];
    const bool was_full = used >= property.rule.limit;
    used += change;
    if (was_full == (used >= property.rule.limit)) continue;
    for (const Slot other : property.slots[it->second]) override_score(other);
  }
}

void Placer::count_spread(Slot slot, std::int64_t of_group, std::int64_t of_job) {
  if (!spread_) return;
  const std::uint32_t cell = shape_->cells().cell_of(slot);
  if (cell != Cells::kNone) spread_->count(cell, of_group, of_job);
}

bool Placer::allowed_beside_peers(Slot slot) const {
  const Ask& ask = shape_->ask();
  if (ask.distinct_hosts_of_job && peers_.of_job(slot) > 0) return false;
  if (ask.distinct_hosts_of_group && (*group_counts_)[slot] > 0) return false;
  return std::all_of(properties_.begin(), properties_.end(), [&](const Property& property) {
    const auto it = property.value_of.find(slot);
    return it != property.value_of.end() && property.used[it->second] < property.rule.limit;
  });
}

bool Placer::has_own_volumes(Slot slot, std::int64_t index) const {
  const auto& volumes = shape_->ask().volumes;
  return std::all_of(volumes.begin(), volumes.end(), [&](const model::VolumeRequest* volume) {
    const Ask& ask = shape_->ask();
    return (!volume->per_alloc || has_volume(*fleet_.node(slot).node, *volume, index, ask.job->ns)) &&
           claims_allow(ask.claims, *fleet_.node(slot).node, *ask.group, *volume, index);
  });
}

bool Placer::own_volume_taken(Slot slot, std::int64_t index) const {
  if (!shape_->ask().holds || !fleet_.node(slot).holdings) return false;
  const auto own = own_volumes_held_alone(*shape_->ask().group, index);
  return std::any_of(own.begin(), own.end(),
                     [&](const std::string& volume) { return fleet_.node(slot).holdings->device_taken(volume); });
}

std::optional<Choice> Placer::weigh(Slot slot, const Hint& hint) {
  if (shape_->verdict(fleet_, slot) != ShapeIndex::kFeasible || !fits(fleet_, slot, shape_->ask()) ||
      !allowed_beside_peers(slot) || !has_own_volumes(slot, hint.index) || own_volume_taken(slot, hint.index))
    return std::nullopt;
  return score(slot, fleet_.room(slot), hint);
}

Choice Placer::score(Slot slot, const Room& room, const Hint& hint) {
  Choice choice;
  choice.slot = slot;
  const Worth worth = worth_on(fleet_, slot, shape_->ask());
  choice.binpack = fit_score(room, worth.amount, shape_->ask().algorithm);
  choice.terms = {choice.binpack, 1};
  const auto add = [](Terms& terms, double term) {
    terms.sum += term;
    ++terms.count;
    return term;
  };
  if (worth.devices) choice.devices = add(choice.terms, *worth.devices);
  if (const double attracted = shape_->affinity(fleet_, slot); attracted != 0)
    choice.affinity = add(choice.terms, attracted);
  if (const std::uint32_t peers = (*group_counts_)[slot]; peers > 0)
    choice.anti_affinity = add(choice.terms, -static_cast<double>(peers + 1) / desired_);
  if (slot == hint.penalise) choice.penalty = add(choice.terms, -1);
  Terms all = choice.terms;
  if (spread_) {
    const double spread = spread_->term(shape_->cells().cell_of(slot));
    if (spread != 0) choice.spread = add(all, spread);
  }
  choice.score = all.mean();
  return choice;
}

std::optional<Choice> Placer::weigh_by_force(const Preemption& preemption, Slot slot, const Hint& hint) {
  if (shape_->verdict(fleet_, slot) != ShapeIndex::kFeasible || !allowed_beside_peers(slot) ||
      !has_own_volumes(slot, hint.index))
    return std::nullopt;
  auto victims = preemption.choose(slot, shape_->ask());
  if (!victims || victims->empty()) return std::nullopt;
  // Cores and devices are worth what they are once the victims are gone. Where none is asked for their room is added by
  // hand: every change of the fleet makes all score indexes look at the node again.
  const bool holds = shape_->ask().holds;
  const std::size_t mark = fleet_.mark();
  Room room = fleet_.room(slot);
  for (const auto& victim : *victims) {
    if (holds) {
      fleet_.give(*victim);
      continue;
    }
    const Amount amount = amount_of(*victim);
    room.cpu += amount.cpu;
    room.memory_mb += amount.memory_mb;
  }
  Choice choice = score(slot, holds ? fleet_.room(slot) : room, hint);
  const bool taken = own_volume_taken(slot, hint.index);
  fleet_.rollback(mark);
  if (taken) return std::nullopt;
  choice.preemption = Preemption::term(*victims);
  const int terms = choice.terms.count + (choice.spread ? 1 : 0);
  choice.score = (choice.score * terms + *choice.preemption) / (terms + 1);
  choice.victims = std::move(*victims);
  return choice;
}

std::optional<Choice> Placer::take_by_force(Preemption& preemption, std::optional<Choice> choice) {
  if (!choice) return choice;
  for (const auto& victim : choice->victims) {
    fleet_.give(*victim);
    if (quota_ != nullptr) quota_->give(*victim);
  }
  preemption.take(choice->victims);
  return take(std::move(choice), mix(seed_ + ++placed_ * 0x9e3779b97f4a7c15ull));
}

std::optional<Choice> Placer::place_by_force(Preemption& preemption, const Hint& hint) {
  if (!preemption.possible() || !lacking_quota().empty()) return std::nullopt;
  if (!forced_) {
    forced_.emplace();
    for (const Slot slot : pinned_ ? pinned_slots_ : fleet_.ordered()) {
      if (const auto choice = weigh_by_force(preemption, slot, hint)) forced_->emplace(choice->score, slot);
    }
  }
  while (!forced_->empty()) {
    const auto [expected, slot] = forced_->top();
    forced_->pop();
    auto choice = weigh_by_force(preemption, slot, hint);
    if (!choice) continue;
    forced_->emplace(choice->score, slot);
    if (choice->score < expected && forced_->top().second != slot) continue;
    return take_by_force(preemption, std::move(choice));
  }
  return std::nullopt;
}

std::optional<Choice> Placer::place_on_by_force(Preemption& preemption, Slot slot) {
  if (!preemption.possible() || !lacking_quota().empty()) return std::nullopt;
  return take_by_force(preemption, weigh_by_force(preemption, slot, Hint{}));
}

/// For slots whose change is in the fleet's log anyway.
void Placer::refresh(Slot slot) {
  if (!ranked_ || !fleet_.node(slot).node) return;
  const auto choice = weigh(slot, Hint{});
  shape_->set_score(slot, choice ? choice->terms : Terms{});
}

void Placer::override_score(Slot slot) {
  refresh(slot);
  if (ranked_) overridden_.push_back(slot);
}

Slot Placer::best_slot(const Hint& hint, std::uint64_t seed) {
  // The tree ranks nodes for allocations that are alike.
  const bool own_volumes = shape_->ask().has_own_volumes();
  if (!pinned_ && !own_volumes) return shape_->best(spread_ ? &*spread_ : nullptr, seed);
  Slot best = kNoSlot;
  double most = kNever;
  for (const Slot slot : pinned_ ? pinned_slots_ : fleet_.ordered()) {
    const auto choice = weigh(slot, hint);
    if (!choice || choice->score < most) continue;
    if (choice->score == most && fleet_.node(best).id < fleet_.node(slot).id) continue;
    best = slot;
    most = choice->score;
  }
  return best;
}

std::optional<Choice> Placer::place(const Hint& hint) {
  if (!lacking_quota().empty()) return std::nullopt;
  const std::uint64_t seed = mix(seed_ + ++placed_ * 0x9e3779b97f4a7c15ull);
  index_ = hint.index;
  const bool penalised = hint.penalise != kNoSlot && ranked_ && fleet_.node(hint.penalise).node != nullptr;
  if (penalised) {
    const auto choice = weigh(hint.penalise, hint);
    shape_->set_score(hint.penalise, choice ? choice->terms : Terms{});
  }
  const bool avoided = hint.avoid != kNoSlot && ranked_ && fleet_.node(hint.avoid).node != nullptr;
  if (avoided) shape_->set_score(hint.avoid, Terms{});
  std::optional<Choice> choice;
  if (hint.prefer != kNoSlot && fleet_.node(hint.prefer).node) choice = weigh(hint.prefer, hint);
  if (!choice) {
    const Slot slot = best_slot(hint, seed);
    if (slot != kNoSlot) choice = weigh(slot, hint);
  }
  choice = take(std::move(choice), seed);
  if (penalised) override_score(hint.penalise);
  if (avoided) override_score(hint.avoid);
  return choice;
}

std::optional<Choice> Placer::place_on(Slot slot) {
  if (!lacking_quota().empty()) return std::nullopt;
  return take(weigh(slot, Hint{}), mix(seed_ + ++placed_ * 0x9e3779b97f4a7c15ull));
}

std::optional<Choice> Placer::take(std::optional<Choice> choice, std::uint64_t seed) {
  if (!choice) return choice;
  if (shape_->ask().has_ports()) {
    auto ports = assign_ports(fleet_, choice->slot, shape_->ask(), seed);
    if (!ports) return std::nullopt;
    choice->ports = std::move(*ports);
  }
  Amount amount = shape_->ask().amount;
  HoldRow hold;
  if (shape_->ask().holds) {
    auto assigned = assign_on(fleet_, choice->slot, shape_->ask());
    if (!assigned) return std::nullopt;
    amount.cpu += assigned->cpu;
    for (auto& volume : own_volumes_held_alone(*shape_->ask().group, index_))
      assigned->hold.devices.push_back(std::move(volume));
    hold = std::make_shared<const Hold>(assigned->hold);
    choice->held = std::make_shared<const Assignment>(std::move(*assigned));
  }
  fleet_.take(choice->slot, amount, choice->ports.uses, std::move(hold));
  if (quota_ != nullptr) quota_->take(use_);
  add_peer(choice->slot);
  return choice;
}

bool Placer::in_scope(Slot slot) const {
  const model::Node& node = *fleet_.node(slot).node;
  return shape_->ask().in_scope(node.node_pool, node.datacenter);
}

void Placer::add_peer(Slot slot) {
  peers_.add(slot, group_);
  count_property(slot, 1);
  count_spread(slot, 1, 1);
  refresh(slot);
}

void Placer::remove_peer(Slot slot) {
  peers_.remove(slot, group_);
  count_property(slot, -1);
  count_spread(slot, -1, -1);
  refresh(slot);
}

void Placer::release(const model::Allocation& allocation) {
  fleet_.give(allocation);
  if (quota_ != nullptr) quota_->give(allocation);
  remove_peer(fleet_.find(allocation.node_id));
}

void Placer::retake(const model::Allocation& allocation) {
  fleet_.take(allocation);
  if (quota_ != nullptr) quota_->take(allocation);
  add_peer(fleet_.find(allocation.node_id));
}

bool Placer::suits(Slot slot) {
  return slot != kNoSlot && fleet_.node(slot).node && shape_->verdict_if_ready(fleet_, slot) == ShapeIndex::kFeasible;
}

model::AllocMetric Placer::metric(const Choice& choice) const {
  model::AllocMetric metric;
  metric.nodes_in_pool = metric.nodes_evaluated = in_scope_;
  if (ranked_ || pinned_) {
    const auto candidates = pinned_ ? pinned_slots_.size() : shape_->feasible_count();
    metric.nodes_filtered = std::max<std::int64_t>(0, in_scope_ - static_cast<std::int64_t>(candidates));
  }
  count_available(metric);
  model::NodeScore& score = metric.scores.emplace_back();
  score.node_id = fleet_.node(choice.slot).id;
  score.norm_score = choice.score;
  score.scores.emplace("binpack", choice.binpack);
  if (choice.anti_affinity) score.scores.emplace("job-anti-affinity", *choice.anti_affinity);
  if (choice.penalty) score.scores.emplace("node-reschedule-penalty", *choice.penalty);
  if (choice.affinity) score.scores.emplace("node-affinity", *choice.affinity);
  if (choice.devices) score.scores.emplace("devices", *choice.devices);
  if (choice.spread) score.scores.emplace("allocation-spread", *choice.spread);
  if (choice.preemption) score.scores.emplace("preemption", *choice.preemption);
  return metric;
}

/// Counts the slot where its answer belongs.
void Placer::judge(Slot slot, model::AllocMetric& metric) {
  const NodeSlot& entry = fleet_.node(slot);
  const std::int16_t verdict = shape_->verdict(fleet_, slot);
  if (verdict == ShapeIndex::kNotReady || verdict == ShapeIndex::kOutOfScope) return;
  const auto filter = [&](const std::string& reason) {
    ++metric.nodes_filtered;
    ++metric.constraint_filtered[reason];
    if (!entry.node->node_class.empty()) ++metric.class_filtered[entry.node->node_class];
  };
  if (verdict != ShapeIndex::kFeasible) return filter(shape_->reason(verdict));
  if (!has_own_volumes(slot, index_)) return filter(kNoVolumes);
  if (!allowed_beside_peers(slot)) {
    const Ask& ask = shape_->ask();
    if ((ask.distinct_hosts_of_job && peers_.of_job(slot) > 0) ||
        (ask.distinct_hosts_of_group && (*group_counts_)[slot] > 0))
      return filter("distinct_hosts");
    for (const auto& property : properties_) {
      const auto it = property.value_of.find(slot);
      const auto& target = property.rule.constraint->ltarget;
      if (it == property.value_of.end()) return filter(fmt::format("missing property {}", target));
      if (property.used[it->second] >= property.rule.limit)
        return filter(fmt::format("distinct_property: {}={} used by {} allocs", target, property.values[it->second],
                                  property.used[it->second]));
    }
  }
  auto dimension = exhausted_dimension(fleet_, slot, shape_->ask());
  if (!dimension && own_volume_taken(slot, index_)) dimension = kHasWriter;
  if (!dimension) return;
  ++metric.nodes_exhausted;
  ++metric.dimension_exhausted[*dimension];
  if (!entry.node->node_class.empty()) ++metric.class_exhausted[entry.node->node_class];
  if (!collision_) {
    if (const auto* port = colliding_port(fleet_, slot, shape_->ask())) collision_ = Collision{port, slot};
  }
}

std::int64_t Placer::count_available(model::AllocMetric& metric) const {
  const Ask& ask = shape_->ask();
  std::int64_t in_pool = 0;
  for (const auto& pattern : ask.job->datacenters) {
    // A pattern names no datacenter whose absence could be told.
    if (pattern.find('*') == std::string::npos) metric.nodes_available[pattern] = 0;
  }
  for (const auto& [pool, datacenters] : fleet_.ready_by_pool()) {
    if (ask.job->node_pool != "all" && ask.job->node_pool != pool) continue;
    for (const auto& [datacenter, ready] : datacenters) {
      in_pool += ready;
      if (ask.in_scope(pool, datacenter)) metric.nodes_available[datacenter] += ready;
    }
  }
  return in_pool;
}

model::AllocMetric Placer::failure() {
  const Ask& ask = shape_->ask();
  model::AllocMetric metric;
  metric.nodes_in_pool = count_available(metric);
  metric.nodes_evaluated = in_scope_;
  if (!pinned_) {
    for (const Slot slot : fleet_.ordered()) judge(slot, metric);
    return metric;
  }
  // All but the pinned nodes fail the pin, whatever else is wrong with them.
  std::int64_t others = in_scope_;
  for (const Slot slot : pinned_slots_) {
    const auto& node = *fleet_.node(slot).node;
    if (node.ready() && ask.in_scope(node.node_pool, node.datacenter)) --others;
    judge(slot, metric);
  }
  if (others > 0) {
    metric.nodes_filtered += others;
    metric.constraint_filtered[in_words(*ask.pinned_by)] += others;
  }
  return metric;
}

void Placer::add_class_eligibility(model::Evaluation& blocked) {
  if (!shape_->ask().node_constraints.empty() || !shape_->ask().volumes.empty()) {
    blocked.escaped_class = true;
    return;
  }
  std::vector<bool> seen(fleet_.class_count());
  for (const Slot slot : fleet_.ordered()) {
    const auto id = fleet_.node(slot).class_id;
    if (seen[id]) continue;
    seen[id] = true;
    const model::Node& node = *fleet_.node(slot).node;
    const std::string name = node.computed_class.empty() ? model::compute_class(node) : node.computed_class;
    bool& eligible = blocked.class_eligibility[name];
    eligible = eligible || shape_->class_feasible(fleet_, slot);
  }
}

}  // namespace underway::scheduler
