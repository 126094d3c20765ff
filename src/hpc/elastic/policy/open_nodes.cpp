#include "elastic/detail/open_nodes.hpp"

#include <algorithm>

namespace underway::elastic::detail {
namespace {

std::int64_t slots_of(std::int64_t cpus, std::int64_t memory_mb, const Need& need) {
  std::int64_t slots = cpus / std::max<std::int64_t>(need.cpus, 1);
  if (need.memory_mb > 0) slots = std::min(slots, memory_mb / need.memory_mb);
  return slots;
}

}  // namespace

bool OpenNodes::fits(const Bin& bin, const Need& need) const {
  if (bin.count == 0 || bin.cpus < need.cpus || bin.memory_mb < need.memory_mb) return false;
  return !need.exclusive || bin.cpus >= cpus_;
}

void OpenNodes::put(std::int64_t cpus, std::int64_t memory_mb, std::int64_t count) {
  if (cpus <= 0 || memory_mb < 0 || count <= 0) return;
  const auto at = std::lower_bound(bins_.begin(), bins_.end(), std::pair(cpus, memory_mb),
                                   [](const Bin& b, const auto& key) { return std::pair(b.cpus, b.memory_mb) < key; });
  if (at != bins_.end() && at->cpus == cpus && at->memory_mb == memory_mb)
    at->count += count;
  else
    bins_.insert(at, {cpus, memory_mb, count});
}

void OpenNodes::add(std::int64_t cpus, std::int64_t memory_mb, std::int64_t count) { put(cpus, memory_mb, count); }

void OpenNodes::forget_empty_bins() {
  std::erase_if(bins_, [](const Bin& bin) { return bin.count == 0; });
}

std::int64_t OpenNodes::slots(const Need& need) const {
  if (cpus_ < need.cpus || memory_mb_ < need.memory_mb) return 0;
  return need.exclusive ? 1 : slots_of(cpus_, memory_mb_, need);
}

std::int64_t OpenNodes::place(const Need& need, std::int64_t tasks) {
  std::int64_t placed = 0;
  std::vector<Bin> rest;  // put back afterwards: the bins are being walked
  for (auto& bin : bins_) {
    if (placed == tasks) break;
    if (!fits(bin, need)) continue;
    const std::int64_t slots = need.exclusive ? 1 : slots_of(bin.cpus, bin.memory_mb, need);
    const auto leave = [&](std::int64_t used, std::int64_t count) {
      bin.count -= count;
      placed += used * count;
      if (!need.exclusive) rest.push_back({bin.cpus - used * need.cpus, bin.memory_mb - used * need.memory_mb, count});
    };
    if (const std::int64_t full = std::min(bin.count, (tasks - placed) / slots); full > 0) leave(slots, full);
    if (bin.count > 0 && placed < tasks) leave(std::min(slots, tasks - placed), 1);
  }
  if (placed > 0) {
    forget_empty_bins();
    for (const auto& bin : rest) put(bin.cpus, bin.memory_mb, bin.count);
  }
  return placed;
}

std::int64_t OpenNodes::fitting(const Need& need) const {
  std::int64_t nodes = 0;
  for (const auto& bin : bins_) nodes += fits(bin, need) ? bin.count : 0;
  return nodes;
}

std::int64_t OpenNodes::place_some(const Need& need, std::int64_t nodes) {
  std::int64_t placed = 0;
  std::vector<Bin> rest;
  for (auto& bin : bins_) {
    if (placed == nodes || !fits(bin, need)) continue;
    const std::int64_t taken = std::min(bin.count, nodes - placed);
    bin.count -= taken;
    placed += taken;
    if (!need.exclusive) rest.push_back({bin.cpus - need.cpus, bin.memory_mb - need.memory_mb, taken});
  }
  if (placed > 0) {
    forget_empty_bins();
    for (const auto& bin : rest) put(bin.cpus, bin.memory_mb, bin.count);
  }
  return placed;
}

bool OpenNodes::place_gang(const Need& need, std::int64_t nodes) {
  if (fitting(need) < nodes) return false;
  place_some(need, nodes);
  return true;
}

std::int64_t OpenNodes::empty() const {
  std::int64_t nodes = 0;
  for (const auto& bin : bins_) nodes += bin.cpus >= cpus_ ? bin.count : 0;
  return nodes;
}

}  // namespace underway::elastic::detail
