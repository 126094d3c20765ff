// A tracker over HTTP that keeps to the documented API, until it is told to misbehave: what it is told arrives once, in
// order, whatever becomes of its answers.
#include "tracker/tracker.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "http/server.hpp"
#include "os/file.hpp"
#include "server/testing/fake_node.hpp"
#include "store/memory_store.hpp"
#include "ticket/requests.hpp"

namespace underway::tracker {
namespace {

using async::awaitable;
using boost::json::array;
using boost::json::object;
using server::testing::run_until;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// Keeps issues and comments in memory.
class FakeTracker {
 public:
  enum class Mood {
    well,
    down,         ///< answers 503 and keeps nothing
    mute,         ///< keeps what it is told, and answers when nobody waits any more
    broken,       ///< keeps what it is told, and answers 500
    refusing,     ///< 422 to whatever makes something
    babbling,     ///< 201, with no JSON
    unauthorized  ///< 401
  };
  struct Issue {
    std::string title, body, state = "open";
    std::vector<std::string> comments;
  };

  FakeTracker() {
    const auto add = [this](const char* methods, const char* path, auto handler) {
      router_.add(methods, path, path,
                  [this, handler](http::Request request) { return serve(handler, std::move(request)); });
    };
    add("GET", "/api/v1/repos/:owner/:name/issues",
        [](FakeTracker& self, const http::Request&, const object&) { return self.list(); });
    add("POST", "/api/v1/repos/:owner/:name/issues", [](FakeTracker& self, const http::Request&, const object& body) {
      self.issues.push_back({.title = json::text_at(body, "title"), .body = json::text_at(body, "body")});
      return boost::json::value(self.shown(self.issues.size()));
    });
    add("PATCH", "/api/v1/repos/:owner/:name/issues/:number",
        [](FakeTracker& self, const http::Request& request, const object& body) {
          self.of(request).state = json::text_at(body, "state");
          return boost::json::value(object{});
        });
    add("GET", "/api/v1/repos/:owner/:name/issues/:number/comments",
        [](FakeTracker& self, const http::Request& request, const object&) {
          array out;
          for (const auto& text : self.of(request).comments)
            out.push_back(object{{"id", 100 + out.size()}, {"body", text}});
          return boost::json::value(out);
        });
    add("POST", "/api/v1/repos/:owner/:name/issues/:number/comments",
        [](FakeTracker& self, const http::Request& request, const object& body) {
          self.of(request).comments.push_back(json::text_at(body, "body"));
          return boost::json::value(object{{"id", 1}});
        });
  }

  const http::Router& router() const { return router_; }

  std::vector<Issue> issues;
  Mood mood = Mood::well;
  int asked = 0;
  std::string authorization;

 private:
  Issue& of(const http::Request& request) {
    return issues.at(static_cast<std::size_t>(std::stoi(request.param("number"))) - 1);
  }
  object shown(std::size_t number) const {
    return {{"id", 1000 + number},
            {"number", static_cast<std::int64_t>(number)},
            {"state", issues[number - 1].state},
            {"body", issues[number - 1].body},
            {"html_url", fmt::format("https://git.example.org/hpc/tickets/issues/{}", number)}};
  }
  boost::json::value list() const {
    array out;
    for (std::size_t i = issues.size(); i > 0; --i) out.push_back(shown(i));
    return out;
  }
  template <class Handler>
  awaitable<http::Response> serve(Handler handler, http::Request request) {
    ++asked;
    authorization = request.headers.find("Authorization").value_or("");
    http::Response response;
    response.headers.set("Content-Type", "application/json");
    const bool makes = request.method != "GET";
    const auto refuse = [&](int status) {
      response.status = status;
      response.body = R"({"message":"no"})";
    };
    if (mood == Mood::down) refuse(503);
    if (mood == Mood::unauthorized) refuse(401);
    if (mood == Mood::refusing && makes) refuse(422);
    if (response.status != 200) co_return response;
    const object body = request.body.empty() ? object() : json::parse(request.body).as_object();
    response.body = boost::json::serialize(handler(*this, request, body));
    response.status = request.method == "POST" ? 201 : 200;
    if (mood == Mood::mute && makes) co_await async::sleep_for(std::chrono::seconds(2));
    if (mood == Mood::broken && makes) refuse(500);
    if (mood == Mood::babbling && makes) response.body = "<html>";
    co_return response;
  }

