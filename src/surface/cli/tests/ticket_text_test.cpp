// How tickets are shown and named.
#include "cli/ticket/text.hpp"

#include <gmock/gmock.h>

namespace underway::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr TimePoint kTicketsNow{std::chrono::hours(500'000)};

wire::TicketView make_ticket_view(std::int64_t number, std::int64_t points) {
  wire::TicketView view;
  view.ticket.number = number;
  view.ticket.title = fmt::format("title of {}", number);
  view.ticket.opened_at = unix_nanos(kTicketsNow - std::chrono::hours(3));
  view.priority = {model::TicketUrgency::high, points, {"is of kind gate (30)"}};
  return view;
}

TEST(TicketText, ListsTheMostUrgentFirst) {
  const auto text =
      ticket_list_text({make_ticket_view(1, 10), make_ticket_view(2, 70), make_ticket_view(3, 70)}, kTicketsNow, 0);
  EXPECT_LT(text.find("title of 2"), text.find("title of 3"));
  EXPECT_LT(text.find("title of 3"), text.find("title of 1"));
  EXPECT_THAT(text, HasSubstr("3h"));
}

TEST(TicketText, ShowsWhyAndWhoAndWhatIsOnlyCounted) {
  auto view = make_ticket_view(12, 30);
  view.ticket.links = {{model::TicketRelation::blocks, model::TicketTarget::release, "2026.1"}};
  view.ticket.needs_test = "it surprised";
  view.ticket.occurrences = 31;
  view.ticket.occurred_at = view.ticket.opened_at;
  view.ticket.kept_occurrences.resize(10);
  view.entries = {{.ticket = 12, .number = 1, .who = "ada", .act = model::TicketAct::commented, .text = "one\ntwo"}};
  const auto text = ticket_text(view, kTicketsNow);
  for (const char* what : {"high, 30 points: is of kind gate (30)", "release:2026.1", "it surprised", "31 times",
                           "of 20 only the count is kept", "ada  commented\n  one\n  two\n", "open for 3h"})
    EXPECT_THAT(text, HasSubstr(what));
  view.issue =
      model::TicketIssue{.ticket = 12, .number = 7, .url = "https://x/7", .refusal = "the tracker answers 422"};
  EXPECT_THAT(ticket_text(view, kTicketsNow), HasSubstr("https://x/7, 1 entry is to be told: the tracker answers 422"));
  view.issue->number = 0;
  EXPECT_THAT(ticket_text(view, kTicketsNow), HasSubstr("has it not yet"));
  view.ticket.state = model::TicketState::closed;
  view.ticket.test = "feeds_are_apart";
  EXPECT_THAT(ticket_text(view, kTicketsNow), HasSubstr("with the test feeds_are_apart"));
  EXPECT_THAT(ticket_text(view, kTicketsNow), Not(HasSubstr("points")));
}

TEST(TicketText, SaysWhatBecameOfIt) {
  wire::OpenedTicket opened{make_ticket_view(12, 30), true};
  EXPECT_EQ(opened_text(opened), "Ticket 12 is opened: title of 12 (high)\n");
  opened.opened = false;
  EXPECT_EQ(opened_text(opened), "It is with ticket 12: title of 12\n");
  opened.shown.ticket.occurrences = 2;
  EXPECT_EQ(opened_text(opened), "Ticket 12 is open already, and was told 2 times\n");
}

TEST(TicketText, NamesTicketsAndLinks) {
  EXPECT_EQ(ticket_number("12"), 12);
  EXPECT_EQ(ticket_number("#12"), 12);
  for (const char* text : {"", "#", "0", "-1", "1x", "##1"}) EXPECT_THROW(ticket_number(text), Error) << text;
  const Command command{.name = "x", .flags = with_ticket_links({})};
  const auto links =
      ticket_links(parse(command, {"-blocks", "release:1", "-about", "#3", "-about", "https://example.org"}));
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(model::text_of(links[0]), "#3");
  EXPECT_EQ(links[2].relation, model::TicketRelation::blocks);
}

TEST(TicketText, TellsAgesByKindAndByAssignee) {
  const auto text = ticket_ages_text({{"kind", "gate", 2, std::chrono::hours(1), std::chrono::hours(48), 7},
                                      {"assignee", "", 2, std::chrono::hours(1), std::chrono::hours(48), 7}},
                                     0);
  EXPECT_THAT(text, HasSubstr("gate  2"));
  EXPECT_THAT(text, HasSubstr("ASSIGNEE"));
}

}  // namespace
}  // namespace underway::cli
