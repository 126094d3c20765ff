#include "cli/ticket/text.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

using model::TicketRelation;
using model::TicketUrgency;
using wire::TicketView;

constexpr std::size_t kTextWidth = 100;

std::string somebody(const std::string& name) { return name.empty() ? "-" : name; }

std::string urgency_text(TicketUrgency urgency) {
  const auto word = describe::spell(urgency);
  if (urgency == TicketUrgency::urgent) return paint(Colour::red, word);
  return urgency == TicketUrgency::high ? paint(Colour::yellow, word) : std::string(word);
}

std::string age_text(std::int64_t since, TimePoint now) {
  return human_duration(std::max(now - from_unix_nanos(since), Duration{0}));
}

/// "release 2026.1", of those that it blocks.
std::string blocked(const model::Ticket& ticket) {
  std::vector<std::string> names;
  for (const auto& link : ticket.links) {
    if (link.relation == TicketRelation::blocks) names.push_back(model::text_of(link));
  }
  return join_some(names, 2);
}

std::string entry_text(const model::TicketEntry& entry) {
  std::string out = fmt::format("\n{}  {}  {}\n", format_time(from_unix_nanos(entry.at)), somebody(entry.who),
                                describe::spell(entry.act));
  if (!entry.text.empty()) out += wrapped(entry.text, kTextWidth, 2);
  return out;
}

std::string state_text(const model::Ticket& ticket, TimePoint now) {
  if (ticket.is_open()) return fmt::format("open for {}", age_text(ticket.opened_at, now));
  return fmt::format("closed {}{}", format_time(from_unix_nanos(ticket.closed_at)),
                     ticket.test.empty() ? "" : " with the test " + ticket.test);
}

std::string told_text(const model::Ticket& ticket, TimePoint now) {
  std::string out = fmt::format("{} times, last {} ago", ticket.occurrences, age_text(ticket.occurred_at, now));
  const auto kept = static_cast<std::int64_t>(ticket.kept_occurrences.size());
  if (const auto folded = ticket.occurrences - 1 - kept; folded > 0)
    out += fmt::format("; of {} only the count is kept", folded);
  return out;
}

/// How far an external tracker has it.
std::string tracker_text(const model::TicketIssue& issue, const TicketView& view) {
  std::string out = issue.number == 0 ? std::string("has it not yet") : somebody(issue.url);
  const auto behind = std::ranges::count_if(view.entries, [&](const auto& it) { return it.number > issue.sent; });
  if (behind > 0) out += fmt::format(", {} {} to be told", behind, behind == 1 ? "entry is" : "entries are");
  if (!issue.refusal.empty()) out += ": " + issue.refusal;
  return out;
}

}  // namespace

std::int64_t ticket_number(const std::string& text) {
  const auto number = parse_number<std::int64_t>(std::string_view(text).substr(text.starts_with('#') ? 1 : 0));
  if (!number || *number < 1)
    throw Error(Code::invalid, fmt::format("'{}' is no number of a ticket", text))
        .advise("`underway ticket list` says which there are");
  return *number;
}

std::vector<Flag> with_ticket_links(std::vector<Flag> own) {
  own.push_back({"about", "TARGET",
                 "It has to do with that: an address of the web, #NUMBER of a ticket, or "
                 "release:NAME, node:NAME, package:NAME, job:ID, log:WHERE.",
                 true});
  own.push_back({"suspect", "TARGET", "That may be the cause.", true});
  own.push_back({"blocks", "TARGET", "That waits for it.", true});
  return own;
}

std::vector<model::TicketLink> ticket_links(const Arguments& arguments) {
  std::vector<model::TicketLink> links;
  for (const auto relation : {TicketRelation::about, TicketRelation::suspect, TicketRelation::blocks}) {
    for (const auto& text : arguments.all(describe::spell(relation)))
      links.push_back(model::parse_ticket_link(relation, text));
  }
  return links;
}

std::string ticket_list_text(std::vector<TicketView> tickets, TimePoint now, std::size_t width) {
  std::ranges::sort(tickets, [](const TicketView& a, const TicketView& b) {
    return a.priority.points != b.priority.points ? a.priority.points > b.priority.points
                                                  : a.ticket.number < b.ticket.number;
  });
  Table table({"NUMBER", "URGENCY", "KIND", "AGE", "TOLD", "ASSIGNEE", "BLOCKS", "TITLE"});
  for (const auto& [ticket, priority, entries, issue] : tickets)
    table.add({std::to_string(ticket.number), ticket.is_open() ? urgency_text(priority.urgency) : "closed",
               std::string(describe::spell(ticket.kind)), age_text(ticket.opened_at, now),
               std::to_string(ticket.occurrences), somebody(ticket.assignee), somebody(blocked(ticket)), ticket.title});
  return table.text(width);
}

std::string ticket_text(const TicketView& view, TimePoint now) {
  const auto& ticket = view.ticket;
  std::vector<std::pair<std::string, std::string>> rows = {
      {"Ticket", std::to_string(ticket.number)},
      {"Title", ticket.title},
      {"Kind", std::string(describe::spell(ticket.kind))},
      {"State", state_text(ticket, now)},
  };
  if (ticket.is_open())
    rows.emplace_back("Urgency", fmt::format("{}, {} points: {}", describe::spell(view.priority.urgency),
                                             view.priority.points, join(view.priority.why, ", ")));
  rows.emplace_back("Reporter", somebody(ticket.reporter));
  rows.emplace_back("Assignee", somebody(ticket.assignee));
  if (!ticket.key.empty()) rows.emplace_back("Key", ticket.key);
  if (ticket.occurrences > 1) rows.emplace_back("Told", told_text(ticket, now));
  if (!ticket.needs_test.empty()) rows.emplace_back("Needs a test", ticket.needs_test);
  for (const auto& link : ticket.links) {
    std::string relation(describe::spell(link.relation));
    relation.front() = static_cast<char>(relation.front() - 'a' + 'A');
    rows.emplace_back(std::move(relation), model::text_of(link));
  }
  if (view.issue) rows.emplace_back("Tracker", tracker_text(*view.issue, view));
  std::string out = key_values(rows);
  if (!ticket.body.empty()) out += "\n" + wrapped(ticket.body, kTextWidth);
  for (const auto& entry : view.entries) out += entry_text(entry);
  return out;
}

std::string ticket_ages_text(const std::vector<model::TicketAge>& ages, std::size_t width) {
  std::string out;
  for (const std::string by : {"kind", "assignee"}) {
    Table table({upper(by), "OPEN", "MEDIAN AGE", "OLDEST", "TICKET"});
    for (const auto& age : ages) {
      if (age.by == by)
        table.add({somebody(age.name), std::to_string(age.open), human_duration(age.median), human_duration(age.oldest),
                   std::to_string(age.oldest_ticket)});
    }
    if (!table.empty()) out += (out.empty() ? "" : "\n") + table.text(width);
  }
  return out;
}

std::string opened_text(const wire::OpenedTicket& opened) {
  const auto& [ticket, priority, entries, issue] = opened.shown;
  if (opened.opened)
    return fmt::format("Ticket {} is opened: {} ({})\n", ticket.number, ticket.title,
                       describe::spell(priority.urgency));
  return ticket.occurrences > 1
             ? fmt::format("Ticket {} is open already, and was told {} times\n", ticket.number, ticket.occurrences)
             : fmt::format("It is with ticket {}: {}\n", ticket.number, ticket.title);
}

}  // namespace underway::cli
