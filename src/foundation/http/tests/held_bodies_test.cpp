// What a server holds of requests that are not whole, and for whom.
#include "serving.hpp"

namespace underway::http {
namespace {

Router taking() {
  Router router;
  router.add("GET|PUT", "/echo/*rest", "echo", echo, {.body_limit = 10'000'000});
  return router;
}

/// By a header: strangers are told apart, and who is refused is refused.
ServerOptions admitting(ServerOptions options = {}) {
  options.admit = [](Request head) -> awaitable<Sender> {
    const auto who = head.headers.find("Who");
    if (!who) co_return Sender{Sender::Kind::stranger};
    if (*who == "root") co_return Sender{Sender::Kind::trusted};
    if (*who == "nobody") co_return Sender{Sender::Kind::refused};
    co_return Sender{Sender::Kind::known, std::string(*who)};
  };
  return options;
}

std::string head_of(const std::string& who, std::size_t length) {
  return fmt::format("PUT /echo/x HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n",
                     who.empty() ? "" : "Who: " + who + "\r\n", length);
}

awaitable<void> until_held(Server& server, std::size_t bytes) {
  while (server.held_bytes() < bytes) co_await asio::post(asio::use_awaitable);
}

TEST(HeldBodies, AreCountedAsLongAsTheirRequestRuns) {
  Serving serving(taking(), admitting());
  Raw raw(serving);
  serving.run(raw.send(head_of("boss", 2'000'000) + std::string(1'000'000, 'x')));
  serving.run(until_held(serving.server, 1'000'000));
  EXPECT_EQ(serving.server.held_bytes(), 1'000'000U);
  serving.run(raw.send(std::string(1'000'000, 'x')));
  EXPECT_NE(serving.run(raw.read_until("xxx")).find(" 200 "), std::string::npos);
  serving.run(raw.send("GET /echo/y HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  serving.run(raw.read_to_end());
  EXPECT_EQ(serving.server.held_bytes(), 0U);
}

TEST(HeldBodies, OfAClientThatGoesAreGivenBack) {
  Serving serving(taking(), admitting());
  Raw raw(serving);
  serving.run(raw.send(head_of("boss", 2'000'000) + std::string(1'000'000, 'x')));
  serving.run(until_held(serving.server, 1'000'000));
  raw.close();
  const auto given_back = [](Server& server) -> awaitable<void> {
    while (server.held_bytes() > 0) co_await asio::post(asio::use_awaitable);
  };
  serving.run(given_back(serving.server));
}

TEST(HeldBodies, ThatWillNotFitAreNotAskedFor) {
  Serving serving(taking(), admitting({.bodies_limit = 1'000'000, .strangers_limit = 10'000}));
  struct Case {
    const char* name;
    std::string who;
    std::size_t length;
    const char *status, *says;
  };
  const std::vector<Case> cases = {{"more than one may ever have", "boss", 500'001, "413", "one sender may have"},
                                   {"a stranger's", "", 5'001, "413", "shows no token"},
                                   {"a refused one", "nobody", 100'000, "200", "PUT /echo/x"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Raw raw(serving);
    serving.run(raw.send(head_of(c.who, c.length)));
    const std::string answer = serving.run(raw.read_until(c.says));
    EXPECT_EQ(answer.substr(9, 3), c.status) << answer;
    EXPECT_NE(answer.find(c.says), std::string::npos) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  }
  Raw root(serving);
  serving.run(root.send(head_of("root", 2'000'000) + std::string(2'000'000, 'x')));
  EXPECT_NE(serving.run(root.read_until("xxx")).find(" 200 "), std::string::npos);
}

TEST(HeldBodies, WithoutALengthEndWhereTheRoomDoes) {
  Serving serving(taking(), admitting({.bodies_limit = 400'000}));
  Raw raw(serving);
  std::string body = "PUT /echo/x HTTP/1.1\r\nHost: x\r\nWho: boss\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 6; ++i) body += "f4240\r\n" + std::string(1'000'000, 'x') + "\r\n";
  serving.run(raw.send(body));
  const std::string answer = serving.run(raw.read_until("try again"));
  EXPECT_NE(answer.find(" 503 "), std::string::npos) << answer;
  EXPECT_NE(answer.find("Retry-After: 1"), std::string::npos) << answer;
}

TEST(HeldBodies, OfStrangersHaveLessTime) {
  Serving serving(taking(), admitting({.body_deadline = 1h, .stranger_deadline = 50ms}));
  Raw stranger(serving);
  serving.run(stranger.send(head_of("", 1000) + "half"));
  EXPECT_EQ(serving.run(stranger.read_to_end()), "") << "dropped, as a client that stands still";
  EXPECT_EQ(serving.server.held_bytes(), 0U);
}

TEST(HeldBodies, ABodyThatDripsIsDroppedInTheEnd) {
  Serving serving(taking(), admitting({.body_timeout = 1h, .body_deadline = 50ms}));
  Raw raw(serving);
  serving.run(raw.send(head_of("boss", 1'000'000) + std::string(100'000, 'x')));
  EXPECT_EQ(serving.run(raw.read_to_end()), "");
}

TEST(HeldBodies, HeadsThatAreNotWholeAreCountedToo) {
  Serving serving(taking(), admitting({.strangers_limit = 60'000}));
  const std::string head = "GET /echo/x HTTP/1.1\r\nX: " + std::string(20'000, 'a');
  Raw first(serving), second(serving);
  serving.run(first.send(head));
  serving.run(until_held(serving.server, 20'000));
  serving.run(second.send(head));
  EXPECT_NE(serving.run(second.read_until("try again")).find(" 503 "), std::string::npos);
}

TEST(HeldBodies, ARefusedSmallBodyLeavesTheConnectionInPlace) {
  Serving serving(taking(), admitting());
  Raw raw(serving);
  serving.run(raw.send(head_of("nobody", 4) + "bodyGET /echo/next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  const std::string answers = serving.run(raw.read_to_end());
  EXPECT_NE(answers.find("PUT /echo/x  HTTP/1.1 200"), std::string::npos) << "served without its body: " << answers;
  EXPECT_NE(answers.find("GET /echo/next"), std::string::npos) << answers;
}

TEST(HeldBodies, TheMarkOfAnUnreadBodyIsTheServersAlone) {
  Router router;
  router.add("PUT", "/mark", "mark", [](Request request) -> awaitable<Response> {
    co_return text(200, request.headers.has(kUnreadBody) ? "marked" : "clean");
  });
  Serving serving(std::move(router), admitting());
  auto client = serving.client();
  Request forged = request("PUT", "/mark", {}, "body");
  forged.headers.set(kUnreadBody, "1");
  EXPECT_EQ(serving.run(client.send(forged)).body, "clean");
  forged.headers.set("Who", "nobody");
  EXPECT_EQ(serving.run(client.send(forged)).body, "marked");
}

TEST(Connections, OfOneAddressLeaveRoomForOthers) {
  Serving serving(taking(), {.connection_limit = 8});
  std::vector<std::unique_ptr<Raw>> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(std::make_unique<Raw>(serving));
    serving.run(held.back()->send("GET /echo/x HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_NE(serving.run(held.back()->read_until("/echo/x")).find(" 200 "), std::string::npos) << i;
  }
  testing::internal::CaptureStderr();
  Raw fifth(serving);
  EXPECT_NE(serving.run(fifth.read_to_end()).find(" 503 "), std::string::npos);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("further clients"), std::string::npos);
}

TEST(Connections, OfThisUserAtASocketAreTakenBeyondTheLimit) {
  const Directory directory;
  Serving serving(taking(), {.connection_limit = 1});
  Endpoint socket;
  socket.socket_path = directory / "api.sock";
  serving.server.listen(socket);
  Raw stranger(serving);
  serving.run(stranger.send("GET /echo/x HTTP/1.1\r\nHost: x\r\n\r\n"));
  serving.run(stranger.read_until("/echo/x"));
  Client own(serving.loop.executor(), Url{.endpoint = socket});
  EXPECT_EQ(serving.run(own.send(request("GET", "/echo/y"))).status, 200);
}

}  // namespace
}  // namespace underway::http
