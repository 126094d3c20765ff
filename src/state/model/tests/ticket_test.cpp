// What a ticket may hold, and how its links are written.
#include "model/release/ticket.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "base/json/json.hpp"

namespace underway::model {
namespace {

using testing::IsEmpty;

TEST(Ticket, LinksAreWrittenAsTheyAreRead) {
  const struct {
    const char* text;
    TicketTarget target;
    const char* value;
  } cases[] = {{"release:2026.1", TicketTarget::release, "2026.1"},
               {"node:c1", TicketTarget::node, "c1"},
               {"package:openmpi", TicketTarget::package, "openmpi"},
               {"job:slurmd", TicketTarget::job, "slurmd"},
               {"log:/var/log/a:b", TicketTarget::log, "/var/log/a:b"},
               {"https://example.org/1", TicketTarget::url, "https://example.org/1"},
               {"#12", TicketTarget::ticket, "12"}};
  for (const auto& it : cases) {
    const auto link = parse_ticket_link(TicketRelation::about, it.text);
    EXPECT_EQ(link, (TicketLink{TicketRelation::about, it.target, it.value})) << it.text;
    EXPECT_EQ(text_of(link), it.text);
  }
  EXPECT_EQ(text_of(parse_ticket_link(TicketRelation::blocks, "ticket:12")), "#12");
  for (const char* text :
       {"", "c1", "node:", "host:c1", "#", "#0", "#012", "#x", "url:ftp://x", "http://a b", "node:a\nb"})
    EXPECT_THROW(parse_ticket_link(TicketRelation::about, text), Error) << text;
}

TEST(Ticket, TextsHaveNothingInThemThatATerminalObeys) {
  EXPECT_THAT(text_problem("Body", "a\n\tb ü"), IsEmpty());
  for (const char* text : {"\x1b[2J", "a\rb", "\x7f",
                           "\xC2\x9B"
                           "2J",
                           "\xFF"})
    EXPECT_NE(text_problem("Body", text), "") << text;
  EXPECT_NE(line_problem("Title", "a\nb", 10), "");
  EXPECT_EQ(line_problem("Title", "0123456789a", 10), "Title has 11 bytes, and 10 are allowed");
}

TEST(Ticket, IsReadAsItWasWritten) {
  Ticket ticket;
  ticket.number = 7;
  ticket.title = "t";
  ticket.kind = TicketKind::sync;
  ticket.links = {{TicketRelation::suspect, TicketTarget::package, "openmpi"}};
  ticket.kept_occurrences = {2, 3};
  const auto again = json::decode<Ticket>(json::to_value(ticket, json::Encoding::compact));
  EXPECT_TRUE(describe::equal(ticket, again));
}

}  // namespace
}  // namespace underway::model
