#pragma once
/// @file
/// The leader's loop that starts jobs by the clock (server/job/start_decisions.hpp).

#include "server/writer.hpp"

namespace underway::server {

/// Until it is cancelled. Both must outlive it.
async::awaitable<void> start_by_the_clock(Writer& writer, const Clock& clock);

}  // namespace underway::server
