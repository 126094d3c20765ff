#include "api/openapi/tables.hpp"
#include "wire/release/ticket.hpp"

namespace underway::api {

using describe::structure_of;

const std::vector<Documented>& table_of_ticket_routes() {
  static const std::vector<Documented> routes = {
      {"GET", "/v1/underway/tickets",
       "Lists tickets, with how urgent they are: ?state (open; closed, all), kind, assignee (- for nobody), release, "
       "key, "
       "older (than a duration). Without operator:read one's own.",
       nullptr, &structure_of<wire::TicketView>(), true},
      {"PUT|POST", "/v1/underway/tickets",
       "Opens a ticket; one of a Key of which a ticket is open is counted on that. Without operator:write of kind user "
       "or "
       "other, about something, and no more.",
       &structure_of<wire::OpenTicketBody>(), &structure_of<wire::OpenedTicket>()},
      {"PUT|POST", "/v1/underway/tickets/mail",
       "Takes text as mail is written: a comment on ?ticket, on that of [#NUMBER] in its subject or on that of the "
       "message which it answers; else it opens one.",
       nullptr, &structure_of<wire::OpenedTicket>()},
      {"GET", "/v1/underway/tickets/ageing", "How long tickets have been open, by kind and by assignee.", nullptr,
       &structure_of<model::TicketAge>(), true},
      {"GET", "/v1/underway/ticket/:number", "Reads a ticket, with what was said and done.", nullptr,
       &structure_of<wire::TicketView>()},
      {"PUT|POST", "/v1/underway/ticket/:number/comment", "Says something about it; also when it is closed.",
       &structure_of<wire::TicketText>(), &structure_of<wire::OpenedTicket>()},
      {"PUT|POST", "/v1/underway/ticket/:number/assign", "Says who looks after it.",
       &structure_of<wire::AssignTicketBody>(), &structure_of<wire::TicketView>()},
      {"PUT|POST", "/v1/underway/ticket/:number/link", "Says what it has to do with.",
       &structure_of<wire::LinkTicketBody>(), &structure_of<wire::TicketView>()},
      {"PUT|POST", "/v1/underway/ticket/:number/close", "Closes it; 409 when it needs a test and none is named.",
       &structure_of<wire::CloseTicketBody>(), &structure_of<wire::TicketView>()},
      {"PUT|POST", "/v1/underway/ticket/:number/reopen", "Opens it again, for a reason.",
       &structure_of<wire::TicketText>(), &structure_of<wire::TicketView>()},
  };
  return routes;
}

}  // namespace underway::api
