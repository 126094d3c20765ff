#pragma once
/// @file
/// The leader's loop that starts jobs by the clock (server/job/start_decisions.hpp).

#include "async/control_loop.hpp"
#include "server/writer.hpp"

namespace underway::server {

/// Both outlive it.
async::LoopPlan periodic_jobs_loop(Writer& writer, const Clock& clock);

}  // namespace underway::server
