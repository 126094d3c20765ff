#pragma once
/// @file
/// What is said to open a ticket and to do something with it, and how one is shown (model/release/ticket.hpp).

#include <optional>

#include "model/release/ticket.hpp"

namespace underway::wire {

struct OpenTicketBody {
  std::string title, body;
  model::TicketKind kind = model::TicketKind::user;
  std::string key;         ///< of what may be told again; empty: it is a ticket of its own
  std::string needs_test;  ///< why it is closed with a test only; empty: as its kind has it
  std::string assignee;
  std::vector<model::TicketLink> links;
};

struct TicketView {
  model::Ticket ticket;
  model::TicketPriority priority;
  // Of one that is read by itself:
  std::vector<model::TicketEntry> entries;
  std::optional<model::TicketIssue> issue;  ///< where an external tracker has it
};

struct OpenedTicket {
  TicketView shown;
  bool opened =
      true;  ///< false: it was open already, and is told again; a comment was added; its mail was there before
};

struct TicketText {
  std::string text;
};
struct AssignTicketBody {
  std::string assignee;  ///< empty: nobody
};
struct LinkTicketBody {
  std::vector<model::TicketLink> add, remove;
  std::string needs_test;
};
struct CloseTicketBody {
  std::string reason, test;
  std::int64_t duplicate_of = 0;
};

const describe::Structure& description(describe::Tag<OpenTicketBody>);
const describe::Structure& description(describe::Tag<TicketView>);
const describe::Structure& description(describe::Tag<OpenedTicket>);
const describe::Structure& description(describe::Tag<TicketText>);
const describe::Structure& description(describe::Tag<AssignTicketBody>);
const describe::Structure& description(describe::Tag<LinkTicketBody>);
const describe::Structure& description(describe::Tag<CloseTicketBody>);

}  // namespace underway::wire
