#include "node/fingerprint/loop_metrics.hpp"

#include <fmt/format.h>

namespace underway::node {

std::vector<protocol::LoopMetrics> measure_loops(const async::LoopRegistry& loops) {
  const auto seconds = [](Duration span) { return std::chrono::duration<double>(span).count(); };
  std::vector<protocol::LoopMetrics> out;
  for (const auto& loop : loops.health())
    out.push_back({loop.name, seconds(loop.since_success()), seconds(loop.looking_for()), loop.failures});
  return out;
}

std::vector<protocol::LoopTrouble> troubles_of(const async::LoopRegistry& loops) {
  std::vector<protocol::LoopTrouble> out;
  for (const auto& loop : loops.health()) {
    if (!loop.needs_somebody()) continue;
    auto& trouble = out.emplace_back(protocol::LoopTrouble{.name = loop.name, .trouble = loop.trouble});
    trouble.stuck = loop.is_stuck();
    trouble.since = unix_nanos(trouble.stuck ? loop.looked_at : loop.failing_since);
    trouble.why = trouble.stuck ? fmt::format("its look takes {} already, and should take less than {}",
                                              human_duration(loop.looking_for()), human_duration(loop.patience))
                                : fmt::format("{} ({} times in a row)", loop.failure, loop.failures);
  }
  return out;
}

}  // namespace underway::node
