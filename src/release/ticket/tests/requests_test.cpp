// What is done with tickets, and what is refused: one open ticket for what fails again and again, and none is lost.
#include "ticket/requests.hpp"

#include <gmock/gmock.h>

#include "server/testing/desk.hpp"

namespace underway::ticket {
namespace {

using model::Ticket;
using model::TicketAct;
using model::TicketKind;
using model::TicketRelation;
using model::TicketTarget;
using server::testing::Desk;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Author kAda{"ada", "accessor-of-ada"};
const Author kGates{"gates", "controller"};

class Tickets : public testing::Test {
 protected:
  static OpenTicket failed_gate(std::string body = "exit code 1") {
    OpenTicket request;
    request.title = "gate smoke refuses release 2026.1";
    request.body = std::move(body);
    request.kind = TicketKind::gate;
    request.key = "gate/smoke/2026.1";
    request.links = {{TicketRelation::blocks, TicketTarget::release, "2026.1"}};
    request.by = kGates;
    return request;
  }
  static OpenTicket asked(std::string title) {
    OpenTicket request;
    request.title = std::move(title);
    request.kind = TicketKind::user;
    request.by = kAda;
    return request;
  }
  template <class Request>
  std::string refusal(Request request) {
    const auto before = desk_.store.revision();
    try {
      desk_.run(std::move(request));
    } catch (const Error& error) {
      EXPECT_EQ(desk_.store.revision(), before);
      return error.text();
    }
    return "it was taken";
  }
  Ticket read(std::int64_t number) const { return get_ticket(desk_.tables, number); }
  std::vector<std::string> history(std::int64_t number) const {
    std::vector<std::string> out;
    for (const auto& entry : entries_of(desk_.tables, number))
      out.push_back(fmt::format("{} {}: {}", entry.who, describe::spell(entry.act), entry.text));
    return out;
  }