  http::Router router_;
};

class Telling : public testing::Test {
 protected:
  Telling()
      : server_(loop_.executor(), store_, clock_, ids_, server::Options()), http_(loop_.executor(), fake_.router()) {
    std::filesystem::create_directories(directory_);
    os::write_file(directory_ + "/token", "s3cret\n");
    const auto at = http_.listen({.host = "127.0.0.1"});
    settings_ = {.url = fmt::format("http://127.0.0.1:{}/api/v1", at.port),
                 .repository = "hpc/tickets",
                 .token_file = directory_ + "/token"};
    server_.start();
    begin();
  }
  ~Telling() override {
    end();
    loop_.run_until_done(http_.stop(std::chrono::seconds(3)));
    loop_.run_until_done(server_.stop());
    loop_.context().restart();
    loop_.context().poll();
    std::filesystem::remove_all(directory_);
  }
  void begin() {
    Tracker::Options options;
    options.exchange = milliseconds(300);
    options.retry_after = milliseconds(50);
    options.refused_again = milliseconds(50);
    options.gather = milliseconds(1);
    tracker_.emplace(server_, pool_, loop_.executor(), settings_, options);
    tracker_->start();
  }
  void end() {
    if (tracker_) loop_.run_until_done(tracker_->stop());
    tracker_.reset();
  }
  template <class Request>
  void apply(Request request) {
    loop_.run_until_done(server_.apply(std::move(request)));
  }
  void open(const std::string& title) {
    ticket::OpenTicket request;
    request.title = title;
    request.by = ada_;
    apply(std::move(request));
  }
  bool has_all(std::int64_t number) { return !next_step(server_.writer().tables(), number); }
  void await(std::int64_t number) {
    run_until(loop_, [&] { return has_all(number); });
  }
  void await_answers(int count) {
    const int before = fake_.asked;
    run_until(loop_, [&] { return fake_.asked >= before + count; });
  }
  std::vector<std::string> comments(std::size_t issue) const {
    std::vector<std::string> out;
    for (const auto& text : fake_.issues.at(issue - 1).comments) {
      const auto begin = text.find("\n\n") + 2;
      out.push_back(text.substr(begin, text.find("\n```", begin) - begin));
    }
    return out;
  }

