#include "ticket/detail/pen.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace underway::ticket::detail {

void check_may_be_written(const model::Ticket& ticket) {
  if (ticket.written < kMostWritten) return;
  throw Error(Code::exhausted, fmt::format("ticket {} has {} entries", ticket.number, ticket.written))
      .advise(fmt::format("open another one about #{}, and close this one as its duplicate", ticket.number));
}

/// An entry is never before the one that it follows, though a clock may be set.
Pen::Pen(model::Ticket ticket, const Author& by, const server::Context& context)
    : ticket_(std::move(ticket)), by_(by), now_(std::max(unix_nanos(context.now), ticket_.changed_at)) {}

void Pen::write(model::TicketAct act, std::string text) {
  const model::TicketEntry entry{.ticket = ticket_.number,
                                 .number = ++ticket_.entries,
                                 .at = now_,
                                 .who = by_.name,
                                 .who_id = by_.accessor,
                                 .act = act,
                                 .text = std::move(text)};
  changes_.push_back(tables::put_record(entry));
  ticket_.changed_at = now_;
  if (act != model::TicketAct::occurred) {
    ++ticket_.written;
    return;
  }
  ticket_.kept_occurrences.push_back(entry.number);
  if (ticket_.kept_occurrences.size() <= kKeptOccurrences) return;
  const model::TicketEntry oldest{.ticket = ticket_.number, .number = ticket_.kept_occurrences.front()};
  changes_.push_back(tables::delete_record<model::TicketEntry>(tables::RecordOf<model::TicketEntry>::name(oldest)));
  ticket_.kept_occurrences.erase(ticket_.kept_occurrences.begin());
}

void Pen::mark(std::string name) {
  changes_.push_back(tables::put_record(Mark{.name = std::move(name), .ticket = ticket_.number}));
}

void Pen::mark_open() {
  mark(open_mark(ticket_));
  if (!ticket_.key.empty()) mark(key_mark(ticket_.key));
}

void Pen::unmark_open() {
  changes_.push_back(tables::delete_record<Mark>(open_mark(ticket_)));
  if (!ticket_.key.empty()) changes_.push_back(tables::delete_record<Mark>(key_mark(ticket_.key)));
}

void Pen::take(const std::string& message_id) {
  if (!message_id.empty()) mark(mail_mark(by_.accessor, message_id));
}

std::vector<server::Change> Pen::changes() && {
  changes_.push_back(tables::put_record(ticket_));
  return std::move(changes_);
}

server::Decision<model::Ticket> Pen::decision() && {
  server::Decision<model::Ticket> decision;
  decision.result = ticket_;
  decision.changes = std::move(*this).changes();
  return decision;
}

}  // namespace underway::ticket::detail
