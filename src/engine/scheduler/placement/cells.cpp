#include "scheduler/placement/cells.hpp"

namespace underway::scheduler {

std::vector<std::uint32_t> Cells::values_on(const model::Node& node, const std::vector<std::string>& attributes) {
  std::vector<std::uint32_t> out;
  out.reserve(attributes.size());
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    auto value = model::resolve_target(attributes[i], node);
    if (!value) {
      out.push_back(kNone);
      continue;
    }
    const auto [it, fresh] = numbers_[i].try_emplace(*value, static_cast<std::uint32_t>(values_[i].size()));
    if (fresh) values_[i].push_back(std::move(*value));
    out.push_back(it->second);
  }
  return out;
}

void Cells::rebuild(const FleetIndex& fleet, const std::vector<std::string>& attributes) {
  *this = Cells();
  values_.resize(attributes.size());
  numbers_.resize(attributes.size());
  places_.resize(fleet.slot_count());
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  for (const Slot slot : fleet.ordered()) {
    auto values = values_on(*fleet.node(slot).node, attributes);
    const auto [it, fresh] = known.try_emplace(std::move(values), static_cast<std::uint32_t>(cells_.size()));
    if (fresh) cells_.push_back({it->first, {}});
    Cell& cell = cells_[it->second];
    places_[slot] = {it->second, static_cast<std::uint32_t>(cell.slots.size()), fleet.node(slot).row_version};
    cell.slots.push_back(slot);
  }
  for (auto& cell : cells_) {
    cell.leaves = leaves_for(cell.slots.size());
    cell.offset = size_;
    size_ += 2 * cell.leaves;
  }
}

bool Cells::moved(const FleetIndex& fleet, Slot slot, const std::vector<std::string>& attributes) {
  Place& place = places_[slot];
  if (place.row_version == fleet.node(slot).row_version) return false;
  place.row_version = fleet.node(slot).row_version;
  return values_on(*fleet.node(slot).node, attributes) != cells_[place.cell].values;
}

void Cells::set(Slot slot, const Terms& terms) {
  Place& place = places_[slot];
  const Cell& cell = cells_[place.cell];
  const auto put = [&](int count, double sum) {
    auto& trees = trees_[static_cast<std::size_t>(count - 1)];
    if (trees.empty()) trees.assign(size_, kNever);
    set_leaf(trees.data() + cell.offset, cell.leaves, place.position, sum);
  };
  if (place.terms != 0 && place.terms != terms.count) put(place.terms, kNever);
  put(terms.count, terms.sum);
  place.terms = static_cast<std::uint8_t>(terms.count);
}

Slot Cells::best(const SpreadState& spread, std::uint64_t seed) const {
  double most = kNever;
  std::uint64_t equals = 0;
  const Cell* best_cell = nullptr;
  std::size_t best_tree = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    double term = 0;
    bool asked = false;
    for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
      if (trees_[tree].empty()) continue;
      const double sum = trees_[tree][cells_[i].offset + 1];
      if (sum == kNever) continue;
      if (!asked) term = spread.term(static_cast<std::uint32_t>(i));
      asked = true;
      const double score = (sum + term) / static_cast<double>(tree + 1 + (term != 0 ? 1 : 0));
      if (score < most) continue;
      equals = score == most ? equals + 1 : 1;
      // Each of n equals is taken with 1/n.
      if (equals > 1 && mix(seed + i * kMostTerms + tree) % equals != 0) continue;
      most = score;
      best_cell = &cells_[i];
      best_tree = tree;
    }
  }
  if (best_cell == nullptr) return kNoSlot;
  return best_cell->slots[winner(trees_[best_tree].data() + best_cell->offset, best_cell->leaves, seed)];
}

SpreadState::SpreadState(const Ask& ask, const Cells& cells) : cells_(cells) {
  double weights = 0;
  for (const auto* spread : ask.spreads) weights += static_cast<double>(spread->weight);
  const auto of_group = static_cast<double>(ask.group->count);
  double of_job = 0;
  for (const auto& group : ask.job->groups) of_job += static_cast<double>(group.count);
  for (std::size_t i = 0; i < ask.spreads.size(); ++i) {
    const model::Spread& spread = *ask.spreads[i];
    const auto& values = cells.values(i);
    Rule& rule = rules_.emplace_back();
    rule.weight = weights > 0 ? static_cast<double>(spread.weight) / weights : 0;
    rule.even = spread.targets.empty();
    rule.across_groups = spread.across_groups;
    const double count = rule.across_groups ? of_job : of_group;
    rule.used.resize(values.size());
    if (rule.even) continue;
    double named = 0;
    std::unordered_map<std::string_view, double> desired;
    for (const auto& target : spread.targets) {
      desired[target.value] = static_cast<double>(target.percent) / 100 * count;
      named += desired[target.value];
    }
    // What the targets leave is shared by all values that none of them names.
    for (const auto& value : values) {
      const auto it = desired.find(value);
      rule.desired.push_back(it != desired.end() ? it->second : std::max(0.0, count - named));
    }
  }
}

void SpreadState::count(std::uint32_t cell, std::int64_t of_group, std::int64_t of_job) {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const std::uint32_t value = cells_.value_of(cell, i);
    Rule& rule = rules_[i];
    const std::int64_t change = rule.across_groups ? of_job : of_group;
    if (value == Cells::kNone || change == 0) continue;
    std::int64_t& used = rule.used[value];
    if (used > 0) {
      const auto before = rule.uses.find(used);
      if (--before->second == 0) rule.uses.erase(before);
    }
    used += change;
    if (used > 0) ++rule.uses[used];
  }
}

double SpreadState::even_term(const Rule& rule, std::int64_t used) {
  if (rule.uses.empty()) return 0;
  const auto least = static_cast<double>(rule.uses.begin()->first),
             most = static_cast<double>(rule.uses.rbegin()->first);
  const auto here = static_cast<double>(used);
  if (here != least) return (least - here) / least;
  if (least == most) return -1;
  return (most - least) / least;
}

double SpreadState::term(std::uint32_t cell) const {
  double sum = 0;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    const std::uint32_t value = cells_.value_of(cell, i);
    const bool unwanted = value == Cells::kNone || (!rule.even && rule.desired[value] <= 0);
    if (unwanted) {
      sum -= 1;
    } else if (rule.even) {
      sum += even_term(rule, rule.used[value]);
    } else {
      const auto used = static_cast<double>(rule.used[value] + 1);
      sum += (rule.desired[value] - used) / rule.desired[value] * rule.weight;
    }
  }
  return sum;
}

}  // namespace underway::scheduler
