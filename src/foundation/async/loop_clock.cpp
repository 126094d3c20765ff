#include "async/loop_clock.hpp"

namespace underway::async {
namespace {

thread_local const SteadyTime* simulated = nullptr;

}  // namespace

SteadyTime LoopClock::now() noexcept { return simulated != nullptr ? *simulated : std::chrono::steady_clock::now(); }

void LoopClock::simulate(const SteadyTime* now) noexcept { simulated = now; }

}  // namespace underway::async