  Desk desk_;
};

TEST_F(Tickets, OfAKeyAreOneHoweverOftenItFails) {
  EXPECT_TRUE(desk_.run(failed_gate()).opened);
  desk_.clock.advance(std::chrono::hours(1));
  auto again = failed_gate("exit code 2");
  again.title = "gate smoke refuses release 2026.1 again";
  again.links.push_back({TicketRelation::suspect, TicketTarget::package, "openmpi"});
  const auto told = desk_.run(again);
  EXPECT_FALSE(told.opened);
  EXPECT_EQ(told.ticket.number, 1);
  const auto ticket = read(1);
  EXPECT_EQ(ticket.occurrences, 2);
  EXPECT_EQ(ticket.occurred_at, ticket.opened_at + 3'600'000'000'000);
  EXPECT_TRUE(ticket.names(TicketTarget::package, "openmpi"));
  EXPECT_THAT(ticket.links, SizeIs(2));
  EXPECT_THAT(history(1),
              ElementsAre("gates opened: ", "gates occurred: gate smoke refuses release 2026.1 again\n\nexit code 2"));
  EXPECT_THAT(blockers_of(desk_.tables, "2026.1"), SizeIs(1));
  EXPECT_THAT(blockers_of(desk_.tables, "2026"), IsEmpty());

  desk_.run(CloseTicket{.number = 1, .why = "the switch was off", .by = kAda});
  EXPECT_THAT(blockers_of(desk_.tables, "2026.1"), IsEmpty());
  EXPECT_TRUE(desk_.run(failed_gate()).opened) << "it is over: the next failure is another one";
  EXPECT_EQ(find_open(desk_.tables, "gate/smoke/2026.1")->number, 2);
  EXPECT_THAT(refusal(ReopenTicket{1, "it was not", kAda}), HasSubstr("ticket 2 tells of 'gate/smoke/2026.1' by now"));
}

TEST_F(Tickets, KeepTheNewestOccurrencesAndCountTheOthers) {
  desk_.run(failed_gate());
  desk_.run(CommentTicket{1, "I look at it", kAda});
  for (int i = 1; i <= 30; ++i) desk_.run(failed_gate(fmt::format("try {}", i)));
  const auto ticket = read(1);
  EXPECT_EQ(ticket.occurrences, 31);
  const auto told = history(1);
  ASSERT_THAT(told, SizeIs(2 + kKeptOccurrences));
  EXPECT_EQ(told[1], "ada commented: I look at it");
  EXPECT_EQ(told[2], "gates occurred: try 21");
  EXPECT_EQ(told.back(), "gates occurred: try 30");
  EXPECT_EQ(ticket.entries, 32) << "numbers are not given twice";
}

TEST_F(Tickets, HaveNumbersThatAreNeverGivenTwice) {
  EXPECT_EQ(desk_.run(asked("one")).ticket.number, 1);
  desk_.run(CloseTicket{.number = 1, .why = "done", .by = kAda});
  EXPECT_EQ(desk_.run(asked("two")).ticket.number, 2);
  EXPECT_THAT(all_tickets(desk_.tables), SizeIs(2)) << "closed ones are kept";
  EXPECT_THAT(open_tickets(desk_.tables), SizeIs(1));
  EXPECT_THAT(open_tickets(desk_.tables, kAda.accessor), SizeIs(1));
  EXPECT_THAT(open_tickets(desk_.tables, "accessor-of-bob"), IsEmpty());
  EXPECT_THROW(get_ticket(desk_.tables, 3), Error);
}

TEST_F(Tickets, OfASurpriseInAnOutageAreClosedWithATestOnly) {
  auto surprise = asked("the second switch was wired to the first one's power");
  surprise.kind = TicketKind::outage;
  desk_.run(surprise);
  EXPECT_THAT(refusal(CloseTicket{.number = 1, .why = "wired anew", .by = kAda}),
              HasSubstr("ticket close -test NAME 1"));
  desk_.run(CloseTicket{.number = 1, .why = "wired anew", .test = "power_feeds_are_apart", .by = kAda});
  EXPECT_EQ(read(1).test, "power_feeds_are_apart");
  EXPECT_EQ(history(1).back(), "ada closed: with the test power_feeds_are_apart\nwired anew");
  EXPECT_THAT(refusal(CloseTicket{.number = 1, .why = "x", .by = kAda}), HasSubstr("closed already"));

  desk_.run(ReopenTicket{1, "it happened again", kAda});
  EXPECT_EQ(read(1).test, "");
  EXPECT_THAT(refusal(CloseTicket{.number = 1, .why = "x", .by = kAda}), HasSubstr("with a test only"));
}

TEST_F(Tickets, MayNeedATestFromLaterOnAndThenAlwaysDo) {
  desk_.run(failed_gate());
  auto surprising = failed_gate();
  surprising.needs_test = "nobody expected it";
  desk_.run(surprising);
  EXPECT_EQ(read(1).needs_test, "nobody expected it");
  desk_.run(LinkTicket{.number = 1, .needs_test = "another reason", .by = kAda});
  EXPECT_EQ(read(1).needs_test, "nobody expected it");
  desk_.run(asked("x"));
  desk_.run(LinkTicket{.number = 2, .needs_test = "it surprised us", .by = kAda});
  EXPECT_EQ(read(2).needs_test, "it surprised us");
}

TEST_F(Tickets, ThatAreDuplicatesLeaveWhatTheyAskToTheOther) {
  auto surprise = failed_gate();
  surprise.needs_test = "nobody expected it";
  desk_.run(surprise);
  desk_.run(asked("smoke is red"));
  EXPECT_THAT(refusal(CloseTicket{.number = 1, .duplicate_of = 1, .by = kAda}), HasSubstr("no duplicate of itself"));
  EXPECT_THAT(refusal(CloseTicket{.number = 1, .duplicate_of = 7, .by = kAda}), HasSubstr("no ticket 7"));
  desk_.run(CloseTicket{.number = 1, .duplicate_of = 2, .by = kAda});
  const auto other = read(2);
  EXPECT_EQ(other.needs_test, "nobody expected it");
  EXPECT_THAT(blockers_of(desk_.tables, "2026.1"), SizeIs(1)) << "the release waits as before";
  EXPECT_TRUE(read(1).names(TicketTarget::ticket, "2"));
  EXPECT_THAT(refusal(CloseTicket{.number = 2, .why = "x", .by = kAda}), HasSubstr("with a test only"));
  desk_.run(asked("a third"));
  desk_.run(CloseTicket{.number = 2, .test = "smoke_reads_exit_codes", .by = kAda});
  EXPECT_THAT(refusal(CloseTicket{.number = 3, .duplicate_of = 2, .by = kAda}), HasSubstr("is closed as well"));
}

TEST_F(Tickets, AreAssignedLinkedAndCommentedAndTellWhoDidIt) {
  desk_.run(asked("mpirun hangs"));
  desk_.run(asked("and so does srun"));
  desk_.run(AssignTicket{1, "bob", kAda});
  desk_.run(AssignTicket{1, "bob", kAda});
  desk_.run(LinkTicket{
      .number = 1,
      .add = {{TicketRelation::about, TicketTarget::node, "c1"}, {TicketRelation::blocks, TicketTarget::ticket, "2"}},
      .remove = {},
      .by = kAda});
  desk_.run(LinkTicket{.number = 1,
                       .add = {{TicketRelation::about, TicketTarget::node, "c2"}},
                       .remove = {{TicketRelation::about, TicketTarget::node, "c1"}},
                       .by = kAda});
  desk_.run(AssignTicket{1, "", kAda});
  EXPECT_THAT(history(1), ElementsAre("ada opened: ", "ada assigned: to bob", "ada linked: about node:c1\nblocks #2",
                                      "ada linked: no longer about node:c1\nabout node:c2", "ada assigned: to nobody"));
  const auto refused = [&](model::TicketLink link, const char* why) {
    EXPECT_THAT(refusal(LinkTicket{.number = 1, .add = {link}, .remove = {}, .by = kAda}), HasSubstr(why));
  };
  refused({TicketRelation::blocks, TicketTarget::ticket, "1"}, "linked to itself");
  refused({TicketRelation::blocks, TicketTarget::ticket, "9"}, "there is no ticket 9");
  refused({TicketRelation::duplicates, TicketTarget::ticket, "2"}, "close -duplicate-of");
  refused({TicketRelation::about, TicketTarget::url, "javascript:x"}, "no address of the web");
  EXPECT_THAT(refusal(LinkTicket{.number = 1, .add = {}, .remove = {{}}, .by = kAda}), HasSubstr("no such link"));
  desk_.run(CloseTicket{.number = 1, .why = "done", .by = kAda});
  EXPECT_THAT(refusal(AssignTicket{1, "bob", kAda}), HasSubstr("`underway ticket reopen -reason TEXT 1`"));
  desk_.run(CommentTicket{1, "thanks", kAda});
  EXPECT_FALSE(read(1).is_open());
}

TEST_F(Tickets, HaveLimits) {
  auto bad = asked("");
  bad.body = std::string(model::kLongestTicketText + 1, 'x');
  bad.key = "a key with blanks";
  bad.assignee = "bob\x1b[2J";
  const auto all = refusal(bad);
  EXPECT_THAT(all, HasSubstr("it has no title"));
  EXPECT_THAT(all, HasSubstr("Body has 32769 bytes"));
  EXPECT_THAT(all, HasSubstr("Key may have"));
  EXPECT_THAT(all, HasSubstr("Assignee has line breaks or control characters"));
  auto mine = asked("mine");
  mine.most_open_of_one = 2;
  desk_.run(mine);
  desk_.run(mine);
  EXPECT_THAT(refusal(mine), HasSubstr("2 of your tickets are open"));
  desk_.run(failed_gate());
  EXPECT_THAT(refusal(CommentTicket{1, " \n", kAda}), HasSubstr("is empty"));
  EXPECT_THAT(refusal(CommentTicket{1, "\x1b[2J", kAda}), HasSubstr("control characters"));
  EXPECT_THAT(refusal(CloseTicket{.number = 1, .by = kAda}), HasSubstr("the reason is empty"));
  for (std::int64_t i = 1; i < kMostWritten; ++i) desk_.run(CommentTicket{1, "x", kAda});
  EXPECT_THAT(refusal(CommentTicket{1, "x", kAda}), HasSubstr("has 500 entries"));
  desk_.run(CloseTicket{.number = 1, .why = "it is enough", .by = kAda});
  EXPECT_THAT(refusal(ReopenTicket{1, "x", kAda}), HasSubstr("has 501 entries"));
}

TEST_F(Tickets, TakeEachMailOnce) {
  auto mail = asked("mpirun hangs");
  mail.message_id = "a1@example.org";
  EXPECT_TRUE(desk_.run(mail).opened);
  EXPECT_FALSE(desk_.run(mail).opened) << "the mailbox was read twice";
  CommentTicket reply{1, "still", kAda, "a2@example.org"};
  desk_.run(reply);
  desk_.run(reply);
  EXPECT_THAT(history(1), SizeIs(2));
  EXPECT_EQ(find_by_mail(desk_.tables, kAda.accessor, {"none", "a2@example.org"}), 1);
  EXPECT_EQ(find_by_mail(desk_.tables, "somebody-else", {"a1@example.org"}), std::nullopt);
}

}  // namespace
}  // namespace underway::ticket
