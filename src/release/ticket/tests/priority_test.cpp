// How urgent a ticket is, with the reasons, and how long tickets have been open.
#include "ticket/priority.hpp"

#include <gmock/gmock.h>

namespace underway::ticket {
namespace {

using model::Ticket;
using model::TicketKind;
using model::TicketRelation;
using model::TicketTarget;
using model::TicketUrgency;
using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr TimePoint kNow{hours(500'000)};

Ticket make_ticket(TicketKind kind, Duration age = {}, std::int64_t number = 1) {
  Ticket ticket;
  ticket.number = number;
  ticket.kind = kind;
  ticket.opened_at = unix_nanos(kNow - age);
  return ticket;
}

TEST(TicketPriority, IsWhatItBlocksAndForHowLongAndWhy) {
  auto ticket = make_ticket(TicketKind::gate, hours(24 * 10 + 23));
  EXPECT_EQ(priority_of(ticket, kNow).urgency, TicketUrgency::normal);
  ticket.links = {{TicketRelation::blocks, TicketTarget::release, "2026.1"},
                  {TicketRelation::about, TicketTarget::node, "c1"},
                  {TicketRelation::suspect, TicketTarget::node, "c1"},
                  {TicketRelation::suspect, TicketTarget::package, "openmpi"}};
  ticket.occurrences = 5;
  const auto priority = priority_of(ticket, kNow);
  EXPECT_EQ(priority.urgency, TicketUrgency::urgent);
  EXPECT_EQ(priority.points, 85);
  EXPECT_THAT(priority.why, ElementsAre("blocks release 2026.1 (40)", "is of kind gate (30)", "open for 10 days (10)",
                                        "told 5 times (4)", "concerns 1 node (1)"));
  ticket.state = model::TicketState::closed;
  EXPECT_EQ(priority_of(ticket, kNow).points, 0);
  EXPECT_THAT(priority_of(ticket, kNow).why, IsEmpty());
}

TEST(TicketPriority, OfWhatPeopleAskGrowsAndStaysBelowWhatBlocks) {
  EXPECT_EQ(priority_of(make_ticket(TicketKind::user), kNow).urgency, TicketUrgency::low);
  EXPECT_EQ(priority_of(make_ticket(TicketKind::user, hours(24 * 5)), kNow).urgency, TicketUrgency::normal);
  auto old = make_ticket(TicketKind::user, hours(24 * 900));
  EXPECT_EQ(priority_of(old, kNow).points, 50) << "age alone makes nothing urgent";
  EXPECT_EQ(priority_of(make_ticket(TicketKind::outage), kNow).urgency, TicketUrgency::high);
  EXPECT_EQ(priority_of(make_ticket(TicketKind::other, -hours(3)), kNow).points, 10) << "a clock was set back";
  for (int i = 0; i < 9; ++i)
    old.links.push_back({TicketRelation::blocks, TicketTarget::ticket, std::to_string(i + 2)});
  EXPECT_EQ(priority_of(old, kNow).points, 80);
}

TEST(TicketAgeing, IsByKindAndAssigneeTheOldestFirst) {
  std::vector<Ticket> tickets = {make_ticket(TicketKind::user, hours(1), 1), make_ticket(TicketKind::gate, hours(9), 2),
                                 make_ticket(TicketKind::user, hours(5), 3), make_ticket(TicketKind::user, hours(3), 4),
                                 make_ticket(TicketKind::user, hours(99), 5)};
  tickets[1].assignee = "ada";
  tickets[4].state = model::TicketState::closed;
  const auto ages = ageing_of(tickets, kNow);
  ASSERT_EQ(ages.size(), 4U);
  EXPECT_EQ(ages[0].name, "gate");
  EXPECT_EQ(ages[1].name, "user");
  EXPECT_EQ(ages[1].open, 3);
  EXPECT_EQ(ages[1].median, hours(3));
  EXPECT_EQ(ages[1].oldest, hours(5));
  EXPECT_EQ(ages[1].oldest_ticket, 3);
  EXPECT_EQ(ages[2].by, "assignee");
  EXPECT_EQ(ages[2].name, "ada");
  EXPECT_EQ(ages[3].name, "");
  EXPECT_THAT(ageing_of({}, kNow), IsEmpty());
}

}  // namespace
}  // namespace underway::ticket
