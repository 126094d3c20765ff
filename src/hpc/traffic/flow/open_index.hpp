#pragma once
/// @file
/// From a hash to a position in somebody else's array: open addressing with linear probing, half full at most, eight
/// bytes a slot. The slot keeps 32 bits of the hash, so growing and erasing need no look at the array.

#include <cstdint>
#include <vector>

namespace underway::traffic {

class OpenIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit OpenIndex(std::size_t expected = 64) {
    std::size_t slots = 16;
    while (slots < 2 * expected) slots *= 2;
    slots_.assign(slots, {});
  }

  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[short_hash(hash) & mask()]); }

  /// The first position with this hash that `equal` accepts.
  template <class Equal>
  std::uint32_t find(std::uint64_t hash, const Equal& equal) const {
    const std::uint32_t wanted = short_hash(hash);
    for (std::size_t at = wanted & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.position == kNone) return kNone;
      if (slot.hash == wanted && equal(slot.position)) return slot.position;
    }
  }
  /// Where `hash` may be, without looking at the array: for prefetching.
  std::uint32_t guess(std::uint64_t hash) const {
    const std::uint32_t wanted = short_hash(hash);
    const Slot& slot = slots_[wanted & mask()];
    return slot.hash == wanted ? slot.position : kNone;
  }

  void insert(std::uint64_t hash, std::uint32_t position) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    place({short_hash(hash), position});
    ++used_;
  }

  /// Takes away the entry of this hash and position.
  void erase(std::uint64_t hash, std::uint32_t position) {
    std::size_t at = short_hash(hash) & mask();
    while (slots_[at].position != position) {
      if (slots_[at].position == kNone) return;
      at = (at + 1) & mask();
    }
    // Moves back what probing had pushed over this slot (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
    for (std::size_t next = (at + 1) & mask(); slots_[next].position != kNone; next = (next + 1) & mask()) {
      const std::size_t home = slots_[next].hash & mask();
      if (((next - home) & mask()) < ((next - at) & mask())) continue;
      slots_[at] = slots_[next];
      at = next;
    }
    slots_[at] = {};
    --used_;
  }

  void clear() {
    slots_.assign(16, {});
    used_ = 0;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t position = kNone;
  };
  static std::uint32_t short_hash(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32U); }
  std::size_t mask() const { return slots_.size() - 1; }
  void place(Slot entry) {
    std::size_t at = entry.hash & mask();
    while (slots_[at].position != kNone) at = (at + 1) & mask();
    slots_[at] = entry;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.position != kNone) place(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace underway::traffic
