#include "elastic/detail/cover.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace underway::elastic::detail {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr int kMixtures = 8;     ///< of the two constraints into one, of which the one with the best bound is used
constexpr int kRefinements = 5;  ///< around that

class Covering {
 public:
  Covering(const std::vector<CoverItem>& items, std::int64_t cpus, std::int64_t memory_mb, std::int64_t steps)
      : items_(items),
        cpus_(std::max<std::int64_t>(cpus, 0)),
        memory_mb_(std::max<std::int64_t>(memory_mb, 0)),
        steps_(steps) {}

  Cover run() {
    std::int64_t cpus = 0, memory = 0;
    for (const auto& item : items_) {
      cpus += item.cpus;
      memory += item.memory_mb;
    }
    if (cpus < cpus_ || memory < memory_mb_) return {};
    best_.cost = kNever;
    const double root = choose_mixture();
    // Costs are whole, so that what is not above the best by one cannot be better.
    best_.bound = std::min(best_.cost, static_cast<std::int64_t>(std::ceil(root - kSlack)));
    taken_.clear();
    search(0, cpus_, memory_mb_, 0);
    if (steps_ > 0) best_.bound = best_.cost;
    std::sort(best_.items.begin(), best_.items.end());
    best_.found = true;
    return best_;
  }

 private:
  static constexpr double kSlack = 1e-6;

  double weight(const CoverItem& item) const {
    return cpu_weight_ * static_cast<double>(std::min(item.cpus, cpus_)) +
           memory_weight_ * static_cast<double>(std::min(item.memory_mb, memory_mb_));
  }

