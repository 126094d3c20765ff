#pragma once
/// @file
/// Events on the wire, as Nomad streams them: one line of JSON for events of one index, `{}` as a heartbeat. Source:
/// Nomad's API documentation, "Events".

#include "api/query.hpp"
#include "server/events.hpp"

namespace underway::api {

/// Whether one reader is told of one event: what it asked for, and what it may see. The only place that decides it.
using EventPredicate = std::function<bool(const server::Event&)>;

/// By ?topic=TOPIC[:KEY] (several are any of them; none: all) and ?namespace. Throws invalid for a topic that does not
/// exist, with the nearest one.
EventPredicate wanted_events(const Request& request);

/// The next line of the batch with a newline: up to kEventsPerLine wanted events from `position` on, which moves behind
/// them. Empty: there are no more.
std::string next_event_line(const server::EventBuffer::Batch& batch, std::size_t& position,
                            const EventPredicate& wanted);
constexpr std::size_t kEventsPerLine = 64;

/// The last line of a stream that cannot go on.
std::string event_failure_line(const Error& error);

}  // namespace underway::api
