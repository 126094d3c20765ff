#include "ticket/tickets.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace underway::ticket {

using model::Ticket;
using model::TicketEntry;

namespace {

std::string open_prefix(std::string_view reporter) {
  return reporter.empty() ? std::string("open/") : fmt::format("open/{}/", reporter);
}

}  // namespace

const describe::Structure& description(describe::Tag<Mark>) {
  static const describe::Structure s = describe::Builder<Mark>("ticket mark", "Of which ticket something is.")
                                           .wire<&Mark::name>("Name", "What it says: last, key/…, open/… or mail/….")
                                           .wire<&Mark::ticket>("Ticket", "The ticket's number.")
                                           .done();
  return s;
}

std::string number_name(std::int64_t number) { return fmt::format("{:010}", number); }
std::string key_mark(std::string_view key) { return fmt::format("key/{}", key); }
std::string open_mark(const Ticket& ticket) {
  return fmt::format("{}{}", open_prefix(ticket.reporter_id), number_name(ticket.number));
}
std::string mail_mark(std::string_view reporter, std::string_view message_id) {
  return fmt::format("mail/{}/{}", reporter, message_id);
}

std::optional<Ticket> find_ticket(const tables::Tables& tables, std::int64_t number) {
  return tables::find_record<Ticket>(tables, number_name(number));
}

std::optional<model::TicketIssue> find_issue(const tables::Tables& tables, std::int64_t number) {
  return tables::find_record<model::TicketIssue>(tables, number_name(number));
}

Ticket get_ticket(const tables::Tables& tables, std::int64_t number) {
  auto found = find_ticket(tables, number);
  if (!found)
    throw Error(Code::not_found, fmt::format("there is no ticket {}", number))
        .advise("`underway ticket list -all` tells which there are");
  return *std::move(found);
}

std::optional<Ticket> find_open(const tables::Tables& tables, std::string_view key) {
  const auto mark = tables::find_record<Mark>(tables, key_mark(key));
  return mark ? find_ticket(tables, mark->ticket) : std::nullopt;
}

std::vector<Ticket> open_tickets(const tables::Tables& tables, std::string_view reporter) {
  std::vector<Ticket> found;
  for (const auto& mark : tables::records<Mark>(tables, open_prefix(reporter)))
    found.push_back(get_ticket(tables, mark.ticket));
  std::ranges::sort(found, {}, &Ticket::number);
  return found;
}

std::vector<Ticket> all_tickets(const tables::Tables& tables) { return tables::records<Ticket>(tables); }

std::size_t count_open(const tables::Tables& tables, std::string_view reporter) {
  return tables.rows<model::Record>(tables::record_key<Mark>(open_prefix(reporter))).size();
}

std::vector<TicketEntry> entries_of(const tables::Tables& tables, std::int64_t number) {
  return tables::records<TicketEntry>(tables, number_name(number) + "/");
}

std::vector<Ticket> blockers_of(const tables::Tables& tables, std::string_view release) {
  auto found = open_tickets(tables);
  std::erase_if(found, [&](const Ticket& ticket) {
    return std::ranges::none_of(ticket.links, [&](const model::TicketLink& link) {
      return link.relation == model::TicketRelation::blocks && link.target == model::TicketTarget::release &&
             link.value == release;
    });
  });
  return found;
}

std::optional<std::int64_t> find_by_mail(const tables::Tables& tables, std::string_view reporter,
                                         const std::vector<std::string>& message_ids) {
  for (const auto& id : message_ids) {
    if (const auto mark = tables::find_record<Mark>(tables, mail_mark(reporter, id))) return mark->ticket;
  }
  return std::nullopt;
}

}  // namespace underway::ticket
