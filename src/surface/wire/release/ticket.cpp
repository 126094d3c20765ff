#include "wire/release/ticket.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<OpenTicketBody>) {
  static const Structure s =
      Builder<OpenTicketBody>("open ticket body", "What failed, or what is asked for.")
          .wire<&OpenTicketBody::title>("Title", "What it is, in a line.")
          .wire<&OpenTicketBody::body>("Body", "All that is known of it.")
          .wire<&OpenTicketBody::kind>("Kind", "gate, build, sync, drift, reinstall, outage, user or other.")
          .wire<&OpenTicketBody::key>("Key", "Of what may be told again: an open ticket of this key is told again.")
          .wire<&OpenTicketBody::needs_test>("NeedsTest", "Why it is closed with a test only.")
          .wire<&OpenTicketBody::assignee>("Assignee", "Who is to look after it.")
          .wire<&OpenTicketBody::links>("Links", "What it is about, what is suspected, what it blocks.")
          .done();
  return s;
}

const Structure& description(Tag<TicketView>) {
  static const Structure s =
      Builder<TicketView>("ticket view", "A ticket as it is shown.")
          .wire<&TicketView::ticket>("Ticket", "The ticket.")
          .wire<&TicketView::priority>("Priority", "How urgent it is now, and why.")
          .wire<&TicketView::entries>("Entries", "What was said and done, oldest first; in lists there are none.")
          .wire<&TicketView::issue>("Issue", "Where an external tracker has it, and how far; as Entries.")
          .done();
  return s;
}

const Structure& description(Tag<OpenedTicket>) {
  static const Structure s =
      Builder<OpenedTicket>("opened ticket", "What became of what was told.")
          .wire<&OpenedTicket::shown>("Shown", "The ticket.")
          .wire<&OpenedTicket::opened>("Opened", "Whether it is a new one; else it was told again, or commented on.")
          .done();
  return s;
}

const Structure& description(Tag<TicketText>) {
  static const Structure s = Builder<TicketText>("ticket text", "What somebody says about a ticket.")
                                 .wire<&TicketText::text>("Text", "In UTF-8, without control characters.")
                                 .done();
  return s;
}

const Structure& description(Tag<AssignTicketBody>) {
  static const Structure s = Builder<AssignTicketBody>("assign ticket body", "Who looks after a ticket.")
                                 .wire<&AssignTicketBody::assignee>("Assignee", "Who; empty: nobody.")
                                 .done();
  return s;
}

const Structure& description(Tag<LinkTicketBody>) {
  static const Structure s =
      Builder<LinkTicketBody>("link ticket body", "What a ticket has to do with.")
          .wire<&LinkTicketBody::add>("Add", "Links that it is to have.")
          .wire<&LinkTicketBody::remove>("Remove", "Links that it is to have no longer.")
          .wire<&LinkTicketBody::needs_test>("NeedsTest", "Why it is closed with a test only, from now on.")
          .done();
  return s;
}

const Structure& description(Tag<CloseTicketBody>) {
  static const Structure s =
      Builder<CloseTicketBody>("close ticket body", "How a ticket ended.")
          .wire<&CloseTicketBody::reason>("Reason", "How it ended; may be empty beside the others.")
          .wire<&CloseTicketBody::test>("Test", "The test that keeps it from coming back.")
          .wire<&CloseTicketBody::duplicate_of>("DuplicateOf", "The open ticket that tells of the same; 0: none.")
          .done();
  return s;
}

}  // namespace underway::wire
