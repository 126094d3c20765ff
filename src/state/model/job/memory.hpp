#pragma once
/// @file
/// What a task may have of memory at most, from its `memory` and `memory_max`.

#include <algorithm>
#include <cstdint>

namespace underway::model {

/// As `memory_max`: no limit (Nomad allows it since 1.7).
inline constexpr std::int64_t kNoMemoryLimit = -1;
/// What stands for it where it is counted: an exbibyte, in MiB, which no machine has and many of which can be added up.
inline constexpr std::int64_t kUnlimitedMemoryMb = std::int64_t{1} << 40;

inline std::int64_t most_memory_mb(std::int64_t memory_mb, std::int64_t memory_max_mb) {
  return memory_max_mb == kNoMemoryLimit ? kUnlimitedMemoryMb : std::max(memory_mb, memory_max_mb);
}

}  // namespace underway::model
