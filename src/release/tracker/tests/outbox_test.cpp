// What a tracker is told next of a ticket.
#include "tracker/outbox.hpp"

#include <gmock/gmock.h>

#include "server/testing/desk.hpp"
#include "ticket/requests.hpp"

namespace underway::tracker {
namespace {

using server::testing::Desk;

class Outbox : public testing::Test {
 protected:
  Outbox() {
    ticket::OpenTicket open;
    open.title = "mpirun hangs";
    open.key = "k";
    open.by = ada_;
    desk_.run(open);
  }
  std::string next() const {
    const auto step = next_step(desk_.tables, 1);
    if (!step) return "nothing";
    if (step->kind == Step::Kind::set_state) return step->ticket.is_open() ? "open" : "close";
    return fmt::format("{} {}{}", step->kind == Step::Kind::open_issue ? "issue" : "comment", step->entry.number,
                       step->may_be_there ? "?" : "");
  }

  const ticket::Author ada_{"ada", "a"};
  Desk desk_;
};

TEST_F(Outbox, TellsEntriesInOrderAndEachOnce) {
  EXPECT_EQ(next(), "issue 1");
  const auto issue = desk_.run(BeginSending{1, 1});
  EXPECT_EQ(next(), "issue 1?") << "no answer came, or the server died";
  desk_.clock.advance(std::chrono::hours(1));
  const auto again = desk_.run(BeginSending{1, 1});
  EXPECT_EQ(again.mark, issue.mark);
  EXPECT_EQ(again.trying_since, issue.trying_since);
  desk_.run(NoteSent{1, 1, 7, "https://x/7"});
  EXPECT_EQ(next(), "nothing");
  desk_.run(ticket::CommentTicket{1, "x", ada_});
  desk_.run(ticket::CloseTicket{.number = 1, .why = "done", .by = ada_});
  EXPECT_EQ(next(), "comment 2");
  desk_.run(NoteSent{1, 2});
  EXPECT_EQ(next(), "comment 3");
  desk_.run(NoteSent{1, 3});
  EXPECT_EQ(next(), "close");
  desk_.run(NoteState{1, true});
  EXPECT_EQ(next(), "nothing");
  desk_.run(ticket::ReopenTicket{1, "again", ada_});
  desk_.run(NoteSent{1, 4});
  EXPECT_EQ(next(), "open");
  EXPECT_EQ(ticket::find_issue(desk_.tables, 1)->number, 7);
}

TEST_F(Outbox, PassesOverOccurrencesThatAreOnlyCounted) {
  desk_.run(NoteSent{1, 1, 7, ""});
  ticket::OpenTicket again;
  again.title = "mpirun hangs";
  again.key = "k";
  again.by = ada_;
  for (int i = 0; i < 30; ++i) desk_.run(again);
  EXPECT_EQ(next(), "comment 22");
}

TEST_F(Outbox, WaitsAnHourAfterARefusal) {
  desk_.run(BeginSending{1, 1});
  desk_.run(NoteRefused{1, "no"});
  EXPECT_EQ(next(), "issue 1");
  const auto issue = *ticket::find_issue(desk_.tables, 1);
  EXPECT_EQ(waits_until(issue), desk_.clock.now() + kAfterRefusal);
  desk_.run(NoteSent{1, 1, 7, ""});
  EXPECT_EQ(waits_until(*ticket::find_issue(desk_.tables, 1)), std::nullopt);
  EXPECT_FALSE(next_step(desk_.tables, 2)) << "there is no such ticket";
}

}  // namespace
}  // namespace underway::tracker
