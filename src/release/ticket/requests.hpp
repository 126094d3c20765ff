#pragma once
/// @file
/// What is done with tickets. Whatever fails again and again, a gate, a build, a synchronisation, says so again and
/// again with the same key:
///
///     ticket::OpenTicket failed;
///     failed.title = "gate smoke refuses release 2026.1";
///     failed.kind = model::TicketKind::gate;
///     failed.key = "gate/smoke/2026.1";
///     failed.links = {{model::TicketRelation::blocks, model::TicketTarget::release, "2026.1"}};
///     failed.by = {"gates", "controller"};
///     const auto opened = co_await server.apply(std::move(failed));
///
/// The first time opens a ticket; while it is open, each later one is counted on it. Errors of all: invalid, naming all
/// that is wrong; not_found without the ticket; those that are named.

#include "server/request.hpp"
#include "ticket/tickets.hpp"

namespace underway::ticket {

/// Who says or does it: by the token that it came with, whatever a text claims.
struct Author {
  std::string name, accessor;
};

/// Open at once, of all reporters and of one that may not look after tickets.
inline constexpr std::size_t kMostOpen = 10'000;
inline constexpr std::size_t kMostOpenOfOne = 50;
/// Entries that are no occurrences. One that has so many can be closed still, and nothing else.
inline constexpr std::int64_t kMostWritten = 500;
/// Occurrences whose text is kept.
inline constexpr std::size_t kKeptOccurrences = 10;

struct OpenTicket {
  std::string title, body;
  model::TicketKind kind = model::TicketKind::other;
  std::string key;         ///< empty: it is a ticket of its own
  std::string needs_test;  ///< why it is closed with a test only; empty: it needs none, unless it is of an outage
  std::string assignee;
  std::vector<model::TicketLink> links;
  Author by;
  std::string message_id = {};               ///< of a mail: one that comes twice is taken once
  std::size_t most_open_of_one = kMostOpen;  ///< for a reporter who may not look after tickets: kMostOpenOfOne
};
struct Opened {
  model::Ticket ticket;
  bool opened = true;  ///< false: it was open already, and told again; or its mail was taken before
};
/// Errors: exhausted when too many are open; not_found for a link to a ticket that is not there.
server::Decision<Opened> decide(const tables::Tables& tables, const OpenTicket& request,
                                const server::Context& context);

/// Of a closed one, too.
struct CommentTicket {
  std::int64_t number = 0;
  std::string text;
  Author by;
  std::string message_id = {};  ///< as OpenTicket's
};
/// Errors: exhausted when it has kMostWritten entries; as the next ones.
server::Decision<model::Ticket> decide(const tables::Tables& tables, const CommentTicket& request,
                                       const server::Context& context);

struct AssignTicket {
  std::int64_t number = 0;
  std::string assignee;  ///< empty: nobody
  Author by;
};
/// Errors: conflict when it is closed.
server::Decision<model::Ticket> decide(const tables::Tables& tables, const AssignTicket& request,
                                       const server::Context& context);

/// What is linked already is passed over.
struct LinkTicket {
  std::int64_t number = 0;
  std::vector<model::TicketLink> add, remove;
  std::string needs_test = {};  ///< from now on, and for ever; empty: as it is
  Author by;
};
/// Errors: not_found for a link to remove that it has not.
server::Decision<model::Ticket> decide(const tables::Tables& tables, const LinkTicket& request,
                                       const server::Context& context);

struct CloseTicket {
  std::int64_t number = 0;
  std::string why;        ///< how it ended
  std::string test = {};  ///< that keeps it from coming back
  std::int64_t duplicate_of =
      0;  ///< it is the same as this one, which then needs what it needs, and blocks what it blocks
  Author by;
};
/// Errors: conflict when it is closed, when it needs a test and none is named, or when the other one cannot take over.
server::Decision<model::Ticket> decide(const tables::Tables& tables, const CloseTicket& request,
                                       const server::Context& context);

struct ReopenTicket {
  std::int64_t number = 0;
  std::string why;
  Author by;
};
/// The test that it was closed with did not do: it needs another. Errors: conflict when it is open, or another one of
/// its key is; exhausted.
server::Decision<model::Ticket> decide(const tables::Tables& tables, const ReopenTicket& request,
                                       const server::Context& context);

}  // namespace underway::ticket