  const ticket::Author ada_{"ada", "a"};
  const std::string directory_ = fmt::format("/tmp/underway-test-tracker-{}", ::getpid());
  async::Loop loop_;
  async::Pool pool_{1};
  store::MemoryStore store_;
  VirtualClock clock_;
  SeededIds ids_{1};
  server::Server server_;
  FakeTracker fake_;
  http::Server http_;
  Settings settings_;
  std::optional<Tracker> tracker_;
};

TEST_F(Telling, WhatIsSaidAndDoneArrivesInOrder) {
  open("mpirun hangs");
  apply(ticket::CommentTicket{1, "one", ada_});
  apply(ticket::CommentTicket{1, "two", ada_});
  apply(ticket::CloseTicket{.number = 1, .why = "three", .by = ada_});
  open("another");
  await(1);
  await(2);
  ASSERT_THAT(fake_.issues, SizeIs(2));
  EXPECT_EQ(fake_.issues[0].title, "mpirun hangs");
  EXPECT_EQ(fake_.issues[0].state, "closed");
  EXPECT_THAT(comments(1), ElementsAre("one", "two", "three"));
  EXPECT_EQ(fake_.authorization, "token s3cret");
  EXPECT_EQ(ticket::find_issue(server_.writer().tables(), 1)->url, "https://git.example.org/hpc/tickets/issues/1");
  apply(ticket::ReopenTicket{1, "four", ada_});
  await(1);
  EXPECT_EQ(fake_.issues[0].state, "open");
}

TEST_F(Telling, NothingIsLostOrToldTwiceWhileItIsAway) {
  fake_.mood = FakeTracker::Mood::down;
  open("mpirun hangs");
  await_answers(5);
  for (int i = 0; i < 20; ++i) apply(ticket::CommentTicket{1, std::to_string(i), ada_});
  end();  // as a server that dies: what is known is in the tables
  begin();
  await_answers(3);
  fake_.mood = FakeTracker::Mood::well;
  await(1);
  ASSERT_THAT(fake_.issues, SizeIs(1));
  EXPECT_THAT(comments(1), SizeIs(20));
  EXPECT_EQ(comments(1).front(), "0");
  EXPECT_EQ(comments(1).back(), "19");
}

TEST_F(Telling, AnAnswerThatIsLostIsLookedForAndNothingIsSentTwice) {
  for (const auto mood : {FakeTracker::Mood::mute, FakeTracker::Mood::broken, FakeTracker::Mood::babbling}) {
    const auto number = static_cast<std::int64_t>(fake_.issues.size()) + 1;
    fake_.mood = mood;
    open("mpirun hangs");
    run_until(loop_, [&] { return fake_.issues.size() == static_cast<std::size_t>(number); });
    await_answers(1);
    fake_.mood = FakeTracker::Mood::well;
    await(number);
    fake_.mood = mood;
    apply(ticket::CommentTicket{number, "one", ada_});
    run_until(loop_, [&] { return !comments(static_cast<std::size_t>(number)).empty(); });
    await_answers(mood == FakeTracker::Mood::babbling ? 0 : 1);
    fake_.mood = FakeTracker::Mood::well;
    await(number);
    EXPECT_THAT(fake_.issues, SizeIs(static_cast<std::size_t>(number)));
    EXPECT_THAT(comments(static_cast<std::size_t>(number)), ElementsAre("one"));
  }
}

TEST_F(Telling, WhatItRefusesIsToldAndTriedAgainLater) {
  fake_.mood = FakeTracker::Mood::refusing;
  open("mpirun hangs");
  const auto refusal = [&] {
    const auto issue = ticket::find_issue(server_.writer().tables(), 1);
    return issue ? issue->refusal : std::string();
  };
  run_until(loop_, [&] { return !refusal().empty(); });
  EXPECT_THAT(refusal(), HasSubstr("the tracker answers 422 to POST /repos/hpc/tickets/issues"));
  fake_.mood = FakeTracker::Mood::well;
  open("another");
  await(2);
  EXPECT_FALSE(has_all(1)) << "not before an hour is over";
  clock_.advance(kAfterRefusal);
  await(1);
  EXPECT_EQ(refusal(), "");
  EXPECT_THAT(fake_.issues, SizeIs(2));
}

TEST_F(Telling, WhatConcernsAllIsATroubleOfTheLoop) {
  fake_.mood = FakeTracker::Mood::unauthorized;
  open("mpirun hangs");
  const auto failure = [&] {
    for (const auto& it : server_.loops().health()) {
      if (it.name == "ticket tracker") return it.failure;
    }
    return std::string();
  };
  run_until(loop_, [&] { return failure().find("401") != std::string::npos; });
  EXPECT_EQ(failure().find("s3cret"), std::string::npos);
  os::write_file(settings_.token_file, "");
  run_until(loop_, [&] { return failure().find("holds no token") != std::string::npos; });
  os::write_file(settings_.token_file, "another");
  fake_.mood = FakeTracker::Mood::well;
  await(1);
  EXPECT_EQ(fake_.authorization, "token another");
}

TEST_F(Telling, OnlyTheKindsThatAreAskedForAreTold) {
  end();
  settings_.kinds = {"gate"};
  begin();
  open("of a user");
  ticket::OpenTicket gate;
  gate.title = "gate smoke is red";
  gate.kind = model::TicketKind::gate;
  gate.by = ada_;
  apply(std::move(gate));
  await(2);
  ASSERT_THAT(fake_.issues, SizeIs(1));
  EXPECT_EQ(fake_.issues[0].title, "gate smoke is red");
}

}  // namespace
}  // namespace underway::tracker
