#pragma once
/// @file
/// What an external tracker is told next of a ticket. Nothing is queued beside the tickets: their entries are the
/// queue, and a record says how far the tracker has them. Before something is sent it is written down that it is, so
/// that it is looked for there, and not sent twice, when a server dies or no answer comes.

#include "server/request.hpp"
#include "ticket/tickets.hpp"
#include "tracker/issues.hpp"

namespace underway::tracker {

struct Step {
  enum class Kind { open_issue, comment, set_state } kind = Kind::open_issue;
  model::Ticket ticket;
  model::TicketIssue issue;   ///< as it is written down, or a new one without a mark
  model::TicketEntry entry;   ///< of open_issue and comment
  bool may_be_there = false;  ///< it was sent, and no answer came
};
/// Nothing: the tracker has all of it. Pure.
std::optional<Step> next_step(const tables::Tables& tables, std::int64_t number);
/// What the tracker refused is tried again then; nothing: at once.
std::optional<TimePoint> waits_until(const model::TicketIssue& issue);
inline constexpr Duration kAfterRefusal = std::chrono::hours(1);

/// The entry is about to be sent. Returns the record.
struct BeginSending {
  std::int64_t ticket = 0, entry = 0;
};
server::Decision<model::TicketIssue> decide(const tables::Tables& tables, const BeginSending& request,
                                            const server::Context& context);
/// It is there. `number` and `url`: of the issue, when that is what was sent.
struct NoteSent {
  std::int64_t ticket = 0, entry = 0;
  std::int64_t number = 0;
  std::string url = {};
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteSent& request,
                                         const server::Context& context);
struct NoteState {
  std::int64_t ticket = 0;
  bool closed = false;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteState& request,
                                         const server::Context& context);
/// The tracker will not have it as it is.
struct NoteRefused {
  std::int64_t ticket = 0;
  std::string why;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteRefused& request,
                                         const server::Context& context);

}  // namespace underway::tracker
