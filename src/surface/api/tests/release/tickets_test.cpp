// Tickets over HTTP: who is believed to have opened one, who may do what, and what mail becomes.
#include <gmock/gmock.h>

#include "tests/access.hpp"

namespace underway::api::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kGate = R"({"Title":"gate smoke refuses release 2026.1","Body":"exit code 1","Kind":"gate",
  "Key":"gate/smoke/2026.1","Links":[{"Relation":"blocks","Target":"release","Value":"2026.1"}]})";

TEST(TicketRoutes, OpenShowAndCloseOneWithItsReasons) {
  World world;
  const auto made = world.put("/v1/underway/tickets", kGate);
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_THAT(made.body, HasSubstr("\"Opened\":true"));
  EXPECT_THAT(made.body, HasSubstr("blocks release 2026.1 (40)"));
  EXPECT_THAT(made.body, HasSubstr("\"Urgency\":\"high\""));
  EXPECT_THAT(world.put("/v1/underway/tickets", kGate).body, HasSubstr("\"Opened\":false"));
  EXPECT_EQ(world.put("/v1/underway/ticket/1/assign", R"({"Assignee":"ada"})").status, 200);
  EXPECT_EQ(world.put("/v1/underway/ticket/1/comment", R"({"Text":"the switch?"})").status, 200);
  const auto linked = world.put("/v1/underway/ticket/1/link",
                                R"({"Add":[{"Relation":"suspect","Target":"package","Value":"openmpi"}]})");
  EXPECT_EQ(linked.status, 200) << linked.body;
  const auto read = world.get("/v1/underway/ticket/1").body;
  for (const char* what :
       {"\"Occurrences\":2", "the switch?", "suspect package:openmpi", "to ada", "\"Act\":\"occurred\""})
    EXPECT_THAT(read, HasSubstr(what));
  EXPECT_EQ(world.put("/v1/underway/ticket/1/close", R"({"Reason":"it was the switch"})").status, 200);
  EXPECT_EQ(world.put("/v1/underway/ticket/1/close", R"({"Reason":"twice"})").status, 409);
  EXPECT_EQ(world.put("/v1/underway/ticket/1/reopen", R"({"Text":"it was not"})").status, 200);
  EXPECT_EQ(world.get("/v1/underway/ticket/2").status, 404);
  EXPECT_EQ(world.get("/v1/underway/ticket/x").status, 400);
  EXPECT_EQ(world.put("/v1/underway/ticket/1/comment", R"({"Text":""})").status, 400);
  EXPECT_EQ(world.put("/v1/underway/tickets", R"({"Title":"x","Kind":"fire"})").status, 400);
}

TEST(TicketRoutes, ListWhatIsAskedFor) {
  World world;
  world.put("/v1/underway/tickets", kGate);
  world.clock.advance(std::chrono::hours(48));
  world.put("/v1/underway/tickets", R"({"Title":"mpirun hangs"})");
  world.put("/v1/underway/ticket/1/assign", R"({"Assignee":"ada"})");
  const auto numbers = [&](const std::string& query) {
    const auto answer = world.get("/v1/underway/tickets" + query);
    if (answer.status != 200) return answer.body;
    std::string out;
    const auto listed = json::parse(answer.body);
    for (const auto& it : listed.as_array()) out += std::to_string(it.at("Ticket").at("Number").as_int64());
    return out;
  };
  EXPECT_EQ(numbers(""), "12");
  EXPECT_EQ(numbers("?kind=gate"), "1");
  EXPECT_EQ(numbers("?kind=user"), "2") << "what is opened without a kind";
  EXPECT_EQ(numbers("?assignee=ada"), "1");
  EXPECT_EQ(numbers("?assignee=-"), "2");
  EXPECT_EQ(numbers("?release=2026.1"), "1");
  EXPECT_EQ(numbers("?release=2026"), "");
  EXPECT_EQ(numbers("?older=24h"), "1");
  EXPECT_EQ(numbers("?key=gate/smoke/2026.1"), "1");
  EXPECT_EQ(numbers("?reverse=true&per_page=1"), "2");
  world.put("/v1/underway/ticket/2/close", R"({"Reason":"done"})");
  EXPECT_EQ(numbers(""), "1");
  EXPECT_EQ(numbers("?state=closed"), "2");
  EXPECT_EQ(numbers("?state=all"), "12");
  EXPECT_THAT(numbers("?state=new"), HasSubstr("open, closed or all"));
  EXPECT_THAT(numbers("?kind=fire"), HasSubstr("use one of gate"));
  EXPECT_THAT(numbers("?older=long"), HasSubstr("no duration"));
  const auto ages = world.get("/v1/underway/tickets/ageing").body;
  EXPECT_THAT(ages, HasSubstr("\"OldestTicket\":1"));
  EXPECT_THAT(ages, Not(HasSubstr("\"user\"")));
}

