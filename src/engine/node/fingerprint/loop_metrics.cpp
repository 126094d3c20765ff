#include "node/fingerprint/loop_metrics.hpp"

namespace underway::node {

std::vector<protocol::LoopMetrics> measure_loops(const async::LoopRegistry& loops) {
  const auto seconds = [](Duration span) { return std::chrono::duration<double>(span).count(); };
  std::vector<protocol::LoopMetrics> out;
  for (const auto& loop : loops.health())
    out.push_back({loop.name, seconds(loop.since_success()), seconds(loop.looking_for()), loop.failures});
  return out;
}

}  // namespace underway::node
