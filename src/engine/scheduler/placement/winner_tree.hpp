#pragma once
/// @file
/// A winner tree over scores: the best leaf is found from the root, a changed leaf costs one path. The nodes of a tree
/// are `2 * leaves` doubles somewhere: root at 1, leaves from `leaves`, which is a power of two.
/// Source: Knuth, TAOCP 3, 5.4.1.

#include "scheduler/placement/ask.hpp"

#include <bit>
#include <limits>

namespace underway::scheduler {

inline constexpr double kNever = -std::numeric_limits<double>::infinity();

inline std::size_t leaves_for(std::size_t count) { return std::bit_ceil(std::max<std::size_t>(count, 1)); }

/// After leaves were written where they lie.
inline void build_winners(double* tree, std::size_t leaves) {
  for (std::size_t i = leaves; i-- > 1;) tree[i] = std::max(tree[2 * i], tree[2 * i + 1]);
}

inline void set_leaf(double* tree, std::size_t leaves, std::size_t position, double score) {
  std::size_t i = leaves + position;
  tree[i] = score;
  while (i > 1) {
    i /= 2;
    const double most = std::max(tree[2 * i], tree[2 * i + 1]);
    if (tree[i] == most) return;
    tree[i] = most;
  }
}

/// The position of a leaf with the highest score, `seed` choosing among equals.
inline std::size_t winner(const double* tree, std::size_t leaves, std::uint64_t seed) {
  std::size_t i = 1;
  while (i < leaves) {
    const double left = tree[2 * i], right = tree[2 * i + 1];
    const bool go_right = left == right ? (mix(seed + i) & 1) != 0 : right > left;
    i = 2 * i + (go_right ? 1 : 0);
  }
  return i - leaves;
}

}  // namespace underway::scheduler
