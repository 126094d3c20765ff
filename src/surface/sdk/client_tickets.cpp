// Tickets: what failed and what people ask for.
#include "base/json/json.hpp"
#include "sdk/client.hpp"

namespace underway::sdk {
namespace {

std::string ticket_path(std::int64_t number, std::string_view act) {
  return fmt::format("/v1/underway/ticket/{}{}", number, act);
}

template <class T>
T read_ticket_answer(const http::Response& response) {
  return json::decode_text<T>(response.body, "answer");
}

}  // namespace

wire::OpenedTicket Client::open_ticket(const wire::OpenTicketBody& body) {
  return read_ticket_answer<wire::OpenedTicket>(send("PUT", "/v1/underway/tickets", {}, json::encode(body)));
}

wire::OpenedTicket Client::take_ticket_mail(const std::string& message, std::int64_t number) {
  http::Query query;
  if (number != 0) query.add("ticket", std::to_string(number));
  return read_ticket_answer<wire::OpenedTicket>(
      send("PUT", "/v1/underway/tickets/mail", std::move(query), std::string(message)));
}

std::vector<model::TicketAge> Client::ticket_ages() {
  return read_ticket_answer<std::vector<model::TicketAge>>(send("GET", "/v1/underway/tickets/ageing"));
}

wire::TicketView Client::ticket(std::int64_t number) {
  return read_ticket_answer<wire::TicketView>(send("GET", ticket_path(number, "")));
}

wire::OpenedTicket Client::comment_ticket(std::int64_t number, const std::string& text) {
  return read_ticket_answer<wire::OpenedTicket>(
      send("PUT", ticket_path(number, "/comment"), {}, json::encode(wire::TicketText{text})));
}

wire::TicketView Client::assign_ticket(std::int64_t number, const std::string& assignee) {
  return read_ticket_answer<wire::TicketView>(
      send("PUT", ticket_path(number, "/assign"), {}, json::encode(wire::AssignTicketBody{assignee})));
}

wire::TicketView Client::link_ticket(std::int64_t number, const wire::LinkTicketBody& body) {
  return read_ticket_answer<wire::TicketView>(send("PUT", ticket_path(number, "/link"), {}, json::encode(body)));
}

wire::TicketView Client::close_ticket(std::int64_t number, const wire::CloseTicketBody& body) {
  return read_ticket_answer<wire::TicketView>(send("PUT", ticket_path(number, "/close"), {}, json::encode(body)));
}

wire::TicketView Client::reopen_ticket(std::int64_t number, const std::string& why) {
  return read_ticket_answer<wire::TicketView>(
      send("PUT", ticket_path(number, "/reopen"), {}, json::encode(wire::TicketText{why})));
}

}  // namespace underway::sdk
