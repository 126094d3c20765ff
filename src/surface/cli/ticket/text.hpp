#pragma once
/// @file
/// What the commands of tickets share: how tickets are named, linked and shown. Apart from the commands, so that it can
/// be tried without a server.

#include "cli/command.hpp"
#include "wire/release/ticket.hpp"

namespace underway::cli {

/// "12" or "#12". Throws invalid.
std::int64_t ticket_number(const std::string& text);

/// -about, -suspect and -blocks, and what they say.
std::vector<Flag> with_ticket_links(std::vector<Flag> own);
std::vector<model::TicketLink> ticket_links(const Arguments& arguments);

/// `now`: from which ages are counted. `width` of the tables; 0: as wide as they get.
std::string ticket_list_text(std::vector<wire::TicketView> tickets, TimePoint now, std::size_t width);
std::string ticket_text(const wire::TicketView& view, TimePoint now);
std::string ticket_ages_text(const std::vector<model::TicketAge>& ages, std::size_t width);
/// What became of what was told: "Ticket 12 is opened".
std::string opened_text(const wire::OpenedTicket& opened);

}  // namespace underway::cli
