#pragma once
/// @file
/// Tickets in the tables: a record for each, one for each of its entries, and marks by which they are found without
/// reading all. Tickets are never deleted, so a hundred of them may be open among ten thousand.

#include <optional>

#include "model/release/ticket.hpp"
#include "tables/records.hpp"

namespace underway::ticket {

/// Says of which ticket something is: "last" has the newest number; "key/…" the open one of a key; "open/ACCESSOR/…" is
/// there for each open one of a reporter; "mail/ACCESSOR/…" has the ticket that a message was taken into.
struct Mark {
  std::string name;
  std::int64_t ticket = 0;
};
const describe::Structure& description(describe::Tag<Mark>);

/// Names of records sort as numbers do.
std::string number_name(std::int64_t number);
std::string key_mark(std::string_view key);
std::string open_mark(const model::Ticket& ticket);
std::string mail_mark(std::string_view reporter, std::string_view message_id);

}  // namespace underway::ticket

namespace underway::tables {

template <>
struct RecordOf<model::Ticket> {
  static constexpr std::string_view kind = "ticket";
  static std::string name(const model::Ticket& ticket) { return ticket::number_name(ticket.number); }
};
template <>
struct RecordOf<model::TicketEntry> {
  static constexpr std::string_view kind = "ticket-entry";
  static std::string name(const model::TicketEntry& entry) {
    return ticket::number_name(entry.ticket) + "/" + ticket::number_name(entry.number);
  }
};
template <>
struct RecordOf<model::TicketIssue> {
  static constexpr std::string_view kind = "ticket-issue";
  static std::string name(const model::TicketIssue& issue) { return ticket::number_name(issue.ticket); }
};
template <>
struct RecordOf<ticket::Mark> {
  static constexpr std::string_view kind = "ticket-mark";
  static std::string name(const ticket::Mark& mark) { return mark.name; }
};

}  // namespace underway::tables

namespace underway::ticket {

std::optional<model::Ticket> find_ticket(const tables::Tables& tables, std::int64_t number);
/// Throws not_found.
model::Ticket get_ticket(const tables::Tables& tables, std::int64_t number);
/// The open one of a key.
std::optional<model::Ticket> find_open(const tables::Tables& tables, std::string_view key);
/// Of a tracker; nothing: none was asked for yet.
std::optional<model::TicketIssue> find_issue(const tables::Tables& tables, std::int64_t number);
/// In the order of numbers. `reporter`: an accessor; empty: of anybody.
std::vector<model::Ticket> open_tickets(const tables::Tables& tables, std::string_view reporter = {});
std::vector<model::Ticket> all_tickets(const tables::Tables& tables);
std::size_t count_open(const tables::Tables& tables, std::string_view reporter = {});
/// What was said and done, oldest first.
std::vector<model::TicketEntry> entries_of(const tables::Tables& tables, std::int64_t number);
/// The open ones that a release waits for.
std::vector<model::Ticket> blockers_of(const tables::Tables& tables, std::string_view release);
/// The ticket that one of these messages was taken into, the first that is known. `reporter`: the accessor that they
/// came with, since whoever knows the id of a stranger's message must not learn of his ticket.
std::optional<std::int64_t> find_by_mail(const tables::Tables& tables, std::string_view reporter,
                                         const std::vector<std::string>& message_ids);

}  // namespace underway::ticket
