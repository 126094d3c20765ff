#pragma once
/// @file
/// What is said to take hosts of an opportunistic pool back; the answer is the recall (model/elastic/recall.hpp).

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::wire {

struct RecallBody {
  std::string pool;                ///< empty: that of the hosts, or the only one that is opportunistic
  std::vector<std::string> hosts;  ///< these; empty: `count` of the pool
  std::int64_t count = 0;
  std::string reason;  ///< for people
};

const describe::Structure& description(describe::Tag<RecallBody>);

}  // namespace underway::wire