TEST(TicketRoutes, TakeMail) {
  World world;
  const auto mail = [&](const std::string& text, const std::string& query = "") {
    return world.put("/v1/underway/tickets/mail" + query, text);
  };
  const auto opened =
      mail("Subject: mpirun hangs\nFrom: root <root@example.org>\nMessage-ID: <a1@x>\n\nSince Monday.\n");
  ASSERT_EQ(opened.status, 200) << opened.body;
  EXPECT_THAT(opened.body, HasSubstr("\"Title\":\"mpirun hangs\""));
  EXPECT_THAT(opened.body, HasSubstr("nobody has checked it"));
  EXPECT_THAT(opened.body, HasSubstr("\"Reporter\":\"acl-disabled\"")) << "whoever the message claims to be from";
  EXPECT_THAT(mail("Subject: mpirun hangs\nMessage-ID: <a1@x>\n\nSince Monday.\n").body, HasSubstr("\"Opened\":false"));
  EXPECT_EQ(mail("Subject: Re: mpirun hangs\nIn-Reply-To: <a1@x>\nMessage-ID: <a2@x>\n\nno more\n").status, 200);
  EXPECT_EQ(mail("Subject: Re: [#1] mpirun hangs\n\nsure?\n").status, 200);
  EXPECT_EQ(mail("Subject: x\nReferences: <a2@x>\n\nyes\n").status, 200);
  EXPECT_EQ(mail("\nby the query\n", "?ticket=1").status, 200);
  const auto read = world.get("/v1/underway/ticket/1").body;
  for (const char* said : {"no more", "sure?", "\"yes\"", "by the query", "\"Written\":5"})
    EXPECT_THAT(read, HasSubstr(said));
  EXPECT_EQ(mail("Subject: x\nX-Underway-Kind: build\nX-Underway-Key: build/openmpi\n\nred\n").status, 200);
  EXPECT_THAT(world.get("/v1/underway/ticket/2").body, HasSubstr("\"Key\":\"build/openmpi\""));
  EXPECT_EQ(mail("Subject: x\nContent-Type: multipart/mixed\n\n--\n").status, 501);
  EXPECT_EQ(mail("Subject: [#9] x\n\nx\n").status, 404);
  EXPECT_EQ(mail("no mail").status, 400);
}

class TicketAccess : public AccessTest {
 protected:
  TicketAccess() {
    make_token("user", "namespace \"default\" { policy = \"read\" }");
    make_token("other", "namespace \"default\" { policy = \"read\" }");
    make_token("reader", "operator { policy = \"read\" }");
    make_token("operator", "operator { policy = \"write\" }");
  }
  int by(const std::string& token, const std::string& what, std::string body = "{}") {
    world.token = token;
    return status("PUT", "/v1/underway/" + what, std::move(body));
  }
  int reads(const std::string& token, const std::string& what) {
    world.token = token;
    return status("GET", "/v1/underway/" + what);
  }
};

TEST_F(TicketAccess, LetsEverybodyOpenAndFollowTheirOwn) {
  EXPECT_EQ(by("", "tickets", R"({"Title":"x"})"), 403);
  EXPECT_EQ(by("user", "tickets", R"({"Title":"mpirun hangs"})"), 200);
  EXPECT_EQ(reads("user", "ticket/1"), 200);
  EXPECT_THAT(world.get("/v1/underway/ticket/1").body, HasSubstr("\"ReporterID\":\"accessor-of-user\""));
  EXPECT_EQ(reads("other", "ticket/1"), 404) << "what is another's is not there";
  EXPECT_EQ(world.get("/v1/underway/tickets").body, "[]");
  EXPECT_EQ(reads("reader", "ticket/1"), 200);
  EXPECT_EQ(by("other", "ticket/1/comment", R"({"Text":"x"})"), 404);
  EXPECT_EQ(by("reader", "ticket/1/comment", R"({"Text":"x"})"), 403);
  EXPECT_EQ(by("user", "ticket/1/comment", R"({"Text":"x"})"), 200);
  EXPECT_EQ(by("operator", "ticket/1/comment", R"({"Text":"x"})"), 200);
  EXPECT_EQ(by("user", "ticket/1/assign", R"({"Assignee":"bob"})"), 403);
  EXPECT_EQ(by("user", "ticket/1/link"), 403);
  EXPECT_EQ(by("operator", "ticket/1/assign", R"({"Assignee":"bob"})"), 200);
  EXPECT_EQ(reads("user", "tickets/ageing"), 403);
  EXPECT_EQ(by("other", "ticket/1/close", R"({"Reason":"x"})"), 404);
  EXPECT_EQ(by("user", "ticket/1/close", R"({"DuplicateOf":1})"), 403);
  EXPECT_EQ(by("user", "ticket/1/close", R"({"Reason":"it works"})"), 200);
}

TEST_F(TicketAccess, KeepsWhatHoldsReleasesUpToWhoLooksAfterThem) {
  for (const char* body : {R"({"Title":"x","Kind":"gate"})", R"({"Title":"x","Key":"k"})",
                           R"({"Title":"x","NeedsTest":"w"})", R"({"Title":"x","Assignee":"bob"})",
                           R"({"Title":"x","Links":[{"Relation":"blocks","Target":"release","Value":"1"}]})"}) {
    EXPECT_EQ(by("user", "tickets", body), 403) << body;
    EXPECT_EQ(by("operator", "tickets", body), 200) << body;
  }
  EXPECT_EQ(by("user", "tickets", R"({"Title":"x","Links":[{"Relation":"about","Target":"node","Value":"c1"}]})"), 200);
  EXPECT_EQ(by("user", "tickets/mail", "Subject: x\nX-Underway-Kind: outage\n\nx\n"), 403);
  EXPECT_EQ(by("user", "tickets/mail", "Subject: [#1] x\n\nx\n"), 404) << "a subject is no key to what is another's";
}

}  // namespace
}  // namespace underway::api::testing
