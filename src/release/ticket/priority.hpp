#pragma once
/// @file
/// How urgent a ticket is, by a rule and not by who shouts: what it is, what it holds up, for how long, how often. The
/// points are told with the reasons that they are for, so that everybody can check them. Pure.

#include "model/release/ticket.hpp"

namespace underway::ticket {

/// Of a closed one none: low, without points.
model::TicketPriority priority_of(const model::Ticket& ticket, TimePoint now);

/// By kind and by assignee, the oldest first. Of tickets that are closed nothing is told.
std::vector<model::TicketAge> ageing_of(const std::vector<model::Ticket>& tickets, TimePoint now);

}  // namespace underway::ticket
