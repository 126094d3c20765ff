#include "async/loop_clock.hpp"

namespace underway::async {
namespace {

thread_local LoopClock::Simulation* simulated = nullptr;

}  // namespace

SteadyTime LoopClock::now() noexcept {
  return simulated != nullptr ? simulated->now : std::chrono::steady_clock::now();
}

void LoopClock::simulate(Simulation* simulation) noexcept { simulated = simulation; }

void LoopClock::note(SteadyTime when) {
  if (simulated != nullptr) simulated->due.insert(when);
}

}  // namespace underway::async
