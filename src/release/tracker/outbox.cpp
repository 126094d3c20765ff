#include "tracker/outbox.hpp"

#include <algorithm>

namespace underway::tracker {

using model::TicketIssue;
using server::Context;
using server::Decision;
using server::Nothing;
using tables::Tables;

namespace {

TicketIssue issue_of(const Tables& tables, std::int64_t number) {
  auto found = ticket::find_issue(tables, number);
  if (found) return *std::move(found);
  TicketIssue issue;
  issue.ticket = number;
  return issue;
}

Decision<Nothing> put(const TicketIssue& issue) {
  Decision<Nothing> decision;
  decision.changes.push_back(tables::put_record(issue));
  return decision;
}

/// Of an occurrence that was told too long ago only the count is left: it is passed over.
std::optional<model::TicketEntry> next_entry(const Tables& tables, std::int64_t number, std::int64_t after) {
  const auto prefix = ticket::number_name(number) + "/";
  const auto newest = prefix + ticket::number_name(after);
  for (const auto& row : tables.rows<model::Record>(tables::record_key<model::TicketEntry>(prefix))) {
    if (row->name > newest) return tables::decode_record<model::TicketEntry>(*row);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Step> next_step(const Tables& tables, std::int64_t number) {
  const auto found = ticket::find_ticket(tables, number);
  if (!found) return std::nullopt;
  Step step{.ticket = *found, .issue = issue_of(tables, number)};
  if (auto entry = next_entry(tables, number, step.issue.sent)) {
    step.kind = step.issue.number == 0 ? Step::Kind::open_issue : Step::Kind::comment;
    step.entry = *std::move(entry);
    step.may_be_there = step.issue.trying == step.entry.number;
    return step;
  }
  if (step.issue.closed != step.ticket.is_open()) return std::nullopt;
  step.kind = Step::Kind::set_state;
  return step;
}

std::optional<TimePoint> waits_until(const TicketIssue& issue) {
  if (issue.refusal.empty()) return std::nullopt;
  return from_unix_nanos(issue.refused_at) + kAfterRefusal;
}

Decision<TicketIssue> decide(const Tables& tables, const BeginSending& request, const Context& context) {
  auto issue = issue_of(tables, request.ticket);
  if (issue.mark.empty()) issue.mark = context.ids.uuid();
  // Since the first try: the tracker may have it from then on.
  if (issue.trying != request.entry) issue.trying_since = unix_nanos(context.now);
  issue.trying = request.entry;
  Decision<TicketIssue> decision;
  decision.changes.push_back(tables::put_record(issue));
  decision.result = std::move(issue);
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const NoteSent& request, const Context&) {
  auto issue = issue_of(tables, request.ticket);
  issue.sent = std::max(issue.sent, request.entry);
  issue.trying = issue.trying_since = 0;
  issue.refusal.clear();
  issue.refused_at = 0;
  if (request.number != 0) {
    issue.number = request.number;
    issue.url = request.url;
  }
  return put(issue);
}

Decision<Nothing> decide(const Tables& tables, const NoteState& request, const Context&) {
  auto issue = issue_of(tables, request.ticket);
  issue.closed = request.closed;
  issue.refusal.clear();
  issue.refused_at = 0;
  return put(issue);
}

Decision<Nothing> decide(const Tables& tables, const NoteRefused& request, const Context& context) {
  auto issue = issue_of(tables, request.ticket);
  issue.trying = issue.trying_since = 0;
  issue.refusal = request.why;
  issue.refused_at = unix_nanos(context.now);
  return put(issue);
}

}  // namespace underway::tracker
