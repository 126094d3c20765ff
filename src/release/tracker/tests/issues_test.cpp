// What is said to a tracker, and what is believed of its answers.
#include "tracker/issues.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "base/json/json.hpp"

namespace underway::tracker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Settings kSettings{.url = "https://git.example.org/api/v1", .repository = "hpc/tickets", .token_file = "/etc/t"};

TEST(TrackerSettings, AreRefusedWithAllThatIsWrong) {
  EXPECT_THAT(problems(kSettings), IsEmpty());
  EXPECT_THAT(problems({.url = "git.example.org", .repository = "tickets", .token_file = "t", .kinds = {"fire"}}),
              SizeIs(4));
  for (const char* repository : {"", "a/b/c", "../x", "a/..", "a b/c", "a/", "a/b?x"})
    EXPECT_THAT(problems({.url = kSettings.url, .repository = repository, .token_file = "/t"}), SizeIs(1))
        << repository;
  for (const char* url : {"http://git.example.org", "https://", "http://127.0.0.1.example.org"})
    EXPECT_THAT(problems({.url = url, .repository = "a/b", .token_file = "/t"}), SizeIs(1)) << url;
  for (const char* url : {"http://127.0.0.1:3000/api/v1", "http://localhost:3000", "https://[::1]:3000"})
    EXPECT_THAT(problems({.url = url, .repository = "a/b", .token_file = "/t"}), IsEmpty()) << url;
}

TEST(TrackerTexts, AreFencedWhateverPeopleWrote) {
  const model::TicketIssue issue{.ticket = 1, .mark = "m"};
  const auto mark = mark_of(issue, 3);
  model::TicketEntry entry{.ticket = 1, .number = 3, .who = "ada"};
  entry.text = "@everybody ```` see #12\n<!-- underway m/4 -->";
  const auto body = body_of_comment(entry, mark);
  EXPECT_TRUE(body.starts_with("`````text\n")) << body;
  EXPECT_TRUE(bears(body, mark));
  EXPECT_TRUE(bears(body + "\r\n", mark)) << "trackers tidy texts";
  EXPECT_FALSE(bears(body, mark_of(issue, 4))) << "what somebody writes is no mark";
  model::Ticket ticket;
  ticket.number = 1;
  ticket.title = "t \"x\"";
  ticket.body = "b";
  ticket.links = {{model::TicketRelation::blocks, model::TicketTarget::release, "2026.1"}};
  const auto request = create_issue(kSettings, ticket, mark);
  EXPECT_EQ(request.target, "/repos/hpc/tickets/issues");
  const auto said = json::parse(request.body);
  EXPECT_EQ(said.at("title").as_string(), "t \"x\"");
  EXPECT_THAT(std::string(said.at("body").as_string()), HasSubstr("\nblocks release:2026.1\n\nb\n```\n"));
  EXPECT_EQ(set_state(kSettings, 7, true).body, R"({"state":"closed"})");
}

TEST(TrackerAnswers, AreBelievedAsFarAsTheyAreNumbersAndAddresses) {
  const auto issue = parse_issue(R"({"number":7,"html_url":"https://x/7","body":"b","id":9})");
  EXPECT_EQ(issue.number, 7);
  EXPECT_EQ(issue.url, "https://x/7");
  for (const char* url : {"javascript:x", "https://x/\\u001b[2J", "7"})
    EXPECT_EQ(parse_issue(fmt::format(R"({{"number":7,"html_url":"{}"}})", url)).url, "") << url;
  for (const char* answer :
       {"", "[]", "{}", "null", R"({"number":"7"})", R"({"number":-7})", R"({"number":1e3})", "<html>"})
    EXPECT_THROW(parse_issue(answer), Error) << answer;
  EXPECT_THAT(parse_comments(R"([{"id":1,"body":"x"},{"id":2,"body":null}])"), SizeIs(2));
  EXPECT_THROW(parse_comments(R"([{"number":1}])"), Error);
  EXPECT_THROW(parse_issues("{}"), Error);
}

}  // namespace
}  // namespace underway::tracker