  /// Orders the items by cost per weight, and sums both up.
  void arrange() {
    order_.resize(items_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::vector<double> ratio(items_.size());
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const double w = weight(items_[i]);
      ratio[i] = w > 0 ? static_cast<double>(items_[i].cost) / w : std::numeric_limits<double>::max();
    }
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return ratio[a] != ratio[b] ? ratio[a] < ratio[b] : a < b; });
    weights_.assign(1, 0);
    costs_.assign(1, 0);
    for (const std::size_t index : order_) {
      weights_.push_back(weights_.back() + weight(items_[index]));
      costs_.push_back(costs_.back() + static_cast<double>(items_[index].cost));
    }
  }

  /// Mixes the two constraints into the one with the highest bound. Each mixture also begins with a greedy cover: what
  /// is cheap by processors may be dear by memory.
  double choose_mixture() {
    double best = -1, best_share = 0, step = 1.0 / kMixtures;
    const auto look_at = [&](double share) {
      mix(share);
      arrange();
      begin_greedily();
      const double bound = fractional(0, cpus_, memory_mb_);
      if (bound <= best) return;
      best = bound;
      best_share = share;
    };
    for (int i = 0; i <= kMixtures; ++i) look_at(step * i);
    for (int i = 0; i < kRefinements && cpus_ > 0 && memory_mb_ > 0; ++i) {
      step /= 2;
      const double centre = best_share;
      if (centre - step > 0) look_at(centre - step);
      if (centre + step < 1) look_at(centre + step);
    }
    mix(best_share);
    arrange();
    return std::max(best, 0.0);
  }

  void mix(double share) {
    if (cpus_ == 0) share = 0;
    if (memory_mb_ == 0) share = 1;
    cpu_weight_ = cpus_ > 0 ? share / static_cast<double>(cpus_) : 0;
    memory_weight_ = memory_mb_ > 0 ? (1 - share) / static_cast<double>(memory_mb_) : 0;
  }

  /// What the rest costs at least, from the item at `at` of the order on; infinite if it does not reach.
  double fractional(std::size_t at, std::int64_t cpus, std::int64_t memory) const {
    const double need = cpu_weight_ * static_cast<double>(std::max<std::int64_t>(cpus, 0)) +
                        memory_weight_ * static_cast<double>(std::max<std::int64_t>(memory, 0));
    if (need <= 0) return 0;
    const double target = weights_[at] + need;
    if (weights_.back() < target * (1 - 1e-12)) return std::numeric_limits<double>::infinity();
    const auto end = std::lower_bound(weights_.begin() + static_cast<std::ptrdiff_t>(at), weights_.end(), target);
    if (end == weights_.end()) return costs_.back() - costs_[at];
    const auto i = static_cast<std::size_t>(end - weights_.begin());
    if (i == at) return 0;
    const double step = weights_[i] - weights_[i - 1];
    const double part = step > 0 ? (target - weights_[i - 1]) / step : 1;
    return costs_[i - 1] + part * (costs_[i] - costs_[i - 1]) - costs_[at];
  }

  void keep(const std::vector<std::size_t>& items, std::int64_t cost) {
    if (cost >= best_.cost) return;
    best_.cost = cost;
    best_.items = items;
  }

  /// In order, until it is enough; then what is too much is put back, the dearest first.
  void begin_greedily() {
    std::vector<std::size_t> taken;
    std::int64_t cpus = cpus_, memory = memory_mb_, cost = 0;
    for (const std::size_t index : order_) {
      if (cpus <= 0 && memory <= 0) break;
      if ((cpus <= 0 || items_[index].cpus == 0) && (memory <= 0 || items_[index].memory_mb == 0)) continue;
      taken.push_back(index);
      cpus -= items_[index].cpus;
      memory -= items_[index].memory_mb;
      cost += items_[index].cost;
    }
    std::sort(taken.begin(), taken.end(), [&](std::size_t a, std::size_t b) {
      return items_[a].cost != items_[b].cost ? items_[a].cost > items_[b].cost : a < b;
    });
    std::vector<std::size_t> left;
    for (const std::size_t index : taken) {
      const auto& item = items_[index];
      if (cpus + item.cpus <= 0 && memory + item.memory_mb <= 0) {
        cpus += item.cpus;
        memory += item.memory_mb;
        cost -= item.cost;
      } else {
        left.push_back(index);
      }
    }
    exchange(left, cpus, memory, cost);
    keep(left, cost);
  }

  /// Exchanges one for a cheaper one as long as it still is enough. `cpus` and `memory` are what is too much, negated.
  void exchange(std::vector<std::size_t>& taken, std::int64_t cpus, std::int64_t memory, std::int64_t& cost) const {
    std::vector<bool> is_taken(items_.size(), false);
    for (const std::size_t index : taken) is_taken[index] = true;
    for (auto& index : taken) {
      std::size_t best = index;
      for (std::size_t other = 0; other < items_.size(); ++other) {
        const auto &out = items_[index], &in = items_[other];
        if (is_taken[other] || in.cost >= items_[best].cost) continue;
        if (cpus + out.cpus - in.cpus <= 0 && memory + out.memory_mb - in.memory_mb <= 0) best = other;
      }
      if (best == index) continue;
      cpus += items_[index].cpus - items_[best].cpus;
      memory += items_[index].memory_mb - items_[best].memory_mb;
      cost += items_[best].cost - items_[index].cost;
      is_taken[index] = false;
      is_taken[best] = true;
      index = best;
    }
  }

  void search(std::size_t at, std::int64_t cpus, std::int64_t memory, std::int64_t cost) {
    if (cpus <= 0 && memory <= 0) {
      keep(taken_, cost);
      return;
    }
    if (at == order_.size() || --steps_ <= 0) return;
    if (static_cast<double>(cost) + fractional(at, cpus, memory) > static_cast<double>(best_.cost - 1) + kSlack) return;
    const std::size_t index = order_[at];
    taken_.push_back(index);
    search(at + 1, cpus - items_[index].cpus, memory - items_[index].memory_mb, cost + items_[index].cost);
    taken_.pop_back();
    search(at + 1, cpus, memory, cost);
  }

  const std::vector<CoverItem>& items_;
  std::int64_t cpus_, memory_mb_, steps_;
  double cpu_weight_ = 0, memory_weight_ = 0;
  std::vector<std::size_t> order_, taken_;
  std::vector<double> weights_, costs_;  ///< sums of the first i items of the order
  Cover best_;
};

}  // namespace

Cover cheapest_cover(const std::vector<CoverItem>& items, std::int64_t cpus, std::int64_t memory_mb,
                     std::int64_t steps) {
  if (cpus <= 0 && memory_mb <= 0) return {true, {}, 0, 0};
  return Covering(items, cpus, memory_mb, std::max<std::int64_t>(steps, 1)).run();
}

}  // namespace underway::elastic::detail
